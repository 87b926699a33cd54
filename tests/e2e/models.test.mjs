// Models as configured: several, one of which is out of order, and parameters in the form of each dialect.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';
import { finishRecordings } from './support/streams.mjs';
import { StrictServer } from './support/strict_server.mjs';

let runs = 0;

/// One user message to an agent, on a thread of its own; what the client saw.
async function ask(gateway, agentId, { headers, ...more } = {}) {
    const input = runInput({ threadId: `t-${++runs}`, messages: [user('Hello')], ...more });
    return (await postRun({ url: `${gateway.url}/agents/${agentId}` }, input, { headers })).expectFinished();
}

async function startModel(content) {
    const model = await ModelServer.start();
    model.mock.onMessage(/./, { content });
    return model;
}

/// A server of Chat Completions that breaks each connection until it works again.
class Mended extends StrictServer {
    path = '/v1';
    works = false;
    broken = 0;

    async serve(request, response) {
        if (this.works) return super.serve(request, response);
        this.broken += 1;
        return request.socket.destroy();
    }

    problem() {}

    answer() {
        const chunk = (delta, finish_reason = null) =>
            `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
        return `${chunk({ role: 'assistant', content: 'The first.' })}${chunk({}, 'stop')}data: [DONE]\n\n`;
    }
}

describe('a model whose server is down', () => {
    const token = 'a-token-of-the-e2e-tests';
    const headers = { Authorization: `Bearer ${token}` };
    let first;
    let spare;
    let gateway;

    before(async () => {
        [first, spare] = await Promise.all([Mended.start(), startModel('The spare.')]);
        // Two models of one server: the pause of one circuit outlasts the test, that of the other is short.
        const circuit = (circuit_open_seconds) =>
            ({ provider: 'openai', base_url: first.url, model: 'mock', circuit_failures: 2, circuit_open_seconds });
        gateway = await Gateway.start({
            model: spare,
            config: {
                auth: { mode: 'bearer', token_env: 'E2E_TOKEN' },
                models: { long: circuit(3600), short: circuit(1) },
                agents: [{ id: 'long', models: ['long', 'main'] }, { id: 'short', models: ['short', 'main'] }],
            },
            env: { E2E_TOKEN: token },
        });
    });
    after(() => stopAll(gateway, first, spare));

    const changes = (name) =>
        [...gateway.log.matchAll(new RegExp(`a model's circuit changed model=${name} circuit=(\\w+)`, 'g'))].map(([, to]) => to);

    async function circuitOf(name) {
        const response = await fetch(`${gateway.base}/readyz?detail`, { headers });
        assert.equal(response.status, 200);
        return (await response.json()).models[name];
    }

    it('opens its circuit, and is not asked while it is open', async () => {
        assert.deepEqual(await circuitOf('long'), { circuit: 'closed', failures: 0 });
        for (let failures = 1; failures <= 2; ++failures) {
            assert.equal((await ask(gateway, 'long', { headers })).text, 'The spare.');
            assert.equal((await circuitOf('long')).failures, failures);
        }
        assert.deepEqual(await circuitOf('long'), { circuit: 'open', failures: 2 });
        assert.deepEqual(changes('long'), ['open']);

        const asked = first.broken;
        assert.equal((await ask(gateway, 'long', { headers })).text, 'The spare.');
        assert.equal(first.broken, asked);
        assert.deepEqual(changes('long'), ['open']);
    });

    it('has a circuit that only the token shows', async () => {
        assert.equal((await fetch(`${gateway.base}/readyz?detail`)).status, 401);
        assert.equal((await fetch(`${gateway.base}/readyz`)).status, 200);
    });

    it('is asked again after its pause, and answers', async () => {
        for (let failures = 1; failures <= 2; ++failures) await ask(gateway, 'short', { headers });
        assert.equal((await circuitOf('short')).circuit, 'open');
        first.works = true;

        // Nothing tells that the pause is over, so the agent is asked until the first model answers.
        let answered = 'The spare.';
        while (answered === 'The spare.') answered = (await ask(gateway, 'short', { headers })).text;

        assert.equal(answered, 'The first.');
        assert.equal(first.requests.length, 1);
        assert.deepEqual(await circuitOf('short'), { circuit: 'closed', failures: 0 });
        assert.deepEqual(changes('short'), ['open', 'half_open', 'closed']);
        assert.equal((await circuitOf('long')).circuit, 'open');
    });
});

const schema = { type: 'object', properties: { mood: { type: 'string' } }, required: ['mood'], additionalProperties: false };
const asked = { type: 'json_schema', json_schema: { name: 'mood', strict: true, schema } };

/// The settings in the form of each dialect: `own` are those of the agent `set`, `format` has the schema under a name.
const dialects = [
    {
        provider: 'openai', path: '/v1', model: 'gpt-4o', url: '/v1/chat/completions',
        own: { top_p: 0.5, stop: ['END'], seed: 7, reasoning_effort: 'high' },
        format: (name) => ({ response_format: { ...asked, json_schema: { ...asked.json_schema, name } } }),
    },
    {
        provider: 'anthropic', path: '', model: 'claude-opus-4-6', url: '/v1/messages', settings: { drop: ['seed'] },
        own: { top_p: 0.5, stop_sequences: ['END'], output_config: { effort: 'high' } },
        format: () => ({ output_config: { format: { type: 'json_schema', schema } } }),
    },
    {
        provider: 'responses', path: '/v1', model: 'gpt-5', url: '/v1/responses', settings: { drop: ['stop', 'seed'] },
        own: { top_p: 0.5, reasoning: { effort: 'high' } },
        format: (name) => ({ text: { format: { type: 'json_schema', name, strict: true, schema } } }),
    },
];
const names = ['top_p', 'stop', 'stop_sequences', 'seed', 'reasoning_effort', 'reasoning', 'response_format', 'text', 'output_config'];

for (const { provider, path, model, url, settings, own, format } of dialects) {
    describe(`parameters by ${provider}`, () => {
        let server;
        let gateway;

        before(async () => {
            server = await startModel('{"mood":"good"}');
            gateway = await Gateway.start({
                model: server,
                config: {
                    model: { provider, base_url: `${new URL(server.url).origin}${path}`, model, ...settings },
                    agents: [
                        { id: 'plain', models: ['main'], overridable: ['response_format'] },
                        { id: 'set', models: ['main'], top_p: 0.5, stop: ['END'], seed: 7, reasoning_effort: 'high' },
                        { id: 'schema', models: ['main'], reply_schema: JSON.stringify(schema) },
                    ],
                },
            });
        });
        after(() => stopAll(gateway, server));

        /// The settings in the request that a run of this agent makes.
        async function sent(agentId, more) {
            assert.equal((await ask(gateway, agentId, more)).text, '{"mood":"good"}');
            const exchange = server.exchanges.at(-1);
            assert.equal(exchange.url, url);
            return Object.fromEntries(Object.entries(exchange.body).filter(([name]) => names.includes(name)));
        }

        it('are not sent unless they are set', async () => {
            assert.deepEqual(await sent('plain'), {});
        });

        it('of an agent', async () => {
            assert.deepEqual(await sent('set'), own);
        });

        it('response_format of a request', async () => {
            assert.deepEqual(await sent('plain', { forwardedProps: { response_format: asked } }), format('mood'));
        });

        it('reply_schema of an agent', async () => {
            assert.deepEqual(await sent('schema'), format('reply'));
        });
    });
}

it('left only valid streams', () => finishRecordings());
