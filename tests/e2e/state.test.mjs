// The state document and activities in the three official clients: whatever changes them, the client holds what the
// gateway stores, and a snapshot of the thread changes nothing for a client that has streamed the run.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Agent, clients, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

const effects = 'org.agui-gateway/effects';
let model;
let gateway;
let tools;
let scripts = 0;
let answer;

before(async () => {
    model = await ModelServer.start();
    tools = http.createServer((request, response) => {
        request.resume();
        request.on('end', () => response.end(JSON.stringify(answer)));
    });
    await new Promise((resolve) => tools.listen(0, '127.0.0.1', resolve));
    gateway = await Gateway.start({
        model,
        config: {
            agents: [{
                id: 'default',
                models: ['main'],
                state: 'system',
                state_tool: true,
                state_schema: '{"properties":{"size":{"type":"integer"}}}',
                predict_state: [{ tool: 'write', argument: 'text', state_key: 'story' }],
            }],
            tools: { webhook: [{ name: 'write', description: 'Writes.', url: `http://127.0.0.1:${tools.address().port}/` }] },
        },
    });
});
after(async () => {
    await stopAll(gateway, model);
    await new Promise((resolve) => tools.close(resolve));
    finishRecordings();
});

function call(name, args) {
    return { name, arguments: JSON.stringify(args), id: `call_${randomUUID()}` };
}

/// A stream has no place for the error of a tool message.
function withoutError({ error, ...message }) {
    return message;
}

function patch(threadId, operations) {
    return fetch(`${gateway.url}/threads/${threadId}/state`, {
        method: 'PATCH',
        headers: { 'Content-Type': 'application/json-patch+json' },
        body: JSON.stringify(operations),
    });
}

for (const client of clients) {
    describe(`@ag-ui/client ${client.name}`, () => {
        let key;
        beforeEach((test) => {
            recordAs(`${client.name} ${test.name}`);
            key = `[state ${++scripts}]`;
        });

        /// Runs the script in a new conversation that starts with `state`.
        async function stream(steps, state) {
            model.script(key, steps);
            const agent = new Agent(client, gateway);
            agent.agent.setState(state);
            agent.add(user(`${key} begin`));
            const run = (await agent.run()).expectFinished();
            return { agent, run };
        }

        /// The client holds the stored state, and the history of the thread changes nothing that it holds.
        async function expectStored(agent) {
            const stored = await (await fetch(`${gateway.url}/threads/${agent.threadId}/state`)).json();
            assert.deepEqual(agent.agent.state, stored.state);
            const messages = structuredClone(agent.messages);
            const state = structuredClone(agent.agent.state);
            agent.agent.url = `${gateway.url}/history`;
            (await agent.run()).expectFinished();
            agent.agent.url = gateway.url;
            assert.deepEqual(agent.messages.map(withoutError), messages);
            assert.deepEqual(agent.agent.state, state);
        }

        it('follows the model, which changes the state by a tool', async () => {
            const operations = [{ op: 'replace', path: '/size', value: 2 }, { op: 'add', path: '/tags', value: ['a/b~c'] }];
            const { agent, run } = await stream(
                [{ toolCalls: [call('update_state', { patch: operations })] }, { content: 'Done.' }], { size: 1 }
            );

            assert.deepEqual(run.of('STATE_DELTA').length, 1);
            assert.deepEqual(agent.agent.state, { size: 2, tags: ['a/b~c'] });
            await expectStored(agent);
        });

        it('keeps its state if the model breaks the schema', async () => {
            const operations = [{ op: 'replace', path: '/size', value: 'big' }];
            const { agent, run } = await stream(
                [{ toolCalls: [call('update_state', { patch: operations })] }, { content: 'Sorry.' }], { size: 1 }
            );

            assert.match(run.of('TOOL_CALL_RESULT')[0].content, /was not changed.*\/size/s);
            assert.deepEqual(agent.agent.state, { size: 1 });
            await expectStored(agent);
        });

        it('shows an argument as it grows, then what a webhook has stored', async () => {
            answer = {
                result: 'Saved.',
                _meta: { [effects]: {
                    statePatch: [{ op: 'add', path: '/story', value: 'The End.' }],
                    activities: [{ type: 'card', content: { pages: 1 } }],
                    custom: [{ name: 'saved', value: null }],
                } },
            };
            const text = 'Once upon a time there was a gateway with a state that grew and grew.';
            const { agent, run } = await stream([{ toolCalls: [call('write', { text })] }, { content: 'There.' }], { size: 1 });

            const shown = run.of('STATE_DELTA').map((event) => event.delta[0].value);
            assert.ok(shown.length > 1 && shown.every((value) => text.startsWith(value)), JSON.stringify(shown));
            assert.equal(shown.at(-1), text);
            assert.equal(run.of('TOOL_CALL_RESULT')[0].content, 'Saved.');
            assert.equal(run.of('CUSTOM').filter((event) => event.name === 'saved').length, 1);
            assert.deepEqual(agent.agent.state, { size: 1, story: 'The End.' });
            assert.deepEqual(agent.messages.filter(({ role }) => role === 'activity').map(({ content }) => content), [{ pages: 1 }]);
            await expectStored(agent);
        });

        it('is told of a change while it runs', async () => {
            let open;
            const hold = new Promise((resolve) => (open = resolve));
            model.script(key, [{ content: 'Hello.', hold }]);
            const agent = new Agent(client, gateway);
            agent.agent.setState({ list: [1] });
            agent.add(user(`${key} begin`));
            const running = agent.run();
            await model.request(key, 1);

            const changed = await patch(agent.threadId, [{ op: 'add', path: '/list/-', value: 2 }]);
            assert.equal(changed.status, 200);
            const refused = await patch(agent.threadId, [{ op: 'remove', path: '/none' }]);
            assert.equal(refused.status, 409);
            assert.equal((await refused.json()).error.path, '[0].path');
            open();
            (await running).expectFinished();

            assert.deepEqual(agent.agent.state, { list: [1, 2] });
            await expectStored(agent);
        });

        it('has the activities of the thread after a reload', async () => {
            answer = { result: 'Saved.', _meta: { [effects]: { activities: [{ id: randomUUID(), type: 'card', content: { n: 1 } }] } } };
            const { agent } = await stream([{ toolCalls: [call('write', { text: 'x' })] }, { content: 'There.' }], {});

            const reloaded = new Agent(client, { url: `${gateway.url}/history` }, { threadId: agent.threadId });
            (await reloaded.run()).expectFinished();

            assert.deepEqual(reloaded.messages.map(({ role }) => role), ['user', 'assistant', 'tool', 'activity', 'assistant']);
            assert.deepEqual(reloaded.messages, agent.messages);
        });
    });
}

it('asks the model as the scripts say', () => model.checkRequests());
