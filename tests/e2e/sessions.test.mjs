// A session in headless Chromium: a page sends its token once, then EventSource and fetch need none, and pages of other
// origins can do nothing with the cookie.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import { after, before, it } from 'node:test';
import { launchChromium } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';

const token = 'the-token-of-ada-for-this-test';
const readme = fs.readFileSync(new URL('../../examples/clients/README.md', import.meta.url), 'utf8');

let gateway;
let browser;
let page;
let other;

/// Runs in the page: a POST of JSON without any header for authentication.
const postRun = async ({ thread, run }) => {
    const response = await fetch('/agui', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
            threadId: thread, runId: run, protocolVersion: '1.1',
            messages: [{ id: `${run}-u`, role: 'user', content: 'Hello' }],
        }),
    });
    return { status: response.status, text: await response.text() };
};

before(async () => {
    const set = (...pairs) => pairs.flatMap((pair) => ['--set', pair]);
    gateway = await Gateway.start({
        args: ['--demo', '--listen', '127.0.0.1:0', ...set(
            'auth.mode=bearer', 'auth.tokens.0.name=ada', 'auth.tokens.0.token_env=ADA_TOKEN',
            'auth.tokens.0.scopes=["run","read"]', 'auth.session.enabled=true',
        )],
        env: { ADA_TOKEN: token },
    });
    browser = await launchChromium();
    page = await (await browser.newContext()).newPage();
    await page.goto(`${gateway.base}/`);
    other = http.createServer((request, response) => {
        response.writeHead(200, { 'content-type': 'text/html' });
        response.end('<!doctype html><title>Another page</title>');
    });
    await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
});

after(async () => {
    await browser?.close();
    other?.close();
    await stopAll(gateway);
});

it('begins with a token, and scripts cannot read its cookie', async () => {
    assert.equal((await page.evaluate(postRun, { thread: 't', run: 'r0' })).status, 401);
    const begun = await page.evaluate(async (sent) => {
        const response = await fetch('/agui/session', { method: 'POST', headers: { authorization: `Bearer ${sent}` } });
        return { status: response.status, body: await response.json(), cookies: document.cookie };
    }, token);
    assert.equal(begun.status, 200);
    assert.equal(begun.body.user, 'ada');
    assert.doesNotMatch(begun.cookies, /agui-session/);
    const [cookie] = (await page.context().cookies()).filter(({ name }) => name.includes('agui-session'));
    assert.ok(cookie.httpOnly);
    assert.equal(cookie.sameSite, 'Lax');
});

it('opens a run and an EventSource without a token', async () => {
    const run = await page.evaluate(postRun, { thread: 't', run: 'r1' });
    assert.equal(run.status, 200);
    assert.match(run.text, /RUN_FINISHED/);
    const types = await page.evaluate(() => new Promise((resolve, reject) => {
        const source = new EventSource('/agui/threads/t/runs/r1/events');
        const seen = [];
        source.onmessage = ({ data }) => {
            seen.push(JSON.parse(data).type);
            if (seen.at(-1) === 'RUN_FINISHED') {
                source.close();
                resolve(seen);
            }
        };
        source.onerror = () => reject(new Error(`the stream broke after ${seen.join()}`));
    }));
    assert.equal(types[0], 'RUN_STARTED');
});

it('is of no use to a page of another origin', async () => {
    // The same host with another port: the browser sends the cookie, because cookies do not know ports.
    const foreign = await page.context().newPage();
    await foreign.goto(`http://127.0.0.1:${other.address().port}/`);
    const read = await foreign.evaluate((url) => fetch(url, { credentials: 'include' }).then(() => 'read', () => 'refused'), `${gateway.base}/agui/threads`);
    assert.equal(read, 'refused');
    const sent = foreign.waitForRequest((request) => request.method() === 'POST');
    await foreign.evaluate((url) => fetch(url, { method: 'POST', mode: 'no-cors', credentials: 'include' }), `${gateway.base}/agui/session`);
    const answer = await (await sent).response();
    assert.equal(answer.status(), 403);
    assert.match(gateway.log, /a page was refused.*127\.0\.0\.1/);
    await foreign.close();
});

it('begins, goes on and asks to sign in by the lines of examples/clients/README.md', async () => {
    const [lines] = /async function signIn[^]*?(?=```)/.exec(readme);
    const context = await browser.newContext();
    const signing = await context.newPage();
    await signing.goto(`${gateway.base}/`);
    let answer;     // In place of the gateway's.
    const sent = [];
    await signing.route('**/agui/session', (route) => {
        sent.push(route.request().headers().authorization);
        return answer ? route.fulfill(answer) : route.continue();
    });
    await signing.evaluate(`(() => {
        const setTimeout = (next, wait) => Object.assign(state, { next, wait });
        globalThis.state = { signInShown: 0 };
        globalThis.accessToken = async () => state.token;
        globalThis.showSignIn = () => { ++state.signInShown; };
        ${lines}
        state.next = signIn;
    })()`);
    const next = (current) => signing.evaluate(async (current) => {
        const { next } = state;
        Object.assign(state, { token: current, next: undefined, wait: undefined });
        await next();
        return { wait: state.wait, renews: Boolean(state.next), signInShown: state.signInShown };
    }, current);

    const begun = await next(token);
    assert.ok(begun.wait > 29 * 60_000 && begun.wait <= 30 * 60_000, `${begun.wait}`);
    assert.equal((await signing.evaluate(postRun, { thread: 't2', run: 'r1' })).status, 200);

    // Each renewal asks for the token of that time. One that is about to expire, or a failure, leads to no flood of requests.
    answer = { status: 200, contentType: 'application/json', body: JSON.stringify({ expires: Date.now() + 1000 }) };
    assert.equal((await next('a newer token')).wait, 10_000);
    answer = { status: 503, body: '' };
    assert.equal((await next('a newer token')).wait, 10_000);
    answer = undefined;
    assert.ok((await next(token)).wait > 29 * 60_000);
    assert.deepEqual(await next('an expired token'), { wait: undefined, renews: false, signInShown: 1 });
    assert.deepEqual(sent, [token, 'a newer token', 'a newer token', token, 'an expired token'].map((one) => `Bearer ${one}`));
    await context.close();
});

it('ends in the browser', async () => {
    const status = await page.evaluate(async () => (await fetch('/agui/session', { method: 'DELETE' })).status);
    assert.equal(status, 204);
    assert.deepEqual((await page.context().cookies()).filter(({ name }) => name.includes('agui-session')), []);
    assert.equal((await page.evaluate(postRun, { thread: 't', run: 'r2' })).status, 401);
});
