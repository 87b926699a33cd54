// Conversations with a model server that speaks OpenAI's Responses, as strictly as OpenAI.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Gateway, stopAll } from './support/gateway.mjs';
import { OpenaiResponses } from './support/openai_responses.mjs';
import { parseStream } from './support/streams.mjs';

const paint = {
    name: 'paint.wall', // Not a name that the dialect allows.
    description: 'Paints.',
    parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
};

describe('a model that speaks Responses', () => {
    let openai;
    let gateway;
    let runs = 0;

    before(async () => {
        openai = await OpenaiResponses.start();
        gateway = await Gateway.start({
            model: openai,
            config: {
                model: {
                    provider: 'responses', base_url: openai.url, model: 'gpt-5.6', api_key_env: 'E2E_OPENAI_KEY',
                    reasoning_summary: 'auto',
                },
            },
            env: { E2E_OPENAI_KEY: 'sk-test-key-of-e2e' },
        });
    });
    after(() => stopAll(gateway, openai));

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

    const user = (content) => ({ role: 'user', content });
    const textOf = (events, type) => events.filter((event) => event.type === type).map(({ delta }) => delta).join('');

    it('gets its reasoning back after a hand-off and a killed process', async () => {
        const first = await run('t1', user('please paint'));
        const started = first.find(({ type }) => type === 'TOOL_CALL_START');
        assert.equal(started.toolCallName, 'paint.wall');
        assert.equal(textOf(first, 'TOOL_CALL_ARGS'), '{"color": "blue"}');
        assert.equal(textOf(first, 'REASONING_MESSAGE_CONTENT'), 'Thought 1');
        await gateway.end('SIGKILL');
        await gateway.launch();
        const second = await run('t1', { role: 'tool', toolCallId: started.toolCallId, content: '{"ok":true}' });
        assert.equal(textOf(second, 'TEXT_MESSAGE_CONTENT'), 'It is done.');
        const third = await run('t1', user('thanks'));

        assert.deepEqual(openai.refusals, []);
        assert.equal(openai.returned, 1 + 2);
        const { input, reasoning, prompt_cache_key } = openai.requests.at(-1);
        assert.deepEqual(input.map(({ type }) => type),
            ['message', 'reasoning', 'function_call', 'function_call_output', 'reasoning', 'message', 'message']);
        assert.deepEqual(reasoning, { summary: 'auto' });
        assert.equal(prompt_cache_key, 't1');
        const { usage } = third.at(-1);
        assert.equal(usage[0].inputTokens, 15);
        assert.ok(!JSON.stringify([first, second, third]).includes('gAAAA'), 'a client saw encrypted reasoning');
    });

    it('begins each request of a thread with the one before it', () => {
        const [one, two, three] = openai.requests.slice(-3).map(({ input }) => input);
        assert.deepEqual(two.slice(0, one.length), one);
        assert.deepEqual(three.slice(0, two.length), two);
    });

    it('uses its own tools without a call that waits', async () => {
        const events = await run('t2', user('search the web'));
        assert.equal(textOf(events, 'TEXT_MESSAGE_CONTENT'), 'It is done.');
        assert.ok(!events.some(({ type }) => type.startsWith('TOOL_CALL')), 'a tool of the server became a call');
        await run('t2', user('and now?'));

        assert.deepEqual(openai.refusals, []);
        assert.ok(openai.requests.at(-1).input.some(({ type }) => type === 'web_search_call'));
    });

    it('fails in the stream, and answers the next message', async () => {
        const failed = await run('t3', user('a failure, please'), { end: 'RUN_ERROR' });
        assert.ok(!JSON.stringify(failed).includes('Something went wrong'), 'a client saw the text of the model server');
        await run('t3', user('again'));

        assert.deepEqual(openai.refusals, []);
    });
});
