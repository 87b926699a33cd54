// The client module of examples/chat-stream, without a gateway: bytes that the test feeds, and a server that answers
// as the test says.

import assert from 'node:assert/strict';
import http from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
    cancel, ChatStreamError, ConnectionLost, displayStatus, EventParser, MessageList, newId, pendingCalls, readAgain, send,
} from '../../examples/chat-stream/chat_stream.js';

const message = (index, type, value, status = 'generating') =>
    ({ type, value, timestamp: 1_795_487_448_084 + index, id: `m1-${index}`, status });

const frame = (messages, msgStatus = 'generating') => ({ sessionId: 's1', messageId: 'm1', msgStatus, messages });

const sse = (id, value) => `id: ${id}\ndata: ${JSON.stringify(value)}\n\n`;

function fold(responseMode, frames) {
    const list = new MessageList({ responseMode });
    for (const each of frames) list.take(each);
    return list;
}

describe('the event parser', () => {
    const pieces = (bytes, size) =>
        Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));

    function parse(text, size) {
        const parser = new EventParser();
        return pieces(new TextEncoder().encode(text), size).flatMap((piece) => parser.push(piece));
    }

    const expected = [{ id: '1', data: 'Grüße, 你好 🎨' }, { id: '', data: 'two\nlines' }, { id: '7', data: '' }];
    const stream = ': a comment\n\nid: 1\ndata: Grüße, 你好 🎨\n\ndata:two\n:another\ndata: lines\nunknown: field\n\nid:7\ndata\n\n';

    for (const [name, text] of [
        ['LF', stream], ['CRLF', stream.replaceAll('\n', '\r\n')], ['CR', stream.replaceAll('\n', '\r')],
    ]) {
        it(`reads lines that end in ${name}, cut anywhere`, () => {
            const length = new TextEncoder().encode(text).length;
            for (let size = 1; size <= length; ++size) assert.deepEqual(parse(text, size), expected, `pieces of ${size} bytes`);
        });
    }

    it('reports no event without the blank line that ends it, and no blank line without data', () => {
        assert.deepEqual(parse('id: 1\ndata: a\n', 3), []);
        assert.deepEqual(parse('\n\nid: 1\n\n: b\n\n', 3), []);
    });

    it('keeps a CR of one piece and an LF of the next together, also with an unfinished character between', () => {
        const parser = new EventParser();
        const push = (...bytes) => parser.push(Uint8Array.from(bytes));
        parser.push(new TextEncoder().encode('data: a\r'));
        assert.deepEqual(push(0x0a), []);
        assert.deepEqual(push(0x0d), [{ id: '', data: 'a' }]);
        assert.deepEqual(push(0x0a), []);
        parser.push(new TextEncoder().encode('data: '));
        assert.deepEqual(push(0xc3), []);
        assert.deepEqual(push(0xbc, 0x0d, 0x0d), [{ id: '', data: 'ü' }]);
    });
});

describe('the messages of an answer', () => {
    it('grow by what an incremental frame adds to a content', () => {
        const list = fold('incremental', [
            frame([]),
            frame([message(0, 'content', 'With')]),
            frame([message(0, 'content', ' pleasure')]),
            frame([message(0, 'content', '', 'generated')], 'finished'),
        ]);
        assert.deepEqual(list.messages, [message(0, 'content', 'With pleasure', 'generated')]);
        assert.equal(list.finished, true);
        assert.deepEqual([list.sessionId, list.messageId], ['s1', 'm1']);
    });

    it('are replaced by an incremental frame that says so', () => {
        const list = fold('incremental', [
            frame([message(0, 'content', 'It is ')]),
            frame([message(0, 'content', '1234')]),
            frame([{ ...message(0, 'content', 'It is [hidden]', 'generated'), replace: true }]),
            frame([message(0, 'content', '.', 'generated')], 'finished'),
        ]);
        assert.deepEqual(list.messages, [message(0, 'content', 'It is [hidden].', 'generated')]);
    });

    it('are replaced by an incremental frame if they are no contents', () => {
        const asked = { toolCallId: 'c1', toolName: 'paint' };
        const list = fold('incremental', [
            frame([message(0, 'thinking', 'Let me')]),
            frame([message(0, 'thinking', 'Let me see')]),
            frame([message(1, 'tool_call_request', asked)]),
            frame([message(1, 'tool_call_request', { ...asked, arguments: { color: 'blue' } }, 'generated')]),
        ]);
        assert.deepEqual(list.messages.map(({ value }) => value), ['Let me see', { ...asked, arguments: { color: 'blue' } }]);
        assert.deepEqual(list.messages.map(({ status }) => status), ['generating', 'generated']);
    });

    it('are replaced by a full frame', () => {
        const list = fold('full', [
            frame([message(0, 'content', 'With')]),
            frame([message(0, 'content', 'With pleasure')]),
            frame([message(0, 'content', 'With pleasure', 'generated'), message(1, 'thinking', 'Now')]),
        ]);
        assert.deepEqual(list.messages.map(({ value }) => value), ['With pleasure', 'Now']);
    });

    it('stay in the order of their indexes', () => {
        const list = fold('incremental', [
            frame([message(10, 'content', 'last')]),
            frame([message(9, 'content', 'middle'), message(0, 'content', 'first')]),
        ]);
        assert.deepEqual(list.messages.map(({ value }) => value), ['first', 'middle', 'last']);
    });

    it('do not change what a frame held', () => {
        const first = frame([message(0, 'content', 'a')]);
        fold('incremental', [first, frame([message(0, 'content', 'b')])]);
        assert.equal(first.messages[0].value, 'a');
    });

    it('have the display status loading, ready or completed', () => {
        assert.equal(displayStatus({ status: 'generating' }, 'generating'), 'loading');
        assert.equal(displayStatus({ status: 'generated' }, 'generating'), 'ready');
        assert.equal(displayStatus({ status: 'generated' }, 'finished'), 'completed');
    });
});

describe('the pending calls', () => {
    const call = (index, toolCallId, pending) => message(index, 'tool_call_request',
        { toolCallId, toolName: 'paint', arguments: {}, ...(pending && { pending }) }, 'generated');
    const calls = [call(0, 'c1', true), call(1, 'c2', false), call(2, 'c3', true)];

    it('are those that the last frame marks', () => {
        assert.deepEqual(pendingCalls(fold('full', [frame(calls, 'finished')])).map(({ toolCallId }) => toolCallId), ['c1', 'c3']);
    });
    it('are none before the end', () => {
        assert.deepEqual(pendingCalls(fold('full', [frame(calls)])), []);
    });
    it('are none after an error', () => {
        const failed = message(3, 'error', { code: 'model_timeout', message: 'No answer' }, 'generated');
        assert.deepEqual(pendingCalls(fold('full', [frame([...calls, failed], 'finished')])), []);
    });
    it('are none after a stop', () => {
        const list = fold('full', [{ ...frame(calls, 'finished'), stopReason: 'user_stop' }]);
        assert.equal(list.stopReason, 'user_stop');
        assert.deepEqual(pendingCalls(list), []);
    });
});

describe('ids', () => {
    it('are UUIDs, also where the browser makes none', () => {
        const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
        assert.match(newId(), uuid);
        Object.defineProperty(crypto, 'randomUUID', { value: undefined, configurable: true });
        try {
            assert.match(newId(), uuid);
        } finally {
            delete crypto.randomUUID; // What hid the prototype's.
        }
    });
});

describe('a request', () => {
    let server;
    let base;
    let requests;
    let replies; // One function per request: (response, request) => void.
    let waits;
    let received; // (count) => void: called with each piece that the client has received.

    before(async () => {
        server = http.createServer(async (request, response) => {
            let body = '';
            for await (const chunk of request) body += chunk;
            requests.push({ method: request.method, url: request.url, headers: request.headers, body: body && JSON.parse(body) });
            const reply = replies.shift();
            if (reply) reply(response);
            else response.writeHead(500).end();
        });
        await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
        base = `http://127.0.0.1:${server.address().port}/base/`;
    });
    after(() => {
        server.closeAllConnections();
        server.close();
    });
    beforeEach(() => {
        requests = [];
        replies = [];
        waits = [];
        received = () => {};
    });

    const options = (more) => ({
        base, wait: async (milliseconds) => waits.push(milliseconds), onBytes: (count) => received(count), ...more,
    });
    const asked = { sessionId: 's1', messageId: 'm1', message: 'Hello' };

    const begin = (response) => response.writeHead(200, { 'Content-Type': 'text/event-stream; charset=utf-8' });
    const whole = (...events) => (response) => begin(response).end(events.join(''));
    /// The connection is cut once the client has these events: those that are still on their way may get lost with it.
    const cutAfter = (...events) => (response) => {
        let left = Buffer.byteLength(events.join(''));
        received = (count) => {
            left -= count;
            if (left === 0) response.destroy();
        };
        begin(response).write(events.join(''));
    };
    const refuse = (status, error, headers = {}) => (response) => response
        .writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify({ error }));
    const cut = (response) => response.destroy();

    const first = sse(1, frame([]));
    const second = sse(3, frame([message(0, 'content', 'Grü')]));
    const third = sse(4, frame([message(0, 'content', 'ße')]));
    const last = sse(6, frame([message(0, 'content', '', 'generated')], 'finished'));
    const answer = [message(0, 'content', 'Grüße', 'generated')];

    it('is posted, and its frames are reported one by one', async () => {
        replies = [whole(first, second, third, last)];
        const seen = [];
        let bytes = 0;

        const list = await send(asked, options({
            onFrame: (_, { messages }, { id }) => seen.push([id, messages[0]?.value]),
            onBytes: (count) => { bytes += count; },
        }));

        assert.deepEqual(list.messages, answer);
        assert.deepEqual(seen, [['1', undefined], ['3', 'Grü'], ['4', 'Grüße'], ['6', 'Grüße']]);
        assert.equal(bytes, Buffer.byteLength(first + second + third + last));
        assert.deepEqual(requests.map(({ method, url, body }) => [method, url, body]), [['POST', '/base/chat/stream', asked]]);
        assert.equal(requests[0].headers.accept, 'text/event-stream');
    });

    it('gets ids of its own', async () => {
        replies = [cut, whole(last)];
        await send({ message: 'Hello' }, options());
        assert.deepEqual(requests[0].body, requests[1].body);
        assert.match(requests[0].body.sessionId, /^[0-9a-f-]{36}$/);
        assert.match(requests[0].body.messageId, /^[0-9a-f-]{36}$/);
    });

    it('is read on after the last frame when the connection is cut', async () => {
        replies = [cutAfter(first, second), cut, cutAfter(third.slice(0, -1)), cutAfter(third), whole(last)];
        const retries = [];

        const list = await send(asked, options({ onRetry: (attempt) => retries.push(attempt) }));

        assert.deepEqual(list.messages, answer);
        const events = (after) => `/base/agui/threads/s1/runs/m1/events?form=chat-stream&responseMode=incremental&after=${after}`;
        assert.deepEqual(requests.map(({ method, url }) => `${method} ${url}`), ['POST /base/chat/stream',
            ...[3, 3, 3, 4].map((id) => `GET ${events(id)}`)]);
        assert.deepEqual(retries, [1, 2, 3, 1], 'a frame that arrives is a new beginning');
        assert.deepEqual(waits, [500, 1000, 2000, 500]);
    });

    it('is read on when the stream ends in the regular way before the answer does', async () => {
        replies = [whole(first, second), whole(third, last)];
        assert.deepEqual((await send({ ...asked, responseMode: 'full' }, options())).messages.length, 1);
        assert.match(requests[1].url, /responseMode=full&after=3$/);
    });

    it('is sent again if no frame has come', async () => {
        replies = [cut, cutAfter(': keep-alive\n\n'), whole(first, second, third, last)];
        assert.deepEqual((await send(asked, options())).messages, answer);
        assert.deepEqual(requests.map(({ method, body }) => [method, body]), Array(3).fill(['POST', asked]));
    });

    it('begins anew if the frames so far had no number', async () => {
        const unnumbered = second.slice(second.indexOf('data'));
        replies = [cutAfter(unnumbered), whole(first, second, third, last)];
        assert.deepEqual((await send(asked, options())).messages, answer);
        assert.deepEqual(requests.map(({ method }) => method), ['POST', 'POST']);
    });

    it('is complete with its last frame, whatever the connection does then', async () => {
        replies = [cutAfter(first, second, third, last)];
        assert.deepEqual((await send(asked, options())).messages, answer);
        assert.equal(requests.length, 1);
    });

    it('fails after so many attempts', async () => {
        replies = [cut, cut, cut];
        await assert.rejects(send(asked, options({ attempts: 2 })), ConnectionLost);
        assert.equal(requests.length, 3);
    });

    it('fails with the code of the gateway, at once', async () => {
        replies = [refuse(422, { code: 'invalid_input', message: 'must be a string', path: 'message' })];
        await assert.rejects(send(asked, options()), (error) => {
            assert.ok(error instanceof ChatStreamError);
            assert.deepEqual([error.code, error.message, error.path, error.status],
                ['invalid_input', 'must be a string', 'message', 422]);
            return true;
        });
        assert.equal(requests.length, 1);
    });

    it('fails with the code of the gateway when it is read on', async () => {
        replies = [cutAfter(first), refuse(410, { code: 'run_expired', message: 'gone' })];
        await assert.rejects(send(asked, options()), { code: 'run_expired', status: 410 });
    });

    it('is tried again when the gateway is busy, not before the time that it names', async () => {
        replies = [refuse(503, { code: 'overloaded', message: 'later' }, { 'Retry-After': '2' }), whole(second, third, last)];
        assert.deepEqual((await send(asked, options())).messages, answer);
        assert.deepEqual(waits, [2000]);
    });

    it('fails with what a proxy says that is no JSON, or no stream', async () => {
        replies = [(response) => response.writeHead(413).end('<html>'),
            (response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>')];
        await assert.rejects(send(asked, options()), { code: 'http_error', status: 413 });
        await assert.rejects(send(asked, options()), { code: 'not_a_stream' });
    });

    it('fails on something that is not a frame', async () => {
        replies = [whole('data: {"messages":\n\n'), whole('data: null\n\n')];
        await assert.rejects(send(asked, options()), { code: 'bad_frame' });
        await assert.rejects(send(asked, options()), { code: 'bad_frame' });
        assert.equal(requests.length, 2);
    });

    it('ends when its signal says so: while it is read', async () => {
        const leave = new AbortController();
        replies = [(response) => begin(response).write(first)];
        const reason = new Error('left');
        await assert.rejects(send(asked, options({ signal: leave.signal, onFrame: () => leave.abort(reason) })), reason);
        assert.equal(requests.length, 1);
    });

    it('ends when its signal says so: while it waits for another attempt', async () => {
        const leave = new AbortController();
        replies = [cut];
        const reason = new Error('left');
        await assert.rejects(send(asked, { base, signal: leave.signal, onRetry: () => leave.abort(reason) }), reason);
        assert.equal(requests.length, 1);
    });

    it('can be read again from its beginning', async () => {
        replies = [cutAfter(first, second), whole(third, last)];
        const list = await readAgain({ sessionId: 'a/b', messageId: 'm1', responseMode: 'incremental' }, options());
        assert.deepEqual(list.messages, answer);
        const events = '/base/agui/threads/a%2Fb/runs/m1/events?form=chat-stream&responseMode=incremental';
        assert.equal(requests[0].url, events);
        assert.match(requests[1].url, /after=3$/);
    });

    it('can be stopped', async () => {
        replies = [(response) => response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"cancelled":true}'),
            refuse(422, { code: 'invalid_input', message: 'no' })];
        assert.equal(await cancel(asked, { base, headers: { Authorization: 'Bearer x' } }), true);
        assert.deepEqual([requests[0].url, requests[0].body], ['/base/agui/cancel', { threadId: 's1', runId: 'm1' }]);
        assert.equal(requests[0].headers.authorization, 'Bearer x');
        await assert.rejects(cancel(asked, { base }), { code: 'invalid_input' });
    });
});
