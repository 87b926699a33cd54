// A real issuer of access tokens (npm oidc-provider) and a gateway with `auth.mode = "jwt"`: its tokens, and its keys that
// are exchanged under load.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { audience, claimsOf, Issuer, newKey, scopes, send } from './issuer/issuer.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';

// The pauses of gateway/auth/key_source.hpp, in milliseconds.
const interval = 10_000;
const firstPause = 500;

const bearer = (token) => ({ Authorization: `Bearer ${token}` });

/// Answers each request with a short text.
class Model {
    static async start() {
        const model = new Model();
        const chunk = (delta, finish = null) => `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
        const answer = `${chunk({ content: 'Good ' })}${chunk({ content: 'day.' })}${chunk({}, 'stop')}data: [DONE]\n\n`;
        model.server = http.createServer((request, response) => {
            request.resume().on('end', () => response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(answer));
        });
        model.server.keepAliveTimeout = 60_000;
        await new Promise((resolve) => model.server.listen(0, '127.0.0.1', resolve));
        model.url = `http://127.0.0.1:${model.server.address().port}/v1`;
        return model;
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}

function startGateway(model, issuer) {
    return Gateway.start({
        model,
        config: {
            auth: {
                mode: 'jwt', issuer: issuer.url, jwks_url: issuer.jwksUrl, audience, tenant_claim: 'tenant', leeway_seconds: 0,
            },
        },
    });
}

async function run(gateway, token, { threadId = randomUUID(), content = 'Hello.' } = {}) {
    const input = { threadId, runId: randomUUID(), messages: [{ id: randomUUID(), role: 'user', content }] };
    return send('POST', gateway.url, { 'Content-Type': 'application/json', ...bearer(token) }, JSON.stringify(input));
}

async function ask(gateway, token, path = '/threads') {
    const reply = await send('GET', `${gateway.url}${path}`, bearer(token));
    return { ...reply, body: JSON.parse(reply.text) };
}

async function threadsOf(gateway, token) {
    const { status, body } = await ask(gateway, token);
    assert.equal(status, 200);
    return body.threads.map(({ threadId }) => threadId);
}

describe('access tokens of an issuer', () => {
    let model;
    let issuer;
    let gateway;

    before(async () => {
        model = await Model.start();
        issuer = await Issuer.start({
            machines: ['robot'], people: { ada: 'acme', bob: 'acme', eve: 'other' },
            keys: ['RS256', 'ES256', 'EdDSA'].map(newKey),
        });
        gateway = await startGateway(model, issuer);
    });
    after(() => stopAll(gateway, issuer, model));

    it('are accepted with each algorithm, and their users have threads of their own', async () => {
        const { keys } = issuer;
        for (const [index, person] of ['ada', 'bob', 'eve'].entries()) {
            issuer.use([keys[index], ...keys.filter((key) => key !== keys[index])]);
            const { access_token: token } = await issuer.signIn(person);
            const { status, text } = await run(gateway, token, { threadId: 'same', content: `from ${person}` });
            assert.equal(status, 200, text);
            assert.match(text, /RUN_FINISHED/);
            assert.deepEqual(await threadsOf(gateway, token), ['same']);
            const { body } = await ask(gateway, token, '/threads/same/messages');
            assert.deepEqual(body.messages.map(({ content }) => content), [`from ${person}`, 'Good day.']);
        }
        issuer.use(keys);
        assert.equal(issuer.keySets.length, 1, 'the gateway has fetched the keys once');
    });

    it('are accepted from a client that acts for itself', async () => {
        const token = await issuer.tokenOf('robot');
        assert.equal((await run(gateway, token)).status, 200);
        assert.equal((await threadsOf(gateway, token)).length, 1);
    });

    it('are refused once they have expired', async () => {
        const token = await issuer.tokenOf('robot', { seconds: 1 });
        let reply;
        do reply = await ask(gateway, token); while (reply.status === 200);
        assert.ok(Date.now() >= claimsOf(token).exp * 1000);
        assert.equal(reply.status, 401);
        assert.match(reply.body.error.message, /expired/);
        assert.match(reply.headers['www-authenticate'], /^Bearer .*invalid_token/);
    });

    it('are not replaced by ID tokens, or by tokens for another audience', async () => {
        const { access_token: token, id_token: idToken } = await issuer.signIn('ada');
        assert.equal((await ask(gateway, token)).status, 200);
        const refused = await ask(gateway, idToken);
        assert.equal(refused.status, 401);
        assert.match(refused.body.error.message, /audience/);
    });

    it('allow what their scopes allow', async () => {
        const reading = await issuer.tokenOf('robot', { scope: 'read' });
        assert.equal((await ask(gateway, reading)).status, 200);
        const refused = await run(gateway, reading);
        assert.equal(refused.status, 403);
        assert.match(JSON.parse(refused.text).error.message, /\brun\b/);
        const running = await issuer.tokenOf('robot', { scope: 'run' });
        assert.equal((await run(gateway, running)).status, 200);
        assert.equal((await ask(gateway, running)).status, 403);
        assert.equal((await ask(gateway, await issuer.tokenOf('robot', { scope: scopes }))).status, 200);
    });

    it('are not in the log', async () => {
        const token = await issuer.tokenOf('robot', { scope: 'read' });
        await run(gateway, token);
        await ask(gateway, `${token}x`);
        assert.doesNotMatch(gateway.log, /eyJ/);
    });
});

/// Clients that send runs and read their lists with tokens that live for a few seconds, and note each refusal.
class Crowd {
    constructor({ gateway, issuer, names }) {
        Object.assign(this, { gateway, issuer, answered: new Map(), refusals: [], over: false });
        this.clients = names.map((name, index) => this.#work(name, index * 5));
    }

    async stop() {
        this.over = true;
        await Promise.all(this.clients);
    }

    async #work(name, delay) {
        let token = '';
        await sleep(delay);
        while (!this.over) {
            if (!token || claimsOf(token).exp * 1000 - Date.now() < 4000) {
                token = await this.issuer.tokenOf(name, { seconds: 7 });
            }
            await this.#send(token, () => run(this.gateway, token, { threadId: name }));
            await this.#send(token, () => ask(this.gateway, token));
            await sleep(800 + Math.random() * 800);
        }
    }

    async #send(token, request) {
        const { kid } = JSON.parse(Buffer.from(token.split('.')[0], 'base64url'));
        const { status, body } = await request();
        const at = performance.now();
        const isValid = Date.now() < claimsOf(token).exp * 1000; // It may have expired on a slow machine.
        if (status !== 200) this.refusals.push(...(isValid ? [{ at, kid, status }] : []));
        else {
            this.answered.set(kid, (this.answered.get(kid) ?? 0) + 1);
            if (body) assert.deepEqual(body.threads.map(({ threadId }) => threadId), [claimsOf(token).sub]);
        }
    }
}

describe('keys that are exchanged under 200 clients', () => {
    const names = Array.from({ length: 200 }, (_, i) => `client-${i}`);
    let model;
    let issuer;
    let gateway;
    let crowd;
    let fetched;

    const [first, second, third, fourth] = ['RS256', 'ES256', 'EdDSA', 'RS256'].map(newKey);
    const statusOf = async (token) => (await ask(gateway, token)).status;
    const age = () => performance.now() - fetched; ///< Of the keys that the gateway fetched at its start.
    const at = (milliseconds) => sleep(Math.max(0, milliseconds - age()));
    let old; // Signed by the key that is withdrawn.
    let early; // By a key that the gateway does not know yet.
    let unpublished; // By a key that nobody knows.

    before(async () => {
        model = await Model.start();
        issuer = await Issuer.start({ machines: ['robot', ...names], keys: [first, second] });
        [old, early, unpublished] = await Promise.all([first, third, newKey('ES256')].map((key) => issuer.tokenBy(key, 'robot')));
        gateway = await startGateway(model, issuer);
        while (!gateway.log.includes('were fetched')) await sleep(5);
        fetched = performance.now();
        crowd = new Crowd({ gateway, issuer, names });
    });
    after(async () => {
        await crowd?.stop();
        await stopAll(gateway, issuer, model);
    });

    it('no valid token is refused, but for the pauses that the gateway states', { timeout: 60_000 }, async () => {
        // To a key that was published before the gateway fetched the keys.
        await at(2000);
        issuer.use([second, first]);
        assert.equal(await statusOf(old), 200);

        // A key that signs before the gateway has fetched it is unknown until the gateway may fetch again. One that was
        // withdrawn is known as long.
        await at(4000);
        issuer.use([second, third]);
        for (let i = 0; i < 8; i += 1) { // Each refusal waits longer than the one before.
            const statuses = [await statusOf(early), await statusOf(old)];
            if (age() > interval - 1000) break; // On a slow machine.
            assert.deepEqual(statuses, [401, 200]);
            assert.equal(issuer.keySets.length, 1, 'tokens with unknown keys cause no request in the pause');
            await sleep(300);
        }

        // To a key that the gateway has to fetch, from an issuer that fails twice.
        await at(interval + 300);
        issuer.failures = [500, 'cut'];
        issuer.use([third, second, fourth]);
        const began = performance.now();
        while (await statusOf(early) !== 200) await sleep(20);
        const known = performance.now();
        assert.ok(known - began < 10_000, `the gateway had the new key after ${Math.round(known - began)} ms`);

        // From then on what was withdrawn is refused, however often it was accepted before.
        for (let i = 0; i < 2; i += 1) assert.equal(await statusOf(old), 401);

        // To a key that was published before, while the issuer is down.
        await at(interval + 4000);
        issuer.failures = Array.from({ length: 100 }, () => 'cut');
        issuer.use([fourth, third, second]);
        assert.equal(await statusOf(unpublished), 401, 'in the pause nothing is fetched');
        await at(interval + 7000);
        await crowd.stop();

        // Valid tokens have met nothing but the 503 of an issuer that fails.
        const others = crowd.refusals.filter(({ at: when, kid, status }) =>
            !(kid === third.kid && status === 503 && when > began && when < known + 2000));
        assert.deepEqual(others, []);
        for (const { kid } of [first, second, third, fourth]) assert.ok(crowd.answered.get(kid) > 50, `${kid} was used ${crowd.answered.get(kid)} times`);

        // By the gateway's clock, from the end of a fetch to the end of the next one.
        assert.deepEqual(issuer.keySets, [200, 500, 'cut', 200]);
        const ends = [...gateway.log.matchAll(/^(\S+) \w+ the keys of auth.jwks_url (?:were|could not be) fetched/gm)].map(([, date]) => Date.parse(date));
        const pauses = ends.slice(1).map((end, i) => end - ends[i]);
        assert.equal(pauses.length, 3);
        [interval, firstPause, 2 * firstPause].forEach((least, i) => assert.ok(pauses[i] >= least - 5, `${pauses}`));
        console.log(`# ${[...crowd.answered.values()].reduce((sum, each) => sum + each, 0)} requests answered, ` +
            `${crowd.refusals.length} told to try again within ${Math.round(known - began)} ms`);
    });
});
