// `agui-gateway threads export | import | purge`: a person's data, with each store and across stores.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { eventsOf, post, runInput, user } from './support/client.mjs';
import { Gateway, binFolder, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

const postgresScript = fileURLToPath(new URL('../postgres.sh', import.meta.url));

let model;
let postgresFolder;
let postgres; // The URL of a server of our own, or undefined.

function startPostgres() {
    postgresFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-person-'));
    fs.rmdirSync(postgresFolder); // postgres.sh makes it, for the user of the server.
    return execFileSync('bash', [postgresScript, 'start', postgresFolder], { encoding: 'utf8' }).trim();
}

before(async () => {
    model = await ModelServer.start();
    postgres = startPostgres();
});
after(async () => {
    await stopAll(model);
    execFileSync('bash', [postgresScript, 'stop', postgresFolder]);
    await finishRecordings();
});

/// A text that is nowhere else.
const marker = (name) => `${name}-${crypto.randomBytes(12).toString('hex')}`;

const stores = {
    memory: () => 'memory:',
    sqlite: () => undefined, // The file in the gateway's own folder.
    postgres: () => {
        const name = `db_${crypto.randomBytes(6).toString('hex')}`;
        sql('postgres', `CREATE DATABASE ${name}`);
        return postgres.replace('/postgres?', `/${name}?`);
    },
};

const tokens = { ada: 'token-of-ada-0123456789', eve: 'token-of-eve-0123456789' };
const as = (name) => ({ Authorization: `Bearer ${tokens[name]}` });

/// Runs SQL in a database of the server and returns its output.
function sql(database, text) {
    const url = database === 'postgres' ? postgres : database;
    return execFileSync('psql', ['--no-psqlrc', '--quiet', '--tuples-only', '--no-align', '--dbname', url, '--command', text], {
        encoding: 'utf8', maxBuffer: 1 << 28,
    });
}

async function startGateway(store) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-control-'));
    const socket = path.join(folder, 'control');
    const audit = path.join(folder, 'audit.log');
    const gateway = await Gateway.start({
        model,
        config: {
            server: { control_socket: socket, console: true },
            session: { on_busy: 'enqueue', ...(store && { store }) },
            auth: {
                mode: 'bearer',
                tokens: Object.keys(tokens).map((name) => ({ name, token_env: `TOKEN_${name}`, scopes: ['admin'] })),
            },
        },
        args: ['--set', `audit.file=${audit}`],
        env: Object.fromEntries(Object.entries(tokens).map(([name, token]) => [`TOKEN_${name}`, token])),
    });
    gateway.socket = socket;
    gateway.audit = audit;
    gateway.store = store;
    gateway.controlFolder = folder;
    return gateway;
}

async function end(...gateways) {
    await stopAll(...gateways);
    for (const gateway of gateways) if (gateway) fs.rmSync(gateway.controlFolder, { recursive: true, force: true });
}

/// Runs `agui-gateway threads`.
function threads(gateway, command, args = [], input = '') {
    return new Promise((resolve) => {
        const child = spawn(path.join(binFolder, 'agui-gateway'), ['threads', command, '--socket', gateway.socket, ...args]);
        const result = { out: '', log: '' };
        child.stdout.on('data', (chunk) => (result.out += chunk));
        child.stderr.on('data', (chunk) => (result.log += chunk));
        child.on('close', (code) => resolve({ code, ...result }));
        child.stdin.on('error', () => {}); // It may end before it has read all.
        child.stdin.end(input);
    });
}

async function run(gateway, who, input) {
    const response = await post(gateway.url, input, { headers: as(who) });
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return text;
}

async function read(gateway, who, route) {
    const response = await fetch(`${gateway.url}/threads/${route}`, { headers: as(who) });
    return { status: response.status, text: await response.text() };
}

const paint = { name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: { with: { type: 'string' } } } };

async function upload(gateway, who, threadId, bytes) {
    const response = await fetch(`${gateway.url}/threads/${threadId}/parts`, {
        method: 'POST',
        headers: { ...as(who), 'Content-Type': 'application/json' },
        body: JSON.stringify({ type: 'image', source: { type: 'data', value: Buffer.from(bytes).toString('base64'), mimeType: 'image/png' } }),
    });
    assert.equal(response.status, 200, await response.text());
}

/// A conversation with a pending call, a state, a fork, an upload, a failed model call and an opened thread.
async function converse(gateway, who, threadId, texts) {
    const key = texts.message;
    model.script(key, [
        { content: texts.answer },
        { error: { message: texts.failure }, status: 500 },
        { toolCalls: [{ name: 'paint', arguments: JSON.stringify({ with: texts.argument }) }] },
        { content: texts.later },
        { content: texts.again },
    ]);
    const first = { id: `${threadId}-m1`, role: 'user', content: key };
    await run(gateway, who, runInput({ threadId, runId: 'r1', messages: [first], state: { note: texts.state, n: 1.5 } }));
    await run(gateway, who, runInput({ threadId, runId: 'r2', messages: [user('fail')] }));
    await run(gateway, who, runInput({ threadId, runId: 'r3', messages: [user('paint')], tools: [paint], context: [{ description: 'c', value: texts.context }] }));
    const patched = await fetch(`${gateway.url}/threads/${threadId}`, {
        method: 'PATCH',
        headers: { ...as(who), 'Content-Type': 'application/json' },
        body: JSON.stringify({ title: texts.title, metadata: { kept: texts.metadata } }),
    });
    assert.equal(patched.status, 200, await patched.text());
    const opened = await fetch(`${gateway.url}/threads/${threadId}/access`, {
        method: 'PATCH',
        headers: { ...as(who), 'Content-Type': 'application/json' },
        body: JSON.stringify({ access: [{ user: who === 'ada' ? 'eve' : 'ada', rights: 'write' }] }),
    });
    assert.equal(opened.status, 200, await opened.text());
    await upload(gateway, who, threadId, texts.upload);
}

function newTexts() {
    const names = ['message', 'answer', 'failure', 'argument', 'later', 'again', 'state', 'context', 'title', 'metadata', 'upload'];
    return Object.fromEntries(names.map((name) => [name, marker(name)]));
}

/// All that a client sees of the thread.
async function view(gateway, who, threadId) {
    const parts = {};
    for (const part of ['', '/messages', '/state', '/pending', '/branches', '/events', '/access']) {
        parts[part] = await read(gateway, who, `${threadId}${part}`);
        assert.equal(parts[part].status, 200, `${part}: ${parts[part].text}`);
    }
    return parts;
}

/// Answers the pending call; returns the request that the model got.
async function continueThread(gateway, who, threadId, key) {
    const pending = JSON.parse((await read(gateway, who, `${threadId}/pending`)).text).toolCalls;
    const asked = model.requests(key).length;
    await run(gateway, who, runInput({
        threadId, runId: `r-${asked}`, tools: [paint],
        messages: [{ id: 'answer', role: 'tool', toolCallId: pending[0].toolCallId, content: 'painted' }],
    }));
    const body = { ...model.requests(key)[asked].body };
    return body;
}

describe('a thread that is exported and imported', () => {
    for (const [from, to] of [['memory', 'memory'], ['sqlite', 'sqlite'], ['postgres', 'postgres'], ['memory', 'sqlite'], ['sqlite', 'postgres'], ['postgres', 'memory']]) {
        it(`is the same thread: ${from} to ${to}`, async (test) => {
            recordAs(test.name);
            const texts = newTexts();
            const first = await startGateway(stores[from]());
            let second;
            try {
                await converse(first, 'ada', 't1', texts);
                const before = await view(first, 'ada', 't1');
                const copy = await threads(first, 'export', ['--user', 'ada']);
                assert.equal(copy.code, 0, copy.log);
                assert.equal(copy.log, 'exported 1 thread of 1 user\n');
                // The model's request of the next turn, in the original.
                const expected = await continueThread(first, 'ada', 't1', texts.message);

                if (from === to) {
                    const purged = await threads(first, 'purge', ['--user', 'ada', '--yes']);
                    assert.equal(purged.code, 0, purged.log);
                    assert.equal((await read(first, 'ada', 't1/state')).status, 404);
                }
                second = from === to ? first : await startGateway(stores[to]());
                const imported = await threads(second, 'import', [], copy.out);
                assert.equal(imported.code, 0, imported.log);

                assert.deepEqual(await view(second, 'ada', 't1'), before);
                assert.deepEqual(await continueThread(second, 'ada', 't1', texts.message), expected);
                const again = await threads(second, 'import', ['--skip-existing'], copy.out);
                assert.equal(again.log, 'imported 0 threads, skipped 1, refused 0\n');
            } finally {
                await end(first, second === first ? undefined : second);
            }
        });
    }
});

/// Every byte that the gateway and its database keep.
function everythingKept(gateway) {
    const files = [gateway.folder, gateway.controlFolder].flatMap((folder) =>
        fs.readdirSync(folder).map((name) => path.join(folder, name)).filter((file) => fs.statSync(file).isFile()));
    const parts = files.map((file) => fs.readFileSync(file).toString('latin1'));
    parts.push(gateway.log);
    if (gateway.store?.startsWith('postgresql')) {
        const tables = sql(gateway.store, "SELECT tablename FROM pg_tables WHERE schemaname = 'agui'").trim().split('\n');
        assert.ok(tables.includes('messages'));
        for (const table of tables) {
            // bytea is shown as hexadecimal digits.
            const rows = sql(gateway.store, `SELECT t.* FROM agui.${table} t`);
            parts.push(rows, rows.replace(/\\x((?:[0-9a-f]{2})*)/g, (_, digits) => Buffer.from(digits, 'hex').toString('latin1')));
        }
    }
    return parts.join('\n');
}

describe('a user who is purged', () => {
    for (const store of ['sqlite', 'postgres', 'memory']) {
        it(`leaves no text: ${store}`, async (test) => {
            recordAs(test.name);
            const gateway = await startGateway(stores[store]());
            try {
                const ada = newTexts();
                const eve = newTexts();
                await converse(gateway, 'ada', 't1', ada);
                await converse(gateway, 'eve', 't1', eve);
                // A run that is active, with a message that waits behind it.
                const running = marker('running');
                const held = gate();
                model.script(running, [{ content: `${running} and so on`, pauseAfter: 2, resume: held.opened }]);
                const response = await post(gateway.url, runInput({ threadId: 't2', messages: [user(running)] }), { headers: as('ada') });
                const events = eventsOf(response);
                for await (const event of events) if (event.type === 'TEXT_MESSAGE_CONTENT') break;
                const queued = marker('queued');
                // Not recorded: the stop of a request that has not begun is not stored, so it has no number.
                const waiting = await fetch(gateway.url, {
                    method: 'POST',
                    headers: { ...as('ada'), 'Content-Type': 'application/json' },
                    body: JSON.stringify(runInput({ threadId: 't2', messages: [user(queued)] })),
                });
                const stream = waiting.body.pipeThrough(new TextDecoderStream()).getReader();
                let seen = (await stream.read()).value; // It is queued before its stream begins.
                const lost = marker('lost'); // An upload of a thread that never begins.
                await upload(gateway, 'ada', 't9', lost);
                if (store !== 'memory') {
                    for (const text of [ada.answer, ada.failure, lost, queued]) assert.ok(everythingKept(gateway).includes(text));
                }

                const purged = await threads(gateway, 'purge', ['--user', 'ada', '--yes']);
                held.open();
                for (let more; !(more = await stream.read()).done;) seen += more.value;
                assert.match(seen, /"user_stop"/);

                assert.equal(purged.code, 0, purged.log);
                assert.equal(purged.log, 'removed 2 threads of "ada", 1 right in threads of others, 1 other attachment\n');
                const kept = everythingKept(gateway);
                for (const [name, text] of Object.entries({ ...ada, running, queued, lost })) {
                    assert.ok(!kept.includes(text), `${name} is left`);
                }
                assert.deepEqual(JSON.parse((await (await fetch(`${gateway.url}/threads`, { headers: as('ada') })).text())).threads, []);
                const asked = await (await fetch(`${gateway.base}/console/requests`, { headers: as('eve') })).text();
                assert.ok(!asked.includes(ada.message), 'the console has forgotten her requests');
                // The other user has everything but her.
                await view(gateway, 'eve', 't1');
                assert.ok((await read(gateway, 'eve', 't1/messages')).text.includes(eve.answer));
                assert.ok(!(await read(gateway, 'eve', 't1/access')).text.includes('"ada"'));
                const lines = fs.readFileSync(gateway.audit, 'utf8');
                assert.match(lines, /"event":"user_purged","user":"uid:\d+","address":"control socket","ownerUser":"ada","outcome":"ok"/);
            } finally {
                await end(gateway);
            }
        });
    }

    it('is purged by any of two gateways on one database', async (test) => {
        recordAs(test.name);
        const store = stores.postgres();
        const first = await startGateway(store);
        const second = await startGateway(store);
        try {
            const running = marker('running');
            const held = gate();
            model.script(running, [{ content: `${running} and so on`, pauseAfter: 2, resume: held.opened }]);
            const response = await post(first.url, runInput({ threadId: 't1', messages: [user(running)] }), { headers: as('ada') });
            const events = [];
            const reading = (async () => {
                for await (const event of eventsOf(response)) events.push(event);
            })();
            await model.request(running, 1);

            const purged = await threads(second, 'purge', ['--user', 'ada', '--yes']);
            held.open();
            await reading;

            assert.equal(purged.code, 0, purged.log);
            assert.equal(events.find(({ name }) => name === 'agui-gateway.run.stopped')?.value.reason, 'user_stop');
            assert.ok(!everythingKept(first).includes(running));
        } finally {
            await end(first, second);
        }
    });
});

describe('many messages and many threads', () => {
    it('are exported and imported', async (test) => {
        recordAs(test.name);
        const gateway = await startGateway();
        const other = await startGateway();
        try {
            // Made by an import: 300 threads, one of them with 4000 messages.
            const lines = [JSON.stringify({ format: 'agui-gateway-threads', version: 1 })];
            for (let i = 0; i < 300; ++i) {
                const count = i === 0 ? 4000 : 2;
                const thread = [{ type: 'thread', user: 'ada', threadId: `t${i}`, agentId: 'default', title: '', archived: false, createdAt: 1, updatedAt: i + 1, lastRunAt: 1, head: 0, lastRequestHadHistory: false }];
                for (let n = 0; n < count; ++n) {
                    const role = n % 2 ? 'assistant' : 'user';
                    thread.push({ type: 'message', number: n, parent: n ? n - 1 : null, runId: 'r', createdAt: 1, message: { id: `m${n}`, role, content: `text ${n}` } });
                }
                thread.push({ type: 'branch', number: 0, tip: count - 1, updatedAt: 1 });
                thread.push({ type: 'end', threadId: `t${i}`, lines: thread.length + 1 });
                lines.push(...thread.map((line) => JSON.stringify(line)));
            }
            const imported = await threads(gateway, 'import', [], `${lines.join('\n')}\n`);
            assert.equal(imported.log, 'imported 300 threads, skipped 0, refused 0\n');

            const copy = await threads(gateway, 'export');
            assert.equal(copy.log, 'exported 300 threads of 1 user\n');
            const page = await read(gateway, 'ada', 't0/messages?limit=200');
            assert.ok(page.text.includes('text 3999'));
            const again = await threads(other, 'import', [], copy.out);
            assert.equal(again.log, 'imported 300 threads, skipped 0, refused 0\n');
            const sorted = (text) => text.split('\n').slice(1).sort().join('\n');
            assert.equal(sorted((await threads(other, 'export')).out), sorted(copy.out));
        } finally {
            await end(gateway, other);
        }
    });
});

describe('the command line', () => {
    it('takes the socket from the configuration, and says what is wrong', async (test) => {
        recordAs(test.name);
        const gateway = await startGateway();
        try {
            const program = path.join(binFolder, 'agui-gateway');
            const run = (...args) => {
                try {
                    return { code: 0, out: execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...gateway.env } }) };
                } catch (error) {
                    return { code: error.status, log: error.stderr };
                }
            };
            assert.match(run('threads', 'export', '--config', gateway.configFile).out, /^{"format":"agui-gateway-threads","version":1,/);
            assert.match(run('threads', 'purge', '--help').out, /--dry-run/);
            assert.deepEqual(run('threads', 'export'), { code: 2, log: 'the path of the socket is needed: --socket PATH, or --config FILE of a gateway with server.control_socket\n' });
            assert.equal(run('threads').code, 2);
            assert.equal(run('threads', 'purge', '--socket', gateway.socket).code, 2);
            assert.match(run('threads', 'purge', '--socket', gateway.socket, '--user', '', '--yes').log, /--nobody/);
            assert.match(run('threads', 'export', '--socket', gateway.socket, '--user', '', '--tenant', 'acme').log, /--tenant/);
            assert.match(run('threads', 'purge', '--socket', gateway.socket, '--user', 'a\nb', '--yes').log, /must be names/);
            assert.equal(run('threads', 'purge', '--socket', gateway.socket, '--user', 'ada', '--nobody').code, 2);
            assert.equal(run('threads', 'purge', '--socket', gateway.socket, '--nobody', '--dry-run').code, 0);
            assert.deepEqual(run('threads', 'purge', '--socket', gateway.socket, '--user', 'ada').log, 'about to remove 0 threads of "ada"\nnothing was removed: add --yes\n');
            assert.equal(run('threads', 'export', '--socket', '/nowhere/control').code, 1);
            assert.equal((fs.statSync(gateway.socket).mode & 0o777).toString(8), '600');
        } finally {
            await end(gateway);
        }
        assert.ok(!fs.existsSync(gateway.socket), 'the socket is removed at the end');
    });
});
