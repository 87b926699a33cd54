'use strict';

// A complete AG-UI client with one tool, without a library. The steps of a hand-off:
//
//   1. POST agui  { threadId: T, runId: A, messages: [the user's message], tools: [change_background] }
//      events: RUN_STARTED, TOOL_CALL_START, TOOL_CALL_ARGS..., TOOL_CALL_END, RUN_FINISHED
//   2. this page checks the arguments and changes its background
//   3. POST agui  { threadId: T, runId: B, messages: [the tool's answer] }
//      events: RUN_STARTED, TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT..., TEXT_MESSAGE_END, RUN_FINISHED

const ENDPOINT = 'agui'; // Relative: it works below any base_path.
const MAX_HANDOFFS = 8; // A model that never stops calling must not keep the page busy for ever.
const MAX_RECONNECTS = 3;
const MAX_EVENT_ROWS = 500;
const MAX_JSON_SHOWN = 1000;
const MAX_COLOR_LENGTH = 64;

const element = (id) => document.getElementById(id);
const ui = {
  messages: element('messages'), events: element('events'), status: element('status'),
  prompt: element('prompt'), send: element('send'), stop: element('stop'), composer: element('composer'),
  problem: element('problem'), problemText: element('problem-text'), retry: element('retry'),
  welcome: element('welcome'), newThread: element('new-thread'),
};

let threadId = newId('thread');
let turn = null; // What the page is busy with: { run, stopped, leave: AbortController }.

function newId(kind) {
  // Not crypto.randomUUID(): it is missing where the page was not loaded over HTTPS or from this machine.
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `${kind}-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

// ---- The tool -----------------------------------------------------------------------------------------------

// Arguments are text that a model wrote: they are checked like any other input from outside.
function checkedColor(argumentText) {
  let args;
  try {
    args = JSON.parse(argumentText === '' ? '{}' : argumentText);
  } catch {
    throw new Error('the arguments are not JSON');
  }
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
  execute(argumentText) {
    const color = checkedColor(argumentText);
    document.body.style.backgroundColor = color;
    return { status: 'ok', color };
  },
}]]);

// Executes one pending call and returns the message that answers it. Every call gets an answer, a failure is
// one too: the conversation cannot go on while a call is open.
function answerTo(call) {
  const answer = { id: newId('answer'), role: 'tool', toolCallId: call.id, name: call.name };
  try {
    const tool = tools.get(call.name);
    if (!tool) throw new Error(`this page has no tool named ${call.name}`);
    const result = tool.execute(call.argumentText);
    showCallState(call, 'done', result.color ? `Done in this page: the background is ${result.color}` : 'Done in this page', result.color);
    return { ...answer, content: JSON.stringify(result) };
  } catch (error) {
    showCallState(call, 'failed', `Refused: ${error.message}`);
    return { ...answer, content: JSON.stringify({ status: 'error', message: error.message }), error: error.message };
  }
}

// ---- The conversation ---------------------------------------------------------------------------------------

class ConnectionLost extends Error {}

async function converse(text) {
  showText('user', newId('shown'), text);
  // The gateway keeps the conversation: only what is new is sent. (The whole history is accepted as well.)
  let messages = [{ id: newId('message'), role: 'user', content: text }];
  for (let handoffs = 0; ; ++handoffs) {
    const run = newRun(messages);
    await finish(run);
    if (turn.stopped || run.pending.length === 0) return;
    if (handoffs === MAX_HANDOFFS) throw new Error(`the model asked for tools ${MAX_HANDOFFS + 1} times in a row: not executed`);
    setStatus('busy', `Running ${run.pending.map((call) => call.name).join(', ')} in this page`);
    // The second request of a hand-off holds nothing but the tool messages: no new words of the user. The same
    // threadId says which conversation goes on. The runId is a new one because the first run has ended: under
    // its own runId this would be taken for a repetition of the first request. All answers go together: the model
    // is asked once, when no call is open. (The tools are offered again in case the model wants another call.)
    messages = run.pending.map(answerTo);
  }
}

function newRun(messages) {
  return {
    body: {
      threadId, runId: newId('run'), protocolVersion: '1.1', messages,
      tools: Array.from(tools.values(), (tool) => tool.definition), context: [], state: {}, forwardedProps: {},
    },
    requests: 0,
    sequence: 0, // Of the last event seen.
    calls: new Map(), answered: new Set(), pending: [], ended: false, stopReason: '',
  };
}

// Reads a run to its end. The run lives in the gateway, not in the connection: after a loss the same POST (same
// runId, same body) attaches to it again and nothing is executed twice. Events seen before are skipped.
async function finish(run) {
  turn.run = run;
  for (let attempt = 1; ; ++attempt) {
    try {
      return await readEvents(run);
    } catch (error) {
      if (turn.stopped) return;
      if (!(error instanceof ConnectionLost)) throw error;
      if (attempt <= MAX_RECONNECTS) {
        setStatus('error', `Connection lost, reconnecting (${attempt} of ${MAX_RECONNECTS})`);
        await pause(500 * 2 ** attempt, turn.leave.signal);
      } else {
        setStatus('error', 'Connection lost');
        await retryPressed(error.message, turn.leave.signal);
        attempt = 0;
      }
    }
  }
}

async function readEvents(run) {
  showRequest(run);
  if (!turn.stopped) setStatus('busy', 'Waiting for the model');
  let response;
  try {
    response = await fetch(ENDPOINT, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify(run.body), signal: turn.leave.signal,
    });
  } catch (error) {
    throw new ConnectionLost(`The gateway cannot be reached: ${error.message}`);
  }
  // A refused request is an ordinary HTTP error with JSON; the stream only begins when the run has.
  if (!response.ok) throw new Error(await describeRefusal(response));
  for await (const { sequence, data } of serverSentEvents(response.body)) {
    if (sequence && sequence <= run.sequence) continue;
    run.sequence = sequence || run.sequence;
    takeEvent(run, JSON.parse(data), sequence, data);
  }
  // HTTP 200 says nothing about success, only a terminal event does.
  // The body is read to its end, so that the browser counts the request as complete.
  if (!run.ended) throw new ConnectionLost('The stream ended before the run did');
}

// Server-sent events by hand: lines end with LF, a blank line ends an event, a line that begins with ':' is a
// comment (the gateway sends one every 15 s of silence). `id:` is the event's number in the run's log.
async function* serverSentEvents(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let data = [];
  let sequence = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw new ConnectionLost(`The connection was lost: ${error.message}`);
      });
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { sequence, data: data.join('\n') };
          data = [];
          sequence = 0;
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        } else if (line.startsWith('id:')) {
          sequence = Number(line.slice(3)) || 0;
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // The body was not read to its end, so the connection cannot be reused.
  }
}

function takeEvent(run, event, sequence, data) {
  showEvent(event.type, sequence, data);
  switch (event.type) {
    case 'TEXT_MESSAGE_START':
      if (!turn.stopped) setStatus('busy', 'Receiving');
      showText(event.role || 'assistant', event.messageId, '');
      break;
    case 'TEXT_MESSAGE_CONTENT':
      showText('assistant', event.messageId, event.delta);
      break;
    case 'REASONING_MESSAGE_CONTENT':
      showText('reasoning', `reasoning ${event.messageId}`, event.delta);
      break;
    case 'TOOL_CALL_START':
      if (run.calls.has(event.toolCallId)) break; // Reopened: the call continues (AG-UI rule S9).
      run.calls.set(event.toolCallId, { id: event.toolCallId, name: event.toolCallName, argumentText: '', node: showCall(event.toolCallName) });
      break;
    case 'TOOL_CALL_ARGS': {
      const call = run.calls.get(event.toolCallId);
      if (!call) break;
      call.argumentText += event.delta;
      call.node.querySelector('code').textContent = `${call.name} ${call.argumentText}`;
      break;
    }
    case 'TOOL_CALL_RESULT': {
      // Only the gateway's own tools have results on the stream; those of this page are answered by this page.
      const call = run.calls.get(event.toolCallId);
      run.answered.add(event.toolCallId);
      if (call) showCallState(call, 'done', 'Executed by the server');
      break;
    }
    case 'CUSTOM':
      if (event.name === 'agui-gateway.run.stopped') run.stopReason = event.value?.reason ?? '';
      break;
    case 'RUN_FINISHED':
      endRun(run, event.outcome);
      break;
    case 'RUN_ERROR':
      run.ended = true;
      for (const call of openCalls(run)) showCallState(call, 'failed', 'Not executed: the run failed');
      throw new Error(`${event.code ?? 'error'}: ${event.message}`);
    default: // Everything else is shown in the event stream and changes nothing here.
  }
  follow(ui.messages);
}

const openCalls = (run) => [...run.calls.values()].filter((call) => !run.answered.has(call.id));

function endRun(run, outcome) {
  run.ended = true;
  if (outcome === undefined || outcome.type === 'success') {
    // A peer that declares a protocolVersion is told which calls are its own. Without that: those without a result.
    run.pending = outcome?.pendingToolCallIds?.map((id) => run.calls.get(id)).filter(Boolean) ?? openCalls(run);
    return;
  }
  // Calls of a run that was stopped are dead: executing them would change the page for nobody.
  for (const call of openCalls(run)) showCallState(call, 'failed', 'Not executed: the run was stopped');
  const reasons = { user_stop: 'Stopped', superseded: 'Stopped: another message took over' };
  showText('note', newId('shown'), outcome.type === 'cancelled'
    ? reasons[run.stopReason] ?? `Stopped by the gateway: ${run.stopReason || 'no reason given'}`
    : 'The agent waits for an approval, which this page does not offer');
}

async function describeRefusal(response) {
  let detail = '';
  try {
    const { error } = await response.json();
    detail = ` ${error.code}: ${error.message}${error.path ? ` (${error.path})` : ''}`;
  } catch {
    detail = ` ${response.statusText}`; // Not the gateway's own answer: a proxy in between.
  }
  return `The gateway answered ${response.status}${detail}`;
}

// Stop asks the gateway; the stream then ends by itself with its terminal event. Dropping the connection alone
// looks like a reload: by default the run would only end after 10 s (server.on_disconnect).
async function stop() {
  if (!turn || turn.stopped) return;
  const current = turn;
  current.stopped = true;
  ui.stop.disabled = true;
  setStatus('busy', 'Stopping');
  try {
    const response = await fetch(`${ENDPOINT}/cancel`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ threadId: current.run.body.threadId, runId: current.run.body.runId }),
      signal: AbortSignal.timeout(10_000),
    });
    if (!response.ok) throw new Error(await describeRefusal(response));
    await pause(2_000, current.leave.signal).catch(() => {}); // Ends at once when the stream has ended.
  } catch (error) {
    showProblem(`Stop failed: ${error.message}`);
  }
  current.leave.abort();
}

async function submit(text) {
  if (turn || text === '') return;
  ui.welcome.remove();
  hideProblem();
  turn = { run: null, stopped: false, leave: new AbortController() };
  setBusy(true);
  try {
    await converse(text);
    setStatus('idle', turn.stopped ? 'Stopped' : 'Done');
  } catch (error) {
    if (turn.stopped) setStatus('idle', 'Stopped');
    else {
      setStatus('error', 'Failed');
      showProblem(error.message);
    }
  } finally {
    turn.leave.abort();
    turn = null;
    setBusy(false);
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener('abort', () => { clearTimeout(timer); reject(new Error('given up')); }, { once: true });
  });
}

function retryPressed(message, signal) {
  showProblem(message);
  ui.retry.hidden = false;
  return new Promise((resolve, reject) => {
    ui.retry.onclick = () => { hideProblem(); resolve(); };
    signal.addEventListener('abort', () => { hideProblem(); reject(new Error('given up')); }, { once: true });
  });
}

// ---- The page: text is only ever set as text, never as markup -----------------------------------------------

const shownTexts = new Map(); // Text nodes by message id: a message may be closed and opened again.

function showText(kind, id, text) {
  let node = shownTexts.get(id);
  if (!node) {
    node = document.createTextNode('');
    shownTexts.set(id, node);
    append(ui.messages, 'div', `message ${kind}`).append(node);
  }
  node.appendData(text);
  node.parentElement.hidden = node.length === 0;
  follow(ui.messages);
}

function showCall(name) {
  const node = append(ui.messages, 'div', 'call');
  append(node, 'code', '').textContent = name;
  append(node, 'p', '').textContent = 'The model is writing the arguments';
  return node;
}

function showCallState(call, state, text, color) {
  call.node.dataset.state = state;
  const line = call.node.querySelector('p');
  line.textContent = text;
  if (color) {
    const swatch = document.createElement('span');
    swatch.className = 'swatch';
    swatch.style.backgroundColor = color;
    line.prepend(swatch);
  }
  follow(ui.messages);
}

function showEvent(type, sequence, data) {
  const kinds = { RUN_FINISHED: 'event terminal', RUN_ERROR: 'event error' };
  showRow(kinds[type] ?? 'event', sequence || '', String(type), data);
}

function showRequest(run) {
  const again = run.requests++ > 0;
  showRow('request', '\u2192', `POST ${ENDPOINT}${again ? ' (the same again)' : ''}`,
    JSON.stringify(again ? { threadId: run.body.threadId, runId: run.body.runId } : run.body));
}

function showRow(className, sequence, type, json) {
  const row = append(ui.events, 'li', className);
  row.dataset.type = type;
  append(row, 'span', 'sequence').textContent = sequence;
  append(row, 'span', 'type').textContent = type;
  append(row, 'span', 'json').textContent = json.length > MAX_JSON_SHOWN ? `${json.slice(0, MAX_JSON_SHOWN)}\u2026` : json;
  if (ui.events.childElementCount > MAX_EVENT_ROWS) ui.events.firstElementChild.remove();
  follow(ui.events);
}

function append(parent, tag, className) {
  const node = document.createElement(tag);
  node.className = className;
  parent.append(node);
  return node;
}

// Keeps a box at its end while it grows, unless its reader has scrolled up. Once a frame: reading the layout for
// each delta would cost more than the delta.
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
for (const box of [ui.messages, ui.events]) {
  box.addEventListener('scroll', () => {
    if (box.scrollHeight - box.scrollTop - box.clientHeight < 80) scrolledUp.delete(box);
    else if (!followed.has(box)) scrolledUp.add(box);
  });
}

function setStatus(state, text) {
  ui.status.dataset.state = state;
  ui.status.textContent = text;
}

function setBusy(busy) {
  ui.send.hidden = busy;
  ui.stop.hidden = !busy;
  ui.stop.disabled = false;
  ui.newThread.disabled = busy;
  // A screen reader announces an answer once it is complete, not word by word.
  ui.messages.setAttribute('aria-busy', String(busy));
  if (!busy) ui.prompt.focus();
}

function showProblem(text) {
  ui.problemText.textContent = text;
  ui.retry.hidden = true;
  ui.problem.hidden = false;
  follow(ui.messages);
}

function hideProblem() {
  ui.problem.hidden = true;
}

ui.composer.addEventListener('submit', (event) => {
  event.preventDefault();
  if (turn) return;
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
element('clear-events').addEventListener('click', () => ui.events.replaceChildren());
ui.newThread.addEventListener('click', () => {
  threadId = newId('thread');
  shownTexts.clear();
  ui.messages.replaceChildren(ui.welcome);
  ui.events.replaceChildren();
  document.body.style.backgroundColor = '';
  hideProblem();
  setStatus('idle', 'Ready');
  ui.prompt.focus();
});
