// The events of a run as rows with times and durations. Pure: knows no page.

const GROUPS = [
  ['run', /^RUN_/], ['text', /^(TEXT_MESSAGE_|MESSAGES_)/], ['reasoning', /^REASONING_/], ['tools', /^TOOL_CALL_/],
  ['state', /^STATE_/], ['steps', /^(STEP_|SUBAGENT_|ACTIVITY_)/],
];
const MOST_WORDS = 300;

/** The filter that an event belongs to. */
export function groupOf(event) {
  if (event.type === 'CUSTOM' && event.name?.startsWith('agui-gateway.tool.')) return 'tools';
  return GROUPS.find(([, pattern]) => pattern.test(event.type))?.[0] ?? 'other';
}

const DELTAS = new Set(['TEXT_MESSAGE_CONTENT', 'TOOL_CALL_ARGS', 'REASONING_MESSAGE_CONTENT']);

/** What begins or ends with the event: `[key, 'begin' | 'end']`, or nothing. */
function spanOf(event) {
  const { type } = event;
  const key = {
    RUN_STARTED: 'run', RUN_FINISHED: 'run', RUN_ERROR: 'run',
    TEXT_MESSAGE_START: `text ${event.messageId}`, TEXT_MESSAGE_END: `text ${event.messageId}`,
    REASONING_START: `thought ${event.messageId}`, REASONING_END: `thought ${event.messageId}`,
    TOOL_CALL_START: `call ${event.toolCallId}`, TOOL_CALL_END: `call ${event.toolCallId}`,
    TOOL_CALL_RESULT: `work ${event.toolCallId}`,
    STEP_STARTED: `step ${event.stepName}`, STEP_FINISHED: `step ${event.stepName}`,
    SUBAGENT_STARTED: `agent ${event.subagentRunId}`, SUBAGENT_FINISHED: `agent ${event.subagentRunId}`,
    SUBAGENT_ERROR: `agent ${event.subagentRunId}`,
  }[type] ?? (type === 'CUSTOM' && event.name === 'agui-gateway.tool.started' && `work ${event.value?.toolCallId}`);
  if (!key) return undefined;
  return [key, /_(START|STARTED)$/.test(type) || type === 'CUSTOM' ? 'begin' : 'end'];
}

/** A line about the event for a reader. */
function wordsOf(event) {
  switch (event.type) {
    case 'RUN_FINISHED': return event.outcome?.type ?? '';
    case 'RUN_ERROR': return `${event.code ?? ''} ${event.message ?? ''}`;
    case 'TOOL_CALL_START': return event.toolCallName;
    case 'TOOL_CALL_RESULT': return typeof event.content === 'string' ? event.content : JSON.stringify(event.content);
    case 'STEP_STARTED': case 'STEP_FINISHED': return event.stepName;
    case 'SUBAGENT_STARTED': return event.agentName ?? event.subagentRunId;
    case 'STATE_SNAPSHOT': return JSON.stringify(event.snapshot);
    case 'STATE_DELTA': return JSON.stringify(event.delta);
    case 'MESSAGES_SNAPSHOT': return `${event.messages?.length} messages`;
    case 'ACTIVITY_SNAPSHOT': case 'ACTIVITY_DELTA': return event.activityType ?? '';
    case 'CUSTOM': return `${event.name} ${JSON.stringify(event.value ?? null)}`;
    default: return '';
  }
}

export class Timeline {
  rows = [];
  events = []; // All of them, in order.
  total = 0; // Milliseconds from the first event to the last.
  #begins = new Map();
  #first;

  /** Adds an event; returns its row, which may have existed before: deltas in a row share one. */
  add(number, event) {
    this.events.push(event);
    const last = this.rows.at(-1);
    const id = event.messageId ?? event.toolCallId;
    if (DELTAS.has(event.type) && last?.type === event.type && last.id === id) {
      last.last = number;
      last.count += 1;
      last.text += event.delta;
      last.events.push(event);
      return last;
    }
    const at = event.timestamp ?? last?.time ?? 0; // Deltas have no time of their own.
    this.#first ??= at;
    this.total = Math.max(this.total, at - this.#first);
    const row = {
      number, last: number, type: event.type, group: groupOf(event), id, time: at, at: at - this.#first, count: 1,
      text: DELTAS.has(event.type) ? event.delta : wordsOf(event), events: [event], timed: event.timestamp !== undefined,
    };
    this.#measure(row, event, at);
    this.rows.push(row);
    return row;
  }

  #measure(row, event, at) {
    const span = spanOf(event);
    if (!span) return;
    const [key, edge] = span;
    if (edge === 'begin') this.#begins.set(key, at);
    else if (this.#begins.has(key)) {
      row.took = at - this.#begins.get(key);
      row.from = this.#begins.get(key) - this.#first;
    }
  }

  /** Tokens of the run's parts, by model: `[{provider, model, inputTokens, …}]`. */
  get usage() {
    return this.events.filter(({ type }) => type === 'RUN_FINISHED' || type === 'RUN_ERROR').flatMap(({ usage }) => usage ?? []);
  }
}

/** Whether a row is shown: its group is one of `groups`, and it holds `text`. */
export function isShown(row, groups, text) {
  if (!groups.has(row.group)) return false;
  if (!text) return true;
  const wanted = text.toLowerCase();
  return row.type.toLowerCase().includes(wanted) || row.text.toLowerCase().includes(wanted) || (row.id ?? '').toLowerCase().includes(wanted);
}

export const shortWords = (row) => (row.text.length > MOST_WORDS ? `${row.text.slice(0, MOST_WORDS)}…` : row.text);
