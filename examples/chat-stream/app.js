// A chat with one tool of its own over POST /chat/stream. The steps of a hand-off:
//
//   1. send({ sessionId: S, messageId: A, message, tools: [change_background] })
//      frames: content..., tool_call_request, and in the last one `"pending": true` at the call
//   2. this page checks the arguments and changes its background
//   3. send({ sessionId: S, messageId: B, toolResults: [{ toolCallId, content }] })
//      frames: content...
//
// A reload does not end anything: the page remembers what it has asked, and reads the answers again.

import { cancel, ChatStreamError, ConnectionLost, displayStatus, newId, pendingCalls, readAgain, send } from './chat_stream.js';

const BASE = '../'; // Relative: it works below any base_path.
const MEMORY = 'agui-gateway chat-stream'; // The key in sessionStorage, which each tab has for itself.
const MAX_HANDOFFS = 8; // A model that never stops calling must not keep the page busy for ever.
const MAX_ROWS = 500;
const MAX_JSON_SHOWN = 1000;
const MAX_COLOR_LENGTH = 64;

const element = (id) => document.getElementById(id);
const ui = {
    messages: element('messages'), frames: element('frames'), status: element('status'), mode: element('mode'),
    prompt: element('prompt'), send: element('send'), stop: element('stop'), composer: element('composer'),
    problem: element('problem'), problemText: element('problem-text'), retry: element('retry'),
    welcome: element('welcome'), newSession: element('new-session'),
};

let session = newSession(); // { sessionId, responseMode, color, turns: [{ request, begun, ended }] }
let busy = null; // What the page is busy with: { request, stopped, failure, leave: AbortController }.

function newSession(responseMode = 'incremental') {
    return { sessionId: newId(), responseMode, color: '', turns: [] };
}

function remember() {
    try {
        sessionStorage.setItem(MEMORY, JSON.stringify(session));
    } catch {
        // Full or forbidden: the page works all the same, until it is reloaded.
    }
}

function recall() {
    try {
        return JSON.parse(sessionStorage.getItem(MEMORY));
    } catch {
        return null;
    }
}

// ---- The tool -----------------------------------------------------------------------------------------------

// Arguments are what a model wrote: they are checked like any other input from outside. Those that are no JSON
// object arrive as text.
function checkedColor(args) {
    if (args === null || typeof args !== 'object' || Array.isArray(args)) throw new Error('the arguments are not an object');
    const { color } = args;
    if (typeof color !== 'string') throw new Error('color must be a string');
    if (color.length > MAX_COLOR_LENGTH) throw new Error(`color is longer than ${MAX_COLOR_LENGTH} characters`);
    // CSS also accepts values that are not colours themselves: variables, and keywords such as `inherit`.
    const borrowed = /\b(?:var|env|attr)\(|^\s*(?:inherit|initial|unset|revert|revert-layer|currentcolor)\s*$/i;
    if (borrowed.test(color) || !CSS.supports('color', color)) throw new Error(`"${color}" is not a CSS colour`);
    return color.trim();
}

const tools = new Map([['change_background', {
    definition: {
        name: 'change_background',
        description: 'Changes the background colour of the page that the user is looking at.',
        parameters: {
            type: 'object',
            properties: { color: { type: 'string', description: 'A CSS colour: a name, #rrggbb, rgb() or hsl()' } },
            required: ['color'],
        },
    },
    execute(args) {
        const color = checkedColor(args);
        setBackground(color);
        return { status: 'ok', color };
    },
}]]);

function setBackground(color) {
    session.color = color;
    document.body.style.backgroundColor = color;
}

// Executes one pending call and returns its result. Every call gets one, a failure is one too: the model waits for it.
function resultOf(call) {
    try {
        const tool = tools.get(call.toolName);
        if (!tool) throw new Error(`this page has no tool named ${call.toolName}`);
        return { toolCallId: call.toolCallId, content: JSON.stringify(tool.execute(call.arguments)) };
    } catch (error) {
        const content = JSON.stringify({ status: 'error', message: error.message });
        return { toolCallId: call.toolCallId, content, error: error.message };
    }
}

// ---- The conversation ---------------------------------------------------------------------------------------

async function converse(message) {
    const { sessionId, responseMode } = session;
    const turn = begin({ sessionId, messageId: newId(), message, tools: offered(), responseMode });
    await handOver(await finish(turn, send));
}

// (The tools are offered again with each request in case the model wants another call.)
const offered = () => Array.from(tools.values(), (tool) => tool.definition);

// Executes what an answer leaves to this page, and asks for the next one, until nothing is left.
async function handOver(list) {
    for (let handoffs = 0; ; ++handoffs) {
        const calls = pendingCalls(list);
        if (busy.stopped || calls.length === 0) return;
        if (handoffs === MAX_HANDOFFS) throw new Error(`the model asked for tools ${MAX_HANDOFFS + 1} times in a row: not executed`);
        setStatus('busy', `Running ${calls.map((call) => call.toolName).join(', ')} in this page`);
        // All results go together: the model is asked once, when no call is open. The messageId is a new one: under
        // that of the first request, this would be taken for a repetition of it.
        const toolResults = calls.map(resultOf);
        const { sessionId, responseMode } = session;
        const turn = begin({ sessionId, messageId: newId(), toolResults, tools: offered(), responseMode });
        list = await finish(turn, send);
    }
}

function begin(request) {
    const turn = { request, begun: false, ended: false };
    session.turns.push(turn);
    remember();
    return turn;
}

// What the gateway has refused cannot be read again.
function forget(turn) {
    session.turns = session.turns.filter((known) => known !== turn);
    remember();
}

// Shows a turn, and its answer as it arrives; `read` is send() or readAgain().
async function finish(turn, read) {
    const { request } = turn;
    busy.request = request;
    if (request.message) showUser(request.messageId, request.message);
    for (const result of request.toolResults ?? []) showResult(result);
    if (!busy.stopped) setStatus('busy', 'Waiting for the model');
    for (;;) {
        try {
            const list = await read(request, readingOf(turn));
            turn.ended = true;
            remember();
            busy.failure = list.messages.findLast((message) => message.type === 'error')?.value;
            busy.stopped ||= list.stopReason !== undefined; // Perhaps on another page.
            return list;
        } catch (error) {
            if (!(error instanceof ConnectionLost) || busy.stopped) {
                if (read === send && !turn.begun) forget(turn);
                throw error;
            }
            setStatus('error', 'Connection lost');
            await retryPressed(error.message, busy.leave.signal);
        }
    }
}

function readingOf(turn) {
    let row; // Of the last request.
    return {
        base: BASE,
        signal: busy.leave.signal,
        onRequest: (request) => { row = showRequest(request); },
        onBytes: (count) => row.count(count),
        onFrame: (frame, list, { id, data }) => {
            turn.begun = true;
            showFrame(frame, id, data);
            // The last frame changes the display status of all.
            for (const message of list.finished ? list.messages : frame.messages) {
                showMessage(list.messages.find((known) => known.id === message.id), list.msgStatus);
            }
            if (!busy.stopped && !list.finished) setStatus('busy', 'Receiving');
        },
        onRetry: (attempt) => setStatus('error', `Connection lost, attempt ${attempt} to take it up again`),
    };
}

// After a reload. Answers that are known to have ended are read again; the last request may not even have arrived,
// so it is sent again as it was.
async function restore(known) {
    session = known;
    setBackground(session.color);
    let list = null;
    for (const turn of session.turns) {
        const last = turn === session.turns.at(-1);
        list = await finish(turn, last && !turn.ended ? send : readAgain);
        if (busy.stopped) return;
    }
    if (list) await handOver(list);
}

// Stop asks the gateway; the stream then ends by itself. Leaving the connection alone looks like a reload: by default
// the run would only end after 10 s (server.on_disconnect).
async function stop() {
    if (!busy || busy.stopped) return;
    const current = busy;
    current.stopped = true;
    ui.stop.disabled = true;
    setStatus('busy', 'Stopping');
    try {
        if (current.request) await cancel(current.request, { base: BASE, signal: AbortSignal.timeout(10_000) });
        await leftOr(2_000, current.leave.signal); // The stream ends at once, if its connection is alive.
    } catch (error) {
        showProblem(`Stop failed: ${error.message}`);
    }
    current.leave.abort();
}

function leftOr(milliseconds, signal) {
    return new Promise((resolve) => {
        setTimeout(resolve, milliseconds);
        signal.addEventListener('abort', resolve, { once: true });
    });
}

// Runs one job at a time, with the buttons and the status line as they belong to it.
async function occupy(job) {
    ui.welcome.remove();
    hideProblem();
    busy = { request: null, stopped: false, failure: null, leave: new AbortController() };
    setBusy(true);
    try {
        await job();
        if (busy.stopped) setStatus('idle', 'Stopped');
        else if (busy.failure) setStatus('error', 'Failed');
        else setStatus('idle', 'Done');
    } catch (error) {
        if (busy.stopped) setStatus('idle', 'Stopped');
        else {
            setStatus('error', 'Failed');
            showProblem(describe(error));
        }
    } finally {
        busy.leave.abort();
        busy = null;
        setBusy(false);
    }
}

function describe(error) {
    if (!(error instanceof ChatStreamError)) return error.message;
    return `${error.code}: ${error.message}${error.path ? ` (${error.path})` : ''}`;
}

function retryPressed(message, signal) {
    showProblem(message);
    ui.retry.hidden = false;
    return new Promise((resolve, reject) => {
        ui.retry.onclick = () => { hideProblem(); resolve(); };
        signal.addEventListener('abort', () => { hideProblem(); reject(signal.reason); }, { once: true });
    });
}

// ---- The page: text is only ever set as text, never as markup -----------------------------------------------

const boxes = new Map(); // The boxes of messages by their ids.
const calls = new Map(); // The lines below calls by the calls' ids.

function boxOf(id, type) {
    let box = boxes.get(id);
    if (!box) {
        const node = append(ui.messages, 'div', `message ${type}`);
        node.dataset.type = type;
        const label = append(node, 'div', 'label');
        append(label, 'span', 'type').textContent = type;
        box = { node, badge: append(label, 'span', 'badge'), value: append(node, 'div', 'value') };
        boxes.set(id, box);
    }
    return box;
}

function showUser(id, text) {
    if (boxes.has(id)) return;
    const node = append(ui.messages, 'div', 'message user');
    append(node, 'div', 'value').textContent = text;
    boxes.set(id, { node });
    follow(ui.messages);
}

function showMessage(message, msgStatus) {
    const box = boxOf(message.id, message.type);
    box.node.dataset.status = displayStatus(message, msgStatus);
    box.badge.textContent = box.node.dataset.status;
    box.value.textContent = textOf(message);
    if (message.type === 'tool_call_request' && !calls.has(message.value.toolCallId)) {
        calls.set(message.value.toolCallId, append(box.node, 'p', 'note'));
    }
    follow(ui.messages);
}

function textOf({ type, value }) {
    if (typeof value === 'string') return value;
    const text = (part) => (part === undefined ? '' : typeof part === 'string' ? part : JSON.stringify(part));
    switch (type) {
        case 'tool_call_request': return `${value.toolName} ${text(value.arguments)}`;
        case 'tool_execution_start': return value.toolName;
        case 'tool_execution_complete': return `${value.toolName ?? ''} ${text(value.error ?? value.result)}`;
        case 'error': return `${value.code}: ${value.message}`;
        default: return text(value);
    }
}

// What this page has answered to a call.
function showResult({ toolCallId, content, error }) {
    const line = calls.get(toolCallId);
    if (!line) return;
    line.dataset.state = error ? 'failed' : 'done';
    const { color } = JSON.parse(content);
    line.textContent = error ? `Refused: ${error}` : `Done in this page: the background is ${color}`;
    if (error) return;
    const swatch = document.createElement('span');
    swatch.className = 'swatch';
    swatch.style.backgroundColor = color;
    line.prepend(swatch);
}

function showRequest({ method, url, body }) {
    const [path, query] = url.replace(BASE, '/').split('?');
    const row = showRow('request', '\u2192', `${method} ${path}`, '');
    showRow('body', '', '', body ?? `?${query}`);
    const shown = row.querySelector('.bytes');
    let bytes = 0;
    const count = (more) => {
        bytes += more;
        shown.textContent = `${bytes.toLocaleString('en')} bytes`;
    };
    count(0);
    return { count };
}

function showFrame({ sessionId, messageId, msgStatus }, id, data) {
    // The request shows the ids in full.
    const short = (text, known) => text.replaceAll(known, `${known.slice(0, 4)}\u2026`);
    showRow(`frame ${msgStatus}`, id, msgStatus, short(short(data, sessionId), messageId));
}

function showRow(className, id, title, json) {
    const row = append(ui.frames, 'li', className);
    append(row, 'span', 'id').textContent = id;
    append(row, 'span', 'title').textContent = title;
    append(row, 'span', 'bytes');
    append(row, 'span', 'json').textContent = json.length > MAX_JSON_SHOWN ? `${json.slice(0, MAX_JSON_SHOWN)}\u2026` : json;
    if (ui.frames.childElementCount > MAX_ROWS) ui.frames.firstElementChild.remove();
    follow(ui.frames);
    return row;
}

function append(parent, tag, className) {
    const node = document.createElement(tag);
    node.className = className;
    parent.append(node);
    return node;
}

// Keeps a box at its end while it grows, unless its reader has scrolled up. Once a repaint: reading the layout for
// each frame would cost more than the frame.
const scrolledUp = new Set();
const followed = new Set();
function follow(box) {
    if (scrolledUp.has(box)) return;
    if (followed.size === 0) {
        requestAnimationFrame(() => {
            for (const each of followed) each.scrollTop = each.scrollHeight;
            followed.clear();
        });
    }
    followed.add(box);
}
for (const box of [ui.messages, ui.frames]) {
    box.addEventListener('scroll', () => {
        if (box.scrollHeight - box.scrollTop - box.clientHeight < 80) scrolledUp.delete(box);
        else if (!followed.has(box)) scrolledUp.add(box);
    });
}

function setStatus(state, text) {
    ui.status.dataset.state = state;
    ui.status.textContent = text;
}

function setBusy(on) {
    ui.send.hidden = on;
    ui.stop.hidden = !on;
    ui.stop.disabled = false;
    ui.newSession.disabled = on;
    // A screen reader announces an answer once it is complete, not word by word.
    ui.messages.setAttribute('aria-busy', String(on));
    if (!on) ui.prompt.focus();
}

function showProblem(text) {
    ui.problemText.textContent = text;
    ui.retry.hidden = true;
    ui.problem.hidden = false;
}

function hideProblem() {
    ui.problem.hidden = true;
}

function showMode() {
    ui.mode.querySelector(`input[value="${session.responseMode}"]`).checked = true;
}

function startAnew() {
    session = newSession(session.responseMode);
    remember();
    boxes.clear();
    calls.clear();
    ui.messages.replaceChildren(ui.welcome);
    ui.frames.replaceChildren();
    setBackground('');
    hideProblem();
    setStatus('idle', 'Ready');
    ui.prompt.focus();
}

function submit(text) {
    if (!busy && text !== '') occupy(() => converse(text));
}

ui.composer.addEventListener('submit', (event) => {
    event.preventDefault();
    if (busy) return;
    const text = ui.prompt.value.trim();
    ui.prompt.value = '';
    submit(text);
});
ui.prompt.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    ui.composer.requestSubmit();
});
document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') stop();
});
ui.stop.addEventListener('click', stop);
ui.welcome.addEventListener('click', (event) => {
    if (event.target.dataset.prompt) submit(event.target.dataset.prompt);
});
ui.mode.addEventListener('change', (event) => {
    session.responseMode = event.target.value;
    remember();
});
element('clear-frames').addEventListener('click', () => ui.frames.replaceChildren());
ui.newSession.addEventListener('click', startAnew);

const known = recall();
if (known) {
    session.responseMode = known.responseMode;
    showMode();
}
if (known?.turns.length > 0) {
    occupy(async () => {
        try {
            await restore(known);
        } catch (error) {
            // Conversations in memory do not outlive the gateway.
            if (!(error instanceof ChatStreamError) || busy.stopped) throw error;
            startAnew();
            throw new Error(`The conversation cannot be read again: ${describe(error)}`);
        }
    });
}
