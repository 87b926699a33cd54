// The callers: the three official clients, and hand-written fetch code.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import * as client0057 from 'ag-ui-client-0057';
import * as client0059 from 'ag-ui-client-0059';
import * as client1 from 'ag-ui-client-1';
import { parseStream, recordingFetch } from './streams.mjs';

const all = [
    { name: '0.0.57', api: client0057, versioned: false },
    { name: '0.0.59', api: client0059, versioned: false },
    { name: '1.0.0', api: client1, versioned: true },
];

/// The official clients under test; AGUI_CLIENTS (names, comma-separated) picks some.
export const clients = all.filter(({ name }) => (process.env.AGUI_CLIENTS ?? name).split(',').includes(name));

export const background = {
    name: 'change_background',
    description: 'Changes the background colour of the page.',
    parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
};

export function tool(name) {
    return { name, description: `The tool ${name}.`, parameters: { type: 'object', properties: {} } };
}

export function user(content, id = randomUUID()) {
    return { id, role: 'user', content };
}

export function answer(toolCallId, content, more = {}) {
    return { id: randomUUID(), role: 'tool', toolCallId, content, ...more };
}

/// An official client on its own thread. run() resolves to what the client saw and sent. `accept` replaces the
/// client's own Accept header, which its `headers` cannot.
export class Agent {
    constructor({ api }, gateway, { headers = {}, threadId = randomUUID(), accept } = {}) {
        this.sent = [];
        this.contentTypes = [];
        const remember = async (url, init) => {
            this.sent.push(JSON.parse(init.body));
            const response = await recordingFetch(url, accept ? { ...init, headers: { ...init.headers, Accept: accept } } : init);
            this.contentTypes.push(response.headers.get('content-type'));
            return response;
        };
        this.agent = new api.HttpAgent({ url: gateway.url, threadId, headers, fetch: remember });
        this.threadId = threadId;
    }

    get messages() {
        return this.agent.messages;
    }

    set messages(messages) {
        this.agent.setMessages(messages);
    }

    add(...messages) {
        this.agent.addMessages(messages);
    }

    abort() {
        this.agent.abortRun();
    }

    /// Runs once. `onEvent` sees each event as it comes. Rejects when the client rejects.
    async run({ tools = [], runId = randomUUID(), onEvent, ...more } = {}) {
        const events = [];
        await this.agent.runAgent({ runId, tools, ...more }, {
            onEvent: ({ event }) => {
                events.push(event);
                onEvent?.(event);
            },
        });
        return new Run(runId, events);
    }
}

/// The events of one run with the questions that tests ask.
export class Run {
    constructor(runId, events) {
        this.runId = runId;
        this.events = events;
    }

    get types() {
        return this.events.map((event) => event.type);
    }

    /// The types with repeats of deltas left out.
    get shape() {
        return this.types.filter((type, index) => type !== this.types[index - 1] || !/_(CONTENT|ARGS)$/.test(type));
    }

    get last() {
        return this.events.at(-1);
    }

    of(type) {
        return this.events.filter((event) => event.type === type);
    }

    get text() {
        return this.of('TEXT_MESSAGE_CONTENT').map((event) => event.delta).join('');
    }

    /// The calls of the stream: id, name, arguments text.
    get calls() {
        return this.of('TOOL_CALL_START').map((start) => ({
            id: start.toolCallId,
            name: start.toolCallName,
            args: this.of('TOOL_CALL_ARGS').filter((event) => event.toolCallId === start.toolCallId)
                .map((event) => event.delta).join(''),
        }));
    }

    expectFinished() {
        assert.equal(this.last?.type, 'RUN_FINISHED', JSON.stringify(this.last));
        assert.equal(this.last.runId, this.runId);
        return this;
    }

    expectError(code) {
        assert.equal(this.last?.type, 'RUN_ERROR', JSON.stringify(this.last));
        assert.equal(this.last.code, code, JSON.stringify(this.last));
        return this;
    }
}

export function runInput(more) {
    return { runId: randomUUID(), state: {}, tools: [], context: [], forwardedProps: {}, ...more };
}

/// POSTs a body as hand-written code does; resolves once the response headers are there.
export function post(url, body, { headers = {}, ...init } = {}) {
    return recordingFetch(url, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream', ...headers },
        body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
        ...init,
    });
}

/// POSTs and reads the whole stream.
export async function postRun(gateway, body, init) {
    const response = await post(gateway.url, body, init);
    const text = await response.text();
    assert.equal(response.status, 200, text);
    return new Run(body.runId, parseStream(text).map((entry) => entry.event));
}

/// Reads a stream event by event.
export async function* eventsOf(response) {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body) {
        rest += decoder.decode(chunk, { stream: true });
        const end = rest.lastIndexOf('\n\n');
        if (end < 0) continue;
        const whole = rest.slice(0, end + 2);
        rest = rest.slice(end + 2);
        for (const { event } of parseStream(whole)) yield event;
    }
}

/// POST /agui/cancel; resolves to the JSON of its answer.
export async function cancel(gateway, threadId, runId) {
    const response = await fetch(`${gateway.url}/cancel`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(runId ? { threadId, runId } : { threadId }),
    });
    assert.equal(response.status, 200);
    return response.json();
}

/// A conversation in short form, for comparison: role, text, calls, answered call.
export function outline(messages) {
    return messages.map((message) => {
        if (message.role === 'tool') return `tool ${message.tool_call_id}: ${message.content}`;
        const calls = (message.tool_calls ?? []).map((call) => `${call.function.name}(${call.function.arguments})#${call.id}`);
        const text = Array.isArray(message.content)
            ? message.content.map((part) => part.text).join('') : message.content ?? '';
        return [`${message.role}: ${text}`.trim(), ...calls].join(' | ');
    });
}
