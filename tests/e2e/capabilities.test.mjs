// What GET /agui/capabilities says is what the gateway does, and the released schema accepts it.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import * as core from '@ag-ui/core';
import { background, post, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, parseStream, recordAs } from './support/streams.mjs';

describe('capabilities', () => {
    let model;
    let gateway;
    let told;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model });
        told = await (await fetch(`${gateway.url}/capabilities`)).json();
    });
    after(() => stopAll(gateway, model));

    const events = async (response) => parseStream(await response.text()).map((entry) => entry.event);

    function input(name, steps, more = {}) {
        recordAs(name);
        model.script(`[${name}]`, steps);
        return runInput({
            threadId: randomUUID(), messages: [user(`[${name}] hello`)], protocolVersion: '1.1', ...more });
    }

    it('have the form of the released schema', { skip: !core.AgentCapabilitiesSchema }, () => {
        assert.deepEqual(core.AgentCapabilitiesSchema.parse(told), told);
    });

    it('transport', async () => {
        const { transport } = told;
        const streamed = input('streamed', [{ content: 'One two.' }]);
        const response = await post(gateway.url, streamed);
        assert.equal(response.headers.get('content-type').startsWith('text/event-stream'), transport.streaming);
        const whole = await events(response);
        const binary = await post(gateway.url, input('binary', [{ content: 'One.' }]),
            { headers: { Accept: 'application/vnd.ag-ui.event+proto' } });
        assert.equal(binary.headers.get('content-type') === 'application/vnd.ag-ui.event+proto', transport.httpBinary);
        await binary.arrayBuffer();
        const again = `${gateway.url}/threads/${streamed.threadId}/runs/${streamed.runId}/events?after=2`;
        assert.deepEqual(await events(await fetch(again)), transport.resumable ? whole.slice(2) : []);
        const upgraded = await new Promise((resolve, reject) => {
            const request = http.get(gateway.url, { headers: {
                Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13',
                'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64') } });
            request.on('upgrade', (answer, socket) => { socket.destroy(); resolve(true); });
            request.on('response', (answer) => { answer.resume(); resolve(false); });
            request.on('error', reject);
        });
        assert.equal(upgraded, transport.websocket);
    });

    it('tools of the client', async () => {
        const call = { name: 'change_background', arguments: '{"color":"blue"}', id: 'call_1' };
        const shown = await events(await post(gateway.url, input('tools', [{ toolCalls: [call] }], { tools: [background] })));
        assert.equal(shown.some((event) => event.type === 'TOOL_CALL_START'), told.tools.clientProvided);
        assert.deepEqual(shown.at(-1).outcome?.pendingToolCallIds, told.tools.supported ? ['call_1'] : undefined);
    });

    it('state', async () => {
        const first = input('state', [{ content: 'Seen.' }], { state: { color: 'red' } });
        const shown = await events(await post(gateway.url, first));
        assert.equal(shown.some((event) => event.type === 'STATE_SNAPSHOT'), told.state.snapshots);
        await gateway.end('SIGTERM');
        await gateway.launch();
        const kept = await (await fetch(`${gateway.url}/threads/${first.threadId}/state`)).json();
        assert.deepEqual(kept.state, told.state.persistentState ? { color: 'red' } : null);
    });

    it('a user can intervene while a run goes on', async () => {
        const resume = gate();
        const steered = input('steer', [{ content: 'One two three four.', pauseAfter: 2, resume: resume.opened },
            { content: 'As you say.' }]);
        const running = post(gateway.url, steered);
        await (await running).body; // The run has begun.
        const answered = post(`${gateway.url}/steer`,
            { threadId: steered.threadId, message: user('[steer] wait') });
        resume.open();
        assert.equal((await (await answered).json()).taken ?? false, told.humanInTheLoop.interventions);
        await (await running).text();
    });

    it('every stream and every model request was well-formed', () => {
        finishRecordings();
        model.checkRequests();
    });
});
