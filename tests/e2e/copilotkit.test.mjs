// CopilotKit's React chat in headless Chromium, straight against the gateway from a page of another origin: a hand-off,
// a reload, Stop. tests/run.sh --all builds the page (browser/) and says where it is; without AGUI_COPILOTKIT_PAGE it is skipped.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Files, launchChromium, within } from './support/browser.mjs';
import { outline } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';

const built = process.env.AGUI_COPILOTKIT_PAGE;

describe('CopilotKit React 1.74.0 in Chromium', { skip: !built && 'AGUI_COPILOTKIT_PAGE is not set: tests/run.sh --all sets it' }, () => {
    let files;
    let model;
    let gateway;
    let browser;
    let page;
    let key;
    let threadId;

    before(async () => {
        files = await Files.start(built);
        model = await ModelServer.start();
        gateway = await Gateway.start({ model, config: { server: { cors_origins: [files.origin] } } });
        browser = await launchChromium();
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway, model, files);
    });
    beforeEach(async (test) => {
        key = `[${test.name}]`;
        threadId = randomUUID();
        page = await browser.newPage();
        page.setDefaultTimeout(15_000);
        const query = new URLSearchParams({ url: gateway.url, thread: threadId });
        await page.goto(`${files.origin}/?${query}`);
    });
    afterEach(() => page.close());

    async function ask(text) {
        await page.fill('[data-testid="copilot-chat-textarea"]', text);
        await page.click('[data-testid="copilot-send-button"]');
    }

    const answers = () => page.locator('[data-testid="copilot-assistant-message"]');

    /// Waits until the page shows a text in an answer.
    function shown(text) {
        return answers().filter({ hasText: text }).first().waitFor();
    }

    /// Waits until the page takes the next message: its button is an arrow again.
    function ready() {
        return page.locator('[data-testid="copilot-send-button"] .lucide-arrow-up').waitFor();
    }

    /// Presses Stop, which is the same button while a run goes on.
    async function stop() {
        await page.click('[data-testid="copilot-send-button"]:has(.lucide-square)');
        await ready();
    }

    async function stored() {
        const response = await fetch(`${gateway.url}/threads/${threadId}/messages`);
        assert.equal(response.status, 200);
        return (await response.json()).messages;
    }

    async function upstream(number) {
        return outline((await within(30, model.request(key, number), `request ${number}`)).conversation);
    }

    it('executes the page\'s tool; after a reload a new message is answered with the whole conversation', async () => {
        const call = { name: 'change_background', arguments: '{"color":"green"}', id: 'call_browser' };
        model.script(key, [
            { blocks: [{ type: 'text', text: 'I make it green.' }, { type: 'toolCall', ...call }] },
            { content: 'It is green.' },
            { content: 'As you like.' },
            { content: 'You asked for green.' },
            { content: 'Still green.' },
        ]);
        await ask(key);
        await shown('It is green.');
        assert.equal(await page.evaluate(() => document.body.dataset.color), 'green');
        await ready();
        await ask('keep it');
        await shown('As you like.');
        await ready();

        await page.reload();
        await ask('what did I ask for?');

        await shown('You asked for green.');
        const whole = [
            `user: ${key}`,
            'assistant: I make it green. | change_background({"color":"green"})#call_browser',
            'tool call_browser: {"status":"ok","color":"green"}',
            'assistant: It is green.',
            'user: keep it',
            'assistant: As you like.',
            'user: what did I ask for?',
        ];
        assert.deepEqual(await upstream(4), whole);

        await ready();
        await ask('and is it?');
        await shown('Still green.');
        assert.deepEqual(await upstream(5), [...whole, 'assistant: You asked for green.', 'user: and is it?']);
        const history = await stored();
        assert.deepEqual(history.map((message) => message.role),
            ['user', 'assistant', 'tool', 'assistant', 'user', 'assistant', 'user', 'assistant', 'user', 'assistant']);
    });

    it('Stop closes the connection to the model within 11 s, and what was said is kept', async () => {
        const never = gate();
        const text = 'A long story that nobody will hear to its end. '.repeat(20);
        model.script(key, [{ content: text, pauseAfter: 6, resume: never.opened }, { content: 'Another one.' }]);
        await ask(key);
        await shown('A long story');
        const exchange = await model.request(key, 1);
        assert.equal(exchange.hungUp, false);

        await stop();

        await within(11, exchange.closed, 'the connection to the model is closed');
        await ask('another');
        await shown('Another one.');
        const [first, second, third] = await upstream(2);
        assert.equal(first, `user: ${key}`);
        assert.match(second, /^assistant: A long story/);
        assert.ok(second.length < text.length);
        assert.equal(third, 'user: another');
        never.open();
    });

    it('Stop and a new message at once, again and again, without an error', async () => {
        const never = gate();
        const stories = 10;
        const story = { content: 'A long story that nobody will hear to its end.', pauseAfter: 4, resume: never.opened };
        model.script(key, [...Array.from({ length: stories }, () => story), { content: 'The end.' }]);
        const refused = [];
        page.on('response', (response) => response.status() >= 400 && refused.push(`${response.status()} ${response.url()}`));
        await ask(key);
        for (let count = 1; count <= stories; ++count) {
            const exchange = await within(30, model.request(key, count), `request ${count}`);
            await answers().nth(count - 1).filter({ hasText: 'A long' }).waitFor();
            await stop();
            await ask(`no, another one (${count})`);
            await within(30, exchange.closed, `story ${count} is closed`);
        }
        await shown('The end.');
        assert.deepEqual(refused, []);
        never.open();
    });

    it('left only valid requests to the model server', () => model.checkRequests());
});
