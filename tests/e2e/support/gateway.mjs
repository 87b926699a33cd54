// Starts the real agui-gateway for a test file: generated configuration, port 0, SQLite in a temporary folder.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../..', import.meta.url));
export const binFolder = path.resolve(repository, process.env.AGUI_BIN_DIR ?? 'build/release/bin');

/// The reason to skip a test that needs failpoints; false if the build has them.
export function withoutFailpoints() {
    return !fs.readFileSync(path.join(binFolder, 'agui-gateway')).includes('AGUI_FAILPOINT') && 'this build has no failpoints';
}

function isTable(value) {
    return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function tomlValue(value) {
    if (Array.isArray(value)) return `[${value.map(tomlValue).join(', ')}]`;
    if (!isTable(value)) return JSON.stringify(value);
    return `{ ${Object.entries(value).map(([key, member]) => `${JSON.stringify(key)} = ${tomlValue(member)}`).join(', ')} }`;
}

/// Stops everything that was started, also after a failure; then throws the first failure.
export async function stopAll(...started) {
    const results = await Promise.allSettled(started.map(async (server) => server?.stop()));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
}

/// TOML text of nested plain objects; an array of objects becomes an array of tables.
export function toToml(table, prefix = '') {
    let plain = '';
    let nested = '';
    for (const [key, value] of Object.entries(table)) {
        const name = prefix ? `${prefix}.${key}` : key;
        if (isTable(value)) nested += `\n[${name}]\n${toToml(value, name)}`;
        else if (Array.isArray(value) && value.length > 0 && value.every(isTable)) {
            for (const entry of value) nested += `\n[[${name}]]\n${toToml(entry, name)}`;
        } else plain += `${key} = ${tomlValue(value)}\n`;
    }
    return plain + nested;
}

export class Gateway {
    /// `config` is merged over the default one, table by table; its `agents` replace the one agent. `args` follow on
    /// the command line. `embedding`: the example program that adds tools of its own, in place of agui-gateway.
    static async start({ model, config = {}, args = [], env = {}, embedding = false } = {}) {
        const gateway = new Gateway();
        gateway.program = embedding ? 'embedding-example' : 'agui-gateway';
        gateway.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-e2e-'));
        gateway.database = path.join(gateway.folder, 'agui.db');
        if (model) {
            const merged = {
                server: { listen: '127.0.0.1:0', ...config.server },
                session: { store: `sqlite:${gateway.database}`, ...config.session },
                models: { main: { provider: 'openai', base_url: model.url, model: 'mock', ...config.model }, ...config.models },
                agents: config.agents ??
                    [{ id: 'default', models: ['main'], instructions: 'You are a test.', ...config.agent }],
                ...(config.auth && { auth: config.auth }),
                ...(config.tools && { tools: config.tools }),
                ...(config.mcp_servers && { mcp_servers: config.mcp_servers }),
                ...(config.quotas && { quotas: config.quotas }),
            };
            gateway.configFile = path.join(gateway.folder, 'gateway.toml');
            fs.writeFileSync(gateway.configFile, toToml(merged));
            gateway.args = embedding ? [gateway.configFile] : ['--config', gateway.configFile, ...args];
        } else gateway.args = args;
        gateway.env = env;
        await gateway.launch();
        return gateway;
    }

    /// Starts the process (again): same configuration, same database, another port.
    async launch() {
        this.log = '';
        this.process = spawn(path.join(binFolder, this.program), this.args, {
            cwd: this.folder,
            env: { ...process.env, ...this.env },
            stdio: ['ignore', 'pipe', 'pipe'],
        });
        const running = this.process;
        this.ended = new Promise((resolve) => {
            running.on('error', (error) => resolve({ error }));
            running.on('close', (code, signal) => resolve({ code, signal }));
        });
        running.stderr.on('data', (chunk) => (this.log += chunk));
        const lines = readline.createInterface({ input: running.stdout });
        const listening = new Promise((resolve) => {
            lines.on('line', (line) => {
                this.log += `${line}\n`;
                const match = /listening on (http:\/\/\S+)/.exec(line);
                if (match) resolve(match[1]);
            });
        });
        const first = await Promise.race([listening, this.ended]);
        if (typeof first !== 'string') {
            throw new Error(`${this.program} did not start: ${first.error ?? `exit ${first.code}`}\n${this.log}`);
        }
        this.base = first;
        this.url = `${first}/agui`;
    }

    /// Ends the process by `signal` and waits for it.
    async end(signal) {
        this.process.kill(signal);
        return this.ended;
    }

    /// Starts the process again, sends a request by `send`, during which the failpoint kills the process, and starts it
    /// once more.
    async killAt(failpoint, send) {
        await this.end('SIGTERM');
        this.env = { AGUI_FAILPOINT: `${failpoint}=kill` };
        await this.launch();
        await send().then((response) => response.text()).catch(() => '');
        this.env = {};
        assert.ok(this.log.includes(failpoint), `nothing has come to ${failpoint}`);
        assert.equal((await this.ended).signal, 'SIGKILL');
        await this.launch();
    }

    /// Ends the process in the regular way and removes its folder. Fails if it did not exit with 0.
    async stop() {
        let result = { code: 0 };
        if (this.process.exitCode === null && this.process.signalCode === null) {
            const deadline = setTimeout(() => this.process.kill('SIGKILL'), 40_000);
            result = await this.end('SIGTERM');
            clearTimeout(deadline);
        }
        fs.rmSync(this.folder, { recursive: true, force: true });
        const log = this.log.slice(-4000);
        assert.equal(result.code, 0, `agui-gateway ended with ${result.code ?? result.signal}\n${log}`);
        assert.ok(!log.includes('ignores its cancellation'), `agui-gateway did not end by itself\n${log.slice(-300)}`);
        assert.doesNotMatch(this.log, /\\x1f/, 'a run is logged under the id that clients know');
    }

    /// All bytes that the store has on disk.
    storedBytes() {
        const names = fs.readdirSync(this.folder).filter((name) => name.startsWith('agui.db'));
        return Buffer.concat(names.map((name) => fs.readFileSync(path.join(this.folder, name))));
    }
}
