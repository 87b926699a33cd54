// Cards of the conversation: a tool call, an approval, an activity.

import { button, make, setText } from './dom.js';
import { tools } from './tools.js';

const MAX_RESULT_SHOWN = 400;

const shortened = (text) => (text.length > MAX_RESULT_SHOWN ? `${text.slice(0, MAX_RESULT_SHOWN)}\u2026` : text);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

// ---- A tool call --------------------------------------------------------------------------------------------

function callState(thread, call) {
  const result = thread.resultOf(call.id);
  const isOurs = tools.has(call.function.name);
  if (result) {
    const content = parsed(result.content);
    const problem = result.error ?? (content?.status === 'error' ? content.message : undefined);
    if (problem) return { state: 'failed', text: `${isOurs ? 'Refused' : 'Failed'}: ${problem}` };
    if (isOurs) return { state: 'done', text: `Done in this page${content?.color ? `: the background is ${content.color}` : ''}`, color: content?.color };
    return { state: 'done', text: `The server answered: ${shortened(result.content)}` };
  }
  if (thread.interrupts.some((each) => each.toolCallId === call.id)) return { state: 'asks', text: 'Waits for your approval' };
  if (thread.pending.has(call.id)) return { state: 'waits', text: 'Waits for this page' };
  if (thread.run?.active) return { state: 'active', text: 'Running' };
  return { state: 'failed', text: 'Not executed' };
}

export function callCard() {
  const node = make('div', 'call');
  const code = make('code');
  const line = make('p', 'call-state');
  const swatch = make('span', 'swatch');
  const text = make('span');
  line.append(swatch, text);
  node.append(code, line);
  return {
    node,
    /** `extra`, if given, belongs to the call and stands in its card: its approval, or a button of the page. */
    update(thread, call, extra) {
      const { state, text: words, color } = callState(thread, call);
      setText(code, `${call.function.name} ${call.function.arguments}`);
      node.dataset.state = state;
      setText(text, words);
      swatch.hidden = !color;
      if (color) swatch.style.backgroundColor = color;
      if (extra && extra.parentNode !== node) node.append(extra);
    },
  };
}

// ---- An approval --------------------------------------------------------------------------------------------

const ids = (() => { let last = 0; return () => `field-${++last}`; })();

function labelled(label, field) {
  field.id = ids();
  const name = make('label', '', label);
  name.htmlFor = field.id;
  return [name, field];
}

// Of a tool call: its arguments, which the user may change. Of any other question: an answer as JSON.
function questionOf(interrupt, call) {
  const isCall = interrupt.reason === 'tool_call';
  const given = isCall ? interrupt.metadata?.input ?? parsed(call?.function.arguments ?? '') ?? {} : {};
  return { isCall, text: JSON.stringify(given, null, 2) };
}

/** `answer(resumeEntry)` is called with what the user decided. */
export function approvalCard(interrupt, call, answer) {
  const { isCall, text } = questionOf(interrupt, call);
  const node = make('form', 'approval');
  node.tabIndex = -1;
  node.setAttribute('aria-label', isCall ? `Approval of ${call?.function.name ?? 'a call'}` : 'A question of the agent');
  const editor = make('textarea', 'json');
  editor.value = text;
  editor.rows = Math.min(10, text.split('\n').length);
  editor.spellcheck = false;
  const reason = make('input');
  reason.type = 'text';
  reason.placeholder = 'Reason, if you deny it';
  reason.setAttribute('aria-label', reason.placeholder);
  reason.maxLength = 500;
  const problem = make('p', 'problem');
  problem.setAttribute('role', 'alert');
  const yes = make('button', 'approve', isCall ? 'Approve' : 'Send');
  yes.type = 'submit';
  const no = button(isCall ? 'Deny' : 'Cancel', 'deny', () => {
    if (!isCall) return answer({ interruptId: interrupt.id, status: 'cancelled' });
    const why = reason.value.trim();
    return answer({ interruptId: interrupt.id, status: 'resolved', payload: { approved: false, ...(why && { reason: why }) } });
  });
  const isEdited = () => editor.value.trim() !== text;
  const show = (words) => {
    problem.textContent = words;
    editor.setAttribute('aria-invalid', String(words !== ''));
  };
  editor.addEventListener('input', () => {
    if (isCall) setText(yes, isEdited() ? 'Approve with changes' : 'Approve');
    show('');
  });
  node.addEventListener('submit', (event) => {
    event.preventDefault();
    const value = parsed(editor.value);
    if (value === undefined) return show('This is not JSON');
    if (isCall && (value === null || typeof value !== 'object' || Array.isArray(value))) return show('The arguments are a JSON object');
    const payload = isCall ? { approved: true, ...(isEdited() && { editedArgs: value }) } : value;
    return answer({ interruptId: interrupt.id, status: 'resolved', payload });
  });
  node.append(make('p', 'question', interrupt.message ?? 'May the agent do this?'),
    ...labelled(isCall ? 'Arguments, which you may change' : 'Your answer, as JSON', editor));
  node.append(problem, make('div', 'buttons', yes, ...(isCall ? [reason] : []), no));
  if (interrupt.expiresAt) node.append(make('p', 'hint', `Can be answered until ${new Date(interrupt.expiresAt).toLocaleString()}`));
  return {
    node,
    setBusy(busy) {
      for (const each of [yes, no, editor, reason]) each.disabled = busy;
    },
    show,
  };
}

// ---- An activity --------------------------------------------------------------------------------------------

export function activityCard() {
  const node = make('div', 'activity');
  const title = make('p', 'activity-title');
  const bar = make('progress');
  const text = make('p', 'hint');
  const raw = make('pre');
  node.append(title, bar, text, raw);
  return {
    node,
    update(message) {
      const content = message.content ?? {};
      // `progress` is of this example; `mcp-progress` is what an MCP server reports.
      const done = content.done ?? content.progress;
      const isProgress = typeof done === 'number';
      setText(title, String(content.title ?? content.toolName ?? message.activityType));
      bar.hidden = !isProgress;
      bar.setAttribute('aria-label', title.textContent);
      if (isProgress && typeof content.total === 'number') bar.max = content.total || 1;
      if (isProgress) bar.value = done;
      setText(text, isProgress ? `${content.message ?? ''} ${Math.round((100 * bar.value) / bar.max)} %`.trim() : '');
      raw.hidden = isProgress;
      setText(raw, isProgress ? '' : shortened(JSON.stringify(content, null, 2)));
    },
  };
}
