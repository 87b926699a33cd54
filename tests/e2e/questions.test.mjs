// Server tools that ask a person for input, with the official clients, after restarts and killed processes.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Agent, clients, outline, post, runInput, user } from './support/client.mjs';
import { withoutFailpoints } from './support/gateway.mjs';
import { asks, cancels, gives as answers, setStage } from './support/stage.mjs';

const gives = (interrupt, payload = { unit: 'C' }) => answers(interrupt, payload);

for (const approval of ['never', 'always']) {
    describe(`questions of a tool, approval ${approval}`, () => {
        const stage = setStage({ config: (weather) => ({ tools: { webhook: [{ ...weather.tool, approval }] } }) });
        const run = (resume) => stage.run({ resume });

        /// One run, after the approval if one is needed, that ends with the first question.
        async function ask(city = 'Utopia') {
            stage.model.script(stage.key, [{ toolCalls: [asks(city)] }, ...Array(4).fill({ content: 'It is clear.' })]);
            let asked = await stage.run({ messages: [user(stage.key, 'u1')] });
            if (approval === 'always') {
                const [approves] = asked.expectFinished().last.outcome.interrupts;
                assert.equal(approves.metadata.kind, 'approval');
                asked = await run([gives(approves, { approved: true })]);
            }
            const [interrupt] = asked.expectFinished().last.outcome.interrupts;
            assert.deepEqual((await stage.route('pending')).interrupts, [interrupt]);
            assert.deepEqual(asked.of('TOOL_CALL_RESULT'), []);
            return { asked, interrupt };
        }

        for (const client of clients) {
            it(`are answered by client ${client.name}, whose messages are then those of the history`, async () => {
                stage.model.script(stage.key, [{ toolCalls: [asks('Utopia')] }, { content: 'It is clear.' }]);
                const agent = new Agent(client, stage.gateway, { threadId: stage.threadId });
                agent.add(user(stage.key));
                let [interrupt] = (await agent.run()).expectFinished().last.outcome.interrupts;
                if (approval === 'always') {
                    const approved = await agent.run({ resume: [gives(interrupt, { approved: true })] });
                    [interrupt] = approved.expectFinished().last.outcome.interrupts;
                }
                assert.equal(interrupt.message, 'Which unit?');

                const answered = await agent.run({ resume: [gives(interrupt)] });

                assert.equal(answered.expectFinished().text, 'It is clear.');
                assert.equal(answered.of('TOOL_CALL_RESULT')[0].toolCallId, 'call_1');
                assert.deepEqual(stage.weather.calls.map(({ inputs }) => inputs), [undefined, [{ unit: 'C' }]]);
                const stored = (await stage.route('messages')).messages.map(({ id, role }) => ({ id, role }));
                assert.deepEqual(agent.messages.map(({ id, role }) => ({ id, role })), stored);
            });
        }

        it('have the schema and metadata of the tool', async () => {
            const { interrupt } = await ask();
            assert.equal(interrupt.reason, 'input_required');
            assert.equal(interrupt.toolCallId, 'call_1');
            assert.deepEqual(interrupt.responseSchema, stage.weather.question.responseSchema);
            assert.deepEqual(interrupt.metadata, { title: 'Unit', kind: 'input', toolName: 'get_weather' });
            const [shown] = (await stage.route('messages')).messages.flatMap(({ metadata }) => metadata?.custom?.agui?.interrupts ?? []);
            assert.deepEqual(shown, interrupt);
        });

        it('refuse an answer that does not fit, and take another one', async () => {
            const { interrupt } = await ask();
            for (const wrong of [{}, { unit: 'K' }, null, 1]) {
                (await run([gives(interrupt, wrong)])).expectError('resume_rejected');
            }
            (await run([gives(interrupt), gives(interrupt)])).expectError('resume_rejected');
            assert.deepEqual((await stage.route('pending')).interrupts, [interrupt]);
            assert.equal(stage.weather.calls.length, 1);
            assert.deepEqual((await run([])).expectFinished().last.outcome.interrupts, [interrupt]);

            assert.equal((await run([gives(interrupt)])).expectFinished().text, 'It is clear.');

            assert.equal((await run([gives(interrupt)])).expectFinished().text, '');
            (await run([gives(interrupt, { unit: 'F' })])).expectError('resume_rejected');
            assert.equal(stage.weather.calls.length, 2);
        });

        it('may be cancelled', async () => {
            const { interrupt } = await ask();
            assert.equal((await run([cancels(interrupt)])).expectFinished().text, 'It is clear.');
            assert.equal(stage.weather.calls.length, 1);
            const told = outline((await stage.model.request(stage.key, 2)).conversation);
            assert.match(told.at(-1), /The input that the tool asked for was not given/);
        });

        it('may follow each other, and an old answer answers no later one', async () => {
            const { interrupt: first } = await ask('Utopia twice');
            const [second] = (await run([gives(first)])).expectFinished().last.outcome.interrupts;
            assert.notEqual(second.id, first.id);
            assert.deepEqual((await run([gives(first)])).expectFinished().last.outcome.interrupts, [second]);
            (await run([gives(first, { unit: 'F' })])).expectError('resume_rejected');

            assert.equal((await run([gives(second, { unit: 'F' })])).expectFinished().text, 'It is clear.');

            assert.deepEqual(stage.weather.calls.at(-1).inputs, [{ unit: 'C' }, { unit: 'F' }]);
        });

        it('keep a message that comes instead of the answer', async () => {
            const { interrupt } = await ask();
            const waits = await stage.run({ messages: [user('And now?', 'u2')] });
            assert.deepEqual(waits.expectFinished().last.outcome.interrupts, [interrupt]);
            (await run([gives(interrupt)])).expectFinished();
            assert.match(outline((await stage.model.request(stage.key, 2)).conversation).at(-1), /And now/);
        });

        it('survive a killed process', async () => {
            const { interrupt } = await ask();
            await stage.gateway.end('SIGKILL');
            await stage.gateway.launch();
            const history = await stage.history();
            assert.deepEqual(history.last.outcome.interrupts, [interrupt]);
            assert.equal((await run([gives(interrupt)])).expectFinished().text, 'It is clear.');
            assert.deepEqual(stage.weather.calls.at(-1).inputs, [{ unit: 'C' }]);
        });

        // `executed`: how often the tool is called with the answer in all, after the same answer to whatever is then
        // open.
        const places = [
            { name: 'begin.planned', executed: 1 },
            { name: 'begin.stored', executed: 1 },
            { name: 'loop.begun', executed: 1 },
            { name: 'loop.approved', executed: 1 },
            { name: 'loop.executing', executed: 0 },
            { name: 'batch.finished', executed: 1 },
            { name: 'loop.tools_finished', executed: 1 },
            { name: 'loop.results_stored', executed: 1 },
            { name: 'run.finish', executed: 1 },
            { name: 'run.finish_stored', executed: 1 },
        ];
        for (const { name, executed } of places) {
            it(`are answered once at most if the process is killed at ${name}`, { skip: withoutFailpoints() }, async () => {
                const { interrupt } = await ask();
                const resume = [gives(interrupt)];
                await stage.gateway.killAt(name, () => post(stage.gateway.url, runInput({ threadId: stage.threadId, messages: [], resume })));

                const { interrupts } = await stage.route('pending');
                if (interrupts.length > 0) assert.deepEqual(interrupts, [interrupt]);
                for (let i = 0; i < 2; ++i) (await run(resume)).expectFinished();

                assert.equal(stage.weather.calls.filter(({ inputs }) => inputs).length, executed);
                assert.deepEqual((await stage.route('pending')).interrupts, []);
                assert.equal((await stage.results()).length, 1);
            });
        }

        it('are lost as a whole if the process is killed before they are stored', { skip: withoutFailpoints() }, async () => {
            const { interrupt: first } = await ask('Utopia twice');
            const resume = [gives(first)];
            await stage.gateway.killAt('loop.tools_finished', () => post(stage.gateway.url, runInput({ threadId: stage.threadId, messages: [], resume })));

            assert.deepEqual((await stage.route('pending')).interrupts, []);
            const [lost] = await stage.results();
            assert.match(lost.content, /effect is unknown/);
        });
    });
}

describe('interrupts for older clients', () => {
    const stage = setStage({
        config: (weather) => ({
            agent: { legacy_interrupts: true },
            tools: { webhook: [{ ...weather.tool, approval: 'always' }] },
        }),
    });

    const run = (command, more) =>
        stage.run({ messages: [user(stage.key, 'u1')], forwardedProps: { command }, ...more });
    const shown = (ended) => {
        ended.expectFinished();
        const events = ended.of('CUSTOM').filter(({ name }) => name === 'on_interrupt');
        assert.equal(events.length, 1);
        assert.equal(ended.last.outcome, undefined);
        return events[0].value;
    };

    it('are answered one by one, and an old answer answers no later one', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Utopia')] }, { content: 'It is clear.' }]);
        const approval = shown(await run());
        assert.equal(JSON.parse(approval).metadata.kind, 'approval');
        const yes = { resume: '{"approved":true}', interruptEvent: approval };
        const question = shown(await run(yes));
        assert.equal(JSON.parse(question).message, 'Which unit?');
        assert.equal(shown(await run(yes)), question);
        (await run({ resume: { approved: false }, interruptEvent: approval })).expectError('resume_rejected');

        const ended = await run({ resume: { unit: 'C' } });

        assert.equal(ended.expectFinished().text, 'It is clear.');
        assert.deepEqual(ended.of('CUSTOM').filter(({ name }) => name === 'on_interrupt'), []);
        assert.deepEqual(stage.weather.calls.map(({ inputs }) => inputs), [undefined, [{ unit: 'C' }]]);
    });

    it('are shown by the history', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'It is clear.' }]);
        const asked = shown(await run());
        assert.equal(shown(await stage.history()), asked);
        const { last, types } = await stage.history(stage.gateway, { protocolVersion: '1.1' });
        assert.equal(last.outcome.type, 'interrupt');
        assert.ok(types.includes('CUSTOM'));

        (await run({ resume: { approved: true } })).expectFinished();

        assert.deepEqual((await stage.history()).of('CUSTOM'), []);
    });

    it('are answered by `resume` if the request has both', async () => {
        stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'It is clear.' }]);
        const { id } = JSON.parse(shown(await run()));
        const resume = [gives({ id }, { approved: false })];
        (await run({ resume: { approved: true } }, { resume })).expectFinished();
        assert.equal(stage.weather.calls.length, 0);
    });
});
