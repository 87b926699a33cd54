// What each official client does with /agui in daily use, against the real binary; aimock is the model.

import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { Agent, answer, background, cancel, clients, outline, post, postRun, runInput, tool, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';
import { WeatherService } from './support/weather.mjs';

const green = { name: 'change_background', arguments: '{"color":"green"}', id: 'call_green' };

for (const client of clients) {
    describe(`@ag-ui/client ${client.name}`, () => {
        let model;
        let weather;
        let gateway;
        let key;
        let agent;

        before(async () => {
            model = await ModelServer.start();
            weather = await WeatherService.start();
            gateway = await Gateway.start({ model, config: { tools: { webhook: [weather.tool] } } });
        });
        after(() => stopAll(gateway, weather, model));
        beforeEach((test) => {
            recordAs(`${client.name} ${test.name}`);
            key = `[${test.name}]`;
            agent = new Agent(client, gateway);
        });

        /// What a success towards this client carries: nothing beyond it for one that knows no outcomes.
        function expectOutcome(run, pending) {
            run.expectFinished();
            const expected = pending ? { type: 'success', pendingToolCallIds: pending } : { type: 'success' };
            assert.deepEqual(run.last.outcome, client.versioned ? expected : undefined);
        }

        /// A first run that hands `calls` to the browser.
        async function handOff(calls, tools, more = {}) {
            agent.add(user(`${key} begin`));
            const run = await agent.run({ tools, ...more });
            assert.deepEqual(run.calls.map((call) => call.name), calls.map((call) => call.name));
            return run;
        }

        it('streams a text', async () => {
            model.script(key, [{ content: 'Hello there, friend.' }]);
            agent.add(user(`${key} hello`));

            const run = await agent.run();

            expectOutcome(run);
            assert.deepEqual(run.shape,
                ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_FINISHED']);
            assert.ok(run.of('TEXT_MESSAGE_CONTENT').length > 1, 'the text came in one piece');
            assert.equal(run.events[0].threadId, agent.threadId);
            assert.equal(run.events[0].runId, run.runId);
            assert.equal(run.events[0].protocolVersion, client.versioned ? '1.0' : undefined);
            assert.equal(agent.messages.at(-1).role, 'assistant');
            assert.equal(agent.messages.at(-1).content, 'Hello there, friend.');
        });

        it('streams reasoning apart from the text', async () => {
            model.script(key, [{ content: 'Seven.', reasoning: 'Three and four make seven.' }]);
            agent.add(user(`${key} add three and four`));

            const run = await agent.run();

            expectOutcome(run);
            assert.equal(run.of('REASONING_MESSAGE_CONTENT').map((event) => event.delta).join(''), 'Three and four make seven.');
            assert.equal(run.text, 'Seven.');
            assert.ok(run.types.indexOf('REASONING_END') < run.types.indexOf('TEXT_MESSAGE_START'));
        });

        it('hands a tool call over and goes on with its answer', async () => {
            model.script(key, [{ toolCalls: [green] }, { content: 'The page is green.' }, { content: 'You are welcome.' }]);
            const first = await handOff([green], [background]);
            assert.deepEqual(first.shape,
                ['RUN_STARTED', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'RUN_FINISHED']);
            assert.deepEqual(JSON.parse(first.calls[0].args), { color: 'green' });
            const { id } = first.calls[0];
            expectOutcome(first, [id]);

            agent.add(answer(id, '{"status":"ok"}'));
            const second = await agent.run({ tools: [background] });

            expectOutcome(second);
            assert.deepEqual(second.types.filter((type) => type.startsWith('TOOL_CALL')), []);
            assert.equal(agent.messages.at(-1).content, 'The page is green.');
            assert.deepEqual(outline((await model.request(key, 2)).conversation), [
                `user: ${key} begin`,
                `assistant: | change_background({"color":"green"})#${id}`,
                `tool ${id}: {"status":"ok"}`,
            ]);

            agent.add(user('thank you'));
            expectOutcome(await agent.run({ tools: [background] }));
            assert.deepEqual(outline((await model.request(key, 3)).conversation).slice(3),
                ['assistant: The page is green.', 'user: thank you']);
        });

        it('continues after a request of the tool message alone, spelled tool_id and tool_name', async () => {
            model.script(key, [{ toolCalls: [green] }, { content: 'Done.' }]);
            const first = await handOff([green], [background]);
            const { id } = first.calls[0];

            const second = await postRun(gateway, {
                threadId: agent.threadId,
                runId: 'run-2',
                messages: [{ role: 'tool', tool_id: id, tool_name: 'change_background', content: '{"status":"ok"}' }],
                state: {},
                forwardedProps: {},
            });

            second.expectFinished();
            assert.equal(second.text, 'Done.');
            assert.deepEqual(second.types.filter((type) => type.startsWith('TOOL_CALL')), []);
            assert.deepEqual(outline((await model.request(key, 2)).conversation), [
                `user: ${key} begin`,
                `assistant: | change_background({"color":"green"})#${id}`,
                `tool ${id}: {"status":"ok"}`,
            ]);
        });

        it('hands parallel calls over and goes on when all are answered', async () => {
            const calls = ['read_title', 'read_width'].map((name) => ({ name, arguments: '{}', id: `call_${name}` }));
            const tools = calls.map((call) => tool(call.name));
            model.script(key, [{ toolCalls: calls }, { content: 'Both read.' }]);
            const first = await handOff(calls, tools);
            const [title, width] = first.calls.map((call) => call.id);
            expectOutcome(first, [title, width]);

            agent.add(answer(width, '800'), answer(title, 'Home'));
            const second = await agent.run({ tools });

            expectOutcome(second);
            assert.equal(second.text, 'Both read.');
            assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(1),
                [`assistant: | read_title({})#${title} | read_width({})#${width}`, `tool ${title}: Home`, `tool ${width}: 800`]);
        });

        it('keeps some of several answers and waits for the others', async () => {
            const calls = ['read_title', 'read_width'].map((name) => ({ name, arguments: '{}', id: `part_${name}` }));
            const tools = calls.map((call) => tool(call.name));
            model.script(key, [{ toolCalls: calls }, { content: 'Both read.' }]);
            const [title, width] = (await handOff(calls, tools)).calls.map((call) => call.id);

            agent.add(answer(width, '800'));
            const second = await agent.run({ tools });
            expectOutcome(second);
            assert.deepEqual(second.types, ['RUN_STARTED', 'RUN_FINISHED']);
            assert.equal(model.requests(key).length, 1);

            agent.add(answer(title, 'Home'));
            const third = await agent.run({ tools });

            expectOutcome(third);
            assert.equal(third.text, 'Both read.');
            assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(2),
                [`tool ${title}: Home`, `tool ${width}: 800`]);
        });

        it('executes the server call of a turn and hands its external call over', async () => {
            const calls = [{ name: 'get_weather', arguments: '{"city":"Bonn"}', id: 'call_weather' }, { ...green, id: 'call_mixed' }];
            model.script(key, [{ toolCalls: calls }, { content: 'Sunny, so green.' }]);
            const first = await handOff(calls, [background]);
            const [weatherId, greenId] = first.calls.map((call) => call.id);

            expectOutcome(first, [greenId]);
            assert.deepEqual(first.of('TOOL_CALL_RESULT').map((event) => [event.toolCallId, event.content]),
                [[weatherId, '{"sky":"clear","city":"Bonn"}']]);
            assert.equal(model.requests(key).length, 1);

            agent.add(answer(greenId, 'ok'));
            const second = await agent.run({ tools: [background] });

            expectOutcome(second);
            assert.equal(second.text, 'Sunny, so green.');
            assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(1), [
                `assistant: | get_weather({"city":"Bonn"})#${weatherId} | change_background({"color":"green"})#${greenId}`,
                `tool ${weatherId}: {"sky":"clear","city":"Bonn"}`,
                `tool ${greenId}: ok`,
            ]);
        });

        it('answers again when the last answer is to be regenerated', async () => {
            model.script(key, [{ content: 'First try.' }, { content: 'Second try.' }, { content: 'Bye.' }]);
            const question = user(`${key} write a line`);
            agent.add(question);
            await agent.run();

            agent.messages = [question];
            const again = await agent.run();

            expectOutcome(again);
            assert.equal(again.text, 'Second try.');
            assert.deepEqual(outline((await model.request(key, 2)).conversation), [`user: ${key} write a line`]);

            agent.add(user('bye'));
            await agent.run();
            assert.deepEqual(outline((await model.request(key, 3)).conversation),
                [`user: ${key} write a line`, 'assistant: Second try.', 'user: bye']);
        });

        it('takes a message with a known id and another text for an edit', async () => {
            model.script(key, [{ content: 'One.' }, { content: 'Two.' }, { content: 'Two, edited.' }]);
            const first = user(`${key} count`);
            const second = user('more');
            agent.add(first);
            await agent.run();
            agent.add(second);
            await agent.run();

            agent.messages = [...agent.messages.slice(0, 2), user('more, please', second.id)];
            const edited = await agent.run();

            expectOutcome(edited);
            assert.equal(edited.text, 'Two, edited.');
            assert.deepEqual(outline((await model.request(key, 3)).conversation),
                [`user: ${key} count`, 'assistant: One.', 'user: more, please']);
        });

        it('reports a failing model server as RUN_ERROR and recovers by a retry', async () => {
            const failure = { error: { message: 'the disk of host 10.1.2.3 is full' }, status: 500 };
            model.script(key, [failure, { content: 'Here again.' }]);
            agent.add(user(`${key} hello`));

            const failed = await agent.run();
            failed.expectError('model_unavailable');
            assert.ok(!failed.last.message.includes('10.1.2.3'), 'the error body of the model server was served');

            const retried = await agent.run();
            expectOutcome(retried);
            assert.equal(retried.text, 'Here again.');
            assert.deepEqual(outline((await model.request(key, 2)).conversation), [`user: ${key} hello`]);
        });

        // The mock says Retry-After: 1.
        it('waits for a model server that limits its rate', async () => {
            model.script(key, [{ error: { message: 'slow down' }, status: 429 }, { content: 'Here now.' }]);
            agent.add(user(`${key} hello`));

            const run = await agent.run();
            expectOutcome(run);
            assert.equal(run.text, 'Here now.');
        });

        it('reports a rate limit of the model server as RUN_ERROR after two repeats', async () => {
            const limited = { error: { message: 'slow down' }, status: 429 };
            model.script(key, [limited, limited, limited]);
            agent.add(user(`${key} hello`));

            (await agent.run()).expectError('model_unavailable');
        });

        it('reports a request that the model server rejects as RUN_ERROR', async () => {
            model.script(key, [{ error: { message: 'no such parameter' }, status: 400 }]);
            agent.add(user(`${key} hello`));

            (await agent.run()).expectError('model_rejected');
        });

        it('reports a model stream cut in text as RUN_ERROR after closing the text', async () => {
            model.script(key, [{ content: 'A sentence that never ends.', cutAfter: 3 }, { content: 'Whole.' }]);
            agent.add(user(`${key} hello`));

            const run = await agent.run();

            run.expectError('model_unavailable');
            assert.deepEqual(run.shape.slice(-3), ['TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'RUN_ERROR']);
            agent.add(user('go on'));
            expectOutcome(await agent.run());
        });

        it('reports a model stream cut in arguments as RUN_ERROR and never hands the call over', async (test) => {
            recordAs(`${client.name} ${test.name}`, ['AGUI204']);
            const cut = { toolCalls: [green], cutAfter: 3 };
            model.script(key, [cut, { content: 'Let us try again.' }]);
            agent.add(user(`${key} make it green`));

            const run = await agent.run({ tools: [background] });

            run.expectError('model_output_truncated');
            assert.deepEqual(run.shape.slice(-3), ['TOOL_CALL_ARGS', 'TOOL_CALL_END', 'RUN_ERROR']);
            agent.add(answer(run.calls[0].id, 'ok'), user('and now?'));
            expectOutcome(await agent.run({ tools: [background] }));
            assert.ok(!outline((await model.request(key, 2)).conversation).some((line) => line.endsWith(': ok')));
        });

        it('loses nothing when the client drops the connection and comes back with the same POST', async () => {
            const held = gate();
            model.script(key, [{ content: 'A long story that nobody waits for.', pauseAfter: 3, resume: held.opened }, { content: 'Yes.' }]);
            agent.add(user(`${key} tell a story`));
            await agent.run({
                onEvent: (event) => event.type === 'TEXT_MESSAGE_CONTENT' && agent.abort(),
            });

            const repeat = postRun(gateway, agent.sent[0]);
            held.open();
            const whole = await repeat;

            whole.expectFinished();
            assert.equal(whole.text, 'A long story that nobody waits for.');
            assert.equal(model.requests(key).length, 1);
            agent.add(user('are you done?'));
            expectOutcome(await agent.run());
            assert.equal(outline((await model.request(key, 2)).conversation)[1], 'assistant: A long story that nobody waits for.');
        });

        it('lets a run go on without a reader when X-On-Disconnect says continue', async () => {
            const held = gate();
            model.script(key, [{ content: 'A long story that nobody waits for.', pauseAfter: 3, resume: held.opened }, { content: 'Yes.' }]);
            agent = new Agent(client, gateway, { headers: { 'X-On-Disconnect': 'continue' } });
            agent.add(user(`${key} tell a story`));
            await agent.run({
                onEvent: (event) => event.type === 'TEXT_MESSAGE_CONTENT' && agent.abort(),
            });

            held.open();
            const exchange = await model.request(key, 1);
            await exchange.ended;

            assert.equal(exchange.hungUp, false);
            const replay = await postRun(gateway, agent.sent[0]);
            assert.equal(replay.expectFinished().text, 'A long story that nobody waits for.');
            agent.add(user('are you done?'));
            expectOutcome(await agent.run());
        });

        it('ends a run when the client aborts and X-On-Disconnect says cancel', async () => {
            model.script(key, [{ content: 'A story nobody hears.', pauseAfter: 3, resume: gate().opened }, { content: 'Yes.' }]);
            agent = new Agent(client, gateway, { headers: { 'X-On-Disconnect': 'cancel' } });
            agent.add(user(`${key} tell a story`));
            await agent.run({
                onEvent: (event) => event.type === 'TEXT_MESSAGE_CONTENT' && agent.abort(),
            });

            await (await model.request(key, 1)).closed;

            const replay = await postRun(gateway, agent.sent[0]);
            assert.deepEqual(replay.of('CUSTOM').map((event) => [event.name, event.value]), [['agui-gateway.run.stopped', { reason: 'user_stop' }]]);
            assert.equal(model.requests(key).length, 1);
            agent.add(user('are you there?'));
            expectOutcome(await agent.run());
        });

        it('stops a run by POST /agui/cancel', async () => {
            model.script(key, [{ content: 'A story without an end.', pauseAfter: 3, resume: gate().opened }, { content: 'Yes.' }]);
            agent.add(user(`${key} tell a story`));
            let answered;
            const run = await agent.run({
                onEvent: (event) => {
                    if (event.type === 'TEXT_MESSAGE_CONTENT') answered ??= cancel(gateway, agent.threadId);
                },
            });

            assert.deepEqual(await answered, { cancelled: true });
            run.expectFinished();
            assert.deepEqual(run.last.outcome, client.versioned ? { type: 'cancelled' } : undefined);
            assert.deepEqual(run.shape.slice(-4), ['TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'CUSTOM', 'RUN_FINISHED']);
            assert.deepEqual(run.of('CUSTOM')[0].value, { reason: 'user_stop' });
            await (await model.request(key, 1)).closed;
            assert.deepEqual(await cancel(gateway, agent.threadId, run.runId), { cancelled: true });
            agent.add(user('are you there?'));
            expectOutcome(await agent.run());
        });

        it('stops a run before the model has answered', async () => {
            model.script(key, [{ content: 'Too late.', hold: gate().opened }, { content: 'Yes.' }]);
            agent.add(user(`${key} tell a story`));
            const running = agent.run();
            const upstream = await model.request(key, 1);

            assert.deepEqual(await cancel(gateway, agent.threadId), { cancelled: true });

            const run = await running;
            run.expectFinished();
            assert.equal(run.text, '');
            await upstream.closed;
            agent.add(user('are you there?'));
            expectOutcome(await agent.run());
        });

        it('repeats a run for the same request and refuses another under its runId', async () => {
            model.script(key, [{ content: 'Once only.' }]);
            agent.add(user(`${key} hello`));
            const run = await agent.run();

            const replay = await postRun(gateway, agent.sent[0]);
            assert.deepEqual(replay.events, run.events);

            const other = await post(gateway.url, { ...agent.sent[0], messages: [user('something else')] });
            assert.equal(other.status, 409);
            assert.equal((await other.json()).error.code, 'run_id_reused');
        });

        it('left only valid streams and valid requests to the model server', () => {
            finishRecordings();
            model.checkRequests();
        });
    });
}

describe('a peer that declares nothing', () => {
    let model;
    let gateway;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model, config: { tools: { external: [{ ...background, parameters: JSON.stringify(background.parameters) }] } } });
    });
    after(() => stopAll(gateway, model));
    beforeEach((test) => recordAs(test.name));

    it('may send its tool answers together with the next user message', async (test) => {
        const key = `[${test.name}]`;
        model.script(key, [{ toolCalls: [green] }, { content: 'Green, and hello.' }]);
        const input = runInput({ threadId: 'with-user', messages: [user(`${key} begin`)] });
        const first = (await postRun(gateway, input)).expectFinished();
        const { id } = first.calls[0];

        const second = await postRun(gateway, runInput({
            threadId: 'with-user',
            messages: [{ role: 'tool', toolCallId: id, content: 'ok' }, user('hello')],
        }));

        assert.equal(second.expectFinished().text, 'Green, and hello.');
        assert.deepEqual(outline((await model.request(key, 2)).conversation).slice(2), [`tool ${id}: ok`, 'user: hello']);
    });

    it('gets 422 for an answer to a call that nobody made', async () => {
        const response = await post(gateway.url, runInput({
            threadId: 'nobody', messages: [{ role: 'tool', toolCallId: 'call_of_nobody', content: 'ok' }],
        }));
        assert.equal(response.status, 422);
        assert.equal((await response.json()).error.code, 'unknown_tool_call');
    });

    it('gets 422 for an answer that names another tool, and the thread goes on', async (test) => {
        const key = `[${test.name}]`;
        model.script(key, [{ toolCalls: [green] }, { content: 'Fine.' }]);
        const first = await postRun(gateway, runInput({ threadId: 'mismatch', messages: [user(`${key} begin`)] }));
        const message = { role: 'tool', tool_id: first.calls[0].id, tool_name: 'delete_everything', content: 'ok' };

        const refused = await post(gateway.url, runInput({ threadId: 'mismatch', messages: [message] }));
        assert.equal(refused.status, 422);
        assert.equal((await refused.json()).error.code, 'tool_name_mismatch');

        const second = await postRun(gateway, runInput({ threadId: 'mismatch', messages: [{ ...message, tool_name: 'change_background' }] }));
        assert.equal(second.expectFinished().text, 'Fine.');
    });

    it('may repeat an answer without effect', async (test) => {
        const key = `[${test.name}]`;
        model.script(key, [{ toolCalls: [green] }, { content: 'Fine.' }]);
        const first = await postRun(gateway, runInput({ threadId: 'repeat', messages: [user(`${key} begin`)] }));
        const messages = [{ role: 'tool', toolCallId: first.calls[0].id, content: 'ok' }];
        await postRun(gateway, runInput({ threadId: 'repeat', messages }));

        const third = await postRun(gateway, runInput({ threadId: 'repeat', messages }));

        third.expectFinished();
        assert.equal(third.text, '');
        assert.equal(model.requests(key).length, 2);
    });
    it('left only valid streams and valid requests to the model server', () => {
        finishRecordings();
        model.checkRequests();
    });
});
