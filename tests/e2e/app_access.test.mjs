// The apps of examples/clients for everyone: axe-core finds nothing serious, the keyboard alone is enough, and a page of
// 390 px does not scroll sideways. In headless Chromium; the folders of the built apps are in the variables of client_apps.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AppPage, apps, call, notBuilt, setApp, words } from './support/app.mjs';
import { within } from './support/browser.mjs';
import { seriousProblems } from './support/console_page.mjs';

/// Presses Tab until the focus is on what `wanted` finds.
async function tabTo(page, wanted) {
    for (let presses = 0; presses < 80; presses += 1) {
        if (await wanted.evaluate((element) => element === document.activeElement)) return;
        await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not come to ${wanted}`);
}

for (const name of Object.keys(apps)) {
    describe(`the app of examples/clients/${name}, for everyone`, { skip: notBuilt(apps[name].variable) }, () => {
        const stage = setApp(name, { config: { agent: name === 'tanstack' ? { events: ['tanstack'] } : {} }, label: `${name}-access` });
        const onlyText = name === 'http-agent';

        /// A conversation with an answer and, if the app has such, with a call of the page, a question and an approval.
        /// Returns what axe-core finds while the question is open.
        async function fill(app, key) {
            const { page } = app;
            const asks = [call('ask_user', { question: 'Shall I?' })];
            const long = `https://example.com/${'long'.repeat(60)}`;
            stage.model.script(key, onlyText ? [{ content: long }] : [
                { content: long, toolCalls: [call('change_background', { color: '#eee' })] }, { toolCalls: asks }, { toolCalls: [call('get_weather', { city: long })] },
            ]);
            await app.ask(key);
            if (onlyText) {
                await app.shown(long);
                return [];
            }
            await app.button('Yes').waitFor();
            const question = await seriousProblems(page);
            await app.button('Yes').click();
            await app.button('Allow').waitFor();
            return question;
        }

        it('has nothing serious for axe-core', async () => {
            const { app, key } = stage;
            assert.deepEqual(await seriousProblems(app.page), []);
            assert.deepEqual(await fill(app, key), []);
            assert.deepEqual(await seriousProblems(app.page), []);
        });

        it('does not scroll sideways at 390 px, and its input is on the page', async () => {
            const { app, key } = stage;
            const narrow = await AppPage.open(stage, { context: { viewport: { width: 390, height: 844 } } });
            await narrow.load();
            const wider = () => narrow.page.evaluate(() => [...document.querySelectorAll('html, main, nav, form, .messages, .message, .call, .card')]
                .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => `${each.tagName} ${each.scrollWidth} > ${each.clientWidth}`));
            assert.deepEqual(await wider(), []);
            await fill(narrow, key);
            assert.deepEqual(await wider(), []);
            for (const part of [app.ui.input, app.ui.send]) {
                const box = await narrow.page.locator(part).boundingBox();
                assert.ok(box && box.x >= 0 && box.x + box.width <= 390 && box.y + box.height <= 844, `${part} is on the page: ${JSON.stringify(box)}`);
            }
            await narrow.picture(`${name}-390`);
            await narrow.close();
        });

        it('is used with the keyboard alone', async () => {
            const { app, key, model, rest, weather } = stage;
            const { page } = app;
            const press = async (wanted) => {
                await wanted.waitFor();
                await tabTo(page, wanted);
                await page.keyboard.press('Enter');
            };
            const write = async (text) => {
                await tabTo(page, page.locator(app.ui.input));
                await page.keyboard.type(text);
                await page.locator(app.ui.send).click({ trial: true }); // Waits until it is enabled.
                await page.keyboard.press('Enter');
            };
            model.script(key, onlyText ? [{ content: 'Hello.' }] : [
                { content: words, pauseAfter: 20, resume: rest.opened }, { toolCalls: [call('ask_user', { question: 'Shall I?' })] },
                { toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'Done.' },
            ]);
            await write(key);
            if (onlyText) return app.shown('Hello.');
            const exchange = await model.request(key, 1);
            await app.shown('word3 ');
            await press(page.locator(app.ui.stop));
            await within(1, exchange.closed, 'the model server is left');
            await app.idle();
            await write('next');
            await press(app.button('Yes'));
            await press(app.button('Allow'));
            await app.shown('Done.');
            assert.equal(weather.calls.length, 1);
        });
    });
}
