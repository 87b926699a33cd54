// The example page of --demo in headless Chromium: type, see the colour change, see the answer.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { launchChromium } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';

describe('the example page', () => {
    let gateway;
    let browser;
    let page;
    const complaints = [];

    before(async () => {
        gateway = await Gateway.start({ args: ['--demo', '--listen', '127.0.0.1:0'] });
        browser = await launchChromium();
        page = await browser.newPage({ viewport: { width: 1100, height: 760 } });
        page.on('pageerror', (error) => complaints.push(String(error)));
        page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
        await page.goto(gateway.base);
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway);
    });

    const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

    async function ask(text) {
        await page.fill('#prompt', text);
        await page.click('#send');
    }

    /// Waits until the page is done with its turn; resolves to the types of the events that it shows.
    async function typesShown(runs) {
        await page.waitForFunction((count) => document.querySelectorAll('#events li[data-type="RUN_FINISHED"]').length === count
            && document.querySelector('#status').textContent === 'Done', runs);
        const types = await page.$$eval('#events li[data-type]', (rows) => rows.map((row) => row.dataset.type));
        return types.filter((type, index) => /^[A-Z_]+$/.test(type) && type !== types[index - 1]);
    }

    it('changes its background when the model calls for it, and shows the answer', async () => {
        const before = await colour();

        await ask('Make the background green');

        await page.waitForFunction((old) => getComputedStyle(document.body).backgroundColor !== old, before);
        const types = await typesShown(2);
        const first = types.slice(0, types.indexOf('RUN_FINISHED') + 1);
        const second = types.slice(first.length);
        assert.deepEqual(first.filter((type) => !type.startsWith('TEXT_MESSAGE')),
            ['RUN_STARTED', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'RUN_FINISHED']);
        assert.deepEqual(second,
            ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED']);
        assert.equal(await colour(), 'rgb(0, 128, 0)');
        assert.equal(await page.textContent('#messages .message.user'), 'Make the background green');
        const answers = await page.$$eval('#messages .message.assistant', (nodes) => nodes.map((node) => node.textContent));
        assert.match(answers.at(-1), /green/);
    });

    it('goes on with a second turn on the same thread', async () => {
        await ask('Now make it blue');
        await typesShown(4);
        await page.waitForFunction(() => getComputedStyle(document.body).backgroundColor === 'rgb(0, 0, 255)');
    });

    it('reports no error to the console', () => {
        assert.deepEqual(complaints, []);
    });

    it('is served with headers that keep it out of frames and other origins out of it', async () => {
        const response = await fetch(gateway.base);
        assert.equal(response.status, 200);
        assert.ok(response.headers.get('content-security-policy'));
        assert.equal(response.headers.get('x-content-type-options'), 'nosniff');
        assert.equal(response.headers.get('x-frame-options'), 'DENY');
    });
});
