// An app of examples/clients in headless Chromium: its page, the gateway and model server behind it, and a record of
// every request, console error and violation of a strict Content-Security-Policy. A test that leaves an unexpected one fails.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, beforeEach, it } from 'node:test';
import { Files, chatPages, launchChromium } from './browser.mjs';
import { outline } from './client.mjs';
import { Gateway, stopAll } from './gateway.mjs';
import { ModelServer, gate } from './model.mjs';
import { WeatherService } from './weather.mjs';

const screenshots = process.env.AGUI_PAGE_SCREENSHOTS;
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; " +
    "img-src 'self' data: blob: http://127.0.0.1:*; connect-src 'self' http://127.0.0.1:*; base-uri 'none'; form-action 'none'";

/// A long answer that can be cut into frames.
export const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();

/// A call as the scripts of models have it.
export const call = (name, args) => ({ name, arguments: JSON.stringify(args), id: `call_${randomUUID()}` });

/// Why a suite of an app does not run, or false.
export const notBuilt = (...variables) => {
    const missing = variables.find((variable) => !process.env[variable]);
    return missing !== undefined && `${missing} is not set: tests/run.sh --all sets it`;
};

/// How the parts of each app are found. `base` is the path of the gateway that the app's address names. `tolerated` is a
/// complaint of the app's packages: zod tries whether the page may generate code, and does without.
export const apps = {
    'http-agent': {
        variable: 'AGUI_HTTP_AGENT_APP', base: '/agui', input: '#text', send: 'role=button[name="Send"]',
        stop: 'role=button[name="Stop"]', idle: 'role=button[name="Send"]', message: '#messages p', tolerated: 'CSP: script-src eval',
    },
    copilotkit: { ...chatPages.find(({ name }) => name.startsWith('CopilotKit')), variable: 'AGUI_COPILOTKIT_APP', base: '/copilotkit' },
    ...Object.fromEntries([
        ['assistant-ui', { variable: 'AGUI_ASSISTANT_UI_APP', base: '/agui' }],
        ['tanstack', { variable: 'AGUI_TANSTACK_APP', base: '/agui' }],
        ['ai-sdk', { variable: 'AGUI_AI_SDK_APP', base: '', tolerated: 'CSP: script-src eval' }],
    ].map(([name, own]) => [name, {
        ...own, input: '[aria-label="Message"]', send: 'role=button[name="Send"]', stop: 'role=button[name="Stop"]',
        idle: 'role=button[name="Send"]', message: '.message',
    }])),
};

/// One page of an app, with the steps of a person and what the page has asked of servers.
export class AppPage {
    /// `token`: that of the page's user. `session`: the same, for a page that exchanges it for a cookie.
    static async open(stage, { context: options = {}, query = {}, token, session } = {}) {
        const app = new AppPage();
        Object.assign(app, { stage, ui: stage.ui, query, token, session, requests: [], problems: [] });
        app.context = await stage.browser.newContext(options);
        app.page = await app.context.newPage();
        app.page.setDefaultTimeout(15_000);
        await app.page.addInitScript(() => {
            document.addEventListener('securitypolicyviolation', (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
        });
        app.page.on('response', (response) => {
            if (response.request().method() !== 'OPTIONS') app.note(response.request(), response.status());
        });
        app.page.on('requestfailed', (request) => app.note(request, request.failure()?.errorText));
        app.page.on('console', (message) => {
            if (message.type() === 'error' && message.text() !== app.ui.tolerated) app.problems.push(message.text());
        });
        app.page.on('pageerror', (error) => app.problems.push(String(error)));
        return app;
    }

    note(request, status) {
        const { pathname, search, host } = new URL(request.url());
        const known = this.requests.find((each) => each.request === request);
        if (known) known.status = `${known.status} ${status}`;
        else this.requests.push({ request, method: request.method(), path: pathname + (host === this.stage.host ? search : ''), host, status: String(status) });
    }

    /// The requests to the gateway, or to the server in front of it.
    asked(method, path) {
        return this.requests.filter((each) => each.host === this.stage.host && each.method === method && each.path === path);
    }

    async load(more = {}) {
        const query = new URLSearchParams({ ...this.stage.address(), ...this.query, ...more });
        const hash = this.token ? `#token=${this.token}` : this.session ? `#session=${this.session}` : '';
        await this.page.goto(`${this.stage.origin()}/?${query}${hash}`);
        await this.page.locator(this.ui.input).waitFor();
        this.session = undefined; // From now on there is the cookie.
    }

    /// The headers with which the page's user is known outside of the page.
    async credentials() {
        if (this.token) return { Authorization: `Bearer ${this.token}` };
        const cookies = await this.context.cookies();
        return { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '), Origin: this.stage.origin() };
    }

    async reload() {
        await this.page.reload();
        await this.page.locator(this.ui.input).waitFor();
    }

    async ask(text) {
        await this.page.fill(this.ui.input, text);
        await this.page.click(this.ui.send);
    }

    shown(text) {
        return this.page.locator(this.ui.message).filter({ hasText: text }).last().waitFor();
    }

    idle() {
        return this.page.locator(this.ui.idle).waitFor();
    }

    stop() {
        return this.page.click(this.ui.stop);
    }

    /// Waits until the app takes no message because an approval is open, and says so.
    async isLocked() {
        await this.page.locator(`${this.ui.input}[placeholder^="Answer"]:disabled`).waitFor();
        assert.equal(await this.button('Send').isDisabled(), true);
    }

    button(name) {
        return this.page.getByRole('button', { name, exact: true });
    }

    async picture(name) {
        if (!screenshots) return;
        const file = path.join(screenshots, name.replaceAll(/[^\w.]+/g, '-'));
        await this.page.screenshot({ path: `${file}.png` });
        fs.writeFileSync(`${file}.requests.txt`, this.requests.map(({ method, path: asked, host, status }) => `${status} ${method} ${host}${asked}\n`).join(''));
    }

    /// Closes the page, and fails if it left a refused or failed request, an error or a violation.
    async close() {
        await this.context.close();
        // A page leaves requests itself, on a reload or when a part of it is unmounted: those are aborted.
        const unexpected = this.requests.filter(({ status }) => !/^([23]\d\d)?( ?net::ERR_ABORTED)?$/.test(status));
        assert.deepEqual(unexpected.map(({ method, path: asked, status }) => `${status} ${method} ${asked}`), []);
        assert.deepEqual(this.problems, []);
    }
}

// One Chromium for all suites of a file, each page in a context of its own. The last suite closes it.
let chromium;
let suites = 0;

/// Starts the app `name` and what it needs for the tests of the surrounding suite. Before each test a page is opened and,
/// unless `blank`, loaded. `config` is the gateway's, `inFront` starts a server between page and gateway: {url, stop()}.
/// Pictures are called by `label`; `variable` has the folder of another build of the app. `isServed`: by the gateway itself, so
/// that both have one origin.
export function setApp(name, { config = {}, inFront, blank = false, label = name, variable = apps[name].variable, isServed = false } = {}) {
    const stage = { label, ui: apps[name] };
    stage.address = () => {
        const url = isServed ? stage.ui.base : stage.front?.url ?? stage.gateway.base + stage.ui.base;
        return { gateway: url, runtime: url };
    };
    suites += 1;
    stage.origin = () => (isServed ? stage.gateway.base : stage.files.origin);

    before(async () => {
        if (!isServed) stage.files = await Files.start(process.env[variable], { 'Content-Security-Policy': policy });
        const pages = isServed ? { static_dir: process.env[variable], csp: policy } : { cors_origins: [stage.files.origin] };
        stage.model = await ModelServer.start();
        stage.weather = await WeatherService.start();
        stage.gateway = await Gateway.start({
            model: stage.model,
            config: {
                ...config,
                server: { copilotkit_path: '/copilotkit', ai_path: '/ai', ...pages, ...config.server },
                tools: { webhook: [{ ...stage.weather.tool, approval: 'always' }, ...config.tools?.webhook ?? []] },
            },
        });
        stage.front = await inFront?.(stage);
        stage.host = new URL(stage.address().gateway, stage.gateway.base).host;
        chromium ??= launchChromium();
        stage.browser = await chromium;
    });
    after(async () => {
        suites -= 1;
        if (suites === 0) await (await chromium)?.close();
        await stopAll(stage.front, stage.gateway, stage.weather, stage.model, stage.files);
    });
    beforeEach(async (test) => {
        stage.key = `[${test.name} ${randomUUID()}]`;
        stage.rest = gate(); // Opens the rest of the model's answer.
        stage.weather.calls.length = 0;
        stage.app = await AppPage.open(stage);
        if (!blank) await stage.app.load();
    });
    afterEach(async (test) => {
        stage.rest.open();
        await stage.app.picture(`${stage.label}-app-${test.name}`);
        await stage.app.close();
    });
    after(() => stage.model?.checkRequests());
    return stage;
}

/// A test of the stage's app.
export function itKeepsTheConversation(stage) {
    it('shows the conversation again after a reload, and takes it into account', async () => {
        const { app, key, model } = stage;
        model.script(key, [{ content: 'Hello.' }, { content: 'You said hi.' }]);
        await app.ask(key);
        await app.shown('Hello.');
        await app.idle();
        await app.reload();
        await app.shown('Hello.');
        await app.ask('what did I say?');
        await app.shown('You said hi.');
        await app.idle();
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(-3), [`user: ${key}`, 'assistant: Hello.', 'user: what did I say?']);
    });
}
