// The view "Waiting": calls that wait for the application, and questions that wait for a person, answered by hand.

import { newId, pendingOf, startRun } from './api.js';
import { element, make, pretty, setText, timeOf } from './dom.js';

const ui = { tab: element('tab-waiting'), note: element('waiting-note'), list: element('waiting') };

let answered = () => {}; // Told of the run that an answer has started.
export const onAnswer = (callback) => { answered = callback; };

let forms = new Map(); // The forms on the page, by thread, kind and id. A form stays as it is while its call or question waits.
let shows = 0;

export async function showWaiting(thread) {
  const mine = ++shows;
  const { toolCalls, interrupts } = await pendingOf(thread.threadId);
  if (mine !== shows) return;
  const count = toolCalls.length + interrupts.length;
  setText(ui.tab, count ? `Waiting (${count})` : 'Waiting');
  setText(ui.note, count ? '' : 'Nothing waits for an answer.');
  const before = forms;
  forms = new Map();
  const keep = (kind, id, makeIt) => {
    const key = JSON.stringify([thread.threadId, kind, id]);
    const form = before.get(key);
    forms.set(key, form && !form.isAnswered ? form : makeIt());
    return forms.get(key);
  };
  for (const call of toolCalls) keep('call', call.toolCallId, () => callForm(thread, call)).update(call);
  for (const interrupt of interrupts) {
    keep('interrupt', interrupt.id, () => (interrupt.metadata?.kind === 'input' ? questionForm(thread, interrupt) : approvalForm(thread, interrupt)));
  }
  draw();
}

export function showNothingWaiting() {
  ++shows;
  setText(ui.tab, 'Waiting');
  setText(ui.note, 'Choose a thread.');
  forms = new Map();
  draw();
}

// Moves no form that is in its place: it would lose the focus.
function draw() {
  const wanted = [...forms.values()];
  for (const form of [...ui.list.children]) if (!wanted.includes(form)) form.remove();
  wanted.forEach((form, place) => {
    if (ui.list.children[place] !== form) ui.list.insertBefore(form, ui.list.children[place] ?? null);
  });
}

let fields = 0;

function labelled(text, field) {
  field.id = `field-${++fields}`;
  return [make('label', { for: field.id }, text), field];
}

const area = (text, rows) => {
  const field = make('textarea', { class: 'code', rows, spellcheck: 'false' });
  field.value = text;
  return field;
};

/** A form whose buttons each make the members of a request; a mistake in its fields is told below it. */
function makeForm(thread, title, content, buttons) {
  const problem = make('p', { class: 'hint', role: 'alert' });
  let form = null;
  const nodes = buttons.map(([text, kind, members]) => make('button', {
    type: 'button', class: kind, onclick: async () => {
      setText(problem, '');
      for (const each of nodes) each.disabled = true;
      try {
        const run = { threadId: thread.threadId, runId: newId('console'), messages: [], ...members() };
        await startRun(run, thread.agentId);
        form.isAnswered = true;
        answered(run);
      } catch (error) {
        setText(problem, error.message);
        for (const each of nodes) each.disabled = false;
      }
    },
  }, text));
  form = make('form', { onsubmit: (event) => event.preventDefault() }, make('h3', {}, title), ...content, make('div', { class: 'bar' }, ...nodes), problem);
  return form;
}

function callForm(thread, call) {
  const result = area('', 3);
  const about = make('p', { class: 'hint' });
  const form = makeForm(thread, `Call of ${call.toolCallName}`,
    [about, make('pre', {}, call.arguments ?? ''), ...labelled('Its result', result)],
    [['Answer', '', () => ({ messages: [message(call, { content: result.value })] })],
      ['Answer as an error', 'quiet', () => ({ messages: [message(call, { content: result.value, error: result.value || 'failed' })] })]]);
  form.update = (now) => setText(about, `${now.toolCallId}, from run ${now.runId}${claim(now)}`);
  return form;
}

const claim = ({ claimedUntil }) => (claimedUntil ? `. A client executes it, and has it until ${timeOf(claimedUntil)}; the first answer counts` : '');
const message = ({ toolCallId }, rest) => ({ id: newId('answer'), role: 'tool', toolCallId, ...rest });
const resume = ({ id }, status, payload) => ({ resume: [{ interruptId: id, status, ...(payload && { payload }) }] });

function parsed(field, what) {
  try {
    return JSON.parse(field.value);
  } catch (error) {
    throw new Error(`${what}: ${error.message}`);
  }
}

function approvalForm(thread, interrupt) {
  const given = pretty(interrupt.metadata?.input ?? {});
  const edited = area(given, 4);
  const reason = make('input', { type: 'text', maxlength: '1000' });
  const approve = () => {
    const args = parsed(edited, 'The arguments are not JSON');
    return resume(interrupt, 'resolved', { approved: true, ...(edited.value !== given && { editedArgs: args }) });
  };
  return makeForm(thread, interrupt.message ?? `Allow ${interrupt.metadata?.toolName}?`,
    [make('p', { class: 'hint' }, `Until ${interrupt.expiresAt}`), ...labelled('Arguments, which you may change', edited), ...labelled('Reason, told to the model if you deny', reason)],
    [['Approve', '', approve],
      ['Deny', 'danger', () => resume(interrupt, 'resolved', { approved: false, ...(reason.value && { reason: reason.value }) })],
      ['Withdraw', 'quiet', () => resume(interrupt, 'cancelled')]]);
}

function questionForm(thread, interrupt) {
  const answer = area('{}', 4);
  return makeForm(thread, interrupt.message ?? 'Input is required',
    [make('p', { class: 'hint' }, `For ${interrupt.metadata?.toolName}. The answer must fit this schema:`), make('pre', {}, pretty(interrupt.responseSchema)), ...labelled('Answer, as JSON', answer)],
    [['Answer', '', () => resume(interrupt, 'resolved', parsed(answer, 'The answer is not JSON'))],
      ['Withdraw', 'quiet', () => resume(interrupt, 'cancelled')]]);
}
