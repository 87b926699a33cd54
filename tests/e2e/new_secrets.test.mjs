// SIGHUP: the gateway reads its secrets and [auth] again, while everything else goes on.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventsOf, post, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

const streams = 200;

let folder;
let model;
let gateway;
let tokenNumber = 0;

const tokenFile = () => path.join(folder, 'token');
const keyFile = () => path.join(folder, 'key');
const bearer = (token) => ({ Authorization: `Bearer ${token}` });

/// Writes a secret as operators should: readable by the owner alone.
function keep(file, secret) {
    fs.writeFileSync(file, `${secret}\n`, { mode: 0o600 });
}

function newToken() {
    const token = `token-${++tokenNumber}-${'x'.repeat(20)}`;
    keep(tokenFile(), token);
    return token;
}

async function statusWith(token) {
    const response = await fetch(`${gateway.base}/version`, { headers: bearer(token) });
    await response.arrayBuffer();
    return response.status;
}

/// Sends SIGHUP and waits until the log has the line `text` once more.
async function hangUp(text) {
    const lines = () => gateway.log.split(text).length;
    const before = lines();
    gateway.process.kill('SIGHUP');
    while (lines() === before) {
        assert.equal(gateway.process.exitCode ?? gateway.process.signalCode, null, 'the gateway has ended');
        await sleep(5);
    }
}
const reload = () => hangUp('reloaded [auth] and the secrets');

before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-secrets-'));
    newToken();
    keep(keyFile(), 'sk-first');
    model = await ModelServer.start();
    gateway = await Gateway.start({
        model,
        config: {
            auth: { mode: 'bearer', token_file: tokenFile() },
            model: { api_key_file: keyFile() },
        },
    });
});
after(async () => {
    await stopAll(gateway, model);
    fs.rmSync(folder, { recursive: true, force: true });
    finishRecordings();
});
beforeEach((test) => recordAs(test.name));

it('SIGHUP under 200 streams: none ends, the new token counts, the old one does not', async () => {
    const old = newToken();
    await reload();
    const text = 'Each of these words comes from a run that began with the former token.';
    const { open, opened } = gate();
    const { pid } = gateway.process;
    const readers = [];
    for (let number = 0; number < streams; ++number) {
        const key = `[hang up ${number}]`;
        model.script(key, [{ content: text, pauseAfter: 3, resume: opened }]);
        const input = runInput({ threadId: `hang-up-${number}`, messages: [user(`${key} begin`)] });
        const response = await post(gateway.url, input, { headers: bearer(old) });
        assert.equal(response.status, 200);
        readers.push(eventsOf(response));
    }
    const seen = await Promise.all(readers.map(async (events) => {
        for await (const event of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) }) {
            if (event.type === 'TEXT_MESSAGE_CONTENT') return event.delta;
        }
        throw new Error('a stream has ended before its first word');
    }));

    const fresh = newToken();
    await reload();

    assert.equal(gateway.process.pid, pid);
    assert.equal(await statusWith(fresh), 200);
    assert.equal(await statusWith(old), 401);
    const refused = await post(gateway.url, runInput({ threadId: 'hang-up-late', messages: [user('late')] }), { headers: bearer(old) });
    assert.equal(refused.status, 401);
    await refused.arrayBuffer();

    open();
    const ends = await Promise.all(readers.map(async (events, number) => {
        let said = seen[number];
        let last;
        for await (const event of events) {
            if (event.type === 'TEXT_MESSAGE_CONTENT') said += event.delta;
            last = event;
        }
        assert.equal(said, text);
        return last.type;
    }));
    assert.deepEqual(new Set(ends), new Set(['RUN_FINISHED']));
    assert.equal(ends.length, streams);
    assert.match(gateway.log, /warning requests with a wrong bearer token were refused address=127\.0\.0\.1 count=1/);
});

it('asks the model server with the new key after SIGHUP', async () => {
    const token = newToken();
    await reload();
    model.script('[key]', [{ content: 'One.' }, { content: 'Two.' }]);
    const ask = async (threadId) => {
        const input = runInput({ threadId, messages: [user('[key] begin')] });
        const response = await post(gateway.url, input, { headers: bearer(token) });
        const types = [];
        for await (const event of eventsOf(response)) types.push(event.type);
        assert.equal(types.at(-1), 'RUN_FINISHED');
    };
    await ask('key-1');
    keep(keyFile(), 'sk-second');
    await reload();
    await ask('key-2');

    const keys = model.requests('[key]').map((exchange) => exchange.headers.authorization);
    assert.deepEqual(keys, ['Bearer sk-first', 'Bearer sk-second']);
    assert.doesNotMatch(gateway.log, /sk-(first|second)/);
});

it('takes nothing else of the configuration, and nothing at all of a broken one', async () => {
    const token = newToken();
    await reload();
    const config = fs.readFileSync(gateway.configFile, 'utf8');

    const next = newToken();
    fs.writeFileSync(gateway.configFile, config.replace('[server]', '[server]\nmax_runs = "many"'));
    await hangUp('the configuration was not reloaded');
    assert.match(gateway.log, /problem=.*server\.max_runs: must be a whole number/);
    assert.equal(await statusWith(next), 401);
    assert.equal(await statusWith(token), 200);

    fs.writeFileSync(gateway.configFile, config.replace('[server]', '[server]\nbase_path = "/elsewhere"'));
    await reload();
    assert.equal(await statusWith(next), 200, 'at the path that it had');
    assert.equal(await statusWith(token), 401);
    fs.writeFileSync(gateway.configFile, config);
});

it('sent only valid histories', () => model.checkRequests());
