// The view "Events": one run, live or old, as a timeline.

import { cancelRun, readRun } from './api.js';
import { duration, element, make, pretty, setText } from './dom.js';
import { isShown, shortWords, Timeline } from './timeline.js';

const MOST_ROWS = 2000; // More would make the page slow; the filters apply to these.
const terminal = new Set(['RUN_FINISHED', 'RUN_ERROR']);

const ui = {
  list: element('events'), note: element('events-note'), status: element('run-status'), usage: element('run-usage'),
  filters: element('filters'), filter: element('filter'), stop: element('stop'), download: element('download'),
};

let shown = null; // { threadId, runId, timeline, nodes: Map of rows, leave: AbortController, live, ended }
let due = false;

/** The run that is shown, once all its events are there; otherwise null. */
export const completeRun = () => (shown?.ended ? shown : null);

export function leaveRun() {
  shown?.leave.abort();
  shown = null;
  ui.list.replaceChildren();
  for (const node of [ui.note, ui.status, ui.usage]) setText(node, '');
  ui.stop.hidden = true;
  ui.download.disabled = true;
}

/** Shows a run and follows it to its end; `ended()` is told of the end of a run that was live. */
export async function showRun(threadId, runId, { live, ended }) {
  leaveRun();
  const mine = { threadId, runId, timeline: new Timeline(), nodes: new Map(), leave: new AbortController(), live, ended: false };
  shown = mine;
  setState(live ? 'live' : 'ended');
  try {
    await readRun(threadId, runId, (number, event) => {
      if (shown !== mine) return;
      mine.timeline.add(number, event);
      if (!terminal.has(event.type)) setState(live ? 'live' : 'ended');
      else if (live) setState('ended');
      plan();
    }, mine.leave.signal);
    if (shown !== mine) return;
    mine.ended = true;
    setState('ended');
    plan();
    if (live) ended();
  } catch (error) {
    if (shown !== mine || mine.leave.signal.aborted) return;
    setState('');
    if (error.code !== 'cursor_expired') throw error;
    setText(ui.note, 'The events of this run are no longer kept.');
  }
}

function setState(state) {
  ui.status.dataset.state = state;
  setText(ui.status, { live: 'live', ended: 'ended' }[state] ?? '');
  ui.stop.hidden = state !== 'live';
  ui.download.disabled = !shown?.ended;
}

// Once a frame: a live run may bring hundreds of events a second.
function plan() {
  if (due) return;
  due = true;
  requestAnimationFrame(() => {
    due = false;
    if (shown) draw();
  });
}

function draw() {
  const { timeline, nodes } = shown;
  const groups = new Set([...ui.filters.querySelectorAll('input:checked')].map(({ value }) => value));
  const wanted = timeline.rows.filter((row) => isShown(row, groups, ui.filter.value.trim()));
  const rows = wanted.slice(-MOST_ROWS);
  const atEnd = ui.list.scrollHeight - ui.list.scrollTop - ui.list.clientHeight < 40;
  ui.list.style.setProperty('--total', String(Math.max(1, timeline.total)));
  let next = ui.list.firstChild;
  for (const row of rows) {
    let node = nodes.get(row);
    if (!node) nodes.set(row, node = makeRow(row));
    update(node, row);
    if (node === next) next = next.nextSibling;
    else ui.list.insertBefore(node, next);
  }
  while (next) {
    const rest = next.nextSibling;
    next.remove();
    next = rest;
  }
  if (atEnd && shown.live) ui.list.scrollTop = ui.list.scrollHeight;
  const left = wanted.length > rows.length ? `, of which the last ${rows.length} are listed` : '';
  setText(ui.note, `${wanted.length} of ${timeline.rows.length} rows (${timeline.events.length} events) fit the filters${left}.`);
  setText(ui.usage, usageText(timeline));
}

function makeRow(row) {
  const json = make('pre');
  const details = make('details', {},
    make('summary', {},
      make('span', { class: 'number' }), make('span', { class: 'time' }), make('span', { class: 'what' },
        make('span', { class: 'type' }), ' ', make('span', { class: 'words' })), make('span', { class: 'took' })),
    json);
  details.addEventListener('toggle', () => setText(json, details.open ? row.events.map(pretty).join('\n') : ''));
  const node = make('li', { 'data-type': row.type, 'data-group': row.group }, details);
  if (row.took !== undefined) {
    const span = make('span', { class: 'span', 'aria-hidden': 'true' });
    span.style.setProperty('--from', String(row.from));
    span.style.setProperty('--took', String(row.took));
    node.querySelector('summary').append(span);
  }
  return node;
}

function update(node, row) {
  setText(node.querySelector('.number'), row.last > row.number ? `${row.number}–${row.last}` : String(row.number));
  setText(node.querySelector('.time'), row.timed ? `+${duration(row.at)}` : '');
  setText(node.querySelector('.type'), row.count > 1 ? `${row.type} ×${row.count}` : row.type);
  setText(node.querySelector('.words'), shortWords(row));
  setText(node.querySelector('.took'), row.took === undefined ? '' : `took ${duration(row.took)}`);
}

function usageText({ usage }) {
  if (usage.length === 0) return '';
  return `Tokens: ${usage.map((each) => [
    each.model ?? each.provider ?? 'model',
    `${each.inputTokens ?? '?'} in`,
    each.cachedInputTokens === undefined ? '' : `(${each.cachedInputTokens} of them from the cache)`,
    `${each.outputTokens ?? '?'} out`,
  ].filter(Boolean).join(' ')).join('; ')}`;
}

ui.filters.addEventListener('input', plan);
ui.stop.addEventListener('click', () => {
  if (shown) cancelRun(shown.threadId, shown.runId).catch(() => {}); // The stream tells how the run ended.
});
