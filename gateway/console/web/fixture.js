// A run as a fixture of agui-replay (proto-fixtures/README.md), as far as its log tells. The log has the events, not the
// bytes of the model's answers: those are written anew, in the OpenAI dialect. `missing` says what else could not be had.

import { messagesOf, readRun } from './api.js';
import { answersOf, closingAnswer } from './rebuilt_answers.js';
import { tar } from './tar.js';

const MOST_STEPS = 20; // A run may answer one that answers another.
const json = (value) => `${JSON.stringify(value, null, 2)}\n`;

/** `{ name, bytes, missing }`: a tar archive with the folder of the fixture. */
export async function makeFixture(thread, run) {
  const made = await fixtureFiles(thread, run);
  return { name: `${made.folder}.tar`, bytes: tar(made.files), missing: made.missing };
}

/** The runs that the fixture needs: before a run that answers calls or questions come those that asked. */
async function chainOf(thread, run) {
  const chain = [{ runId: run.runId, events: run.timeline.events }];
  const known = new Set([run.runId]);
  for (;;) {
    const { runId } = chain[0];
    const answered = new Set(thread.entries.filter((each) => each.runId === runId &&
      (each.type === 'interrupt.answered' || each.type === 'tool.response')).map(({ data }) => data.toolCallId));
    for (const { type, toolCallId } of chain[0].events) if (type === 'TOOL_CALL_START') answered.delete(toolCallId);
    const asked = answered.size > 0 && chain.length < MOST_STEPS && await makerOf(thread, answered, known);
    if (!asked) return chain;
    known.add(asked.runId);
    chain.unshift(asked);
  }
}

async function makerOf(thread, callIds, known) {
  for (const { runId } of thread.runs) {
    if (known.has(runId)) continue;
    const events = [];
    try {
      await readRun(thread.threadId, runId, (number, event) => events.push(event));
    } catch (error) {
      if (error.code === 'cursor_expired') continue;
      throw error;
    }
    if (events.some(({ type, toolCallId }) => type === 'TOOL_CALL_START' && callIds.has(toolCallId))) return { runId, events };
  }
  return null;
}

// ---- What the steps have in common ---------------------------------------------------------------------------

/** The server's tools with their first result, from the results in the events. */
function serverToolsOf(chain, names, missing) {
  const tools = new Map();
  const others = new Set(); // Calls whose result differs from that of the tool's first call.
  let effects = {};
  for (const event of chain.flatMap(({ events }) => events)) {
    if (event.type === 'CUSTOM' && event.name === 'agui-gateway.tool.started') effects = {};
    if (event.type === 'STATE_SNAPSHOT') effects = { state: event.snapshot };
    if (event.type === 'STATE_DELTA') effects = { statePatch: event.delta };
    if (event.type !== 'TOOL_CALL_RESULT') continue;
    const name = names.get(event.toolCallId);
    const tool = { name, parameters: { type: 'object' }, result: event.content, ...(Object.keys(effects).length > 0 && { effects }) };
    if (!tools.has(name)) tools.set(name, tool);
    else if (JSON.stringify(tools.get(name)) !== JSON.stringify(tool)) {
      others.add(event.toolCallId);
      missing.add(`other results of ${name} than its first`);
    }
  }
  return { tools: [...tools.values()], others };
}

/** Names for the ids that the gateway made: they differ in each replay. */
function placeholders() {
  const names = new Map();
  return {
    add(id, kind) {
      if (id && !names.has(id)) names.set(id, `$id:${kind}${names.size + 1}`);
    },
    replaced(value) {
      if (typeof value === 'string') return names.get(value) ?? value;
      if (Array.isArray(value)) return value.map((each) => this.replaced(each));
      if (value === null || typeof value !== 'object') return value;
      return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, this.replaced(member)]));
    },
  };
}

function expected(event, others, ids, hasPast) {
  const { timestamp, ...rest } = ids.replaced(event);
  if (rest.usage) rest.usage = '$any';
  if (rest.type === 'MESSAGES_SNAPSHOT' && hasPast) rest.messages = '$any';
  if (rest.type === 'TOOL_CALL_RESULT' && others.has(event.toolCallId)) rest.content = '$any';
  for (const interrupt of rest.outcome?.interrupts ?? []) {
    if (interrupt.expiresAt) interrupt.expiresAt = '$any';
  }
  return rest;
}

const isCut = (events) => events.some(({ type, outcome }) => type === 'RUN_ERROR' || outcome?.type === 'cancelled');

/** What a fixture cannot say, in events that it therefore does not compare. */
function beyond(events) {
  const found = new Set();
  for (const { type, name, outcome } of events) {
    if (type === 'RUN_ERROR') found.add('the failure that ended the run');
    if (outcome?.type === 'cancelled') found.add('the stop that ended the run');
    if (/^(STEP_|ACTIVITY_|SUBAGENT_|RAW)/.test(type)) found.add('steps, activities and subagents');
    if (type === 'CUSTOM' && name !== 'agui-gateway.tool.started') found.add(`the event CUSTOM ${name}`);
  }
  return found;
}

// ---- Steps ---------------------------------------------------------------------------------------------------

function requestOf(thread, run, messages, interrupts, missing) {
  const mine = thread.entries.filter((entry) => entry.runId === run.runId);
  const taken = [];
  const resume = [];
  for (const { type, data } of mine) {
    const isResult = type === 'tool.response' && !run.events.some((each) => each.type === 'TOOL_CALL_RESULT' && each.toolCallId === data.toolCallId);
    if (type === 'user.message' || isResult) {
      const message = messages.find(({ id }) => id === data.messageId);
      if (message) taken.push(message);
      else missing.add('a message of another branch');
    }
    if (type === 'interrupt.answered') {
      const interruptId = interrupts.get(data.toolCallId);
      if (data.input) missing.add('the answer to a question');
      resume.push({ interruptId, status: 'resolved', payload: data.input ? {} : { approved: data.approved } });
    }
  }
  return { request: { threadId: thread.threadId, runId: run.runId, protocolVersion: '1.1', ...(resume.length > 0 && { resume }) }, taken };
}

export async function fixtureFiles(thread, run) {
  const missing = new Set();
  const chain = await chainOf(thread, run);
  const messages = (await messagesOf(thread.threadId)).map(({ metadata, ...message }) => message);
  const all = chain.flatMap(({ events }) => events);
  const names = new Map(all.filter(({ type }) => type === 'TOOL_CALL_START').map(({ toolCallId, toolCallName }) => [toolCallId, toolCallName]));
  const { tools: serverTools, others } = serverToolsOf(chain, names, missing);
  const interrupts = new Map(all.flatMap(({ outcome }) => outcome?.interrupts ?? []).map(({ toolCallId, id }) => [toolCallId, id]));
  for (const toolCallId of interrupts.keys()) {
    const name = names.get(toolCallId);
    if (!serverTools.some((tool) => tool.name === name)) serverTools.push({ name, parameters: { type: 'object' }, result: '' });
  }
  const external = [...new Set(all.flatMap(({ outcome }) => outcome?.pendingToolCallIds ?? []).map((id) => names.get(id)))].filter(Boolean);

  const ids = placeholders();
  for (const { messageId, parentMessageId } of all) {
    ids.add(messageId, 'm');
    ids.add(parentMessageId, 'm');
  }
  for (const id of interrupts.values()) ids.add(id, 'i');

  const files = new Map();
  const steps = chain.map((each, index) => {
    const { request, taken } = requestOf(thread, each, messages, interrupts, missing);
    const past = index === 0 ? messages.slice(0, Math.max(0, messages.indexOf(taken[0]))) : [];
    const offered = new Set([...external, ...past.flatMap(({ toolCalls }) => toolCalls ?? []).map((call) => call.function.name)]);
    for (const { name } of serverTools) offered.delete(name);
    request.messages = [...past, ...taken];
    if (offered.size > 0) request.tools = [...offered].map((name) => ({ name, description: '', parameters: { type: 'object' } }));
    const first = each.events.find(({ type }) => type === 'STATE_SNAPSHOT');
    const isEarly = first && each.events.slice(0, each.events.indexOf(first)).every(({ type }) => /^(RUN_STARTED|MESSAGES_SNAPSHOT)$/.test(type));
    if (index === 0 && isEarly) request.state = first.snapshot;
    const step = { request: ids.replaced(request) };
    const lacking = beyond(each.events);
    const bodies = answersOf(each.events);
    // A replay is not stopped and does not fail: without an answer after its tools it would not end.
    if (isCut(each.events) && (bodies.at(-1)?.includes('"finish_reason":"tool_calls"') ?? true)) bodies.push(closingAnswer());
    const answers = bodies.map((bytes, turn) => {
      files.set(`answer-${index + 1}-${turn + 1}.sse`, bytes);
      return { answer: `answer-${index + 1}-${turn + 1}.sse` };
    });
    if (answers.length > 0) step.upstream = answers;
    if (lacking.size === 0) {
      files.set(`events-${index + 1}.jsonl`, each.events.map((event) => `${JSON.stringify(expected(event, others, ids, hasPast(chain, thread)))}\n`).join(''));
      step.events = `events-${index + 1}.jsonl`;
    }
    for (const what of lacking) missing.add(what);
    return step;
  });
  const fixture = {
    description: `The run ${run.runId} of the thread ${thread.threadId}, from its log.`,
    shows: ['a run that the console has downloaded'],
    ...(interrupts.size > 0 && { config: { agents: [{ id: 'default', approval: 'always' }] } }),
    ...(serverTools.length > 0 && { serverTools }),
    steps,
  };
  files.set('fixture.json', json(fixture));
  const folder = `run-${run.runId.replace(/[^A-Za-z0-9_-]+/g, '-').slice(0, 60)}`;
  return { folder, files: new Map([...files].map(([name, text]) => [`${folder}/${name}`, text])), missing: [...missing] };
}

/** Whether the thread is older than the fixture: its snapshots then hold more messages than a replay can. */
const hasPast = (chain, thread) => chain[0].runId !== thread.runs.at(-1).runId;
