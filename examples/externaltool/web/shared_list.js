// The shared document: a list that the user changes here, and the agent by its tools. The page sends its changes as JSON
// Patches; each begins with a test, so that a change of the other side in the meantime is noticed and not overwritten.

import { patchState, stateOf } from './client.js';
import { showProblem } from './controls.js';
import { arrange, button, element, make, setText } from './dom.js';
import { showRequest } from './event_panel.js';
import { applyPatch } from './json_patch.js';

const isList = (state) => Array.isArray(state?.items);
const pointer = (index, member = '') => `/items/${index}${member}`;

/** `thread()` is the shown one, `isBusy()` whether a run is read, and `changed()` is called after a change. */
export function makeSharedList({ thread, isBusy, changed }) {
  const ui = { list: element('list'), title: element('list-title'), json: element('list-json'), form: element('list-form'), text: element('list-text') };
  let state;
  let rows = [];

  async function change(patch) {
    const current = thread();
    const isDraft = current.isNew && !isBusy();
    showRequest(isDraft ? 'state of the next request' : 'PATCH agui/threads/{threadId}/state', patch);
    try {
      if (isDraft) {
        current.state = applyPatch(current.state ?? {}, patch);
      } else {
        const stored = await patchState(current.id, patch);
        // While a run is read, its STATE_DELTA brings the change.
        if (!isBusy()) current.state = stored;
      }
    } catch (error) {
      showProblem(error.code === 'patch_conflict' ? 'The list has changed in the meantime. Please try again.' : error.message);
      const stored = await stateOf(current.id).catch(() => current.state);
      if (!isBusy()) current.state = stored ?? undefined;
    }
    changed();
  }

  const expect = (index) => ({ op: 'test', path: pointer(index), value: state.items[index] });

  function makeRow() {
    const box = make('input');
    box.type = 'checkbox';
    const text = make('span');
    const node = make('li');
    const row = { node, box, text, index: 0 };
    box.addEventListener('change', () => {
      change([expect(row.index), { op: 'add', path: pointer(row.index, '/done'), value: box.checked }]);
    });
    row.remove = button('\u00d7', 'quiet', () => {
      change([expect(row.index), { op: 'remove', path: pointer(row.index) }]);
      ui.text.focus();
    });
    node.append(make('label', '', box, ' ', text), row.remove);
    return row;
  }

  function show() {
    state = thread().state;
    const items = isList(state) ? state.items : [];
    while (rows.length < items.length) rows.push(makeRow());
    rows = rows.slice(0, items.length);
    items.forEach((item, index) => {
      const text = String(item?.text ?? JSON.stringify(item));
      const row = rows[index];
      row.index = index;
      row.box.checked = item?.done === true;
      row.node.dataset.done = String(row.box.checked);
      setText(row.text, text);
      row.remove.setAttribute('aria-label', `Remove ${text}`);
    });
    arrange(ui.list, rows.map(({ node }) => node));
    setText(ui.title, typeof state?.title === 'string' ? state.title : 'Shared list');
    setText(ui.json, state === undefined ? 'No state yet' : JSON.stringify(state, null, 2));
  }

  ui.form.addEventListener('submit', (event) => {
    event.preventDefault();
    const item = { text: ui.text.value.trim(), done: false };
    if (item.text === '') return;
    ui.text.value = '';
    const begin = { op: 'add', path: '/items', value: [item] };
    const title = { op: 'add', path: '/title', value: 'Shopping list' };
    change(isList(state) ? [{ op: 'add', path: '/items/-', value: item }] : [title, begin]);
  });
  return { show };
}
