// The example app of examples/clients/assistant-ui in two tabs of headless Chromium: one of them executes the calls of a
// hand-off. AGUI_ASSISTANT_UI_APP is the folder of the built app.

import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { apps, call, notBuilt, setApp, words } from './support/app.mjs';

const elsewhere = 'Another tab is executing this.';
const holdBrush = () => {
    window.beforePainting = new Promise((resolve) => (window.paint = resolve));
};
const paints = () => call('change_background', { color: 'rgb(0, 0, 255)' });

describe('the app of examples/clients/assistant-ui in two tabs', { skip: notBuilt(apps['assistant-ui'].variable) }, () => {
    const stage = setApp('assistant-ui', { blank: true, label: 'assistant-ui-tabs' });

    const colour = (tab) => tab.evaluate(() => document.body.style.background);
    const idle = (tab) => tab.getByRole('button', { name: 'Send', exact: true }).waitFor();
    async function openSecond() {
        const second = await stage.app.context.newPage();
        second.setDefaultTimeout(60_000);
        await second.goto(stage.app.page.url());
        return second;
    }

    describe('of which the first one executes a call', () => {
        let second;

        beforeEach(async () => {
            const { app, key, model } = stage;
            model.script(key, [{ toolCalls: [paints()] }, { content: 'Now it is blue.' }]);
            await app.page.addInitScript(holdBrush); // It begins, and does not end.
            await app.load();
            const claimed = app.page.waitForResponse((response) => response.url().endsWith('/claim') && response.status() === 200);
            await app.ask(key);
            await app.page.waitForURL(/thread=/);
            await claimed;
            second = await openSecond();
            await second.getByText(elsewhere).waitFor();
        });

        it('the other one shows that, then the result and the answer', async () => {
            const { app, key, model } = stage;
            await app.page.evaluate(() => window.paint());
            await app.shown('Now it is blue.');
            await second.getByText('Now it is blue.').waitFor();
            await second.getByText(elsewhere).waitFor({ state: 'detached' });
            await idle(second);
            assert.deepEqual([await colour(app.page), await colour(second)], ['rgb(0, 0, 255)', '']);
            assert.equal(model.requests(key).length, 2);
        });

        it('the other one executes the call if the first one is closed', async () => {
            const { app, key, model, gateway } = stage;
            const thread = new URL(app.page.url()).searchParams.get('thread');
            const { toolCalls: [{ claimedUntil }] } = await (await fetch(`${gateway.url}/threads/${thread}/pending`)).json();
            await app.page.close({ runBeforeUnload: true });
            app.page = second;
            await second.getByText('Now it is blue.').waitFor();
            assert.ok(Date.now() < claimedUntil, 'the page that was closed has given its claim up');
            assert.equal(await colour(second), 'rgb(0, 0, 255)');
            assert.equal(model.requests(key).length, 2);
        });
    });

    it('a call is executed once that both have seen in the same run', async () => {
        const { app, key, model, rest } = stage;
        const blocks = [{ type: 'text', text: words }, { type: 'toolCall', ...paints() }];
        model.script(key, [{ blocks, pauseAfter: 20, resume: rest.opened }, { content: 'Now it is blue.' }]);
        await app.context.addInitScript(holdBrush);
        await app.load();
        await app.ask(key);
        await app.shown('word3 ');
        await app.page.waitForURL(/thread=/);
        const second = await openSecond();
        await second.getByText('word3 ').waitFor();
        rest.open();

        const tabs = [app.page, second];
        const waiting = await Promise.any(tabs.map((tab) => tab.getByText(elsewhere).waitFor().then(() => tab)));
        for (const tab of [waiting, ...tabs]) await tab.evaluate(() => window.paint());
        await Promise.all(tabs.map((tab) => tab.getByText('Now it is blue.').waitFor()));
        await Promise.all(tabs.map(idle));

        assert.deepEqual(await Promise.all([waiting, tabs.find((tab) => tab !== waiting)].map(colour)), ['', 'rgb(0, 0, 255)']);
        assert.equal(model.requests(key).length, 2);
        // The tab that waits was refused the call.
        app.requests = app.requests.filter(({ path, status }) => !(path.endsWith('/claim') && status === '409'));
        app.problems = app.problems.filter((text) => !text.includes('status of 409'));
    });
});
