// What it costs to know the sender of a request: CPU of the gateway for a GET of /version with a token, less the same
// without [auth], for each algorithm, with one token that is repeated and with another one in each request. Keys are in a
// file, as if they had been fetched. Prints microseconds, medians of the rounds. Exit status 1: over 60 us.
// usage: node tokens.mjs [--rounds N] [--requests N]
// AGUI_BIN_DIR: where agui-gateway is. It runs on the first core, this program on the second (taskset).

import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({
    options: { rounds: { type: 'string', default: '5' }, requests: { type: 'string', default: '4000' } },
});
const limitUs = 60;
const requests = Number(options.requests);
const root = fileURLToPath(new URL('../..', import.meta.url));
const binFolder = path.resolve(root, process.env.AGUI_BIN_DIR ?? 'build/release/bin');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-tokens-'));
const started = new Set();
process.on('exit', () => {
    for (const gateway of started) gateway.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
});

const keys = {
    RS256: crypto.generateKeyPairSync('rsa', { modulusLength: 2048 }),
    ES256: crypto.generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    EdDSA: crypto.generateKeyPairSync('ed25519'),
};
const keysFile = path.join(folder, 'keys.json');
fs.writeFileSync(keysFile, JSON.stringify({
    keys: Object.entries(keys).map(([alg, pair]) => ({ ...pair.publicKey.export({ format: 'jwk' }), kid: alg, alg, use: 'sig' })),
}));

function tokenOf(alg, number) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
        iss: 'https://issuer.example', aud: 'agui', sub: `user-${number}`, exp: Math.floor(Date.now() / 1000) + 3600,
        scope: 'openid profile run read delete approve', preferred_username: `user-${number}`, jti: crypto.randomUUID(),
    };
    const signed = `${part({ alg, typ: 'at+jwt', kid: alg })}.${part(claims)}`;
    const key = keys[alg].privateKey;
    const signature = crypto.sign(alg === 'EdDSA' ? null : 'sha256', signed, { key, dsaEncoding: 'ieee-p1363' });
    return `${signed}.${signature.toString('base64url')}`;
}

async function startGateway(auth) {
    const config = path.join(folder, 'gateway.toml');
    fs.writeFileSync(config, `[server]\nlisten = "127.0.0.1:0"\nthreads = 1\n[session]\nstore = "memory:"\n${auth}
[models.main]\nprovider = "openai"\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "none"\n[[agents]]\nid = "default"\nmodels = ["main"]\n`);
    const gateway = spawn('taskset', ['-c', '0', path.join(binFolder, 'agui-gateway'), '--config', config], {
        stdio: ['ignore', 'pipe', 'ignore'],
    });
    started.add(gateway);
    gateway.on('exit', () => started.delete(gateway));
    for await (const line of readline.createInterface({ input: gateway.stdout })) {
        const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
        if (port) return { gateway, port: Number(port) };
    }
    throw new Error('the gateway did not start');
}

/// Nanoseconds that all threads of the process have run.
function runTime(pid) {
    return fs.readdirSync(`/proc/${pid}/task`)
        .map((task) => Number(fs.readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]))
        .reduce((sum, each) => sum + each, 0);
}

function get(agent, port, token) {
    return new Promise((resolve, reject) => {
        const headers = token ? { authorization: `Bearer ${token}` } : {};
        http.get({ agent, port, host: '127.0.0.1', path: '/version', headers }, (response) => {
            response.resume();
            response.on('end', () => (response.statusCode === 200 ? resolve() : reject(new Error(`${response.statusCode}`))));
        }).on('error', reject);
    });
}

/// Microseconds of the gateway's CPU for each request; all over one connection.
async function costOf({ gateway, port }, tokens) {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let i = 0; i < 50; ++i) await get(agent, port, tokens[0]);
    const before = runTime(gateway.pid);
    for (let i = 0; i < requests; ++i) await get(agent, port, tokens[i % tokens.length]);
    const used = runTime(gateway.pid) - before;
    agent.destroy();
    return used / requests / 1000;
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

async function main() {
    const open = await startGateway('');
    const closed = await startGateway(
        `[auth]\nmode = "jwt"\nissuer = "https://issuer.example"\naudience = "agui"\njwks_file = "${keysFile}"\n`);
    let within = true;
    const other = Object.fromEntries(Object.keys(keys).map((alg) => [alg, { repeated: [], changing: [] }]));
    for (let round = 0; round < Number(options.rounds); ++round) {
        for (const alg of Object.keys(keys)) {
            const tokens = Array.from({ length: requests }, (_, number) => tokenOf(alg, number));
            const plain = await costOf(open, [undefined]);
            other[alg].repeated.push((await costOf(closed, [tokens[0]])) - plain);
            other[alg].changing.push((await costOf(closed, tokens)) - plain);
        }
    }
    for (const [alg, { repeated, changing }] of Object.entries(other)) {
        console.log(`${alg}: ${median(repeated).toFixed(1)} us a request with the same token, ${median(changing).toFixed(1)} us with a new one`);
        within &&= median(repeated) <= limitUs;
    }
    return within;
}

process.exit((await main()) ? 0 : 1);
