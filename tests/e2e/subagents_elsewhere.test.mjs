// The calls and approvals of subagents, answered at another gateway on the same PostgreSQL after the first one was killed,
// and with the history at the client.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, answer, background, clients, outline, user } from './support/client.mjs';
import { asks, gives, setStage } from './support/stage.mjs';

const agents = [
    { id: 'default', models: ['main'], agents: ['researcher', 'careful'], tools: ['none'] },
    { id: 'researcher', models: ['main'], description: 'Looks things up.' },
    { id: 'careful', models: ['main'], approval: 'always' },
];
const granted = (interrupt) => [gives(interrupt, { approved: true })];
const looks = asks('Oslo', 'call_2');
const paints = { name: background.name, arguments: '{"color":"blue"}', id: 'call_2' };

const config = (session) => (weather) => ({ session, tools: { webhook: [weather.tool] }, agents });
const taskOf = (stage) => `inner ${stage.key}`;

/// The scripts of an agent whose subagent calls a tool.
function script(stage, agent, call) {
    const delegates = { name: agent, arguments: JSON.stringify({ task: taskOf(stage) }), id: 'call_1' };
    stage.model.script(stage.key, [{ toolCalls: [delegates] }, { content: 'All done.' }]);
    stage.model.script(taskOf(stage), [{ toolCalls: [call] }, { content: 'Inner done.' }]);
}

function expectTold(stage, result) {
    const lastToldTo = (key) => outline(stage.model.requests(key).at(-1).conversation).at(-1);
    assert.equal(lastToldTo(taskOf(stage)), `tool call_2: ${result}`);
    assert.equal(lastToldTo(stage.key), 'tool call_1: Inner done.');
}

describe('subagents with two gateways on one PostgreSQL', () => {
    const stage = setStage({ config: config({}), count: 2 });

    for (const client of clients) {
        it(`have a call of theirs answered at the other one by client ${client.name}`, async () => {
            script(stage, 'researcher', paints);
            const agent = new Agent(client, stage.gateway, { threadId: stage.threadId });
            agent.add(user(stage.key));
            (await agent.run({ tools: [background] })).expectFinished();
            await stage.gateway.end('SIGKILL');

            agent.agent.url = stage.other.url;
            agent.add(answer('call_2', 'painted'));
            const answered = (await agent.run({ tools: [background] })).expectFinished();

            assert.deepEqual(answered.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), ['call_1']);
            expectTold(stage, 'painted');
            const before = structuredClone(agent.messages);
            agent.agent.url = `${stage.other.url}/history`;
            await agent.run();
            assert.deepEqual(agent.messages, before, 'the snapshot changes nothing');
        });
    }

    it('have an approval of theirs answered at the other one, once', async () => {
        script(stage, 'careful', looks);
        const asked = await stage.run({ protocolVersion: '1.1', messages: [user(stage.key)] });
        const [interrupt] = asked.expectFinished().last.outcome.interrupts;
        assert.equal(interrupt.subagentRunId, 'call_1:agent');
        await stage.gateway.end('SIGKILL');
        const shown = await stage.history(stage.other, { protocolVersion: '1.1' });
        assert.deepEqual(shown.last.outcome.interrupts, [interrupt]);

        const answers = { protocolVersion: '1.1', resume: granted(interrupt) };
        const answered = (await stage.run(answers, stage.other)).expectFinished();
        const repeated = (await stage.run(answers, stage.other)).expectFinished();

        assert.deepEqual(answered.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), ['call_2', 'call_1']);
        assert.equal(answered.text, 'Inner done.All done.');
        assert.equal(repeated.of('TOOL_CALL_RESULT').length, 0);
        assert.equal(stage.weather.calls.length, 1);
    });

    it('make exactly the requests of their scripts', () => stage.model.checkRequests());
});

describe('subagents with the history at the client', () => {
    const stage = setStage({ config: config({ history: 'client' }) });

    for (const client of clients) {
        it(`hand a call to client ${client.name} and go on`, async () => {
            script(stage, 'researcher', paints);
            const agent = new Agent(client, stage.gateway, { threadId: stage.threadId });
            agent.add(user(stage.key));
            (await agent.run({ tools: [background] })).expectFinished();

            agent.add(answer('call_2', 'painted'));
            const answered = (await agent.run({ tools: [background] })).expectFinished();

            assert.equal(answered.text.endsWith('All done.'), true, answered.text);
            expectTold(stage, 'painted');
        });
    }

    it('ask for an approval and go on', async () => {
        script(stage, 'careful', looks);
        const agent = new Agent(clients.at(-1), stage.gateway, { threadId: stage.threadId });
        agent.add(user(stage.key));
        const asked = (await agent.run()).expectFinished();
        const [interrupt] = asked.last.outcome.interrupts;

        const answered = (await agent.run({ resume: granted(interrupt) })).expectFinished();

        assert.equal(answered.text, 'Inner done.All done.');
        assert.equal(stage.weather.calls.length, 1);
    });

    it('make exactly the requests of their scripts', () => stage.model.checkRequests());
});
