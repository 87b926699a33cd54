// Conversations in each dialect, and tools of the server, with a real model server (llama.cpp). Runs with AGUI_REAL_MODEL=1.
// AGUI_KEEP_RAW names a folder for the requests to the model server and its raw answers in each dialect, of which fixtures are made.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent, answer, background, cancel, clients, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { everything } from './support/mcp.mjs';
import { ModelServer } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

const script = fileURLToPath(new URL('real-model.sh', import.meta.url));

function freePort() {
    return new Promise((resolve) => {
        const server = net.createServer().listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

/// llama-server as a child process.
class RealModel {
    static async start() {
        const model = new RealModel();
        const port = await freePort();
        model.url = `http://127.0.0.1:${port}`;
        model.process = spawn(script, ['run', String(port)], { stdio: ['ignore', 'ignore', 'pipe'] });
        model.ended = new Promise((resolve) => model.process.on('close', resolve));
        let log = '';
        model.process.stderr.on('data', (chunk) => (log = (log + chunk).slice(-4000)));
        // The server tells of its readiness only when asked.
        while (!(await model.healthy())) {
            const pause = new Promise((resolve) => setTimeout(resolve, 100, 'waiting'));
            assert.equal(await Promise.race([pause, model.ended]), 'waiting', `the model server did not start\n${log}`);
        }
        return model;
    }

    async healthy() {
        try {
            return (await fetch(`${this.url}/health`)).ok;
        } catch {
            return false;
        }
    }

    async busySlots() {
        const slots = await (await fetch(`${this.url}/slots`)).json();
        return slots.filter((slot) => slot.is_processing).length;
    }

    async stop() {
        this.process.kill('SIGTERM');
        await this.ended;
    }
}

/// Writes the request and the raw answer of each exchange into AGUI_KEEP_RAW.
function keepRaw(name, exchanges) {
    const folder = process.env.AGUI_KEEP_RAW;
    fs.mkdirSync(folder, { recursive: true });
    for (const [index, { body, raw, status }] of exchanges.entries()) {
        const file = path.join(folder, `${name.replaceAll(/[^A-Za-z0-9]+/g, '-').slice(0, 60)}-${index + 1}`);
        fs.writeFileSync(`${file}.request.json`, `${JSON.stringify(body, null, 2)}\n`);
        fs.writeFileSync(status === 200 ? `${file}.sse` : `${file}.${status}.json`, Buffer.concat(raw));
    }
}

const skip = process.env.AGUI_REAL_MODEL !== '1' && 'AGUI_REAL_MODEL=1 turns it on';

/// `forced` is the tool_choice that demands a call. `roles` are those of the conversation in a request.
const dialects = [
    {
        provider: 'openai', path: '/v1', forced: 'required',
        roles: ({ messages }) => messages.map(({ role }) => role),
    },
    {
        provider: 'anthropic', path: '', forced: 'any',
        roles: ({ messages }) => messages.flatMap(({ role, content }) => content.map(({ type }) => (type === 'tool_result' ? 'tool' : role))),
    },
    {
        provider: 'responses', path: '/v1', forced: 'required',
        roles: ({ input }) => input.map(({ type, role }) => ({ function_call: 'assistant', function_call_output: 'tool' })[type] ?? role),
    },
];

for (const { provider, path: basePath, forced, roles } of dialects) {
    describe(`a real model server by ${provider}`, { skip, timeout: 300_000 }, () => {
        let real;
        let model;
        let gateway;
        let agent;
        let kept = 0;

        before(async () => {
            real = await RealModel.start();
            model = await ModelServer.start({ upstream: real.url });
            gateway = await Gateway.start({
                model,
                config: {
                    model: {
                        provider, base_url: `${new URL(model.url).origin}${basePath}`, model: 'smollm2', temperature: 0,
                        max_output_tokens: 120, parallel_tool_calls: false,
                    },
                    // Offered without being forced, the tool would tempt so small a model to ramble about it.
                    agent: { overridable: ['tool_choice', 'max_output_tokens'], tool_list: 'exact', max_history_tokens: 4000 },
                },
            });
        });
        after(() => stopAll(gateway, model, real));
        beforeEach((test) => {
            recordAs(`real model ${provider} ${test.name}`);
            agent = new Agent(clients.at(-1), gateway);
        });
        afterEach((test) => {
            const exchanges = model.exchanges.slice(kept);
            kept = model.exchanges.length;
            if (process.env.AGUI_KEEP_RAW) keepRaw(`${provider} ${test.name}`, exchanges);
        });

        // By Messages, llama.cpp does not know disable_parallel_tool_use: this model makes calls until its limit cuts one.
        const endlessCalls = provider === 'anthropic';
        const called = ({ id, name, args }) => ({
            id: `a-${id}`, role: 'assistant', toolCalls: [{ id, type: 'function', function: { name, arguments: args } }],
        });

        const lastRequest = () => model.exchanges.at(-1).body;

        /// The roles in the last request, without system text; text and calls of one answer count once.
        const conversation = () => roles(lastRequest())
            .filter((role) => role !== 'system' && role !== 'developer')
            .filter((role, at, all) => role !== 'assistant' || all[at - 1] !== role);

        it('streams a text', async () => {
            agent.add(user('Say hello.'));

            const run = await agent.run();

            run.expectFinished();
            assert.ok(run.text.length > 0);
            assert.ok(run.of('TEXT_MESSAGE_CONTENT').length > 3, 'the text did not come token by token');
        });

        it('hands a call over, takes its answer, and goes on with a second turn', async () => {
            const required = { tools: [background], forwardedProps: { toolChoice: 'required' } };
            agent.add(user('Make the page green.'));

            const first = await agent.run(required);
            const { tool_choice: choice } = lastRequest();
            assert.equal(choice.type ?? choice, forced);
            assert.equal(first.calls[0].name, 'change_background');
            assert.equal(typeof JSON.parse(first.calls[0].args), 'object');
            let { calls } = first;
            if (endlessCalls) {
                first.expectError('model_output_truncated');
                calls = calls.slice(0, 1);
                agent = new Agent(clients.at(-1), gateway);
                agent.add(user('Make the page green.'), called(calls[0]));
            } else {
                first.expectFinished();
                assert.deepEqual(first.last.outcome, { type: 'success', pendingToolCallIds: calls.map((call) => call.id) });
            }

            agent.add(...calls.map((call) => answer(call.id, '{"status":"ok"}')));
            const second = (await agent.run({ tools: [] })).expectFinished();
            assert.ok(second.text.length > 0);
            assert.deepEqual(conversation(), ['user', 'assistant', ...calls.map(() => 'tool')]);

            agent.add(user('Thank you.'));
            const third = (await agent.run({ tools: [] })).expectFinished();
            assert.ok(third.text.length > 0);
            assert.deepEqual(conversation().slice(-2), ['assistant', 'user']);
        });

        it('frees the slot of the model server when a run is stopped in the middle', async (test) => {
            agent.add(user('Tell a very long story about a lighthouse keeper.'));
            let freed;
            let seen = 0;
            const stopAndWatch = async () => {
                assert.equal(await real.busySlots(), 1);
                const begin = performance.now();
                assert.deepEqual(await cancel(gateway, agent.threadId), { cancelled: true });
                const answered = performance.now() - begin;
                while ((await real.busySlots()) > 0);
                return { answered, freed: performance.now() - begin };
            };
            const run = await agent.run({
                forwardedProps: { max_output_tokens: 4000 },
                onEvent: (event) => {
                    if (event.type === 'TEXT_MESSAGE_CONTENT' && ++seen === 5) freed = stopAndWatch();
                },
            });
            run.expectFinished();
            assert.deepEqual(run.last.outcome, { type: 'cancelled' });
            const times = await freed;
            assert.ok(times.freed < 1000, `the slot was busy for ${times.freed} ms after the stop (P9: one second)`);
            test.diagnostic(`stop: answered after ${times.answered.toFixed(0)} ms, slot free after ${times.freed.toFixed(0)} ms`);
        });

        it('refuses a message that exceeds its context, and answers the next one without it', async () => {
            const first = runInput({ threadId: agent.threadId, messages: [user('word '.repeat(10_000))] });
            (await postRun(gateway, first)).expectError('model_rejected');
            assert.equal(model.exchanges.at(-1).status, 400);

            const next = runInput({ threadId: agent.threadId, messages: [user('Say hello.')] });
            assert.ok((await postRun(gateway, next)).expectFinished().text.length > 0);
            assert.deepEqual(conversation(), ['user']);
        });

        it('left only valid streams and valid requests to the model server', () => {
            finishRecordings();
            model.checkRequests();
        });
    });
}

describe('tools of the server with a real model server', { skip, timeout: 600_000 }, () => {
    let real;
    let model;
    let webhook;
    let gateway;
    const posted = [];

    before(async () => {
        real = await RealModel.start();
        model = await ModelServer.start({ upstream: real.url });
        webhook = http.createServer((request, response) => {
            posted.push(request.url);
            request.resume().on('end', () => response.end('{"temperature":21}'));
        });
        await new Promise((resolve) => webhook.listen(0, '127.0.0.1', resolve));
        // An agent for each kind: this model server takes no tool_choice that names a tool. The tools need no
        // arguments, which the model is too small for.
        const agent = (id, ...tools) => ({ id, models: ['main'], tools, max_rounds: 1 });
        gateway = await Gateway.start({
            embedding: true,
            model,
            config: {
                model: {
                    model: 'smollm2', temperature: 0, max_output_tokens: 120, parallel_tool_calls: false,
                    tool_choice: 'required', first_byte_seconds: 300, idle_seconds: 300,
                },
                agents: [agent('function', 'disk_space'), agent('webhook', 'get_temperature'), agent('mcp', 'mcp__any__get-env')],
                tools: {
                    webhook: [{
                        name: 'get_temperature',
                        description: 'The temperature outside.',
                        parameters: '{"type": "object", "properties": {}}',
                        url: `http://127.0.0.1:${webhook.address().port}/temperature`,
                    }],
                },
                mcp_servers: [{ name: 'any', command: process.execPath, args: [everything, 'stdio'] }],
            },
        });
    });
    after(() => stopAll(gateway, model, { stop: () => webhook?.close() }, real));
    beforeEach((test) => recordAs(`real model ${test.name}`));

    /// One run with the agent of a tool. The model must call it, and is then free to say what it likes.
    async function callOnce(agentId, name) {
        const first = model.exchanges.length;
        const input = runInput({ threadId: `real-${agentId}`, messages: [user('What is it now?')] });

        const run = await postRun({ url: `${gateway.url}/agents/${agentId}` }, input);
        // With some results the model wants one more call, which max_rounds forbids.
        if (run.last.type === 'RUN_ERROR') run.expectError('max_rounds_exceeded');
        else run.expectFinished();

        const [forced, free, ...more] = model.exchanges.slice(first).map((exchange) => exchange.body);
        assert.equal(forced.tool_choice, 'required');
        assert.deepEqual(forced.tools.map((tool) => tool.function.name), [name]);
        assert.equal(free.tool_choice, undefined, 'the second call of a turn is not forced');
        assert.equal(more.length, 0);
        assert.equal(run.calls[0].name, name);
        const results = run.of('TOOL_CALL_RESULT');
        assert.deepEqual(results.filter(({ content }) => content === results[0].content).map((result) => result.toolCallId),
            [run.calls[0].id]);
        const sent = model.exchanges.at(-1).conversation;
        assert.deepEqual(sent.map((message) => message.role), ['user', 'assistant', 'tool']);
        assert.equal(sent.at(-1).content, results[0].content);
        return results[0].content;
    }

    it('executes a C++ function', async () => {
        assert.match(await callOnce('function', 'disk_space'), /^\d+ GiB are free$/);
    });

    it('calls a webhook', async () => {
        assert.equal(await callOnce('webhook', 'get_temperature'), '{"temperature":21}');
        assert.deepEqual(posted, ['/temperature']);
    });

    it('calls a tool of an MCP server', async () => {
        assert.ok(JSON.parse(await callOnce('mcp', 'mcp__any__get-env')).PATH);
    });

    it('left only valid streams and valid requests to the model server', () => {
        finishRecordings();
        model.checkRequests();
    });
});
