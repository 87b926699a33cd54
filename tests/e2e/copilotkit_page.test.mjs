// CopilotKit's React chat in headless Chromium with nothing but the gateway's address as its runtimeUrl: hand-off, reload,
// Stop, suggestions, threads. tests/run.sh --all builds the page (browser/); without AGUI_COPILOTKIT_PAGE it is skipped.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Files, launchChromium, within } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';

const built = process.env.AGUI_COPILOTKIT_PAGE;
const send = '[data-testid="copilot-send-button"]';

for (const runtime of ['auto', 'single']) {
    describe(`CopilotKit React 1.74.0 with the gateway as its runtime (${runtime})`, { skip: !built && 'AGUI_COPILOTKIT_PAGE is not set: tests/run.sh --all sets it' }, () => {
        let files;
        let model;
        let gateway;
        let browser;
        let page;
        let key;
        let threadId;
        let problems; ///< Requests that were refused, and errors of the page.

        before(async () => {
            files = await Files.start(built);
            model = await ModelServer.start();
            gateway = await Gateway.start({ model, config: { server: { cors_origins: [files.origin], copilotkit_path: '/copilotkit' } } });
            browser = await launchChromium();
        });
        after(async () => {
            await browser?.close();
            await stopAll(gateway, model, files);
        });
        beforeEach(async (test) => {
            key = `[${test.name} ${randomUUID()}]`;
            threadId = randomUUID();
            problems = [];
            page = await browser.newPage();
            page.setDefaultTimeout(15_000);
            page.on('response', (response) => response.status() >= 400 && problems.push(`${response.status()} ${response.url()}`));
            page.on('pageerror', (error) => problems.push(String(error)));
            page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
            // The page drops requests itself: connects and suggestions of an unmounted component.
            page.on('requestfailed', (request) => request.failure()?.errorText !== 'net::ERR_ABORTED' && problems.push(`${request.failure()?.errorText} ${request.url()}`));
        });
        afterEach(async () => {
            await page.close();
            assert.deepEqual(problems, []);
        });

        async function open(more = {}) {
            const query = { url: `${gateway.base}/copilotkit`, runtime, thread: threadId, ...more };
            await page.goto(`${files.origin}/?${new URLSearchParams(query)}`);
            await page.locator('[data-testid="copilot-chat-textarea"]').waitFor();
        }
        async function ask(text) {
            await page.fill('[data-testid="copilot-chat-textarea"]', text);
            await page.click(send);
        }
        const shown = (text) => page.locator('[data-testid="copilot-assistant-message"]').filter({ hasText: text }).first().waitFor();
        const ready = () => page.locator(`${send} .lucide-arrow-up`).waitFor();
        const stored = async () => (await (await fetch(`${gateway.url}/threads`)).json()).threads;

        it('executes the page\'s tool, and shows the conversation after a reload', async () => {
            model.script(key, [
                { blocks: [{ type: 'toolCall', name: 'change_background', arguments: '{"color":"green"}', id: `call_${runtime}` }] },
                { content: 'It is green.' }, { content: 'As you like.' },
            ]);
            await open();
            await ask(key);
            await shown('It is green.');
            assert.deepEqual(await page.evaluate(() => window.executed), ['green']);
            await ready();
            await open();
            await shown('It is green.');
            assert.deepEqual(await page.evaluate(() => window.executed), [], 'nothing is executed again');
            await ask('keep it');
            await shown('As you like.');
        });

        it('goes on without a gap after a reload in the middle of an answer', async () => {
            const rest = gate();
            const words = Array.from({ length: 40 }, (_, at) => `word${at} `).join('');
            model.script(key, [{ content: words, pauseAfter: 8, resume: rest.opened }]);
            await open();
            await ask(key);
            await shown('word1 ');
            await open();
            await shown('word1 ');
            rest.open();
            await shown(words.trim());
        });

        it('Stop leaves the model server within 1 s', async () => {
            const never = gate();
            model.script(key, [{ content: 'A long story that nobody will hear to its end. '.repeat(20), pauseAfter: 6, resume: never.opened }, { content: 'Another one.' }]);
            await open();
            await ask(key);
            await shown('A long story');
            const exchange = await model.request(key, 1);
            await page.click(`${send}:has(.lucide-square)`);
            await within(1, exchange.closed, 'the model server is left');
            never.open();
            await ready();
            await ask('another');
            await shown('Another one.');
        });

        it('shows suggestions, which are no threads', async () => {
            const suggestions = JSON.stringify({ suggestions: [{ title: 'Ask for more', message: 'More, please.' }] });
            const suggested = { toolCalls: [{ name: 'copilotkitSuggest', arguments: suggestions, id: `call_${randomUUID()}` }] };
            model.script(key, [{ content: 'Hello.' }, ...Array(6).fill(suggested)]);
            await open({ suggestions: '' });
            const before = (await stored()).length;
            await ask(key);
            await shown('Hello.');
            await page.getByText('Ask for more').first().waitFor();
            assert.equal((await stored()).length, before + 1);
        });

        it('lists threads by their titles, renames, archives and deletes them', async () => {
            const titles = [];
            for (const name of ['first', 'second', 'third']) {
                threadId = randomUUID();
                const text = `${name} of ${key}`;
                model.script(text, [{ content: `Answer to the ${name}.` }]);
                await open();
                await ask(text);
                await shown(`Answer to the ${name}.`);
                await ready();
                titles.push({ threadId, text });
            }
            await open({ threads: '' });
            const rows = page.locator('[data-testid="threads"] li');
            const row = (text) => rows.filter({ hasText: text }).first().waitFor();
            const change = (what, ...args) => page.evaluate(([name, given]) => window.threads[name](...given), [what, args]);
            await row(titles[2].text.slice(0, 5));
            await change('renameThread', titles[2].threadId, 'Renamed');
            await row('Renamed');
            await change('archiveThread', titles[2].threadId);
            await rows.filter({ hasText: 'Renamed' }).waitFor({ state: 'detached' });
            await change('deleteThread', titles[1].threadId);
            await open({ threads: '' });
            await row(titles[0].text.slice(0, 5));
            const left = (await stored()).map((each) => each.threadId);
            assert.equal(left.includes(titles[0].threadId), true);
            assert.equal(left.includes(titles[1].threadId), false);
            assert.equal(left.includes(titles[2].threadId), false, 'archived');
        });
    });
}
