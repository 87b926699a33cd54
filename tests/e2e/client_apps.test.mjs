// The apps of examples/clients that need nothing but released packages, in headless Chromium: HttpAgent alone, CopilotKit
// on the gateway's own routes, and TanStack AI. AGUI_HTTP_AGENT_APP, AGUI_COPILOTKIT_APP and AGUI_TANSTACK_APP are the
// folders of the built apps.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { apps, call, itKeepsTheConversation, notBuilt, setApp, words } from './support/app.mjs';
import { within } from './support/browser.mjs';
import { outline } from './support/client.mjs';

for (const name of ['http-agent', 'copilotkit', 'tanstack']) {
    describe(`the app of examples/clients/${name}`, { skip: notBuilt(apps[name].variable) }, () => {
        const stage = setApp(name, { config: { agent: name === 'tanstack' ? { events: ['tanstack'] } : {} } });

        itKeepsTheConversation(stage);

        if (name === 'http-agent') {
            it('Stop ends the run on the server', async () => {
                const { app, key, model, rest } = stage;
                model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
                await app.ask(key);
                const exchange = await model.request(key, 1);
                await app.shown('word3 ');
                await app.stop();
                await within(1, exchange.closed, 'the model server is left');
                await app.idle();
                await app.ask('next');
                await app.shown('Next.');
                await app.idle();
            });
            return;
        }

        it('goes on with an active run after a reload, which Stop then ends', async () => {
            const { app, key, model, rest } = stage;
            model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
            await app.ask(key);
            const exchange = await model.request(key, 1);
            await app.shown('word3 ');
            await app.reload();
            await app.shown('word3 ');
            await app.stop();
            await within(1, exchange.closed, 'the model server is left');
            await app.idle();
            await app.ask('next');
            await app.shown('Next.');
        });

        it('shows an answer once and without a gap after a reload in its middle', async () => {
            const { app, key, model, rest } = stage;
            model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
            await app.ask(key);
            await app.shown('word3 ');
            await app.reload();
            await app.shown('word3 ');
            rest.open();
            await app.shown('word59');
            await app.idle();
            const texts = await app.page.locator(app.ui.message).allInnerTexts();
            assert.deepEqual(texts.map((text) => text.trim()).filter((text) => text.includes('word')), [words]);
        });

        it('executes two calls of a turn', async () => {
            const { app, key, model } = stage;
            const colours = ['rgb(255, 0, 0)', 'rgb(0, 0, 255)'];
            model.script(key, [{ toolCalls: colours.map((color) => call('change_background', { color })) }, { content: 'Both.' }]);
            await app.ask(key);
            await app.shown('Both.');
            assert.equal(await app.page.evaluate(() => document.querySelector('nav').style.background), colours[1]);
            assert.equal((await model.request(key, 2)).conversation.filter(({ role }) => role === 'tool').length, 2);
        });

        it('executes the tool of the page, and asks the user, also after a reload', async () => {
            const { app, key, model } = stage;
            const calls = [call('change_background', { color: 'rgb(0, 0, 255)' }), call('ask_user', { question: 'Shall I?' })];
            model.script(key, [{ toolCalls: [calls[0]] }, { toolCalls: [calls[1]] }, { content: 'I do.' }]);
            await app.ask(key);
            await app.button('Yes').waitFor();
            assert.equal(await app.page.evaluate(() => document.querySelector('nav').style.background), 'rgb(0, 0, 255)');
            await app.idle();
            await app.reload();
            await app.button('Yes').click();
            await app.shown('I do.');
            assert.match(outline((await model.request(key, 3)).conversation).at(-1), /confirmed.*true/);
        });

        for (const [answer, cities] of [['Allow', ['Oslo']], ['Deny', []]]) {
            it(`asks for an approval, also after a reload: ${answer}`, async () => {
                const { app, key, model, weather } = stage;
                model.script(key, [{ toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'As you wish.' }, { content: 'Next.' }]);
                await app.ask(key);
                await app.button(answer).waitFor();
                if (name === 'tanstack') await app.isLocked();
                await app.reload();
                if (name === 'tanstack') await app.isLocked();
                await app.button(answer).click();
                await app.shown('As you wish.');
                await app.idle();
                assert.deepEqual(weather.calls.map(({ arguments: { city } }) => city), cities);
                await app.ask('next');
                await app.shown('Next.');
            });
        }

        if (name === 'tanstack') return;

        it('lists threads with titles; they are shown, renamed, archived and deleted', async () => {
            const { app, key, model, gateway } = stage;
            const { page } = app;
            model.script(key, [{ content: 'Hello.' }]);
            await app.ask(key);
            await app.shown('Hello.');
            await app.idle();
            const id = new URL(page.url()).searchParams.get('thread');
            const item = (text) => page.getByTestId('thread').filter({ hasText: text });
            await app.button('New chat').first().click();
            await page.locator(app.ui.message).first().waitFor({ state: 'detached' });
            await app.reload();
            await item(key.slice(0, 20)).first().getByRole('button').first().click();
            await app.shown('Hello.');
            page.once('dialog', (dialog) => dialog.accept('Renamed'));
            await item(key.slice(0, 20)).first().getByRole('button', { name: /^Rename/ }).click();
            await item('Renamed').waitFor();
            await app.reload();
            await item('Renamed').getByRole('button', { name: /^Archive/ }).click();
            await item('Renamed').waitFor({ state: 'detached' });
            const stored = async () => (await fetch(`${gateway.url}/threads/${id}`)).json();
            assert.deepEqual([(await stored()).title, (await stored()).archived], ['Renamed', true]);
            await page.getByTestId('thread').first().getByRole('button', { name: /^Delete/ }).click();
        });
    });
}
