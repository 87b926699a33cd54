// The app of examples/clients/ai-sdk in headless Chromium: the AI SDK's useChat with nothing but the gateway's address.
// AGUI_AI_SDK_APP is the folder of the built app, AGUI_AI_SDK_6_APP that of the same app on the AI SDK 6.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { apps, call, itKeepsTheConversation, notBuilt, setApp, words } from './support/app.mjs';
import { within } from './support/browser.mjs';
import { outline } from './support/client.mjs';

/// A server tool whose answer changes the state and shows an activity.
async function startPainter() {
    const effects = { statePatch: [{ op: 'add', path: '/color', value: 'blue' }], activities: [{ type: 'preview', content: { color: 'blue' } }] };
    const server = http.createServer((request, response) => {
        request.resume().on('end', () => response.end(JSON.stringify({ result: 'Painted.', _meta: { 'org.agui-gateway/effects': effects } })));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
        tool: { name: 'paint', description: 'Paints.', url: `http://127.0.0.1:${server.address().port}/` },
        stop: () => new Promise((resolve) => server.close(resolve)),
    };
}

for (const [version, variable] of [[7, apps['ai-sdk'].variable], [6, 'AGUI_AI_SDK_6_APP']]) describe(`the app of examples/clients/ai-sdk on the AI SDK ${version}`, { skip: notBuilt(variable) }, () => {
    const config = { tools: { webhook: [] } };
    let painter;

    before(async () => {
        painter = await startPainter();
        config.tools.webhook.push(painter.tool);
    });
    const stage = setApp('ai-sdk', { config, variable, label: `ai-sdk-${version}` });
    before(() => stage.gateway.args.push('--listen', new URL(stage.gateway.base).host)); // A restart keeps the address.
    after(() => painter.stop());

    const texts = () => stage.app.page.locator('.message').evaluateAll((all) => all.map((each) => each.innerText.trim()));
    const runs = () => stage.app.asked('POST', '/ai/chat').length;
    const background = () => stage.app.page.evaluate(() => document.querySelector('nav').style.background);

    itKeepsTheConversation(stage);

    it('goes on in mid-stream after a reload, without a gap', async () => {
        const { app, key, model, rest } = stage;
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await app.ask(key);
        await app.shown('word3 ');
        await app.reload();
        await app.shown('word3 ');
        rest.open();
        await app.shown('word59');
        await app.idle();
        assert.deepEqual(await texts(), [key, words]);
        assert.equal(runs(), 1);
        assert.equal(model.requests(key).length, 1);
    });

    it('Stop ends the run on the server, after a reload too', async () => {
        const { app, key, model, rest } = stage;
        model.script(key, [
            { content: words, pauseAfter: 20, resume: rest.opened }, { content: `Again ${words}`, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' },
        ]);
        await app.ask(key);
        await app.shown('word3 ');
        await app.stop();
        await within(1, (await model.request(key, 1)).closed, 'the model server is left');
        await app.idle();
        await app.ask('again');
        await app.shown('Again word0');
        await app.reload();
        await app.shown('Again word0');
        await app.stop();
        await within(1, (await model.request(key, 2)).closed, 'the model server is left');
        await app.idle();
        await app.ask('next');
        await app.shown('Next.');
        await app.idle();
    });

    it('executes the calls of the page, two at once, and goes on', async () => {
        const { app, key, model } = stage;
        const calls = [call('change_background', { color: 'rgb(255, 0, 0)' }), call('change_background', { color: 'rgb(0, 0, 255)' })];
        model.script(key, [{ toolCalls: calls }, { content: 'Now it is blue.' }]);
        await app.ask(key);
        await app.shown('Now it is blue.');
        await app.idle();
        assert.equal(await background(), 'rgb(0, 0, 255)');
        assert.equal(runs(), 2);
        const told = outline((await model.request(key, 2)).conversation).slice(-2);
        assert.ok(told.every((line) => line.endsWith('{"status":"ok"}')), String(told));
        await app.reload();
        await app.shown('Now it is blue.');
        await app.idle();
        assert.equal(await background(), '', 'nothing is executed again');
        assert.equal(model.requests(key).length, 2);
    });

    it('executes a call that was open when the page was left', async () => {
        const { app, key, model, rest } = stage;
        model.script(key, [
            { content: 'Wait.', pauseAfter: 1, resume: rest.opened, toolCalls: [call('change_background', { color: 'rgb(0, 0, 255)' })] },
            { content: 'Now it is blue.' },
        ]);
        await app.ask(key);
        await model.request(key, 1);
        const address = app.page.url();
        await app.page.goto('about:blank');
        rest.open();
        const { searchParams } = new URL(address);
        const pending = async () => (await (await fetch(`${stage.gateway.url}/threads/${searchParams.get('chat')}/pending`)).json()).toolCalls.length;
        while (await pending() === 0) await new Promise((resolve) => setTimeout(resolve, 20));
        await app.page.goto(address);
        await app.shown('Now it is blue.');
        await app.idle();
        assert.equal(await background(), 'rgb(0, 0, 255)');
        assert.equal(model.requests(key).length, 2);
    });

    for (const [name, confirmed] of [['Yes', true], ['No', false]]) {
        it(`asks the user, also after a reload: ${name}`, async () => {
            const { app, key, model } = stage;
            model.script(key, [{ toolCalls: [call('ask_user', { question: 'Shall I?' })] }, { content: 'As you say.' }]);
            await app.ask(key);
            await app.button(name).waitFor();
            await app.idle();
            await app.reload();
            await app.button(name).click();
            await app.shown('As you say.');
            await app.idle();
            assert.match(outline((await model.request(key, 2)).conversation).at(-1), new RegExp(`confirmed.*${confirmed}`));
        });
    }

    for (const [name, cities] of [['Allow', ['Oslo']], ['Deny', []]]) {
        it(`asks for an approval, also after a reload: ${name}`, async () => {
            const { app, key, model } = stage;
            model.script(key, [{ toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'As you wish.' }]);
            await app.ask(key);
            await app.button(name).waitFor();
            await app.isLocked();
            await app.reload();
            await app.isLocked();
            await app.button(name).click();
            await app.shown('As you wish.');
            await app.idle();
            assert.deepEqual(stage.weather.calls.map(({ arguments: { city } }) => city), cities);
            assert.equal(runs(), 2);
        });
    }

    it('shows state and activities', async () => {
        const { app, key, model } = stage;
        model.script(key, [{ toolCalls: [call('paint', {})] }, { content: 'There.' }]);
        await app.ask(key);
        await app.shown('There.');
        await app.shown('State: {"color":"blue"}');
        await app.shown('preview: {"color":"blue"}');
        await app.idle();
        assert.equal(runs(), 1);
    });

    it('begins another chat, and has the first one by its address', async () => {
        const { app, key, model } = stage;
        model.script(key, [{ content: 'Hello.' }]);
        await app.ask(key);
        await app.shown('Hello.');
        await app.idle();
        const address = app.page.url();
        await app.button('New chat').click();
        await app.page.locator('.message').first().waitFor({ state: 'detached' });
        assert.notEqual(app.page.url(), address);
        await app.page.goto(address);
        await app.shown('Hello.');
    });

    it('shows a failure of the model, and asks again', async () => {
        const { app, key, model } = stage;
        model.script(key, [{ error: { message: 'secret of the server', type: 'invalid_request_error' }, status: 400 }, { content: 'Now.' }]);
        await app.ask(key);
        await app.page.getByRole('alert').waitFor();
        assert.doesNotMatch(await app.page.innerText('body'), /secret/);
        await app.button('Again').click();
        await app.shown('Now.');
        await app.idle();
    });

    it('goes on after the gateway was killed in mid-stream', async () => {
        const { app, key, model, rest } = stage;
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Here again.' }]);
        await app.ask(key);
        await app.shown('word3 ');
        await stage.gateway.end('SIGKILL');
        await app.page.getByRole('alert').waitFor();
        await stage.gateway.launch();
        await app.reload();
        await app.shown('word3 ');
        await app.ask('again');
        await app.shown('Here again.');
        const isMeant = (text) => /ERR_INCOMPLETE_CHUNKED_ENCODING/.test(text); // The stream of the killed process.
        app.problems = app.problems.filter((text) => !isMeant(text));
        app.requests = app.requests.filter(({ status }) => !isMeant(status));
    });
});
