// The mocks of the model servers, read by the vendors' own clients; and a mock that others wrote, in each dialect, through
// the gateway.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { LLMock } from '@copilotkit/aimock';
import OpenAI from 'openai';
import { Claude } from './support/claude.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { OpenaiResponses } from './support/openai_responses.mjs';
import { parseStream } from './support/streams.mjs';

const parameters = { type: 'object', properties: { color: { type: 'string' } } };

async function startAimock() {
    const mock = new LLMock({ port: 0, logLevel: 'silent', chunkSize: 6 });
    mock.on({ userMessage: /paint/, hasToolResult: false }, { toolCalls: [{ name: 'paint', arguments: '{"color": "blue"}' }] });
    mock.onMessage(/./, { content: 'It is done.' });
    await mock.start();
    return mock;
}

describe('the clients of the vendors understand the mocks', () => {
    let claude;
    let openai;
    let aimock;
    let servers;

    before(async () => {
        [claude, openai, aimock] = await Promise.all([Claude.start(), OpenaiResponses.start(), startAimock()]);
        servers = {
            chat_completions: { url: `${aimock.url}/v1`, key: 'none' },
            messages: { url: claude.url, key: 'sk-ant-test-key-of-e2e' },
            responses: { url: openai.url, key: 'sk-test-key-of-e2e' },
        };
    });
    after(() => stopAll(claude, openai, aimock));

    const said = { text: 'It is done.', calls: [] };
    const called = { text: '', calls: [{ name: 'paint', arguments: { color: 'blue' } }] };
    const cases = [
        ['chat_completions', 'hello', said], ['chat_completions', 'please paint', called],
        ['messages', 'hello', said], ['messages', 'please paint', called], ['messages', 'please search', { text: '', calls: [] }],
        ['messages', 'something forbidden', { text: 'I could', calls: [] }],
        ['responses', 'hello', said], ['responses', 'please paint', called], ['responses', 'please search', said],
    ];

    const readers = {
        async chat_completions({ url, key }, ask) {
            const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
            const tools = [{ type: 'function', function: { name: 'paint', parameters } }];
            const stream = client.chat.completions.stream({ model: 'm', messages: [{ role: 'user', content: ask }], tools });
            const { content, tool_calls } = (await stream.finalChatCompletion()).choices[0].message;
            const calls = tool_calls?.map((call) => ({ name: call.function.name, arguments: JSON.parse(call.function.arguments) }));
            return { text: content ?? '', calls: calls ?? [] };
        },
        async messages({ url, key }, ask) {
            const client = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
            const { content } = await client.messages.stream({
                model: 'm', max_tokens: 100, messages: [{ role: 'user', content: [{ type: 'text', text: ask }] }],
                tools: [{ name: 'paint', input_schema: parameters }],
            }).finalMessage();
            return {
                text: content.filter(({ type }) => type === 'text').map(({ text }) => text).join(''),
                calls: content.filter(({ type }) => type === 'tool_use').map(({ name, input }) => ({ name, arguments: input })),
            };
        },
        async responses({ url, key }, ask) {
            const client = new OpenAI({ baseURL: url, apiKey: key, maxRetries: 0 });
            const { output, output_text } = await client.responses.stream({
                model: 'm', store: false, prompt_cache_key: 'p', stream_options: { include_obfuscation: false },
                input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: ask }] }],
                tools: [{ type: 'function', name: 'paint', strict: false, parameters }],
            }).finalResponse();
            const calls = output.filter(({ type }) => type === 'function_call');
            return { text: output_text, calls: calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) })) };
        },
    };

    for (const [dialect, ask, expected] of cases) {
        it(`${dialect}, JavaScript: ${ask}`, async () => {
            assert.deepEqual(await readers[dialect](servers[dialect], ask), expected);
        });
    }

    it('all of them, Python', async () => {
        const unasked = (ask) => ask.replace('something', 'anything'); // A text that was refused may not come again.
        const script = fileURLToPath(new URL('support/read_with_sdks.py', import.meta.url));
        const asked = cases.map(([dialect, ask]) => ({ dialect, ask: unasked(ask), ...servers[dialect] }));
        const { stdout } = await promisify(execFile)('python3', [script, JSON.stringify(asked)]);
        assert.deepEqual(JSON.parse(stdout), cases.map(([, , expected]) => expected));
    });

    it('was refused nothing', () => {
        assert.ok(claude.requests.length > 0 && openai.requests.length > 0);
        assert.deepEqual([...claude.refusals, ...openai.refusals], []);
    });
});

for (const [provider, path, model] of [['openai', '/v1', 'gpt-4o'], ['anthropic', '', 'claude-sonnet-4-5'], ['responses', '/v1', 'gpt-5']]) {
    describe(`aimock by ${provider}`, () => {
        let mock;
        let gateway;
        let runs = 0;

        before(async () => {
            mock = await startAimock();
            gateway = await Gateway.start({
                model: mock,
                config: { model: { provider, base_url: `${mock.url}${path}`, model } },
            });
        });
        after(() => stopAll(gateway, mock));

        async function run(threadId, message) {
            const response = await fetch(gateway.url, {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body: JSON.stringify({
                    threadId, runId: `run-${++runs}`, protocolVersion: '1.1', messages: [{ id: `m-${runs}`, ...message }],
                    tools: [{ name: 'paint', description: 'Paints.', parameters }],
                }),
            });
            assert.equal(response.status, 200);
            const events = parseStream(await response.text()).map(({ event }) => event);
            const ends = events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR');
            assert.deepEqual(ends, [events.at(-1)]);
            return events;
        }

        const user = (content) => ({ role: 'user', content });
        const textOf = (events, type) => events.filter((event) => event.type === type).map(({ delta }) => delta).join('');

        it('hands a call off and goes on', async () => {
            const first = await run('t1', user('please paint'));
            const started = first.find(({ type }) => type === 'TOOL_CALL_START');
            assert.equal(started.toolCallName, 'paint');
            assert.deepEqual(JSON.parse(textOf(first, 'TOOL_CALL_ARGS')), { color: 'blue' });
            const second = await run('t1', { role: 'tool', toolCallId: started.toolCallId, content: 'ok' });
            assert.equal(textOf(second, 'TEXT_MESSAGE_CONTENT'), 'It is done.');
            const third = await run('t1', user('thanks'));
            assert.equal(textOf(third, 'TEXT_MESSAGE_CONTENT'), 'It is done.');
        });

        for (const chaos of ['dropRate', 'malformedRate', 'rateLimitRate', 'disconnectRate']) {
            it(`ends a run that meets ${chaos}, and the next one works`, async () => {
                await run(chaos, user('hello'));
                mock.setChaos({ [chaos]: 1 });
                try {
                    assert.equal((await run(chaos, user('are you there?'))).at(-1).type, 'RUN_ERROR');
                } finally {
                    mock.clearChaos();
                }
                const next = await run(chaos, user('and now?'));
                assert.equal(next.at(-1).type, 'RUN_FINISHED');
                assert.equal(textOf(next, 'TEXT_MESSAGE_CONTENT'), 'It is done.');
            });
        }

        it('ends a run whose answer breaks off, and the next one works', async () => {
            mock.prependFixture({ match: { userMessage: /story/, sequenceIndex: 0 }, response: { content: 'Once upon a time' }, truncateAfterChunks: 2 });
            assert.equal((await run('cut', user('tell a story'))).at(-1).type, 'RUN_ERROR');
            const next = await run('cut', user('and now?'));
            assert.equal(textOf(next, 'TEXT_MESSAGE_CONTENT'), 'It is done.');
        });
    });
}
