// A complete AG-UI client without a library. The steps of a hand-off:
//
//   1. POST agui  { threadId: T, runId: A, messages: [the user's message], tools: [change_background] }
//      events: RUN_STARTED, TOOL_CALL_START, TOOL_CALL_ARGS..., TOOL_CALL_END, RUN_FINISHED
//   2. this page checks the arguments and changes its background
//   3. POST agui  { threadId: T, runId: B, messages: [the tool's answer] }
//      events: RUN_STARTED, TEXT_MESSAGE_START, TEXT_MESSAGE_CONTENT..., TEXT_MESSAGE_END, RUN_FINISHED
//
// and those of an approval:
//
//   1. POST agui  as above; events: ..., TOOL_CALL_END, MESSAGES_SNAPSHOT, RUN_FINISHED { outcome: interrupt }
//   2. the user approves, changes or denies the call
//   3. POST agui  { threadId: T, runId: B, messages: [], resume: [{ interruptId, status, payload }] }
//      events: RUN_STARTED, TOOL_CALL_RESULT, TEXT_MESSAGE_START, ...

import { cancelRun, newId, pause, pendingOf, readHistory, readRun, steer, threadInfo } from './client.js';
import { hideProblem, listenTo, retryPressed, setBusy as setControlsBusy, setStatus, showProblem, threadInAddress, ui } from './controls.js';
import { clearEvents, showEvent, showRequest } from './event_panel.js';
import { makeSharedList } from './shared_list.js';
import { Thread } from './thread.js';
import { answerTo, tools } from './tools.js';
import { makeView } from './view.js';

const MAX_HANDOFFS = 8; // A model that never stops calling must not keep the page busy for ever.
const SYNC_MILLISECONDS = 1_000; // Between two looks for what another page has changed.

let thread;
let turn = null; // The run that the page reads, if any: { runId, stopped, leave: AbortController }.
let seen = ''; // The thread as the gateway described it when it was last read.

const view = makeView({ answer, execute: () => submit({ messages: executeCalls() }), resend });
const list = makeSharedList({ thread: () => thread, isBusy: () => turn !== null, changed: show });

function show() {
  view.show(thread);
  list.show();
}

function setBusy(busy) {
  setControlsBusy(busy);
  view.setBusy(busy);
}

// ---- The conversation ---------------------------------------------------------------------------------------

/** One turn: a run, and after it a run for each hand-off. `first` holds `messages`, and `resume` if it answers. */
async function converse(first) {
  for (let request = first, handoffs = 0; ; ++handoffs) {
    await finish({
      threadId: thread.id, runId: newId('run'), protocolVersion: '1.1', ...request,
      tools: Array.from(tools.values(), (tool) => tool.definition), context: [], forwardedProps: {},
    });
    if (turn.stopped || thread.pending.size === 0) return;
    if (handoffs === MAX_HANDOFFS) throw new Error(`the model asked for tools ${MAX_HANDOFFS + 1} times in a row: not executed`);
    setStatus('busy', 'Running a tool in this page');
    // The second request of a hand-off holds nothing but the tool messages: no new words of the user. The same
    // threadId says which conversation goes on. The runId is a new one because the first run has ended: under
    // its own runId this would be taken for a repetition of the first request. All answers go together: the model
    // is asked once, when no call is open. (The tools are offered again in case the model wants another call.)
    request = { messages: executeCalls() };
  }
}

/** Executes the calls that RUN_FINISHED named, as it does for a client with a protocolVersion; returns their answers. */
function executeCalls() {
  const answers = [...thread.pending].map((id) => thread.call(id)).filter(Boolean).map(answerTo);
  answers.forEach((message) => thread.add({ ...message }));
  thread.pending = new Set();
  return answers;
}

async function finish(body) {
  // A thread that does not exist yet cannot be patched: its first request brings the document.
  if (thread.isNew && thread.state !== undefined) body.state = thread.state;
  turn.runId = body.runId;
  let requests = 0;
  await readRun(body, {
    signal: turn.leave.signal,
    take,
    posted() {
      showRequest(`POST agui${requests++ > 0 ? ' (the same again)' : ''}`, requests > 1 ? { threadId: body.threadId, runId: body.runId } : body);
      if (!turn.stopped) setStatus('busy', 'Waiting for the model');
    },
    async lost(attempt, most, error) {
      if (attempt <= most) return setStatus('error', `Connection lost, reconnecting (${attempt} of ${most})`);
      setStatus('error', 'Connection lost');
      return retryPressed(error.message, turn.leave.signal);
    },
  });
}

function take(entry) {
  const { event } = entry;
  showEvent(entry);
  thread.isNew = false;
  thread.apply(event);
  show();
  if (event.type === 'TEXT_MESSAGE_START' && !turn.stopped) setStatus('busy', 'Receiving');
  if (event.type === 'STEP_STARTED' && !turn.stopped) setStatus('busy', event.stepName);
  if (event.type === 'RUN_ERROR') throw new Error(`${event.code ?? 'error'}: ${event.message}`);
}

/** Does what keeps the page busy. Returns whether it ended well. */
async function busyWith(action) {
  hideProblem();
  turn = { runId: '', stopped: false, leave: new AbortController() };
  setBusy(true);
  try {
    await action();
    const asks = thread.interrupts.length > 0;
    setStatus(asks ? 'asks' : 'idle', turn.stopped ? 'Stopped' : asks ? 'Your approval is needed' : 'Done');
    return true;
  } catch (error) {
    if (turn.stopped) setStatus('idle', 'Stopped');
    else {
      setStatus('error', 'Failed');
      showProblem(error.message);
    }
    return turn.stopped;
  } finally {
    turn.leave.abort();
    turn = null;
    setBusy(false);
    show();
    requestAnimationFrame(takeFocus);
  }
}

/** Gives the focus to what comes next, unless the user is busy elsewhere. */
function takeFocus() {
  const { activeElement: at } = document;
  const isElsewhere = at !== document.body && !at.closest('#suggestions') && (at !== ui.prompt || ui.prompt.value !== '');
  if (!turn && !isElsewhere && !view.focusApproval()) ui.prompt.focus();
}

const submit = async (request) => !turn && busyWith(() => converse(request));

function say(text) {
  const message = { id: newId('message'), role: 'user', content: text };
  if (turn) return steerBy(message);
  // The gateway keeps the conversation: only what is new is sent. (The whole history is accepted as well.)
  thread.add({ ...message });
  show();
  return submit({ messages: [message] });
}

async function answer(entry) {
  if (turn || await submit({ messages: [], resume: [entry] })) return;
  // The question is still open, and its card says why the answer was not accepted.
  if (!view.showRefusal(entry.interruptId, ui.problemText.textContent)) return;
  hideProblem();
  setStatus('asks', 'Your approval is needed');
}

// ---- A message for the run that is active -------------------------------------------------------------------

async function steerBy(message) {
  const current = thread;
  const sent = current.addLocal({ ...message, delivery: 'waiting' });
  show();
  const body = { threadId: current.id, runId: turn.runId, message };
  showRequest('POST agui/steer', body);
  try {
    sent.delivery = await steer(body.threadId, body.runId, message) ? 'taken' : 'returned';
  } catch (error) {
    sent.delivery = 'unknown';
    showProblem(error.message);
  }
  sent.after = current.messages.at(-1)?.id;
  show();
}

function resend(item) {
  thread.local = thread.local.filter((each) => each !== item);
  return say(item.content);
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
    await cancelRun(thread.id, current.runId);
    await pause(2_000, current.leave.signal).catch(() => {}); // Ends at once when the stream has ended.
  } catch (error) {
    showProblem(`Stop failed: ${error.message}`);
  }
  current.leave.abort();
}

// ---- What was before, and what other pages do ---------------------------------------------------------------

/** Reads the conversation, then the active run to its end. `isQuiet`: only the active run is shown among the events. */
async function restore(isQuiet) {
  const current = thread;
  const leave = new AbortController();
  const entries = readHistory(current.id, leave.signal);
  const read = {};
  for (let isOver = false; !isOver;) {
    const { done, value: entry } = await entries.next();
    if (done || thread !== current || turn) return leave.abort();
    const { event } = entry;
    if (!isQuiet) showEvent(entry);
    if (event.type === 'MESSAGES_SNAPSHOT') read.messages = event;
    if (event.type === 'STATE_SNAPSHOT') read.state = event.snapshot ?? undefined;
    if (event.type === 'RUN_FINISHED') read.interrupts = event.outcome?.interrupts ?? [];
    if (event.type === 'RUN_ERROR') throw new Error(event.message);
    isOver = read.interrupts !== undefined;
  }
  current.apply(read.messages);
  Object.assign(current, { state: read.state, interrupts: read.interrupts, pending: new Set() });
  show();
  const { done, value: first } = await entries.next();
  if (thread !== current || turn) return leave.abort();
  if (!done) {
    // Calls of this run belong to the page that began it.
    return busyWith(async () => {
      turn.runId = first.event.runId;
      take(first);
      for await (const entry of entries) take(entry);
    });
  }
  if (current.messages.some(({ toolCalls }) => toolCalls?.some(({ id }) => !current.resultOf(id)))) {
    const { toolCalls } = await pendingOf(current.id);
    current.pending = new Set(toolCalls.map(({ toolCallId }) => toolCallId));
    show();
  }
  if (current.interrupts.length > 0) setStatus('asks', 'Your approval is needed');
  else if (ui.status.dataset.state === 'asks') setStatus('idle', 'Done');
}

/** Another page may have written, answered, or changed the document: then the conversation is read again. */
async function sync() {
  const current = thread;
  let info;
  try {
    info = await threadInfo(current.id);
  } catch (error) {
    seen = 'unreachable';
    if (!turn) setStatus('error', error.message);
    return;
  }
  if (turn || thread !== current) return;
  if (seen === 'unreachable') {
    hideProblem();
    setStatus('idle', 'Ready');
  }
  const now = `${info.createdAt} ${info.updatedAt} ${info.activeRunId ?? ''}`;
  if (now === seen) return;
  const isFirst = seen === '';
  seen = now;
  if (info.createdAt === 0) return;
  current.isNew = false;
  if (isFirst) showRequest('POST agui/history', { threadId: current.id });
  await restore(!isFirst);
}

async function syncForEver() {
  for (;;) {
    if (!turn && !document.hidden) {
      await sync().catch((error) => {
        seen = 'unreachable';
        if (!turn) setStatus('error', error.message);
      });
    }
    await pause(SYNC_MILLISECONDS);
  }
}

/** Shows another thread. The address names it, so that a reload or another page shows it again. */
function open(id) {
  thread = new Thread(id);
  seen = '';
  history.replaceState(null, '', `#${encodeURIComponent(id)}`);
  clearEvents();
  hideProblem();
  document.body.style.backgroundColor = '';
  setStatus('idle', 'Ready');
  show();
}

// ---- The page -----------------------------------------------------------------------------------------------

listenTo({ say, stop });
ui.newThread.addEventListener('click', () => {
  open(newId('thread'));
  ui.prompt.focus();
});
window.addEventListener('hashchange', () => {
  const id = threadInAddress();
  if (id && id !== thread.id && !turn) open(id);
});

open(threadInAddress() || newId('thread'));
syncForEver();
