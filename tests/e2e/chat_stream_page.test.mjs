// The page of --demo for the chat stream in headless Chromium: type, see the colour change, see the answer, in both modes.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launchChromium } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { gate, ModelServer } from './support/model.mjs';

describe('the page of the chat stream', () => {
    let gateway;
    let browser;

    before(async () => {
        gateway = await Gateway.start({ args: ['--demo', '--listen', '127.0.0.1:0'] });
        browser = await launchChromium();
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway);
    });

    /// A page of its own, with what it complains about.
    async function open(url = `${gateway.base}/chat-stream/`) {
        const page = await browser.newPage({ viewport: { width: 1100, height: 760 } });
        const complaints = [];
        page.on('pageerror', (error) => complaints.push(String(error)));
        page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
        await page.goto(url);
        return { page, complaints };
    }

    async function ask(page, text) {
        await page.fill('#prompt', text);
        await page.click('#send');
    }

    const status = (page, text) => page.waitForFunction((wanted) => document.querySelector('#status').textContent === wanted, text);
    const colour = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const colourIs = (page, wanted) =>
        page.waitForFunction((colour) => getComputedStyle(document.body).backgroundColor === colour, wanted);
    const shown = (page) => page.$$eval('#messages .message', (boxes) => boxes.map((box) =>
        [box.dataset.type ?? 'user', box.dataset.status, box.querySelector('.value').textContent]));
    const requests = (page) => page.$$eval('#frames .request', (rows) => rows.map((row) =>
        [row.querySelector('.title').textContent, Number(row.querySelector('.bytes').textContent.replace(/\D/g, ''))]));

    for (const mode of ['incremental', 'full']) {
        describe(`in ${mode} mode`, () => {
            let page;
            let complaints;

            before(async () => {
                ({ page, complaints } = await open());
                await page.check(`#mode input[value="${mode}"]`, { force: true });
            });

            it('changes its background when the model calls for it, and shows the answer', async () => {
                await ask(page, 'Make the background green');
                await status(page, 'Done');

                assert.equal(await colour(page), 'rgb(0, 128, 0)');
                const messages = await shown(page);
                assert.deepEqual(messages[0], ['user', undefined, 'Make the background green']);
                assert.deepEqual(messages.slice(1).map(([type, state]) => [type, state]),
                    [['content', 'completed'], ['tool_call_request', 'completed'], ['content', 'completed']]);
                assert.equal(messages[2][2], 'change_background {"color":"green"}');
                assert.match(messages[3][2], /^Done! .*green/);
                assert.match(await page.textContent('.tool_call_request .note'), /^Done in this page/);
                if (process.env.AGUI_PAGE_SCREENSHOT && mode === 'incremental') {
                    await page.evaluate(() => document.activeElement.blur());
                    await page.screenshot({ path: process.env.AGUI_PAGE_SCREENSHOT });
                }
            });

            it('shows the frames of both requests, and their bytes', async () => {
                const seen = await requests(page);
                assert.deepEqual(seen.map(([title]) => title), Array(2).fill('POST /chat/stream'));
                for (const [, bytes] of seen) assert.ok(bytes > 500);
                assert.equal(await page.locator('#frames .finished').count(), 2);
                const frames = await page.$$eval('#frames .frame .json', (rows) => rows.map((row) => JSON.parse(row.textContent)));
                const pieces = frames.flatMap(({ messages }) => messages).filter(({ type }) => type === 'content');
                const repeats = pieces.filter(({ value }) => value.startsWith('Done! The'));
                assert.equal(repeats.length > 0, mode === 'full', 'only full frames repeat what was there');
            });

            it('goes on with a second turn in the same session', async () => {
                await ask(page, 'Now make it blue');
                await colourIs(page, 'rgb(0, 0, 255)');
                await status(page, 'Done');
                const bodies = await page.$$eval('#frames .body .json', (rows) => rows.map((row) => JSON.parse(row.textContent)));
                assert.equal(bodies.length, 4);
                assert.equal(new Set(bodies.map(({ sessionId }) => sessionId)).size, 1);
                assert.equal(new Set(bodies.map(({ messageId }) => messageId)).size, 4);
                assert.deepEqual(bodies.map(({ responseMode }) => responseMode), Array(4).fill(mode));
            });

            it('is the same after a reload', async () => {
                const before = await shown(page);
                assert.equal(before.length, 8);
                await page.reload();
                await status(page, 'Done');
                assert.deepEqual(await shown(page), before);
                assert.equal(await colour(page), 'rgb(0, 0, 255)');
                assert.ok(await page.isChecked(`#mode input[value="${mode}"]`));
                assert.deepEqual(new Set((await requests(page)).map(([title]) => title.split(' ')[0])), new Set(['GET']));
            });

            it('reports no error to the console', () => {
                assert.deepEqual(complaints, []);
            });
        });
    }

    /// The body of an answer, as a gateway would send it.
    const sse = (body, messages, id = 1) => `id: ${id}\ndata: ${JSON.stringify({
        sessionId: body.sessionId, messageId: body.messageId, msgStatus: 'finished', messages: messages.map((message, index) =>
            ({ ...message, timestamp: 1, id: `${body.messageId}-${index}`, status: 'generated' })),
    })}\n\n`;

    /// Answers each request of the page with the next messages; the bodies that it has sent.
    async function answerWith(page, ...answers) {
        const bodies = [];
        await page.route('**/chat/stream', async (route) => {
            const body = route.request().postDataJSON();
            bodies.push(body);
            await route.fulfill({ contentType: 'text/event-stream', body: sse(body, answers.shift()) });
        });
        return bodies;
    }

    const call = (toolCallId, toolName, args) => ({
        type: 'tool_call_request', value: { toolCallId, toolName, arguments: args, pending: true },
    });

    it('refuses arguments that are no colour, and tools that it does not have', async () => {
        const { page, complaints } = await open();
        const before = await colour(page);
        const bodies = await answerWith(page, [
            call('c1', 'change_background', { color: 'var(--good)' }), call('c2', 'change_background', 'no JSON'),
            call('c3', 'erase_disk', {}),
        ], [{ type: 'content', value: '<b id="markup">As you like</b>' }]);

        await ask(page, 'Hello');
        await status(page, 'Done');

        assert.deepEqual(bodies[1].toolResults.map(({ toolCallId, error }) => [toolCallId, error]), [
            ['c1', '"var(--good)" is not a CSS colour'], ['c2', 'the arguments are not an object'],
            ['c3', 'this page has no tool named erase_disk'],
        ]);
        assert.equal(await colour(page), before);
        assert.equal(await page.locator('.note[data-state="failed"]').count(), 3);
        assert.equal(await page.locator('#markup').count(), 0);
        assert.equal((await shown(page)).at(-1)[2], '<b id="markup">As you like</b>');
        assert.deepEqual(complaints, []);
        await page.close();
    });

    it('executes nothing after an error', async () => {
        const { page } = await open();
        const bodies = await answerWith(page,
            [call('c1', 'change_background', { color: 'red' }), { type: 'error', value: { code: 'model_error', message: 'gone' } }]);
        await ask(page, 'Hello');
        await status(page, 'Failed');
        assert.equal(bodies.length, 1);
        assert.deepEqual((await shown(page)).at(-1), ['error', 'completed', 'model_error: gone']);
        await page.close();
    });

    it('begins anew when the gateway does not know the conversation any more', async () => {
        const { page } = await open();
        await ask(page, 'Hello');
        await status(page, 'Done');
        await page.route('**/events?*', (route) => route.fulfill({
            status: 404, contentType: 'application/json', body: '{"error":{"code":"not_found","message":"no such run"}}',
        }));
        await page.reload();
        await page.waitForFunction(() => document.querySelector('#problem-text').textContent.includes('not_found: no such run'));
        assert.deepEqual(await shown(page), []);
        await page.unroute('**/events?*');
        await ask(page, 'Hello again');
        await status(page, 'Done');
        assert.equal((await shown(page)).length, 2);
        await page.close();
    });

    it('can be reached from the other page, and without the / at its end', async () => {
        const { page, complaints } = await open();
        await page.click('a[href="../"]');
        await page.waitForURL(`${gateway.base}/`);
        await page.click('a[href="chat-stream/"]');
        await page.waitForURL(`${gateway.base}/chat-stream/`);
        await page.goto(`${gateway.base}/chat-stream`);
        assert.equal(page.url(), `${gateway.base}/chat-stream/`);
        await page.waitForSelector('#composer');
        assert.deepEqual(complaints, []);
        await page.close();
    });

    describe('with a model that waits', () => {
        let model;
        let waiting; // A gateway with that model. It serves the page at its root, from the folder.

        before(async () => {
            model = await ModelServer.start();
            const folder = fileURLToPath(new URL('../../examples/chat-stream', import.meta.url));
            waiting = await Gateway.start({ model, config: { server: { static_dir: folder } } });
        });
        after(() => stopAll(waiting, model));

        it('carries a hand-off through that reloads interrupt', async () => {
            const asked = gate();
            const answered = gate();
            model.script('Paint', [
                { toolCalls: [{ name: 'change_background', arguments: '{"color":"orange"}' }], hold: asked.opened },
                { content: 'Orange it is, and orange it stays.', pauseAfter: 3, resume: answered.opened },
            ]);
            const { page, complaints } = await open(waiting.base);

            await ask(page, 'Paint it orange');
            await model.request('Paint', 1);
            await page.reload();
            asked.open();
            await page.waitForSelector('.message.content[data-status="loading"]');
            await page.reload();
            await page.waitForSelector('.message.content[data-status="loading"]');
            assert.equal(await colour(page), 'rgb(255, 165, 0)');
            answered.open();
            await status(page, 'Done');

            assert.deepEqual(await shown(page), [
                ['user', undefined, 'Paint it orange'],
                ['tool_call_request', 'completed', 'change_background {"color":"orange"}'],
                ['content', 'completed', 'Orange it is, and orange it stays.'],
            ]);
            model.checkRequests();
            assert.deepEqual(complaints, []);
            await page.close();
        });

        it('stops an answer in the gateway', async () => {
            model.script('Tell', [{ content: 'A long story that nobody waits for.', pauseAfter: 3, resume: gate().opened }]);
            const { page, complaints } = await open(waiting.base);
            await ask(page, 'Tell me a story');
            await page.waitForSelector('.message.content[data-status="loading"]');

            await page.click('#stop');
            await (await model.request('Tell', 1)).closed;
            await status(page, 'Stopped');

            const messages = await shown(page);
            assert.deepEqual(messages.slice(1).map(([type, state]) => [type, state]), [['content', 'completed']]);
            assert.equal(await page.isHidden('#problem'), true);
            assert.deepEqual(complaints, []);
            await page.close();
        });
    });
});
