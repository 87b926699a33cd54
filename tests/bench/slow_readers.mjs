// Readers that are far too slow, beside normal ones: 500 that take 1 KB/s of runs that write 20 KB/s, for a minute.
// Prints when the gateway cut them off, whether they could read on without gap or repeat, what they cost in memory, and the
// normal readers' delay before, beside and after them. Exit status 1: a gap, a repeat or too much memory. The slow readers are
// a process of their own, slow_readers.py, so that what it costs to read slowly delays nobody here.
// With --elsewhere, all readers are at another gateway than the runs, on the same PostgreSQL (Debian's postgresql-15).
// With --quiet N, there are N more runs that write a piece a second, each with a normal reader of its own.
// usage: node slow_readers.mjs [--slow N] [--normal N] [--seconds N] [--quiet N] [--behind] [--elsewhere]

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { createDatabase } from '../campaign/database.mjs';

const { values: options } = parseArgs({
    options: {
        slow: { type: 'string', default: '500' },
        normal: { type: 'string', default: '50' },
        seconds: { type: 'string', default: '60' },
        quiet: { type: 'string', default: '0' },
        behind: { type: 'boolean', default: false }, // They begin with the runs' first events, not where the runs are.
        elsewhere: { type: 'boolean', default: false },
    },
});
const limit = 262_144; // server.reader_buffer_bytes
const runs = 10;
const pieceBytes = 400;
const paceMs = 20; // 400 bytes each 20 ms: 20 KB/s
const root = fileURLToPath(new URL('../..', import.meta.url));
const binFolder = path.resolve(root, process.env.AGUI_BIN_DIR ?? 'build/release/bin');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-slow-'));
fs.chmodSync(folder, 0o755); // PostgreSQL's user enters it.
const database = options.elsewhere ? createDatabase(path.join(folder, 'postgres')) : undefined;
const gateways = [];
process.on('exit', () => {
    for (const started of gateways) started.kill('SIGKILL');
    database?.stop();
    fs.rmSync(folder, { recursive: true, force: true });
});

const model = http.createServer(async (request, response) => {
    const parts = [];
    for await (const part of request) parts.push(part);
    const pace = String(Buffer.concat(parts)).includes('quietly') ? 1000 : paceMs;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const begun = performance.now();
    for (let count = 1; !response.destroyed; count += 1) {
        const text = `@${performance.now().toFixed(2)}@`.padEnd(pieceBytes, '.');
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`);
        await sleep(Math.max(0, begun + count * pace - performance.now()));
    }
});
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

const config = path.join(folder, 'gateway.toml');
fs.writeFileSync(config, `
[server]
listen = "127.0.0.1:0"
log_level = "warning"
reader_buffer_bytes = ${limit}
on_disconnect = "continue"
[session]
store = "${database?.url() ?? `sqlite:${folder}/agui.db`}"
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:${model.address().port}/v1"
model = "m"
[[agents]]
id = "default"
models = ["main"]
`);
const warnings = {};
const cutOffs = []; // When the gateways' logs said so.

// Resolves to the port of a gateway that has started.
function start() {
    const gateway = spawn(path.join(binFolder, 'agui-gateway'), ['--config', config], { stdio: ['ignore', 'pipe', 'pipe'] });
    gateways.push(gateway);
    readline.createInterface({ input: gateway.stderr }).on('line', (line) => {
        const what = line.replace(/^\S+ /, ''); // Without the time.
        warnings[what] = (warnings[what] ?? 0) + 1;
        if (what.includes('a reader was cut off')) cutOffs.push(performance.now());
    });
    return new Promise((resolve) => {
        gateway.stdout.on('data', (data) => resolve(Number(/:(\d+)\s*$/.exec(String(data))[1])));
    });
}
const port = await start();
const readersPort = options.elsewhere ? await start() : port;
const agent = new http.Agent({ maxSockets: Infinity });

// The memory of all gateways, in MB.
function proportional() {
    const each = gateways.map(({ pid }) => fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
    return each.reduce((sum, text) => sum + Number(/^Pss:\s+(\d+)/m.exec(text)[1]) / 1024, 0);
}

// What the kernel holds for all sockets of this machine, in MB.
function inKernel() {
    return Number(/^TCP: .* mem (\d+)/m.exec(fs.readFileSync('/proc/net/sockstat', 'utf8'))[1]) / 256;
}

// Resolves, when the run has begun, to its stream, read as fast as it comes.
function begin(thread, how = 'go') {
    const body = JSON.stringify({ threadId: thread, runId: 'r', messages: [{ id: 'u', role: 'user', content: how }] });
    return new Promise((resolve, reject) => {
        const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: '/agui', agent,
            headers: { 'content-type': 'application/json', 'content-length': body.length } }, (response) => {
            const parts = [];
            const ended = new Promise((end, fail) => response.on('end', end).on('error', fail));
            response.on('data', (part) => how === 'go' && parts.push(part));
            response.once('data', () => resolve({ parts, ended }));
        });
        request.on('error', reject);
        request.end(body);
    });
}

function cancel(thread) {
    return new Promise((resolve, reject) => {
        const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: '/agui/cancel', agent,
            headers: { 'content-type': 'application/json' } }, (response) => response.on('end', resolve).resume());
        request.on('error', reject);
        request.end(JSON.stringify({ threadId: thread }));
    });
}

let delays; // Of the events of a measurement, in ms; undefined: nobody measures.

function readNormally(thread) {
    http.get({ port: readersPort, host: '127.0.0.1', path: `/agui/threads/${thread}/runs/r/events?after=1`, agent }, (response) => {
        response.setEncoding('utf8');
        response.on('data', (text) => {
            const now = performance.now();
            if (delays) for (const [, sent] of text.matchAll(/@([\d.]+)@/g)) delays.push(now - Number(sent));
        });
        if (response.statusCode !== 200) throw new Error(`a reader got status ${response.statusCode}`);
        response.on('error', () => {});
    });
}

const quantile = (all, q) => all.sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * q))].toFixed(1);

// Collects delays, and looks at the memory each half second, until `over`.
async function measure(over) {
    delays = [];
    const before = { pss: proportional(), kernel: inKernel() };
    const peak = { ...before };
    const watch = setInterval(() => {
        peak.pss = Math.max(peak.pss, proportional());
        peak.kernel = Math.max(peak.kernel, inKernel());
    }, 500);
    const result = await over;
    clearInterval(watch);
    const all = delays;
    delays = undefined;
    return { result, text: `p50 ${quantile(all, 0.5)} ms, p99 ${quantile(all, 0.99)} ms (${all.length} events)`,
        grown: peak.pss - before.pss, kernel: peak.kernel - before.kernel };
}

const threads = Array.from({ length: runs }, (_, i) => `t${i}`);
const fast = [];
for (const thread of threads) fast.push(await begin(thread));
for (let i = 0; i < Number(options.normal); i += 1) readNormally(threads[i % runs]);
for (let i = 0; i < Number(options.quiet); i += 1) {
    await begin(`q${i}`, 'quietly');
    readNormally(`q${i}`);
}
await sleep(2000);
const alone = await measure(sleep(Number(options.seconds) * 1000));

const lastOf = ({ parts }) => String(Buffer.concat(parts)).match(/^id: \d+$/gm).length;
const cursors = fast.map((one) => String(options.behind ? 1 : lastOf(one)));
const slow = spawn('python3', [fileURLToPath(new URL('slow_readers.py', import.meta.url)),
    String(readersPort), options.slow, options.seconds, folder, ...cursors], { stdio: ['pipe', 'pipe', 'inherit'] });
const lines = readline.createInterface({ input: slow.stdout })[Symbol.asyncIterator]();
const nextLine = async () => {
    const { done, value } = await lines.next();
    if (done) throw new Error('slow_readers.py has failed');
    return JSON.parse(value);
};
const besideFrom = performance.now();
const beside = await measure(nextLine());
const cutAfter = cutOffs.map((at) => ((at - besideFrom) / 1000).toFixed(1));
const firstMedianLast = [0, Math.floor(cutAfter.length / 2), cutAfter.length - 1].map((i) => cutAfter[i]);
const warned = JSON.stringify(warnings);
// Many runs grow for as long as they run, so that a later period is compared with the mean of those around it.
const again = await measure(sleep(Number(options.seconds) * 1000));
for (const thread of threads) await cancel(thread);
for (const [i, thread] of threads.entries()) {
    await fast[i].ended;
    fs.writeFileSync(path.join(folder, `${thread}.sse`), Buffer.concat(fast[i].parts));
}
slow.stdin.end('\n');
const after = await nextLine();

const bound = (limit * Number(options.slow) * 1.1) / 2 ** 20;
console.log(`cut off within ${options.seconds} s: ${cutAfter.length} of ${options.slow}; `
    + `first, median, last after [${firstMedianLast.join(', ')}] s; gateway's log: ${warned}`);
console.log(`a slow reader had taken ${beside.result.bytesRead} bytes by then, and ${after.bytes} with what was on its way`);
console.log(`how they ended: ${JSON.stringify(after.ends)}`);
console.log(`a prefix, and read on without gap or repeat: ${after.resumed} of ${options.slow} ${JSON.stringify(after.faults)}`);
console.log(`PSS grew by ${alone.grown.toFixed(1)} MB alone, by ${beside.grown.toFixed(1)} MB beside the slow ones; `
    + `limit x readers + 10 % is ${bound.toFixed(1)} MB; the kernel's socket memory by ${beside.kernel.toFixed(1)} MB`);
console.log(`normal readers alone: ${alone.text}`);
console.log(`beside ${options.slow} slow ones: ${beside.text}`);
console.log(`alone again: ${again.text}`);
process.exit(after.resumed === Number(options.slow) && beside.grown - alone.grown <= bound ? 0 : 1);
