// Readers that are far too slow, beside normal ones: 500 that take 1 KB/s of runs that write 20 KB/s, for a minute.
// Prints what the normal readers' delay is with and without them, how the slow ones ended, and what they cost in memory.
// No test: a measurement. usage: node slow_readers.mjs [--slow N] [--normal N] [--seconds N]

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
    options: {
        slow: { type: 'string', default: '500' },
        normal: { type: 'string', default: '50' },
        seconds: { type: 'string', default: '60' },
    },
});
const limit = 262_144; // server.reader_buffer_bytes
const runs = 10;
const pieceBytes = 400;
const paceMs = 20; // 400 bytes each 20 ms: 20 KB/s
const root = fileURLToPath(new URL('../..', import.meta.url));
const binFolder = path.resolve(root, process.env.AGUI_BIN_DIR ?? 'build/release/bin');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-slow-'));

const model = http.createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!response.destroyed) {
        const text = `@${Date.now()}@`.padEnd(pieceBytes, '.');
        response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: text } }] })}\n\n`);
        await sleep(paceMs);
    }
});
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

const config = path.join(folder, 'gateway.toml');
fs.writeFileSync(config, `
[server]
listen = "127.0.0.1:0"
log_level = "error"
reader_buffer_bytes = ${limit}
[session]
store = "sqlite:${folder}/agui.db"
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:${model.address().port}/v1"
model = "m"
[[agents]]
id = "default"
models = ["main"]
`);
const gateway = spawn(path.join(binFolder, 'agui-gateway'), ['--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
const port = await new Promise((resolve) => {
    gateway.stdout.on('data', (data) => resolve(Number(/:(\d+)\s*$/.exec(String(data))[1])));
});
const agent = new http.Agent({ maxSockets: Infinity });

function proportional() {
    const text = fs.readFileSync(`/proc/${gateway.pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+)/m.exec(text)[1]) / 1024;
}

function begin(thread) {
    const body = JSON.stringify({ threadId: thread, runId: 'r', messages: [{ id: 'u', role: 'user', content: 'go' }] });
    return new Promise((resolve, reject) => {
        const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: '/agui', agent,
            headers: { 'content-type': 'application/json', 'content-length': body.length } }, (response) => {
            response.once('data', resolve);
            response.on('error', () => {});
            response.resume();
        });
        request.on('error', reject);
        request.end(body);
    });
}

let delays; // Of the events of a measurement, in ms; undefined: nobody measures.

function readNormally(thread) {
    http.get({ port, host: '127.0.0.1', path: `/agui/threads/${thread}/runs/r/events?after=1`, agent }, (response) => {
        response.setEncoding('utf8');
        response.on('data', (text) => {
            const now = Date.now();
            if (delays) for (const [, sent] of text.matchAll(/@(\d+)@/g)) delays.push(now - Number(sent));
        });
        response.on('error', () => {});
    });
}

// 1 KB a second through a window of its own; resolves to how it ended.
function readSlowly(thread) {
    return new Promise((resolve) => {
        const socket = net.connect({ port, host: '127.0.0.1', highWaterMark: 1024 });
        socket.write(`GET /agui/threads/${thread}/runs/r/events?after=1 HTTP/1.1\r\nHost: localhost\r\n\r\n`);
        let last = '';
        let timer;
        const finish = (how) => {
            clearInterval(timer);
            resolve(/: cut off/.test(last) ? 'cut off, told' : how);
        };
        socket.pause();
        timer = setInterval(() => {
            const part = socket.read(1024) ?? socket.read();
            if (part) last = (last + part).slice(-4096);
        }, 1000);
        socket.on('readable', () => {});
        socket.on('end', () => finish('ended'));
        socket.on('error', () => finish('cut off'));
        socket.on('close', () => finish('cut off'));
        stillReading.add(() => { socket.destroy(); finish('still reading'); });
    });
}

const stillReading = new Set();
const quantile = (all, q) => all.sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * q))];

async function measure(seconds) {
    delays = [];
    await sleep(seconds * 1000);
    const all = delays;
    delays = undefined;
    return { p50: quantile(all, 0.5), p99: quantile(all, 0.99), count: all.length };
}

for (let i = 0; i < runs; i += 1) await begin(`t${i}`);
for (let i = 0; i < Number(options.normal); i += 1) readNormally(`t${i % runs}`);
const without = await measure(20);
const before = proportional();
const slow = Array.from({ length: Number(options.slow) }, (_, i) => readSlowly(`t${i % runs}`));
let peak = before;
const watch = setInterval(() => { peak = Math.max(peak, proportional()); }, 500);
const beside = await measure(Number(options.seconds));
clearInterval(watch);
for (const leave of stillReading) leave();
const ends = {};
for (const how of await Promise.all(slow)) ends[how] = (ends[how] ?? 0) + 1;
console.log(`normal readers alone:  p50 ${without.p50} ms, p99 ${without.p99} ms (${without.count} events)`);
console.log(`beside ${options.slow} slow ones: p50 ${beside.p50} ms, p99 ${beside.p99} ms (${beside.count} events)`);
console.log(`slow readers: ${JSON.stringify(ends)}`);
const bound = (limit * Number(options.slow) * 1.1) / 2 ** 20;
console.log(`PSS grew by ${(peak - before).toFixed(1)} MB at its peak; limit x readers + 10 % is ${bound.toFixed(1)} MB`);
gateway.kill('SIGKILL');
fs.rmSync(folder, { recursive: true });
process.exit(0);
