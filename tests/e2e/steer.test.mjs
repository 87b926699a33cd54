// A user message for a run that is active, with the three official clients: each shows the message in its place, also in
// another tab, and the next request goes on from the conversation that the server has.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, clients, outline, post, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';

const roles = ['user', 'assistant', 'user', 'assistant'];
const shown = (messages) => messages.map(({ id, role, content }) => ({ id, role, content }));

describe('steering', () => {
    let model;
    let gateway;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model, config: { session: { on_busy: 'steer' } } });
    });
    after(() => stopAll(gateway, model));

    const steer = (body) => post(`${gateway.url}/steer`, body);

    async function stored(threadId) {
        const response = await fetch(`${gateway.url}/threads/${threadId}/messages`);
        return shown((await response.json()).messages);
    }

    // Nobody outside sees when a message has reached its run, and the run may end before. `attempt(key, held, pause)` is
    // repeated, each time with a longer pause until the model goes on, until it returns something.
    async function untilInTime(name, attempt) {
        for (let milliseconds = 50; ; milliseconds *= 2) {
            assert.ok(milliseconds < 10_000, 'no message came in time');
            const key = `[${name} ${milliseconds}]`;
            const held = gate();
            model.script(key, [
                { content: 'One long answer.', pauseAfter: 2, resume: held.opened }, { content: 'Two.' }, { content: 'Three.' },
            ]);
            const done = await attempt(key, held, () => sleep(milliseconds));
            if (done) return done;
        }
    }

    // Begins a run, and resolves once the model has said something.
    async function begin(agent, key) {
        const said = gate();
        agent.add(user(`${key} first`));
        const run = agent.run({ onEvent: ({ type }) => type === 'TEXT_MESSAGE_CONTENT' && said.open() });
        await said.opened;
        return { run };
    }

    for (const client of clients) {
        it(`${client.name}: a message is taken between two answers and shown in its place`, async (test) => {
            const { agent, key } = await untilInTime(test.name, async (key, held, pause) => {
                const agent = new Agent(client, gateway);
                const { run } = await begin(agent, key);
                const message = user('and this');
                const body = { threadId: agent.threadId, message };
                const replies = [steer(body), steer(body)];
                await pause();
                held.open();
                const [first, second] = await Promise.all(replies);
                const ended = (await run).expectFinished();
                if (first.status !== 200) return undefined;
                const answer = await first.json();
                assert.deepEqual(answer, { taken: true, runId: ended.runId, seq: answer.seq });
                assert.deepEqual(await second.json(), answer);
                assert.ok(agent.messages.some(({ id }) => id === message.id));
                return { agent, key };
            });
            assert.deepEqual(agent.messages.map(({ role }) => role), roles);
            assert.deepEqual(shown(agent.messages), await stored(agent.threadId));
            agent.add(user('third'));
            (await agent.run()).expectFinished();
            assert.deepEqual(outline((await model.request(key, 3)).conversation).slice(-3), ['user: and this', 'assistant: Two.', 'user: third']);
            assert.equal((await stored(agent.threadId)).length, 6, 'the next request is no edit');
        });

        it(`${client.name}: a taken request is a run of its own, and the other tab shows its message`, async (test) => {
            await untilInTime(test.name, async (key, held, pause) => {
                const first = new Agent(client, gateway);
                const { run } = await begin(first, key);
                const second = new Agent(client, gateway, { threadId: first.threadId });
                second.messages = [structuredClone(first.messages[0]), user('from the other tab')];
                const waits = gate();
                const steering = second.run({ onEvent: ({ type }) => type === 'RUN_STARTED' && waits.open() });
                await waits.opened;
                await pause();
                held.open();
                const taken = (await steering).expectFinished();
                const { runId } = (await run).expectFinished();
                if (taken.types[1] !== 'CUSTOM') return undefined;
                assert.deepEqual(taken.types, ['RUN_STARTED', 'CUSTOM', 'RUN_FINISHED']);
                const [{ name, value }] = taken.of('CUSTOM');
                assert.equal(name, 'agui-gateway.message.taken');
                assert.deepEqual(value, { runId, messageIds: [second.messages[1].id], seq: value.seq });
                assert.deepEqual(first.messages.map(({ role }) => role), roles);
                assert.equal(first.messages[2].content, 'from the other tab');
                assert.equal(model.requests(key).length, 2);
                return true;
            });
        });
    }

    it('hand-written code that sends its whole history goes on after the message', async (test) => {
        const threadId = await untilInTime(test.name, async (key, held, pause) => {
            const thread = `thread of ${key}`;
            const run = postRun(gateway, runInput({ threadId: thread, messages: [user(`${key} first`, 'u1')] }));
            await model.request(key, 1);
            const reply = steer({ threadId: thread, message: user('and this', 's1') });
            await pause();
            held.open();
            await run;
            return (await reply).status === 200 && thread;
        });
        const history = await stored(threadId);
        await postRun(gateway, runInput({ threadId, messages: [...history, user('third', 'u3')] }));
        assert.deepEqual((await stored(threadId)).map(({ role }) => role), [...roles, 'user', 'assistant']);
    });

    it('a message without an active run is returned, and stored nowhere', async () => {
        const refused = await steer({ threadId: 'nobody is here', message: user('hello') });

        assert.equal(refused.status, 409);
        assert.equal((await refused.json()).error.code, 'run_ended');
        assert.deepEqual(await stored('nobody is here'), []);
    });
});
