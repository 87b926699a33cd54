// Stop, then a new message at once: the message may arrive before the gateway notices the hang-up, and is not refused. With
// CopilotKit's core, whose Stop is a dropped connection, with fetch, and with raw sockets; 200 times each. For the first two a
// relay makes sure that the message arrives first; with sockets either may be first.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { CopilotKitCore } from '@copilotkit/core';
import { HttpAgent } from 'ag-ui-client-0059';
import { post, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { LateHangUp } from './support/late_hang_up.mjs';
import { ModelServer, gate } from './support/model.mjs';

const times = 200;
const threads = 4;
const perThread = times / threads;

describe('Stop, then a new message at once', () => {
    let model;
    let gateway;
    const never = gate();

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model });
    });
    after(async () => {
        never.open();
        await stopAll(gateway, model);
    });

    /// The model stops in the middle of each answer but the last.
    function script(key) {
        const story = { content: 'A long story that nobody hears to its end.', pauseAfter: 2, resume: never.opened };
        model.script(key, [...Array.from({ length: perThread }, () => story), { content: 'The end.' }]);
    }

    /// What must hold after the messages of a thread: each was asked, in order, and the last one answered.
    async function expectAsked(threadId, key) {
        const response = await fetch(`${gateway.url}/threads/${threadId}/messages`);
        const { messages } = await response.json();
        const asked = messages.filter((message) => message.role === 'user').map((message) => message.content);
        assert.deepEqual(asked, Array.from({ length: perThread + 1 }, (_, index) => `${key} ${index}`));
        assert.equal(messages.at(-1).content, 'The end.');
        const exchanges = model.requests(key);
        assert.equal(exchanges.length, perThread + 1);
        await Promise.all(exchanges.slice(0, -1).map((exchange) => exchange.closed));
    }

    /// Does `converse(threadId, say, relay)` on some threads at the same time; `say(n)` is the n-th message.
    async function onEachThread(name, converse) {
        await Promise.all(Array.from({ length: threads }, async (_, number) => {
            const key = `[${name} ${number}]`;
            const threadId = randomUUID();
            script(key);
            const relay = await LateHangUp.start(gateway.base);
            try {
                await converse(threadId, (index) => user(`${key} ${index}`), relay);
            } finally {
                await relay.stop();
            }
            await expectAsked(threadId, key);
        }));
    }

    it(`CopilotKit's core 1.74.0, ${times} times`, async (test) => {
        const refused = [];
        await onEachThread(test.name, async (threadId, say, relay) => {
            const agent = new HttpAgent({ url: relay.url, threadId });
            const core = new CopilotKitCore({ agents__unsafe_dev_only: { default: agent } });
            core.subscribe({ onError: ({ error, code }) => refused.push(`${code}: ${error.message}`) });
            let heard = gate();
            agent.subscribe({ onTextMessageContentEvent: () => heard.open() });
            const runs = [];
            for (let index = 0; index <= perThread; ++index) {
                heard = gate();
                agent.addMessage(say(index));
                const run = core.runAgent({ agent });
                runs.push(run);
                await Promise.race([heard.opened, run]);
                // The client applies an event after its subscribers have seen it, and would overwrite a message added meanwhile.
                await new Promise(setImmediate);
                assert.deepEqual(refused, [], `message ${index}`);
                if (index < perThread) core.stopAgent({ agent });
            }
            await Promise.all(runs);
            assert.deepEqual(refused, []);
        });
    });

    it(`fetch, ${times} times`, async (test) => {
        await onEachThread(test.name, async (threadId, say, relay) => {
            for (let index = 0; index <= perThread; ++index) {
                const stop = new AbortController();
                const response = await post(relay.url, runInput({ threadId, messages: [say(index)] }), { signal: stop.signal });
                assert.equal(response.status, 200, `message ${index}: ${response.status === 200 || await response.text()}`);
                if (index === perThread) {
                    assert.match(await response.text(), /RUN_FINISHED/);
                    break;
                }
                let text = '';
                for await (const chunk of response.body) {
                    text += Buffer.from(chunk).toString();
                    if (text.includes('TEXT_MESSAGE_CONTENT')) break;
                }
                stop.abort();
            }
        });
    });

    /// POSTs over its own socket; resolves, with the socket still open, once the answer holds `awaited`.
    async function speak(input, awaited) {
        const { hostname, port, host, pathname } = new URL(gateway.url);
        const body = JSON.stringify(input);
        const socket = net.connect({ host: hostname, port: Number(port) });
        const lines = [`POST ${pathname} HTTP/1.1`, `Host: ${host}`, 'Content-Type: application/json',
            'Accept: text/event-stream', `Content-Length: ${Buffer.byteLength(body)}`, '', body];
        socket.write(lines.join('\r\n'));
        let text = '';
        await new Promise((resolve, reject) => {
            socket.on('error', reject);
            socket.on('close', () => reject(new Error(`closed: ${text}`)));
            socket.on('data', (chunk) => {
                text += chunk;
                if (text.includes(awaited)) resolve();
                else if (!text.startsWith('HTTP/1.1 200')) reject(new Error(text));
            });
        });
        socket.removeAllListeners('close');
        return socket;
    }

    for (const [name, hangUp] of [
        ['a socket that is closed', (socket) => socket.destroy()],
        ['a socket that is reset', (socket) => socket.resetAndDestroy()],
    ]) {
        it(`${name}, ${times} times`, async (test) => {
            await onEachThread(test.name, async (threadId, say) => {
                for (let index = 0; index <= perThread; ++index) {
                    const awaited = index < perThread ? 'TEXT_MESSAGE_CONTENT' : 'RUN_FINISHED';
                    const socket = await speak(runInput({ threadId, messages: [say(index)] }), awaited);
                    hangUp(socket);
                }
            });
        });
    }

    it('left only valid requests to the model server', () => model.checkRequests());
});
