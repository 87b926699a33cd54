// Agents that an agent calls as tools, with the official clients, across restarts, and on a protobuf stream.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Agent, answer, background, cancel, clients, eventsOf, outline, post, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll, withoutFailpoints } from './support/gateway.mjs';
import { gate, ModelServer } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';
import { WeatherService } from './support/weather.mjs';

describe('subagents', () => {
    let model;
    let weather;
    let gateway;
    let key;
    let threadId;

    before(async () => {
        model = await ModelServer.start();
        weather = await WeatherService.start();
        const webhook = { ...weather.tool };
        const agent = (id, more) => ({ id, models: ['main'], instructions: `You are the ${id}.`, ...more });
        gateway = await Gateway.start({
            model,
            config: {
                tools: { webhook: [webhook] },
                agents: [
                    agent('default', { agents: ['researcher', 'careful'], tools: ['none'] }),
                    agent('researcher', { description: 'Looks things up.', agents: ['reader'] }),
                    agent('reader', { tools: ['none'] }),
                    agent('careful', { approval: 'always' }),
                ],
            },
        });
    });
    after(async () => {
        await stopAll(gateway, weather, model);
        finishRecordings();
    });
    beforeEach((test) => {
        recordAs(test.name);
        key = `[${test.name}]`;
        threadId = randomUUID();
        weather.calls.length = 0;
    });

    // The task begins with a key of its own, so that the subagent has its own script.
    const task = (name = 'inner') => `${name} ${key}`;
    const delegates = (id, agent = 'researcher', name = 'inner') =>
        ({ name: agent, arguments: JSON.stringify({ task: task(name) }), id });
    const looks = (id, city = 'Oslo') => ({ name: 'get_weather', arguments: JSON.stringify({ city }), id });
    const paints = (id) => ({ name: background.name, arguments: '{"color":"blue"}', id });
    const route = async (path) => (await fetch(`${gateway.url}/threads/${threadId}/${path}`)).json();
    const named = ({ id, role, subagentRunId }) => ({ id, role, ...(subagentRunId && { subagentRunId }) });
    const first = (more) => runInput({ threadId, protocolVersion: '1.1', messages: [user(key, 'u1')], ...more });
    const later = (more) => runInput({ threadId, protocolVersion: '1.1', messages: [], ...more });

    for (const client of clients) {
        it(`work inside a run of client ${client.name}, whose messages are then those of the history`, async () => {
            model.script(key, [{ toolCalls: [delegates('call_1')] }, { content: 'It is clear.' }]);
            model.script(task(), [{ toolCalls: [looks('call_1')] }, { content: 'Clear in Oslo.' }]);
            const agent = new Agent(client, gateway, { threadId });
            agent.add(user(key));

            const run = (await agent.run()).expectFinished();

            const starts = run.of('SUBAGENT_STARTED');
            assert.equal(starts.length, client.versioned ? 1 : 0);
            assert.equal(run.of('SUBAGENT_FINISHED').length, starts.length);
            if (client.versioned) {
                assert.equal(starts[0].name, 'researcher');
                assert.equal(starts[0].parentToolCallId, 'call_1');
                assert.equal(run.of('SUBAGENT_FINISHED')[0].result, 'Clear in Oslo.');
                const inner = run.events.filter((event) => event.subagentRunId === 'call_1:agent');
                assert.ok(inner.some((event) => event.type === 'TEXT_MESSAGE_CONTENT'));
                assert.ok(inner.some((event) => event.type === 'TOOL_CALL_RESULT'));
            }
            const result = run.of('TOOL_CALL_RESULT').at(-1);
            assert.deepEqual([result.toolCallId, result.content], ['call_1', 'Clear in Oslo.']);
            assert.deepEqual(outline((await model.request(task(), 1)).conversation), [`user: ${task()}`]);
            assert.equal((await model.request(key, 2)).conversation.length, 3);
            const stored = (await route('messages')).messages;
            const tag = client.versioned ? named : ({ id, role }) => ({ id, role });
            assert.deepEqual(agent.messages.map(tag), stored.map(tag));
            const before = structuredClone(agent.messages);
            agent.agent.url = `${gateway.url}/history`;
            await agent.run();
            assert.deepEqual(agent.messages, before, 'the snapshot changes nothing');
        });
    }

    it('work side by side in lanes of their own', async () => {
        model.script(key, [{ toolCalls: [delegates('call_1', 'researcher', 'one'), delegates('call_2', 'researcher', 'two')] },
            { content: 'Both.' }]);
        const { open, opened } = gate();
        model.script(task('one'), [{ content: 'The answer of the first.', pauseAfter: 3, resume: opened }]);
        model.script(task('two'), [{ toolCalls: [delegates('call_1', 'reader', 'three')] }, { content: 'The second.' }]);
        model.script(task('three'), [{ content: 'The third.' }]);
        const response = await post(gateway.url, first());
        const events = [];

        for await (const event of eventsOf(response)) {
            events.push(event);
            if (event.type === 'SUBAGENT_FINISHED' && event.subagentRunId === 'call_2:agent') open();
        }

        assert.equal(events.at(-1).type, 'RUN_FINISHED');
        const nested = events.find((event) => event.parentSubagentRunId === 'call_2:agent');
        assert.equal(nested.name, 'reader');
        const texts = {};
        for (const { subagentRunId = '', delta } of events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT')) {
            texts[subagentRunId] = (texts[subagentRunId] ?? '') + delta;
        }
        assert.deepEqual(texts, {
            'call_1:agent': 'The answer of the first.', 'call_2:agent': 'The second.',
            [nested.subagentRunId]: 'The third.', '': 'Both.',
        });
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(2),
            ['tool call_1: The answer of the first.', 'tool call_2: The second.']);
    });

    for (const client of clients) {
        it(`hand calls to the page of client ${client.name}, and go on after a restart`, async () => {
            model.script(key, [{ toolCalls: [delegates('call_1')] }, { content: 'Blue now.' }]);
            model.script(task(), [{ toolCalls: [paints('call_2')] }, { content: 'Painted.' }]);
            const agent = new Agent(client, gateway, { threadId });
            agent.add(user(key));
            const asked = (await agent.run({ tools: [background] })).expectFinished();
            if (client.versioned) {
                assert.deepEqual(asked.last.outcome.pendingToolCallIds, ['call_2']);
                assert.deepEqual(asked.of('SUBAGENT_FINISHED')[0].outcome, { type: 'suspended' });
            }
            assert.equal(asked.of('TOOL_CALL_RESULT').length, 0);
            await gateway.end('SIGTERM');
            await gateway.launch();
            agent.agent.url = gateway.url;

            agent.add(answer('call_2', 'painted'));
            const answered = (await agent.run({ tools: [background] })).expectFinished();

            assert.deepEqual(answered.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), ['call_1']);
            if (client.versioned) {
                assert.equal(answered.of('SUBAGENT_STARTED')[0].subagentRunId, asked.of('SUBAGENT_STARTED')[0].subagentRunId);
            }
            assert.equal(outline((await model.request(task(), 2)).conversation).at(-1), 'tool call_2: painted');
            assert.equal(outline((await model.request(key, 2)).conversation).at(-1), 'tool call_1: Painted.');
            const stored = (await route('messages')).messages.map(({ id, role }) => ({ id, role }));
            assert.deepEqual(agent.messages.map(({ id, role }) => ({ id, role })), stored);
        });
    }

    it('ask for approvals, which are answered after a killed process', async () => {
        model.script(key, [{ toolCalls: [delegates('call_1', 'careful')] }, { content: 'Clear.' }]);
        model.script(task(), [{ toolCalls: [looks('call_2')] }, { content: 'Clear in Oslo.' }]);
        const asked = (await postRun(gateway, first())).expectFinished();
        const [interrupt] = asked.last.outcome.interrupts;
        assert.equal(interrupt.subagentRunId, 'call_1:agent');
        assert.deepEqual(asked.of('SUBAGENT_FINISHED')[0].outcome, { type: 'suspended', interruptIds: [interrupt.id] });
        await gateway.end('SIGKILL');
        await gateway.launch();
        const again = await postRun({ url: `${gateway.url}/history` }, later());
        assert.deepEqual(again.last.outcome.interrupts, [interrupt]);

        const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }];
        const answered = (await postRun(gateway, later({ resume }))).expectFinished();

        assert.equal(answered.types[1], 'MESSAGES_SNAPSHOT');
        assert.deepEqual(answered.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), ['call_2', 'call_1']);
        assert.equal(answered.text, 'Clear in Oslo.Clear.');
        assert.equal(weather.calls.length, 1);
        const repeated = (await postRun(gateway, later({ resume }))).expectFinished();
        assert.equal(repeated.of('TOOL_CALL_RESULT').length, 0);
        assert.equal(weather.calls.length, 1);
    });

    it('that are denied what they asked for tell their agent', async () => {
        model.script(key, [{ toolCalls: [delegates('call_1', 'careful')] }, { content: 'Well.' }]);
        model.script(task(), [{ toolCalls: [looks('call_2')] }, { content: 'I may not.' }]);
        const asked = (await postRun(gateway, first())).expectFinished();
        const [interrupt] = asked.last.outcome.interrupts;

        const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: false } }];
        const denied = (await postRun(gateway, later({ resume }))).expectFinished();

        assert.equal(weather.calls.length, 0);
        assert.equal(denied.text, 'I may not.Well.');
        assert.equal(outline((await model.request(key, 2)).conversation).at(-1), 'tool call_1: I may not.');
    });

    it('end with a run that is stopped', async () => {
        model.script(key, [{ toolCalls: [delegates('call_1')] }]);
        const { open, opened } = gate();
        model.script(task(), [{ content: 'This will not be finished.', pauseAfter: 3, resume: opened }]);
        const body = first();
        const response = await post(gateway.url, body);
        const events = [];

        for await (const event of eventsOf(response)) {
            events.push(event);
            if (event.type === 'TEXT_MESSAGE_CONTENT') assert.equal((await cancel(gateway, threadId)).cancelled, true);
        }

        assert.deepEqual(events.at(-1).outcome, { type: 'cancelled' });
        const [failed] = events.filter((event) => event.type === 'SUBAGENT_ERROR');
        assert.equal(failed.code, 'user_stop');
        await (await model.request(task(), 1)).closed;
        open();
    });

    it('that are lost in a crash leave an error result', async () => {
        model.script(key, [{ toolCalls: [delegates('call_1')] }, { content: 'Once more.' }]);
        const { open, opened } = gate();
        model.script(task(), [{ content: 'This will not be finished.', pauseAfter: 3, resume: opened }]);
        const body = first();
        const response = await post(gateway.url, body);
        const seen = [];
        try {
            for await (const event of eventsOf(response)) {
                seen.push(event);
                if (event.type === 'TEXT_MESSAGE_CONTENT') await gateway.end('SIGKILL');
            }
        } catch { /* The connection is lost. */ }
        open();
        await gateway.launch();

        const replay = await fetch(`${gateway.url}/threads/${threadId}/runs/${body.runId}/events?after=0&protocolVersion=1.1`);
        const events = [];
        for await (const event of eventsOf(replay)) events.push(event);
        assert.equal(events.at(-1).type, 'RUN_ERROR');
        assert.equal(events.filter((event) => event.type === 'SUBAGENT_ERROR').length, 1);
        const { messages } = await route('messages');
        assert.ok(messages.find((message) => message.role === 'tool' && message.toolCallId === 'call_1').error);
        const next = (await postRun(gateway, later({ messages: [user('And now?')] }))).expectFinished();
        assert.equal(next.text, 'Once more.');
    });

    // `goesOn`: the run has left the call to the page before the process was killed.
    const places = [
        { name: 'loop.tools_finished', when: 'has stored what the agent waits for', goesOn: false },
        { name: 'run.finish', when: 'is about to end', goesOn: false },
        { name: 'run.finish_stored', when: 'has stored its end', goesOn: true },
    ];
    for (const { name, when, goesOn } of places) {
        it(`wait for the page, or have failed, after a process that is killed when a run ${when}`, { skip: withoutFailpoints() }, async () => {
            model.script(key, [{ toolCalls: [delegates('call_1')] }, { content: 'Now.' }]);
            model.script(task(), [{ toolCalls: [paints('call_2')] }, ...(goesOn ? [{ content: 'Painted.' }] : [])]);
            await gateway.killAt(name, () => post(gateway.url, first({ tools: [background] })));

            const waits = (await route('pending')).toolCalls.map((call) => call.toolCallId);
            assert.deepEqual(waits, goesOn ? ['call_2'] : []);
            const messages = goesOn ? [answer('call_2', 'done')] : [user('And now?')];
            const next = (await postRun(gateway, later({ messages, tools: [background] }))).expectFinished();

            assert.equal(next.text, goesOn ? 'Painted.Now.' : 'Now.');
            const told = outline((await model.request(key, 2)).conversation);
            assert.match(told.find((line) => line.startsWith('tool')), goesOn ? /Painted/ : /whether it had any effect is unknown/);
        });
    }

    // `again`: the approval is asked for again, because the tool was certainly not started.
    for (const { name, again } of [{ name: 'loop.begun', again: true }, { name: 'loop.executing', again: false }]) {
        it(`have an approved call executed once at most if the process is killed at ${name}`, { skip: withoutFailpoints() }, async () => {
            model.script(key, [{ toolCalls: [delegates('call_1', 'careful')] }, { content: 'Now.' }]);
            model.script(task(), [{ toolCalls: [looks('call_2')] }, ...(again ? [{ content: 'Clear.' }] : [])]);
            const [interrupt] = (await postRun(gateway, first())).expectFinished().last.outcome.interrupts;
            const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }];
            await gateway.killAt(name, () => post(gateway.url, later({ resume })));

            assert.deepEqual((await route('pending')).interrupts, again ? [interrupt] : []);
            const next = again ? later({ resume }) : later({ messages: [user('And now?')] });
            const run = (await postRun(gateway, next)).expectFinished();

            assert.equal(run.text, again ? 'Clear.Now.' : 'Now.');
            assert.equal(weather.calls.length, again ? 1 : 0);
        });
    }

    it('are told by the capabilities', async () => {
        const { multiAgent } = await (await fetch(`${gateway.url}/capabilities`)).json();
        assert.deepEqual(multiAgent, {
            supported: true, delegation: true, handoffs: false,
            subagents: [{ name: 'researcher', description: 'Looks things up.' }, { name: 'careful' }],
        });
    });

    it('were asked for as valid histories', () => model.checkRequests());
});
