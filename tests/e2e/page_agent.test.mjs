// The example page of --demo in headless Chromium: approvals, shared state, activities, steps, steering and subagents; each
// also after a reload and after a restart of the gateway, and in two pages that show one thread.

import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { launchChromium } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';

describe('the example page with an agent', () => {
    let gateway;
    let browser;
    let page;
    let contexts;
    let complaints;

    before(async () => {
        gateway = await Gateway.start({ args: ['--demo', '--listen', '127.0.0.1:0', '--set', 'session.store="sqlite:demo.db"'] });
        gateway.args[2] = new URL(gateway.base).host; // A restart keeps the address: the page stays open.
        browser = await launchChromium();
    });
    after(async () => {
        await browser?.close();
        await stopAll(gateway);
    });
    beforeEach(async () => {
        contexts = [];
        complaints = [];
        page = await openPage(gateway.base);
    });
    afterEach(async () => {
        await Promise.all(contexts.map((context) => context.close()));
        assert.deepEqual(complaints, []);
    });

    /// A page of another visitor: it shares no storage with the others.
    async function openPage(url) {
        const context = await browser.newContext({ viewport: { width: 1200, height: 900 } });
        contexts.push(context);
        const opened = await context.newPage();
        opened.setDefaultTimeout(20_000);
        opened.on('pageerror', (error) => complaints.push(String(error)));
        await opened.goto(url);
        return opened;
    }

    const threadId = () => decodeURIComponent(new URL(page.url()).hash.slice(1));
    const route = async (path) => (await fetch(`${gateway.url}/threads/${threadId()}/${path}`)).json();
    const state = async () => (await route('state')).state;

    async function ask(text, on = page) {
        await on.fill('#prompt', text);
        await on.press('#prompt', 'Enter');
    }

    const status = (text, on = page) => on.waitForFunction((wanted) => document.querySelector('#status').textContent === wanted, text);
    const suggest = (text, on = page) => on.click(`#suggestions >> text=${text}`);
    const items = (on = page) => on.$$eval('#list li', (rows) => rows.map((row) => `${row.querySelector('input').checked ? 'x' : '-'} ${row.querySelector('span').textContent}`));
    const shownItems = (wanted, on = page) => on.waitForFunction((texts) => JSON.stringify([...document.querySelectorAll('#list li')]
        .map((row) => `${row.querySelector('input').checked ? 'x' : '-'} ${row.querySelector('span').textContent}`)) === JSON.stringify(texts), wanted);
    const message = (text, on = page) => on.locator('#messages .message', { hasText: text }).first();
    const eventTypes = (on = page) => on.$$eval('#events li', (rows) => rows.map((row) => row.dataset.type));

    async function restart() {
        await gateway.end('SIGTERM');
        await gateway.launch();
    }

    async function addItem(text, on = page) {
        await on.fill('#list-text', text);
        await on.press('#list-text', 'Enter');
    }

    describe('shared state', () => {
        it('begins in the page, is changed by the agent, and then by the page', async () => {
            await addItem('Bread');
            await shownItems(['- Bread']);
            assert.equal((await route('messages')).messages.length, 0, 'nothing is stored before the first request');

            await suggest('Add tea to the list');
            await status('Done');

            await shownItems(['- Bread', '- tea']);
            const types = await eventTypes();
            assert.ok(types.indexOf('STATE_SNAPSHOT') > types.indexOf('RUN_STARTED'));
            assert.ok(types.includes('STATE_DELTA'));
            await page.check('#list li:nth-child(2) input');
            await shownItems(['- Bread', 'x tea']);
            await page.click('#list li:first-child button');
            await shownItems(['x tea']);
            assert.deepEqual(await state(), { title: 'Shopping list', items: [{ text: 'tea', done: true }] });
        });

        it('is there again after a reload and after a restart of the gateway', async () => {
            await suggest('Add tea to the list');
            await status('Done');
            await addItem('Jam');
            await shownItems(['- tea', '- Jam']);

            await page.reload();
            await shownItems(['- tea', '- Jam']);
            await restart();
            await page.reload();

            await shownItems(['- tea', '- Jam']);
            await message('tea is on the list').waitFor();
            await addItem('Salt');
            await shownItems(['- tea', '- Jam', '- Salt']);
            assert.equal((await state()).items.length, 3);
        });

        it('is changed while a run is active', async () => {
            await suggest('Find a recipe for pancakes');
            await page.locator('#steps li').first().waitFor();
            await addItem('Eggs');
            await shownItems(['- Eggs']);
            assert.equal(await page.textContent('#stop:visible'), 'Stop', 'the run is active');
            await status('Done');
            assert.deepEqual(await items(), ['- Eggs']);
        });

        it('is not overwritten by a page that has missed a change', async () => {
            await suggest('Add tea to the list');
            await status('Done');
            // Nothing that the page asks for its last run may show it the change, and later no look for changes of others.
            const looks = `**/threads/${threadId()}`;
            await page.route(looks, (each) => each.abort());
            await page.route(`${looks}/**`, (each) => (each.request().method() === 'GET' ? each.abort() : each.fallback()));
            await fetch(`${gateway.url}/threads/${threadId()}/state`, {
                method: 'PATCH', headers: { 'Content-Type': 'application/json-patch+json' },
                body: JSON.stringify([{ op: 'add', path: '/items/0', value: { text: 'milk', done: false } }]),
            });
            assert.deepEqual(await items(), ['- tea']);
            await page.unroute(`${looks}/**`);

            await page.click('#list li:first-child button');

            await shownItems(['- milk', '- tea']);
            await page.locator('#problem-text', { hasText: 'changed in the meantime' }).waitFor();
            assert.equal((await state()).items.length, 2);
        });
    });

    describe('approvals', () => {
        async function order() {
            await suggest('Order what is on the list');
            await page.locator('.approval').waitFor();
            await status('Your approval is needed');
        }

        const results = async () => (await route('messages')).messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

        it('execute the call with the arguments of the list', async () => {
            await addItem('Plums');
            await order();
            assert.deepEqual(JSON.parse(await page.inputValue('.approval textarea')).items, ['Plums']);
            assert.deepEqual(await results(), []);
            if (process.env.AGUI_PAGE_SCREENSHOT) await page.screenshot({ path: process.env.AGUI_PAGE_SCREENSHOT });

            await page.click('.approve');

            await status('Done');
            await shownItems(['x Plums']);
            assert.deepEqual(await results(), ['Ordered: Plums (before noon).']);
            assert.equal(await page.locator('.approval').count(), 0);
        });

        it('may change the arguments, after a reload and after a restart of the gateway', async () => {
            await order();
            await page.reload();
            await page.locator('.approval').waitFor();
            await page.fill('.approval textarea', '{"items": ["rice", "beans"]}');
            await gateway.end('SIGTERM');
            await page.waitForFunction(() => document.querySelector('#status').textContent.includes('cannot be reached'));
            await gateway.launch();
            await status('Your approval is needed');
            assert.equal(await page.textContent('.approve'), 'Approve with changes', 'what is written stays');

            await page.click('.approve');

            await status('Done');
            await message('Ordered: rice, beans').waitFor();
            assert.match((await results())[0], /Ordered: rice, beans\./);
            await page.reload();
            await message('Ordered: rice, beans').waitFor();
            assert.equal(await page.locator('.approval').count(), 0);
        });

        it('stay open, and say why, if the changed arguments cannot be', async () => {
            await order();
            const runs = (await eventTypes()).filter((type) => type === 'POST agui').length;
            await page.fill('.approval textarea', '{"items": ');
            await page.click('.approve');
            assert.equal(await page.textContent('.approval .problem'), 'This is not JSON');
            assert.equal((await eventTypes()).filter((type) => type === 'POST agui').length, runs, 'nothing is sent');

            await page.fill('.approval textarea', '{"items": "all"}');
            await page.click('.approve');

            await page.waitForFunction(() => document.querySelector('.approval .problem')?.textContent.includes('resume_rejected'));
            assert.deepEqual(await results(), []);
            await page.fill('.approval textarea', '{"items": ["all"]}');
            await page.click('.approve');
            await status('Done');
            assert.match((await results())[0], /Ordered: all\./);
        });

        it('are denied with a reason, by the keyboard alone', async () => {
            await page.focus('#suggestions button:nth-child(3)');
            await page.keyboard.press('Enter');
            await page.waitForFunction(() => document.activeElement?.matches('.approval'));
            for (let i = 0; i < 3; ++i) await page.keyboard.press('Tab');
            await page.keyboard.type('too much tea');
            await page.keyboard.press('Tab');
            await page.keyboard.press('Enter');

            await status('Done');
            await message('too much tea').waitFor();
            assert.match((await results())[0], /not allowed: too much tea/);
            await page.waitForFunction(() => document.activeElement?.id === 'prompt');
        });

        it('wait while the user writes something else', async () => {
            await order();
            await ask('Make the background green');
            await message('Make the background green').waitFor();
            await status('Your approval is needed');
            await page.click('.approve');
            await page.waitForFunction(() => getComputedStyle(document.body).backgroundColor === 'rgb(0, 128, 0)');
            await status('Done');
            assert.equal((await results()).length, 2);
        });
    });

    describe('a tool that takes its time', () => {
        it('shows its steps and its progress as it goes; the progress is there after a reload and a restart', async () => {
            await suggest('Find a recipe for pancakes');
            await page.locator('#steps li[data-state="active"]', { hasText: 'Searching cookbooks' }).waitFor();
            const value = () => page.$eval('.activity progress', (bar) => bar.value / bar.max);
            const early = await value();
            assert.ok(early < 1);
            await page.locator('#steps li[data-state="done"]', { hasText: 'Searching cookbooks' }).waitFor();
            await page.locator('#steps li[data-state="active"]', { hasText: 'Comparing recipes' }).waitFor();
            assert.ok(await value() > early);
            await status('Done');
            assert.equal(await value(), 1);
            assert.equal(await page.locator('#steps li[data-state="done"]').count(), 3);

            await page.reload();
            await page.locator('.activity').waitFor();
            assert.equal(await value(), 1);
            await restart();
            await page.reload();
            await page.locator('.activity').waitFor();
            assert.equal(await value(), 1);
            assert.match(await page.textContent('.activity'), /Recipe for pancakes/);
        });

        it('goes on after a reload, and the page shows it to its end', async () => {
            await suggest('Find a recipe for pancakes');
            await page.locator('#steps li').first().waitFor();

            await page.reload();

            await page.locator('.activity').waitFor();
            await page.locator('#stop:visible').waitFor();
            await message('mix flour').waitFor();
            await status('Done');
            assert.equal(await page.locator('.activity').count(), 1);
            assert.equal(await page.locator('.message.user').count(), 1);
        });

        it('takes a message that the user sends meanwhile', async () => {
            await suggest('Find a recipe for pancakes');
            await page.locator('#steps li').first().waitFor();
            await ask('Without nuts, please');
            await page.locator('.delivery', { hasText: 'Waits for the run' }).waitFor();

            await page.locator('.delivery', { hasText: 'Taken by the active run' }).waitFor();

            await message('And you wrote meanwhile: Without nuts, please').waitFor();
            await status('Done');
            assert.equal(await page.locator('.message.user').count(), 2);
            const stored = (await route('messages')).messages.filter(({ role }) => role === 'user').map(({ content }) => content);
            assert.deepEqual(stored, ['Find a recipe for pancakes', 'Without nuts, please']);
            await page.reload();
            await message('And you wrote meanwhile').waitFor();
            assert.deepEqual(await page.$$eval('.message.user', (all) => all.map((each) => each.textContent)), stored);
        });

        it('gives a message back that comes too late, and the page sends it as a new one', async () => {
            let release;
            const held = new Promise((resolve) => { release = resolve; });
            await page.route('**/agui/steer', async (each) => {
                await held;
                await each.continue();
            });
            await suggest('Add tea to the list');
            await page.locator('#stop:visible').waitFor();
            await ask('Add milk to the list');
            await status('Done');
            release();

            await page.locator('.delivery', { hasText: 'Returned' }).waitFor();

            assert.deepEqual(await items(), ['- tea']);
            await page.click('text=Send it now');
            await shownItems(['- tea', '- milk']);
            await status('Done');
            assert.equal(await page.locator('.delivery').count(), 0);
            assert.equal(await page.locator('.message.user').count(), 2);
        });

        it('is stopped', async () => {
            await suggest('Find a recipe for pancakes');
            await page.locator('#steps li').first().waitFor();
            await page.keyboard.press('Escape');
            await status('Stopped');
            await page.locator('.message.note', { hasText: 'Stopped' }).waitFor();
            await ask('Add tea to the list');
            await shownItems(['- tea']);
        });
    });

    describe('two pages on one thread', () => {
        let other;
        beforeEach(async () => {
            await suggest('Add tea to the list');
            await status('Done');
            other = await openPage(page.url());
            await message('tea is on the list', other).waitFor();
        });

        it('see each other\'s changes of the document', async () => {
            await addItem('Rice', other);
            await shownItems(['- tea', '- Rice']);
            await page.check('#list li:first-child input');
            await shownItems(['x tea', '- Rice'], other);
        });

        it('see each other\'s approvals, and the answer of one is seen by both', async () => {
            await suggest('Order what is on the list');
            await other.locator('.approval').waitFor();
            await page.locator('.approval').waitFor();

            await other.fill('.approval textarea', '{"items": ["tea"], "note": "from the other page"}');
            await other.click('.approve');

            await message('from the other page').waitFor();
            await message('from the other page', other).waitFor();
            for (const each of [page, other]) {
                await shownItems(['x tea'], each);
                await each.waitForFunction(() => document.querySelector('.approval') === null);
            }
            assert.equal((await route('messages')).messages.filter(({ role }) => role === 'tool').length, 2);
        });

        it('see a run of the other as it goes, and may stop it', async () => {
            await suggest('Find a recipe for pancakes');
            await other.locator('#steps li').first().waitFor();
            await other.locator('.activity').waitFor();
            await other.click('#stop');
            await page.locator('.message.note', { hasText: 'Stopped' }).waitFor();
            await page.locator('#stop').waitFor({ state: 'hidden' });
        });

        it('see each other\'s messages for an active run', async () => {
            await suggest('Find a recipe for pancakes');
            await other.locator('#steps li').first().waitFor();
            await ask('Without nuts, please', other);
            for (const each of [page, other]) await message('And you wrote meanwhile: Without nuts', each).waitFor();
            assert.equal(await page.locator('.message.user', { hasText: 'Without nuts' }).count(), 1);
        });

        it('see what a client without a page does', async () => {
            const messages = [{ id: 'm1', role: 'user', content: 'Add nuts to the list' }];
            const response = await fetch(gateway.url, {
                method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId: threadId(), runId: 'other', messages }),
            });
            assert.match(await response.text(), /RUN_FINISHED/);
            for (const each of [page, other]) await shownItems(['- tea', '- nuts'], each);
        });
    });

    /// The page's requests for runs are answered with these events, one list each; resolves to their bodies, as they come.
    async function answerWith(...runs) {
        const bodies = [];
        await page.route('**/agui', (each) => {
            const body = each.request().postDataJSON();
            const run = [{ type: 'RUN_STARTED', threadId: body.threadId, runId: body.runId }, ...runs[bodies.push(body) - 1]];
            const last = run.at(-1);
            if (last.type === 'RUN_FINISHED') Object.assign(last, { threadId: body.threadId, runId: body.runId });
            return each.fulfill({ contentType: 'text/event-stream', body: run.map((event, n) => `id: ${n + 1}\ndata: ${JSON.stringify(event)}\n\n`).join('') });
        });
        return bodies;
    }

    it('asks several questions, and those that are no calls', async () => {
        const approval = { id: 'i1', reason: 'tool_call', toolCallId: 'c1', message: 'Delete it?', metadata: { input: { path: 'a' } } };
        const question = { id: 'i2', reason: 'input_required', message: 'How many?', responseSchema: { type: 'object' } };
        const third = { id: 'i3', reason: 'confirmation', message: 'Sure?' };
        const asks = (...interrupts) => ({ type: 'RUN_FINISHED', outcome: { type: 'interrupt', interrupts } });
        const bodies = await answerWith(
            [{ type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'delete', parentMessageId: 'm1' }, { type: 'TOOL_CALL_END', toolCallId: 'c1' }, asks(approval, question, third)],
            [asks(question, third)], [asks(third)], [{ type: 'RUN_FINISHED', outcome: { type: 'success' } }],
        );
        await ask('Delete a');
        await page.locator('.approval').nth(2).waitFor();
        assert.equal(await page.locator('.approval').count(), 3);
        const card = (text) => page.locator('.approval', { hasText: text });
        assert.deepEqual(JSON.parse(await page.locator('.call .approval textarea').inputValue()), { path: 'a' });
        await card('How many?').locator('textarea').fill('{"n": 2}');

        await card('Delete it?').locator('.approve').click();
        await page.waitForFunction(() => document.querySelectorAll('.approval').length === 2);
        assert.equal(await card('How many?').locator('textarea').inputValue(), '{"n": 2}', 'what is written stays');
        await card('How many?').locator('.approve').click();
        await page.waitForFunction(() => document.querySelectorAll('.approval').length === 1);
        await card('Sure?').locator('.deny').click();

        await status('Done');
        assert.deepEqual(bodies.slice(1).map(({ messages, resume }) => ({ messages, resume })), [
            { messages: [], resume: [{ interruptId: 'i1', status: 'resolved', payload: { approved: true } }] },
            { messages: [], resume: [{ interruptId: 'i2', status: 'resolved', payload: { n: 2 } }] },
            { messages: [], resume: [{ interruptId: 'i3', status: 'cancelled' }] },
        ]);
    });

    it('executes a call that another client has left open, if the user wishes', async () => {
        const tools = [{ name: 'change_background', description: 'Changes it.', parameters: { type: 'object' } }];
        const messages = [{ id: 'm1', role: 'user', content: 'Make the background green' }];
        const response = await fetch(gateway.url, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId: threadId(), runId: 'other', messages, tools }),
        });
        assert.match(await response.text(), /RUN_FINISHED/);
        const button = page.locator('text=Execute it in this page');
        await button.waitFor();
        await page.reload();
        await button.waitFor();
        const colour = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.notEqual(await colour(), 'rgb(0, 128, 0)', 'nothing is executed without the user');

        await button.click();

        await message('Done! The answer was').waitFor();
        assert.equal(await colour(), 'rgb(0, 128, 0)');
        assert.equal(await button.count(), 0);
        assert.deepEqual((await route('pending')).toolCalls, []);
    });

    it('shows a subagent and what it says under its name', async () => {
        const tag = (subagentRunId, event) => ({ ...event, subagentRunId });
        const events = [
            { type: 'TOOL_CALL_START', toolCallId: 'c1', toolCallName: 'researcher', parentMessageId: 'm1' },
            { type: 'TOOL_CALL_ARGS', toolCallId: 'c1', delta: '{"task":"find"}' },
            { type: 'TOOL_CALL_END', toolCallId: 'c1' },
            { type: 'SUBAGENT_STARTED', subagentRunId: 's1', name: 'Researcher', parentToolCallId: 'c1' },
            { type: 'SUBAGENT_STARTED', subagentRunId: 's2', name: 'Reader', parentSubagentRunId: 's1' },
            tag('s1', { type: 'TEXT_MESSAGE_START', messageId: 'm2', role: 'assistant' }),
            tag('s2', { type: 'TEXT_MESSAGE_START', messageId: 'm3', role: 'assistant' }),
            tag('s1', { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'I look ' }),
            tag('s2', { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm3', delta: 'I read.' }),
            tag('s1', { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm2', delta: 'around.' }),
            tag('s2', { type: 'TEXT_MESSAGE_END', messageId: 'm3' }),
            tag('s1', { type: 'TEXT_MESSAGE_END', messageId: 'm2' }),
            tag('s1', { type: 'TOOL_CALL_START', toolCallId: 'c2', toolCallName: 'look_up', parentMessageId: 'm2' }),
            tag('s1', { type: 'TOOL_CALL_END', toolCallId: 'c2' }),
            tag('s1', { type: 'TOOL_CALL_RESULT', messageId: 'm4', toolCallId: 'c2', role: 'tool', content: 'nothing' }),
            tag('s1', { type: 'ACTIVITY_SNAPSHOT', messageId: 'a1', activityType: 'progress', content: { title: 'Pages', done: 1, total: 2 } }),
            { type: 'SUBAGENT_ERROR', subagentRunId: 's2', message: 'the page is empty' },
            { type: 'SUBAGENT_FINISHED', subagentRunId: 's1' },
            { type: 'TOOL_CALL_RESULT', messageId: 'm5', toolCallId: 'c1', role: 'tool', content: 'found' },
            { type: 'TEXT_MESSAGE_START', messageId: 'm6', role: 'assistant' },
            { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm6', delta: 'That is all.' },
            { type: 'TEXT_MESSAGE_END', messageId: 'm6' },
            { type: 'RUN_FINISHED', outcome: { type: 'success' } },
        ];
        await answerWith(events);

        await ask('Research it');
        await status('Done');

        const outer = page.locator('#messages > .subagent');
        assert.equal(await outer.count(), 1);
        assert.match(await outer.locator('> summary').textContent(), /Researcher has finished/);
        const body = outer.locator('> .subagent-body');
        assert.equal(await body.locator('> .message').textContent(), 'I look around.');
        assert.match(await body.locator('> .call').textContent(), /look_up.*nothing/s);
        assert.match(await body.locator('> .activity').textContent(), /Pages/);
        const inner = body.locator('> .subagent');
        assert.match(await inner.locator('summary').textContent(), /Reader failed · the page is empty/);
        assert.equal(await inner.locator('.message').textContent(), 'I read.');
        assert.deepEqual(await page.$$eval('#messages > .message', (all) => all.map((each) => each.textContent).filter(Boolean)), ['Research it', 'That is all.']);
        await page.click('.subagent > summary');
        assert.equal(await body.isVisible(), false, 'a group can be closed');
    });

    it('opens a new chat beside the old one, which the address still names', async () => {
        await ask('Hello!');
        await status('Done');
        const old = page.url();
        await page.click('#new-thread');
        await page.locator('#welcome').waitFor();
        assert.notEqual(page.url(), old);
        await page.goto(old);
        await message('I am a scripted model').waitFor();
    });
});
