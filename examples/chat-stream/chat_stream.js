// A client of POST /chat/stream without dependencies, for browsers and Node 20 or newer.
//
//     const list = await send({ message: 'Hello' }, { onFrame: (frame, list) => show(list.messages) });
//     for (const call of pendingCalls(list)) …   // tools that this client has to execute
//     await send({ sessionId: list.sessionId, toolResults: […] });
//
// Options of send(), readAgain() and cancel():
//   base      what stands before `chat/stream` and `agui/…`, with a '/' at its end. In Node an absolute URL.
//   headers   added to each request, for example Authorization
//   signal    an AbortSignal: ends the reading, not the run (that is what cancel() is for)
//   attempts  how many times in a row to reconnect, 5 if not given
//   wait      (milliseconds, signal) => Promise, for tests
//   onRequest ({ method, url, body })   onBytes (count)   onFrame (frame, list, { id, data })   onRetry (attempt, error)

const DEFAULT_ATTEMPTS = 5;
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15_000;
const WORTH_ANOTHER_TRY = new Set([429, 502, 503, 504]);

/// The gateway has answered with an error, or with something that is no chat stream. `code` is the gateway's own.
export class ChatStreamError extends Error {
    constructor(code, message, { status = 0, path, retryAfter = 0 } = {}) {
        super(message);
        this.name = 'ChatStreamError';
        Object.assign(this, { code, status, path, retryAfter });
    }
}

/// The connection has ended before the answer, and all attempts to take it up again have failed.
export class ConnectionLost extends Error {
    name = 'ConnectionLost';
}

/// A UUID. crypto.randomUUID() is missing where a page was not loaded over HTTPS or from this machine.
export function newId() {
    if (crypto.randomUUID) return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// ---- Messages -----------------------------------------------------------------------------------------------

/// The messages of one answer, made from its frames.
export class MessageList {
    #byId = new Map();
    #incremental;

    constructor({ sessionId = '', messageId = '', responseMode = 'incremental' } = {}) {
        this.#incremental = responseMode !== 'full';
        this.sessionId = sessionId;
        this.messageId = messageId;
        this.clear();
    }

    /// Forgets the messages, for a stream that is read from its beginning.
    clear() {
        this.#byId.clear();
        this.messages = [];
        this.msgStatus = 'generating';
        this.stopReason = undefined; // The last frame of an answer that the user has stopped says one.
    }

    get finished() {
        return this.msgStatus === 'finished';
    }

    take(frame) {
        this.sessionId = frame.sessionId;
        this.messageId = frame.messageId;
        this.msgStatus = frame.msgStatus;
        this.stopReason = frame.stopReason;
        for (const message of frame.messages) this.#takeMessage(message);
    }

    #takeMessage({ replace = false, ...message }) {
        const known = this.#byId.get(message.id);
        if (!known) {
            this.#byId.set(message.id, message);
            this.messages.push(message);
            // Ids end in the message's index. Usually a new message is the last one: then nothing moves.
            this.messages.sort((one, other) => indexOf(one) - indexOf(other));
            return;
        }
        // Only contents come in pieces, and only in this mode. All else is what it says now, and so is a content that
        // the server has changed after it was sent.
        const adds = this.#incremental && message.type === 'content' && !replace;
        const value = adds ? known.value + message.value : message.value;
        Object.assign(known, message, { value });
    }
}

function indexOf(message) {
    return Number(message.id.slice(message.id.lastIndexOf('-') + 1));
}

/// What a user interface shows: 'loading', 'ready', or 'completed'.
export function displayStatus(message, msgStatus) {
    if (message.status === 'generating') return 'loading';
    return msgStatus === 'finished' && message.status === 'generated' ? 'completed' : 'ready';
}

/// The calls that this client has to execute and answer: [{ toolCallId, toolName, arguments, pending }]. None while
/// the answer is being generated, and none if it has failed or was stopped: nobody waits for those.
export function pendingCalls({ messages, msgStatus, stopReason }) {
    if (msgStatus !== 'finished' || stopReason || messages.some((message) => message.type === 'error')) return [];
    return messages.filter((message) => message.type === 'tool_call_request' && message.value?.pending === true)
        .map((message) => message.value);
}

// ---- Requests -----------------------------------------------------------------------------------------------

/// Posts a request and reads its answer to the end; resolves to its MessageList. Body: { message?, toolResults?,
/// tools?, sessionId?, messageId?, model?, workspaceRoot?, responseMode? }
///
/// The run belongs to the gateway, not to the connection. After a loss it is read on from the last frame; if there
/// was none, the same request is sent again, which starts nothing twice because it has the same ids.
export async function send(body, options = {}) {
    const request = { ...body, sessionId: body.sessionId || newId(), messageId: body.messageId || newId() };
    return follow(request, options, () => openStream(`${options.base ?? ''}chat/stream`, options, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request),
    }));
}

/// Reads an answer from its beginning that was asked for earlier, whether it has ended or not.
export async function readAgain({ sessionId, messageId, responseMode }, options = {}) {
    const request = { sessionId, messageId, responseMode };
    return follow(request, options, () => openEvents(request, '', options));
}

/// Stops the answer. Its stream then ends by itself, with a `stopReason` in its last frame.
export async function cancel({ sessionId, messageId }, { base = '', headers, signal } = {}) {
    const response = await fetch(`${base}agui/cancel`, {
        method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, signal,
        body: JSON.stringify({ threadId: sessionId, runId: messageId }),
    });
    if (!response.ok) throw await refusal(response);
    return (await response.json()).cancelled;
}

async function follow(request, options, openFirst) {
    const { signal, attempts = DEFAULT_ATTEMPTS, wait = pause } = options;
    const list = new MessageList(request);
    let lastId = '';
    for (let failures = 0; ;) {
        try {
            if (lastId === '') list.clear(); // Frames without a number cannot be continued: they all come again.
            const response = lastId === '' ? await openFirst() : await openEvents(request, lastId, options);
            for await (const event of serverSentEvents(response.body, options.onBytes)) {
                const frame = parseFrame(event.data);
                list.take(frame);
                lastId = event.id || lastId;
                failures = 0;
                options.onFrame?.(frame, list, event);
            }
            // HTTP 200 says nothing about the end, only a frame does.
            if (!list.finished) throw new ConnectionLost('The stream ended before the answer did');
            return list;
        } catch (error) {
            signal?.throwIfAborted();
            const lost = error instanceof ConnectionLost;
            if (lost && list.finished) return list;
            if (!lost && !WORTH_ANOTHER_TRY.has(error.status)) throw error;
            if (++failures > attempts) throw error;
            options.onRetry?.(failures, error);
            const longer = Math.max(FIRST_WAIT * 2 ** (failures - 1), 1000 * (error.retryAfter ?? 0));
            await wait(Math.min(longer, LONGEST_WAIT), signal);
        }
    }
}

function openEvents({ sessionId, messageId, responseMode = 'incremental' }, after, options) {
    const query = new URLSearchParams({ form: 'chat-stream', responseMode });
    if (after !== '') query.set('after', after);
    const path = `agui/threads/${encodeURIComponent(sessionId)}/runs/${encodeURIComponent(messageId)}/events`;
    return openStream(`${options.base ?? ''}${path}?${query}`, options, { method: 'GET' });
}

async function openStream(url, { headers, signal, onRequest }, init) {
    onRequest?.({ method: init.method, url, body: init.body });
    let response;
    try {
        response = await fetch(url, {
            ...init, signal, headers: { ...headers, ...init.headers, Accept: 'text/event-stream' },
        });
    } catch (error) {
        throw new ConnectionLost(`The gateway cannot be reached: ${error.message}`, { cause: error });
    }
    if (!response.ok) throw await refusal(response);
    const type = response.headers.get('content-type') ?? '';
    if (!type.startsWith('text/event-stream')) {
        response.body?.cancel().catch(() => {});
        throw new ChatStreamError('not_a_stream', `The answer is ${type || 'without a type'}, not an event stream`);
    }
    return response;
}

async function refusal(response) {
    const { status } = response;
    const retryAfter = Number(response.headers.get('retry-after')) || 0;
    const { error } = await response.json().catch(() => ({})) ?? {};
    // Without a code it is not the gateway's own answer, but that of a proxy in between.
    if (typeof error?.code !== 'string') {
        return new ChatStreamError('http_error', `HTTP status ${status}`, { status, retryAfter });
    }
    return new ChatStreamError(error.code, error.message, { status, path: error.path, retryAfter });
}

function parseFrame(data) {
    let frame;
    try {
        frame = JSON.parse(data);
    } catch (error) {
        throw new ChatStreamError('bad_frame', `A frame is not JSON: ${error.message}`);
    }
    if (!Array.isArray(frame?.messages)) throw new ChatStreamError('bad_frame', 'A frame has no messages');
    return frame;
}

function pause(milliseconds, signal) {
    return new Promise((resolve, reject) => {
        const giveUp = () => {
            clearTimeout(timer);
            reject(signal.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener('abort', giveUp);
            resolve();
        }, milliseconds);
        signal?.addEventListener('abort', giveUp, { once: true });
    });
}

// ---- Server-sent events -------------------------------------------------------------------------------------

/// The events of a response's body: { id, data }; an `id` that was not sent is ''.
export async function* serverSentEvents(stream, onBytes) {
    const reader = stream.getReader();
    const parser = new EventParser();
    try {
        for (;;) {
            const { done, value } = await reader.read().catch((error) => {
                throw new ConnectionLost(`The connection was lost: ${error.message}`, { cause: error });
            });
            if (done) return; // What is left has no end: it was cut off, and comes again.
            onBytes?.(value.byteLength);
            yield* parser.push(value);
        }
    } finally {
        reader.cancel().catch(() => {}); // If its reader leaves before the end.
    }
}

/// Takes bytes that are cut anywhere, also inside a character or between CR and LF.
export class EventParser {
    #decoder = new TextDecoder();
    #afterReturn = false; // The last byte was a CR: an LF after it belongs to the same line end.
    #line = '';
    #data = [];
    #id = '';

    /// The events that these bytes complete.
    push(bytes) {
        let text = this.#decoder.decode(bytes, { stream: true });
        if (text === '') return [];
        if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1);
        this.#afterReturn = text.endsWith('\r');
        const lines = text.split(/\r\n|\r|\n/);
        lines[0] = this.#line + lines[0];
        this.#line = lines.pop();
        const events = [];
        for (const line of lines) {
            if (line !== '') this.#takeLine(line);
            else {
                if (this.#data.length > 0) events.push({ id: this.#id, data: this.#data.join('\n') });
                this.#data = [];
                this.#id = '';
            }
        }
        return events;
    }

    #takeLine(line) {
        const colon = line.indexOf(':');
        if (colon === 0) return; // A comment: the gateway sends one every 15 s of silence.
        const field = colon < 0 ? line : line.slice(0, colon);
        const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
        if (field === 'data') this.#data.push(value);
        else if (field === 'id') this.#id = value;
    }
}
