// Approvals of server calls with the official clients, after a reload, after a killed process, and under one runId.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, clients, outline, post, runInput, user } from './support/client.mjs';
import { withoutFailpoints } from './support/gateway.mjs';
import { asks, gives, setStage } from './support/stage.mjs';
import { parseStream } from './support/streams.mjs';

const approves = (interrupt, payload = { approved: true }) => gives(interrupt, payload);

describe('approvals', () => {
    const stage = setStage({ config: (weather) => ({ tools: { webhook: [{ ...weather.tool, approval: 'always' }] } }) });

    /// One run that ends with the interrupt of one call.
    async function ask(city = 'Oslo') {
        const first = await stage.run({ messages: [user(stage.key, 'u1')] });
        const [interrupt] = first.expectFinished().last.outcome.interrupts;
        assert.deepEqual(interrupt.metadata.input, { city });
        assert.deepEqual((await stage.route('pending')).interrupts, [interrupt]);
        return { first, interrupt };
    }

    for (const client of clients) {
        it(`are answered by client ${client.name}, whose messages are then those of the history`, async () => {
            stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'It is clear.' }]);
            const agent = new Agent(client, stage.gateway, { threadId: stage.threadId });
            agent.add(user(stage.key));
            const asked = await agent.run();
            const { interrupts } = asked.expectFinished().last.outcome;
            assert.equal(interrupts.length, 1);
            assert.equal(stage.weather.calls.length, 0);

            const answered = await agent.run({ resume: [approves(interrupts[0])] });

            assert.deepEqual(agent.sent.at(-1).resume, [approves(interrupts[0])]);
            assert.equal(answered.expectFinished().text, 'It is clear.');
            assert.equal(stage.weather.calls.length, 1);
            const [result] = answered.of('TOOL_CALL_RESULT');
            assert.equal(result.toolCallId, 'call_1');
            const stored = (await stage.route('messages')).messages.map(({ id, role }) => ({ id, role }));
            assert.deepEqual(agent.messages.map(({ id, role }) => ({ id, role })), stored);
            if (client.versioned) assert.deepEqual(agent.agent.pendingInterrupts ?? [], []);
        });
    }

    it('that are denied tell the model why', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'As you wish.' }]);
        const { interrupt } = await ask();

        const resume = [approves(interrupt, { approved: false, reason: 'Not Oslo' })];
        const denied = await stage.run({ resume });

        assert.equal(denied.expectFinished().text, 'As you wish.');
        assert.equal(stage.weather.calls.length, 0);
        const told = outline((await stage.model.request(stage.key, 2)).conversation);
        assert.match(told.at(-1), /The call was not allowed: Not Oslo/);
    });

    it('may change the arguments', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'Clear in Bergen.' }]);
        const { interrupt } = await ask();
        const bad = [approves(interrupt, { approved: true, editedArgs: { town: 'Bergen' } })];
        (await stage.run({ resume: bad })).expectError('resume_rejected');

        const resume = [approves(interrupt, { approved: true, editedArgs: { city: 'Bergen' } })];
        (await stage.run({ resume })).expectFinished();

        assert.deepEqual(stage.weather.calls.map((each) => each.arguments), [{ city: 'Bergen' }]);
    });

    it('survive a killed process, and are answered under the runId of the interrupted run', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'It is clear.' }]);
        const { first, interrupt } = await ask();
        await stage.gateway.end('SIGKILL');
        await stage.gateway.launch();
        const history = await stage.history();
        assert.deepEqual(history.last.outcome.interrupts, [interrupt]);

        const body = { ...runInput({ threadId: stage.threadId, messages: [], resume: [approves(interrupt)] }), runId: first.runId };
        const response = await post(stage.gateway.url, body);
        const entries = parseStream(await response.text());

        assert.equal(entries.at(-1).event.type, 'RUN_FINISHED');
        assert.equal(entries[0].event.runId, first.runId);
        assert.equal(entries[0].seq, 1_000_000_001);
        const again = parseStream(await (await post(stage.gateway.url, body)).text());
        assert.deepEqual(again.map(({ event }) => event), entries.map(({ event }) => event));
        assert.equal(stage.weather.calls.length, 1);
    });

    it('of a call during which the process is killed are never executed again', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Limbo')] }, { content: 'Well.' }]);
        const { interrupt } = await ask('Limbo');
        const resume = [approves(interrupt)];
        const reached = stage.weather.nextInLimbo();
        const lost = post(stage.gateway.url, runInput({ threadId: stage.threadId, messages: [], resume }))
            .then((response) => response.text()).catch(() => '');
        await reached;
        await stage.gateway.end('SIGKILL');
        await lost;
        await stage.gateway.launch();

        assert.deepEqual((await stage.route('pending')).interrupts, []);
        const repeated = await stage.run({ resume });
        assert.equal(repeated.expectFinished().text, '');
        const next = await stage.run({ messages: [user('And now?')] });

        assert.equal(next.expectFinished().text, 'Well.');
        assert.equal(stage.weather.calls.length, 1);
        const told = outline((await stage.model.request(stage.key, 2)).conversation);
        assert.match(told.find((line) => line.startsWith('tool')), /whether it had any effect is unknown/);
    });

    // `executed`: how often the call is executed in all, after the same answer to whatever is then open. The answer's
    // run makes no other commit before it executes the call.
    const places = [
        { name: 'begin.planned', executed: 1 },
        { name: 'begin.stored', executed: 1 },
        { name: 'run.start', executed: 1 },
        { name: 'loop.begun', executed: 1 },
        { name: 'loop.approved', executed: 1 },
        { name: 'run.commit', executed: 1 },
        { name: 'run.committed', executed: 0 },
        { name: 'loop.executing', executed: 0 },
        { name: 'batch.starting', executed: 0 },
        { name: 'batch.finished', executed: 1 },
        { name: 'loop.tools_finished', executed: 1 },
        { name: 'loop.results_stored', executed: 1 },
        { name: 'run.finish', executed: 1 },
        { name: 'run.finish_stored', executed: 1 },
    ];
    for (const { name, executed } of places) {
        it(`are executed once at most if the process is killed at ${name}`, { skip: withoutFailpoints() }, async () => {
            stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, ...Array(4).fill({ content: 'Clear.' })]);
            const { interrupt } = await ask();
            const resume = [approves(interrupt)];
            await stage.gateway.killAt(name, () => post(stage.gateway.url, runInput({ threadId: stage.threadId, messages: [], resume })));

            const before = stage.weather.calls.length;
            const { interrupts } = await stage.route('pending');
            if (interrupts.length > 0) assert.deepEqual([interrupts, before], [[interrupt], 0]);
            for (let i = 0; i < 2; ++i) {
                const again = await stage.run({ resume });
                assert.equal(again.expectFinished().last.outcome?.type ?? 'success', 'success');
            }

            assert.equal(stage.weather.calls.length, executed);
            assert.deepEqual((await stage.route('pending')).interrupts, []);
            const results = await stage.results();
            assert.equal(results.length, 1);
            const isStored = ['loop.results_stored', 'run.finish', 'run.finish_stored'].includes(name);
            if (!isStored && interrupts.length === 0) assert.match(results[0].content, /effect is unknown/);
        });
    }
});
