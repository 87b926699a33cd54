// Conversations with a model server that speaks Anthropic's Messages, as strictly as Claude.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Claude } from './support/claude.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { parseStream } from './support/streams.mjs';

const paint = {
    name: 'paint.wall', // Not a name that the dialect allows.
    description: 'Paints.',
    parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
};

describe('a model that speaks Messages', () => {
    let claude;
    let gateway;
    let runs = 0;

    before(async () => {
        claude = await Claude.start();
        gateway = await Gateway.start({
            model: claude,
            config: {
                model: {
                    provider: 'anthropic', base_url: claude.url, model: 'claude-opus-5-5', api_key_env: 'E2E_CLAUDE_KEY',
                    thinking_display: 'summarized',
                },
                agent: { overridable: ['temperature'] },
            },
            env: { E2E_CLAUDE_KEY: 'sk-ant-test-key-of-e2e' },
        });
    });
    after(() => stopAll(gateway, claude));

    async function run(threadId, message, members = {}, end = 'RUN_FINISHED') {
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
    const textOf = (events) => events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('');

    it('gets its thoughts back after a hand-off and a killed process', async () => {
        const first = await run('t1', user('please paint'));
        const started = first.find(({ type }) => type === 'TOOL_CALL_START');
        assert.equal(started.toolCallName, 'paint.wall');
        assert.equal(first.filter(({ type }) => type === 'TOOL_CALL_ARGS').map(({ delta }) => delta).join(''), '{"color": "blue"}');
        await gateway.end('SIGKILL');
        await gateway.launch();
        const second = await run('t1', { role: 'tool', toolCallId: started.toolCallId, content: '{"ok":true}' });
        assert.equal(textOf(second), 'It is done.');
        const third = await run('t1', user('thanks'));

        assert.deepEqual(claude.refusals, []);
        assert.equal(claude.returned, 1 + 2);
        assert.equal(claude.dropped, 0);
        assert.deepEqual(claude.requests.at(-1).messages[1].content.map(({ type }) => type), ['thinking', 'tool_use']);
        const { usage } = third.at(-1);
        assert.equal(usage[0].inputTokens, 15);
        assert.ok(!JSON.stringify([first, second, third]).includes('c2ln'), 'a client saw a signature');
    });

    it('goes on where the context of the application changes', async () => {
        const context = (value) => ({ context: [{ description: 'cart', value }] });
        await run('t2', user('hello'), context('3 items'));
        const { dropped, returned } = claude;
        await run('t2', user('and now?'), context('4 items'));

        assert.deepEqual(claude.refusals, []);
        assert.equal(claude.dropped, dropped);
        assert.equal(claude.returned, returned + 1);
    });

    it('goes on after a pause', async () => {
        const { dropped, requests } = claude;
        const asked = requests.length;
        const events = await run('t4', user('please search'));
        const [paused, further] = requests.slice(asked);
        await run('t4', user('thanks'));

        assert.deepEqual(claude.refusals, []);
        assert.equal(claude.dropped, dropped);
        assert.equal(requests.length, asked + 3);
        assert.equal(further.messages.length, paused.messages.length + 1);
        assert.equal(textOf(events), 'Found it.');
        assert.equal(events.filter(({ type }) => type === 'RUN_FINISHED').length, 1);
        assert.equal(events.at(-1).usage[0].inputTokens, 2 * 15);
    });

    it('gets neither the text nor the question back that it refused', async () => {
        const events = await run('t5', user('something forbidden'), {}, 'RUN_ERROR');
        assert.equal(events.at(-1).code, 'content_filtered');
        assert.equal(textOf(events), 'I could');
        assert.equal(textOf(await run('t5', user('hello'))), 'It is done.');

        assert.deepEqual(claude.refusals, []);
    });

    it('is not asked with a setting that it refuses', async () => {
        await run('t3', user('hello'), { forwardedProps: { temperature: 0.3 } });

        assert.deepEqual(claude.refusals, []);
        assert.match(gateway.log, /left out because the model refuses it model=main setting=temperature/);
    });
});
