// The console in headless Chromium, on live gateways: every view, by mouse and by keyboard alone, light, dark and narrow.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import { launchChromium } from './support/browser.mjs';
import { ConsolePage, seriousProblems, watchedPage } from './support/console_page.mjs';
import { binFolder, Gateway, stopAll } from './support/gateway.mjs';

const tool = JSON.stringify([{ name: 'change_background', description: 'Changes it.', parameters: { type: 'object' } }]);

describe('the console', () => {
    let gateway;
    let browser;
    let page;
    let view;
    let folder;

    before(async () => {
        folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-console-'));
        gateway = await Gateway.start({ args: ['--demo', '--listen', '127.0.0.1:0'] });
        browser = await launchChromium();
        page = await watchedPage(browser);
        view = new ConsolePage(page);
        await page.goto(`${gateway.base}/console/`);
        await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('Connected'));
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway);
        fs.rmSync(folder, { recursive: true, force: true });
    });
    afterEach(() => {
        assert.deepEqual(page.complaints, []);
        assert.deepEqual(page.refused, []);
    });

    /// Downloads the chosen run and lets agui-replay check it.
    async function checkDownload(name) {
        const archive = path.join(folder, `${name}.tar`);
        const note = await view.download(archive);
        const place = path.join(folder, name);
        fs.mkdirSync(place);
        assert.equal(spawnSync('tar', ['-xf', archive, '-C', place]).status, 0);
        const checked = spawnSync(path.join(binFolder, 'agui-replay'), ['check', place], { encoding: 'utf8' });
        assert.equal(checked.status, 0, checked.stdout + checked.stderr);
        assert.match(checked.stdout, /1 passed, 0 failed/);
        const [fixture] = fs.readdirSync(place);
        return { note, files: fs.readdirSync(path.join(place, fixture)), fixture: JSON.parse(fs.readFileSync(path.join(place, fixture, 'fixture.json'), 'utf8')) };
    }

    it('starts a run by hand and shows its events with times and durations', async () => {
        await view.startRun('Add tea to the list', { thread: 'list' });
        await view.ended();

        const types = await view.types();
        assert.equal(types[0], 'RUN_STARTED');
        assert.ok(types.includes('TOOL_CALL_RESULT') && types.includes('STATE_SNAPSHOT'), types.join());
        assert.equal(types.filter((type) => type === 'TEXT_MESSAGE_CONTENT').length, 2, 'the deltas of a message share a row');
        if (process.env.AGUI_CONSOLE_SCREENSHOT) {
            await page.evaluate(() => document.activeElement.blur());
            await page.screenshot({ path: process.env.AGUI_CONSOLE_SCREENSHOT });
        }
        assert.match(await view.row('RUN_FINISHED').textContent(), /\+\d.*success.*took \d/);
        assert.match(await view.row('TEXT_MESSAGE_END').textContent(), /took \d/);
        assert.match(await view.row('TEXT_MESSAGE_CONTENT').textContent(), /3–8.*×6.*I put it on the list\./);
        await view.row('TOOL_CALL_START').locator('summary').click();
        const opened = view.row('TOOL_CALL_START').locator('pre').filter({ hasText: '}' }); // The browser tells the page later.
        assert.equal(JSON.parse(await opened.textContent()).toolCallName, 'add_to_list');
    });

    it('filters the events by kind and by text', async () => {
        const all = (await view.types()).length;
        await page.uncheck('#filters input[value="text"]');
        await page.waitForFunction(() => !document.querySelector('#events li[data-group="text"]'));
        assert.ok((await view.types()).includes('TOOL_CALL_END'));
        await page.check('#filters input[value="text"]');
        await page.fill('#filter', 'on the list');
        await page.waitForFunction((count) => document.querySelectorAll('#events li').length < count, all);
        assert.ok((await view.types()).every((type) => ['TEXT_MESSAGE_CONTENT', 'TOOL_CALL_RESULT'].includes(type)));
        await page.fill('#filter', '');
        await page.waitForFunction((count) => document.querySelectorAll('#events li').length === count, all);
    });

    it('gives a run as a fixture that agui-replay accepts', async () => {
        const { note, files, fixture } = await checkDownload('tool');
        assert.deepEqual(files, ['answer-1-1.sse', 'answer-1-2.sse', 'events-1.jsonl', 'fixture.json']);
        assert.doesNotMatch(note, /lacks/);
        assert.deepEqual(fixture.serverTools.map(({ name, result }) => [name, result]), [['add_to_list', 'tea is on the list.']]);
    });

    it('lets a person approve a call with other arguments', async () => {
        await view.startRun('Order what is on the list', { thread: 'list' });
        await view.ended();
        await page.waitForFunction(() => document.querySelector('#tab-waiting').textContent === 'Waiting (1)');
        await checkDownload('asked');
        await view.tab('waiting');
        await page.fill('#waiting textarea', '{"items": ["coffee"]');
        await page.click('#waiting button:text-is("Approve")');
        await page.waitForFunction(() => document.querySelector('#waiting [role="alert"]')?.textContent.includes('not JSON'));
        await page.fill('#waiting textarea', '{"items": ["coffee"]}');
        await view.answer('Approve');
        assert.match(await view.row('TOOL_CALL_RESULT').textContent(), /Ordered: coffee/);
        assert.equal(await page.textContent('#tab-waiting'), 'Waiting');
    });

    it('lets a person approve, deny and withdraw', async () => {
        for (const [button, told] of [['Approve', /Ordered: /], ['Deny', /too dear/], ['Withdraw', /./]]) {
            await view.startRun('Order it', { thread: `order-${button}` });
            await view.ended();
            await view.tab('waiting');
            await page.locator('#waiting form').waitFor();
            if (button === 'Deny') await page.fill('#waiting input', 'too dear');
            await view.answer(button);
            const types = await view.types();
            assert.match(await view.row('TOOL_CALL_RESULT').textContent(), told, types.join());
            if (button === 'Approve') {
                const { fixture } = await checkDownload('approved');
                assert.equal(fixture.steps.length, 2, 'the run that asked comes first');
                assert.deepEqual(fixture.steps[1].request.resume.map(({ payload }) => payload), [{ approved: true }]);
            }
        }
    });
    it('keeps what a person types while the page reads what waits again', async () => {
        await view.startRun('Make the background blue', { thread: 'typing', tools: tool });
        await view.ended();
        await view.tab('waiting');
        await page.locator('#waiting textarea').waitFor();
        await page.fill('#waiting textarea', 'half an ans');
        const isPending = (response) => response.url().includes('/typing/pending');
        for (const button of ['#refresh', '#refresh']) {
            await Promise.all([page.waitForResponse(isPending), page.click(button)]);
            await page.focus('#waiting textarea');
            await page.waitForFunction(() => document.querySelector('#run-status').textContent === 'ended');
        }
        await page.waitForLoadState('networkidle');
        assert.equal(await page.inputValue('#waiting textarea'), 'half an ans');
        await page.keyboard.type('wer');
        await page.click('#new-run'); // Empties the thread's id, so that the next run begins a thread.
        await Promise.all([page.waitForResponse(isPending), page.click('#refresh')]);
        await page.waitForLoadState('networkidle');
        assert.equal(await page.inputValue('#start-thread'), '');
        await view.tab('waiting');
        await view.answer('Answer');
        await page.waitForFunction(() => document.querySelector('#events').textContent.includes('half an answer'));
    });

    it('answers a call of the application, with a result and with an error', async () => {
        for (const [button, result] of [['Answer', '{"status":"ok"}'], ['Answer as an error', 'it broke']]) {
            await view.startRun('Make the background green', { thread: `hand-off ${button}`, tools: tool });
            await view.ended();
            await view.tab('waiting');
            await page.fill('#waiting textarea', result);
            await view.answer(button);
            await page.waitForFunction((text) => document.querySelector('#events').textContent.includes(text), result);
            const { fixture } = await checkDownload(button.replaceAll(' ', '-'));
            assert.equal(fixture.steps[1].request.messages[0].role, 'tool');
        }
    });

    it('shows what the model was sent, and the prefix that repeats', async () => {
        await page.click('#threads button[data-id="list"]');
        await view.tab('requests');
        await page.waitForFunction(() => document.querySelectorAll('#requests > li').length === 4);
        const newest = await view.openRequest(0);
        const parts = await newest.locator('.part').evaluateAll((nodes) => nodes.map((node) => [node.querySelector('h3').textContent, node.dataset.repeats]));
        const repeats = parts.filter(([, repeated]) => repeated === 'true');
        assert.match(await newest.locator('[role="status"]').textContent(), new RegExp(`^${repeats.length} of ${parts.length - 1} parts repeat request #`));
        assert.ok(repeats.length >= 8 && repeats.length < parts.length - 1, JSON.stringify(parts));
        assert.ok(repeats.some(([title]) => title === 'messages[0] system repeats'), JSON.stringify(parts));
        assert.equal(parts.at(-1)[0], 'settings');
        assert.ok((await newest.textContent()).includes('Add tea to the list'));
        const first = await view.openRequest(3);
        assert.match(await first.locator('[role="status"]').textContent(), /^No earlier request/);
        await view.tab('events');
    });

    it('follows a run that is active, stops it, and shows what a fixture of it lacks', async () => {
        await view.startRun('Find a recipe for pancakes', { thread: 'recipe' });
        await page.locator('#events li[data-type="ACTIVITY_SNAPSHOT"]').waitFor();
        assert.equal(await page.textContent('#run-status'), 'live');
        assert.equal(await page.isDisabled('#download'), true);
        await page.click('#stop');
        await view.ended();
        assert.match(await view.row('RUN_FINISHED').textContent(), /cancelled/);
        const { note } = await checkDownload('stopped');
        assert.match(note, /It lacks: .*the stop that ended the run/);
    });

    it('finds threads by title and id, and opens an old run by its link', async () => {
        await page.fill('#search', 'RECIPE');
        await page.press('#search', 'Enter');
        await page.waitForFunction(() => document.querySelectorAll('#threads button').length === 1);
        await page.fill('#search', 'order-deny');
        await page.press('#search', 'Enter');
        await page.waitForFunction(() => document.querySelector('#threads button')?.dataset.id === 'order-Deny');
        await page.fill('#search', 'no such thread');
        await page.press('#search', 'Enter');
        await page.waitForFunction(() => document.querySelector('#threads-note').textContent.startsWith('0 of '));
        await page.fill('#search', '');
        await page.press('#search', 'Enter');
        await page.waitForFunction(() => document.querySelectorAll('#threads button').length > 4);

        await page.click('#threads button[data-id="list"]');
        await page.waitForFunction(() => document.querySelectorAll('#run option').length === 3);
        const oldest = await page.locator('#run option').last().getAttribute('value');
        await page.selectOption('#run', oldest);
        const shown = () => page.waitForFunction(() => document.querySelector('#events').textContent.includes('tea is on the list.'));
        await shown();
        await page.reload();
        await shown();
        await view.ended();
        assert.equal(await page.inputValue('#run'), oldest);
    });

    it('works with the keyboard alone', async () => {
        const focused = () => page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);
        const tabTo = async (wanted) => {
            for (let press = 0; press < 60; ++press) {
                if (await focused() === wanted) return;
                await page.keyboard.press('Tab');
            }
            assert.fail(`no Tab leads to ${wanted}, only to ${await focused()}`);
        };
        await page.goto(`${gateway.base}/console/?keyboard`);
        await page.waitForFunction(() => document.querySelectorAll('#threads button').length > 4);
        await page.keyboard.press('Tab');
        assert.equal(await focused(), 'Skip to the thread');
        await tabTo('new-run');
        await page.keyboard.press('Enter');
        assert.equal(await focused(), 'start-text');
        await page.keyboard.type('Order it');
        await tabTo('Start the run');
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => document.querySelector('#tab-waiting').textContent === 'Waiting (1)');
        await tabTo('tab-events');
        await page.keyboard.press('ArrowRight');
        await page.keyboard.press('ArrowRight');
        assert.equal(await focused(), 'tab-waiting');
        assert.equal(await page.isVisible('#panel-waiting'), true);
        await page.locator('#waiting form').waitFor();
        await tabTo('Approve');
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => document.querySelector('#events')?.textContent.includes('Ordered: '));
        await view.ended();
        await page.keyboard.press('Home');
        await tabTo('download');
        await tabTo('events');
        await page.keyboard.press('Tab'); // The first row.
        await page.keyboard.press('Enter');
        assert.equal(await page.locator('#events details[open]').count(), 1);
    });

    for (const colorScheme of ['light', 'dark']) {
        it(`has nothing serious for axe-core, ${colorScheme}, nor have the pages of the demo`, async () => {
            const other = await watchedPage(browser, { colorScheme });
            const problems = [];
            const look = async (where) => problems.push(...(await seriousProblems(other)).map((each) => `${where}: ${each}`));
            const steps = new ConsolePage(other);
            await other.goto(`${gateway.base}/console/#thread=list`);
            await steps.ended();
            await look('events');
            await steps.tab('requests');
            await steps.openRequest(0);
            await look('requests');
            await steps.startRun('Order it', { thread: `axe-${colorScheme}`, tools: tool });
            await steps.ended();
            await steps.tab('waiting');
            await other.locator('#waiting form').waitFor();
            await look('waiting');
            await steps.tab('start');
            await look('start');
            for (const place of ['/', '/chat-stream/']) {
                await other.goto(gateway.base + place);
                await other.fill('#prompt', 'Hello');
                await other.click('#send');
                await other.waitForFunction(() => document.querySelector('#status').textContent === 'Done');
                await look(place);
            }
            assert.deepEqual(problems, []);
            assert.deepEqual(other.complaints, []);
            assert.deepEqual(other.refused, []);
            await other.close();
        });
    }

    it('fits a narrow screen', async () => {
        const narrow = await watchedPage(browser, { viewport: { width: 390, height: 844 } });
        await narrow.goto(`${gateway.base}/console/#thread=list`);
        const steps = new ConsolePage(narrow);
        await steps.ended();
        for (const name of ['events', 'requests', 'waiting', 'start']) {
            await steps.tab(name);
            if (name === 'requests') await steps.openRequest(0);
            assert.ok(await narrow.evaluate(() => document.documentElement.scrollWidth) <= 390, name);
        }
        assert.deepEqual(narrow.complaints, []);
        await narrow.close();
    });
});

/// A model server that answers with text and counts tokens, some of them cached.
function startModel() {
    const server = http.createServer((request, response) => {
        request.resume();
        request.on('end', () => {
            const usage = { prompt_tokens: 120, completion_tokens: 5, total_tokens: 125, prompt_tokens_details: { cached_tokens: 90 } };
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            const frames = [{ choices: [{ index: 0, delta: { content: 'Good day.' } }] }, { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }, { choices: [], usage }];
            response.end(`${frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`).join('')}data: [DONE]\n\n`);
        });
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve({
        url: `http://127.0.0.1:${server.address().port}/v1?code=query-secret`,
        stop: () => new Promise((done) => { server.closeAllConnections(); server.close(done); }),
    })));
}

describe('the console of a gateway with a token', () => {
    const secrets = { AGUI_TEST_TOKEN: 'gateway-token-0123456789', AGUI_TEST_KEY: 'sk-model-key-0123456789' };
    let model;
    let gateway;
    let browser;

    before(async () => {
        model = await startModel();
        const common = { model: { api_key_env: 'AGUI_TEST_KEY', headers: { 'X-Team': 'header-secret' }, extra_body: { account: 'body-secret' } } };
        gateway = await Gateway.start({
            model, env: secrets,
            config: { ...common, server: { console: true }, auth: { mode: 'bearer', token_env: 'AGUI_TEST_TOKEN' } },
        });
        browser = await launchChromium();
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway, model);
    });

    it('asks for the token, and shows usage but no secret', async () => {
        const page = await watchedPage(browser);
        const view = new ConsolePage(page);
        await page.goto(`${gateway.base}/console/`);
        await page.locator('#token-form').waitFor();
        await page.fill('#token', 'wrong');
        await page.press('#token', 'Enter');
        await page.waitForFunction(() => !document.querySelector('#token-form').hidden);
        await page.fill('#token', secrets.AGUI_TEST_TOKEN);
        await page.press('#token', 'Enter');
        await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('Connected'));
        assert.ok(page.refused.length >= 2 && page.refused.every((each) => each === '401 /agui/threads'), page.refused.join());

        await view.startRun(`The key is ${secrets.AGUI_TEST_KEY}, and header-secret.`, { thread: 'counted' });
        await view.ended();
        assert.match(await page.textContent('#run-usage'), /120 in \(90 of them from the cache\) 5 out/);
        const runId = await view.runId();
        await view.tab('requests');
        await page.locator('#usage table').waitFor();
        assert.deepEqual(await page.$$eval('#usage td', (cells) => cells.map((cell) => cell.textContent)), ['main', '1', '120', '90 (75 %)', '5']);
        await view.openRequest(0);
        const shown = await page.textContent('#requests');
        assert.match(shown, /The key is \[secret\], and \[secret\]\./);
        for (const secret of [...Object.values(secrets), 'header-secret', 'query-secret', 'body-secret', 'X-Team', 'Authorization']) {
            assert.ok(!shown.includes(secret), secret);
        }
        assert.deepEqual(page.complaints, []);

        for (const place of ['/console/requests', '/console/requests/1', `/agui/threads/counted/runs/${runId}/events`]) {
            assert.equal((await fetch(gateway.base + place)).status, 401, place);
        }
        const open = await fetch(`${gateway.base}/console/`);
        assert.equal(open.status, 200);
        assert.match(open.headers.get('content-security-policy'), /default-src 'self'; object-src 'none'/);
        await page.close();
    });

    it('is not there unless it is turned on', async () => {
        const plain = await Gateway.start({ model });
        try {
            for (const place of ['/console', '/console/', '/console/requests', '/console/requests/1']) {
                assert.equal((await fetch(plain.base + place)).status, 404, place);
            }
        } finally {
            await stopAll(plain);
        }
    });
});
