// Approvals and shared state in CopilotKit's React chat and in assistant-ui, in headless Chromium: also after a reload,
// after a restart of the gateway, and with both on one thread. tests/run.sh --all builds the pages and says where they are.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { until } from './support/ai_chat.mjs';
import { Files, chatPages, launchChromium, routedPages } from './support/browser.mjs';
import { outline } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';
import { WeatherService } from './support/weather.mjs';

const call = (name, args) => ({ name, arguments: JSON.stringify(args), id: `call_${randomUUID()}` });
const weatherIn = (city) => ({ toolCalls: [call('get_weather', { city })] });
const patch = (...operations) => ({ toolCalls: [call('update_state', { patch: operations })] });
const missing = chatPages.filter(({ variable }) => !process.env[variable]).map(({ variable }) => variable);

describe('approvals and shared state of chats in Chromium', { skip: missing.length > 0 && `not set, tests/run.sh --all does: ${missing.join(', ')}` }, () => {
    let model;
    let weather;
    let gateway;
    let browser;
    let contexts;
    let key;
    let threadId;
    const files = new Map(); ///< Of each chat.

    before(async () => {
        for (const ui of chatPages) files.set(ui, await Files.start(process.env[ui.variable]));
        model = await ModelServer.start();
        weather = await WeatherService.start();
        gateway = await Gateway.start({
            model,
            config: {
                server: { copilotkit_path: '/copilotkit', cors_origins: [...files.values()].map(({ origin }) => origin) },
                tools: { webhook: [{ ...weather.tool, approval: 'always' }] },
                agent: { state: 'user', state_tool: true },
            },
        });
        gateway.args.push('--listen', new URL(gateway.base).host); // A restart keeps the address.
        browser = await launchChromium();
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway, weather, model, ...files.values());
    });
    beforeEach((test) => {
        key = `[${test.name} ${randomUUID()}]`;
        threadId = randomUUID();
        weather.calls.length = 0;
        contexts = [];
    });
    afterEach(() => Promise.all(contexts.map((context) => context.close())));

    const route = async (what) => (await fetch(`${gateway.url}/threads/${threadId}/${what}`)).json();
    const stored = async () => (await route('state')).state;

    async function restart() {
        await gateway.end('SIGTERM');
        await gateway.launch();
    }

    /// One chat on the thread of the test.
    class Chat {
        static async open(ui) {
            const chat = new Chat();
            chat.ui = ui;
            chat.posts = [];
            const context = await browser.newContext();
            contexts.push(context);
            chat.page = await context.newPage();
            chat.page.setDefaultTimeout(20_000);
            chat.url = ui.path ? gateway.base + ui.path : gateway.url;
            chat.open = new Set(); // Requests to the gateway.
            chat.page.on('request', (request) => {
                if (!request.url().startsWith(gateway.base)) return;
                chat.open.add(request);
                chat.asked = true;
                if (request.method() !== 'POST') return;
                const sent = request.postDataJSON();
                if ([gateway.url, `${chat.url}/agent/default/run`].includes(request.url())) chat.posts.push(sent);
                else if (request.url() === chat.url && sent.method === 'agent/run') chat.posts.push(sent.body);
            });
            for (const end of ['requestfinished', 'requestfailed']) chat.page.on(end, (request) => chat.open.delete(request));
            await chat.load();
            return chat;
        }

        /// Loads the page, with the conversation: that replaces what the page shows, a message that is sent before it, too.
        async load() {
            this.asked = false;
            const { origin } = [...files].find(([ui]) => ui.variable === this.ui.variable)[1];
            await this.page.goto(`${origin}/?${new URLSearchParams({ url: this.url, thread: threadId, ...this.ui.query })}`);
            await this.page.locator(this.ui.input).waitFor();
            await until(() => this.asked && this.open.size === 0);
            await this.page.evaluate(() => new Promise((done) => { requestIdleCallback(done); }));
        }

        async ask(text) {
            await this.page.fill(this.ui.input, text);
            await this.page.click(this.ui.send);
        }

        part(name) {
            return this.page.locator(`[data-testid="${name}"]`);
        }

        shown(text) {
            return this.page.locator(this.ui.message).filter({ hasText: text }).first().waitFor();
        }

        idle() {
            return this.page.locator(this.ui.idle).waitFor();
        }

        /// Waits until the chat shows this state document.
        async state(wanted) {
            await this.page.waitForFunction((text) => document.querySelector('[data-testid="state"]').textContent === text, JSON.stringify(wanted));
        }

        /// A question for the weather, up to the approval.
        async askForWeather(...more) {
            model.script(key, [weatherIn('Oslo'), ...more]);
            await this.ask(key);
            await this.part('interrupt').waitFor();
            assert.match(await this.part('arguments').textContent(), /Oslo/);
            assert.deepEqual(weather.calls, []);
        }
    }

    const cities = () => weather.calls.map(({ arguments: { city } }) => city);

    for (const ui of [...chatPages, ...routedPages]) {
        describe(ui.name, () => {
            it('executes a call once it is approved', async () => {
                const chat = await Chat.open(ui);
                await chat.askForWeather({ content: 'It is clear.' }, { content: 'Good bye.' });
                await chat.part('allow').click();
                await chat.shown('It is clear.');
                await chat.idle();
                assert.deepEqual(cities(), ['Oslo']);
                assert.equal(await chat.part('interrupt').count(), 0);
                assert.deepEqual(chat.posts.at(-1).resume.map(({ status, payload }) => ({ status, payload })), [{ status: 'resolved', payload: { approved: true } }]);
                await chat.ask('thanks');
                await chat.shown('Good bye.');
                assert.deepEqual(cities(), ['Oslo']);
            });

            it('tells the model why a call was denied', async () => {
                const chat = await Chat.open(ui);
                await chat.askForWeather({ content: 'As you wish.' });
                await chat.part('deny').click();
                await chat.shown('As you wish.');
                assert.deepEqual(cities(), []);
                assert.match(outline((await model.request(key, 2)).conversation).at(-1), /not allowed: Not there/);
            });

            it('changes the arguments', async () => {
                const chat = await Chat.open(ui);
                await chat.askForWeather({ content: 'Clear in Bergen.' });
                await chat.part('edit').click();
                await chat.shown('Clear in Bergen.');
                assert.deepEqual(cities(), ['Bergen']);
            });

            it('asks about each of two calls, and answers both in one request', async () => {
                const both = { toolCalls: [...weatherIn('Oslo').toolCalls, ...weatherIn('Rome').toolCalls] };
                model.script(key, [both, { content: 'Rome is clear.' }]);
                const chat = await Chat.open(ui);
                await chat.ask(key);
                const card = (city) => chat.part('interrupt').filter({ hasText: city });
                await card('Rome').waitFor();

                await card('Oslo').locator('[data-testid="deny"]').click();
                assert.equal(chat.posts.length, 1, 'the other call is not answered yet');
                await card('Rome').locator('[data-testid="allow"]').click();

                await chat.shown('Rome is clear.');
                assert.deepEqual(cities(), ['Rome']);
                assert.deepEqual(chat.posts.at(-1).resume.map(({ payload }) => payload.approved), [false, true]);
                assert.deepEqual((await route('pending')).interrupts, []);
            });

            it('executes its own call and asks about the server\'s in one turn', async () => {
                const both = { toolCalls: [call('change_background', { color: 'green' }), ...weatherIn('Oslo').toolCalls] };
                model.script(key, [both, { content: 'Green and clear.' }]);
                const chat = await Chat.open(ui);
                await chat.ask(key);
                await chat.part('interrupt').waitFor();

                await chat.part('allow').click();

                await chat.shown('Green and clear.');
                assert.deepEqual(cities(), ['Oslo']);
                assert.deepEqual(await chat.page.evaluate(() => window.executed), ['green']);
                assert.equal(model.requests(key).length, 2);
            });

            for (const [when, between] of [['a reload', async () => {}], ['a restart of the gateway', restart]]) {
                it(`approves after ${when}; after another one the answer is there and nothing is asked`, async () => {
                    const chat = await Chat.open(ui);
                    await chat.askForWeather({ content: 'It is clear.' }, { content: 'Good bye.' });
                    await between();
                    await chat.load();
                    await chat.part('interrupt').waitFor();

                    await chat.part('allow').click();

                    await chat.shown('It is clear.');
                    await chat.idle();
                    assert.deepEqual(cities(), ['Oslo']);
                    await between();
                    await chat.load();
                    await chat.shown('It is clear.');
                    assert.equal(await chat.part('interrupt').count(), 0);
                    await chat.ask('thanks');
                    await chat.shown('Good bye.');
                    assert.deepEqual(cities(), ['Oslo']);
                });

                it(`asks the human again after ${when}, and goes on with the answer`, async () => {
                    model.script(key, [{ toolCalls: [call('approve', { what: 'the plan' })] }, { content: 'Approved it is.' }]);
                    const chat = await Chat.open(ui);
                    await chat.ask(key);
                    await chat.part('approve').waitFor();
                    await between();
                    await chat.load();

                    await chat.part('approve').click();

                    await chat.shown('Approved it is.');
                    assert.match(outline((await model.request(key, 2)).conversation).at(-1), /approved/);
                });

                it(`shares its state with the model, also after ${when}`, async () => {
                    model.script(key, [
                        patch({ op: 'add', path: '/size', value: 1 }), { content: 'Set to one.' },
                        patch({ op: 'replace', path: '/size', value: 2 }), { content: 'Set to two.' },
                    ]);
                    const chat = await Chat.open(ui);
                    await chat.ask(key);
                    await chat.shown('Set to one.');
                    await chat.state({ size: 1 });
                    await chat.idle();
                    await between();
                    await chat.load();
                    await chat.shown('Set to one.');
                    await chat.state({ size: 1 });

                    await chat.part('set-state').click();
                    await chat.ask('go on');

                    await chat.shown('Set to two.');
                    const page = ui.name.split(' ')[0];
                    await chat.state({ size: 2, page });
                    assert.deepEqual(await stored(), { size: 2, page });
                    assert.match(outline((await model.request(key, 3)).conversation).at(-1), new RegExp(`"page":"${page}"`));
                });
            }
        });
    }

    it('assistant-ui withdraws the question if the user writes something else', async () => {
        const chat = await Chat.open(chatPages[0]);
        await chat.askForWeather({ content: 'Then not.' });
        await chat.part('steer-away').click();
        await chat.shown('Then not.');
        await chat.idle();
        assert.deepEqual(cities(), []);
        assert.equal(chat.posts.at(-1).resume[0].status, 'cancelled');
        assert.deepEqual(outline((await model.request(key, 2)).conversation).at(-1), 'user: never mind');
        await chat.load();
        await chat.shown('Then not.');
        assert.equal(await chat.part('interrupt').count(), 0);
    });

    it('CopilotKit asks again if the user writes something else, and the message is answered after the call', async () => {
        const chat = await Chat.open(chatPages[1]);
        await chat.askForWeather({ content: 'Clear, and now Rome.' });
        await chat.ask('and Rome?');
        await chat.shown('and Rome?');
        await chat.idle();
        await chat.part('interrupt').waitFor();
        assert.equal(model.requests(key).length, 1, 'the model waits for the approval');

        await chat.part('allow').click();

        await chat.shown('Clear, and now Rome.');
        assert.deepEqual(cities(), ['Oslo']);
        const told = outline((await model.request(key, 2)).conversation);
        assert.deepEqual([told.at(-1), told.at(-2).slice(0, 4)], ['user: and Rome?', 'tool']);
        await chat.load();
        await chat.shown('Clear, and now Rome.');
        assert.equal(await chat.part('interrupt').count(), 0);
    });

    for (const [first, second] of [chatPages, [...chatPages].reverse()]) {
        describe(`${first.name} and ${second.name} on one thread`, () => {
            it('the second one answers the approval that the first one shows, and the first one sees the answer', async () => {
                const one = await Chat.open(first);
                await one.askForWeather({ content: 'It is clear.' }, { content: 'Good bye.' });
                const other = await Chat.open(second);
                await other.part('interrupt').waitFor();

                await other.part('allow').click();

                await other.shown('It is clear.');
                await other.idle();
                assert.deepEqual(cities(), ['Oslo']);
                // The first one does not know yet. The same answer again executes nothing.
                await one.part('allow').click();
                await one.idle();
                await one.load();
                await one.shown('It is clear.');
                assert.equal(await one.part('interrupt').count(), 0);
                await one.ask('thanks');
                await one.shown('Good bye.');
                assert.deepEqual(cities(), ['Oslo']);
                assert.deepEqual((await route('pending')).interrupts, []);
            });

            it('an approval that one has denied is not executed by the other', async () => {
                const one = await Chat.open(first);
                await one.askForWeather({ content: 'As you wish.' });
                const other = await Chat.open(second);
                await other.part('deny').click();
                await other.shown('As you wish.');
                await other.idle();

                await one.part('allow').click();

                await one.idle();
                assert.deepEqual(cities(), []);
                await one.load();
                await one.shown('As you wish.');
                assert.equal(await one.part('interrupt').count(), 0);
            });

            it('each sees the state that the other has changed, and its answers', async () => {
                model.script(key, [
                    patch({ op: 'add', path: '/size', value: 1 }), { content: 'Set to one.' }, { content: 'I see both.' }, { content: 'And again.' },
                ]);
                const one = await Chat.open(first);
                await one.ask(key);
                await one.shown('Set to one.');
                await one.idle();
                const other = await Chat.open(second);
                await other.shown('Set to one.');
                await other.state({ size: 1 });
                await other.part('set-state').click();
                await other.ask('and now?');
                await other.shown('I see both.');
                await other.idle();
                const state = { size: 1, page: second.name.split(' ')[0] };
                assert.deepEqual(await stored(), state);

                await one.load();

                await one.shown('I see both.');
                await one.state(state);
                await one.ask('once more');
                await one.shown('And again.');
                assert.deepEqual(await stored(), state);
            });
        });
    }

    it('left only valid requests to the model server', () => model.checkRequests());
});
