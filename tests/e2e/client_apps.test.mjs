// The apps of examples/clients that need nothing but released packages, in headless Chromium: HttpAgent alone, and
// CopilotKit on the gateway's own routes. AGUI_HTTP_AGENT_APP and AGUI_COPILOTKIT_APP are the folders of the built apps.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { Files, chatPages, launchChromium, within } from './support/browser.mjs';
import { outline } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { WeatherService } from './support/weather.mjs';

const screenshots = process.env.AGUI_PAGE_SCREENSHOTS;
const call = (name, args) => ({ name, arguments: JSON.stringify(args), id: `call_${randomUUID()}` });
const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();
const copilotKit = chatPages.find(({ name }) => name.startsWith('CopilotKit'));

for (const [app, variable, base] of [['http-agent', 'AGUI_HTTP_AGENT_APP', '/agui'], ['copilotkit', 'AGUI_COPILOTKIT_APP', '/copilotkit']]) {
    describe(`the app of examples/clients/${app}`, { skip: !process.env[variable] && `${variable} is not set: tests/run.sh --all sets it` }, () => {
        const isHttpAgent = app === 'http-agent';
        const ui = isHttpAgent ? { input: '#text', send: 'button', message: '#messages p', idle: 'button' } : copilotKit;
        let files;
        let model;
        let weather;
        let gateway;
        let browser;
        let context;
        let page;
        let key;
        let rest; ///< Opens the rest of the model's answer.
        let refused; ///< Requests of the page with a 4xx or 5xx.
        let problems; ///< Errors of the page.

        before(async () => {
            files = await Files.start(process.env[variable]);
            model = await ModelServer.start();
            weather = await WeatherService.start();
            gateway = await Gateway.start({
                model,
                config: {
                    server: { copilotkit_path: '/copilotkit', cors_origins: [files.origin] },
                    tools: { webhook: [{ ...weather.tool, approval: 'always' }] },
                },
            });
            browser = await launchChromium();
        });
        after(async () => {
            await browser?.close();
            await stopAll(gateway, weather, model, files);
        });
        beforeEach(async (test) => {
            key = `[${test.name} ${randomUUID()}]`;
            rest = gate();
            refused = [];
            problems = [];
            weather.calls.length = 0;
            context = await browser.newContext();
            page = await context.newPage();
            page.setDefaultTimeout(15_000);
            page.on('response', (response) => response.url().startsWith(gateway.base) && response.status() >= 400 &&
                refused.push(`${response.status()} ${response.request().method()} ${response.url()}`));
            page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
            page.on('pageerror', (error) => problems.push(String(error)));
            await page.goto(`${files.origin}/?${new URLSearchParams({ gateway: gateway.base + base, runtime: gateway.base + base })}`);
            await page.locator(ui.input).waitFor();
        });
        afterEach(async (test) => {
            rest.open();
            if (screenshots) await page.screenshot({ path: path.join(screenshots, `${app}-app-${test.name}.png`.replaceAll(/[^\w.]/g, '-')) });
            await context.close();
            assert.deepEqual(refused, []);
            assert.deepEqual(problems, []);
        });

        async function ask(text) {
            await page.fill(ui.input, text);
            await page.click(ui.send);
        }
        const shown = (text) => page.locator(ui.message).filter({ hasText: text }).first().waitFor();
        const idle = () => page.locator(ui.idle).waitFor();
        const button = (name) => page.getByRole('button', { name, exact: true });
        async function reload() {
            await page.reload();
            await page.locator(ui.input).waitFor();
        }

        it('shows the conversation again after a reload, and takes it into account', async () => {
            model.script(key, [{ content: 'Hello.' }, { content: 'You said hi.' }]);
            await ask(key);
            await shown('Hello.');
            await idle();
            await reload();
            await shown('Hello.');
            await ask('what did I say?');
            await shown('You said hi.');
            await idle();
            assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(-3), [`user: ${key}`, 'assistant: Hello.', 'user: what did I say?']);
        });

        after(() => model.checkRequests());
        if (isHttpAgent) return;

        it('goes on with an active run after a reload, which Stop then ends', async () => {
            model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
            await ask(key);
            const exchange = await model.request(key, 1);
            await shown('word3 ');
            await reload();
            await shown('word3 ');
            await page.click(ui.stop);
            await within(1, exchange.closed, 'the model server is left');
            await idle();
            await ask('next');
            await shown('Next.');
        });

        it('executes the tool of the page, and asks the user, also after a reload', async () => {
            const calls = [call('change_background', { color: 'rgb(0, 0, 255)' }), call('ask_user', { question: 'Shall I?' })];
            model.script(key, [{ toolCalls: [calls[0]] }, { toolCalls: [calls[1]] }, { content: 'I do.' }]);
            await ask(key);
            await button('Yes').waitFor();
            assert.equal(await page.evaluate(() => document.querySelector('nav').style.background), 'rgb(0, 0, 255)');
            await idle();
            await reload();
            await button('Yes').click();
            await shown('I do.');
            assert.match(outline((await model.request(key, 3)).conversation).at(-1), /confirmed.*true/);
        });

        for (const [name, cities] of [['Allow', ['Oslo']], ['Deny', []]]) {
            it(`asks for an approval, also after a reload: ${name}`, async () => {
                model.script(key, [{ toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'As you wish.' }]);
                await ask(key);
                await button(name).waitFor();
                await reload();
                await button(name).click();
                await shown('As you wish.');
                assert.deepEqual(weather.calls.map(({ arguments: { city } }) => city), cities);
            });
        }

        it('lists threads with titles; they are shown, renamed, archived and deleted', async () => {
            model.script(key, [{ content: 'Hello.' }]);
            await ask(key);
            await shown('Hello.');
            await idle();
            const id = new URL(page.url()).searchParams.get('thread');
            const item = (text) => page.getByTestId('thread').filter({ hasText: text });
            await button('New chat').first().click();
            await page.locator(ui.message).first().waitFor({ state: 'detached' });
            await reload();
            await item(key.slice(0, 20)).first().getByRole('button').first().click();
            await shown('Hello.');
            page.once('dialog', (dialog) => dialog.accept('Renamed'));
            await item(key.slice(0, 20)).first().getByRole('button', { name: /^Rename/ }).click();
            await item('Renamed').waitFor();
            await reload();
            await item('Renamed').getByRole('button', { name: /^Archive/ }).click();
            await item('Renamed').waitFor({ state: 'detached' });
            const stored = async () => (await fetch(`${gateway.url}/threads/${id}`)).json();
            assert.deepEqual([(await stored()).title, (await stored()).archived], ['Renamed', true]);
            await page.getByTestId('thread').first().getByRole('button', { name: /^Delete/ }).click();
        });
    });
}
