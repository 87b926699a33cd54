// The model server of the tests: aimock answers, and a relay in front of it records what the gateway
// sends, holds answers back, and sees when the gateway hangs up. Every recorded request must hold a
// history that an OpenAI-compatible server accepts (P5): checkRequests() says so.

import assert from 'node:assert/strict';
import http from 'node:http';
import { LLMock } from '@copilotkit/aimock';

/// A promise that can be resolved from outside.
export function gate() {
    let open;
    const opened = new Promise((resolve) => (open = resolve));
    return { open, opened };
}

/// What is wrong with a Chat Completions message list, or undefined.
export function historyProblem(messages) {
    const seen = new Set();
    let open = [];
    for (const [index, message] of messages.entries()) {
        const where = `messages[${index}]`;
        if (message.role === 'tool') {
            if (open[0] !== message.tool_call_id) {
                return `${where} answers ${message.tool_call_id}, expected is ${open[0] ?? 'no answer'}`;
            }
            if (typeof message.content !== 'string') return `${where} has no text content`;
            open.shift();
            continue;
        }
        if (open.length > 0) return `${where} stands before the answer to ${open[0]}`;
        if (!['system', 'developer', 'user', 'assistant'].includes(message.role)) {
            return `${where} has the role ${message.role}`;
        }
        for (const call of message.tool_calls ?? []) {
            if (seen.has(call.id)) return `${where} repeats the call id ${call.id}`;
            seen.add(call.id);
            open.push(call.id);
            try {
                const value = JSON.parse(call.function.arguments);
                if (value === null || typeof value !== 'object' || Array.isArray(value)) throw new Error();
            } catch {
                return `${where} has arguments that are no object: ${call.function.arguments}`;
            }
        }
        if (message.role === 'assistant' && !message.content && !message.tool_calls?.length) {
            return `${where} is an empty assistant message`;
        }
    }
    return open.length > 0 ? `the answer to ${open[0]} is missing` : undefined;
}

function readBody(request) {
    return new Promise((resolve, reject) => {
        const chunks = [];
        request.on('data', (chunk) => chunks.push(chunk));
        request.on('end', () => resolve(Buffer.concat(chunks)));
        request.on('error', reject);
    });
}

/// The text of the first user message: what tells one test's requests from another's.
function subject(body) {
    const user = body.messages?.find((message) => message.role === 'user');
    if (Array.isArray(user?.content)) return user.content.map((part) => part.text ?? '').join('');
    return user?.content ?? '';
}

/// One upstream request. `arrived` has happened when the record exists; `closed` resolves when the
/// gateway hangs up before the answer was complete; `ended` resolves when the exchange is over.
class Exchange {
    constructor(body, headers, url) {
        this.body = body;
        this.messages = body.messages;
        this.headers = headers;
        this.url = url;
        this.frames = 0;
        this.raw = [];
        this.hungUp = false;
        const closed = gate();
        const ended = gate();
        Object.assign(this, { closed: closed.opened, ended: ended.opened, noteClosed: closed.open, noteEnded: ended.open });
    }

    /// Messages without system text, so that tests state the conversation alone.
    get conversation() {
        return this.messages.filter((message) => message.role !== 'system' && message.role !== 'developer');
    }
}

export class ModelServer {
    /// With `upstream` (a URL without /v1) a real model server answers in place of aimock.
    static async start({ upstream } = {}) {
        const model = new ModelServer();
        if (!upstream) {
            model.mock = new LLMock({ port: 0, logLevel: 'silent', chunkSize: 6 });
            await model.mock.start();
        }
        model.upstream = new URL(upstream ?? model.mock.url);
        model.relay = http.createServer((request, response) => {
            model.#forward(request, response).catch((error) => response.destroy(error));
        });
        await new Promise((resolve) => model.relay.listen(0, '127.0.0.1', resolve));
        model.url = `http://127.0.0.1:${model.relay.address().port}/v1`;
        return model;
    }

    constructor() {
        this.exchanges = [];
        this.scripts = new Map();
        this.waiters = [];
        this.problems = [];
    }

    /// Plays `steps` to the requests whose first user message starts with `key`, one step a request;
    /// another request is a 404. A step is an aimock response ({content}, {toolCalls}, {blocks},
    /// {error,status}) and may have, besides: `hold` (a promise before the request is passed on),
    /// `pauseAfter` (frames) with `resume` (a promise), `cutAfter` (frames; the connection breaks there).
    script(key, steps) {
        assert.ok(!this.scripts.has(key), `the script "${key}" exists already`);
        const script = { steps, next: 0 };
        this.scripts.set(key, script);
        for (const [index, step] of steps.entries()) {
            const { hold, pauseAfter, resume, cutAfter, ...response } = step;
            this.mock.addFixture({
                match: { predicate: (body) => subject(body).startsWith(key) && script.current === index },
                response,
            });
        }
        return this;
    }

    requests(key) {
        return this.exchanges.filter((exchange) => subject(exchange.body).startsWith(key));
    }

    /// Waits for the n-th request (from 1) of a script.
    async request(key, number) {
        for (;;) {
            const found = this.requests(key)[number - 1];
            if (found) return found;
            const arrival = gate();
            this.waiters.push(arrival.open);
            await arrival.opened;
        }
    }

    /// Fails if a request so far had an invalid history, or if a script was called more or less often than it says.
    checkRequests() {
        assert.deepEqual(this.problems, [], 'requests to the model server with an invalid history');
        for (const [key, script] of this.scripts) {
            assert.equal(script.next, script.steps.length, `calls of the model for "${key}"`);
        }
    }

    async stop() {
        this.relay.closeAllConnections();
        await new Promise((resolve) => this.relay.close(resolve));
        await this.mock?.stop();
    }

    async #forward(request, response) {
        const bytes = await readBody(request);
        const body = bytes.length ? JSON.parse(bytes) : {};
        const exchange = new Exchange(body, request.headers, request.url);
        const key = [...this.scripts.keys()].find((name) => subject(body).startsWith(name));
        const script = this.scripts.get(key);
        const index = script ? script.next++ : 0;
        const step = script?.steps[index] ?? {};
        if (Array.isArray(body.messages)) {
            const problem = historyProblem(body.messages);
            if (problem) this.problems.push(`${key ?? subject(body)}, request ${index + 1}: ${problem}`);
        }
        response.on('close', () => {
            exchange.hungUp = !response.writableFinished && !exchange.cut;
            if (exchange.hungUp) exchange.noteClosed();
            exchange.noteEnded();
        });
        this.exchanges.push(exchange);
        this.waiters.splice(0).forEach((wake) => wake());
        await step.hold;
        if (response.destroyed) return;
        if (script) script.current = index;
        await this.#relay({ request, response, bytes, exchange, step });
    }

    #relay({ request, response, bytes, exchange, step }) {
        return new Promise((resolve) => {
            const headers = { ...request.headers, host: this.upstream.host, 'content-length': bytes.length };
            delete headers.connection;
            const target = { hostname: this.upstream.hostname, port: this.upstream.port, path: request.url };
            const forward = http.request({ ...target, method: request.method, headers, agent: false }, async (answer) => {
                exchange.status = answer.statusCode;
                const passed = { ...answer.headers };
                delete passed.connection;
                response.writeHead(answer.statusCode, passed);
                response.flushHeaders();
                try {
                    for await (const chunk of answer) {
                        if (!(await this.#pass(chunk, response, exchange, step))) break;
                    }
                    response.end();
                } catch {
                    // The model server broke off: so does the relay, without a proper end.
                    exchange.cut = true;
                    response.destroy();
                }
                resolve();
            });
            forward.on('error', () => {
                exchange.cut = true;
                response.destroy();
                resolve();
            });
            response.on('close', () => forward.destroy());
            forward.end(bytes);
        });
    }

    /// Passes a chunk on, frame by frame where the step pauses. False once the gateway has left.
    async #pass(chunk, response, exchange, step) {
        exchange.raw.push(chunk);
        const whole = step.pauseAfter === undefined && step.cutAfter === undefined;
        for (const piece of whole ? [chunk] : chunk.toString().split(/(?<=\n\n)/)) {
            if (exchange.frames === step.pauseAfter) await step.resume;
            if (exchange.frames === step.cutAfter) throw new Error('cut');
            if (response.destroyed) return false;
            exchange.frames += 1;
            await new Promise((resolve) => response.write(piece, resolve));
        }
        return true;
    }
}
