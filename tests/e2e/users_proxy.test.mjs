// Users whom nginx and oauth2-proxy have authenticated: the site of examples/clients/proxies/nginx-users.conf, the gateway of
// examples/configs/users-proxy.toml, and in place of oauth2-proxy a server that sends the headers of its --set-xauthrequest.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';
import { Browser, edited, example, Nginx } from './support/proxies.mjs';

const config = fs.readFileSync(fileURLToPath(new URL('../../examples/configs/users-proxy.toml', import.meta.url)), 'utf8');
const sessions = { adas: { user: 'ada', groups: 'staff,all' }, bobs: { user: 'bob', groups: 'staff' }, guests: { user: 'eve', groups: '' } };

/// Knows the sessions of three cookies.
class SignIn {
    static async start() {
        const made = new SignIn();
        made.server = http.createServer((request, response) => {
            const session = sessions[/session=(\w+)/.exec(request.headers.cookie)?.[1]];
            if (request.url !== '/oauth2/auth' || !session) response.writeHead(session ? 404 : 401).end();
            else {
                response.writeHead(202, {
                    'X-Auth-Request-User': session.user, ...(session.groups && { 'X-Auth-Request-Groups': session.groups }),
                }).end();
            }
        });
        await new Promise((resolve) => made.server.listen(0, '127.0.0.1', resolve));
        made.host = `127.0.0.1:${made.server.address().port}`;
        return made;
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}

describe('nginx with oauth2-proxy in front of the gateway', { skip: Nginx.skip }, () => {
    let model;
    let signIn;
    let gateway;
    let proxy;
    let browser;
    let folder;

    before(async () => {
        model = await ModelServer.start();
        signIn = await SignIn.start();
        folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-users-proxy-'));
        const file = path.join(folder, 'gateway.toml');
        fs.writeFileSync(file, edited(config, ['127.0.0.1:8080', '127.0.0.1:0'], ['https://api.openai.com/v1', model.url], ['sqlite:agui.db', 'memory:']));
        gateway = await Gateway.start({ args: ['--config', file], env: { OPENAI_API_KEY: 'a-key' } });
        proxy = await Nginx.start(gateway, { site: example('nginx-users.conf'), edits: [['127.0.0.1:4180', signIn.host]] });
        browser = new Browser(proxy.port);
    });
    after(async () => {
        browser?.stop();
        await stopAll(proxy, gateway, signIn, model);
        if (folder) fs.rmSync(folder, { recursive: true, force: true });
    });

    const as = (session, more) => ({ headers: { authorization: '', ...(session && { cookie: `session=${session}` }), ...more } });
    const begin = (key, options) => browser.read('/agui', { body: runInput({ threadId: 'same', messages: [user(key)] }), ...options });
    const messages = async (options) => JSON.parse((await browser.read('/agui/threads/same/messages', options)).text).messages;

    it('has a user for each cookie', async () => {
        for (const [session, name] of [['adas', 'ada'], ['bobs', 'bob']]) {
            model.script(`[${name}]`, [{ content: `Hello, ${name}.` }]);
            const { status, text } = await begin(`[${name}]`, as(session));
            assert.equal(status, 200, text);
            assert.match(text, /RUN_FINISHED/);
        }
        assert.deepEqual((await messages(as('adas'))).map(({ content }) => content), ['[ada]', 'Hello, ada.']);
        assert.deepEqual((await messages(as('bobs'))).map(({ content }) => content), ['[bob]', 'Hello, bob.']);
    });

    it('replaces the headers that a client sends', async () => {
        const forged = { 'x-forwarded-user': 'ada', 'x-forwarded-groups': 'ops' };
        assert.deepEqual((await messages(as('bobs', forged))).map(({ content }) => content), ['[bob]', 'Hello, bob.']);
        assert.equal((await browser.read('/agui/threads', as(undefined, forged))).status, 401);
        assert.equal((await browser.read('/agui/threads', as('unknown', forged))).status, 401);
    });

    it('takes no request from a page of another site, with which a browser may send the cookie', async () => {
        model.script('[page]', [{ content: 'Hello, page.' }]);
        const body = (key, threadId) => runInput({ threadId, messages: [user(key)] });
        const own = await browser.read('/agui', { body: body('[page]', 'page'), ...as('adas', { origin: 'https://app.example' }) });
        assert.equal(own.status, 200);
        // What a page may send without asking before is not JSON; for JSON the browser asks, and gets no permission.
        const plain = { origin: 'https://other.example', 'content-type': 'text/plain' };
        const simple = await browser.read('/agui', { body: body('[other]', 'other'), ...as('adas', plain) });
        assert.equal(simple.status, 415);
        const asked = { ':method': 'OPTIONS', origin: 'https://other.example', 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' };
        const { headers } = await browser.read('/agui', as('adas', asked));
        assert.equal(headers['access-control-allow-origin'], undefined);
        const { text } = await browser.read('/agui/threads', as('adas'));
        assert.deepEqual(JSON.parse(text).threads.map(({ threadId }) => threadId).sort(), ['page', 'same']);
    });

    it('gives the scopes of a group to its members', async () => {
        const { status, text } = await begin('[eve]', as('guests', { 'x-forwarded-groups': 'staff' }));
        assert.equal(status, 403);
        assert.match(JSON.parse(text).error.message, /\brun\b/);
        assert.deepEqual(await messages(as('guests')), []);
    });

    it('sent only valid histories', () => model.checkRequests());
});
