// CopilotKit's routes of the gateway, over HTTP: each form of each request, its refusals, and what must not be stored.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { parseStream } from './support/streams.mjs';
import { within } from './support/browser.mjs';
import { WeatherService } from './support/weather.mjs';

const suggest = {
    tools: [{ name: 'copilotkitSuggest', description: 'Suggests.', parameters: { type: 'object', properties: {} } }],
    forwardedProps: { toolChoice: { type: 'function', function: { name: 'copilotkitSuggest' } } },
};
let numbered = 0;

describe('routes for CopilotKit', () => {
    let model;
    let gateway;
    let base;
    let weather;

    before(async () => {
        model = await ModelServer.start();
        weather = await WeatherService.start();
        gateway = await Gateway.start({ model, config: {
            tools: { webhook: [{ ...weather.tool, approval: 'always' }] },
            server: { copilotkit_path: '/copilotkit', cors_origins: ['https://app.example'], cors_credentials: true },
            agents: [{ id: 'default', models: ['main'] }, { id: 'other-agent', models: ['main'] }],
        } });
        base = gateway.url.replace(/\/agui$/, '/copilotkit');
    });
    after(() => stopAll(gateway, weather, model));

    function input(text, more = {}) {
        numbered += 1;
        const threadId = more.threadId ?? `thread-${numbered}`;
        return {
            threadId, runId: `run-${numbered}`, state: {}, tools: [], context: [], forwardedProps: {},
            messages: text === undefined ? [] : [{ id: `u-${numbered}`, role: 'user', content: text }], ...more,
        };
    }
    const post = (path, body, more = {}) => fetch(`${base}${path}`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, ...(body !== undefined && { body: JSON.stringify(body) }), ...more,
    });
    const envelope = (method, params, body) => post('', { method, ...(params && { params }), ...(body !== undefined && { body }) });

    /// The same request by both transports.
    const transports = {
        REST: {
            run: (agent, body) => post(`/agent/${encodeURIComponent(agent)}/run`, body),
            connect: (agent, body) => post(`/agent/${encodeURIComponent(agent)}/connect`, body),
            stop: (agent, thread, body) => post(`/agent/${encodeURIComponent(agent)}/stop/${encodeURIComponent(thread)}`, body),
            threads: (method, path, body) => fetch(`${base}/threads${path}`, {
                method, headers: { 'Content-Type': 'application/json' }, ...(body && { body: JSON.stringify(body) }) }),
        },
        'single mode': {
            run: (agentId, body) => envelope('agent/run', { agentId }, body),
            connect: (agentId, body) => envelope('agent/connect', { agentId }, body),
            stop: (agentId, threadId, body) => envelope('agent/stop', { agentId, threadId }, body),
            threads: (httpMethod, path, body) => envelope('resource/request', { path: `/threads${path}`, httpMethod }, body),
        },
    };
    const events = async (response) => {
        assert.equal(response.status, 200);
        return parseStream(await response.text()).map((each) => each.event ?? each);
    };
    const types = (list) => list.map((each) => each.type);

    it('info says what is offered, the same to a page of another origin', async () => {
        const response = await fetch(`${base}/info`, { headers: { Origin: 'https://app.example' } });
        assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.example');
        assert.equal(response.headers.get('access-control-allow-credentials'), 'true');
        const info = await response.json();
        assert.deepEqual(Object.keys(info.agents), ['default', 'other-agent']);
        assert.equal(info.agents.default.name, 'default');
        assert.equal(info.agents.default.capabilities.transport.streaming, true);
        assert.equal(info.mode, 'sse');
        assert.equal(info.suggestions, true);
        assert.equal(info.singleRoute, undefined);
        const single = await (await envelope('info')).json();
        assert.deepEqual(single.singleRoute, { resourceOperations: true, threadEndpoints: info.threadEndpoints });
        assert.deepEqual(single.agents, info.agents);
    });

    for (const [name, transport] of Object.entries(transports)) {
        it(`${name}: run, connect, and the inspector's reads`, async () => {
            const key = `[${name} run]`;
            model.script(key, [{ blocks: [
                { type: 'text', text: 'Look.' }, { type: 'toolCall', name: 'look', arguments: '{"at":"it"}', id: `look-${name}` }] }]);
            const asked = input(key, { tools: [{ name: 'look', description: '', parameters: {} }], state: { a: 1 } });
            const streamed = await events(await transport.run('other-agent', asked));
            const ofCall = types(streamed).filter((type) => type.startsWith('TOOL_CALL'));
            assert.deepEqual([...new Set(ofCall)], ['TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END']);
            assert.equal(streamed.at(-1).type, 'RUN_FINISHED');
            const shown = await events(await transport.connect('other-agent', input(undefined, { threadId: asked.threadId })));
            assert.equal(shown[0].type, 'RUN_STARTED');
            assert.equal(shown.at(-1).type, 'RUN_FINISHED');
            const messages = shown.find((each) => each.type === 'MESSAGES_SNAPSHOT').messages;
            assert.deepEqual(messages.map((each) => each.role), ['user', 'assistant']);

            // Plain GETs in both modes: an envelope would not count among the large replies.
            const read = async (what) => (await transports.REST.threads('GET', `/${asked.threadId}/${what}`)).json();
            for (const what of ['messages', 'events', 'state']) {
                const response = await transport.threads('GET', `/${asked.threadId}/${what}`);
                assert.equal(response.status, name === 'REST' ? 200 : 404, what);
            }
            const flat = (await read('messages')).messages;
            assert.deepEqual(flat.map((each) => each.role), ['user', 'assistant']);
            assert.deepEqual(flat[1].toolCalls, [{ id: `look-${name}`, name: 'look', args: '{"at":"it"}' }]);
            assert.deepEqual(await read('state'), { state: { a: 1 } });
            assert.deepEqual((await read('events')).events.map((each) => each.type), ['MESSAGES_SNAPSHOT', 'STATE_SNAPSHOT']);
        });

        it(`${name}: connect goes on with the active run, and stop ends it`, async () => {
            const key = `[${name} stop]`;
            const never = gate();
            model.script(key, [{ content: 'A long story. '.repeat(20), pauseAfter: 3, resume: never.opened }]);
            const asked = input(key);
            const running = transport.run('default', asked);
            const exchange = await model.request(key, 1);
            const seen = transport.connect('default', input(undefined, { threadId: asked.threadId }));
            const reading = await seen;
            const other = await transport.stop('default', asked.threadId, { runId: 'another run' });
            assert.equal((await other.json()).stopped, false);
            const stopped = await transport.stop('default', asked.threadId, { runId: asked.runId });
            assert.deepEqual(await stopped.json(), { stopped: true });
            await within(5, exchange.closed, 'the model server is left');
            never.open();
            assert.equal((await events(await running)).at(-1).type, 'RUN_FINISHED');
            const shown = await events(reading);
            assert.equal(shown.filter((each) => each.type === 'RUN_STARTED').length, 2);
            assert.equal(shown.filter((each) => each.runId === asked.runId).length > 0, true);
        });

        it(`${name}: connect shows an open approval, which a run with resume answers`, async () => {
            const key = `[${name} approval]`;
            model.script(key, [{ toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}', id: `w-${name}` }] }, { content: 'It is clear.' }]);
            const asked = input(key);
            const [interrupt] = (await events(await transport.run('default', asked))).at(-1).outcome.interrupts;

            const shown = await events(await transport.connect('default', input(undefined, { threadId: asked.threadId })));
            assert.deepEqual(shown.at(-1).outcome, { type: 'interrupt', interrupts: [interrupt] });
            const resume = [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }];
            const answered = await events(await transport.run('default', input(undefined, { threadId: asked.threadId, runId: asked.runId, resume })));
            assert.equal(answered.some((each) => each.type === 'TOOL_CALL_RESULT'), true);
            const after = await events(await transport.connect('default', input(undefined, { threadId: asked.threadId })));
            assert.equal(after.at(-1).outcome?.type ?? 'success', 'success');
        });

        it(`${name}: connect shows the call of a stopped run with a result, an open one without`, async () => {
            const key = `[${name} dead call]`;
            const toolCalls = [{ name: 'look', arguments: '{}', id: `dead-${name}` }];
            model.script(key, [{ toolCalls }, { toolCalls: [{ ...toolCalls[0], id: `open-${name}` }] }]);
            const tools = [{ name: 'look', description: '', parameters: {} }];
            const asked = input(key, { tools });
            await events(await transport.run('default', asked));
            const results = async () => {
                const shown = await events(await transport.connect('default', input(undefined, { threadId: asked.threadId })));
                const { messages } = shown.find((each) => each.type === 'MESSAGES_SNAPSHOT');
                return messages.filter((each) => each.role === 'tool').map((each) => each.toolCallId);
            };
            assert.deepEqual(await results(), []);
            // A new message abandons the call, and the model makes another one.
            await events(await transport.run('default', input('and now?', { threadId: asked.threadId, tools })));
            assert.deepEqual(await results(), [`dead-${name}`]);
        });

        it(`${name}: a page that mounts twice at once costs one answer`, async () => {
            const key = `[${name} twice]`;
            model.script(key, [{ content: 'Yes.' }]);
            const asked = input(key);
            await events(await transport.run('default', asked));
            const connect = () => transport.connect('default', input(undefined, { threadId: asked.threadId }));
            const [first, second] = await Promise.all([connect(), connect()]);
            await first.body.cancel();
            assert.equal((await events(second)).find((each) => each.type === 'MESSAGES_SNAPSHOT').messages.length, 2);

            // Suggestions come twice too, under two runIds, and the first request is dropped.
            const suggestions = `[${name} suggested twice]`;
            const never = gate();
            const call = { toolCalls: [{ name: 'copilotkitSuggest', arguments: '{"suggestions":[]}', id: `twice-${name}` }] };
            model.script(suggestions, [{ ...call, hold: never.opened }, call]);
            const body = input(suggestions, suggest);
            const leaving = new AbortController();
            const dropped = name === 'REST' ? post('/agent/default/suggest', body, { signal: leaving.signal })
                : post('', { method: 'agent/run', params: { agentId: 'default' }, body }, { signal: leaving.signal });
            await (await dropped).body.getReader().read();
            const held = await model.request(suggestions, 1);
            leaving.abort();
            await within(5, held.closed, 'the model server is left');
            const again = { ...body, runId: `${body.runId}-again`, threadId: `${body.threadId}-again` };
            assert.equal((await events(await transport.run('default', again))).at(-1).type, 'RUN_FINISHED');
            never.open();
        });

        it(`${name}: an unknown thread has no messages, an unknown agent is 404`, async () => {
            const shown = await events(await transport.connect('default', input(undefined)));
            assert.deepEqual(shown.find((each) => each.type === 'MESSAGES_SNAPSHOT')?.messages ?? [], []);
            for (const response of [await transport.run('nobody', input('x')), await transport.connect('nobody', input()), await transport.stop('nobody', 't')]) {
                assert.equal(response.status, 404);
                assert.deepEqual(await response.json(), { error: 'Agent not found', message: "Agent 'nobody' does not exist" });
            }
            const odd = await transport.run('default', { threadId: 't' });
            assert.equal(odd.status, 422);
            assert.equal((await odd.json()).error, 'invalid_input');
        });

        it(`${name}: threads are listed, renamed, archived and deleted`, async () => {
            const agent = name === 'REST' ? 'default' : 'other-agent';
            const list = async (query) => {
                const response = await transport.threads('GET', `?agentId=${encodeURIComponent(agent)}${query}`);
                assert.equal(response.status, 200);
                return response.json();
            };
            const made = [];
            for (let at = 0; at < 3; at += 1) {
                const key = `[${name} list ${at}]`;
                model.script(key, [{ content: 'Yes.' }]);
                const asked = input(key, { threadId: `${name} list/${at}` });
                await events(await transport.run(agent, asked));
                made.push(asked.threadId);
            }
            const path = (id) => `/${encodeURIComponent(id)}`;
            const renamed = await transport.threads('PATCH', path(made[0]), { agentId: agent, name: 'The first' });
            const record = await renamed.json();
            assert.deepEqual([record.id, record.name, record.archived], [made[0], 'The first', false]);
            assert.match(record.createdAt, /^\d{4}-\d\d-\d\dT.*Z$/);
            const archived = await transport.threads('POST', `${path(made[1])}/archive`, { agentId: agent });
            assert.deepEqual(await archived.json(), { threadId: made[1], archived: true });

            const open = await list('&limit=200');
            const ids = open.threads.map((each) => each.id);
            assert.equal(ids.includes(made[0]) && ids.includes(made[2]) && !ids.includes(made[1]), true);
            assert.equal(open.nextCursor, null);
            const all = [];
            let cursor = '';
            do {
                const page = await list(`&includeArchived=true&limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
                all.push(...page.threads);
                cursor = page.nextCursor;
            } while (cursor !== null);
            assert.deepEqual(new Set(all.map((each) => each.id)), new Set([...ids, made[1]]));
            assert.equal(all.length, ids.length + 1);
            assert.equal(all.at(-1).id, made[1]);

            const back = await transport.threads('PATCH', path(made[1]), { agentId: agent, archived: false });
            assert.equal((await back.json()).archived, false);
            const removed = await transport.threads('DELETE', path(made[2]), { agentId: agent });
            assert.deepEqual(await removed.json(), { threadId: made[2], deleted: true });
            const again = await transport.threads('DELETE', path(made[2]), { agentId: agent });
            assert.equal(again.status, 404);
            assert.equal(typeof (await again.json()).error, 'string');
            for (const wrong of [{ name: 5 }, { archived: 'yes' }, []]) {
                assert.equal((await transport.threads('PATCH', path(made[0]), wrong)).status >= 400, true, JSON.stringify(wrong));
            }
        });
    }

    it('suggestions are asked with their tool, whatever the agent has, and leave nothing', async () => {
        const before = (await (await fetch(`${base}/threads?agentId=default&limit=200`)).json()).threads.length;
        const all = {
            'suggest': (body) => post('/agent/default/suggest', body),
            'run': (body) => post('/agent/default/run', body),
            'single': (body) => envelope('agent/run', { agentId: 'default' }, body),
            'the gateway\'s own route': (body) => fetch(gateway.url, {
                method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
        };
        for (const [name, send] of Object.entries(all)) {
            const key = `[suggest by ${name}]`;
            model.script(key, [{ blocks: [{ type: 'toolCall', name: 'copilotkitSuggest', arguments: '{"suggestions":[]}', id: `s-${name}` }] }]);
            const asked = input(key, suggest);
            const streamed = await events(await send(asked));
            assert.equal(streamed.some((each) => each.type === 'TOOL_CALL_ARGS'), true, name);
            const { body } = await model.request(key, 1);
            assert.deepEqual(body.tool_choice, { type: 'function', function: { name: 'copilotkitSuggest' } });
            assert.deepEqual(body.tools.map((each) => each.function.name), ['copilotkitSuggest']);
            assert.equal((await fetch(`${gateway.url}/threads/${asked.threadId}/events`)).status, 404);
        }
        const after = (await (await fetch(`${base}/threads?agentId=default&limit=200`)).json()).threads.length;
        assert.equal(after, before);
    });

    it('a reader that leaves suggestions ends them at once', async () => {
        const key = '[left suggestions]';
        const never = gate();
        model.script(key, [{ content: 'Well. '.repeat(20), pauseAfter: 2, resume: never.opened }]);
        const leaving = new AbortController();
        const response = await post('/agent/default/suggest', input(key, suggest), { signal: leaving.signal });
        const exchange = await model.request(key, 1);
        const reader = response.body.getReader();
        await reader.read();
        leaving.abort();
        await within(5, exchange.closed, 'the model server is left');
        never.open();
    });

    it('the suggest route takes nothing else, and another tool beside it makes an ordinary run', async () => {
        const refused = await post('/agent/default/suggest', input('[no suggestions]'));
        assert.equal(refused.status, 422);
        const key = '[beside suggestions]';
        model.script(key, [{ content: 'Yes.' }]);
        const asked = input(key, { ...suggest, tools: [...suggest.tools, { name: 'b', description: '', parameters: {} }] });
        await events(await post('/agent/default/run', asked));
        assert.equal((await fetch(`${gateway.url}/threads/${asked.threadId}/events`)).status, 200);
    });

    it('suggestions take an eighth of the places for runs', async () => {
        const small = await Gateway.start({ model, config: { server: { copilotkit_path: '/copilotkit', max_runs: 8 } } });
        const never = gate();
        try {
            const sent = (path, body) => fetch(`${small.base}/copilotkit/agent/default/${path}`, {
                method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
            const key = '[long suggestions]';
            model.script(key, [{ content: 'Well. '.repeat(20), pauseAfter: 2, resume: never.opened }]);
            const long = await sent('suggest', input(key, suggest));
            await model.request(key, 1);
            const refused = await sent('suggest', input('[refused suggestions]', suggest));
            assert.equal(refused.status, 503);
            assert.equal((await refused.json()).error, 'overloaded');
            model.script('[beside it]', [{ content: 'Yes.' }]);
            assert.equal((await events(await sent('run', input('[beside it]')))).at(-1).type, 'RUN_FINISHED');
            never.open();
            await events(long);
        } finally {
            never.open();
            await stopAll(small);
        }
    });

    it('refuses wrong stops, envelopes and paths', async () => {
        for (const [body, error] of [[[], 'Invalid stop request'], [{ a: 1 }, 'Invalid stop request'], [{ runId: '' }, 'Invalid runId'],
            [{ runId: 3 }, 'Invalid runId'], [{ runId: 'r', more: 1 }, 'Invalid stop request']]) {
            const response = await post('/agent/default/stop/t', body);
            assert.equal(response.status, 400);
            assert.equal((await response.json()).error, error);
        }
        const wrong = async (body, status = 400) => {
            const response = await post('', body);
            assert.equal(response.status, status, JSON.stringify(body));
            return (await response.json()).message;
        };
        assert.equal(await wrong({}), 'Missing method');
        assert.equal(await wrong([]), 'Missing method');
        assert.equal(await wrong({ method: 'agent/fly' }), "Unsupported method 'agent/fly'");
        assert.equal(await wrong({ method: 'agent/run' }), "Missing or invalid parameter 'agentId'");
        assert.equal(await wrong({ method: 'agent/run', params: { agentId: 'default' } }), 'Missing body');
        assert.equal(await wrong({ method: 'agent/stop', params: { agentId: 'default' } }), "Missing or invalid parameter 'threadId'");
        const resource = (path, httpMethod = 'GET') => ({ method: 'resource/request', params: { path, httpMethod } });
        for (const path of ['threads', '//threads', '/threads/../info', '/..']) await wrong(resource(path));
        for (const path of ['/info', '/threadsx', '/agent/default/run', '/memories', '/annotate']) await wrong(resource(path), 404);
        await wrong(resource('/threads', 'PUT'), 405);
        assert.equal((await post('', undefined, { body: '{"method":' })).status, 400);
        assert.equal((await fetch(base, { method: 'POST', body: '{}' })).status, 415);
        for (const path of ['/memories', '/annotate', '/transcribe']) assert.equal((await post(path, {})).status, 404, path);
        assert.equal((await fetch(`${base}/info`, { method: 'DELETE' })).status, 405);
    });
});
