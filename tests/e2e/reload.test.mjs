// What a page shows, and does, when it is loaded again: CopilotKit's React chat and assistant-ui in headless Chromium, each
// with the history that the gateway has. tests/run.sh --all builds the pages and says where they are.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Files, chatPages, launchChromium } from './support/browser.mjs';
import { postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { StreamServer } from './model_streams/model.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { contentWith, photo } from './support/photos.mjs';

const screenshots = process.env.AGUI_PAGE_SCREENSHOTS;

const paint = (color) => ({ type: 'toolCall', name: 'change_background', arguments: JSON.stringify({ color }), id: `call_${color}` });

for (const ui of chatPages) {
    const built = process.env[ui.variable];
    describe(`${ui.name}, loaded again`, { skip: !built && `${ui.variable} is not set: tests/run.sh --all sets it` }, () => {
        let files;
        let model;
        let bareModel; ///< Takes requests of any size.
        let gateway;
        let bareGateway;
        let browser;
        let page;
        let key;
        let threadId;
        let posts;

        before(async () => {
            files = await Files.start(built);
            model = await ModelServer.start();
            bareModel = await StreamServer.start();
            const config = { server: { cors_origins: [files.origin] } };
            gateway = await Gateway.start({ model, config });
            bareGateway = await Gateway.start({ model: bareModel, config });
            browser = await launchChromium();
        });
        after(async () => {
            await browser?.close();
            await stopAll(gateway, bareGateway, model, bareModel, files);
        });
        beforeEach(async (test) => {
            key = `${ui.name}: ${test.name}`;
            threadId = randomUUID();
            page = await browser.newPage();
            page.setDefaultTimeout(20_000);
            page.on('request', (request) => request.method() === 'POST' && request.url() === gateway.url && posts.push(request.postDataJSON()));
        });
        afterEach(async (test) => {
            if (screenshots) await page.screenshot({ path: path.join(screenshots, `${ui.variable}-${test.name}.png`.replaceAll(/[^\w.]/g, '-')) });
            await page.close();
        });

        async function load({ url } = gateway) {
            posts = [];
            const query = new URLSearchParams({ url, thread: threadId, ...ui.query });
            await page.goto(`${files.origin}/?${query}`);
        }

        async function ask(text) {
            await page.fill(ui.input, text);
            await page.click(ui.send);
        }

        const shown = (text) => page.locator(ui.message).filter({ hasText: text }).first().waitFor();
        const executed = () => page.evaluate(() => window.executed);

        it('executes nothing after Stop with two open calls', async () => {
            const never = gate();
            const text = 'Painting both, one after the other. '.repeat(20);
            model.script(`[${key}]`, [
                { blocks: [paint('red'), paint('blue'), { type: 'text', text }], pauseAfter: 20, resume: never.opened },
                { content: 'As you like.' },
            ]);
            await load();
            await ask(`[${key}]`);
            await shown('Painting both');
            const exchange = await model.request(`[${key}]`, 1);
            await page.click(ui.stop);
            await exchange.closed;
            never.open();

            await load();

            await shown('Painting both');
            await page.locator(ui.idle).waitFor();
            await ask('and now?');
            await shown('As you like.');
            await page.locator(ui.idle).waitFor();
            assert.deepEqual(await executed(), []);
            assert.equal(posts.length, 1, 'requests since the page was loaded again');
            assert.equal(model.requests(`[${key}]`).length, 2);
        });

        it('offers no button for a call that the conversation has gone on without', async () => {
            const call = { name: 'approve', arguments: '{"what":"the plan"}', id: 'call_approve' };
            model.script(`[${key}]`, [{ toolCalls: [call] }, { content: 'Then without it.' }, { content: 'Fine.' }]);
            await load();
            await ask(`[${key}]`);
            await page.locator('[data-testid="approve"]').waitFor();
            (await postRun(gateway, runInput({ threadId, messages: [user('never mind')] }))).expectFinished();

            await load();

            await shown('Then without it.');
            assert.equal(await page.locator('[data-testid="approve"]').count(), 0);
            await page.locator(ui.idle).waitFor();
            await ask('good');
            await shown('Fine.');
            assert.equal(await page.locator('[data-testid="approve"]').count(), 0);
            assert.equal(posts.length, 1, 'requests since the page was loaded again');
            const pending = await (await fetch(`${gateway.url}/threads/${threadId}/pending`)).json();
            assert.deepEqual(pending.toolCalls, []);
        });

        it('executes nothing after a model that was lost with open calls', async () => {
            const text = 'Painting both, one after the other. '.repeat(20);
            const lost = { blocks: [paint('green'), paint('black'), { type: 'text', text }], cutAfter: 20 };
            model.script(`[${key}]`, [lost, { content: 'Once more, then.' }]);
            await load();
            await ask(`[${key}]`);
            await (await model.request(`[${key}]`, 1)).ended;
            await page.locator(ui.idle).waitFor();

            await load();

            await shown('Painting both');
            await page.locator(ui.idle).waitFor();
            await ask('and now?');
            await shown('Once more, then.');
            await page.locator(ui.idle).waitFor();
            assert.deepEqual(await executed(), []);
            assert.equal(posts.length, 1, 'requests since the page was loaded again');
        });

        it('offers no button for a call that the user has written past in the page', async () => {
            const call = { name: 'approve', arguments: '{"what":"the plan"}', id: 'call_past' };
            model.script(`[${key}]`, [{ toolCalls: [call] }, { content: 'Then without it.' }]);
            await load();
            await ask(`[${key}]`);
            await page.locator('[data-testid="approve"]').waitFor();
            await ask('never mind');
            await shown('Then without it.');

            await load();

            await shown('Then without it.');
            assert.equal(await page.locator('[data-testid="approve"]').count(), 0);
        });

        it('offers the button again for a call that waits, and its answer counts', async () => {
            const call = { name: 'approve', arguments: '{"what":"the plan"}', id: 'call_waits' };
            model.script(`[${key}]`, [{ toolCalls: [call] }, { content: 'Approved it is.' }]);
            await load();
            await ask(`[${key}]`);
            await page.locator('[data-testid="approve"]').waitFor();

            await load();

            await page.locator('[data-testid="approve"]').click();
            await shown('Approved it is.');
            assert.match(JSON.stringify(model.requests(`[${key}]`)[1].messages.at(-1)), /approved/);
        });

        it('shows four photos of 3 MB', async () => {
            const photos = [1, 2, 3, 4].map(photo);
            const { requests } = bareModel.expect(key, []);
            for (const [n, each] of photos.entries()) {
                const message = user(contentWith(`[${key}] look ${n}`, each));
                (await postRun(bareGateway, runInput({ threadId, messages: [message] }))).expectFinished();
            }

            await load(bareGateway);

            const isShown = (count) => [...document.querySelectorAll('img')].filter((image) => image.naturalWidth === 1000).length === count;
            await page.waitForFunction(isShown, photos.length);
            await page.locator(ui.idle).waitFor();
            await ask('how many?');
            await page.locator(ui.message).filter({ hasText: 'Done.' }).nth(photos.length).waitFor();
            const sent = requests.at(-1).body.messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
                .filter((part) => part.type === 'image_url');
            assert.deepEqual(sent.map((part) => part.image_url.url.length), photos.map((each) => `data:image/png;base64,${each.base64}`.length));
        });

        it('left only valid requests to the model server', () => model.checkRequests());
    });
}
