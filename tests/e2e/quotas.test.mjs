// [[quotas]]: what a killed process has reserved stays used.

import assert from 'node:assert/strict';
import { after, before, beforeEach, it } from 'node:test';
import { eventsOf, post, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll, withoutFailpoints } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

let model;
let gateway;
let key;

const reserved = 100; // max_output_tokens

async function usage() {
    const response = await fetch(`${gateway.url}/usage`);
    assert.equal(response.status, 200);
    const body = await response.json();
    return body.quotas[0].day.outputTokens;
}

function input(threadId) {
    return runInput({ threadId, messages: [user(`${key} begin`)] });
}

before(async () => {
    model = await ModelServer.start();
});
after(async () => {
    await stopAll(model);
    await finishRecordings();
});
beforeEach(async (test) => {
    recordAs(test.name);
    key = `[${test.name}]`;
    gateway = await Gateway.start({
        model,
        config: {
            model: { max_output_tokens: reserved },
            quotas: [{ per: 'principal', day: { output_tokens: 2 * reserved - 1 } }],
        },
    });
});

it('has no budget back after kill -9 while the model answers', async () => {
    model.script(key, [{ content: 'A story that the kill cuts short.', pauseAfter: 3, resume: gate().opened }]);
    const response = await post(gateway.url, input('killed'));
    const cut = (async () => {
        for await (const event of eventsOf(response)) {
            if (event.type === 'TEXT_MESSAGE_CONTENT') gateway.process.kill('SIGKILL');
        }
    })();
    await assert.rejects(cut);
    await gateway.ended;
    await gateway.launch();

    assert.deepEqual(await usage(), { used: reserved, limit: 2 * reserved - 1 });
    const refused = await post(gateway.url, input('next'));
    assert.equal(refused.status, 429);
    assert.equal((await refused.json()).error.code, 'quota_exceeded');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    await stopAll(gateway);
});

it('has no budget back after a kill right after the reservation', { skip: withoutFailpoints() }, async () => {
    model.script(key, [{ content: 'Never shown.' }]);
    await gateway.killAt('quota.reserved', () => post(gateway.url, input('one')));
    assert.equal((await usage()).used, reserved);
    await stopAll(gateway);
});

it('settles what the model has used', async () => {
    model.script(key, [{ content: 'Short.' }]);
    (await postRun(gateway, input('one'))).expectFinished();

    const { used } = await usage();
    assert.ok(used > 0 && used <= reserved, `${used} tokens`);
    await stopAll(gateway);
});
