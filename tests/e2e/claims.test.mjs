// Two tabs of one user and one hand-off: the tab that executes the call claims it, and the other one learns that.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';

const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: {} } }];

describe('claims of pending calls', () => {
    let model;
    let gateway;
    let key;
    let threadId;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model });
    });
    after(() => stopAll(gateway, model));
    beforeEach(async (test) => {
        key = `[${test.name}]`;
        threadId = randomUUID();
        model.script(key, [{ toolCalls: [{ name: 'paint', arguments: '{}', id: 'call_1' }] }, { content: 'Painted.' }]);
        (await postRun(gateway, runInput({ threadId, tools, messages: [user(key, 'u1')] }))).expectFinished();
    });

    const claim = (holder, method = 'POST') => fetch(`${gateway.url}/threads/${threadId}/calls/call_1/claim`, {
        method, headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ holder }) });
    const pending = async () => (await (await fetch(`${gateway.url}/threads/${threadId}/pending`)).json()).toolCalls;

    it('one tab gets it, and keeps it over a killed gateway', async () => {
        const before = Date.now();
        const first = await claim('tab 1');
        assert.equal(first.status, 200);
        const { claimedUntil, ...rest } = await first.json();
        assert.deepEqual(rest, { toolCallId: 'call_1', holder: 'tab 1' });
        assert.equal(claimedUntil >= before + 30_000 && claimedUntil <= Date.now() + 30_000, true);
        assert.equal((await pending())[0].claimedUntil, claimedUntil);

        await gateway.end('SIGKILL');
        await gateway.launch();

        const second = await claim('tab 2');
        assert.equal(second.status, 409);
        assert.equal((await second.json()).error.code, 'claimed');
        const renewed = await claim('tab 1');
        assert.equal((await renewed.json()).claimedUntil >= claimedUntil, true);
    });

    it('of two tabs that ask at once, one gets it', async () => {
        const answers = await Promise.all(['tab 1', 'tab 2', 'tab 3'].map((holder) => claim(holder)));
        assert.deepEqual(answers.map((each) => each.status).sort(), [200, 409, 409]);
    });

    it('a tab that gives its claim up leaves the call to another one, until it is answered', async () => {
        const statuses = [];
        for (const [holder, method] of [['tab 1', 'POST'], ['tab 2', 'DELETE'], ['tab 1', 'DELETE'], ['tab 1', 'DELETE'], ['tab 2', 'POST'],
            ['tab 1', 'DELETE']]) statuses.push((await claim(holder, method)).status);
        assert.deepEqual(statuses, [200, 409, 204, 204, 200, 409]);
        (await postRun(gateway, runInput({
            threadId, tools, messages: [{ id: 'a1', role: 'tool', toolCallId: 'call_1', content: 'done' }] }))).expectFinished();
        assert.equal((await claim('tab 2', 'DELETE')).status, 404);
    });

    it('a client that knows nothing of claims answers as before', async () => {
        assert.equal((await claim('tab 1')).status, 200);
        const answered = await postRun(gateway, runInput({
            threadId, tools, messages: [{ id: 'a1', role: 'tool', toolCallId: 'call_1', content: 'done' }] }));
        assert.equal(answered.expectFinished().text, 'Painted.');
        assert.deepEqual(await pending(), []);
        assert.equal((await claim('tab 1')).status, 404);
    });
});
