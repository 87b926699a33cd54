// Plays a case to the gateway through one client, and keeps all that the client, the store and the model server have
// seen. check.mjs judges it.

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { EventParser, MessageList } from '../../../examples/chat-stream/chat_stream.js';
import { agents, serverTool, tools } from './answers.mjs';

// Each answer of the model is followed by at most one more run; a case has a few.
const runsMax = 12;

/// What a client prints as a warning is a complaint about the stream of the conversation that it reads.
const complaints = new AsyncLocalStorage();

export function collectComplaints() {
    for (const level of ['warn', 'error']) {
        const print = console[level];
        console[level] = (...parts) => {
            const list = complaints.getStore();
            if (list) list.push(parts.map(String).join(' '));
            else print(...parts);
        };
    }
}

/// The text of a 200. A gateway that prepares many replies says when to come again (P11).
async function getText(url) {
    const response = await fetch(url);
    if (response.status === 503) {
        await response.text();
        await sleep(1000 * Number(response.headers.get('retry-after')));
        return getText(url);
    }
    const text = await response.text();
    if (response.status !== 200) throw new Error(`GET ${url} is ${response.status}: ${text}`);
    return text;
}

const getJson = async (url) => JSON.parse(await getText(url));

const clone = (value) => JSON.parse(JSON.stringify(value));

/// One released client on a thread of its own.
class AguiReader {
    constructor({ name, api, versioned }, gateway, agentPath) {
        this.name = name;
        this.versioned = versioned;
        this.gateway = gateway;
        this.api = api;
        this.threadId = randomUUID();
        this.agent = this.#agent(`${gateway.url}${agentPath}`);
    }

    #agent(url) {
        const record = async (target, init) => {
            const response = await fetch(target, init);
            const raw = (this.raw = { status: response.status, text: '' });
            const decoder = new TextDecoder();
            const copy = new TransformStream({
                transform(chunk, controller) {
                    raw.text += decoder.decode(chunk, { stream: true });
                    controller.enqueue(chunk);
                },
            });
            return new Response(response.body.pipeThrough(copy), { status: response.status, headers: response.headers });
        };
        return new this.api.HttpAgent({ url, threadId: this.threadId, fetch: record });
    }

    /// One run. `answers`: [{ toolCallId, content, error? }]. Resolves to what was seen of it.
    async run(answers, message) {
        for (const each of answers) this.agent.addMessage({ id: randomUUID(), role: 'tool', ...each });
        if (message !== undefined) this.agent.addMessage({ id: randomUUID(), role: 'user', content: message });
        const run = { runId: randomUUID(), ended: [] };
        this.raw = undefined;
        const onToolCallEndEvent = ({ event, toolCallName, toolCallArgs }) => {
            run.ended.push(clone({ id: event.toolCallId, name: toolCallName, arguments: toolCallArgs }));
        };
        const begun = this.agent.runAgent({ runId: run.runId, tools }, { onToolCallEndEvent });
        await begun.catch((error) => (run.error = String(error)));
        Object.assign(run, this.raw, { messages: clone(this.agent.messages) });
        run.stored = (await getJson(`${this.gateway.url}/threads/${this.threadId}/messages`)).messages;
        const { toolCalls } = await getJson(`${this.gateway.url}/threads/${this.threadId}/pending`);
        run.pending = toolCalls.map((call) => call.toolCallId);
        return run;
    }

    /// The calls that a page would execute after the run.
    open(run) {
        if (!run.text?.includes('"type":"RUN_FINISHED"') || run.error || run.text.includes('run.stopped')) return [];
        const answered = new Set(run.messages.filter((message) => message.role === 'tool').map((message) => message.toolCallId));
        return run.ended.filter((call) => call.name !== serverTool && !answered.has(call.id));
    }

    /// The messages of a page that is loaded anew.
    async reload() {
        const fresh = this.#agent(`${this.gateway.url}/history`);
        await fresh.runAgent({ runId: randomUUID() });
        return clone(fresh.messages);
    }
}

/// A client of the chat stream, in one of its modes.
class ChatReader {
    constructor(mode, gateway, agentPath) {
        this.url = `${gateway.base}/chat${agentPath}/stream`;
        this.name = `chat stream, ${mode}`;
        this.mode = mode;
        this.gateway = gateway;
        this.sessionId = randomUUID();
    }

    async run(answers, message) {
        const run = { runId: randomUUID() };
        const body = {
            sessionId: this.sessionId, messageId: run.runId, responseMode: this.mode, tools,
            ...(message !== undefined && { message }), ...(answers.length > 0 && { toolResults: answers }),
        };
        const response = await fetch(this.url, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
        });
        run.status = response.status;
        run.live = framesOf(await response.text());
        const events = `${this.gateway.url}/threads/${this.sessionId}/runs/${run.runId}/events`;
        const again = async (mode) => framesOf(await getText(`${events}?form=chat-stream&responseMode=${mode}`));
        run.incremental = await again('incremental');
        run.full = await again('full');
        run.list = fold(this.mode, run.live);
        return run;
    }

    open({ list }) {
        if (list.messages.some((each) => each.type === 'error')) return [];
        return list.messages.filter((each) => each.value?.pending === true)
            .map(({ value }) => ({ id: value.toolCallId, name: value.toolName }));
    }

    async reload() {
        return (await getJson(`${this.gateway.url}/threads/${this.sessionId}/messages`)).messages;
    }
}

function framesOf(text) {
    return new EventParser().push(new TextEncoder().encode(text)).map((event) => JSON.parse(event.data));
}

/// The messages that a client has after these frames.
export function fold(responseMode, frames) {
    const list = new MessageList({ responseMode });
    frames.forEach((frame) => list.take(frame));
    return list;
}

/// Every client, with the agent whose model has these `tags`.
export function readersOf(clients, gateway, tags) {
    const agentPath = tags ? `/agents/${agents[tags]}` : '';
    const chat = ['incremental', 'full'].map((mode) => new ChatReader(mode, gateway, agentPath));
    return [...clients.map((client) => new AguiReader(client, gateway, agentPath)), ...chat];
}

function answersTo(open, { reply, failed }) {
    const answers = open.map(({ id, name }) => ({
        toolCallId: id, content: failed ? '' : `${name} is done`, ...(failed && { error: `${name} has failed` }),
    }));
    if (reply === 'reversed') answers.reverse();
    return reply === 'message' ? [] : answers;
}

/// `conversation`: the model server's record under `name`.
export async function converse(reader, one, name, conversation) {
    const seen = { name: reader.name, versioned: reader.versioned, runs: [], complaints: [] };
    await complaints.run(seen.complaints, async () => {
        let answers = [];
        let message = `[${name}] hello`;
        while (seen.runs.length < runsMax) {
            const before = conversation.requests.length;
            const run = await reader.run(answers, message);
            seen.runs.push({ ...run, first: before, sent: { answers, message } });
            const last = conversation.requests.at(-1)?.answer;
            if (conversation.requests.length === before) break; // The checks say so.
            const open = reader.open(run);
            if (last === -1 && open.length === 0) break;
            const turn = one.turns[last];
            answers = open.length > 0 ? answersTo(open, turn) : [];
            message = answers.length === 0 || turn.reply === 'answers and message' ? `message ${seen.runs.length}` : undefined;
        }
        seen.reloaded = await reader.reload();
    });
    seen.requests = conversation.requests;
    return seen;
}
