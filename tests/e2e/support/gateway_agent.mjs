// The packed GatewayAgent of examples/clients with each official client, and what stands between it and the gateway.

import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const modules = fileURLToPath(new URL('../node_modules', import.meta.url));

/// The folder of the packed files; undefined without tests/run.sh.
export const built = process.env.AGUI_GATEWAY_AGENT;
export const skip = !built && 'AGUI_GATEWAY_AGENT is not set: tests/run.sh sets it';
export const clients = { '0.0.57': 'ag-ui-client-0057', '0.0.59': 'ag-ui-client-0059', '1.0.0': 'ag-ui-client-1' };

/// The packed files on the client of this name, in a folder of their own.
export class Package {
    constructor(client) {
        this.folder = fs.mkdtempSync(path.join(modules, '.gateway-agent-'));
        for (const file of fs.readdirSync(path.join(built, 'dist')).filter((each) => each.endsWith('.js'))) {
            const code = fs.readFileSync(path.join(built, 'dist', file), 'utf8');
            fs.writeFileSync(path.join(this.folder, file), code.replaceAll("'@ag-ui/client'", `'${client}'`));
        }
        fs.writeFileSync(path.join(this.folder, 'package.json'), '{"type":"module"}');
    }

    load(file = 'index.js') {
        return import(path.join(this.folder, file));
    }

    stop() {
        fs.rmSync(this.folder, { recursive: true, force: true });
    }
}

/// Passes connections on until told otherwise: cut() ends them, hush() lets nothing through the one that was used last,
/// down() refuses new ones until up().
export class Wire {
    static async start(port) {
        const wire = new Wire();
        wire.connections = 0;
        wire.pairs = new Set();
        wire.cutAfter = Infinity; ///< Bytes of the server after which a connection is cut, once.
        wire.server = net.createServer((client) => {
            wire.connections += 1;
            const server = net.connect(port, '127.0.0.1');
            const pair = { client, server, sent: 0 };
            wire.pairs.add(pair);
            const end = () => {
                wire.pairs.delete(pair);
                client.destroy();
                server.destroy();
            };
            for (const side of [client, server]) side.on('error', end).on('close', end);
            client.on('data', () => (wire.latest = pair)).pipe(server);
            server.on('data', (data) => {
                if (pair.isHushed) return;
                client.write(data.subarray(0, wire.cutAfter - pair.sent));
                pair.sent += data.length;
                if (pair.sent >= wire.cutAfter) {
                    wire.cutAfter = Infinity;
                    end();
                }
            });
        });
        await new Promise((resolve) => wire.server.listen(0, '127.0.0.1', resolve));
        wire.url = `http://127.0.0.1:${wire.server.address().port}/agui`;
        return wire;
    }

    cut() {
        for (const { client } of this.pairs) client.destroy();
    }

    /// The idle connections are ended, because a client would use them for its next request.
    hush() {
        for (const pair of this.pairs) {
            if (pair === this.latest) pair.isHushed = true;
            else pair.client.destroy();
        }
    }

    async down() {
        const closed = new Promise((resolve) => this.server.close(resolve));
        this.cut();
        await closed;
    }

    async up() {
        await new Promise((resolve) => this.server.listen(Number(new URL(this.url).port), '127.0.0.1', resolve));
    }

    async stop() {
        this.cut();
        await new Promise((resolve) => this.server.close(resolve));
    }
}

/// A reverse proxy that serves the gateway below /some/where. finish() ends the replies under way as if they were
/// complete; the statuses in `refusals` answer the next requests.
export class ReverseProxy {
    static async start(gateway) {
        const proxy = new ReverseProxy();
        proxy.requests = [];
        proxy.refusals = [];
        proxy.replies = new Set();
        proxy.server = http.createServer((request, response) => {
            const { method, url, headers } = request;
            proxy.requests.push({ method, url, headers });
            const status = proxy.refusals.shift();
            if (status || !url.startsWith('/some/where/')) {
                request.resume();
                response.writeHead(status ?? 404, { 'Content-Type': 'application/json' }).end('{"error":{"code":"overloaded","message":"Later."}}');
                return;
            }
            const inner = http.request(gateway.base + url.slice('/some/where'.length), { method, headers }, (reply) => {
                response.writeHead(reply.statusCode, reply.headers);
                response.flushHeaders();
                proxy.replies.add(response);
                reply.on('data', (data) => response.writableEnded || response.write(data)).on('end', () => response.end()).on('error', () => response.destroy());
            });
            inner.on('error', () => response.destroy());
            response.on('close', () => {
                proxy.replies.delete(response);
                inner.destroy();
            });
            request.pipe(inner);
        });
        await new Promise((resolve) => proxy.server.listen(0, '127.0.0.1', resolve));
        proxy.url = `http://127.0.0.1:${proxy.server.address().port}/some/where/agui`;
        return proxy;
    }

    finish() {
        for (const reply of this.replies) reply.end();
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}

/// What one agent of the package does on a thread, and what it has said and seen.
export function agentOn(GatewayAgent, config) {
    const agent = new GatewayAgent(config);
    agent.seen = [];
    agent.subscribe({ onEvent: ({ event }) => void agent.seen.push(event) });
    return agent;
}
export const said = (agent) => agent.messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
export const deltasOf = (events) => events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('');

/// Waits until the condition holds.
export async function until(condition) {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10));
}
