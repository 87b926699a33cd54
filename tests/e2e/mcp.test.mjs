// Tools of MCP servers that others wrote: the reference server and aimock's.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { MCPMock } from '@copilotkit/aimock';
import { cancel, post, eventsOf, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { EverythingServer, childrenOf, everything } from './support/mcp.mjs';
import { ModelServer } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

let model;
let gateway;
let key;
let describedAs = '';
let scripts = 0;

before(async () => {
    model = await ModelServer.start();
});
after(async () => {
    await stopAll(model);
    finishRecordings();
});
beforeEach((test) => {
    recordAs(`${describedAs} ${test.name}`);
    nextScript();
});

/// The model's script from here on: none begins like another one.
function nextScript() {
    key = `[script ${++scripts}]`;
}

function call(name, args = {}) {
    return { name, arguments: JSON.stringify(args), id: `call_${name}` };
}

function input(threadId = `mcp-${scripts}`) {
    return runInput({ threadId, messages: [user(`${key} begin`)] });
}

/// What one call of a tool gives, as the caller and the model see it.
async function resultOf(...toolCalls) {
    model.script(key, [{ toolCalls }, { content: 'Done.' }]);
    const run = (await postRun(gateway, input())).expectFinished();
    assert.equal(run.text, 'Done.');
    const results = run.of('TOOL_CALL_RESULT').map((event) => event.content);
    const seen = (await model.request(key, 2)).conversation.filter((message) => message.role === 'tool');
    assert.equal(seen.length, toolCalls.length);
    return results.length === 1 ? results[0] : results.sort();
}

/// The names of the tools that the model was offered, of one server.
async function offered(server) {
    model.script(key, [{ content: 'Hello.' }]);
    (await postRun(gateway, input())).expectFinished();
    const { body } = await model.request(key, 1);
    return (body.tools ?? []).map((tool) => tool.function).filter(({ name }) => name.startsWith(`mcp__${server}__`));
}

async function until(condition) {
    while (!(await condition())) await sleep(20);
}

/// What holds for the reference server, however it is reached.
function everythingTests(serverOf) {
    it('offers its tools with their schemas', async () => {
        const tools = await offered(serverOf());
        const echo = tools.find(({ name }) => name === `mcp__${serverOf()}__echo`);
        assert.equal(echo.parameters.properties.message.type, 'string');
        assert.ok(tools.length >= 10, JSON.stringify(tools.map(({ name }) => name)));
    });

    it('gives the result of a call', async () => {
        assert.equal(await resultOf(call(`mcp__${serverOf()}__echo`, { message: 'Grüße' })), 'Echo: Grüße');
    });

    it('gives an error of the tool', async () => {
        const args = { resourceType: 'Text', resourceId: -1 };
        assert.match(await resultOf(call(`mcp__${serverOf()}__get-resource-reference`, args)), /^Invalid resourceId: -1/);
    });

    it('checks arguments against the schema of the server', async () => {
        const result = await resultOf(call(`mcp__${serverOf()}__get-sum`, { a: 'one' }));
        assert.match(result, /do not fit the tool's schema/);
    });

    it('passes an image on to clients that take parts in results', async ({ name }) => {
        recordAs(name, ['AGUI504']); // The validator knows results of 1.0 only, which are texts.
        model.script(key, [{ toolCalls: [call(`mcp__${serverOf()}__get-tiny-image`)] }, { content: 'Done.' }]);
        const run = (await postRun(gateway, { ...input(), protocolVersion: '1.1' })).expectFinished();
        const [{ content }] = run.of('TOOL_CALL_RESULT');
        const image = content.find((part) => part.type === 'image');
        assert.equal(image.source.mimeType, 'image/png');
        assert.match(Buffer.from(image.source.value, 'base64').toString('latin1'), /^\x89PNG/);
    });

    it('names an image to clients that take texts only', async () => {
        assert.match(await resultOf(call(`mcp__${serverOf()}__get-tiny-image`)), /\[image image\/png\]/);
    });

    it('gives structured content as text', async () => {
        const result = await resultOf(call(`mcp__${serverOf()}__get-structured-content`, { location: 'Chicago' }));
        assert.equal(typeof JSON.parse(result).temperature, 'number');
    });

    it('waits for a call that makes progress', async () => {
        const slow = call(`mcp__${serverOf()}__trigger-long-running-operation`, { duration: 3, steps: 6 });
        assert.match(await resultOf(slow), /operation completed/);
    });

    it('ends a call that takes too long', async () => {
        const slow = call(`mcp__${serverOf()}__trigger-long-running-operation`, { duration: 5, steps: 1 });
        assert.equal(await resultOf(slow), 'The tool did not answer in time.');
        // The session goes on.
        nextScript();
        assert.equal(await resultOf(call(`mcp__${serverOf()}__echo`, { message: 'x' })), 'Echo: x');
    });

    it('is stopped in a call without waiting for it', async () => {
        const slow = call(`mcp__${serverOf()}__trigger-long-running-operation`, { duration: 60, steps: 60 });
        model.script(key, [{ toolCalls: [slow] }]);
        const body = input();
        const begun = Date.now();
        const types = [];
        for await (const event of eventsOf(await post(gateway.url, body))) {
            types.push(event.type);
            if (event.type === 'TOOL_CALL_END') await cancel(gateway, body.threadId, body.runId);
        }
        assert.ok(Date.now() - begun < 2000);
        assert.ok(types.includes('TOOL_CALL_RESULT'), types.join());
        nextScript();
        assert.equal(await resultOf(call(`mcp__${serverOf()}__echo`, { message: 'x' })), 'Echo: x');
    });

    it('makes calls side by side', async () => {
        const calls = ['a', 'b', 'c'].map((message) => ({
            ...call(`mcp__${serverOf()}__echo`, { message }),
            id: `call_${message}`,
        }));
        assert.deepEqual(await resultOf(...calls), ['Echo: a', 'Echo: b', 'Echo: c']);
    });
}

describe('the reference server over streamable HTTP', () => {
    let server;

    before(async () => {
        describedAs = 'http';
        server = await EverythingServer.start();
        gateway = await Gateway.start({
            model,
            config: { mcp_servers: [{ name: 'remote', url: server.url, timeout_seconds: 2 }] },
        });
    });
    after(() => stopAll(gateway, server));

    everythingTests(() => 'remote');

    it('gives an error when it is killed in a call, and works when it is back', async () => {
        const slow = call('mcp__remote__trigger-long-running-operation', { duration: 60, steps: 60 });
        model.script(key, [{ toolCalls: [slow] }, { content: 'Done.' }]);
        const body = input();
        const results = [];
        let last;
        for await (const event of eventsOf(await post(gateway.url, body))) {
            last = event.type;
            if (event.type === 'TOOL_CALL_RESULT') results.push(event.content);
            if (event.type === 'TOOL_CALL_END') setTimeout(() => server.kill(), 300);
        }
        assert.equal(last, 'RUN_FINISHED');
        assert.deepEqual(results, ['The connection to the tool was lost before its answer was complete.']);
        await until(() => /warning an MCP server is not available server=remote/.test(gateway.log));

        nextScript();
        await server.launch();
        assert.equal(await resultOf(call('mcp__remote__echo', { message: 'back' })), 'Echo: back');
    });

    it('begins a new session when the server was started again unseen', async () => {
        await server.kill();
        await server.launch();
        assert.equal(await resultOf(call('mcp__remote__echo', { message: 'again' })), 'Echo: again');
    });

    it('is told when the gateway ends', async () => {
        assert.equal((await gateway.end('SIGTERM')).code, 0);
        await until(() => server.log.includes('session termination'));
        await gateway.launch();
    });
});

describe('the reference server as a process', () => {
    before(async () => {
        describedAs = 'stdio';
        gateway = await Gateway.start({
            model,
            config: {
                server: { log_level: 'debug' },
                mcp_servers: [
                    {
                        name: 'local',
                        command: process.execPath,
                        args: [everything],
                        env_allow: ['AGUI_E2E_ALLOWED'],
                        timeout_seconds: 2,
                    },
                ],
            },
            env: { AGUI_E2E_ALLOWED: 'hunter2-allowed', AGUI_E2E_SECRET: 'hunter2-secret' },
        });
    });
    after(() => stopAll(gateway));

    const children = () => childrenOf(gateway.process.pid);

    everythingTests(() => 'local');

    it('sees only the environment that it may see', async () => {
        const result = await resultOf(call('mcp__local__get-env'));
        assert.match(result, /hunter2-allowed/);
        assert.doesNotMatch(result, /hunter2-secret/);
        assert.match(gateway.log, /debug an MCP server wrote to its standard error server=local/);
        assert.doesNotMatch(gateway.log, /hunter2/);
    });

    it('gives an error when it is killed in a call, and is started again', async () => {
        const slow = call('mcp__local__trigger-long-running-operation', { duration: 60, steps: 60 });
        model.script(key, [{ toolCalls: [slow] }, { content: 'Done.' }]);
        const results = [];
        const [child] = children();
        for await (const event of eventsOf(await post(gateway.url, input()))) {
            if (event.type === 'TOOL_CALL_RESULT') results.push(event.content);
            if (event.type === 'TOOL_CALL_END') setTimeout(() => process.kill(child, 'SIGKILL'), 300);
        }
        assert.deepEqual(results, ['The connection to the tool was lost before its answer was complete.']);

        nextScript();
        assert.equal(await resultOf(call('mcp__local__echo', { message: 'back' })), 'Echo: back');
        assert.notDeepEqual(children(), [child]);
    });

    it('ends with the gateway', async () => {
        const [child] = children();
        assert.equal((await gateway.end('SIGTERM')).code, 0);
        assert.throws(() => process.kill(child, 0));
        await gateway.launch();
    });
});

describe('servers of aimock', () => {
    let first;
    let second;

    before(async () => {
        describedAs = 'aimock';
        [first, second] = [new MCPMock(), new MCPMock()];
        for (const [server, name] of [[first, 'first'], [second, 'second']]) {
            server.addTool({ name: 'search', description: `of ${name}`, inputSchema: { type: 'object', properties: {} } });
            server.onToolCall('search', () => `from the ${name}`);
        }
        first.addTool({ name: 'break', inputSchema: { type: 'object' } });
        first.onToolCall('break', () => {
            throw new Error('it broke');
        });
        first.addTool({ name: 'no schema' });
        const servers = [['first', await first.start()], ['second', await second.start()]];
        gateway = await Gateway.start({
            model,
            config: {
                mcp_servers: [
                    ...servers.map(([name, url]) => ({ name, url })),
                    { name: 'gone', url: 'http://127.0.0.1:1/mcp' },
                ],
            },
        });
    });
    after(() => stopAll(gateway, first, second));

    it('may have tools of the same name', async () => {
        const results = await resultOf(call('mcp__first__search'), call('mcp__second__search'));
        assert.deepEqual(results, ['from the first', 'from the second']);
    });

    it('are offered with a name and a schema that model servers take', async () => {
        const tools = await offered('first');
        assert.deepEqual(tools.slice(0, 2).map(({ name }) => name), ['mcp__first__search', 'mcp__first__break']);
        assert.match(tools[2].name, /^mcp__first__no_schema_[a-z0-9]{8}$/);
        assert.equal(tools[2].parameters.type, 'object');
        assert.deepEqual(tools[2].parameters.properties, {});
    });

    it('pass an error on', async () => {
        assert.equal(await resultOf(call('mcp__first__break')), 'it broke');
    });

    it('begin a new session when they have forgotten the old one', async () => {
        first.getSessions().clear();
        assert.equal(await resultOf(call('mcp__first__search')), 'from the first');
    });

    it('are missed, but nothing depends on them', async () => {
        assert.match(gateway.log, /warning an MCP server is not available server=gone/);
    });
});

it('the model was asked as the scripts say', () => model.checkRequests());
