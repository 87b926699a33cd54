// Conversations with model servers that speak Anthropic's Messages and OpenAI's Responses, as strictly as their vendors.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Claude } from './support/claude.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { OpenaiResponses } from './support/openai_responses.mjs';
import { parseStream } from './support/streams.mjs';

const paint = {
    name: 'paint.wall', // Not a name that the dialects allow.
    description: 'Paints.',
    parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
};
const user = (content) => ({ role: 'user', content });
const textOf = (events, type = 'TEXT_MESSAGE_CONTENT') =>
    events.filter((event) => event.type === type).map(({ delta }) => delta).join('');

/// Tests with a gateway whose model is a `Server`. `tests` adds those of the dialect: it gets the function that makes a
/// run, and one that gives the server and the gateway.
function dialect(name, { Server, key, secret, model, agent = {} }, tests) {
    describe(`a model that speaks ${name}`, () => {
        let server;
        let gateway;
        let runs = 0;

        before(async () => {
            server = await Server.start();
            gateway = await Gateway.start({
                model: server,
                config: { model: { base_url: server.url, api_key_env: 'E2E_MODEL_KEY', ...model }, agent },
                env: { E2E_MODEL_KEY: key },
            });
        });
        after(() => stopAll(gateway, server));

        async function run(threadId, message, { end = 'RUN_FINISHED', ...members } = {}) {
            const response = await fetch(gateway.url, {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({
                    threadId, runId: `run-${++runs}`, protocolVersion: '1.1', messages: [{ id: `m-${runs}`, ...message }], tools: [paint],
                    ...members,
                }),
            });
            assert.equal(response.status, 200);
            const events = parseStream(await response.text()).map(({ event }) => event);
            assert.equal(events.at(-1).type, end, JSON.stringify(events.at(-1)));
            return events;
        }

        it('gets its thoughts back after a hand-off and a killed process', async () => {
            const first = await run('t1', user('please paint'));
            const started = first.find(({ type }) => type === 'TOOL_CALL_START');
            assert.equal(started.toolCallName, 'paint.wall');
            assert.equal(textOf(first, 'TOOL_CALL_ARGS'), '{"color": "blue"}');
            assert.match(textOf(first, 'REASONING_MESSAGE_CONTENT'), /^Thought \d$/);
            await gateway.end('SIGKILL');
            await gateway.launch();
            const second = await run('t1', { role: 'tool', toolCallId: started.toolCallId, content: '{"ok":true}' });
            assert.equal(textOf(second), 'It is done.');
            const third = await run('t1', user('thanks'));

            assert.deepEqual(server.refusals, []);
            assert.equal(server.returned, 1 + 2);
            assert.equal(third.at(-1).usage[0].inputTokens, 15);
            assert.ok(!JSON.stringify([first, second, third]).includes(secret), 'a client saw opaque data');
        });

        tests(run, () => ({ server, gateway }));

        it('has refused nothing', () => assert.deepEqual(server.refusals, []));
    });
}

dialect('Messages', {
    Server: Claude,
    key: 'sk-ant-test-key-of-e2e',
    secret: 'c2ln',
    model: { provider: 'anthropic', model: 'claude-opus-5-5', thinking_display: 'summarized', tool_addition: true },
    agent: { overridable: ['temperature'] },
}, (run, parts) => {
    it('gets the thoughts in their places', () => {
        const { server } = parts();
        assert.equal(server.dropped, 0);
        assert.deepEqual(server.requests.at(-1).messages[1].content.map(({ type }) => type), ['thinking', 'tool_use']);
    });

    it('goes on where the context of the application changes', async () => {
        const { server } = parts();
        const context = (value) => ({ context: [{ description: 'cart', value }] });
        await run('t2', user('hello'), context('3 items'));
        const { dropped, returned } = server;
        await run('t2', user('and now?'), context('4 items'));

        assert.equal(server.dropped, dropped);
        assert.equal(server.returned, returned + 1);
    });

    it('is told a tool that comes inside a turn, and keeps its thoughts', async () => {
        const { server } = parts();
        const { dropped, returned } = server;
        const tools = [{ ...paint, name: 'scroll' }, paint];
        const first = await run('t6', user('please paint'));
        const { toolCallId } = first.find(({ type }) => type === 'TOOL_CALL_START');
        await run('t6', { role: 'tool', toolCallId, content: '{"ok":true}' }, { tools });
        const told = server.requests.at(-1);
        await run('t6', user('thanks'), { tools });
        const next = server.requests.at(-1);

        assert.equal(told.tools.length, 1);
        assert.equal(told.messages.at(-1).role, 'system');
        assert.equal(told.messages.at(-1).content[0].tool.definition.name, 'scroll');
        assert.equal(next.tools.length, 1);
        assert.deepEqual(next.messages.slice(0, 4).map(({ role }) => role), ['user', 'assistant', 'user', 'system']);
        assert.equal(server.dropped, dropped);
        assert.equal(server.returned, returned + 1 + 2);
    });

    it('goes on after a pause', async () => {
        const { server } = parts();
        const { dropped, requests } = server;
        const asked = requests.length;
        const events = await run('t4', user('please search'));
        const [paused, further] = requests.slice(asked);
        await run('t4', user('thanks'));

        assert.equal(server.dropped, dropped);
        assert.equal(requests.length, asked + 3);
        assert.equal(further.messages.length, paused.messages.length + 1);
        assert.equal(textOf(events), 'Found it.');
        assert.equal(events.filter(({ type }) => type === 'RUN_FINISHED').length, 1);
        assert.equal(events.at(-1).usage[0].inputTokens, 2 * 15);
    });

    it('gets neither the text nor the question back that it refused', async () => {
        const events = await run('t5', user('something forbidden'), { end: 'RUN_ERROR' });
        assert.equal(events.at(-1).code, 'content_filtered');
        assert.equal(textOf(events), 'I could');
        assert.equal(textOf(await run('t5', user('hello'))), 'It is done.');
    });

    it('is not asked with a setting that it refuses', async () => {
        await run('t3', user('hello'), { forwardedProps: { temperature: 0.3 } });
        assert.match(parts().gateway.log, /left out because the model refuses it model=main setting=temperature/);
    });
});

dialect('Responses', {
    Server: OpenaiResponses,
    key: 'sk-test-key-of-e2e',
    secret: 'gAAAA',
    model: { provider: 'responses', model: 'gpt-5.6', reasoning_summary: 'auto' },
}, (run, parts) => {
    it('gets its items in their places, and each request begins with the one before it', () => {
        const { server } = parts();
        const { input, reasoning, prompt_cache_key } = server.requests.at(-1);
        assert.deepEqual(input.map(({ type }) => type),
            ['message', 'reasoning', 'function_call', 'function_call_output', 'reasoning', 'message', 'message']);
        assert.deepEqual(reasoning, { summary: 'auto' });
        assert.equal(prompt_cache_key, 't1');
        const [one, two, three] = server.requests.slice(-3).map((body) => body.input);
        assert.deepEqual(two.slice(0, one.length), one);
        assert.deepEqual(three.slice(0, two.length), two);
    });

    it('uses its own tools without a call that waits', async () => {
        const events = await run('t2', user('search the web'));
        assert.equal(textOf(events), 'It is done.');
        assert.ok(!events.some(({ type }) => type.startsWith('TOOL_CALL')), 'a tool of the server became a call');
        await run('t2', user('and now?'));
        assert.ok(parts().server.requests.at(-1).input.some(({ type }) => type === 'web_search_call'));
    });

    it('fails in the stream, and answers the next message', async () => {
        const failed = await run('t3', user('a failure, please'), { end: 'RUN_ERROR' });
        assert.ok(!JSON.stringify(failed).includes('Something went wrong'), 'a client saw the text of the model server');
        await run('t3', user('again'));
    });
});
