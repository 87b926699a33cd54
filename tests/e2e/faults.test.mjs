// What goes wrong in operation: a killed process, a crowd on one thread, a shutdown, bad input.

import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { after, before, beforeEach, describe, it } from 'node:test';
import { background, eventsOf, outline, post, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

const green = { name: 'change_background', arguments: '{"color":"green"}', id: 'call_green' };
const declared = { external: [{ ...background, parameters: JSON.stringify(background.parameters) }] };

let model;
let gateway;
let key;

before(async () => {
    model = await ModelServer.start();
});
after(() => stopAll(model));
beforeEach((test) => {
    recordAs(test.name);
    key = `[${test.name}]`;
});

describe('a killed process', () => {
    before(async () => {
        gateway = await Gateway.start({ model, config: { tools: declared } });
    });
    after(() => stopAll(gateway));

    it('goes on with the tool answer after kill -9 between the two requests', async () => {
        model.script(key, [{ toolCalls: [green] }, { content: 'Green after all.' }]);
        const messages = [user(`${key} begin`)];
        const first = (await postRun(gateway, runInput({ threadId: 'killed-1', messages }))).expectFinished();
        const { id } = first.calls[0];

        await gateway.end('SIGKILL');
        await gateway.launch();

        const second = await postRun(gateway, {
            threadId: 'killed-1',
            runId: 'run-2',
            messages: [{ role: 'tool', tool_id: id, tool_name: 'change_background', content: '{"status":"ok"}' }],
            state: {},
            forwardedProps: {},
        });
        assert.equal(second.expectFinished().text, 'Green after all.');
        assert.deepEqual(outline((await model.request(key, 2)).conversation), [
            `user: ${key} begin`,
            `assistant: | change_background({"color":"green"})#${id}`,
            `tool ${id}: {"status":"ok"}`,
        ]);
    });

    it('has the thread of a run that the kill ended ready for the next message', async () => {
        model.script(key, [{ content: 'A story that the kill cuts short.', pauseAfter: 3, resume: gate().opened }, { content: 'Here.' }]);
        const begin = user(`${key} begin`);
        const input = runInput({ threadId: 'killed-2', messages: [begin] });
        const response = await post(gateway.url, input);
        const cut = (async () => {
            for await (const event of eventsOf(response)) {
                if (event.type === 'TEXT_MESSAGE_CONTENT') gateway.process.kill('SIGKILL');
            }
        })();
        await assert.rejects(cut);
        await gateway.ended;
        await gateway.launch();

        const next = await postRun(gateway, runInput({ threadId: 'killed-2', messages: [begin, user('are you there?')] }));

        assert.equal(next.expectFinished().text, 'Here.');
        assert.equal((await model.request(key, 2)).conversation.at(-1).content, 'are you there?');
    });
});

describe('a crowd on one thread', () => {
    before(async () => {
        gateway = await Gateway.start({ model });
    });
    after(() => stopAll(gateway));

    it('has one run, and 99 of 100 parallel requests are told 409', async () => {
        const held = gate();
        model.script(key, [{ content: 'For one of you.', hold: held.opened }, { content: 'Next, please.' }]);
        const requests = Array.from({ length: 100 }, (_, index) =>
            post(gateway.url, runInput({ threadId: 'crowd', runId: `crowd-${index}`, messages: [user(`${key} from ${index}`)] })));

        const responses = await Promise.all(requests);

        const streams = responses.filter((response) => response.status === 200);
        const refused = responses.filter((response) => response.status === 409);
        assert.equal(streams.length, 1);
        assert.equal(refused.length, 99);
        held.open();
        let winner;
        for await (const event of eventsOf(streams[0])) {
            if (event.type === 'RUN_STARTED') winner = event.runId;
            if (event.type !== 'RUN_FINISHED') continue;
            const next = await post(gateway.url, runInput({ threadId: 'crowd', messages: [user('and now?')] }));
            assert.equal(next.status, 200);
            await next.text();
        }
        for (const response of refused) {
            assert.ok(Number(response.headers.get('retry-after')) >= 1);
            const { error } = await response.json();
            assert.equal(error.code, 'thread_busy');
            assert.equal(error.activeRunId, winner);
        }
    });

    it('never refuses a request that follows the terminal event at once', async () => {
        const rounds = 50;
        model.script(key, Array.from({ length: rounds + 1 }, (_, index) => ({ content: `Answer ${index}.` })));
        const next = () => post(gateway.url, runInput({ threadId: 'hasty', messages: [user(`${key} go`)] }));
        let response = await next();
        for (let round = 0; round < rounds; ++round) {
            let following;
            for await (const event of eventsOf(response)) {
                if (event.type === 'RUN_FINISHED') following = await next();
            }
            assert.equal(following.status, 200, `round ${round}: ${following.status === 200 || (await following.text())}`);
            response = following;
        }
        await response.text();
    });
});

describe('a shutdown by SIGTERM', () => {
    it('lets a run end, refuses new ones, and exits with 0', async () => {
        gateway = await Gateway.start({ model });
        const held = gate();
        model.script(key, [{ content: 'Almost there, a moment.', pauseAfter: 3, resume: held.opened }]);
        const events = eventsOf(await post(gateway.url, runInput({ threadId: 'drain-1', messages: [user(`${key} begin`)] })));
        assert.equal((await events.next()).value.type, 'RUN_STARTED');
        await model.request(key, 1);

        gateway.process.kill('SIGTERM');
        while ((await fetch(`${gateway.base}/readyz`)).status !== 503);
        const refused = await post(gateway.url, runInput({ threadId: 'drain-2', messages: [user('too late')] }));
        assert.equal(refused.status, 503);
        assert.ok(refused.headers.has('retry-after'));
        assert.equal((await refused.json()).error.code, 'draining');
        held.open();

        let last;
        for await (const event of events) last = event;
        assert.equal(last.type, 'RUN_FINISHED');
        assert.deepEqual(await gateway.ended, { code: 0, signal: null });
        await gateway.stop();
    });

    it('ends a run that takes longer than drain_seconds with RUN_ERROR shutdown', async () => {
        gateway = await Gateway.start({ model, config: { server: { drain_seconds: 1 } } });
        model.script(key, [{ content: 'A story without an end.', pauseAfter: 3, resume: gate().opened }]);
        const response = await post(gateway.url, runInput({ threadId: 'drain-3', messages: [user(`${key} begin`)] }));
        const events = [];
        for await (const event of eventsOf(response)) {
            if (event.type === 'TEXT_MESSAGE_CONTENT' && events.at(-1).type !== event.type) gateway.process.kill('SIGTERM');
            events.push(event);
        }
        assert.deepEqual(events.slice(-2).map((event) => event.type), ['TEXT_MESSAGE_END', 'RUN_ERROR']);
        assert.equal(events.at(-1).code, 'shutdown');
        assert.deepEqual(await gateway.ended, { code: 0, signal: null });
        await gateway.stop();
    });
});

describe('bad input', () => {
    before(async () => {
        gateway = await Gateway.start({ model, config: { server: { max_body_bytes: 100_000, max_header_bytes: 16_384 } } });
    });
    after(() => stopAll(gateway));

    /// Sends a request with headers that fetch() would not; resolves to its status, headers and JSON.
    function send({ method = 'POST', path = '/agui', headers = {}, body = '' }) {
        return new Promise((resolve, reject) => {
            const { hostname, port, host } = new URL(gateway.base);
            const request = http.request({
                hostname, port, path, method, agent: false,
                headers: { Host: host, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body), ...headers },
            }, async (response) => {
                let text = '';
                for await (const chunk of response) text += chunk;
                resolve({ status: response.statusCode, headers: response.headers, text, error: text.startsWith('{') ? JSON.parse(text).error : undefined });
            });
            request.on('error', reject);
            request.end(body);
        });
    }

    /// Sends bytes as they are; resolves to all that comes back until the server closes.
    function sendRaw(bytes) {
        return new Promise((resolve, reject) => {
            const { hostname, port } = new URL(gateway.base);
            let text = '';
            const socket = net.connect({ host: hostname, port }, () => socket.write(bytes));
            socket.on('data', (chunk) => (text += chunk));
            socket.on('close', () => resolve(text));
            socket.on('error', reject);
        });
    }

    const input = (more) => JSON.stringify(runInput({ threadId: 'bad', messages: [user('hello')], ...more }));
    const deep = (depth) => `{"threadId":"bad","runId":"r","messages":[],"state":${'['.repeat(depth)}${']'.repeat(depth)}}`;

    const refusals = [
        ['a threadId that is a number', { body: input({ threadId: 5 }) }, 422, 'invalid_input', 'threadId'],
        ['a missing threadId', { body: input({ threadId: undefined }) }, 422, 'invalid_input', 'threadId'],
        ['a missing runId', { body: input({ runId: undefined }) }, 422, 'invalid_input', 'runId'],
        ['a runId that is an object', { body: input({ runId: {} }) }, 422, 'invalid_input', 'runId'],
        ['messages that are an object', { body: input({ messages: {} }) }, 422, 'invalid_input', 'messages'],
        ['a message that is a string', { body: input({ messages: ['hello'] }) }, 422, 'invalid_input', 'messages[0]'],
        ['a content that is a number', { body: input({ messages: [user(7)] }) }, 422, 'invalid_input', 'messages[0].content'],
        ['a tool message without toolCallId', { body: input({ messages: [user('a'), { id: 't', role: 'tool', content: '' }] }) },
            422, 'invalid_input', 'messages[1].toolCallId'],
        ['tools that are a string', { body: input({ tools: 'all' }) }, 422, 'invalid_input', 'tools'],
        ['an array for the input', { body: '[]' }, 422, 'invalid_input', undefined],
        ['a body that is no JSON', { body: '{"threadId":' }, 400, 'invalid_json', undefined],
        ['an empty body', { body: '' }, 400, 'invalid_json', undefined],
        ['invalid UTF-8', { body: Buffer.concat([Buffer.from('{"threadId":"'), Buffer.from([0xc3, 0x28]), Buffer.from('","runId":"r","messages":[]}')]) },
            400, 'invalid_json', undefined],
        ['a depth bomb', { body: deep(20_000) }, 400, 'invalid_json', undefined],
        ['a depth just over the limit', { body: deep(65) }, 400, 'invalid_json', undefined],
        ['a body over the limit', { body: input({ state: 'x'.repeat(200_000) }) }, 413, 'body_too_large', undefined],
        ['a missing media type', { body: input(), headers: { 'Content-Type': [] } }, 415, 'unsupported_media_type', undefined],
        ['a form post', { body: input(), headers: { 'Content-Type': 'text/plain' } }, 415, 'unsupported_media_type', undefined],
        ['a foreign Host', { body: input(), headers: { Host: 'attacker.example' } }, 421, 'wrong_host', undefined],
        ['an unknown major version', { body: input({ protocolVersion: '2.0' }) }, 422, 'unsupported_protocol_version', undefined],
        ['an unknown path', { path: '/nowhere', body: '{}' }, 404, 'not_found', undefined],
        ['an unknown agent', { path: '/agui/agents/nobody', body: input() }, 404, 'not_found', undefined],
        ['a GET of /agui', { method: 'GET', path: '/agui' }, 405, 'method_not_allowed', undefined],
        ['headers over the limit', { body: input(), headers: { 'X-Long': 'x'.repeat(20_000) } }, 431, 'headers_too_large', undefined],
    ];
    for (const [what, request, status, code, path] of refusals) {
        it(`${what} is ${status} ${code}`, async () => {
            const answer = await send(request);
            assert.equal(answer.status, status, answer.text);
            assert.match(answer.headers['content-type'], /^application\/json/);
            assert.equal(answer.error?.code, code, answer.text);
            assert.ok(answer.error.message.length > 0);
            if (path !== undefined) assert.equal(answer.error.path, path, answer.text);
            if (status === 405) assert.match(answer.headers.allow, /\bPOST\b/);
        });
    }

    it('a chunked body over the limit is 413 body_too_large', async () => {
        const { host } = new URL(gateway.base);
        const head = `POST /agui HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`;
        const chunk = `${(16_384).toString(16)}\r\n${' '.repeat(16_384)}\r\n`;
        const reply = await sendRaw(head + chunk.repeat(8));
        assert.match(reply, /^HTTP\/1\.1 413 /);
        assert.match(reply, /"code":"body_too_large"/);
    });

    for (const [what, framing] of [
        ['Content-Length and Transfer-Encoding together', 'Content-Length: 2\r\nTransfer-Encoding: chunked'],
        ['two different Content-Lengths', 'Content-Length: 2\r\nContent-Length: 3'],
    ]) {
        it(`${what} is 400 bad_framing and closes`, async () => {
            const { host } = new URL(gateway.base);
            const reply = await sendRaw(`POST /agui HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n0\r\n\r\n`);
            assert.match(reply, /^HTTP\/1\.1 400 /);
        });
    }

    it('leaves the server serving', async () => {
        model.script(key, [{ content: 'Still here.' }]);
        const run = await postRun(gateway, runInput({ threadId: 'good', messages: [user(`${key} hello`)] }));
        assert.equal(run.expectFinished().text, 'Still here.');
        assert.equal((await fetch(`${gateway.base}/healthz`)).status, 200);
        assert.equal((await fetch(`${gateway.base}/readyz`)).status, 200);
    });
});

describe('all of the above', () => {
    it('left only valid streams and valid requests to the model server', () => {
        finishRecordings();
        model.checkRequests();
    });
});
