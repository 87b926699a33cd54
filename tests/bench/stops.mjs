// How long a stop takes at the gateway that has the run, and through another one on the same PostgreSQL: from the request
// to its answer, which comes once the run has ended. Prints p50 and p99 of each, in ms. Exit status 1: a stop did not end
// its run, or p99 through the other gateway is over 50 ms.
// usage: node stops.mjs [--count N]
// AGUI_BIN_DIR: where agui-gateway is. Needs Debian's postgresql-15.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { createDatabase } from '../campaign/database.mjs';

const { values: options } = parseArgs({ options: { count: { type: 'string', default: '500' } } });
const limitMs = 50;
const root = fileURLToPath(new URL('../..', import.meta.url));
const binFolder = path.resolve(root, process.env.AGUI_BIN_DIR ?? 'build/release/bin');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-stops-'));
fs.chmodSync(folder, 0o755); // PostgreSQL's user enters it.
const database = createDatabase(path.join(folder, 'postgres'));
const gateways = [];
process.on('exit', () => {
    for (const { process: started } of gateways) started.kill('SIGKILL');
    database.stop();
    fs.rmSync(folder, { recursive: true, force: true });
});

const model = http.createServer(async (request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    while (!response.destroyed) {
        response.write('data: {"choices":[{"index":0,"delta":{"content":"more "}}]}\n\n');
        await sleep(20);
    }
});
await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));

async function start(name) {
    const config = path.join(folder, `${name}.toml`);
    fs.writeFileSync(config, `
[server]
listen = "127.0.0.1:0"
log_level = "warning"
[session]
store = "${database.url()}"
[models.main]
provider = "openai"
base_url = "http://127.0.0.1:${model.address().port}/v1"
model = "m"
[[agents]]
id = "default"
models = ["main"]
`);
    const started = spawn(path.join(binFolder, 'agui-gateway'), ['--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
    const port = await new Promise((resolve, reject) => {
        started.stdout.on('data', (data) => resolve(Number(/:(\d+)\s*$/.exec(String(data))[1])));
        started.on('exit', (status) => reject(new Error(`the gateway ended with status ${status}`)));
    });
    gateways.push({ process: started, port });
    return port;
}
const here = await start('here');
const elsewhere = await start('elsewhere');

function post(port, where, body) {
    return new Promise((resolve, reject) => {
        const request = http.request({ port, host: '127.0.0.1', method: 'POST', path: where,
            headers: { 'content-type': 'application/json' } }, resolve);
        request.on('error', reject);
        request.end(JSON.stringify(body));
    });
}
async function textOf(response) {
    let text = '';
    for await (const part of response) text += part;
    return text;
}

async function stop(number, port) {
    const threadId = `thread-${number}`;
    const run = await post(here, '/agui', { threadId, runId: 'r', messages: [{ id: 'u', role: 'user', content: 'go' }] });
    let seen = '';
    let begun;
    const speaks = new Promise((resolve) => { begun = resolve; });
    run.on('data', (part) => {
        seen += part;
        if (seen.includes('TEXT_MESSAGE_CONTENT')) begun();
    });
    const ended = new Promise((resolve) => run.on('end', resolve));
    await speaks;
    await sleep(Math.random() * 30);
    const asked = performance.now();
    const answer = await textOf(await post(port, '/agui/cancel', { threadId, runId: 'r' }));
    const took = performance.now() - asked;
    await ended;
    if (!answer.includes('true')) throw new Error(`not stopped: ${answer}`);
    return took;
}

const times = { here: [], elsewhere: [] };
for (let number = 0; number < 2 * Number(options.count); number += 1) {
    const [name, port] = number % 2 === 0 ? ['here', here] : ['elsewhere', elsewhere];
    times[name].push(await stop(number, port));
}
const quantile = (values, part) => values.sort((a, b) => a - b)[Math.round(part * (values.length - 1))];
for (const [name, values] of Object.entries(times)) {
    console.log(`a stop ${name}: ${values.length}, p50 ${quantile(values, 0.5).toFixed(2)} ms, ` +
        `p99 ${quantile(values, 0.99).toFixed(2)} ms, at most ${values.at(-1).toFixed(2)} ms`);
}
process.exit(quantile(times.elsewhere, 0.99) <= limitMs ? 0 : 1);
