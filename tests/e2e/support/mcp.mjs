// MCP servers that others wrote: the reference server over streamable HTTP and standard input and output.

import { spawn } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import { fileURLToPath } from 'node:url';

export const everything = fileURLToPath(
    new URL('../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
);

/// The ids of a process's children.
export function childrenOf(parent) {
    return fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number).filter((id) => {
        try {
            const stat = fs.readFileSync(`/proc/${id}/stat`, 'utf8');
            return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
        } catch {
            return false; // It has just ended.
        }
    });
}

function freePort() {
    return new Promise((resolve, reject) => {
        const server = net.createServer();
        server.on('error', reject);
        server.listen(0, '127.0.0.1', () => {
            const { port } = server.address();
            server.close(() => resolve(port));
        });
    });
}

/// The reference server as a process that listens on a port of its own.
export class EverythingServer {
    static async start() {
        const server = new EverythingServer();
        server.port = await freePort();
        await server.launch();
        return server;
    }

    get url() {
        return `http://127.0.0.1:${this.port}/mcp`;
    }

    /// Starts the process (again), on the same port.
    async launch() {
        this.log = '';
        this.process = spawn(process.execPath, [everything, 'streamableHttp'], {
            env: { ...process.env, PORT: String(this.port) },
            stdio: ['ignore', 'pipe', 'pipe'],
        });
        const running = this.process;
        this.ended = new Promise((resolve) => running.on('close', resolve));
        const listening = new Promise((resolve) => {
            const take = (chunk) => {
                this.log += chunk;
                if (this.log.includes('listening on port')) resolve(true);
            };
            running.stdout.on('data', take);
            running.stderr.on('data', take);
        });
        if (!(await Promise.race([listening, this.ended.then(() => false)]))) {
            throw new Error(`the MCP server did not start\n${this.log}`);
        }
    }

    async kill() {
        this.process.kill('SIGKILL');
        await this.ended;
    }

    async stop() {
        if (this.process.exitCode === null && this.process.signalCode === null) await this.kill();
    }
}
