// Runs as protobuf: decoded by the released decoder they are the events that server-sent events show, and the
// official client does the same with both.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { after, before, describe, it } from 'node:test';
import * as proto from '@ag-ui/proto';
import { Agent, answer, background, cancel, clients, post, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { decodeFrames } from './support/recorded_runs.mjs';
import { finishRecordings, parseStream, recordAs } from './support/streams.mjs';
import { WeatherService } from './support/weather.mjs';

const accept = { Accept: proto.AGUI_MEDIA_TYPE };

async function framesOf(response) {
    assert.equal(response.status, 200);
    assert.equal(response.headers.get('content-type'), proto.AGUI_MEDIA_TYPE);
    return decodeFrames(Buffer.from(await response.arrayBuffer()));
}

describe('vectors', () => {
    it('are those of the released encoder', () => {
        const file = new URL('../translator/protobuf/vectors.txt', import.meta.url);
        const lines = fs.readFileSync(file, 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
        assert.equal(lines.length, 52);
        for (const line of lines) {
            const space = line.indexOf(' ');
            const event = JSON.parse(line.slice(space + 1));
            assert.equal(Buffer.from(proto.encode(event)).toString('hex'), line.slice(0, space), line);
            assert.deepEqual(JSON.parse(JSON.stringify(proto.decode(Buffer.from(line.slice(0, space), 'hex')))), event);
        }
    });
});

describe('protobuf', { skip: !clients.some(({ versioned }) => versioned) }, () => {
    const client = clients.find(({ versioned }) => versioned);
    let model;
    let weather;
    let gateway;

    before(async () => {
        model = await ModelServer.start();
        weather = await WeatherService.start();
        gateway = await Gateway.start({ model, config: { tools: { webhook: [weather.tool] } } });
    });
    after(() => stopAll(gateway, weather, model));

    /// A client on a thread of its own, which asks for protobuf if `binary`.
    function conversation(name, steps, binary = true) {
        recordAs(name);
        const agent = new Agent(client, gateway, binary ? { accept: proto.AGUI_MEDIA_TYPE } : {});
        agent.key = `[${name}, ${binary ? 'protobuf' : 'text'}]`;
        model.script(agent.key, steps);
        agent.add(user(`${agent.key} begin`));
        return agent;
    }

    /// The same conversation in either form.
    function bothForms(name, steps) {
        return [conversation(name, steps), conversation(name, steps, false)];
    }

    /// The run as it is read again: the events in either form are the same, and the client saw them.
    async function expectSame(agent, run) {
        const url = `${gateway.url}/threads/${agent.threadId}/runs/${run.runId}/events`;
        const events = await framesOf(await fetch(url, { headers: accept }));
        const parsed = parseStream(await (await fetch(url)).text()).map((entry) => entry.event);
        assert.deepEqual(events, parsed);
        assert.deepEqual(run.events, parsed);
    }

    /// The conversation without what differs from thread to thread.
    function said(agent) {
        const ids = new Map();
        const known = (id) => id && (ids.get(id) ?? ids.set(id, ids.size).get(id));
        return agent.messages.map(({ id, toolCalls, toolCallId, content, ...rest }) => ({
            ...rest,
            id: known(id),
            content: typeof content === 'string' ? content.replace(agent.key, '') : content,
            toolCalls: toolCalls?.map((call) => ({ ...call, id: known(call.id) })),
            toolCallId: known(toolCallId),
        }));
    }

    it('shows text, reasoning, and calls of both kinds with their results', async () => {
        const steps = [
            { reasoning: 'Two “questions” \\ at\nonce.', toolCalls: [
                { name: 'get_weather', arguments: '{"city":"Köln 😀"}', id: 'call_w' },
                { name: 'get_weather', arguments: '{"city":"Atlantis"}', id: 'call_a' }] },
            { content: 'Clear in Köln.\n"Atlantis" is lost.', toolCalls: [
                { name: 'change_background', arguments: '{"color":"blue"}', id: 'call_b' }] },
            { content: 'Blue now.' },
        ];
        const agents = bothForms('calls', steps);
        for (const agent of agents) {
            const first = await agent.run({ tools: [background] });
            first.expectFinished();
            await expectSame(agent, first);
            const pending = first.last.outcome.pendingToolCallIds;
            assert.equal(pending.length, 1);
            assert.ok(first.of('TOOL_CALL_RESULT').length === 2 && first.of('CUSTOM').length > 0);
            agent.add(answer(pending[0], '{"status":"ok"}'));
            const second = await agent.run({ tools: [background] });
            second.expectFinished();
            await expectSame(agent, second);
        }
        assert.deepEqual(said(agents[0]), said(agents[1]));
        assert.deepEqual(agents.map((agent) => agent.contentTypes.map((type) => type.split(';')[0])),
            [[proto.AGUI_MEDIA_TYPE, proto.AGUI_MEDIA_TYPE], ['text/event-stream', 'text/event-stream']]);
    });

    it('shows a state and a history with parts', async () => {
        const agent = conversation('state', [{ content: 'Seen.' }]);
        const state = { list: [1, 2.5, null, true, { deep: [[], {}] }], text: 'ä"\n', big: 9007199254740991 };
        agent.add({ id: randomUUID(), role: 'user', content: [{ type: 'text', text: 'and this' },
            { type: 'image', source: { type: 'data', value: 'QUJD', mimeType: 'image/png' }, metadata: { n: 1 } }] });
        agent.agent.setState(state);
        (await agent.run()).expectFinished();
        const input = runInput({ threadId: agent.threadId, messages: [], protocolVersion: '1.1' });

        const history = (headers) => post(`${gateway.url}/history`, input, { headers });
        const shown = await framesOf(await history(accept));
        const parsed = parseStream(await (await history()).text()).map((entry) => entry.event);

        const timeless = (events) => events.map(({ timestamp, ...event }) => event);
        assert.deepEqual(timeless(shown), timeless(parsed));
        assert.deepEqual(shown.find((event) => event.type === 'STATE_SNAPSHOT').snapshot, state);
        assert.equal(shown.find((event) => event.type === 'MESSAGES_SNAPSHOT').messages[1].content[1].source.value, 'QUJD');
    });

    it('shows failures and stops', async () => {
        const failing = bothForms('failure', [{ error: { message: 'bad request' }, status: 400 }]);
        for (const agent of failing) {
            const run = await agent.run();
            run.expectError('model_rejected');
            await expectSame(agent, run);
        }
        const resume = gate();
        const stopped = bothForms('stop', [{ content: 'A text that is long enough to be cut.', pauseAfter: 2, resume: resume.opened }]);
        for (const agent of stopped) {
            const run = await agent.run({
                onEvent: (event) => event.type === 'TEXT_MESSAGE_CONTENT' && cancel(gateway, agent.threadId),
            });
            run.expectFinished();
            assert.deepEqual(run.last.outcome, { type: 'cancelled' });
            await expectSame(agent, run);
        }
        resume.open();
        assert.deepEqual(said(stopped[0]), said(stopped[1]));
    });

    it('is followed while it goes on, and ends with the run', async () => {
        const resume = gate();
        const agent = conversation('follow', [{ content: 'One two three four.', pauseAfter: 2, resume: resume.opened }]);
        const begun = gate();
        const running = agent.run({ onEvent: begun.open });
        await begun.opened;
        const input = runInput({ threadId: agent.threadId, messages: [], protocolVersion: '1.0', forwardedProps: { follow: true } });
        const followed = framesOf(await post(`${gateway.url}/history`, input, { headers: accept }));
        resume.open();

        const run = await running;
        const events = await followed;
        assert.deepEqual(events.slice(-run.events.length), run.events);
        assert.deepEqual(events.slice(0, -run.events.length).map((event) => event.type),
            ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']);
    });

    it('is not sent to a client that does not ask for it by its name', async () => {
        recordAs('wildcard');
        model.script('[wildcard]', [{ content: 'Text.' }]);
        const input = runInput({ threadId: randomUUID(), messages: [user('[wildcard] hello')] });
        const response = await post(gateway.url, input, { headers: { Accept: '*/*' } });
        assert.match(response.headers.get('content-type'), /^text\/event-stream/);
        assert.equal(parseStream(await response.text()).at(-1).event.type, 'RUN_FINISHED');
    });

    it('every stream and every model request was well-formed', () => {
        finishRecordings();
        model.checkRequests();
    });
});
