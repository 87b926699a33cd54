// The list of threads, with search.

import { listThreads, Refused, threadOf } from './api.js';
import { counted, element, make, setText, timeOf } from './dom.js';

const MOST_SEARCHED = 2000; // Threads that a search reads: ten requests.

const ui = {
  list: element('threads'), note: element('threads-note'), more: element('more'), archived: element('archived'),
  search: element('search'), form: element('search-form'), refresh: element('refresh'),
};

let list = { loaded: [], cursor: '' }; // Summaries, the last changed first, and where the next page begins.
let chosenId = '';
let choose = () => {};
let fail = () => {};

const wanted = () => ui.search.value.trim().toLowerCase();
const fits = (thread, text) => [thread.title, thread.threadId, thread.agentId].some((value) => value?.toLowerCase().includes(text));

export function onThread(chosen, failed) {
  choose = chosen;
  fail = failed;
}

/** Reads the list again, or as many pages of it as a search needs. */
export async function loadThreads() {
  const mine = { loaded: [], cursor: '' };
  list = mine; // A later call replaces it, and this one's answers are then not shown.
  await readPage(mine);
  const text = wanted();
  while (list === mine && text && mine.cursor && mine.loaded.length < MOST_SEARCHED) await readPage(mine);
  if (text && !mine.loaded.some((thread) => fits(thread, text))) await tryId(mine, ui.search.value.trim());
  if (list === mine) draw();
}

async function readPage(into) {
  const answer = await listThreads({ cursor: into.cursor, archived: ui.archived.checked });
  into.loaded.push(...answer.threads);
  into.cursor = answer.nextCursor ?? '';
}

/** A thread that no page has, such as an archived one, is found by its whole id. */
async function tryId(into, id) {
  try {
    const thread = await threadOf(id);
    if (thread.createdAt) into.loaded.push(thread);
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
  }
}

export function markThread(threadId) {
  chosenId = threadId;
  for (const node of ui.list.querySelectorAll('button')) node.setAttribute('aria-current', String(node.dataset.id === threadId));
}

function draw() {
  const text = wanted();
  const { loaded, cursor } = list;
  const rows = text ? loaded.filter((thread) => fits(thread, text)) : loaded;
  ui.list.replaceChildren(...rows.map(makeItem));
  markThread(chosenId);
  ui.more.hidden = !cursor || (text !== '' && loaded.length >= MOST_SEARCHED);
  const searched = text ? `${rows.length} of ${counted(loaded.length, 'thread')} fit` : counted(rows.length, 'thread');
  setText(ui.note, cursor ? `${searched}; there are more` : searched);
}

function makeItem(thread) {
  const facts = make('small', {}, `${thread.agentId} · ${timeOf(thread.updatedAt)}`);
  if (thread.activeRunId) facts.append(' · ', make('span', { class: 'live' }, 'live'));
  return make('li', {}, make('button', { type: 'button', 'data-id': thread.threadId, onclick: () => choose(thread.threadId) },
    thread.title || thread.threadId, facts));
}

const again = () => loadThreads().catch(fail);
ui.form.addEventListener('submit', (event) => {
  event.preventDefault();
  again();
});
ui.search.addEventListener('input', () => {
  if (!ui.search.value) again(); // Perhaps cleared by the field's own button.
});
ui.archived.addEventListener('change', again);
ui.refresh.addEventListener('click', again);
ui.more.addEventListener('click', () => readPage(list).then(draw).catch(fail));
