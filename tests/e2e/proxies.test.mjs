// nginx and Caddy in front of the gateway, with the configurations of examples/clients/proxies as they are; and what
// nginx does without them.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { launchChromium, within } from './support/browser.mjs';
import { runInput, user } from './support/client.mjs';
import { ConsolePage } from './support/console_page.mjs';
import { stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { Browser, Caddy, Nginx, edited, example, startGateway, textOf, token, until } from './support/proxies.mjs';
import { parseStream } from './support/streams.mjs';

const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();
const types = (text) => parseStream(text).map(({ event }) => event.type);
const said = (text) => parseStream(text).map(({ event }) => (event.type === 'TEXT_MESSAGE_CONTENT' ? event.delta : '')).join('');
const lastSeq = (text) => parseStream(text).at(-1).seq;
/// The whole events that have come so far.
const complete = (text) => text.slice(0, text.lastIndexOf('\n\n') + 2);

/// Starts a model, a gateway and a proxy for the surrounding tests. Each test has a key, a thread and a browser.
function setStage(start, settings = []) {
    const stage = {};
    before(async () => {
        stage.model = await ModelServer.start();
        stage.gateway = await startGateway(stage.model, settings);
        stage.proxy = await start(stage.gateway);
    });
    after(() => stopAll(stage.proxy, stage.gateway, stage.model));
    beforeEach((test) => {
        stage.key = `[${test.name} ${randomUUID()}]`;
        stage.rest = gate();
        stage.browser = new Browser(stage.proxy.port);
    });
    afterEach(() => {
        stage.rest.open();
        stage.browser.stop();
    });
    stage.input = (more) => runInput({ threadId: randomUUID(), messages: [user(stage.key)], ...more });
    /// A run whose model stops after some words until the test opens `rest`.
    stage.begin = async (headers) => {
        stage.model.script(stage.key, [{ content: words, pauseAfter: 20, resume: stage.rest.opened }]);
        const input = stage.input();
        return { input, ...await stage.browser.send('/agui', { body: input, headers }) };
    };
    return stage;
}

const proxies = [
    { Proxy: Nginx, name: 'nginx', short: ['proxy_read_timeout 1h', 'proxy_read_timeout 4s'], cutsAs: 'broken' },
    { Proxy: Caddy, name: 'Caddy', short: ['keepalive 60s', 'keepalive 60s\nread_timeout 4s'], cutsAs: 'complete' },
];

for (const { Proxy, name, short, cutsAs } of proxies) {
    describe(`${name} with the configuration of examples/clients/proxies`, { skip: Proxy.skip }, () => {
        const stage = setStage((gateway) => Proxy.start(gateway), ['server.max_body_bytes=20971520']);

        it('passes each event on at once, over HTTP/2 and without compression', async () => {
            const { status, headers, stream } = await stage.begin();
            assert.equal(status, 200);
            assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
            assert.equal(headers['content-encoding'], undefined);
            const first = await until(stream, /word3 /);
            assert.ok(!first.includes('RUN_FINISHED'));
            stage.rest.open();
            const whole = first + await textOf(stream);
            assert.equal(said(whole), words);
            assert.equal(types(whole).at(-1), 'RUN_FINISHED');
        });

        it('passes each event on at once as protobuf', async () => {
            const { headers, stream } = await stage.begin({ accept: 'application/vnd.ag-ui.event+proto' });
            assert.equal(headers['content-type'], 'application/vnd.ag-ui.event+proto');
            await until(stream, /word3 /);
            stage.rest.open();
            await textOf(stream);
        });

        for (const leave of ['stream.close', 'session.destroy']) {
            it(`tells the gateway that the browser has left: ${leave}()`, async () => {
                const { stream } = await stage.begin({ 'x-on-disconnect': 'cancel' });
                await until(stream, /word3 /);
                if (leave === 'stream.close') stream.close(8); // CANCEL, which an aborted fetch() sends.
                else stage.browser.stop();
                await within(10, (await stage.model.request(stage.key, 1)).closed, 'the model server is left');
            });
        }

        const cursors = {
            'after=': (seq) => [`?after=${seq}`],
            'Last-Event-ID': (seq) => ['', { headers: { 'last-event-id': String(seq) } }],
        };
        for (const [how, cursor] of Object.entries(cursors)) {
            it(`a lost connection is resumed by ${how}`, async () => {
                const { input, stream } = await stage.begin();
                const seen = complete(await until(stream, /word3 /));
                stage.browser.stop();
                stage.browser = new Browser(stage.proxy.port);
                const [query, options] = cursor(lastSeq(seen));
                const again = stage.browser.send(`/agui/threads/${input.threadId}/runs/${input.runId}/events${query}`, options);
                stage.rest.open();
                const { status, headers, stream: rest } = await again;
                assert.deepEqual([status, headers['content-encoding']], [200, undefined]);
                const whole = seen + await textOf(rest);
                assert.equal(said(whole), words);
                assert.deepEqual(parseStream(whole).map(({ seq }) => seq), Array.from(parseStream(whole), (_, at) => at + 1));
            });
        }

        it('answers a stream that begins with silence', async () => {
            stage.model.script(stage.key, [{ content: 'Hello.', pauseAfter: 2, resume: stage.rest.opened }]);
            const input = stage.input();
            const { stream } = await stage.browser.send('/agui', { body: input });
            const seen = await until(stream, /Hello[^]*\n\n$/);
            const again = stage.browser.send(`/agui/threads/${input.threadId}/runs/${input.runId}/events?after=${lastSeq(seen)}`);
            const { status, stream: waiting } = await within(10, again, 'the head comes before any event');
            assert.equal(status, 200);
            stage.rest.open();
            assert.deepEqual(types(await textOf(waiting)).at(-1), 'RUN_FINISHED');
        });

        it('passes large bodies on, and the refusal of a larger one', async () => {
            const part = (bytes) => ({ type: 'image', source: { type: 'data', value: 'A'.repeat(bytes), mimeType: 'image/png' } });
            const path = `/agui/threads/${randomUUID()}/parts`;
            const kept = await stage.browser.read(path, { body: part(8 * 1024 * 1024) });
            assert.equal(kept.status, 200, kept.text);
            assert.match(JSON.parse(kept.text).source.value, /^https:\/\/app\.example\/chat\/agui\/threads\//);
            const refused = await stage.browser.read(path, { body: part(21 * 1024 * 1024) });
            assert.equal(refused.status, 413);
            assert.equal(JSON.parse(refused.text).error.code, 'body_too_large');
            assert.equal((await stage.browser.read('/agui/threads')).status, 200, 'the connection goes on');
        });

        it('tells the gateway the address of the browser', async () => {
            const browser = new Browser(stage.proxy.port, { localAddress: '127.0.0.3' });
            const forged = { authorization: 'Bearer wrong', 'x-forwarded-for': '192.0.2.1' };
            assert.equal((await browser.read('/agui/threads', { headers: forged })).status, 401);
            browser.stop();
            const line = await within(10, stage.gateway.logged(/wrong bearer token.*/), 'the refusal is in the log');
            assert.match(line, /address=127\.0\.0\.3 /);
        });

        it("serves CopilotKit's routes below the prefix", async () => {
            const info = JSON.parse((await stage.browser.read('/copilotkit/info')).text);
            assert.deepEqual(Object.keys(info.agents), ['default']);
            stage.model.script(stage.key, [{ content: 'Hello.' }]);
            const { text } = await stage.browser.read('/copilotkit/agent/default/run', { body: stage.input() });
            assert.equal(said(text), 'Hello.');
            const refused = await stage.browser.read('/copilotkit/nothing');
            assert.deepEqual([refused.status, typeof JSON.parse(refused.text).error], [404, 'string']);
        });

        it('serves the console below the prefix to Chromium, over HTTP/2', async () => {
            stage.model.script(stage.key, [{ content: 'Hello.' }]);
            const browser = await launchChromium(['--host-resolver-rules=MAP app.example 127.0.0.1']);
            try {
                const page = await browser.newPage({ ignoreHTTPSErrors: true });
                page.setDefaultTimeout(15_000);
                await page.goto(`https://app.example:${stage.proxy.port}/chat/console/`);
                assert.equal(await page.evaluate(() => performance.getEntriesByType('navigation')[0].nextHopProtocol), 'h2');
                await page.fill('#token', token);
                await page.press('#token', 'Enter');
                await page.waitForFunction(() => document.querySelector('#status').textContent.startsWith('Connected'));
                const view = new ConsolePage(page);
                await view.startRun(stage.key);
                await view.ended();
                assert.equal((await view.types()).at(-1), 'RUN_FINISHED');
            } finally {
                await browser.close();
            }
        });

        after(() => stage.model.checkRequests());
    });

    describe(`${name} with a time-out that is shorter than a silence`, { skip: Proxy.skip }, () => {
        const stage = setStage((gateway) => Proxy.start(gateway, { edits: [short] }), ['server.heartbeat_seconds=1']);

        it('does not cut a stream with heartbeats', async () => {
            const { stream } = await stage.begin();
            const first = await until(stream, /word3 [^]*(\n:[^\n]*\n[^]*){6}/);
            stage.rest.open();
            assert.equal(said(first + await textOf(stream)), words);
        });

        it(`cuts a stream without heartbeats, protobuf, so that it looks ${cutsAs}`, async () => {
            const { stream } = await stage.begin({ accept: 'application/vnd.ag-ui.event+proto' });
            const end = textOf(stream).then((text) => (text.includes('word59') ? 'whole' : 'complete'), () => 'broken');
            assert.equal(await within(20, end, 'the proxy gives up'), cutsAs);
        });
    });
}

describe('nginx without the configuration of examples/clients/proxies', { skip: Nginx.skip }, () => {
    // Only what any site has.
    const bare = example('nginx.conf').replace(/proxy_http_version[^]*?gzip off;/, 'proxy_set_header Host $host;');

    describe('with its defaults', () => {
        const stage = setStage((gateway) => Nginx.start(gateway, { site: bare }));

        it("does not hold the events back: the gateway's X-Accel-Buffering switches the buffer off", async () => {
            const { stream, headers } = await stage.begin({ 'accept-encoding': 'identity' });
            assert.equal(headers['x-accel-buffering'], undefined, 'the header is for nginx alone');
            await until(stream, /word3 /);
            stage.rest.open();
            await textOf(stream);
        });

        it('refuses a body above 1 MB by a page in HTML', async () => {
            const { status, headers } = await stage.browser.read('/agui', { body: stage.input({ state: { text: 'A'.repeat(2 * 1024 * 1024) } }) });
            assert.deepEqual([status, headers['content-type']], [413, 'text/html']);
        });
    });

    describe('told to ignore X-Accel-Buffering', () => {
        const ignoring = bare.replace('proxy_set_header Host', 'proxy_ignore_headers X-Accel-Buffering; proxy_set_header Host');
        const stage = setStage((gateway) => Nginx.start(gateway, { site: ignoring }));

        it('holds back all events until the run has ended', async () => {
            stage.model.script(stage.key, [{ content: 'Hello.', pauseAfter: 1, resume: stage.rest.opened }]);
            const input = stage.input();
            let answered = false;
            const answer = stage.browser.send('/agui', { body: input, headers: { 'accept-encoding': 'identity' } }).finally(() => (answered = true));
            await stage.model.request(stage.key, 1);
            // The gateway shows the run's first event to others.
            const direct = await new Promise((resolve, reject) => http.get(
                `${stage.gateway.base}/chat/agui/threads/${input.threadId}/runs/${input.runId}/events`,
                { headers: { host: 'app.example', authorization: `Bearer ${token}` } }, resolve).on('error', reject));
            await until(direct, /RUN_STARTED/);
            direct.destroy();
            assert.equal(answered, false);
            stage.rest.open();
            assert.equal(said(await textOf((await answer).stream)), 'Hello.');
        });
    });

    describe('with the address of the gateway as Host', () => {
        const stage = setStage((gateway) => Nginx.start(gateway, { site: edited(bare, ['proxy_set_header Host $host;', '']) }));

        it('is refused, and the refusal names the setting', async () => {
            const { status, text } = await stage.browser.read('/agui/threads');
            assert.equal(status, 421);
            assert.match(text, /allowed_hosts/);
        });
    });
});
