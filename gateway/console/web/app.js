// The console: what threads and runs of this gateway did and do. Its place (thread and run) is in the URL's fragment,
// so that a reload and a link show the same.

import { journalOf, newId, Refused, startRun, threadOf, useToken } from './api.js';
import { counted, duration, element, makeTabs, make, save, setText, timeOf } from './dom.js';
import { completeRun, leaveRun, showRun } from './event_panel.js';
import { makeFixture } from './fixture.js';
import { showRequests } from './requests.js';
import { loadThreads, markThread, onThread } from './threads.js';
import { onAnswer, showNothingWaiting, showWaiting } from './waiting.js';

const ui = {
  status: element('status'), problem: element('problem'), problemText: element('problem-text'), tokenForm: element('token-form'), token: element('token'),
  title: element('detail-title'), note: element('detail-note'), detail: element('detail'), run: element('run'),
  download: element('download'), fixtureNote: element('fixture-note'),
  startForm: element('start-form'), startThread: element('start-thread'), startAgent: element('start-agent'),
  startText: element('start-text'), startTools: element('start-tools'),
};

let thread = null; // The thread that is shown: its summary, and `runs`, the newest first.
let tab = 'events';
let change = 0; // Counts what is shown, so that a late answer does not replace a newer one.

// ---- Problems and access -------------------------------------------------------------------------------------

function tell(error) {
  if (error instanceof Refused && error.status === 401) {
    ui.tokenForm.hidden = false;
    setText(ui.status, 'The gateway asks for a token');
    ui.token.focus();
    return;
  }
  setText(ui.problemText, error.message);
  ui.problem.hidden = false;
}

const guarded = (work) => (...given) => Promise.resolve(work(...given)).catch(tell);

element('problem-close').addEventListener('click', () => { ui.problem.hidden = true; });
ui.tokenForm.addEventListener('submit', (event) => {
  event.preventDefault();
  useToken(ui.token.value);
  ui.token.value = '';
  ui.tokenForm.hidden = true;
  open();
});

// ---- The place: #thread=…&run=… ------------------------------------------------------------------------------

const placeNow = () => new URLSearchParams(location.hash.slice(1));

function goTo(threadId, runId = '') {
  const place = new URLSearchParams({ thread: threadId });
  if (runId) place.set('run', runId);
  if (`#${place}` === location.hash) show();
  else location.hash = place;
}

const show = guarded(async () => {
  const place = placeNow();
  const threadId = place.get('thread') ?? '';
  markThread(threadId);
  if (!threadId) {
    leaveThread();
    return;
  }
  const mine = ++change;
  const [summary, { entries, complete }] = await Promise.all([threadOf(threadId), journalOf(threadId)]);
  if (mine !== change) return;
  if (thread?.threadId !== threadId) ui.startThread.value = threadId; // Otherwise it may hold what a person has typed.
  thread = { ...summary, runs: runsOf(entries, summary.activeRunId), entries };
  setText(ui.title, thread.title || threadId);
  setText(ui.note, `${threadId} · ${thread.agentId} · ${counted(thread.runs.length, 'run')}${complete ? '' : ' (the first ones of a long thread)'}`);
  showRuns(place.get('run') ?? thread.runs[0]?.runId ?? '');
  await Promise.all([showWaiting(thread), showTab()]);
});

function leaveThread() {
  ++change;
  thread = null;
  leaveRun();
  ui.run.replaceChildren();
  setText(ui.title, 'No thread is chosen');
  setText(ui.note, '');
  showNothingWaiting();
  showTab();
}

/** The runs of a thread from its session events, the newest first. A continued run is one. */
function runsOf(entries, activeRunId) {
  const runs = new Map();
  for (const { type, runId, timestamp, data } of entries) {
    const run = runs.get(runId) ?? { runId, number: runs.size + 1, at: timestamp, reason: '' };
    runs.set(runId, run);
    if (type === 'run.started') run.reason = '';
    if (type === 'run.finished' || type === 'run.failed') {
      run.reason = data.reason ?? type;
      run.took = timestamp - run.at;
    }
  }
  for (const run of runs.values()) run.live = run.runId === activeRunId;
  return [...runs.values()].reverse();
}

function showRuns(runId) {
  ui.run.replaceChildren(...thread.runs.map((run) => {
    const state = run.live ? 'live' : `${run.reason}${run.took === undefined ? '' : `, ${duration(run.took)}`}`;
    return make('option', { value: run.runId }, `${run.number}: ${run.runId} · ${timeOf(run.at)} · ${state}`);
  }));
  ui.run.value = runId;
  const run = thread.runs.find((each) => each.runId === runId);
  setText(ui.fixtureNote, '');
  if (!run) leaveRun();
  else guarded(showRun)(thread.threadId, runId, { live: run.live, ended: runHasEnded });
}

// The thread's facts have changed, and something may wait now; the events stay as they are.
const runHasEnded = guarded(async () => {
  const mine = change;
  const { entries } = await journalOf(thread.threadId);
  if (mine !== change) return;
  const chosen = ui.run.value;
  thread.entries = entries;
  thread.runs = runsOf(entries, '');
  for (const option of ui.run.options) {
    const run = thread.runs.find((each) => each.runId === option.value);
    if (run) option.textContent = `${run.number}: ${run.runId} · ${timeOf(run.at)} · ${run.reason}, ${duration(run.took ?? 0)}`;
  }
  ui.run.value = chosen;
  await Promise.all([showWaiting(thread), loadThreads(), showTab()]);
});

// ---- Views ---------------------------------------------------------------------------------------------------

const showTab = guarded(async () => {
  if (tab === 'requests') await showRequests(thread?.threadId ?? '');
  if (tab === 'waiting' && thread) await showWaiting(thread);
});

const chooseTab = makeTabs(element('tabs'), (name) => {
  tab = name;
  showTab();
});

element('refresh').addEventListener('click', show); // Runs that others have started.
element('requests-refresh').addEventListener('click', () => showTab());
ui.run.addEventListener('change', () => goTo(thread.threadId, ui.run.value));
onThread((threadId) => {
  goTo(threadId);
  ui.detail.focus();
}, tell);
onAnswer((run) => {
  chooseTab('events');
  goTo(run.threadId, run.runId);
});

element('new-run').addEventListener('click', () => {
  ui.startThread.value = '';
  chooseTab('start');
  ui.startText.focus();
});

ui.startForm.addEventListener('submit', guarded(async (event) => {
  event.preventDefault();
  const threadId = ui.startThread.value.trim() || newId('thread');
  const run = {
    threadId, runId: newId('console'), messages: [{ id: newId('message'), role: 'user', content: ui.startText.value }],
    tools: ui.startTools.value.trim() ? JSON.parse(ui.startTools.value) : [],
  };
  await startRun(run, ui.startAgent.value.trim() || (thread?.threadId === threadId ? thread.agentId : ''));
  ui.startText.value = '';
  chooseTab('events');
  goTo(threadId, run.runId);
  await loadThreads();
  markThread(threadId);
}));

ui.download.addEventListener('click', guarded(async () => {
  const run = completeRun();
  if (!run) return;
  const { name, bytes, missing } = await makeFixture(thread, run);
  save(name, bytes, 'application/x-tar');
  setText(ui.fixtureNote, `${name}: unpack it and run agui-replay check on the folder. ${missing.length ? `It lacks: ${missing.join('; ')}.` : ''}`);
}));

// ---- Begin ---------------------------------------------------------------------------------------------------

const open = guarded(async () => {
  await loadThreads();
  setText(ui.status, `Connected to ${location.host}`);
  await show();
});

window.addEventListener('hashchange', show);
chooseTab('events');
open();
