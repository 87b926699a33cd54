// Sends mutated requests to a gateway, on threads that wait for an approval. None may be answered with a 5xx, end the
// process, leave an invalid stream, or be accepted although a value has a wrong type.
//   node run.mjs [--count 100000] [--seed 1] [--workers 8]
// SIGTERM ends it early.
// Last line: N passed, M failed.

import assert from 'node:assert/strict';
import http from 'node:http';
import { parseArgs } from 'node:util';
import { Gateway, stopAll } from '../support/gateway.mjs';
import { checkStream, parseStream } from '../support/streams.mjs';
import { eventProblem, inputProblem } from '../support/strict.mjs';
import { leniently } from './lenient.mjs';
import { damage, makeRandom, mutate, validInput } from './mutate.mjs';

const { values: options } = parseArgs({ options: {
    count: { type: 'string', default: '100000' }, seed: { type: 'string', default: '1' }, workers: { type: 'string', default: '8' } } });
const count = Number(options.count);
/// A thread gets so many requests; then another one takes its place, with a new approval.
const requestsPerThread = 60;
const answered = new Map(); // status => count
const failures = new Map(); // what => [count, an example]

function fail(what, example) {
    const known = failures.get(what) ?? [0, example];
    failures.set(what, [known[0] + 1, known[1]]);
}

/// Calls the tool `pay` when a user says "Pay.", and otherwise says something.
function startModel() {
    const server = http.createServer((request, response) => {
        let body = '';
        request.on('data', (chunk) => (body += chunk));
        request.on('end', () => {
            const { messages } = JSON.parse(body);
            const last = messages.at(-1);
            const delta = last.role === 'user' && last.content === 'Pay.'
                ? { tool_calls: [{ index: 0, id: `call_${Math.random()}`, type: 'function', function: { name: 'pay', arguments: '{"amount":1}' } }] }
                : { content: 'Done.' };
            response.writeHead(200, { 'Content-Type': 'text/event-stream' });
            response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta }] })}\n\ndata: ${JSON.stringify({
                choices: [{ index: 0, delta: {}, finish_reason: delta.content ? 'stop' : 'tool_calls' }] })}\n\ndata: [DONE]\n\n`);
        });
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

const tools = http.createServer((request, response) => request.resume().on('end', () => response.end('{"result":"paid"}')));
await new Promise((resolve) => tools.listen(0, '127.0.0.1', resolve));
const model = await startModel();
const gateway = await Gateway.start({
    model: { url: `http://127.0.0.1:${model.address().port}/v1` },
    config: {
        session: { store: 'memory:' },
        agents: [{ id: 'default', models: ['main'], state: 'system' }],
        tools: { webhook: [{ name: 'pay', description: 'Pays.', url: `http://127.0.0.1:${tools.address().port}/`, approval: 'always' }] },
    },
});
let alive = true;
gateway.ended.then(() => (alive = false));

function post(body) {
    return fetch(gateway.url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
}

let threads = 0;
async function newThread() {
    const threadId = `thread-${++threads}`;
    const input = { threadId, runId: 'first', messages: [{ id: 'u1', role: 'user', content: 'Pay.' }] };
    const events = parseStream(await (await post(JSON.stringify(input))).text()).map((entry) => entry.event);
    const [interrupt] = events.at(-1).outcome?.interrupts ?? [];
    assert.ok(interrupt, JSON.stringify(events.at(-1)));
    return { threadId, interruptId: interrupt.id, callId: interrupt.toolCallId };
}

function checkAccepted(text, body) {
    try {
        checkStream(text);
        const problem = parseStream(text).map(({ event }) => eventProblem(event, '1.1')).find(Boolean);
        if (problem) fail(`an invalid event: ${problem}`, body);
    } catch (error) {
        fail(`an invalid stream: ${error.message.slice(0, 80)}`, body);
    }
    const problem = inputProblem(leniently(JSON.parse(body)));
    if (problem) fail(`accepted: ${problem.replaceAll(/\d+/g, 'N')}`, body);
}

async function sendOne(random, thread, number) {
    const input = validInput(random, { ...thread, runId: `r${number}` });
    for (let changes = random(4); changes >= 0; --changes) mutate(random, input);
    const text = JSON.stringify(input);
    const body = random(20) === 0 ? damage(random, text) : text;
    const response = await post(body);
    const answer = await response.text();
    answered.set(response.status, (answered.get(response.status) ?? 0) + 1);
    if (response.status >= 500) fail(`status ${response.status}`, String(body));
    if (response.status === 200) checkAccepted(answer, String(body));
}

let next = 0;
let wanted = count;
process.on('SIGTERM', () => (wanted = next));

async function work(worker) {
    const random = makeRandom(Number(options.seed) * 1000 + worker + 1);
    while (alive && next < wanted) {
        const thread = await newThread();
        for (let i = 0; i < requestsPerThread && alive && next < wanted; ++i) await sendOne(random, thread, next++);
    }
}

try {
    await Promise.all(Array.from({ length: Number(options.workers) }, (_, worker) => work(worker)));
} catch (error) {
    fail(`the gateway or this program: ${error.message}`, gateway.log.slice(-2000));
}
if (!alive) fail('the gateway ended', gateway.log.slice(-4000));
try {
    await stopAll(gateway);
} catch (error) {
    fail(`the gateway did not end well: ${error.message.slice(0, 4000)}`, '');
}
model.close();
model.closeAllConnections();
tools.close();
tools.closeAllConnections();
console.log(`answered: ${JSON.stringify(Object.fromEntries(answered))}, threads: ${threads}`);
for (const [what, [times, example]] of failures) console.log(`FAIL ${times} times: ${what}\n    ${example.slice(0, 2000)}`);
const failed = [...failures.values()].reduce((sum, [times]) => sum + times, 0);
console.log(`${Math.max(0, next - failed)} passed, ${failed} failed`);
process.exitCode = failed > 0 || next === 0 ? 1 : 0;
