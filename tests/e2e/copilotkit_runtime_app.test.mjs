// The same page of CopilotKit (examples/clients/copilotkit) on CopilotKit's own runtime (examples/clients/copilotkit-runtime)
// and on the gateway's routes, in headless Chromium: the same steps show the same page. The last two
// tests show what differs. AGUI_COPILOTKIT_APP is the folder of the built page, AGUI_COPILOTKIT_RUNTIME that of the runtime.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import path from 'node:path';
import readline from 'node:readline';
import { describe, it } from 'node:test';
import { apps, call, notBuilt, setApp, words } from './support/app.mjs';
import { within } from './support/browser.mjs';
import { outline } from './support/client.mjs';

const config = { agent: { state: 'user', state_tool: true } };

/// The runtime's process. A restart keeps its port.
class Runtime {
    static async start({ gateway, files }) {
        const runtime = new Runtime();
        runtime.env = { ...process.env, GATEWAY_URL: gateway.url, PAGE_ORIGIN: files.origin, PORT: '0', COPILOTKIT_TELEMETRY_DISABLED: 'true' };
        await runtime.launch();
        return runtime;
    }

    async launch() {
        const folder = process.env.AGUI_COPILOTKIT_RUNTIME;
        this.process = spawn(process.execPath, [path.join(folder, 'server.js')], { cwd: folder, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
        let log = '';
        this.process.stderr.on('data', (chunk) => (log += chunk));
        this.ended = new Promise((resolve) => this.process.on('close', resolve));
        const listening = new Promise((resolve) => {
            readline.createInterface({ input: this.process.stdout }).on('line', (line) => {
                const match = /runtime on (http:\S+)/.exec(line);
                if (match) resolve(match[1]);
            });
        });
        this.url = await Promise.race([listening, this.ended.then(() => assert.fail(`the runtime did not start\n${log}`))]);
        this.env.PORT = new URL(this.url).port;
    }

    async stop() {
        this.process.kill('SIGKILL');
        await this.ended;
    }

    async restart() {
        await this.stop();
        await this.launch();
    }
}

/// What a person finds in the chat: its texts, cards and buttons, by their roles. And what the page shows beside it.
async function view({ app, key }) {
    const { page } = app;
    const chat = await page.locator('main').ariaSnapshot();
    return {
        chat: chat.replaceAll(key, 'KEY').split('\n'),
        background: await page.evaluate(() => document.querySelector('nav').style.background),
        list: (await page.getByTestId('list').innerText()).trim(),
    };
}

describe("CopilotKit's page on its own runtime, and on the gateway's routes", { skip: notBuilt(apps.copilotkit.variable, 'AGUI_COPILOTKIT_RUNTIME') }, () => {
    const sides = [
        setApp('copilotkit', { config, label: 'copilotkit-routes' }),
        setApp('copilotkit', { config, label: 'copilotkit-runtime', inFront: (stage) => Runtime.start(stage) }),
    ];
    const [, behindRuntime] = sides;

    /// Does the steps on both sides and compares each view that they take.
    async function compare(steps) {
        const seen = [];
        for (const stage of sides) {
            const views = {};
            await steps(stage, async (name) => (views[name] = await view(stage)));
            seen.push(views);
        }
        assert.ok(Object.keys(seen[0]).length > 0);
        for (const name of Object.keys(seen[0])) assert.deepEqual(seen[1][name], seen[0][name], name);
    }

    /// Waits until the page takes the next message.
    async function settled(app, text) {
        await app.shown(text);
        await app.idle();
    }

    it('chat, and a reload', () => compare(async ({ app, key, model }, look) => {
        model.script(key, [{ content: 'Hello.' }, { content: 'You said hi.' }]);
        await app.ask(key);
        await settled(app, 'Hello.');
        await look('first answer');
        await app.reload();
        await settled(app, 'Hello.');
        await look('after the reload');
        await app.ask('what did I say?');
        await settled(app, 'You said hi.');
        await look('second answer');
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(-3), [`user: ${key}`, 'assistant: Hello.', 'user: what did I say?']);
    }));

    it('two calls of a turn', () => compare(async ({ app, key, model }, look) => {
        const colours = ['rgb(255, 0, 0)', 'rgb(0, 0, 255)'];
        model.script(key, [{ content: 'I paint.', toolCalls: colours.map((color) => call('change_background', { color })) }, { content: 'Both.' }]);
        await app.ask(key);
        await settled(app, 'Both.');
        await look('both executed');
        assert.equal((await model.request(key, 2)).conversation.filter(({ role }) => role === 'tool').length, 2);
        await app.reload();
        await settled(app, 'Both.');
        await look('after the reload, nothing is executed again');
        assert.equal(model.requests(key).length, 2);
    }));

    it('a tool that asks the user, answered after a reload', () => compare(async ({ app, key, model }, look) => {
        model.script(key, [{ toolCalls: [call('ask_user', { question: 'Shall I?' })] }, { content: 'I do.' }]);
        await app.ask(key);
        await app.button('Yes').waitFor();
        await look('asked');
        await app.reload();
        await app.button('Yes').waitFor();
        await look('asked again');
        await app.button('Yes').click();
        await settled(app, 'I do.');
        await look('answered');
        assert.match(outline((await model.request(key, 2)).conversation).at(-1), /confirmed.*true/);
    }));

    for (const [answer, cities] of [['Allow', ['Oslo']], ['Deny', []]]) {
        it(`an approval, answered after a reload: ${answer}`, () => compare(async ({ app, key, model, weather }, look) => {
            model.script(key, [{ toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'As you wish.' }]);
            await app.ask(key);
            await app.button(answer).waitFor();
            await look('asked');
            await app.reload();
            await app.button(answer).waitFor();
            await look('asked again');
            await app.button(answer).click();
            await settled(app, 'As you wish.');
            await look('answered');
            assert.deepEqual(weather.calls.map(({ arguments: { city } }) => city), cities);
        }));
    }

    it('state that page and model change', () => compare(async ({ app, key, model }, look) => {
        const add = call('update_state', { patch: [{ op: 'add', path: '/items/-', value: { text: 'tea', done: false } }] });
        model.script(key, [{ content: 'Hello.' }, { toolCalls: [add] }, { content: 'Tea is on it.' }]);
        await app.ask(key);
        await settled(app, 'Hello.');
        await app.button('Add milk').click();
        await app.page.getByTestId('list').filter({ hasText: 'milk' }).waitFor();
        await look('added by the page');
        await app.ask('And tea.');
        await settled(app, 'Tea is on it.');
        await app.page.getByTestId('list').filter({ hasText: 'milk, tea' }).waitFor();
        await look('added by the model');
        await app.reload();
        await app.page.getByTestId('list').filter({ hasText: 'milk, tea' }).waitFor();
        await settled(app, 'Tea is on it.');
        await look('after the reload');
    }));

    it('a reload in the middle of an answer, then Stop', () => compare(async ({ app, key, model, rest }, look) => {
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
        await app.ask(key);
        const exchange = await model.request(key, 1);
        await app.shown('word3 ');
        await app.reload();
        await app.shown('word15 ');
        await look('in the middle');
        await app.stop();
        await within(1, exchange.closed, 'the model server is left');
        await app.idle();
        await app.ask('next');
        await settled(app, 'Next.');
        await look('after the next answer');
    }));

    it('differs in the titles of threads, which the runtime does not have, nor a way to change them', async () => {
        for (const stage of sides) {
            const { app, key, model } = stage;
            model.script(key, [{ content: 'Hello.' }]);
            await app.ask(key);
            await settled(app, 'Hello.');
            await app.reload();
            const thread = app.page.getByTestId('thread').first();
            await thread.filter({ hasText: stage === behindRuntime ? 'New chat' : key.slice(0, 20) }).waitFor();
            const { threadEndpoints } = await (await fetch(`${stage.address().runtime}/info`)).json();
            assert.deepEqual([threadEndpoints.list, threadEndpoints.mutations], [true, stage !== behindRuntime]);
        }
    });

    it('differs after a restart of the runtime: its page is empty, though the gateway still has the conversation', async () => {
        const { app, key, model, front } = behindRuntime;
        model.script(key, [{ content: 'Hello.' }, { content: 'You said hi.' }]);
        await app.ask(key);
        await settled(app, 'Hello.');
        await front.restart();
        await app.reload();
        await app.idle();
        await app.ask('what did I say?');
        await settled(app, 'You said hi.');
        const shown = await app.page.locator(app.ui.message).allInnerTexts();
        assert.deepEqual(shown.map((text) => text.trim()), ['what did I say?', 'You said hi.']);
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(-3), [`user: ${key}`, 'assistant: Hello.', 'user: what did I say?']);
    });
});
