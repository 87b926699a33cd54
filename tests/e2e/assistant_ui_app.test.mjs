// The example app of examples/clients/assistant-ui in headless Chromium, built with the packed package as a user would:
// history by pages, an active run after a reload, threads, files, approvals, Stop. AGUI_ASSISTANT_UI_APP is the folder
// of the built app.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Files, launchChromium, within } from './support/browser.mjs';
import { outline, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { photo } from './support/photos.mjs';
import { WeatherService } from './support/weather.mjs';

const built = process.env.AGUI_ASSISTANT_UI_APP;
const screenshots = process.env.AGUI_PAGE_SCREENSHOTS;
const call = (name, args) => ({ name, arguments: JSON.stringify(args), id: `call_${randomUUID()}` });
const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();

describe('the app of examples/clients/assistant-ui', { skip: !built && 'AGUI_ASSISTANT_UI_APP is not set: tests/run.sh --all sets it' }, () => {
    let files;
    let model;
    let weather;
    let gateway;
    let browser;
    let context;
    let page;
    let key;
    let rest; ///< Opens the rest of the model's answer.
    let replies; ///< Of the gateway: what the page asked and the status.
    let problems; ///< Errors of the page.

    before(async () => {
        files = await Files.start(built);
        model = await ModelServer.start();
        weather = await WeatherService.start();
        gateway = await Gateway.start({
            model,
            config: { server: { cors_origins: [files.origin] }, tools: { webhook: [{ ...weather.tool, approval: 'always' }] } },
        });
        browser = await launchChromium();
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway, weather, model, files);
    });
    beforeEach(async (test) => {
        key = `[${test.name} ${randomUUID()}]`;
        rest = gate();
        replies = [];
        problems = [];
        weather.calls.length = 0;
        context = await browser.newContext();
        page = await context.newPage();
        page.setDefaultTimeout(15_000);
        page.on('response', (response) => response.url().startsWith(gateway.base) && response.request().method() !== 'OPTIONS' && replies.push({
            what: `${response.request().method()} ${response.url().slice(gateway.url.length)}`, status: response.status(),
        }));
        page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
        page.on('pageerror', (error) => problems.push(String(error)));
    });
    afterEach(async (test) => {
        rest.open();
        if (screenshots) await page.screenshot({ path: path.join(screenshots, `assistant-ui-app-${test.name}.png`.replaceAll(/[^\w.]/g, '-')) });
        await context.close();
        assert.deepEqual(replies.filter(({ status }) => status >= 400), []);
        assert.deepEqual(problems, []);
    });

    async function open(query = {}) {
        await page.goto(`${files.origin}/?${new URLSearchParams({ gateway: gateway.url, ...query })}`);
        await page.getByPlaceholder('Message').waitFor();
    }
    async function ask(text) {
        await page.getByPlaceholder('Message').fill(text);
        await page.getByRole('button', { name: 'Send', exact: true }).click();
    }
    const shown = (text) => page.locator('.message').filter({ hasText: text }).last().waitFor();
    const idle = () => page.getByRole('button', { name: 'Send', exact: true }).waitFor();
    const texts = () => page.locator('.message').evaluateAll((all) => all.map((each) => each.innerText.replace(/\n*(Again|Edit)$/, '').trim()));
    const threadId = () => new URL(page.url()).searchParams.get('thread');
    const runs = () => replies.filter(({ what }) => what === 'POST ');

    it('shows the conversation again after a reload, and takes it into account', async () => {
        model.script(key, [{ content: 'Hello.' }, { content: 'You said hi.' }]);
        await open();
        await ask(key);
        await shown('Hello.');
        await idle();
        assert.ok(threadId(), 'the address has the thread');
        await page.reload();
        await shown('Hello.');
        await ask('what did I say?');
        await shown('You said hi.');
        await idle();
        assert.equal(runs().length, 2);
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(-3), [`user: ${key}`, 'assistant: Hello.', 'user: what did I say?']);
        assert.deepEqual(await texts(), [key, 'Hello.', 'what did I say?', 'You said hi.']);
    });

    it('goes on with an active run after a reload: one run, no gap, nothing twice', async () => {
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await open();
        await ask(key);
        await shown('word3 ');
        await page.waitForURL(/thread=/);
        await page.reload();
        await shown('word3 ');
        rest.open();
        await shown('word59');
        await idle();
        assert.deepEqual(await texts(), [key, words]);
        assert.equal(runs().length, 1);
        assert.equal(model.requests(key).length, 1);
    });

    it('executes the call of a run that it follows, and goes on with the result', async () => {
        const blocks = [{ type: 'text', text: words }, { type: 'toolCall', ...call('change_background', { color: 'rgb(0, 0, 255)' }) }];
        model.script(key, [{ blocks, pauseAfter: 20, resume: rest.opened }, { content: 'Now it is blue.' }]);
        await open();
        await ask(key);
        await shown('word3 ');
        await page.waitForURL(/thread=/);
        await page.reload();
        await shown('word3 ');
        rest.open();
        await shown('Now it is blue.');
        await idle();
        assert.equal(await page.evaluate(() => document.body.style.background), 'rgb(0, 0, 255)');
        assert.equal(model.requests(key).length, 2);
        await page.reload();
        await shown('Now it is blue.');
        await idle();
        assert.equal(model.requests(key).length, 2, 'nothing is executed again');
    });

    it('executes a call that was open when the page was left', async () => {
        const thread = randomUUID();
        model.script(key, [{ toolCalls: [call('change_background', { color: 'rgb(0, 0, 255)' })] }, { content: 'Now it is blue.' }]);
        const tools = [{ name: 'change_background', description: '', parameters: { type: 'object' } }];
        (await postRun(gateway, runInput({ threadId: thread, messages: [user(key)], tools }))).expectFinished();
        await open({ thread });
        await shown('Now it is blue.');
        await idle();
        assert.equal(await page.evaluate(() => document.body.style.background), 'rgb(0, 0, 255)');
        assert.equal(runs().length, 1);
    });

    it('Stop ends the run on the server, after a reload too', async () => {
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
        await open();
        await ask(key);
        const exchange = await model.request(key, 1);
        await shown('word3 ');
        await page.waitForURL(/thread=/);
        await page.reload();
        await shown('word3 ');
        await page.getByRole('button', { name: 'Stop', exact: true }).click();
        await within(1, exchange.closed, 'the model server is left');
        await idle();
        await ask('next');
        await shown('Next.');
    });

    it('another chat does not stop the run of the first one', async () => {
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await open();
        await ask(key);
        await shown('word3 ');
        await page.getByRole('button', { name: 'New chat', exact: true }).first().click();
        await page.waitForFunction(() => document.querySelectorAll('.message').length === 0);
        rest.open();
        await page.getByTestId('thread').first().getByRole('button').first().click();
        await shown('word59');
        assert.deepEqual(await texts(), [key, words]);
    });

    it('a chat that is closed does not stop its run', async () => {
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await open();
        await ask(key);
        await shown('word3 ');
        await page.waitForURL(/thread=/);
        const id = threadId();
        await page.evaluate(() => window.unmount());
        await page.waitForFunction(() => document.querySelectorAll('.message').length === 0);
        rest.open();
        const answer = async () => (await (await fetch(`${gateway.url}/threads/${id}/messages`)).json()).messages.at(-1).content;
        for (let tries = 0; tries < 200 && await answer() !== words; tries += 1) await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(await answer(), words);
    });

    it('loads a long thread by pages', async () => {
        const thread = randomUUID();
        model.script(key, Array.from({ length: 6 }, (_, at) => ({ content: `Answer ${at}.` })));
        for (let at = 0; at < 5; at += 1) {
            const text = at === 0 ? key : `Question ${at}`;
            (await postRun(gateway, runInput({ threadId: thread, messages: [user(text)] }))).expectFinished();
        }
        await open({ thread, page: '3' });
        await shown('Answer 4.');
        assert.deepEqual(await texts(), ['Question 3', 'Answer 3.', 'Question 4', 'Answer 4.']);
        const earlier = page.getByRole('button', { name: 'Earlier messages' });
        await earlier.click();
        await shown('Question 1');
        await ask('the last one');
        await shown('Answer 5.');
        await idle();
        assert.equal(outline((await model.request(key, 6)).conversation).filter((line) => line.startsWith('user')).length, 6, 'the model gets all of it');
        await earlier.click();
        await shown(key);
        await earlier.waitFor({ state: 'detached' });
        assert.deepEqual((await texts()).filter((text) => text.startsWith('Answer')), [0, 1, 2, 3, 4, 5].map((at) => `Answer ${at}.`));
        await page.reload();
        await shown('Answer 5.');
        assert.deepEqual(await texts(), ['Question 4', 'Answer 4.', 'the last one', 'Answer 5.']);
    });

    it('an edit and a regeneration on a page leave what came before', async () => {
        const thread = randomUUID();
        model.script(key, [{ content: 'One.' }, { content: 'Two.' }, { content: 'Two again.' }, { content: 'Changed.' }]);
        for (const text of [key, 'second']) (await postRun(gateway, runInput({ threadId: thread, messages: [user(text)] }))).expectFinished();
        await open({ thread, page: '1' });
        await shown('Two.');
        await page.getByRole('button', { name: 'Again', exact: true }).last().click();
        await shown('Two again.');
        await idle();
        await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
        await page.getByLabel('Edit the message').fill('changed');
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await shown('Changed.');
        await idle();
        const lines = outline((await model.request(key, 4)).conversation).filter((line) => !line.startsWith('system'));
        assert.deepEqual(lines, [`user: ${key}`, 'assistant: One.', 'user: changed']);
    });

    it('lists threads with titles; they are renamed, archived and deleted', async () => {
        model.script(key, [{ content: 'Hello.' }]);
        await open();
        await ask(key);
        await shown('Hello.');
        await idle();
        const id = threadId();
        const item = (text) => page.getByTestId('thread').filter({ hasText: text });
        await item(key.slice(0, 20)).waitFor();
        page.once('dialog', (dialog) => dialog.accept('Renamed'));
        await item(key.slice(0, 20)).getByRole('button', { name: /^Rename/ }).click();
        await item('Renamed').waitFor();
        await page.reload();
        await item('Renamed').waitFor();
        const stored = async () => (await fetch(`${gateway.url}/threads/${id}`)).json();
        assert.equal((await stored()).title, 'Renamed');
        await item('Renamed').getByRole('button', { name: /^Archive/ }).click();
        await page.getByText('Archived', { exact: true }).click();
        await page.locator('details').getByText('Renamed').waitFor();
        assert.equal((await stored()).archived, true);
        await page.locator('details').getByRole('button', { name: /^Unarchive/ }).click();
        await page.locator('nav > [data-testid=thread], nav > :not(details) [data-testid=thread]').filter({ hasText: 'Renamed' }).waitFor();
        await item('Renamed').getByRole('button', { name: /^Delete/ }).click();
        await item('Renamed').waitFor({ state: 'detached' });
        assert.equal((await stored()).lastRunAt, 0);
    });

    it('sends a picture once, and shows it again after a reload', async () => {
        model.script(key, [{ content: 'A picture.' }, { content: 'Still there.' }]);
        const { base64 } = photo(1);
        await open();
        const chooser = page.waitForEvent('filechooser');
        await page.getByRole('button', { name: 'Attach', exact: true }).click();
        await (await chooser).setFiles({ name: 'lake.png', mimeType: 'image/png', buffer: Buffer.from(base64, 'base64') });
        await ask(key);
        await shown('A picture.');
        await idle();
        const posted = [];
        page.on('request', (request) => request.url() === gateway.url && posted.push(request.postData()));
        await page.reload();
        await page.waitForFunction(() => [...document.querySelectorAll('.message img')].some((image) => image.naturalWidth > 0));
        await ask('and now?');
        await shown('Still there.');
        await idle();
        assert.ok(posted[0].length < base64.length, 'the picture is not sent again');
        const parts = (await model.request(key, 2)).conversation.flatMap(({ content }) => (Array.isArray(content) ? content : []));
        assert.equal(parts.filter(({ type }) => type === 'image_url').length, 1);
    });

    for (const [what, button, cities] of [['allowed', 'Allow', ['Oslo']], ['denied', 'Deny', []]]) {
        it(`asks for an approval again after a reload, which is ${what}`, async () => {
            model.script(key, [{ toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'As you wish.' }]);
            await open();
            await ask(key);
            await page.getByRole('button', { name: button, exact: true }).waitFor();
            await page.waitForURL(/thread=/);
            await page.reload();
            await page.getByRole('button', { name: button, exact: true }).click();
            await shown('As you wish.');
            await idle();
            assert.deepEqual(weather.calls.map(({ arguments: { city } }) => city), cities);
        });
    }

    it('asks the user', async () => {
        model.script(key, [{ toolCalls: [call('ask_user', { question: 'Shall I?' })] }, { content: 'I do.' }]);
        await open();
        await ask(key);
        await page.getByRole('button', { name: 'Yes', exact: true }).click();
        await shown('I do.');
        assert.match(outline((await model.request(key, 2)).conversation).at(-1), /confirmed.*true/);
    });

    it('asks the user again after a reload', async () => {
        model.script(key, [{ toolCalls: [call('ask_user', { question: 'Shall I?' })] }, { content: 'I do not.' }]);
        await open();
        await ask(key);
        await page.getByRole('button', { name: 'Yes', exact: true }).waitFor();
        await page.waitForURL(/thread=/);
        await page.reload();
        await page.getByText('Shall I?').waitFor();
        await page.getByRole('button', { name: 'No', exact: true }).click();
        await shown('I do not.');
        assert.match(outline((await model.request(key, 2)).conversation).at(-1), /confirmed.*false/);
    });

    it('left only valid requests to the model server', () => model.checkRequests());
});
