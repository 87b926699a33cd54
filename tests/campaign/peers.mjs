// Several gateways on one PostgreSQL, behind a router that sends each request to any of them, while gateways are killed
// and stopped, the server's connections and the server itself end, a standby takes its place, the networks between them have
// faults, and dates jump.
//
// usage: node peers.mjs [--faults N] [--clients N] [--gateways 2|3] [--seed N] [--only KIND,...] [--keep FOLDER] [--pgbouncer]
//        [--queue] [--steer] [--failpoints] [--mix-up CLIENT]
// AGUI_BIN_DIR: where agui-gateway is. Needs Debian's postgresql-15 and clang-19; and pgbouncer for --pgbouncer.

import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { createCampaign } from './campaign.mjs';
import { createDatabase } from './database.mjs';
import { createNetwork } from './network.mjs';
import { createRandom, shuffled } from './random.mjs';
import { threadPath } from './users.mjs';

const { values: options } = parseArgs({
    options: {
        faults: { type: 'string', default: '20' },
        clients: { type: 'string', default: '40' },
        gateways: { type: 'string', default: '2' },
        seed: { type: 'string', default: String(Date.now() % 1e9) },
        only: { type: 'string' },
        keep: { type: 'string' },
        pgbouncer: { type: 'boolean', default: false },
        queue: { type: 'boolean', default: false },
        steer: { type: 'boolean', default: false },
        failpoints: { type: 'boolean', default: false },
        'mix-up': { type: 'string' },
    },
});
const here = path.dirname(fileURLToPath(import.meta.url));
const folder = options.keep ?? fs.mkdtempSync(path.join(os.tmpdir(), 'agui-peers-'));
const lease = 6;
const gateways = Number(options.gateways);
const faultCount = Number(options.faults);
// A fault takes up to 20 s; then there are as many to be waited for as have lost a run.
const mostSeconds = 120 + 20 * faultCount;
console.log(`seed ${options.seed}, ${gateways} gateways, ${options.clients} clients, ${faultCount} faults` +
    `${options.pgbouncer ? ' through PgBouncer' : ''}, files in ${folder}`);

// ---- PostgreSQL, and PgBouncer before it. Both refuse to run as root, and their user must be able to enter the folder.

const serverFolder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-peers-pg-'));
fs.chmodSync(serverFolder, 0o755);
const database = createDatabase(serverFolder);
const poolerFolder = path.join(serverFolder, 'pooler');
fs.mkdirSync(poolerFolder);
const asServer = process.getuid() === 0 ? database.owner() : {};
if (asServer.uid) fs.chownSync(poolerFolder, asServer.uid, asServer.gid);

let pooler;
const poolerConfig = path.join(poolerFolder, 'pgbouncer.ini');
function configurePooler() {
    fs.writeFileSync(poolerConfig, `[databases]
postgres = host=${database.places[database.primary()]} dbname=postgres user=agui
[pgbouncer]
listen_addr =
listen_port = 6432
unix_socket_dir = ${poolerFolder}
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 200
server_login_retry = 1
ignore_startup_parameters = extra_float_digits
logfile = ${poolerFolder}/pgbouncer.log
`);
}
async function startPooler() {
    configurePooler();
    // A killed one leaves its socket, and the next one takes that for a running one.
    fs.rmSync(path.join(poolerFolder, '.s.PGSQL.6432'), { force: true });
    pooler = spawn('pgbouncer', ['--quiet', poolerConfig], { stdio: 'ignore', cwd: '/', ...asServer });
    pooler.ended = new Promise((resolve) => pooler.on('close', resolve));
    while (!fs.existsSync(path.join(poolerFolder, '.s.PGSQL.6432'))) await sleep(20);
}
if (options.pgbouncer) await startPooler();

// Each gateway has a network of its own, and in its URL both places where the server may be.
const networks = [];
for (let i = 0; i < gateways; i += 1) {
    networks.push(await createNetwork([...database.places.map((place) => ({ path: path.join(place, '.s.PGSQL.5432') })),
        { path: path.join(poolerFolder, '.s.PGSQL.6432') }]));
}
const everywhere = (what, place) => Promise.all(networks.map((network) => network[what](place)));
await everywhere('takeDown', 1 - database.primary());
const urlOf = (...ports) =>
    `postgresql:///postgres?host=${ports.map(() => networks[0].host).join(',')}&port=${ports.join(',')}&user=agui`;

function storeOf(which) {
    const [first, second, toPooler] = networks[which].ports;
    const direct = urlOf(first, second);
    return options.pgbouncer ? `store = "${urlOf(toPooler)}"\n    prepared = false` : `store = "${direct}"`;
}

// Through which others reach each gateway.
const links = [];
const campaign = await createCampaign({
    folder, seed: options.seed, gateways, queue: options.queue, steers: options.steer, users: true,
    mixUp: options['mix-up'] && Number(options['mix-up']),
    async peerUrl(port) {
        const link = await createNetwork([{ host: '127.0.0.1', port }]);
        links.push(link);
        return `http://${link.host}:${link.ports[0]}`;
    },
    session: (which) => `
    ${storeOf(which)}
    lease_seconds = ${lease}
    store_wait_seconds = 10`,
    readStore: () => execFileSync('python3', [path.join(here, 'postgres_tables.py'), database.url(), folder], { stdio: 'inherit' }),
});
const { counts, note, violation, servers } = campaign;
// With some kinds of faults only, some checks have nothing to look at.
note('settings', { lease, complete: options.only === undefined });

// Only what was started here is ended, by its process id.
function endAll() {
    for (const server of servers) {
        server.process?.kill('SIGCONT');
        server.process?.kill('SIGKILL');
    }
    pooler?.kill('SIGKILL');
    database.stop();
}
process.on('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(1));

// ---- Witnesses: each follows a run that a fault has cut, through the other gateways, to see when it ends.

const witnesses = [];
const mayLose = (kind) => kind === 'failover-lagging';
async function follow({ fault, kind }, which, { thread, run }) {
    const since = performance.now();
    for (let attempt = 0; performance.now() - since < 60_000; attempt += 1) {
        const others = servers.filter(({ index }) => index !== which);
        const { port, name: by } = others[attempt % others.length];
        let ended = false;
        const reply = await campaign.exchange('GET', `${threadPath(thread)}/runs/${run}/events?after=0`, undefined, (sequence, data) => {
            if (sequence > 0) note('witnessed', { thread, run, sequence, by, data });
            const { type } = JSON.parse(data);
            ended ||= sequence > 0 && (type === 'RUN_ERROR' || type === 'RUN_FINISHED');
        }, { port, thread, patience: 2500 }).catch(() => {});
        if (reply?.status === 404 && mayLose(kind)) return;
        if (ended) {
            note('ended', { fault, kind, thread, run, ms: Math.round(performance.now() - since) });
            return;
        }
        await sleep(50);
    }
    violation('a run does not end', { fault, thread, run });
}

// ---- Faults. Each is noted with the gateway that it meets and the runs for which that one waits for a model.

let faultNumber = 0;
const happened = {};
const random = createRandom(Number(options.seed) + 1);

function openCalls(which) {
    return which === undefined ? servers.flatMap(({ name }) => campaign.callsOf(name)) : campaign.callsOf(servers[which].name);
}

function begin(kind, which, open = openCalls(which)) {
    const by = which === undefined ? undefined : servers[which].name;
    note('faults', { fault: faultNumber, kind, what: 'begin', by, open });
    happened[kind] = (happened[kind] ?? 0) + 1;
    // A gateway that has gone, or has no database, is asked for its threads until its leases are over.
    if (!['peers-slow', 'network-slow', 'jump'].includes(kind)) campaign.expectApart((lease + 5) * 1000);
    return { kind, by, open, fault: faultNumber };
}
const end = ({ kind, by, fault }) => note('faults', { fault, kind, what: 'end', by });

function watchLost(fault, which) {
    for (const one of fault.open.slice(0, 10)) witnesses.push(follow(fault, which, one));
}

async function start(which, environment = {}) {
    await links[which].bringUp(0);
    campaign.launch(environment, which);
    await campaign.untilReady(which);
}

async function kill(kind, which, environment, open) {
    const fault = begin(kind, which, open);
    expected.add(servers[which].process);
    campaign.signal('SIGKILL', which);
    watchLost(fault, which);
    await campaign.ended(which);
    await links[which].takeDown(0); // As without a link before it: connections are refused.
    await sleep(random.below(3000));
    await start(which, environment);
    end(fault);
}

// Readers that do not lose patience: they see what a gateway shows when it wakes up.
async function attach(which) {
    const { name, port } = servers[which];
    for (let waited = 0; campaign.callsOf(name).length < 3 && waited < 5000; waited += 20) await sleep(20);
    for (const { thread, run } of campaign.callsOf(name).slice(0, 5)) {
        witnesses.push(campaign.exchange('GET', `${threadPath(thread)}/runs/${run}/events?after=0`, undefined,
            (sequence, data, { by, number: link }) => {
                if (sequence > 0) note('seen', { thread, run, sequence, by, link, data });
            }, { port, patience: 30_000, subject: { thread, run } }).catch(() => {}));
    }
    await sleep(50);
}

async function pause(kind, which, milliseconds) {
    if (milliseconds > lease * 1000) await attach(which);
    campaign.signal('SIGSTOP', which);
    await sleep(50); // What it had received before it stopped has been counted as said.
    const fault = begin(kind, which);
    if (milliseconds > lease * 1000) watchLost(fault, which);
    await sleep(milliseconds);
    end(fault);
    campaign.signal('SIGCONT', which);
}

// By the signals that PostgreSQL documents, as pg_ctl stop does with --mode immediate and fast.
async function restartServer(kind, signal) {
    const fault = begin(kind);
    await database.end(signal);
    await everywhere('takeDown', database.primary());
    await sleep(random.below(2500));
    await database.resume();
    await everywhere('bringUp', database.primary());
    end(fault);
}

// Until each gateway says that it is ready again.
async function untilAllReady({ fault, kind }) {
    const since = performance.now();
    await Promise.all(servers.map(async ({ port, name: by }) => {
        for (;;) {
            const reply = await campaign.exchange('GET', '/readyz', undefined, () => {}, { port, patience: 1000 }).catch(() => {});
            const ms = Math.round(performance.now() - since);
            if (reply?.status === 200) return note('ready', { fault, kind, by, ms });
            if (ms > 15_000) return violation('a gateway is not ready again', { fault, kind, by });
            await sleep(20);
        }
    }));
}

// As in the campaign's files.
const nameOfRun = `convert_from(t.principal, 'UTF8') || ':' || convert_from(t.thread_id, 'UTF8') || '/' || convert_from(r.run_id, 'UTF8')`;

// Runs whose record the server has, with the number of the last event of each.
async function storedRuns() {
    const rows = await database.ask(`SELECT json_object_agg(
        ${nameOfRun},
        coalesce((SELECT max(last_sequence) FROM agui.log_rows l WHERE l.run = r.number), 0))
        FROM agui.runs r JOIN agui.threads t ON t.id = r.thread`);
    const runs = JSON.parse(rows || '{}');
    // A part of a row of the journal begins with the number of its first entry and their count.
    const parts = await database.ask(`SELECT json_agg(json_build_array(
        ${nameOfRun}, encode(substr(p.entries, 1, 20), 'hex')))
        FROM agui.journal j, unnest(j.runs, j.entries) AS p(run, entries), agui.runs r, agui.threads t
        WHERE r.number = p.run AND r.journal_writer = j.writer AND j.batch >= r.journal_from AND t.id = r.thread`);
    for (const [name, bytes] of JSON.parse(parts || '[]') ?? []) {
        const [first, count] = numbersOf(Buffer.from(bytes, 'hex'));
        runs[name] = Math.max(runs[name], first + count - 1);
    }
    return runs;
}

// LEB128.
function numbersOf(bytes) {
    const numbers = [0];
    let shift = 0;
    for (const byte of bytes) {
        numbers[numbers.length - 1] += (byte & 127) * 2 ** shift;
        shift += 7;
        if (byte < 128) {
            numbers.push(0);
            shift = 0;
        }
    }
    return numbers;
}

// A standby takes the place of the server, which is killed at any moment. Nobody reaches it until it is noted what it has.
async function failOver(kind) {
    await database.addStandby(!mayLose(kind));
    const cut = Math.round(performance.now());
    if (mayLose(kind)) await database.cutStandby();
    // As it is in a cluster, its place is in every URL, and it refuses to write.
    await everywhere('bringUp', 1 - database.primary());
    await sleep(random.below(3) === 0 ? random.below(100) : random.below(3000));
    // Otherwise the standby may lack nothing that anybody has seen.
    if (mayLose(kind)) await campaign.untilFreshRunsShown(5);
    const fault = begin(kind);
    await database.destroy();
    await Promise.all([everywhere('takeDown', 0), everywhere('takeDown', 1)]);
    if (mayLose(kind)) {
        campaign.expectLoss();
        watchLost(fault);
    }
    await database.promote();
    if (mayLose(kind)) note('stored', { fault: faultNumber, cut, runs: await storedRuns() });
    if (options.pgbouncer) {
        configurePooler();
        pooler.kill('SIGHUP');
    }
    await everywhere('bringUp', database.primary());
    end(fault);
    await untilAllReady(fault);
}

// For long enough to lose what it has, or only for a moment.
async function disturb(kind, which, how) {
    const milliseconds = random.below(2) === 0 ? 200 + random.below(700) : lease * 1000 + 1000 + random.below(2000);
    const fault = begin(kind, which);
    if (milliseconds > lease * 1000) watchLost(fault, which);
    await how(networks[which]);
    await sleep(milliseconds);
    await networks[which].mend();
    end(fault);
    await untilAllReady(fault);
}

// Gateways cannot ask each other: nothing may be lost, and the store is read meanwhile.
async function setApart(kind, how) {
    const milliseconds = random.below(2) === 0 ? 200 + random.below(700) : lease * 1000 + 1000 + random.below(2000);
    const fault = begin(kind, undefined, []);
    // Who could not reach another one waits up to 4 s before it tries again.
    if (kind !== 'peers-slow') campaign.expectApart(milliseconds + 5000);
    await Promise.all(links.map(how));
    await sleep(milliseconds);
    await Promise.all(links.map((link) => link.mend()));
    end(fault);
}

const dateFile = (which) => path.join(folder, `date-${which}`);
const dateLibrary = path.join(serverFolder, 'shifted_date.so');
execFileSync(process.env.CC ?? 'clang-19', ['-shared', '-fPIC', '-o', dateLibrary, path.join(here, 'shifted_date.c')]);
// Up to twelve days away, which is longer than logs are kept, and up to a tenth too fast or too slow.
const dateShiftMax = 12 * 86_400;
const setDate = (which) =>
    fs.writeFileSync(dateFile(which), `${random.below(2 * dateShiftMax) - dateShiftMax} ${random.below(21) - 10}\n`);

const kinds = {
    kill: (which) => kill('kill', which),
    // As when a new version is installed: nothing may be lost.
    async roll(which) {
        const fault = begin('roll', which);
        const { process: gateway } = servers[which];
        expected.add(gateway);
        campaign.signal('SIGTERM', which);
        const { code, signal } = await campaign.ended(which);
        await links[which].takeDown(0);
        if (code !== 0) violation('a gateway did not stop cleanly', { by: fault.by, code, signal });
        await start(which);
        end(fault);
    },
    stop: (which) => pause('stop', which, lease * 1000 + 1000 + random.below(2000)),
    blink: (which) => pause('blink', which, 200 + random.below(1000)),
    async backends() {
        const fault = begin('backends');
        await database.ask(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`);
        end(fault);
    },
    immediate: () => restartServer('immediate', 'SIGQUIT'),
    fast: () => restartServer('fast', 'SIGINT'),
    'failover-synchronous': () => failOver('failover-synchronous'),
    'failover-lagging': () => failOver('failover-lagging'),
    'network-cut': (which) => disturb('network-cut', which, (network) => network.cut()),
    'network-silent': (which) => disturb('network-silent', which, (network) => network.silence()),
    // Nothing may be lost.
    async 'network-slow'(which) {
        const fault = begin('network-slow', which);
        networks[which].slow(20);
        await sleep(3000 + random.below(3000));
        await networks[which].mend();
        end(fault);
    },
    'peers-cut': () => setApart('peers-cut', (link) => link.cut()),
    'peers-silent': () => setApart('peers-silent', (link) => link.silence()),
    'peers-slow': () => setApart('peers-slow', (link) => link.slow(20)),
    // A gateway whose date is another one, and runs a little faster or slower; it jumps while the gateway runs.
    async date(which) {
        setDate(which);
        await kill('date', which, {
            LD_PRELOAD: dateLibrary, AGUI_SHIFTED_DATE: dateFile(which),
        });
        await sleep(1500);
        const fault = begin('jump', which);
        setDate(which);
        await sleep(1500);
        end(fault);
    },
};
if (options.pgbouncer) {
    kinds.pooler = async () => {
        const fault = begin('pooler');
        pooler.kill('SIGKILL');
        await pooler.ended;
        await sleep(random.below(1500));
        await startPooler();
        end(fault);
    };
}

// Places that a gateway passes only because there are others; and those between what it stores and what it says.
const places = shuffled(['follow.look', 'follow.lost', 'locator.lost', 'begin.repeated', 'begin.conflict', 'begin.loaded',
    'begin.stored', 'launch.registered', 'run.commit', 'run.committed', 'run.ending', 'run.finish_stored',
    'run.thread_free', 'cancel.requested', 'cancel.counted', 'recovery.loaded', 'recovery.commit', 'recovery.run_ended',
    'loop.turn_stored', 'loop.results_stored', 'sweep.begin'], random.below);
const passed = new Set();
if (options.failpoints) {
    // A gateway that kills itself at one of these places, or is killed because it has not passed it in time.
    kinds.failpoint = async (which) => {
        const name = places.shift();
        places.push(name);
        await kill('kill', which, { AGUI_FAILPOINT: `${name}=kill:${1 + random.below(3)}` });
        const { process: gateway, log } = servers[which];
        expected.add(gateway);
        // Its connections are closed a little before its end is heard of.
        let open = [];
        let now = openCalls(which);
        for (let waited = 0; gateway.signalCode === null && waited < 8000; waited += 50) {
            await sleep(50);
            [open, now] = [now, openCalls(which)];
        }
        if (fs.readFileSync(log, 'utf8').includes(`failpoint ${name}`)) passed.add(name);
        await kill('failpoint', which, {}, open);
    };
}

// A gateway that ends by itself has crashed.
const expected = new Set();
async function lookForCrashes() {
    for (const server of servers) {
        const gateway = server.process;
        if ((gateway.exitCode === null && gateway.signalCode === null) || expected.has(gateway)) continue;
        violation('a gateway has ended by itself', { by: server.name, code: gateway.exitCode, signal: gateway.signalCode });
        await start(server.index);
    }
}

// ---- The campaign.

const guard = setTimeout(() => {
    violation('the campaign does not end in time', { seconds: mostSeconds });
    console.log('0 passed, 1 failed');
    process.exit(1);
}, mostSeconds * 1000);

await Promise.all(servers.map(({ index }) => start(index)));
const clients = Array.from({ length: Number(options.clients) }, (_, i) => campaign.converse(i, Infinity));
const isChosen = (kind) => !options.only || options.only.split(',').some((one) => kind === one || kind.startsWith(`${one}-`));
let deck = [];
for (; faultNumber < faultCount; faultNumber += 1) {
    await sleep(300 + random.below(1200));
    // Every fourth one is not followed by another one while the runs that it has cut are ended.
    if (faultNumber % 4 === 3) await Promise.all(witnesses);
    if (deck.length === 0) deck = shuffled(Object.keys(kinds).filter(isChosen), random.below);
    await lookForCrashes();
    const kind = deck.pop();
    const which = random.below(gateways);
    console.log(`fault ${faultNumber}: ${kind} ${servers[which].name}, ${counts.runs} runs so far`);
    await kinds[kind](which);
}
await sleep(1000);
campaign.stopClients();
await Promise.all(clients);
await Promise.all(witnesses);
await lookForCrashes();
for (const what of ['attachedElsewhere', 'repostedElsewhere', 'answeredElsewhere', 'resumedElsewhere', 'stopsElsewhere']) {
    if (counts[what] === 0) violation('this never happened', { what });
}
const { status, text } = await campaign.finish();
clearTimeout(guard);
for (const network of [...networks, ...links]) network.close();
if (options.failpoints) {
    const missed = places.filter((name) => !passed.has(name));
    console.log(`killed itself at ${[...passed].join(', ')}; not at ${missed.join(', ')}`);
}
console.log(`faults: ${Object.entries(happened).map(([kind, count]) => `${count} ${kind}`).join(', ')}`);
console.log(`${counts.known} runs, ${counts.handoffs} hand-offs (${counts.answeredElsewhere} answered through another gateway), ` +
    `${counts.answers} approvals and answers (${counts.resumedElsewhere} through another gateway), ` +
    `${counts.stops} stops (${counts.stopsElsewhere} through another gateway), ${counts.cuts} connections lost ` +
    `(${counts.left} left, ${counts.impatient} without patience), ${counts.reattached} re-attached ` +
    `(${counts.attachedElsewhere} through another gateway), ${counts.reposts} repeated (${counts.repostedElsewhere}), ` +
    `${counts.lost} runs ended by an error, ${counts.gone} requests for what was lost, ${witnesses.length} witnesses`);
process.stdout.write(text);
if (status === 0 && !options.keep) fs.rmSync(folder, { recursive: true });
process.exit(status);
