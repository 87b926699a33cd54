// The panel with every request and event, as they are on the wire.

import { element, followable, follow, make } from './dom.js';

const MAX_ROWS = 500;
const MAX_JSON_SHOWN = 1000;
const box = element('events');

followable(box);
element('clear-events').addEventListener('click', () => box.replaceChildren());

export function clearEvents() {
  box.replaceChildren();
}

export function showEvent({ event, sequence, data }) {
  const kinds = { RUN_FINISHED: 'event terminal', RUN_ERROR: 'event error' };
  showRow(kinds[event.type] ?? 'event', sequence || '', String(event.type), data);
}

export function showRequest(what, body) {
  showRow('request', '\u2192', what, JSON.stringify(body));
}

function showRow(className, sequence, type, json) {
  const text = json.length > MAX_JSON_SHOWN ? `${json.slice(0, MAX_JSON_SHOWN)}\u2026` : json;
  const row = make('li', className, make('span', 'sequence', String(sequence)), make('span', 'type', type), make('span', 'json', text));
  row.dataset.type = type;
  box.append(row);
  if (box.childElementCount > MAX_ROWS) box.firstElementChild.remove();
  follow(box);
}
