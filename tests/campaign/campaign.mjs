// What the campaigns share: a model server, a server tool, clients that never give up, and the gateway between them.
// Everything that they see is written to files in a folder, which check.py reads. See README.md.

import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
// Longer than server.drain_seconds, with a margin for a slow machine.
const stopSeconds = 60;

export const binFolder = path.resolve(here, '../..', process.env.AGUI_BIN_DIR ?? 'build/release/bin');

/// `mayFail`: a request may be answered with 500. `hasty`: a conversation has messages that are sent while the run before
/// is not over, and none of them may be refused for that. The gateway is not started yet.
export async function createCampaign({ folder, seed, mayFail = false, durability = 'process', hasty = false, queue = false }) {
    fs.mkdirSync(folder, { recursive: true });

    // The same seed gives the same decisions; the timing depends on the machine.
    let randomState = Number(seed) >>> 0;
    function random() {
        randomState = (randomState + 0x6d2b79f5) >>> 0;
        let t = randomState;
        t = Math.imul(t ^ (t >>> 15), t | 1);
        t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    }
    const below = (n) => Math.floor(random() * n);

    // ---- Files. Every line has a number, which gives the order of events across files.

    let lineCount = 0;
    const files = {};
    function note(file, line) {
        files[file] ??= fs.createWriteStream(path.join(folder, `${file}.jsonl`));
        lineCount += 1;
        files[file].write(`${JSON.stringify({ n: lineCount, ...line })}\n`);
    }

    // ---- The model server, and the server tool behind the gateway's webhook.

    const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity });
    let callCount = 0;

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

    async function answerAsModel(request, response) {
        const { messages } = await body(request);
        note('upstream', { messages });
        const last = messages.at(-1);
        const asked = last.role === 'user' ? /kind:(\w+)/.exec(last.content)?.[1] : 'answered';
        let chunks = textChunks(`This is what the model says about ${messages.length} messages, word by word, for a while.`);
        if (asked === 'external') chunks = [...chunks.slice(0, 5), ...callChunks('paint', '{"color":"blue","where":"here"}')];
        else if (asked === 'server') chunks = [...chunks.slice(0, 3), ...callChunks('lookup', '{"city":"Ulm"}')];
        else chunks.push(modelChunk({}, 'stop'));
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const chunk of chunks) {
            await sleep(5 + below(30));
            if (response.destroyed) return;
            response.write(chunk);
        }
        response.end('data: [DONE]\n\n');
    }

    async function answerAsTool(request, response) {
        const { toolCallId } = await body(request);
        note('executed', { toolCallId });
        counts.executed += 1;
        await sleep(20 + below(200));
        response.writeHead(200, { 'content-type': 'application/json' }).end(`{"result":"of ${toolCallId}"}`);
    }

    const upstream = http.createServer((request, response) => {
        const answer = request.url.startsWith('/tool') ? answerAsTool : answerAsModel;
        answer(request, response).catch(() => response.destroy());
    });
    upstream.keepAliveTimeout = 60_000;
    await new Promise((resolve) => upstream.listen(0, '127.0.0.1', resolve));
    const upstreamUrl = `http://127.0.0.1:${upstream.address().port}`;

    // ---- The gateway.

    async function freePort() {
        const probe = net.createServer();
        await new Promise((resolve) => probe.listen(0, '127.0.0.1', resolve));
        const { port } = probe.address();
        await new Promise((resolve) => probe.close(resolve));
        return port;
    }

    const port = await freePort();
    const database = path.join(folder, 'agui.db');
    const config = path.join(folder, 'gateway.toml');
    fs.writeFileSync(config, `
    [server]
    listen = "127.0.0.1:${port}"
    threads = 2
    log_level = "warning"
    on_disconnect = "continue"
    [session]
    store = "sqlite:${database}"
    durability = "${durability}"
    ${hasty ? 'busy_wait_ms = 60000' : ''}
    ${queue ? 'on_busy = "enqueue"' : ''}
    replay_seconds = 86400
    [models.main]
    provider = "openai"
    base_url = "${upstreamUrl}/v1"
    model = "m"
    [[agents]]
    id = "default"
    models = ["main"]
    [[tools.webhook]]
    name = "lookup"
    description = "Looks something up."
    url = "${upstreamUrl}/tool"
    `);

    let gateway;
    let ready = Promise.resolve();
    const logFile = fs.openSync(path.join(folder, 'gateway.log'), 'a');

    let environment = {};
    function launch(env = environment) {
        environment = {};
        gateway = spawn(path.join(binFolder, 'agui-gateway'), ['--config', config],
            { stdio: ['ignore', 'pipe', logFile], env: { ...process.env, ...env } });
        gateway.ended = new Promise((resolve) => gateway.on('close', (code, signal) => resolve({ code, signal })));
        const started = new Promise((resolve, reject) => {
            gateway.stdout.on('data', (data) => String(data).includes('listening on') && resolve());
            gateway.ended.then((how) => reject(new Error(`the gateway ended: ${JSON.stringify(how)}`)));
        });
        started.catch(() => {}); // Killed before it listened: the next one is waited for.
        ready = started;
    }

    async function untilReady() {
        for (;;) {
            const current = ready;
            await current.catch(() => sleep(5));
            if (current === ready) return;
        }
    }

    // ---- Clients.

    let stopping = false;
    const counts = { runs: 0, handoffs: 0, cuts: 0, lost: 0, reposts: 0, reattached: 0, stops: 0, executed: 0 };

    function violation(what, where) {
        note('violations', { what, ...where });
        console.error(`VIOLATION ${what} ${JSON.stringify(where).slice(0, 500)}`);
    }

    // One request; calls `onFrame(sequence, data)` for each event. Resolves to the status and, if it is no stream, the JSON.
    function exchange(method, target, sent, onFrame) {
        return new Promise((resolve, reject) => {
            const request = http.request(
                { host: '127.0.0.1', port, method, path: target, agent,
                    headers: sent ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) } : {} },
                (response) => {
                    let rest = '';
                    response.setEncoding('utf8');
                    response.on('data', (text) => {
                        rest += text;
                        if (response.statusCode !== 200) return;
                        for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
                            const frame = rest.slice(0, end);
                            rest = rest.slice(end + 2);
                            const found = /^id: (\d+)\ndata: (.*)$/s.exec(frame);
                            if (found) onFrame(Number(found[1]), found[2]);
                            else if (frame.startsWith('data: ')) onFrame(0, frame.slice(6));
                        }
                    });
                    response.on('error', reject);
                    response.on('aborted', () => reject(new Error('aborted')));
                    response.on('end', () => (response.complete
                        ? resolve({ status: response.statusCode, text: rest })
                        : reject(new Error('cut'))));
                },
            );
            request.on('error', reject);
            request.end(sent);
        });
    }

    const isTerminal = (event) => event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR';

    // It may come too late: the run may have ended, or the gateway may have been killed.
    function stopRun(thread, run) {
        counts.stops += 1;
        exchange('POST', '/agui/cancel', JSON.stringify({ threadId: thread, runId: run }), () => {}).catch(() => {});
    }

    // Carries one run to its terminal event, whatever happens to the gateway. `answers`: call ids that it answers.
    async function drive(thread, run, input, answers, stopAfter = 0) {
        const sent = JSON.stringify({ threadId: thread, runId: run, protocolVersion: '1.1', ...input });
        const target = `/agui/threads/${thread}/runs/${run}/events`;
        let last = 0;
        let terminal;
        let seen = false;
        let unknown = false;
        counts.runs += 1;
        const onFrame = (sequence, data) => {
            const event = JSON.parse(data);
            if (sequence === 0) return; // RUN_ERROR store_unavailable: the durable end is read later.
            if (!seen) note('acknowledged', { thread, run, answers });
            seen = true;
            note('seen', { thread, run, sequence, data });
            if (sequence > last + 1) violation('gap', { thread, run, last, sequence });
            last = Math.max(last, sequence);
            if (isTerminal(event)) terminal = event;
            else if (sequence === stopAfter) stopRun(thread, run);
        };
        for (let attempt = 0; !terminal; attempt += 1) {
            await untilReady();
            const again = seen && !unknown && random() < 0.7;
            unknown = false;
            if (attempt > 0) counts[again ? 'reattached' : 'reposts'] += 1;
            try {
                const reply = again
                    ? await exchange('GET', `${target}?after=${last}`, undefined, onFrame)
                    : await exchange('POST', '/agui', sent, (sequence, data) => {
                        // A repeat begins with the first event: it must be what was seen before.
                        if (sequence <= last && sequence > 0) note('seen', { thread, run, sequence, data });
                        else onFrame(sequence, data);
                    });
                if (reply.status === 200) {
                    if (!terminal && last > 0) await sleep(5);
                    continue;
                }
                if (reply.status === 409 && attempt === 0) violation('busy after its end', { thread, run, reply });
                // Until it is repeated, the gateway does not look for a message that waited before the kill.
                if (reply.status === 404 && queue && last === 1) { unknown = true; continue; }
                if (reply.status === 404 && seen) violation('a run that was seen is unknown', { thread, run, last });
                const expected = reply.status === 503 || reply.status === 409 || (mayFail && reply.status === 500);
                if (!expected) violation('refused', { thread, run, reply });
                await sleep(20);
            } catch {
                counts.cuts += 1;
                await sleep(below(20));
            }
            if (attempt > 2000) throw new Error(`run ${thread}/${run} does not end`);
        }
        return terminal;
    }

    const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object' } }];

    async function converse(client, conversations) {
        for (let conversation = 0; !stopping && conversation < conversations; conversation += 1) {
            const thread = `t${client}-${conversation}`;
            for (let turn = 0; turn < 3; turn += 1) {
                const run = `r${turn}`;
                const kind = ['plain', 'external', 'external', 'server'][below(4)];
                const message = { id: `u${turn}`, role: 'user', content: `kind:${kind} marker:${thread}/${run}` };
                const stopAfter = below(8) === 0 ? 2 + below(8) : 0;
                const driven = drive(thread, run, { messages: [message], tools }, [], stopAfter);
                if ((hasty || queue) && kind !== 'external') { // A hand-off waits for its answer, not for another message.
                    const more = { id: `h${turn}`, role: 'user', content: `kind:plain marker:${thread}/${run}h` };
                    await Promise.all([driven, drive(thread, `${run}h`, { messages: [more], tools }, [])]);
                }
                const end = await driven;
                if (end.type === 'RUN_ERROR') counts.lost += 1;
                const pending = end.outcome?.pendingToolCallIds ?? [];
                if (pending.length > 0) {
                    counts.handoffs += 1;
                    const messages = pending.map((id) => ({
                        id: `a-${id}`, role: 'tool', toolCallId: id, content: `answer to ${id} of ${thread}`,
                    }));
                    await drive(thread, `${run}a`, { messages }, pending);
                }
            }
        }
    }

    async function readAllAgain() {
        const runs = new Set();
        for await (const line of createInterface({ input: fs.createReadStream(path.join(folder, 'seen.jsonl')) })) {
            const { thread, run } = JSON.parse(line);
            runs.add(`${thread}/runs/${run}`);
        }
        for (const name of runs) {
            const [thread, , run] = name.split('/');
            const reply = await exchange('GET', `/agui/threads/${name}/events?after=0`, undefined,
                (sequence, data) => note('final', { thread, run, sequence, data }));
            if (reply.status !== 200) violation('cannot be read again', { thread, run, reply });
        }
        return runs.size;
    }

    const closed = (stream) => new Promise((resolve) => stream.end(resolve));

    // A stop that waits for a run that has already ended would never return.
    async function stop() {
        const { ended } = gateway;
        gateway.kill('SIGTERM');
        const how = await Promise.race([ended, sleep(stopSeconds * 1000, undefined, { ref: false })]);
        if (how) return how;
        violation('the gateway did not stop in time', { seconds: stopSeconds });
        gateway.kill('SIGKILL');
        await ended;
        return { code: null, signal: 'not in time' };
    }

    // Reports what a sanitizer or the event verifier wrote to the gateway's log, and returns the log.
    function lookAtLog() {
        const text = fs.readFileSync(path.join(folder, 'gateway.log'), 'utf8');
        const found = /.*(AddressSanitizer|ThreadSanitizer|LeakSanitizer|runtime error:|event verifier:).*/.exec(text);
        if (found) violation('the gateway has a fault', { line: found[0] });
        return text;
    }

    return {
        /// For the next launch() that names none itself.
        nextLaunch(env) { environment = env; },
        counts, violation, launch, untilReady, below, converse,
        log: () => fs.readFileSync(path.join(folder, 'gateway.log'), 'utf8'),
        signal: (name) => gateway.kill(name),
        ended: () => gateway.ended,
        stopClients() { stopping = true; },
        /// Reads every run again, stops the gateway, and runs the checker. Returns its exit status and what it printed.
        async finish() {
            await untilReady();
            await closed(files.seen);
            counts.known = await readAllAgain();
            let how = await stop();
            if (how.signal === 'SIGKILL' && mayFail) { // A failpoint killed it during shutdown.
                launch();
                await untilReady();
                how = await stop();
            }
            if (how.code !== 0) violation('the gateway did not stop cleanly', how);
            agent.destroy();
            upstream.close();
            upstream.closeAllConnections();
            lookAtLog();
            await Promise.all(Object.entries(files).filter(([name]) => name !== 'seen').map(([, stream]) => closed(stream)));
            const verdict = spawnSync('python3', [path.join(here, 'check.py'), folder], { encoding: 'utf8' });
            return { status: verdict.status ?? 1, text: verdict.stdout + verdict.stderr };
        },
    };
}
