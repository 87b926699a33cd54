// The view "Model requests": what was sent, request by request, with the prefix that repeats.

import { modelRequest, modelRequests } from './api.js';
import { counted, duration, element, make, pretty, setText, timeOf } from './dom.js';

const COMPARED = 4; // How many earlier requests are looked at: subagents of a thread ask in between.
const FAILURES = new Set(['unavailable', 'lost', 'rejected', 'timeout', 'no_memory', 'cancelled']);

const ui = { list: element('requests'), note: element('requests-note'), usage: element('usage') };
const bodies = new Map(); // By number: the parts of a body, or null if it was not kept.

// ---- Parts of a body -----------------------------------------------------------------------------------------

const without = (value) => JSON.stringify(value, (key, member) => (key === 'cache_control' ? undefined : member));
const listed = (name, value) => (Array.isArray(value) ? value.map((each, index) => [`${name}[${index}]`, each]) : value === undefined ? [] : [[name, value]]);

/** The parts of a request in the order in which models read them, whatever the dialect; the rest are settings. */
export function partsOf(text) {
  const { instructions, system, tools, messages, input, ...settings } = JSON.parse(text);
  const parts = [...listed('instructions', instructions), ...listed('system', system), ...listed('tools', tools),
    ...listed('messages', messages), ...listed('input', input)];
  return { parts: parts.map(([name, value]) => ({ name, value, key: without(value) })), settings };
}

/** How many parts of `now` repeat those of `before`. Marks for a provider's cache move, so they do not count. */
export function repeated(before, now) {
  let count = 0;
  while (count < now.parts.length && before.parts[count]?.name === now.parts[count].name &&
      before.parts[count].key === now.parts[count].key) ++count;
  return count;
}

async function partsOfRequest(request) {
  if (!request.kept) return null;
  if (!bodies.has(request.number)) {
    const { body } = await modelRequest(request.number);
    bodies.set(request.number, body === null ? null : partsOf(body));
  }
  return bodies.get(request.number);
}

/** The earlier request of the thread and model that the longest prefix is shared with: `{ number, count }`. */
async function prefixOf(request, all) {
  const now = await partsOfRequest(request);
  const earlier = all.filter((each) => each.number < request.number && each.model === request.model && each.threadId === request.threadId);
  let best = null;
  for (const each of earlier.slice(0, COMPARED)) {
    const before = await partsOfRequest(each);
    const count = before && now ? repeated(before, now) : 0;
    if (before && (best === null || count > best.count)) best = { number: each.number, count };
  }
  return best;
}

// ---- The view ------------------------------------------------------------------------------------------------

export async function showRequests(threadId) {
  const all = await modelRequests(threadId);
  bodies.clear();
  setText(ui.note, all.length === 0 ? 'No request is kept. The gateway keeps the last ones in memory, until it ends.' : `${counted(all.length, 'request')}, the newest first.`);
  ui.usage.replaceChildren(...usageTable(all));
  ui.list.replaceChildren(...all.map((request) => makeItem(request, all)));
}

function makeItem(request, all) {
  const content = make('div');
  const took = request.endedAt === undefined ? 'active' : duration(request.endedAt - request.at);
  const outcome = make('span', { class: 'outcome', 'data-failed': String(FAILURES.has(request.outcome)) }, request.outcome);
  const details = make('details', { 'data-number': request.number },
    make('summary', {}, `#${request.number} `, outcome, ` · ${request.model} (${request.asked}) · run ${request.runId} · ${timeOf(request.at)} · ${took} · ${request.bytes} bytes${tokens(request.usage)}`),
    content);
  details.addEventListener('toggle', () => {
    if (details.open && !content.firstChild) fill(content, request, all);
  });
  return make('li', {}, details);
}

const tokens = (usage) => (usage?.inputTokens === undefined ? '' : ` · ${usage.inputTokens} tokens in, ${usage.cachedInputTokens ?? 0} from the cache, ${usage.outputTokens ?? 0} out`);

async function fill(content, request, all) {
  const note = make('p', { class: 'hint', role: 'status' }, 'Loading');
  content.append(note);
  try {
    const now = await partsOfRequest(request);
    if (now === null) {
      setText(note, 'The body was too large to keep.');
      return;
    }
    const prefix = await prefixOf(request, all);
    const count = prefix?.count ?? 0;
    setText(note, prefix ? `${count} of ${now.parts.length} parts repeat request #${prefix.number}.` : 'No earlier request of this thread to this model is kept.');
    content.append(...now.parts.map((part, index) => makePart(part.name, part.value, index < count)), makePart('settings', now.settings, false));
  } catch (error) {
    setText(note, error.code === 'not_found' ? 'The request is no longer kept.' : `It cannot be shown: ${error.message}`);
  }
}

function makePart(name, value, repeats) {
  const title = make('h3', {}, value?.role ? `${name} ${value.role}` : name);
  if (repeats) title.append(' ', make('span', { class: 'mark' }, 'repeats'));
  return make('div', { class: 'part', 'data-repeats': String(repeats) }, title,
    make('pre', { tabindex: '0', role: 'region', 'aria-label': name }, typeof value === 'string' ? value : pretty(value)));
}

function usageTable(all) {
  const sums = new Map();
  for (const { model, usage = {} } of all) {
    const sum = sums.get(model) ?? { requests: 0, input: 0, cached: 0, output: 0 };
    sum.requests += 1;
    sum.input += usage.inputTokens ?? 0;
    sum.cached += usage.cachedInputTokens ?? 0;
    sum.output += usage.outputTokens ?? 0;
    sums.set(model, sum);
  }
  if (sums.size === 0) return [];
  const row = (cell, ...texts) => make('tr', {}, ...texts.map((text) => make(cell, cell === 'th' ? { scope: 'col' } : {}, String(text))));
  const share = ({ input, cached }) => (input > 0 ? `${cached} (${Math.round(100 * cached / input)} %)` : cached);
  return [make('table', {}, make('caption', {}, 'Tokens that the model servers reported for these requests'),
    make('thead', {}, row('th', 'Model', 'Requests', 'Input', 'From the cache', 'Output')),
    make('tbody', {}, ...[...sums].map(([model, sum]) => row('td', model, sum.requests, sum.input, share(sum), sum.output))))];
}
