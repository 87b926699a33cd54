// Clients in other languages, each a small program of its own: a hand-off from the first request to the final text, and a
// message after it. tests/run.sh --all builds the programs and says where they are; without its variable a client is skipped.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { outline } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const python = (file) => path.join(here, 'python', file);
const { AGUI_GO_CLIENT, AGUI_RUST_CLIENT, AGUI_MICROSOFT_PYTHON, AGUI_PROTOCOL_PYTHON } = process.env;

/// Runs a client program to its end; resolves to the JSON that it prints.
async function carry(command, ...args) {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let complaints = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (complaints += chunk));
    const code = await new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', resolve);
    });
    assert.equal(code, 0, complaints.slice(-2000));
    return JSON.parse(output);
}

describe('clients in other languages', () => {
    let model;
    let gateway;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model });
    });
    after(() => stopAll(gateway, model));

    /// What the model says in every one of these tests.
    function script(key) {
        const call = { name: 'change_background', arguments: '{"color":"green"}', id: `call_${randomUUID().slice(0, 8)}` };
        model.script(key, [
            { blocks: [{ type: 'text', text: 'I make it green.' }, { type: 'toolCall', ...call }] },
            { content: 'It is green.' },
            { content: 'You are welcome.' },
        ]);
        return call;
    }

    const conversation = (key, call) => [
        `user: ${key}`,
        `assistant: I make it green. | change_background({"color":"green"})#${call.id}`,
        `tool ${call.id}: {"status":"ok"}`,
        'assistant: It is green.',
        'user: thanks',
    ];

    async function expectModelRequests(key, call) {
        const whole = conversation(key, call);
        for (const [index, length] of [1, 3, 5].entries()) {
            const seen = outline((await model.request(key, index + 1)).conversation);
            assert.deepEqual(seen, whole.slice(0, length), `model request ${index + 1}`);
        }
        assert.equal(model.requests(key).length, 3);
    }

    async function expectStored(threadId, key, call) {
        const response = await fetch(`${gateway.url}/threads/${threadId}/messages`);
        assert.equal(response.status, 200);
        const { messages } = await response.json();
        const text = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? '').join('') : content);
        const upstreamForm = messages.map((message) => ({
            role: message.role,
            content: text(message.content),
            tool_calls: message.toolCalls,
            tool_call_id: message.toolCallId,
        }));
        assert.deepEqual(outline(upstreamForm), [...conversation(key, call), 'assistant: You are welcome.']);
    }

    function expectTurns(turns, call) {
        assert.deepEqual(turns.map((turn) => turn.text), ['I make it green.', 'It is green.', 'You are welcome.']);
        assert.deepEqual(turns[0].calls, [{ id: call.id, name: 'change_background', args: '{"color":"green"}' }]);
        assert.deepEqual(turns.slice(1).flatMap((turn) => turn.calls ?? []), []);
    }

    const notBuilt = (variable) => `${variable} is not set: tests/run.sh --all sets it`;

    it('Go community SDK 20260630', { skip: !AGUI_GO_CLIENT && notBuilt('AGUI_GO_CLIENT') }, async (test) => {
        const key = `[${test.name}]`;
        const call = script(key);
        const threadId = randomUUID();

        const { turns } = await carry(AGUI_GO_CLIENT, gateway.url, threadId, key, 'thanks');

        expectTurns(turns, call);
        await expectModelRequests(key, call);
        await expectStored(threadId, key, call);
    });

    const noRust = { skip: !AGUI_RUST_CLIENT && notBuilt('AGUI_RUST_CLIENT') };

    it('Rust ag-ui-client 0.1.0, one thread, only what is new', noRust, async (test) => {
        const key = `[${test.name}]`;
        const call = script(key);
        const threadId = randomUUID();

        const { turns } = await carry(AGUI_RUST_CLIENT, gateway.url, threadId, key, 'thanks');

        expectTurns(turns, call);
        await expectModelRequests(key, call);
        await expectStored(threadId, key, call);
    });

    it('Rust ag-ui-client 0.1.0, run_agent: a new thread and the whole history each time', noRust, async (test) => {
        const key = `[${test.name}]`;
        const call = script(key);

        const { turns } = await carry(AGUI_RUST_CLIENT, gateway.url, '-', key, 'thanks');

        expectTurns(turns, call);
        assert.equal(new Set(turns.map((turn) => turn.threadId)).size, 3);
        await expectModelRequests(key, call);
        await expectStored(turns[2].threadId, key, call);
    });

    it('Microsoft agent-framework-ag-ui 1.7.0', {
        skip: !AGUI_MICROSOFT_PYTHON && notBuilt('AGUI_MICROSOFT_PYTHON'),
    }, async (test) => {
        const key = `[${test.name}]`;
        const call = script(key);
        const threadId = randomUUID();

        const said = await carry(AGUI_MICROSOFT_PYTHON, python('microsoft.py'), gateway.url, threadId, key, 'thanks');

        assert.deepEqual(said.painted, ['green']);
        assert.match(said.texts[0], /It is green\.$/);
        assert.equal(said.texts[1], 'You are welcome.');
        await expectModelRequests(key, call);
        await expectStored(threadId, key, call);
    });

    it('ag-ui-protocol 1.0.0, model_dump() in snake_case', {
        skip: !AGUI_PROTOCOL_PYTHON && notBuilt('AGUI_PROTOCOL_PYTHON'),
    }, async (test) => {
        const key = `[${test.name}]`;
        const call = script(key);
        const threadId = randomUUID();

        const { turns } = await carry(AGUI_PROTOCOL_PYTHON, python('protocol.py'), gateway.url, threadId, key, 'thanks');

        expectTurns(turns, call);
        await expectModelRequests(key, call);
        await expectStored(threadId, key, call);
        const [first] = (await model.request(key, 3)).conversation;
        assert.match(first.content[1].image_url.url, /^data:image\/png;base64,/);
    });

    it('left only valid requests to the model server', () => model.checkRequests());
});
