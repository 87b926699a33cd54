// Two users of one gateway, whose threads, runs and keys of requests have equal names: who sends a request, how the campaign
// names a thread, and requests with which a user tries to see or change what belongs to the other one. check_users.py
// reads what is written down here.

import { setTimeout as sleep } from 'node:timers/promises';

const names = ['ada', 'bob'];
const tokenOf = (user) => `the-token-of-${user}-in-this-campaign`;
const variableOf = (user) => `AGUI_TOKEN_OF_${user.toUpperCase()}`;

/// Lines of a gateway's configuration, and the environment that they need.
export const usersConfiguration = `
    [auth]
    mode = "bearer"
    ${names.map((user) => `
    [[auth.tokens]]
    name = "${user}"
    token_env = "${variableOf(user)}"
    scopes = ["run", "read", "delete", "approve"]`).join('')}
    `;
export const usersEnvironment = Object.fromEntries(names.map((user) => [variableOf(user), tokenOf(user)]));

/// The campaign's name of a thread: USER:THREAD, or THREAD if there are no users. What clients, models and tools say about a
/// thread holds this name, so that it is seen whose it is, wherever it turns up.
export const nameOf = (user, id) => (user ? `${user}:${id}` : id);
/// The id that the gateway knows.
export const idOf = (name) => name.slice(name.indexOf(':') + 1);
export const userOf = (name) => (name.includes(':') ? name.split(':')[0] : undefined);
export const threadPath = (name) => `/agui/threads/${idOf(name)}`;

const other = (user) => names[1 - names.indexOf(user)];
const mark = new RegExp(`\\b(${names.join('|')}):(?:t|own-)`, 'g');
const marksIn = (text) => [...new Set([...text.matchAll(mark)].map(([, user]) => user))];

/// `exchange`, `note` and `below` as in campaign.mjs. `mixUp`: a client that reads with the token of the other user; the
/// checker has to notice it.
export function createUsers({ exchange, note, below, mixUp }) {
    const mixedUp = new Set();
    const parts = new Map(); ///< By thread the path of a part's link.

    /// The user of a client. Two clients, one of each user, have the same number.
    const userOfClient = (client) => names[client % names.length];

    /// The name of a client's thread: every other conversation has the id of one of the other user.
    function threadOf(client, conversation) {
        const user = userOfClient(client);
        const number = `${Math.floor(client / names.length)}-${conversation}`;
        const name = nameOf(user, conversation % 2 === 0 ? `t${number}` : `own-${user}-${number}`);
        if (client === mixUp) mixedUp.add(name);
        note('begun', { thread: name });
        return name;
    }

    const hasEqualId = (name) => idOf(name).startsWith('t');

    /// Headers of a request about a thread, or of a user.
    function headersOf({ thread, user = userOf(thread ?? ''), method }) {
        if (!user) return {};
        const isMixedUp = method === 'GET' && mixedUp.has(thread);
        return { authorization: `Bearer ${tokenOf(isMixedUp ? other(user) : user)}` };
    }

    // One request of a user. What it shows is written down, not what the user does with it.
    async function look(user, what, { method = 'GET', path, body, about, headers = headersOf({ user }) }) {
        let text = '';
        let events = 0;
        const reply = await exchange(method, path, body && JSON.stringify(body), (sequence, data) => {
            text += data;
            if (sequence > 0) events += 1;
        }, { headers, patience: 2500, atMost: 10_000 }).catch(() => ({ status: 0, text: '' }));
        text += reply.text;
        const line = { user, what, status: reply.status, events, marks: marksIn(text), ...about };
        if (what.endsWith('list') && reply.status === 200) line.ids = JSON.parse(reply.text).threads.map(({ threadId, id }) => threadId ?? id);
        if (['messages', 'stop', 'CopilotKit stop', 'steer', 'delete'].includes(what)) line.text = reply.text.slice(0, 300);
        note('looks', line);
        return reply.text;
    }

    const input = (id, more) => ({ threadId: id, runId: `look-${below(1e9)}`, messages: [], tools: [], context: [], state: {}, forwardedProps: {}, ...more });

    // What a user may ask about any id, in all the ways to ask it. The user's own thread of that id is shown, if there is one.
    const reads = {
        list: () => ({ path: '/agui/threads?limit=200' }),
        'CopilotKit list': () => ({ path: '/copilotkit/threads?agentId=default&limit=200' }),
        messages: (id) => ({ path: `/agui/threads/${id}/messages` }),
        thread: (id) => ({ path: `/agui/threads/${id}` }),
        pending: (id) => ({ path: `/agui/threads/${id}/pending` }),
        'session events': (id) => ({ path: `/agui/threads/${id}/events` }),
        history: (id) => ({ method: 'POST', path: '/agui/history', body: input(id) }),
        'CopilotKit connect': (id) => ({ method: 'POST', path: '/copilotkit/agent/default/connect', body: input(id) }),
        attach: (id, run) => ({ path: `/agui/threads/${id}/runs/${run}/events?after=0` }),
    };

    // What would change a thread of the other user. Only for ids that the user has no thread with.
    const attacks = {
        stop: (id, run) => ({ method: 'POST', path: '/agui/cancel', body: { threadId: id, runId: run } }),
        'CopilotKit stop': (id, run) => ({ method: 'POST', path: `/copilotkit/agent/default/stop/${id}`, body: { runId: run } }),
        steer: (id, run) => ({ method: 'POST', path: '/agui/steer',
            body: { threadId: id, runId: run, message: { id: `s-${below(1e9)}`, role: 'user', content: 'kind:plain from the wrong user' } } }),
        delete: (id) => ({ method: 'DELETE', path: `/agui/threads/${id}` }),
    };

    const pick = (from) => Object.entries(from)[below(Object.keys(from).length)];

    // A picture of the thread's user, kept before any message has it. The other user tries the digest with a token of its own.
    async function tryParts(thread) {
        const user = userOf(thread);
        const value = Buffer.from(`The part of ${thread}`).toString('base64');
        const kept = await look(user, 'part kept', { method: 'POST', path: `${threadPath(thread)}/parts`, about: { thread },
            body: { type: 'document', source: { type: 'data', value, mimeType: 'text/plain' } } });
        const link = /\/agui\/threads\/[^"]*token=[^"]*/.exec(kept ?? '')?.[0];
        if (!link) return;
        await look(user, 'own part', { path: link, about: { thread }, headers: {} });
        parts.set(thread, link);
        const foreign = parts.get(nameOf(other(user), idOf(thread)));
        if (!foreign) return;
        const forged = `${foreign.split('?')[0]}?${link.split('?')[1]}`;
        await look(user, 'part', { path: forged, about: { thread } });
        await look(user, 'part', { path: foreign.split('?')[0], about: { thread } });
    }

    /// While a run goes on, its user and the other one look at it; the other one also tries to change it.
    async function pry(thread, run) {
        const user = userOf(thread);
        const id = idOf(thread);
        await sleep(below(800));
        for (const who of [user, other(user)]) {
            const [what, request] = pick(reads);
            await look(who, what, { ...request(id, run), about: { thread, run } });
        }
        if (!hasEqualId(thread)) {
            const [what, request] = pick(attacks);
            await look(other(user), what, { ...request(id, run), about: { thread, run } });
            await look(other(user), 'attach', { ...reads.attach(id, run), about: { thread, run } });
        } else if (below(2) === 0) await tryParts(thread);
    }

    return { threadOf, headersOf, hasEqualId, pry };
}
