// The calls and approvals of subagents, answered at another gateway on the same PostgreSQL after the first one was killed,
// and with the history at the client.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Agent, answer, background, clients, outline, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';
import { WeatherService } from './support/weather.mjs';

const script = fileURLToPath(new URL('../postgres.sh', import.meta.url));
const agents = [
    { id: 'default', models: ['main'], agents: ['researcher', 'careful'], tools: ['none'] },
    { id: 'researcher', models: ['main'], description: 'Looks things up.' },
    { id: 'careful', models: ['main'], approval: 'always' },
];
const granted = ({ id }) => [{ interruptId: id, status: 'resolved', payload: { approved: true } }];
const looks = { name: 'get_weather', arguments: '{"city":"Oslo"}', id: 'call_2' };
const paints = { name: background.name, arguments: '{"color":"blue"}', id: 'call_2' };

let model;
let weather;
let key;
let threadId;

before(async () => {
    model = await ModelServer.start();
    weather = await WeatherService.start();
});
after(async () => {
    await stopAll(weather, model);
    finishRecordings();
});
beforeEach((test) => {
    recordAs(test.name);
    key = `[${test.name}]`;
    threadId = randomUUID();
    weather.calls.length = 0;
});

const start = (session) => Gateway.start({ model, config: { session, tools: { webhook: [{ ...weather.tool }] }, agents } });
const task = () => `inner ${key}`;
const delegates = (agent) => ({ name: agent, arguments: JSON.stringify({ task: task() }), id: 'call_1' });
const input = (more) => runInput({ threadId, protocolVersion: '1.1', messages: [], ...more });

/// The scripts of an agent whose subagent calls a tool.
function scripts(agent, call) {
    model.script(key, [{ toolCalls: [delegates(agent)] }, { content: 'All done.' }]);
    model.script(task(), [{ toolCalls: [call] }, { content: 'Inner done.' }]);
}

function expectTold(result) {
    assert.equal(outline(model.requests(task()).at(-1).conversation).at(-1), `tool call_2: ${result}`);
    assert.equal(outline(model.requests(key).at(-1).conversation).at(-1), 'tool call_1: Inner done.');
}

describe('subagents with two gateways on one PostgreSQL', () => {
    let folder;
    let gateways;

    beforeEach(async () => {
        folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-e2e-pg-'));
        fs.rmdirSync(folder); // postgres.sh makes it, for the user of the server.
        const store = execFileSync('bash', [script, 'start', folder], { encoding: 'utf8' }).trim();
        gateways = await Promise.all([start({ store }), start({ store })]);
    });
    afterEach(async () => {
        await stopAll(gateways[1]);
        execFileSync('bash', [script, 'stop', folder]);
    });

    for (const client of clients) {
        it(`have a call of theirs answered at the other one by client ${client.name}`, async () => {
            scripts('researcher', paints);
            const agent = new Agent(client, gateways[0], { threadId });
            agent.add(user(key));
            (await agent.run({ tools: [background] })).expectFinished();
            await gateways[0].end('SIGKILL');
            fs.rmSync(gateways[0].folder, { recursive: true });

            agent.agent.url = gateways[1].url;
            agent.add(answer('call_2', 'painted'));
            const answered = (await agent.run({ tools: [background] })).expectFinished();

            assert.deepEqual(answered.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), ['call_1']);
            expectTold('painted');
            const before = structuredClone(agent.messages);
            agent.agent.url = `${gateways[1].url}/history`;
            await agent.run();
            assert.deepEqual(agent.messages, before, 'the snapshot changes nothing');
        });
    }

    it('have an approval of theirs answered at the other one, once', async () => {
        scripts('careful', looks);
        const asked = (await postRun(gateways[0], input({ messages: [user(key)] }))).expectFinished();
        const [interrupt] = asked.last.outcome.interrupts;
        assert.equal(interrupt.subagentRunId, 'call_1:agent');
        await gateways[0].end('SIGKILL');
        fs.rmSync(gateways[0].folder, { recursive: true });
        const shown = await postRun({ url: `${gateways[1].url}/history` }, input());
        assert.deepEqual(shown.last.outcome.interrupts, [interrupt]);

        const resume = granted(interrupt);
        const answered = (await postRun(gateways[1], input({ resume }))).expectFinished();
        const repeated = (await postRun(gateways[1], input({ resume }))).expectFinished();

        assert.deepEqual(answered.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), ['call_2', 'call_1']);
        assert.equal(answered.text, 'Inner done.All done.');
        assert.equal(repeated.of('TOOL_CALL_RESULT').length, 0);
        assert.equal(weather.calls.length, 1);
    });
});

describe('subagents with the history at the client', () => {
    let gateway;

    before(async () => {
        gateway = await start({ history: 'client' });
    });
    after(() => stopAll(gateway));

    for (const client of clients) {
        it(`hand a call to client ${client.name} and go on`, async () => {
            scripts('researcher', paints);
            const agent = new Agent(client, gateway, { threadId });
            agent.add(user(key));
            (await agent.run({ tools: [background] })).expectFinished();

            agent.add(answer('call_2', 'painted'));
            const answered = (await agent.run({ tools: [background] })).expectFinished();

            assert.equal(answered.text.endsWith('All done.'), true, answered.text);
            expectTold('painted');
        });
    }

    it('ask for an approval and go on', async () => {
        scripts('careful', looks);
        const agent = new Agent(clients.at(-1), gateway, { threadId });
        agent.add(user(key));
        const asked = (await agent.run()).expectFinished();
        const [interrupt] = asked.last.outcome.interrupts;

        const answered = (await agent.run({ resume: granted(interrupt) })).expectFinished();

        assert.equal(answered.text, 'Inner done.All done.');
        assert.equal(weather.calls.length, 1);
    });
});

it('the histories of these requests were valid', () => model.checkRequests());
