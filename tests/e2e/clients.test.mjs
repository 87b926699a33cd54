// The behaviours of released clients that break a naive server. The number in a test's name is that of the behaviour in
// a list that is not in this repository; the fixtures call it `reference clients N`. 1, 2 and 9 are about approvals:
// approvals.test.mjs has these.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Agent, answer, background, cancel, clients, eventsOf, outline, post, postRun, runInput, tool, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';
import { WeatherService } from './support/weather.mjs';

const green = (id) => ({ name: 'change_background', arguments: '{"color":"green"}', id });
const weatherCall = (city, id) => ({ name: 'get_weather', arguments: JSON.stringify({ city }), id });

/// An assistant message as clients keep it.
function assistant(id, content, ...calls) {
    const toolCalls = calls.map((call) => ({
        id: call.id, type: 'function', function: { name: call.name, arguments: call.args ?? call.arguments },
    }));
    return { id, role: 'assistant', ...(content !== undefined && { content }), ...(calls.length > 0 && { toolCalls }) };
}

describe('behaviours of the clients', () => {
    let model;
    let weather;
    let gateway;
    let key;
    let threadId;

    before(async () => {
        model = await ModelServer.start();
        weather = await WeatherService.start();
        gateway = await Gateway.start({
            model,
            config: { model: { api_key_env: 'MODEL_KEY' }, tools: { webhook: [weather.tool] } },
            env: { MODEL_KEY: 'the-key-of-the-server' },
        });
    });
    after(() => stopAll(gateway, weather, model));
    beforeEach((test) => {
        recordAs(test.name);
        key = `[${test.name}]`;
        threadId = `thread of ${test.name}`;
    });

    /// One run of an undeclared peer on the test's thread.
    function run(messages, more = {}) {
        return postRun(gateway, runInput({ threadId, messages, ...more }));
    }

    async function upstream(number) {
        return outline((await model.request(key, number)).conversation);
    }

    it('client behaviour 3: regenerate is the known messages, cut after a user message', async () => {
        model.script(key, [{ content: 'One.' }, { content: 'Two.' }, { content: 'One again.' }]);
        const messages = [user(`${key} first`)];
        await run(messages);
        await run([...messages, assistant('a1', 'One.'), user('second')]);

        const again = await run(messages);

        assert.equal(again.expectFinished().text, 'One again.');
        assert.deepEqual(await upstream(3), [`user: ${key} first`]);
    });

    it('client behaviour 3: retry after RUN_ERROR is the same messages with a new runId', async () => {
        model.script(key, [{ content: 'One.' }, { error: { message: 'down' }, status: 503 }, { content: 'Two.' }]);
        const messages = [user(`${key} first`)];
        await run(messages);
        messages.push(assistant('a1', 'One.'), user('second'));
        (await run(messages)).expectError('model_unavailable');

        const retried = await run(messages);

        assert.equal(retried.expectFinished().text, 'Two.');
        assert.deepEqual(await upstream(3), [`user: ${key} first`, 'assistant: One.', 'user: second']);
    });

    it('client behaviour 3: retry of a tool answer after RUN_ERROR goes on from the answer', async () => {
        model.script(key, [{ toolCalls: [green('call_retry')] }, { error: { message: 'down' }, status: 500 }, { content: 'Green.' }]);
        const begin = user(`${key} begin`);
        const first = await run([begin], { tools: [background] });
        const history = [begin, assistant('a1', undefined, first.calls[0]), answer(first.calls[0].id, 'ok')];
        (await run(history, { tools: [background] })).expectError('model_unavailable');

        const retried = await run(history, { tools: [background] });

        assert.equal(retried.expectFinished().text, 'Green.');
        assert.deepEqual((await upstream(3)).slice(2), [`tool ${first.calls[0].id}: ok`]);
    });

    it('client behaviour 4: assistant-ui joins the calls of two turns and leaves a message out', async () => {
        model.script(key, [
            { toolCalls: [weatherCall('Bonn', 'call_joined_1')] },
            { toolCalls: [green('call_joined_2')] },
            { content: 'Sunny and green.' },
        ]);
        const begin = user(`${key} begin`, 'aaaaaa1');
        const first = await run([begin], { tools: [background] });
        const [c1, c2] = first.calls;
        const [result] = first.of('TOOL_CALL_RESULT');

        const second = await run([
            begin,
            assistant('aaaaaa2', '', c1, c2),
            { id: result.messageId, role: 'tool', toolCallId: c1.id, content: result.content },
            { id: `${c2.id}:tool`, role: 'tool', toolCallId: c2.id, content: '{"status":"ok"}' },
        ], { tools: [background] });

        assert.equal(second.expectFinished().text, 'Sunny and green.');
        assert.deepEqual((await upstream(3)).slice(1), [
            `assistant: | get_weather({"city":"Bonn"})#${c1.id}`,
            `tool ${c1.id}: {"sky":"clear","city":"Bonn"}`,
            `assistant: | change_background({"color":"green"})#${c2.id}`,
            `tool ${c2.id}: {"status":"ok"}`,
        ]);
    });

    it('client behaviour 5: a call and its result made by CopilotKit runTool are taken in and answered', async () => {
        model.script(key, [{ content: 'Hello.' }, { content: 'It is blue now.' }]);
        const begin = user(`${key} begin`);
        await run([begin], { tools: [background] });
        const own = { id: 'own-call-1', name: 'change_background', args: '{"color":"blue"}' };

        const second = await run(
            [begin, assistant('a1', 'Hello.'), assistant('own-1', '', own), answer(own.id, 'blue')],
            { tools: [background] },
        );

        assert.equal(second.expectFinished().text, 'It is blue now.');
        const conversation = await upstream(2);
        assert.equal(conversation.length, 4);
        assert.match(conversation[2], /^assistant: \| change_background\(\{"color":"blue"\}\)#/);
        assert.match(conversation[3], /^tool \S+: blue$/);
    });

    it('client behaviour 5: a call and its result made by the client for a server tool are dropped', async () => {
        model.script(key, [{ content: 'Hello.' }, { content: 'I do not know.' }]);
        const begin = user(`${key} begin`);
        await run([begin]);
        const forged = { id: 'forged-1', name: 'get_weather', args: '{"city":"Bonn"}' };

        const second = await run([begin, assistant('a1', 'Hello.'), assistant('own-2', '', forged), answer(forged.id, 'snow'), user('and?')]);

        second.expectFinished();
        assert.deepEqual(await upstream(2), [`user: ${key} begin`, 'assistant: Hello.', 'user: and?']);
    });

    it('client behaviour 5: assistant-ui reports a call left unresolved as cancelled by the user', async () => {
        model.script(key, [{ toolCalls: [green('call_unresolved')] }, { content: 'As you like.' }]);
        const begin = user(`${key} begin`);
        const first = await run([begin], { tools: [background] });
        const { id } = first.calls[0];

        const second = await run([
            begin,
            assistant('a1', '', first.calls[0]),
            { id: `${id}:tool`, role: 'tool', toolCallId: id, content: '"cancelled by user"', error: 'cancelled by user' },
            user('never mind'),
        ], { tools: [background] });

        assert.equal(second.expectFinished().text, 'As you like.');
        const conversation = await upstream(2);
        assert.equal(conversation.length, 4);
        assert.match(conversation[2], /cancelled by user/);
        assert.equal(conversation[3], 'user: never mind');
    });

    it('client behaviour 5: a result that the CopilotKit runtime invents for a broken stream is no result', async (test) => {
        recordAs(test.name, ['AGUI204']);
        model.script(key, [{ toolCalls: [green('call_broken')], pauseAfter: 3, resume: gate().opened }, { content: 'Again, then.' }]);
        const begin = user(`${key} begin`);
        const leave = new AbortController();
        const input = runInput({ threadId, messages: [begin], tools: [background] });
        const response = await post(gateway.url, input, { signal: leave.signal, headers: { 'X-On-Disconnect': 'cancel' } });
        let call;
        for await (const event of eventsOf(response)) {
            if (event.type === 'TOOL_CALL_START') call = { id: event.toolCallId, name: event.toolCallName, args: '{"colo' };
            if (event.type === 'TOOL_CALL_ARGS') break;
        }
        leave.abort();
        await (await model.request(key, 1)).closed;

        const second = await run([
            begin,
            assistant('a1', '', call),
            { id: `${call.id}-result`, role: 'tool', toolCallId: call.id, content: '{"status":"stopped"}' },
            user('try again'),
        ], { tools: [background] });

        assert.equal(second.expectFinished().text, 'Again, then.');
        const conversation = await upstream(2);
        assert.ok(!conversation.some((line) => line.includes('{"status":"stopped"}')), conversation.join('\n'));
        assert.equal(conversation.at(-1), 'user: try again');
    });

    it('client behaviour 6: CopilotKit goes on with an unanswered call whose tool it does not offer', async () => {
        const names = ['first', 'second', 'third'];
        const calls = names.map((name) => ({ name, arguments: '{}', id: `call_six_${name}` }));
        model.script(key, [{ toolCalls: calls }, { content: 'Two of three will do.' }]);
        const begin = user(`${key} begin`);
        const first = await run([begin], { tools: names.map(tool) });
        assert.deepEqual(first.calls.map((call) => call.name), names);
        const [c1, c2, c3] = first.calls;

        const second = await run(
            [begin, assistant('a1', '', ...first.calls), answer(c1.id, 'one'), answer(c2.id, 'two')],
            { tools: [tool('first'), tool('second')] },
        );

        assert.equal(second.expectFinished().text, 'Two of three will do.');
        const conversation = await upstream(2);
        assert.deepEqual(conversation.slice(2, 4), [`tool ${c1.id}: one`, `tool ${c2.id}: two`]);
        assert.match(conversation[4], new RegExp(`^tool ${c3.id}: .`));
        assert.equal(conversation.length, 5);
    });

    for (const client of clients) {
        it(`client behaviour 7: text after a call keeps the messageId of its turn (${client.name})`, async (test) => {
            recordAs(test.name, ['AGUI101', 'AGUI102', 'AGUI104']);
            const call = green('call_between');
            model.script(key, [{
                blocks: [
                    { type: 'text', text: 'I make it green.' },
                    { type: 'toolCall', ...call },
                    { type: 'text', text: ' Look at it.' },
                ],
            }]);
            const agent = new Agent(client, gateway, { threadId });
            agent.add(user(`${key} begin`));

            const first = await agent.run({ tools: [background] });

            first.expectFinished();
            const ids = new Set([
                ...first.of('TEXT_MESSAGE_START').map((event) => event.messageId),
                ...first.of('TOOL_CALL_START').map((event) => event.parentMessageId),
            ]);
            assert.equal(ids.size, 1, `several message ids in one turn: ${[...ids]}`);
            assert.equal(first.of('TEXT_MESSAGE_START').length, 2, 'the text after the call did not reopen the message');
            const kept = agent.messages.filter((message) => message.role === 'assistant');
            assert.equal(kept.length, 1);
            assert.equal(kept[0].content, 'I make it green. Look at it.');
            assert.deepEqual(kept[0].toolCalls.map((entry) => entry.id), [first.calls[0].id]);
        });
    }

    it('client behaviour 8: a server call that succeeds has its TOOL_CALL_RESULT', async () => {
        model.script(key, [{ toolCalls: [weatherCall('Bonn', 'call_fine')] }, { content: 'Clear.' }]);
        const only = (await run([user(`${key} begin`)])).expectFinished();
        assert.deepEqual(only.of('TOOL_CALL_RESULT').map((event) => [event.toolCallId, event.content]),
            [[only.calls[0].id, '{"sky":"clear","city":"Bonn"}']]);
    });

    it('client behaviour 8: a server call that fails has its TOOL_CALL_RESULT', async () => {
        model.script(key, [{ toolCalls: [weatherCall('Atlantis', 'call_fails')] }, { content: 'No idea.' }]);
        const only = (await run([user(`${key} begin`)])).expectFinished();
        assert.deepEqual(only.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), [only.calls[0].id]);
        assert.match((await upstream(2))[2], /^tool \S+: ./);
    });

    it('client behaviour 8: a server call whose arguments are no object has its TOOL_CALL_RESULT', async (test) => {
        recordAs(test.name, ['AGUI204']);
        const before = weather.calls.length;
        model.script(key, [{ toolCalls: [{ name: 'get_weather', arguments: 'Bonn, please', id: 'call_prose' }] }, { content: 'Sorry.' }]);

        const only = (await run([user(`${key} begin`)])).expectFinished();

        assert.deepEqual(only.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), [only.calls[0].id]);
        assert.equal(weather.calls.length, before, 'the tool was called with arguments that are no object');
        assert.match((await upstream(2))[1], /INVALID_JSON.*Bonn, please/);
    });

    it('client behaviour 8: a server call that a stop interrupts has its TOOL_CALL_RESULT', async () => {
        model.script(key, [{ toolCalls: [weatherCall('Limbo', 'call_limbo')] }]);
        const waiting = weather.nextInLimbo();
        const running = run([user(`${key} begin`)]);
        await waiting;

        assert.deepEqual(await cancel(gateway, threadId), { cancelled: true });

        const stopped = (await running).expectFinished();
        assert.deepEqual(stopped.of('TOOL_CALL_RESULT').map((event) => event.toolCallId), [stopped.calls[0].id]);
        assert.ok(stopped.types.indexOf('TOOL_CALL_RESULT') < stopped.types.lastIndexOf('CUSTOM'), 'before agui-gateway.run.stopped');
        assert.equal(model.requests(key).length, 1);
    });

    it('client behaviour 10: keys and addresses in forwardedProps take no effect and are kept nowhere', async () => {
        const secret = 'sk-e2e-7f3a9c1d5b';
        model.script(key, [{ content: 'Hello.' }]);

        const only = await run([user(`${key} begin`)], {
            forwardedProps: {
                modelName: 'another-model',
                temperature: 0.9,
                apiKey: secret,
                baseUrl: `http://${secret}.example/v1`,
                headers: { authorization: `Bearer ${secret}`, 'x-note': secret },
            },
        });

        only.expectFinished();
        const exchange = await model.request(key, 1);
        assert.ok(!JSON.stringify([exchange.body, exchange.headers]).includes(secret), 'sent to the model server');
        assert.equal(exchange.headers.authorization, 'Bearer the-key-of-the-server');
        assert.equal(exchange.body.model, 'mock');
        assert.equal(exchange.body.temperature, undefined);
        assert.ok(!gateway.log.includes(secret), 'written to the log');
        assert.ok(!gateway.storedBytes().includes(secret), 'written to the store');
        assert.ok(!JSON.stringify(only.events).includes(secret), 'sent to the client');
    });

    it('client behaviour 11: state null is legal', async () => {
        model.script(key, [{ content: 'Hello.' }]);
        const only = await run([user(`${key} begin`)], { state: null, forwardedProps: null });
        assert.equal(only.expectFinished().text, 'Hello.');
    });

    it('client behaviour 11: an assistant message without content is legal', async () => {
        model.script(key, [{ content: 'Hello.' }, { content: 'Still here.' }]);
        const begin = user(`${key} begin`);
        await run([begin]);
        const second = await run([begin, { id: 'a1', role: 'assistant' }, user('still there?')]);
        assert.equal(second.expectFinished().text, 'Still here.');
        assert.deepEqual(await upstream(2), [`user: ${key} begin`, 'assistant: Hello.', 'user: still there?']);
    });

    it('client behaviour 11: no messages at all is legal', async () => {
        const only = await run([]);
        only.expectFinished();
        assert.equal(only.text, '');
        assert.equal(model.exchanges.filter((exchange) => exchange.conversation.length === 0).length, 0);
    });

    it('client behaviour 11: attachments that come again with every turn are the known message', async () => {
        model.script(key, [{ content: 'A dot.' }, { content: 'Red.' }]);
        const picture = { type: 'image', source: { type: 'data', mimeType: 'image/gif', value: 'R0lGODlhAQABAAAAACwAAAAAAQABAAACADs=' } };
        const begin = { id: 'with-picture', role: 'user', content: [{ type: 'text', text: `${key} what is it?` }, picture] };
        await run([begin]);

        const second = await run([begin, assistant('a1', 'A dot.'), user('which colour?')]);

        assert.equal(second.expectFinished().text, 'Red.');
        assert.equal((await upstream(2)).length, 3);
    });

    it('client behaviour 12: a peer that declares nothing gets no outcome and no version', async () => {
        model.script(key, [{ toolCalls: [green('call_plain')] }]);
        const only = (await run([user(`${key} begin`)], { tools: [background] })).expectFinished();
        assert.ok(!('outcome' in only.last));
        assert.ok(!('protocolVersion' in only.events[0]));
    });

    it('client behaviour 12: a peer that declares 1.0 gets pendingToolCallIds', async () => {
        model.script(key, [{ toolCalls: [green('call_declared')] }]);
        const only = (await run([user(`${key} begin`)], { tools: [background], protocolVersion: '1.0' })).expectFinished();
        assert.deepEqual(only.last.outcome, { type: 'success', pendingToolCallIds: [only.calls[0].id] });
        assert.equal(only.events[0].protocolVersion, '1.0');
    });

    it('client behaviour 12: a stopped run with an open external call is RUN_ERROR to an undeclared peer', async (test) => {
        recordAs(test.name, ['AGUI204']);
        model.script(key, [{ toolCalls: [green('call_open')], pauseAfter: 3, resume: gate().opened }]);
        const response = await post(gateway.url, runInput({ threadId, messages: [user(`${key} begin`)], tools: [background] }));
        const events = [];
        for await (const event of eventsOf(response)) {
            events.push(event);
            if (event.type === 'TOOL_CALL_ARGS') await cancel(gateway, threadId);
        }
        assert.equal(events.at(-1).type, 'RUN_ERROR');
        assert.equal(events.at(-1).code, 'user_stop');
    });

    it('client behaviour 13: headers and RUN_STARTED leave before the model answers', async () => {
        const held = gate();
        model.script(key, [{ content: 'At last.', hold: held.opened }]);

        const response = await post(gateway.url, runInput({ threadId, messages: [user(`${key} begin`)] }));

        assert.equal(response.status, 200);
        const events = eventsOf(response);
        assert.equal((await events.next()).value.type, 'RUN_STARTED');
        held.open();
        const types = [];
        for await (const event of events) types.push(event.type);
        assert.equal(types.at(-1), 'RUN_FINISHED');
    });
    it('left only valid streams and valid requests to the model server', () => {
        finishRecordings();
        model.checkRequests();
    });
});
