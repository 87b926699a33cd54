// The example app of examples/clients/assistant-ui in headless Chromium, built with the packed package as a user would:
// history by pages, an active run after a reload, threads, files, approvals, Stop. AGUI_ASSISTANT_UI_APP is the folder
// of the built app.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { apps, call, notBuilt, setApp, words } from './support/app.mjs';
import { within } from './support/browser.mjs';
import { outline, postRun, runInput, user } from './support/client.mjs';
import { photo } from './support/photos.mjs';

describe('the app of examples/clients/assistant-ui', { skip: notBuilt(apps['assistant-ui'].variable) }, () => {
    const stage = setApp('assistant-ui', { blank: true });

    const texts = () => stage.app.page.locator('.message').evaluateAll((all) => all.map((each) => each.innerText.replace(/\n*(Again|Edit)$/, '').trim()));
    const threadId = () => new URL(stage.app.page.url()).searchParams.get('thread');
    const runs = () => stage.app.asked('POST', '/agui');

    it('shows the conversation again after a reload, and takes it into account', async () => {
        const { app, key, model } = stage;
        const { page } = app;
        model.script(key, [{ content: 'Hello.' }, { content: 'You said hi.' }]);
        await app.load();
        await app.ask(key);
        await app.shown('Hello.');
        await app.idle();
        assert.ok(threadId(), 'the address has the thread');
        await page.reload();
        await app.shown('Hello.');
        await app.ask('what did I say?');
        await app.shown('You said hi.');
        await app.idle();
        assert.equal(runs().length, 2);
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(-3), [`user: ${key}`, 'assistant: Hello.', 'user: what did I say?']);
        assert.deepEqual(await texts(), [key, 'Hello.', 'what did I say?', 'You said hi.']);
    });

    for (const [what, isNew] of [['an old', false], ['a new', true]]) {
        it(`sends a message of ${what} conversation once it is loaded, and shows it`, async () => {
            const { app, gateway, key, model, rest } = stage;
            const { page } = app;
            const thread = randomUUID();
            model.script(key, [...(isNew ? [] : [{ content: 'Hello.' }]), { content: 'You said hi.' }]);
            if (!isNew) (await postRun(gateway, runInput({ threadId: thread, messages: [user(key)] }))).expectFinished();
            const asked = page.waitForRequest((request) => request.method() === 'GET' && new URL(request.url()).pathname.includes(`/agui/threads/`));
            await page.route(isNew ? /\/agui\/threads\/[^/]+$/ : /\/messages\b/, async (route) => {
                await rest.opened;
                await route.continue();
            });
            await app.load(isNew ? {} : { thread });
            await asked;
            await page.fill(app.ui.input, isNew ? key : 'what did I say?');
            assert.equal(await app.button('Send').isDisabled(), true);
            await page.keyboard.press('Enter');
            assert.equal(await page.inputValue(app.ui.input), isNew ? key : 'what did I say?');
            rest.open();
            await app.button('Send').click();
            await app.shown('You said hi.');
            await app.idle();
            assert.deepEqual(await texts(), [...(isNew ? [] : [key, 'Hello.']), isNew ? key : 'what did I say?', 'You said hi.']);
            assert.equal(runs().length, 1);
        });
    }

    it('goes on with an active run after a reload: one run, no gap, nothing twice', async () => {
        const { app, key, model, rest } = stage;
        const { page } = app;
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await app.load();
        await app.ask(key);
        await app.shown('word3 ');
        await page.waitForURL(/thread=/);
        await page.reload();
        await app.shown('word3 ');
        rest.open();
        await app.shown('word59');
        await app.idle();
        assert.deepEqual(await texts(), [key, words]);
        assert.equal(runs().length, 1);
        assert.equal(model.requests(key).length, 1);
    });

    it('executes the call of a run that it follows, and goes on with the result', async () => {
        const { app, key, model, rest } = stage;
        const { page } = app;
        const blocks = [{ type: 'text', text: words }, { type: 'toolCall', ...call('change_background', { color: 'rgb(0, 0, 255)' }) }];
        model.script(key, [{ blocks, pauseAfter: 20, resume: rest.opened }, { content: 'Now it is blue.' }]);
        await app.load();
        await app.ask(key);
        await app.shown('word3 ');
        await page.waitForURL(/thread=/);
        await page.reload();
        await app.shown('word3 ');
        rest.open();
        await app.shown('Now it is blue.');
        await app.idle();
        assert.equal(await page.evaluate(() => document.body.style.background), 'rgb(0, 0, 255)');
        assert.equal(model.requests(key).length, 2);
        await page.reload();
        await app.shown('Now it is blue.');
        await app.idle();
        assert.equal(model.requests(key).length, 2, 'nothing is executed again');
    });

    it('executes a call that was open when the page was left', async () => {
        const { app, gateway, key, model } = stage;
        const { page } = app;
        const thread = randomUUID();
        model.script(key, [{ toolCalls: [call('change_background', { color: 'rgb(0, 0, 255)' })] }, { content: 'Now it is blue.' }]);
        const tools = [{ name: 'change_background', description: '', parameters: { type: 'object' } }];
        (await postRun(gateway, runInput({ threadId: thread, messages: [user(key)], tools }))).expectFinished();
        await app.load({ thread });
        await app.shown('Now it is blue.');
        await app.idle();
        assert.equal(await page.evaluate(() => document.body.style.background), 'rgb(0, 0, 255)');
        assert.equal(runs().length, 1);
    });

    it('Stop ends the run on the server, after a reload too', async () => {
        const { app, key, model, rest } = stage;
        const { page } = app;
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
        await app.load();
        await app.ask(key);
        const exchange = await model.request(key, 1);
        await app.shown('word3 ');
        await page.waitForURL(/thread=/);
        await page.reload();
        await app.shown('word3 ');
        await app.stop();
        await within(1, exchange.closed, 'the model server is left');
        await app.idle();
        await app.ask('next');
        await app.shown('Next.');
    });

    it('another chat does not stop the run of the first one', async () => {
        const { app, key, model, rest } = stage;
        const { page } = app;
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await app.load();
        await app.ask(key);
        await app.shown('word3 ');
        await app.button('New chat').first().click();
        await page.waitForFunction(() => document.querySelectorAll('.message').length === 0);
        rest.open();
        await page.getByTestId('thread').first().getByRole('button').first().click();
        await app.shown('word59');
        assert.deepEqual(await texts(), [key, words]);
    });

    it('a chat that is closed does not stop its run', async () => {
        const { app, gateway, key, model, rest } = stage;
        const { page } = app;
        model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
        await app.load();
        await app.ask(key);
        await app.shown('word3 ');
        await page.waitForURL(/thread=/);
        const id = threadId();
        await page.evaluate(() => window.unmount());
        await page.waitForFunction(() => document.querySelectorAll('.message').length === 0);
        rest.open();
        const answer = async () => (await (await fetch(`${gateway.url}/threads/${id}/messages`)).json()).messages.at(-1).content;
        for (let tries = 0; tries < 200 && await answer() !== words; tries += 1) await new Promise((resolve) => setTimeout(resolve, 50));
        assert.equal(await answer(), words);
    });

    it('loads a long thread by pages', async () => {
        const { app, gateway, key, model } = stage;
        const { page } = app;
        const thread = randomUUID();
        model.script(key, Array.from({ length: 6 }, (_, at) => ({ content: `Answer ${at}.` })));
        for (let at = 0; at < 5; at += 1) {
            const text = at === 0 ? key : `Question ${at}`;
            (await postRun(gateway, runInput({ threadId: thread, messages: [user(text)] }))).expectFinished();
        }
        await app.load({ thread, page: '3' });
        await app.shown('Answer 4.');
        assert.deepEqual(await texts(), ['Question 3', 'Answer 3.', 'Question 4', 'Answer 4.']);
        const earlier = page.getByRole('button', { name: 'Earlier messages' });
        await earlier.click();
        await app.shown('Question 1');
        await app.ask('the last one');
        await app.shown('Answer 5.');
        await app.idle();
        assert.equal(outline((await model.request(key, 6)).conversation).filter((line) => line.startsWith('user')).length, 6, 'the model gets all of it');
        await earlier.click();
        await app.shown(key);
        await earlier.waitFor({ state: 'detached' });
        assert.deepEqual((await texts()).filter((text) => text.startsWith('Answer')), [0, 1, 2, 3, 4, 5].map((at) => `Answer ${at}.`));
        await page.reload();
        await app.shown('Answer 5.');
        assert.deepEqual(await texts(), ['Question 4', 'Answer 4.', 'the last one', 'Answer 5.']);
    });

    it('an edit and a regeneration on a page leave what came before', async () => {
        const { app, gateway, key, model } = stage;
        const { page } = app;
        const thread = randomUUID();
        model.script(key, [{ content: 'One.' }, { content: 'Two.' }, { content: 'Two again.' }, { content: 'Changed.' }]);
        for (const text of [key, 'second']) (await postRun(gateway, runInput({ threadId: thread, messages: [user(text)] }))).expectFinished();
        await app.load({ thread, page: '1' });
        await app.shown('Two.');
        await app.button('Again').last().click();
        await app.shown('Two again.');
        await app.idle();
        await app.button('Edit').last().click();
        await page.getByLabel('Edit the message').fill('changed');
        await app.button('Save').click();
        await app.shown('Changed.');
        await app.idle();
        const lines = outline((await model.request(key, 4)).conversation).filter((line) => !line.startsWith('system'));
        assert.deepEqual(lines, [`user: ${key}`, 'assistant: One.', 'user: changed']);
    });

    it('lists threads with titles; they are renamed, archived and deleted', async () => {
        const { app, gateway, key, model } = stage;
        const { page } = app;
        model.script(key, [{ content: 'Hello.' }]);
        await app.load();
        await app.ask(key);
        await app.shown('Hello.');
        await app.idle();
        const id = threadId();
        const item = (text) => page.getByTestId('thread').filter({ hasText: text });
        await item(key.slice(0, 20)).waitFor();
        page.once('dialog', (dialog) => dialog.accept('Renamed'));
        await item(key.slice(0, 20)).getByRole('button', { name: /^Rename/ }).click();
        await item('Renamed').waitFor();
        await page.reload();
        await item('Renamed').waitFor();
        const stored = async () => (await fetch(`${gateway.url}/threads/${id}`)).json();
        assert.equal((await stored()).title, 'Renamed');
        await item('Renamed').getByRole('button', { name: /^Archive/ }).click();
        await page.getByText('Archived', { exact: true }).click();
        await page.locator('details').getByText('Renamed').waitFor();
        assert.equal((await stored()).archived, true);
        await page.locator('details').getByRole('button', { name: /^Unarchive/ }).click();
        await page.locator('nav > [data-testid=thread], nav > :not(details) [data-testid=thread]').filter({ hasText: 'Renamed' }).waitFor();
        await item('Renamed').getByRole('button', { name: /^Delete/ }).click();
        await item('Renamed').waitFor({ state: 'detached' });
        assert.equal((await stored()).lastRunAt, 0);
    });

    it('sends a picture once, and shows it again after a reload', async () => {
        const { app, gateway, key, model } = stage;
        const { page } = app;
        model.script(key, [{ content: 'A picture.' }, { content: 'Still there.' }]);
        const { base64 } = photo(1);
        await app.load();
        const chooser = page.waitForEvent('filechooser');
        await app.button('Attach').click();
        await (await chooser).setFiles({ name: 'lake.png', mimeType: 'image/png', buffer: Buffer.from(base64, 'base64') });
        await app.ask(key);
        await app.shown('A picture.');
        await app.idle();
        const posted = [];
        page.on('request', (request) => request.url() === gateway.url && posted.push(request.postData()));
        await page.reload();
        await page.waitForFunction(() => [...document.querySelectorAll('.message img')].some((image) => image.naturalWidth > 0));
        await app.ask('and now?');
        await app.shown('Still there.');
        await app.idle();
        assert.ok(posted[0].length < base64.length, 'the picture is not sent again');
        const parts = (await model.request(key, 2)).conversation.flatMap(({ content }) => (Array.isArray(content) ? content : []));
        assert.equal(parts.filter(({ type }) => type === 'image_url').length, 1);
    });

    for (const [what, answer, cities] of [['allowed', 'Allow', ['Oslo']], ['denied', 'Deny', []]]) {
        it(`asks for an approval again after a reload, which is ${what}`, async () => {
            const { app, key, model, weather } = stage;
            const { page } = app;
            model.script(key, [{ toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'As you wish.' }]);
            await app.load();
            await app.ask(key);
            await app.button(answer).waitFor();
            await page.waitForURL(/thread=/);
            await page.reload();
            await app.button(answer).click();
            await app.shown('As you wish.');
            await app.idle();
            assert.deepEqual(weather.calls.map(({ arguments: { city } }) => city), cities);
        });
    }

    it('asks the user', async () => {
        const { app, key, model } = stage;
        model.script(key, [{ toolCalls: [call('ask_user', { question: 'Shall I?' })] }, { content: 'I do.' }]);
        await app.load();
        await app.ask(key);
        await app.button('Yes').click();
        await app.shown('I do.');
        assert.match(outline((await model.request(key, 2)).conversation).at(-1), /confirmed.*true/);
    });

    it('asks the user again after a reload', async () => {
        const { app, key, model } = stage;
        const { page } = app;
        model.script(key, [{ toolCalls: [call('ask_user', { question: 'Shall I?' })] }, { content: 'I do not.' }]);
        await app.load();
        await app.ask(key);
        await app.button('Yes').waitFor();
        await page.waitForURL(/thread=/);
        await page.reload();
        await page.getByText('Shall I?').waitFor();
        await app.button('No').click();
        await app.shown('I do not.');
        assert.match(outline((await model.request(key, 2)).conversation).at(-1), /confirmed.*false/);
    });
});
