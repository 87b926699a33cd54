// What the campaigns share: a model server, a server tool, clients that never give up, and between them the gateway, or
// several of them behind a router.
// Everything that they see is written to files in a folder, which check.py reads. See README.md.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { answeringRun, askingCall, askingTools, createPerson, isAsking, toolReply } from './questions.mjs';
import { createRandom } from './random.mjs';
import { createRouter } from './router.mjs';
import { createUsers, idOf, nameOf, threadPath, usersConfiguration, usersEnvironment } from './users.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
// Longer than server.drain_seconds, with a margin for a slow machine.
const stopSeconds = 60;

export const binFolder = path.resolve(here, '../..', process.env.AGUI_BIN_DIR ?? 'build/release/bin');

/// `mayFail`: a request may be answered with 500. `hasty`: a conversation has messages that are sent while the run before
/// is not over, and none of them may be refused for that. `steers`: messages are sent to active runs. `gateways`: how many share the store; with more than one the
/// clients come through a router, lose patience, and go away in the middle of a stream. `session`: lines of that section
/// of a gateway's configuration, by its index. `peerUrl`: resolves to the URL at which others ask the gateway that listens on this
/// port. `readStore`: writes agui.db, for the checker, where the store is no such file. `users`: the
/// clients are those of two users, who have equal ids, and `mixUp` is a client that reads with the token of the other one (users.mjs). No
/// gateway is started yet.
export async function createCampaign({
    folder, seed, mayFail = false, durability = 'process', hasty = false, queue = false, steers = false,
    gateways = 1, session = () => `store = "sqlite:${path.join(folder, 'agui.db')}"`, peerUrl = () => undefined,
    readStore = () => {}, users = false, mixUp = undefined,
}) {
    fs.mkdirSync(folder, { recursive: true });

    // The same seed gives the same decisions; the timing depends on the machine.
    const { random, below } = createRandom(seed);
    const several = gateways > 1;

    // ---- Files. Every line has a number, which gives the order of events across files, and a time in milliseconds.

    let lineCount = 0;
    const files = {};
    function note(file, line) {
        files[file] ??= fs.createWriteStream(path.join(folder, `${file}.jsonl`));
        lineCount += 1;
        files[file].write(`${JSON.stringify({ n: lineCount, t: Math.round(performance.now()), ...line })}\n`);
    }

    // ---- The model server, and the server tool behind the gateway's webhook.

    // Through the router each request has a connection of its own.
    const agent = new http.Agent({ keepAlive: !several, maxSockets: Infinity });
    let callCount = 0;
    const openCalls = new Set(); ///< Model requests that are being answered.
    const holders = new Map(); ///< For a run the gateway that has asked a model for it.
    const saidIn = new Map(); ///< The text that the model has said for a run.
    let freshRuns; ///< While untilFreshRunsShown() waits.
    const acknowledgedCalls = new Set(); ///< Calls whose answer the gateway has acknowledged.

    function modelChunk(delta, finish = null) {
        return `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
    }

    function callChunks(name, args) {
        callCount += 1;
        const middle = args.length >> 1;
        const call = (member) => modelChunk({ tool_calls: [{ index: 0, ...member }] });
        return [
            call({ id: `call_${callCount}`, type: 'function', function: { name, arguments: '' } }),
            call({ function: { arguments: args.slice(0, middle) } }),
            call({ function: { arguments: args.slice(middle) } }),
            modelChunk({}, 'tool_calls'),
        ];
    }

    function textChunks(text) {
        return text.split(' ').map((word) => modelChunk({ content: `${word} ` }));
    }

    async function body(request) {
        let text = '';
        for await (const part of request.setEncoding('utf8')) text += part;
        return JSON.parse(text);
    }

    // Which run asks: the last message of a user names it, an answer to a hand-off is the run after that one, and an answer to
    // an interrupt names its run itself.
    function runThatAsks(messages) {
        const at = messages.findLastIndex((message) => message.role === 'user');
        const [, thread, run] = /marker:([^/]+)\/(\w+?)s?(?!\w)/.exec(messages[at].content); // `r0s`: a message for r0.
        const handed = messages.slice(at).some((message) => message.tool_calls?.some((call) => call.function.name === 'paint'));
        return { thread, run: handed ? `${run}a` : answeringRun(messages.slice(at), run) };
    }

    async function answerAsModel(request, response, by) {
        const { messages } = await body(request);
        const { thread, run } = runThatAsks(messages);
        const name = `${thread}/${run}`;
        const open = { thread, run, by };
        note('upstream', { thread, run, messages });
        if (messages.some((message) => acknowledgedCalls.has(message.tool_call_id))) counts.told += 1;
        note('calls', { what: 'begin', ...open });
        openCalls.add(open);
        if (!holders.has(name)) freshRuns?.runs.add(name);
        holders.set(name, by);
        function end() {
            if (openCalls.delete(open)) note('calls', { what: 'end', ...open });
        }
        response.on('close', end);
        const last = messages.at(-1);
        const asked = last.role === 'user' ? /kind:(\w+)/.exec(last.content)?.[1] : 'answered';
        let chunks = textChunks(`For ${thread} this is what the model says about ${messages.length} messages, word by word, for a while.`);
        if (asked === 'external') chunks = [...chunks.slice(0, 5), ...callChunks('paint', JSON.stringify({ color: 'blue', where: thread }))];
        else if (asked === 'server') chunks = [...chunks.slice(0, 3), ...callChunks('lookup', JSON.stringify({ city: thread }))];
        else if (isAsking(asked)) chunks = [...chunks.slice(0, 3), ...callChunks(...askingCall(asked, below))];
        else chunks.push(modelChunk({}, 'stop'));
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const [i, chunk] of chunks.entries()) {
            await sleep(several ? 20 + below(100) : 5 + below(30));
            if (response.destroyed) return;
            const text = JSON.parse(chunk.slice(6)).choices[0].delta.content ?? '';
            saidIn.set(name, (saidIn.get(name) ?? '') + text);
            if (i === chunks.length - 1) end(); // The gateway may ask again before this server hears that all was sent.
            response.write(chunk);
        }
        response.end('data: [DONE]\n\n');
    }

    async function answerAsTool(request, response, by) {
        const call = await body(request);
        const { toolCallId, inputs } = call;
        const thread = nameOf(call.principal, call.threadId);
        note('executed', { thread, toolCallId, inputs, by });
        counts.executed += 1;
        await sleep(20 + below(200));
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(toolReply(call, thread)));
    }

    const upstream = http.createServer((request, response) => {
        const [, by, what] = request.url.split('/'); // Each process of a gateway has URLs of its own.
        const answer = what === 'tool' ? answerAsTool : answerAsModel;
        answer(request, response, by).catch((error) => {
            if (error.code !== 'ECONNRESET') violation('the model server failed', { error: String(error) });
            response.destroy();
        });
    });
    upstream.keepAliveTimeout = 60_000;
    await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const upstreamUrl = `http://127.0.0.1:${upstream.address().port}`;

    // ---- The gateways.

    async function freePort() {
        const probe = net.createServer();
        await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
        const { port } = probe.address();
        await new Promise((resolve) => probe.close(resolve));
        return port;
    }

    // Dates of gateways may be twelve days apart, and no interrupt may expire for that.
    const configuration = ({ index, port, name, url }) => `
    [server]
    listen = "127.0.0.1:${port}"
    threads = 2
    log_level = "warning"
    on_disconnect = "continue"
    ${url ? `peer_url = "${url}"` : ''}
    ${several ? 'heartbeat_seconds = 1' : ''}
    ${users ? `copilotkit_path = "/copilotkit"${usersConfiguration}` : ''}
    [session]
    ${session(index)}
    durability = "${durability}"
    ${hasty ? 'busy_wait_ms = 60000' : ''}
    ${queue ? `on_busy = "${queue === 'steer' ? 'steer' : 'enqueue'}"` : ''}
    replay_seconds = 31536000
    [tools]
    approval_seconds = 315360000
    [models.main]
    provider = "openai"
    base_url = "${upstreamUrl}/${name}/v1"
    model = "m"
    [[agents]]
    id = "default"
    models = ["main"]
    ${Object.entries({ lookup: '', ...askingTools }).map(([tool, more]) => `
    [[tools.webhook]]
    name = "${tool}"
    description = "A tool."
    url = "${upstreamUrl}/${name}/tool"
    ${more}`).join('')}
    `;

    // `name` is another one for each process: g0.3 is the third one of the first gateway.
    const servers = [];
    for (let i = 0; i < gateways; i += 1) {
        const prefix = path.join(folder, several ? `gateway-${i}` : 'gateway');
        const port = await freePort();
        servers.push({ index: i, port, url: await peerUrl(port), name: '', launches: 0, ready: Promise.resolve(),
            config: `${prefix}.toml`, log: `${prefix}.log`, logFile: fs.openSync(`${prefix}.log`, 'a') });
    }
    const gatewayOf = (name) => name?.split('.')[0];

    let environment = {};
    function launch(env = environment, which = 0) {
        environment = {};
        const server = servers[which];
        server.launches += 1;
        server.name = `g${which}.${server.launches}`;
        fs.writeFileSync(server.config, configuration(server));
        const gateway = spawn(path.join(binFolder, 'agui-gateway'), ['--config', server.config],
            { stdio: ['ignore', 'pipe', server.logFile], env: { ...process.env, ...usersEnvironment, ...env } });
        server.process = gateway;
        server.ended = new Promise((resolve) => gateway.on('close', (code, signal) => resolve({ code, signal })));
        const started = new Promise((resolve, reject) => {
            gateway.stdout.on('data', (data) => String(data).includes('listening on') && resolve());
            server.ended.then((how) => reject(new Error(`the gateway ended: ${JSON.stringify(how)}`)));
        });
        started.catch(() => {}); // Killed before it listened: the next one is waited for.
        server.ready = started;
    }

    async function untilReady(which = 0) {
        const server = servers[which];
        for (;;) {
            const current = server.ready;
            await current.catch(() => sleep(5));
            if (current === server.ready) return;
        }
    }

    const router = several ? await createRouter({ servers, below }) : undefined;

    // ---- Clients.

    let stopping = false;
    const counts = { runs: 0, handoffs: 0, cuts: 0, lost: 0, reposts: 0, reattached: 0, stops: 0, executed: 0, told: 0, answers: 0, resumedElsewhere: 0,
        gone: 0, left: 0, steered: 0, returned: 0, impatient: 0, attachedElsewhere: 0, repostedElsewhere: 0, answeredElsewhere: 0, stopsElsewhere: 0 };
    let linkCount = 0;
    let readerCount = 0;
    let apartUntil = 0; ///< Gateways may not reach each other, or the database.
    let losses = 0; ///< How often the store was replaced by one that may lack what clients have seen.

    const violations = {};
    function violation(what, where) {
        note('violations', { what, ...where });
        violations[what] = (violations[what] ?? 0) + 1;
        if (violations[what] <= 10) console.error(`VIOLATION ${what} ${JSON.stringify(where).slice(0, 500)}`);
    }

    // One request; calls `onFrame(sequence, data, link)` for each event, which may tell it to go away by returning
    // true. Resolves to the status and, if it is no stream, the JSON. `link`: the connection and whose it is. `patience`: for
    // how long it may say nothing, `atMost`: how long it may take in all.
    function exchange(method, target, sent, onFrame,
        { port = router?.port ?? servers[0].port, subject, thread = subject?.thread, headers = people.headersOf({ thread, method }), patience, atMost = 0 } = {}) {
        // Some wait for long for a gateway that says nothing: they see what it says when it wakes up.
        patience ??= !several ? 0 : below(3) === 0 ? 30_000 : 2500;
        return new Promise((resolve, reject) => {
            const link = {};
            const request = http.request(
                { host: '127.0.0.1', port, method, path: target, agent,
                    headers: { ...headers, ...(sent && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }) } },
                (response) => {
                    link.by = port === router?.port
                        ? router.servedBy(response.socket.localPort) : servers.find((server) => server.port === port).name;
                    linkCount += 1;
                    link.number = linkCount;
                    if (several && subject) {
                        const { number, by } = link;
                        note('links', { what: 'opened', link: number, by, ...subject });
                        response.on('close', () => note('links', { what: 'closed', link: number, by, ...subject }));
                    }
                    let rest = '';
                    response.setEncoding('utf8');
                    response.on('data', (text) => {
                        rest += text;
                        if (response.statusCode !== 200) return;
                        let leave = false;
                        for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
                            const frame = rest.slice(0, end);
                            rest = rest.slice(end + 2);
                            const found = /^id: (\d+)\ndata: (.*)$/s.exec(frame);
                            if (found) leave = onFrame(Number(found[1]), found[2], link) === true || leave;
                            else if (frame.startsWith('data: ')) onFrame(0, frame.slice(6), link);
                        }
                        if (leave) request.destroy(new Error('left'));
                    });
                    response.on('error', reject);
                    response.on('aborted', () => reject(new Error('aborted')));
                    response.on('end', () => (response.complete
                        ? resolve({ status: response.statusCode, text: rest, by: link.by, retryAfter: response.headers['retry-after'] })
                        : reject(new Error('cut'))));
                },
            );
            request.on('error', reject);
            if (atMost > 0) {
                const limit = setTimeout(() => request.destroy(new Error('it has no end')), atMost);
                request.on('close', () => clearTimeout(limit));
            }
            if (patience > 0) {
                request.setTimeout(patience, () => {
                    counts.impatient += 1;
                    request.destroy(new Error('no patience'));
                });
            }
            request.end(sent);
        });
    }

    const people = createUsers({ exchange, note, below, mixUp });

    const isTerminal = (event) => event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';

    // It may come too late: the run may have ended, or the gateway may have been killed.
    function stopRun(thread, run) {
        counts.stops += 1;
        const holder = holders.get(`${thread}/${run}`);
        const sent = performance.now();
        note('stopping', { thread, run });
        exchange('POST', '/agui/cancel', JSON.stringify({ threadId: idOf(thread), runId: run }), () => {}, { thread }).then((reply) => {
            const elsewhere = gatewayOf(reply.by) !== gatewayOf(holder) && holder !== undefined;
            if (elsewhere) counts.stopsElsewhere += 1;
            note('stops', { thread, run, holder, by: reply.by, status: reply.status, cancelled: reply.text.includes('true'),
                ms: Math.round(performance.now() - sent) });
        }).catch(() => {});
    }

    // Carries one run to its terminal event, whatever happens to the gateway. `answers`: call ids that it answers. `known`:
    // the losses before the thread's begin: after another one its requests may be refused, and are then given up.
    // Resolves to that event, to the gateway that has begun the stream, and whether the run was given up.
    async function drive(thread, run, input, answers, known, stopAfter = 0) {
        const sent = JSON.stringify({ threadId: idOf(thread), runId: run, protocolVersion: '1.1', ...input });
        const target = `${threadPath(thread)}/runs/${run}/events`;
        const headers = people.headersOf({ thread });
        // The other user has requests with the same keys.
        if (users && people.hasEqualId(thread)) headers['idempotency-key'] = `${idOf(thread)}/${run}`;
        let last = 0;
        let terminal;
        let seen = false;
        let unknown = false;
        let leaveAfter = 0;
        let first;
        let refusals = 0;
        let refused;
        const begun = performance.now();
        let got = new Map();
        readerCount += 1;
        let reader = readerCount;
        counts.runs += 1;
        const isLossy = () => losses > known;
        // What was seen after that number is lost: as a client that forgets it.
        function readAnew(kept = 0) {
            last = kept;
            seen = kept > 0;
            got = new Map();
            readerCount += 1;
            reader = readerCount;
        }
        function noteSeen(sequence, data, { by, number: link }) {
            got.set(sequence, data);
            note('seen', { thread, run, sequence, by, link, reader, data });
            if (freshRuns?.runs.has(`${thread}/${run}`) && data.includes('"TEXT_MESSAGE_CONTENT"')) {
                freshRuns.shown.add(`${thread}/${run}`);
            }
        }
        const onFrame = (sequence, data, link) => {
            const event = JSON.parse(data);
            if (sequence === 0) return false; // RUN_ERROR store_unavailable: the durable end is read later.
            if (!seen) {
                note('acknowledged', { thread, run, answers });
                for (const call of answers) acknowledgedCalls.add(call);
            }
            seen = true;
            unknown = false;
            first ??= link.by;
            noteSeen(sequence, data, link);
            if (sequence > last + 1) violation('gap', { thread, run, last, sequence });
            last = Math.max(last, sequence);
            if (isTerminal(event)) terminal = event;
            else if (sequence === stopAfter) stopRun(thread, run);
            const leave = leaveAfter > 0 && !terminal && sequence >= leaveAfter;
            if (leave) counts.left += 1;
            return leave;
        };
        for (let attempt = 0; !terminal; attempt += 1) {
            if (!several) await untilReady();
            const again = seen && !unknown && random() < 0.7;
            // Where the run may have been lost it may begin anew, and until that is seen no number means anything.
            unknown = !again && seen && isLossy();
            if (attempt > 0) counts[again ? 'reattached' : 'reposts'] += 1;
            leaveAfter = several && below(4) === 0 ? last + 1 + below(10) : 0;
            try {
                const reply = again
                    ? await exchange('GET', `${target}?after=${last}`, undefined, (sequence, data, link) => {
                        countElsewhere('attachedElsewhere', link);
                        return onFrame(sequence, data, link);
                    }, { subject: { thread, run } })
                    : await exchange('POST', '/agui', sent, (sequence, data, link) => {
                        if (attempt > 0) countElsewhere('repostedElsewhere', link);
                        // A repeat begins with the first event: it must be what was seen before.
                        if (isLossy() && got.has(sequence) && got.get(sequence) !== data) readAnew(sequence - 1);
                        if (sequence > last || sequence === 0) return onFrame(sequence, data, link);
                        noteSeen(sequence, data, link);
                        unknown = false;
                        return false;
                    }, { subject: { thread, run }, headers });
                if (reply.status === 200) {
                    if (!terminal && last > 0) await sleep(5);
                    continue;
                }
                if (isLossy() && again && [204, 404, 410].includes(reply.status)) {
                    note('gone', { thread, run, after: last, status: reply.status, by: reply.by });
                    counts.gone += 1;
                    const { status } = reply;
                    readAnew();
                    if (status === 404) { // Its message is sent again, or not.
                        if (below(2) === 0) return { terminal: { type: 'RUN_ERROR' }, first, given: true };
                        continue;
                    }
                    seen = true; // It is there, but ends before that number: it is read from its begin.
                    continue;
                }
                // With a queue, a message for a thread of a gateway that cannot be asked.
                const isApart = queue && performance.now() < apartUntil && reply.retryAfter !== undefined;
                if (reply.status === 409 && attempt === 0 && !isLossy() && !isApart) violation('busy after its end', { thread, run, reply });
                // Until it is repeated, the gateway does not look for a message that waited before the kill.
                if (reply.status === 404 && queue && last === 1) { unknown = true; continue; }
                if (reply.status === 404 && seen) violation('a run that was seen is unknown', { thread, run, last });
                const expected = reply.status === 503 || reply.status === 409 || (mayFail && reply.status === 500);
                refused = { status: reply.status, text: reply.text.slice(0, 200), by: reply.by };
                if (!expected && isLossy()) {
                    note('gone', { thread, run, status: reply.status, by: reply.by, text: reply.text });
                    return { terminal: { type: 'RUN_ERROR' }, first, given: true };
                }
                if (!expected) {
                    violation('refused', { thread, run, reply });
                    refusals += 1;
                    // Nobody will carry it to its end: the conversation goes on with the next one.
                    if (refusals > 5) return { terminal: { type: 'RUN_ERROR' }, first };
                }
                await sleep(20);
            } catch {
                counts.cuts += 1;
                await sleep(below(several ? 100 : 20));
            }
            if (performance.now() - begun > 60_000 && isLossy()) {
                violation('a request has no end', { thread, run, last, attempt, refused });
                return { terminal: { type: 'RUN_ERROR' }, first, given: true };
            }
            if (attempt > 2000) throw new Error(`run ${thread}/${run} does not end`);
        }
        return { terminal, first };

        // Counts a stream once, if another gateway has the run.
        function countElsewhere(what, link) {
            const holder = holders.get(`${thread}/${run}`);
            if (link.counted || !several || !holder) return;
            link.counted = true;
            if (gatewayOf(link.by) !== gatewayOf(holder)) counts[what] += 1;
        }
    }

    // A message for the run while it is active. It is sent again until the gateway says whether the run has taken it. It
    // names the run: a gateway that wakes up with an earlier attempt must not give that to the next run.
    async function steer(thread, run, driven) {
        let over = false;
        driven.finally(() => { over = true; }).catch(() => {});
        while (!over && !holders.has(`${thread}/${run}`)) await sleep(10); // It has not begun.
        const message = { id: `s-${run}`, role: 'user', content: `kind:plain marker:${thread}/${run}s` };
        const sent = JSON.stringify({ threadId: idOf(thread), runId: run, message });
        await sleep(below(600));
        for (let attempt = 0; attempt < 2000; attempt += 1) {
            try {
                const reply = await exchange('POST', '/agui/steer', sent, () => {}, { thread });
                if (reply.status === 200 || reply.status === 409) {
                    const { taken = false, runId, seq } = JSON.parse(reply.text);
                    note('steered', { thread, id: message.id, taken, run: runId, seq });
                    counts[taken ? 'steered' : 'returned'] += 1;
                    return;
                }
                if (reply.status !== 503 && !(mayFail && reply.status === 500)) {
                    violation('a message was refused', { thread, run, reply });
                    return;
                }
            } catch { /* The gateway was killed: the message may be stored. */ }
            await sleep(below(20));
        }
        violation('a message is not decided', { thread, run });
    }

    const answerAll = createPerson({ drive, exchange, steer, steers, hasLost: (known) => losses > known,
        note, violation, below, counts, gatewayOf });
    const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];

    async function converse(client, conversations) {
        for (let conversation = 0; !stopping && conversation < conversations; conversation += 1) {
            const thread = users ? people.threadOf(client, conversation) : `t${client}-${conversation}`;
            const known = losses;
            for (let turn = 0; turn < 3; turn += 1) {
                const run = `r${turn}`;
                const kind = ['plain', 'external', 'external', 'server', 'asked', 'approved'][below(6)];
                const message = { id: `u${turn}`, role: 'user', content: `kind:${kind} marker:${thread}/${run}` };
                const stopAfter = below(8) === 0 ? 2 + below(8) : 0;
                const driven = drive(thread, run, { messages: [message], tools }, [], known, stopAfter);
                if (users && below(2) === 0) await Promise.all([driven, people.pry(thread, run)]);
                if ((hasty || queue) && kind !== 'external' && !isAsking(kind)) { // These wait for an answer, not for another message.
                    const more = { id: `h${turn}`, role: 'user', content: `kind:plain marker:${thread}/${run}h` };
                    await Promise.all([driven, drive(thread, `${run}h`, { messages: [more], tools }, [], known)]);
                }
                if (steers && below(2) === 0) await Promise.all([driven, steer(thread, run, driven)]);
                const { terminal: end, first, given } = await driven;
                if (given || await answerAll({ thread, known, tools }, run, { terminal: end, first })) break;
                if (end.type === 'RUN_ERROR') counts.lost += 1;
                const pending = end.outcome?.pendingToolCallIds ?? [];
                if (pending.length > 0) {
                    counts.handoffs += 1;
                    const messages = pending.map((id) => ({
                        id: `a-${id}`, role: 'tool', toolCallId: id, content: `answer to ${id} of ${thread}`,
                    }));
                    const answered = await drive(thread, `${run}a`, { messages }, pending, known);
                    if (answered.given) break;
                    if (gatewayOf(answered.first) !== gatewayOf(first)) counts.answeredElsewhere += 1;
                }
            }
        }
    }

    // Through each gateway: all must show the same. Then what comes after the last number that anybody saw.
    async function readAllAgain() {
        const runs = new Map(); // By thread and run.
        for await (const line of createInterface({ input: fs.createReadStream(path.join(folder, 'seen.jsonl')) })) {
            const { thread, run, sequence } = JSON.parse(line);
            const name = `${thread}/${run}`;
            runs.set(name, Math.max(runs.get(name) ?? 0, sequence));
        }
        let unread = 0;
        for (const [name, after] of runs) {
            const [thread, run] = name.split('/');
            for (const { port, name: by } of servers) {
                const read = (number, onFrame) => exchange('GET', `${threadPath(thread)}/runs/${run}/events?after=${number}`, undefined,
                    onFrame, { port, thread, patience: 30_000, atMost: unread < 3 ? 30_000 : 1000 }).catch((error) => ({ error: String(error) }));
                const reply = await read(0, (sequence, data) => note('final', { thread, run, sequence, by, data }));
                if (reply.error || (reply.status !== 200 && losses === 0)) {
                    violation('cannot be read again', { thread, run, by, reply });
                    unread += 1;
                } else if (losses > 0) {
                    const { status, text } = await read(after, () => {});
                    note('cursors', { thread, run, by, whole: reply.status, after, status, text });
                }
            }
        }
        return runs.size;
    }

    const closed = (stream) => new Promise((resolve) => stream.end(resolve));

    // A stop that waits for a run that has already ended would never return.
    async function stop({ ended, process: gateway }) {
        gateway.kill('SIGTERM');
        const how = await Promise.race([ended, sleep(stopSeconds * 1000, undefined, { ref: false })]);
        if (how) return how;
        violation('the gateway did not stop in time', { seconds: stopSeconds });
        gateway.kill('SIGKILL');
        await ended;
        return { code: null, signal: 'not in time' };
    }

    const log = () => servers.map((server) => fs.readFileSync(server.log, 'utf8')).join('');

    // Reports what a sanitizer or the event verifier wrote to a gateway's log.
    function lookAtLog() {
        const found = /.*(AddressSanitizer|ThreadSanitizer|LeakSanitizer|runtime error:|event verifier:).*/.exec(log());
        if (found) violation('the gateway has a fault', { line: found[0] });
    }

    return {
        /// For the next launch() that names none itself.
        nextLaunch(env) { environment = env; },
        counts, note, violation, launch, untilReady, below, converse, exchange, log, servers,
        /// The model requests that a gateway waits for, with what the model has said for their runs.
        callsOf: (name) => [...openCalls].filter(({ by }) => by === name)
            .map(({ thread, run }) => ({ thread, run, said: saidIn.get(`${thread}/${run}`) ?? '' })),
        signal: (name, which = 0) => servers[which].process.kill(name),
        ended: (which = 0) => servers[which].ended,
        stopClients() { stopping = true; },
        /// For so long gateways may not reach each other.
        expectApart(milliseconds) { apartUntil = Math.max(apartUntil, performance.now() + milliseconds); },
        /// Resolves when readers have seen text of so many runs that no model was asked for before this call.
        async untilFreshRunsShown(count) {
            freshRuns = { runs: new Set(), shown: new Set() };
            while (freshRuns.shown.size < count) await sleep(10);
            freshRuns = undefined;
        },
        /// From now on clients put up with that what they have seen is lost.
        expectLoss() { losses += 1; },
        /// Reads every run again, stops the gateways, and runs the checker. Returns its exit status and what it printed.
        async finish() {
            await Promise.all(servers.map((_, i) => untilReady(i)));
            await closed(files.seen);
            counts.known = await readAllAgain();
            for (const [i, server] of servers.entries()) {
                let how = await stop(server);
                if (how.signal === 'SIGKILL' && mayFail) { // A failpoint killed it during shutdown.
                    launch({}, i);
                    await untilReady(i);
                    how = await stop(server);
                }
                if (how.code !== 0) violation('the gateway did not stop cleanly', { by: server.name, ...how });
            }
            router?.close();
            agent.destroy();
            upstream.close();
            upstream.closeAllConnections();
            lookAtLog();
            readStore();
            await Promise.all(Object.entries(files).filter(([name]) => name !== 'seen').map(([, stream]) => closed(stream)));
            const verdict = spawnSync('python3', [path.join(here, 'check.py'), folder], { encoding: 'utf8', maxBuffer: 2 ** 28 });
            return { status: verdict.status ?? 1, text: verdict.stdout + verdict.stderr };
        },
    };
}
