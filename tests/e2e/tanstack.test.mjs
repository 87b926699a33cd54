// The released clients of TanStack AI straight on the gateway: tools of the page, approvals, a reload.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { toolDefinition } from '@tanstack/ai';
import { ChatClient, fetchServerSentEvents } from '@tanstack/ai-client';
import { until } from './support/ai_chat.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { WeatherService } from './support/weather.mjs';

const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('');
const paint = (colour, id) => ({ name: 'paint', arguments: JSON.stringify({ colour }), id });

describe('the client of TanStack AI 0.58.0', () => {
    let model;
    let service;
    let gateway;
    let key;
    let threadId;
    const clients = [];
    const errors = [];

    before(async () => {
        model = await ModelServer.start();
        service = await WeatherService.start();
        gateway = await Gateway.start({ model, config: {
            tools: { webhook: [{ ...service.tool, approval: 'always' }] },
            agents: [{ id: 'default', models: ['main'], events: ['tanstack'] }, { id: 'other', models: ['main'] }],
        } });
    });
    after(() => stopAll(gateway, service, model));
    beforeEach((test) => {
        key = `[TanStack: ${test.name}]`;
        threadId = `thread-${randomUUID()}`;
        errors.length = 0;
    });
    afterEach(() => {
        for (const client of clients.splice(0)) client.dispose();
        assert.deepEqual(errors, []);
    });

    const painted = [];
    const tool = toolDefinition({
        name: 'paint', description: 'Paints.',
        inputSchema: { type: 'object', properties: { colour: { type: 'string' } }, required: ['colour'] },
    }).client(({ colour }) => {
        painted.push(colour);
        return { done: colour };
    });
    function open(init = {}) {
        const client = new ChatClient({
            connection: fetchServerSentEvents(gateway.url), threadId, tools: [tool], onError: (error) => errors.push(error), ...init,
        });
        client.attach();
        clients.push(client);
        return client;
    }
    const textOf = (message) => message.parts.filter(({ type }) => type === 'text').map(({ content }) => content).join('');
    const texts = (client) => client.getMessages().map(textOf);
    const hydration = async (query, path = '') => fetch(`${gateway.url}${path}?${new URLSearchParams(query)}`);

    it('executes the tools of the page and goes on', async () => {
        painted.length = 0;
        model.script(key, [{ content: 'At once.', toolCalls: [paint('red', `a-${threadId}`), paint('blue', `b-${threadId}`)] }, { content: 'Both.' }]);
        const client = open();

        await client.sendMessage(key);
        await until(() => texts(client).join('').includes('Both.') && !client.getIsLoading());

        assert.deepEqual(painted, ['red', 'blue']);
        const results = (await model.request(key, 2)).conversation.filter(({ role }) => role === 'tool');
        assert.deepEqual(results.map(({ content }) => JSON.parse(content)), [{ done: 'red' }, { done: 'blue' }]);
    });

    it('shows the conversation after a reload, and a further message has all of it', async () => {
        model.script(key, [{ content: 'Now.', toolCalls: [paint('red', `a-${threadId}`)] }, { content: 'Done.' }, { content: 'You are welcome.' }]);
        const client = open();
        await client.sendMessage(key);
        await until(() => texts(client).join('').includes('Done.') && !client.getIsLoading());

        const reloaded = open({ persistence: true });
        await until(() => reloaded.getMessages().length > 0);
        assert.equal(texts(reloaded).join('|').replace(/\|+/g, '|'), `${key}|Now.|Done.`);
        const [call] = reloaded.getMessages().flatMap(({ parts }) => parts.filter(({ type }) => type === 'tool-call'));
        assert.deepEqual([call.state, call.output], ['complete', { done: 'red' }]);

        await reloaded.sendMessage('Thanks.');
        await until(() => texts(reloaded).at(-1) === 'You are welcome.');
        assert.equal((await model.request(key, 3)).conversation.length, 5);
    });

    it('continues with the active run after a reload, without a gap', async () => {
        const rest = gate();
        model.script(key, [{ content: 'First.', toolCalls: [paint('red', `a-${threadId}`)] }, { content: words, pauseAfter: 6, resume: rest.opened }]);
        const client = open();
        const sent = client.sendMessage(key);
        await until(() => texts(client).join('').includes('word'));

        const reloaded = open({ persistence: true });
        await until(() => texts(reloaded).join('').includes('word'));
        rest.open();
        await until(() => texts(reloaded).join('').endsWith(words));

        assert.equal(texts(reloaded).join('|').replace(/\|+/g, '|'), `${key}|First.|${words}`);
        await sent;
    });

    it('is given an open approval with the conversation', async () => {
        service.calls.length = 0;
        model.script(key, [{ toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}', id: `a-${threadId}` }] }]);
        const client = open();
        await client.sendMessage(key);
        await until(() => !client.getIsLoading());

        const shown = await (await hydration({ threadId })).json();

        assert.deepEqual(shown.interrupts.pending.map(({ toolCallId, metadata }) => [toolCallId, metadata.kind]), [[`a-${threadId}`, 'approval']]);
        assert.equal(shown.activeRun, null);
        assert.deepEqual(shown.messages.map(({ role }) => role), ['user', 'assistant']);
        assert.equal(service.calls.length, 0);
    });

    for (const reload of [false, true]) {
        it(`takes an approval as an object${reload ? ', also after a reload' : ''}; a boolean alone is not sent as one`, async () => {
            service.calls.length = 0;
            model.script(key, [{ toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}', id: `a-${threadId}` }] }, { content: 'Clear.' }]);
            let client = open();
            await client.sendMessage(key);
            await until(() => !client.getIsLoading());
            if (reload) client = open({ persistence: true });
            await until(() => client.getInterruptState().interrupts.length > 0);
            const [interrupt] = client.getInterruptState().interrupts;

            client.resolveInterrupts(true);
            await client.addToolApprovalResponse({ id: interrupt.id, approved: true });
            assert.equal(client.getInterruptState().interruptErrors[0].code, 'unsupported-bulk-operation');
            assert.equal(model.requests(key).length, 1);
            interrupt.resolveInterrupt({ approved: true });

            await until(() => texts(client).join('').includes('Clear.') && !client.getIsLoading());
            assert.deepEqual(service.calls.map((call) => call.arguments.city), ['Oslo']);
            assert.deepEqual(client.getInterruptState().interrupts, []);
        });
    }

    it('refuses what it does not know', async () => {
        assert.deepEqual(await (await hydration({ threadId })).json(), { messages: [], activeRun: null, interrupts: null });
        assert.equal((await hydration({})).status, 422);
        for (const runId of ['unknown', '5:ab', '99999999999999999999:a', ':', '3:abcr1']) {
            assert.equal((await hydration({ runId, offset: -1 })).status, 404, runId);
        }
        model.script(key, [{ content: 'Hello.' }]);
        const response = await fetch(gateway.url, { method: 'POST', headers: { 'Content-Type': 'application/json' },
            body: JSON.stringify({ threadId, runId: 'r1', messages: [{ id: 'u', role: 'user', content: key }] }) });
        const stream = await response.text();
        const name = `${threadId.length}:${threadId}r1`;
        const whole = await hydration({ runId: name, offset: -1 });
        assert.deepEqual(await whole.text(), stream);
        assert.equal((await hydration({ runId: name, offset: 'x' })).status, 400);
        const rest = await (await hydration({ runId: name, offset: 1 })).text();
        assert.ok(stream.endsWith(rest) && rest.length < stream.length);
    });
});
