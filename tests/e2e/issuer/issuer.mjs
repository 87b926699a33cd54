// An OpenID provider (npm oidc-provider) that gives access tokens for the gateway. Its keys can be exchanged while it
// runs, and its key set can be made unavailable.

import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';
import { Provider } from 'oidc-provider';

export const audience = 'urn:agui';
/// All scopes of the gateway that its tokens may have.
export const scopes = 'run read delete approve admin';

const ciba = 'urn:openid:params:grant-type:ciba';
export const secret = 'the-secret-of-every-client';
const keyKinds = {
    RS256: ['rsa', { modulusLength: 2048 }],
    ES256: ['ec', { namedCurve: 'P-256' }],
    EdDSA: ['ed25519'],
};
let keyCount = 0;

/// A new signing key, as a private JWK.
export function newKey(algorithm) {
    keyCount += 1;
    const { privateKey } = generateKeyPairSync(...keyKinds[algorithm]);
    return { ...privateKey.export({ format: 'jwk' }), kid: `key-${keyCount}`, alg: algorithm, use: 'sig' };
}

/// The claims of a token, unchecked.
export const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));

const agent = new http.Agent({ keepAlive: true });

/// One request. Takes much less time than fetch(), which hundreds of clients in one process need.
export function send(method, url, headers, body) {
    return new Promise((resolve, reject) => {
        http.request(url, { method, headers, agent }, (response) => {
            let text = '';
            response.setEncoding('utf8').on('data', (chunk) => (text += chunk)).on('error', reject)
                .on('end', () => resolve({ status: response.statusCode, headers: response.headers, text }));
        }).on('error', reject).end(body);
    });
}

export class Issuer {
    /// `machines`: names of clients that get tokens for themselves. `people`: who signs in at the client `app`, each with
    /// a tenant. `keys`: those that are published, the first of which signs.
    static async start({ machines = [], people = {}, keys, port = 0 }) {
        const issuer = new Issuer();
        issuer.machines = machines;
        issuer.people = people;
        issuer.keySets = []; ///< The answers to requests for the key set: a status, or `cut`.
        issuer.failures = []; ///< What happens to the next requests for it: a status, or `cut` in the middle.
        issuer.server = http.createServer((request, response) => issuer.#serve(request, response));
        issuer.server.keepAliveTimeout = 60_000;
        await new Promise((resolve) => issuer.server.listen(port, '127.0.0.1', resolve));
        issuer.url = `http://127.0.0.1:${issuer.server.address().port}`;
        issuer.jwksUrl = `${issuer.url}/jwks`;
        issuer.use(keys);
        return issuer;
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }

    /// Publishes these keys, and signs with the first of them: a provider takes its keys once, so there is another one.
    use(keys) {
        this.keys = keys;
        this.provider = this.#makeProvider(keys);
        this.handle = this.provider.callback();
    }

    /// An access token of a client for itself, by its credentials.
    async tokenOf(machine, { scope = scopes, seconds = 60, at = this.url } = {}) {
        const { access_token: token } = await this.#post('/token', machine,
            { grant_type: 'client_credentials', resource: `${audience}:${seconds}`, scope }, at);
        return token;
    }

    /// The same, signed by this key, whatever the issuer publishes and signs with.
    async tokenBy(key, machine, more) {
        const other = http.createServer(this.#makeProvider([key]).callback());
        await new Promise((resolve) => other.listen(0, '127.0.0.1', resolve));
        const token = await this.tokenOf(machine, { ...more, at: `http://127.0.0.1:${other.address().port}` });
        other.close();
        other.closeAllConnections();
        return token;
    }

    /// The tokens of a person who has signed in at the client `app` (CIBA, which needs no browser).
    async signIn(person, scope = scopes) {
        const begun = await this.#post('/backchannel', 'app',
            { login_hint: person, scope: `openid ${scope}`, resource: `${audience}:60` });
        return this.#post('/token', 'app', { grant_type: ciba, auth_req_id: begun.auth_req_id });
    }

    async #post(path, client, fields, at = this.url) {
        const body = new URLSearchParams({ client_id: client, client_secret: secret, ...fields });
        const { status, text } = await send('POST', at + path, { 'content-type': 'application/x-www-form-urlencoded' }, String(body));
        if (status !== 200) throw new Error(`${path} answered ${status}: ${text}`);
        return JSON.parse(text);
    }

    #serve(request, response) {
        if (request.url !== '/jwks') {
            this.handle(request, response);
            return;
        }
        const failure = this.failures.shift();
        this.keySets.push(failure ?? 200);
        if (failure === 'cut') response.writeHead(200, { 'content-length': 1000 }).write('{"keys":[', () => request.socket.destroy());
        else if (failure) response.writeHead(failure).end('{"error":"server_error"}');
        else this.handle(request, response);
    }

    #makeProvider(keys) {
        const [{ alg, kid }] = keys;
        const lifetime = (_, token) => token.resourceServer.accessTokenTTL;
        const client = (name, more) => ({
            client_id: name, client_secret: secret, token_endpoint_auth_method: 'client_secret_post', redirect_uris: [],
            response_types: [], id_token_signed_response_alg: alg, ...more,
        });
        const provider = new Provider(this.url, {
            jwks: { keys },
            clients: [
                client('app', { grant_types: [ciba], backchannel_token_delivery_mode: 'poll' }),
                ...this.machines.map((name) => client(name, { grant_types: ['client_credentials'] })),
            ],
            scopes: ['openid', ...scopes.split(' ')],
            claims: { openid: ['sub'] },
            cookies: { keys: ['no browser has them'] },
            ttl: { AccessToken: lifetime, ClientCredentials: lifetime, BackchannelAuthenticationRequest: 60, Grant: 600, IdToken: 600 },
            findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
            extraTokenClaims: (_, token) => ({ tenant: this.people[token.accountId] ?? 'machines' }),
            features: {
                devInteractions: { enabled: false },
                clientCredentials: { enabled: true },
                resourceIndicators: {
                    enabled: true,
                    // The resource names the lifetime of its tokens; their audience is the same.
                    getResourceServerInfo: (_, resource) => ({
                        audience, scope: scopes, accessTokenFormat: 'jwt', accessTokenTTL: Number(resource.split(':').at(-1)),
                        jwt: { sign: { alg, kid } },
                    }),
                    useGrantedResource: () => true,
                    defaultResource: () => `${audience}:300`,
                },
                ciba: {
                    enabled: true,
                    deliveryModes: ['poll'],
                    validateBindingMessage() {},
                    processLoginHint: (_, hint) => hint,
                    validateRequestContext() {},
                    verifyUserCode() {},
                    async triggerAuthenticationDevice(ctx, request, account, { clientId }) {
                        const grant = new provider.Grant({ accountId: account.accountId, clientId });
                        grant.addOIDCScope('openid');
                        for (const resource of [request.params.resource].flat()) {
                            grant.addResourceScope(resource, request.params.scope);
                        }
                        await provider.backchannelResult(request, await grant.save());
                    },
                },
            },
        });
        return provider;
    }
}
