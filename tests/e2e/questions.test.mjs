// Server tools that ask a person for input, with the official clients, after restarts and killed processes.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Agent, clients, outline, post, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll, withoutFailpoints } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';
import { WeatherService } from './support/weather.mjs';

const call = (city, id) => ({ name: 'get_weather', arguments: JSON.stringify({ city }), id });
const gives = (interrupt, payload = { unit: 'C' }) => ({ interruptId: interrupt.id, status: 'resolved', payload });
const cancels = (interrupt) => ({ interruptId: interrupt.id, status: 'cancelled' });

for (const approval of ['never', 'always']) {
    describe(`questions of a tool, approval ${approval}`, () => {
        let model;
        let weather;
        let gateway;
        let key;
        let threadId;

        before(async () => {
            model = await ModelServer.start();
            weather = await WeatherService.start();
            gateway = await Gateway.start({ model, config: { tools: { webhook: [{ ...weather.tool, approval }] } } });
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

        const route = async (path) => (await fetch(`${gateway.url}/threads/${threadId}/${path}`)).json();
        const run = (resume) => postRun(gateway, runInput({ threadId, messages: [], resume }));
        const results = async () => (await route('messages')).messages.filter(({ role }) => role === 'tool');

        /// One run, after the approval if one is needed, that ends with the first question.
        async function ask(city = 'Utopia') {
            model.script(key, [{ toolCalls: [call(city, 'call_1')] }, ...Array(4).fill({ content: 'It is clear.' })]);
            let asked = await postRun(gateway, runInput({ threadId, messages: [user(key, 'u1')] }));
            if (approval === 'always') {
                const [approves] = asked.expectFinished().last.outcome.interrupts;
                assert.equal(approves.metadata.kind, 'approval');
                asked = await run([gives(approves, { approved: true })]);
            }
            const [interrupt] = asked.expectFinished().last.outcome.interrupts;
            assert.deepEqual((await route('pending')).interrupts, [interrupt]);
            assert.deepEqual(asked.of('TOOL_CALL_RESULT'), []);
            return { asked, interrupt };
        }

        for (const client of clients) {
            it(`are answered by client ${client.name}, whose messages are then those of the history`, async () => {
                model.script(key, [{ toolCalls: [call('Utopia', 'call_1')] }, { content: 'It is clear.' }]);
                const agent = new Agent(client, gateway, { threadId });
                agent.add(user(key));
                let [interrupt] = (await agent.run()).expectFinished().last.outcome.interrupts;
                if (approval === 'always') {
                    const approved = await agent.run({ resume: [gives(interrupt, { approved: true })] });
                    [interrupt] = approved.expectFinished().last.outcome.interrupts;
                }
                assert.equal(interrupt.message, 'Which unit?');

                const answered = await agent.run({ resume: [gives(interrupt)] });

                assert.equal(answered.expectFinished().text, 'It is clear.');
                assert.equal(answered.of('TOOL_CALL_RESULT')[0].toolCallId, 'call_1');
                assert.deepEqual(weather.calls.map(({ inputs }) => inputs), [undefined, [{ unit: 'C' }]]);
                const stored = (await route('messages')).messages.map(({ id, role }) => ({ id, role }));
                assert.deepEqual(agent.messages.map(({ id, role }) => ({ id, role })), stored);
            });
        }

        it('have the schema and metadata of the tool', async () => {
            const { interrupt } = await ask();
            assert.equal(interrupt.reason, 'input_required');
            assert.equal(interrupt.toolCallId, 'call_1');
            assert.deepEqual(interrupt.responseSchema, weather.question.responseSchema);
            assert.deepEqual(interrupt.metadata, { title: 'Unit', kind: 'input', toolName: 'get_weather' });
            const [shown] = (await route('messages')).messages.flatMap(({ metadata }) => metadata?.custom?.agui?.interrupts ?? []);
            assert.deepEqual(shown, interrupt);
        });

        it('refuse an answer that does not fit, and take another one', async () => {
            const { interrupt } = await ask();
            for (const wrong of [{}, { unit: 'K' }, null, 1]) {
                (await run([gives(interrupt, wrong)])).expectError('resume_rejected');
            }
            (await run([gives(interrupt), gives(interrupt)])).expectError('resume_rejected');
            assert.deepEqual((await route('pending')).interrupts, [interrupt]);
            assert.equal(weather.calls.length, 1);
            assert.deepEqual((await run([])).expectFinished().last.outcome.interrupts, [interrupt]);

            assert.equal((await run([gives(interrupt)])).expectFinished().text, 'It is clear.');

            assert.equal((await run([gives(interrupt)])).expectFinished().text, '');
            (await run([gives(interrupt, { unit: 'F' })])).expectError('resume_rejected');
            assert.equal(weather.calls.length, 2);
        });

        it('may be cancelled', async () => {
            const { interrupt } = await ask();
            assert.equal((await run([cancels(interrupt)])).expectFinished().text, 'It is clear.');
            assert.equal(weather.calls.length, 1);
            const told = outline((await model.request(key, 2)).conversation);
            assert.match(told.at(-1), /The input that the tool asked for was not given/);
        });

        it('may follow each other, and an old answer answers no later one', async () => {
            const { interrupt: first } = await ask('Utopia twice');
            const [second] = (await run([gives(first)])).expectFinished().last.outcome.interrupts;
            assert.notEqual(second.id, first.id);
            assert.deepEqual((await run([gives(first)])).expectFinished().last.outcome.interrupts, [second]);
            (await run([gives(first, { unit: 'F' })])).expectError('resume_rejected');

            assert.equal((await run([gives(second, { unit: 'F' })])).expectFinished().text, 'It is clear.');

            assert.deepEqual(weather.calls.at(-1).inputs, [{ unit: 'C' }, { unit: 'F' }]);
        });

        it('keep a message that comes instead of the answer', async () => {
            const { interrupt } = await ask();
            const waits = await postRun(gateway, runInput({ threadId, messages: [user('And now?', 'u2')] }));
            assert.deepEqual(waits.expectFinished().last.outcome.interrupts, [interrupt]);
            (await run([gives(interrupt)])).expectFinished();
            assert.match(outline((await model.request(key, 2)).conversation).at(-1), /And now/);
        });

        it('survive a killed process', async () => {
            const { interrupt } = await ask();
            await gateway.end('SIGKILL');
            await gateway.launch();
            const history = await postRun({ url: `${gateway.url}/history` }, runInput({ threadId, messages: [] }));
            assert.deepEqual(history.last.outcome.interrupts, [interrupt]);
            assert.equal((await run([gives(interrupt)])).expectFinished().text, 'It is clear.');
            assert.deepEqual(weather.calls.at(-1).inputs, [{ unit: 'C' }]);
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
                await gateway.killAt(name, () => post(gateway.url, runInput({ threadId, messages: [], resume })));

                const { interrupts } = await route('pending');
                if (interrupts.length > 0) assert.deepEqual(interrupts, [interrupt]);
                for (let i = 0; i < 2; ++i) (await run(resume)).expectFinished();

                assert.equal(weather.calls.filter(({ inputs }) => inputs).length, executed);
                assert.deepEqual((await route('pending')).interrupts, []);
                assert.equal((await results()).length, 1);
            });
        }

        it('are lost as a whole if the process is killed before they are stored', { skip: withoutFailpoints() }, async () => {
            const { interrupt: first } = await ask('Utopia twice');
            const resume = [gives(first)];
            await gateway.killAt('loop.tools_finished', () => post(gateway.url, runInput({ threadId, messages: [], resume })));

            assert.deepEqual((await route('pending')).interrupts, []);
            const [lost] = await results();
            assert.match(lost.content, /effect is unknown/);
        });
    });
}

describe('interrupts for older clients', () => {
    let model;
    let weather;
    let gateway;
    let key;
    let threadId;

    before(async () => {
        model = await ModelServer.start();
        weather = await WeatherService.start();
        const webhook = { ...weather.tool, approval: 'always' };
        gateway = await Gateway.start({ model, config: { agent: { legacy_interrupts: true }, tools: { webhook: [webhook] } } });
    });
    after(() => stopAll(gateway, weather, model));
    beforeEach((test) => {
        key = `[${test.name}]`;
        threadId = randomUUID();
        weather.calls.length = 0;
    });

    const run = (command, more = {}) => {
        const messages = [user(key, 'u1')];
        return postRun(gateway, runInput({ threadId, messages, forwardedProps: { command }, ...more }));
    };
    const shown = (ended) => {
        ended.expectFinished();
        const events = ended.of('CUSTOM').filter(({ name }) => name === 'on_interrupt');
        assert.equal(events.length, 1);
        assert.equal(ended.last.outcome, undefined);
        return events[0].value;
    };

    it('are answered one by one, and an old answer answers no later one', async () => {
        model.script(key, [{ toolCalls: [call('Utopia', 'call_1')] }, { content: 'It is clear.' }]);
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
        assert.deepEqual(weather.calls.map(({ inputs }) => inputs), [undefined, [{ unit: 'C' }]]);
    });

    it('are answered by `resume` if the request has both', async () => {
        model.script(key, [{ toolCalls: [call('Oslo', 'call_1')] }, { content: 'It is clear.' }]);
        const { id } = JSON.parse(shown(await run()));
        const resume = [gives({ id }, { approved: false })];
        (await run({ resume: { approved: true } }, { resume })).expectFinished();
        assert.equal(weather.calls.length, 0);
    });
});
