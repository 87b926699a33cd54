// nginx and Caddy in front of a gateway, with the configuration files of examples/clients/proxies, and a client that
// speaks HTTP/2 to them, as browsers do.

import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import { Gateway, toToml } from './gateway.mjs';

const examples = fileURLToPath(new URL('../../../examples/clients/proxies', import.meta.url));
export const example = (name) => fs.readFileSync(path.join(examples, name), 'utf8');
export const token = 'a-token-of-the-tests';

/// The text with each pair's first member replaced by its second one; fails if it is not there.
export function edited(text, ...pairs) {
    return pairs.reduce((result, [from, to]) => {
        assert.ok(result.includes(from), `"${from}" is not in the example`);
        return result.replaceAll(from, to);
    }, text);
}

/// The gateway of the example's gateway.toml. `settings` ("server.heartbeat_seconds=1") come on the command line.
export async function startGateway(model, settings = []) {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-proxies-'));
    const file = path.join(folder, 'gateway.toml');
    fs.writeFileSync(file, edited(example('gateway.toml'), ['127.0.0.1:8080', '127.0.0.1:0']) + toToml({
        session: { store: 'sqlite:agui.db' },
        models: { main: { provider: 'openai', base_url: model.url, model: 'mock' } },
        agents: [{ id: 'default', models: ['main'] }],
    }));
    const args = ['--config', file, ...settings.flatMap((setting) => ['--set', setting])];
    const gateway = await Gateway.start({ args, env: { AGUI_TOKEN: token } });
    fs.rmSync(folder, { recursive: true });
    /// Resolves to what the pattern matches in the log, once it does.
    gateway.logged = async (pattern) => {
        while (!pattern.test(gateway.log)) await once(gateway.process.stderr, 'data');
        return pattern.exec(gateway.log)[0];
    };
    return gateway;
}

async function freePort() {
    const server = net.createServer();
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address();
    await new Promise((resolve) => server.close(resolve));
    return port;
}

/// Whether the proxy has its certificate, which Caddy makes after it has begun to listen.
const accepts = (port) => new Promise((resolve) => {
    const socket = tls.connect({ port, host: '127.0.0.1', servername: 'app.example', rejectUnauthorized: false }, () => {
        socket.destroy();
        resolve(true);
    }).on('error', () => resolve(false));
});

/// A proxy as a process of its own, on a port of 127.0.0.1, with its files in a temporary folder.
class Proxy {
    static async start(write) {
        const proxy = new this();
        proxy.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-proxy-'));
        proxy.port = await freePort();
        const [program, args, env] = write(proxy);
        proxy.log = '';
        proxy.process = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
        for (const output of [proxy.process.stdout, proxy.process.stderr]) output.on('data', (chunk) => (proxy.log += chunk));
        proxy.ended = new Promise((resolve) => proxy.process.on('close', resolve).on('error', resolve));
        let over = false;
        void proxy.ended.then(() => (over = true));
        while (!(await accepts(proxy.port))) {
            assert.ok(!over, `${program} did not start\n${proxy.log}`);
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return proxy;
    }

    async stop() {
        this.process.kill('SIGTERM');
        await this.ended;
        fs.rmSync(this.folder, { recursive: true, force: true });
    }
}

const isInstalled = (program) => !spawnSync(program, ['-v'], { env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin` } }).error;

/// A site of nginx, by default the example's, within the smallest main configuration. Compression is on there, as a
/// distribution might have it.
export class Nginx extends Proxy {
    static skip = !isInstalled('nginx') && 'nginx is not installed: apt-get install nginx-light';

    static start(gateway, { site = example('nginx.conf'), edits = [] } = {}) {
        return super.start((proxy) => {
            const file = (name) => path.join(proxy.folder, name);
            execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
                '-subj', '/CN=app.example', '-keyout', file('key'), '-out', file('crt')], { stdio: 'ignore' });
            fs.writeFileSync(file('site.conf'), edited(site, ['listen 443', `listen 127.0.0.1:${proxy.port}`],
                ['/etc/ssl/app.example.crt', file('crt')], ['/etc/ssl/app.example.key', file('key')],
                ['127.0.0.1:8080', new URL(gateway.base).host], ...edits));
            const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
            fs.writeFileSync(file('main.conf'), `
                daemon off; master_process off; pid ${file('pid')}; error_log stderr;
                events {}
                http {
                    access_log off; gzip on; gzip_types *; gzip_min_length 1;
                    ${temporary.map((name) => `${name}_temp_path ${file(name)};`).join(' ')}
                    include ${file('site.conf')};
                }`);
            return ['nginx', ['-c', file('main.conf'), '-e', 'stderr'], { PATH: `${process.env.PATH}:/usr/sbin` }];
        });
    }
}

/// The example's site of Caddy, with a certificate of Caddy's own authority.
export class Caddy extends Proxy {
    static skip = !isInstalled('caddy') && 'caddy is not installed: apt-get install caddy';

    static start(gateway, { edits = [] } = {}) {
        return super.start((proxy) => {
            const file = path.join(proxy.folder, 'Caddyfile');
            const site = edited(example('Caddyfile'), ['\napp.example {', `\nhttps://app.example:${proxy.port} {\nbind 127.0.0.1\ntls internal`],
                ['127.0.0.1:8080', new URL(gateway.base).host], ...edits);
            fs.writeFileSync(file, `{\nadmin off\nauto_https disable_redirects\nskip_install_trust\nstorage file_system ${proxy.folder}\n` +
                `servers {\nprotocols h1 h2\n}\n}\n${site}`);
            return ['caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { HOME: proxy.folder, XDG_CONFIG_HOME: proxy.folder, XDG_DATA_HOME: proxy.folder }];
        });
    }
}

/// One connection of a browser to a proxy.
export class Browser {
    constructor(port, options = {}) {
        this.session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, servername: 'app.example', ...options });
        this.session.on('error', () => {});
    }

    /// Sends a request to the gateway below /chat and resolves to {status, headers, stream}. A body is sent as JSON.
    async send(path, { body, headers = {} } = {}) {
        const stream = this.session.request({
            ':method': body === undefined ? 'GET' : 'POST', ':path': `/chat${path}`, ':authority': 'app.example',
            authorization: `Bearer ${token}`, 'accept-encoding': 'gzip', ...(body !== undefined && { 'content-type': 'application/json' }), ...headers,
        });
        stream.on('error', () => {});
        stream.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
        const answer = await new Promise((resolve, reject) => stream.on('response', resolve)
            .on('close', () => reject(new Error('no answer'))));
        return { status: answer[':status'], headers: answer, stream };
    }

    /// The whole reply, as text.
    async read(path, options) {
        const { stream, ...reply } = await this.send(path, options);
        return { ...reply, text: await textOf(stream) };
    }

    stop() {
        this.session.destroy();
    }
}

/// The rest of a stream. Rejects if it breaks off.
export async function textOf(stream) {
    let text = '';
    for await (const chunk of stream) text += chunk;
    return text;
}

/// Reads a stream until it matches; resolves to what has come. The stream stays open.
export function until(stream, pattern) {
    return new Promise((resolve, reject) => {
        let text = '';
        const take = (chunk) => {
            text += chunk;
            if (!pattern.test(text)) return;
            stream.off('data', take);
            stream.pause();
            resolve(text);
        };
        stream.on('data', take).on('close', () => reject(new Error(`the stream ended before ${pattern}: ${text}`)));
    });
}
