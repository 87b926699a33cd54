// Judges what converse.mjs has seen of a case. Pure: problems come back as [{ rule, reader, detail }].

import { AssertionError } from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { historyProblem } from '../support/model.mjs';
import { checkStream, parseStream } from '../support/streams.mjs';
import { serverTool } from './answers.mjs';
import { fold } from './converse.mjs';
import { meaningOf } from './deltas.mjs';

const parse = (text) => {
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
};

const wellFormed = (value) => JSON.parse(JSON.stringify(value), (key, each) => (typeof each === 'string' ? each.toWellFormed() : each));

function difference(actual, expected) {
    if (isDeepStrictEqual(actual, expected)) return undefined;
    return new AssertionError({ actual, expected, operator: 'deepStrictEqual' }).message.slice(0, 2000);
}

// ---- Messages -----------------------------------------------------------------------------------------------

/// Messages in one form, whoever has kept them. Reasoning stands first: the store keeps it before the answer that it belongs
/// to, a client where it came, which may be in the middle of that answer or behind the result of a call.
function plain(messages) {
    const all = messages.map(({ id, role, content, toolCalls = [], toolCallId, error }) => {
        const calls = toolCalls.map((call) => ({ id: call.id, name: call.function.name, arguments: call.function.arguments }));
        return {
            id, role, content: content ?? '', ...(calls.length > 0 && { calls }),
            ...(toolCallId && { toolCallId }), ...(error && { error }),
        };
    });
    const isReasoning = (message) => message.role === 'reasoning';
    return [...all.filter(isReasoning), ...all.filter((message) => !isReasoning(message))];
}

const callsOf = (messages) => messages.flatMap((message) => message.calls ?? []);

/// Ids in the order in which they appear, in place of the ids of this thread; and no name of the conversation.
function anonymous(messages) {
    const numbers = new Map();
    const number = (id) => {
        if (!numbers.has(id)) numbers.set(id, `#${numbers.size}`);
        return numbers.get(id);
    };
    return messages.map(({ id, toolCallId, calls, content, ...rest }) => ({
        ...rest, id: number(id), content: typeof content === 'string' ? content.replace(/^\[[^\]]*\]/, '[]') : content,
        ...(calls && { calls: calls.map((call) => ({ ...call, id: number(call.id) })) }),
        ...(toolCallId && { toolCallId: number(toolCallId) }),
    }));
}

// ---- One run ------------------------------------------------------------------------------------------------

/// The answer after the random ones, as a model with these tags says it, and its meaning.
export const plainAnswer = (tags) => (tags === '</think>' ? 'Well.\n</think>\nDone.' : 'Done.');
const plainMeaning = (tags) => ({ text: 'Done.', thought: tags === '</think>' ? 'Well.' : '', calls: [], end: 'complete', either: false });

/// What the model's answers of a run mean, and how a run of them must end.
function expectationOf(one, answers) {
    const meanings = answers.filter((answer) => answer >= 0).map((answer) => meaningOf(one.turns[answer].answer, one.tags));
    if (answers.includes(-1)) meanings.push(plainMeaning(one.tags));
    const last = meanings.at(-1);
    const counted = meanings.filter((meaning) => meaning.usage);
    const add = (name) => counted.reduce((sum, meaning) => sum + meaning.usage[name], 0);
    return {
        text: meanings.map((meaning) => meaning.text), thought: meanings.map((meaning) => meaning.thought).join(''),
        calls: meanings.flatMap((meaning) => meaning.calls), end: last?.end, either: meanings.some((meaning) => meaning.either),
        usage: counted.length > 0 ? { inputTokens: add('input'), outputTokens: add('output') } : undefined,
    };
}

const argumentsOf = (calls) => calls.map((call) => ({ name: call.name, arguments: wellFormed(parse(call.arguments || '{}')) }));

/// Compares what was shown with what was meant. Of an answer that was cut, a beginning was shown.
function meaningProblem(shown, meant, finished) {
    if (meant.end === 'complete' && !(meant.either && !finished)) {
        return difference(
            { text: shown.text, thought: shown.thought, calls: argumentsOf(shown.calls) },
            { text: meant.text.join(''), thought: meant.thought, calls: meant.calls.map((call) => ({ name: call.name, arguments: wellFormed(call.arguments) })) });
    }
    // The end may be half of a character, or of a tag.
    const begins = (part, whole) => whole.startsWith(part.replace(/(\ufffd|\n?<\/?t?h?i?n?k?)$/, ''));
    for (const [part, whole] of [[shown.text, meant.text.join('')], [shown.thought, meant.thought]]) {
        if (!begins(part, whole)) return `${JSON.stringify(part)} is no beginning of ${JSON.stringify(whole)}`;
    }
    if (shown.calls.length > meant.calls.length) return `${shown.calls.length} calls, ${meant.calls.length} were meant`;
    return undefined;
}

/// Everything a run must hold, whatever was said: its events, and the client that acts on them.
function* streamProblems(run, reader, schema) {
    if (run.status !== 200) {
        yield { rule: 'refused', detail: `${run.status} ${run.text} ${run.error}` };
        return;
    }
    try {
        checkStream(run.text);
    } catch (error) {
        yield { rule: 'stream', detail: error.message };
    }
    const events = parseStream(run.text).map(({ event }) => event);
    for (const event of events) {
        const read = schema.safeParse(event);
        if (!read.success) {
            yield { rule: 'schema', detail: `${JSON.stringify(event).slice(0, 300)}: ${JSON.stringify(read.error.issues).slice(0, 500)}` };
        }
        if (event.delta?.length > 65_536) yield { rule: 'large delta', detail: `${event.type} of ${event.delta.length}` };
    }
    const failed = events.at(-1)?.type === 'RUN_ERROR';
    if (run.error && !failed) yield { rule: 'client failed', detail: run.error };

    // A page acts on the end of a call.
    const ends = new Map();
    for (const call of run.ended) ends.set(call.id, [...(ends.get(call.id) ?? []), call]);
    const calls = new Map(callsOf(plain(run.messages)).map((call) => [call.id, call]));
    for (const [id, list] of ends) {
        if (list.length > 1) yield { rule: 'ended twice', detail: `${id}: ${JSON.stringify(list)}` };
        const final = parse(calls.get(id)?.arguments ?? '');
        const known = final !== null && typeof final === 'object' ? final : {};
        const wrong = difference(list[0].arguments, known);
        if (wrong) yield { rule: 'arguments at the end of a call', detail: `${id}: ${wrong}` };
    }
    const begun = events.filter((event) => event.type === 'TOOL_CALL_START').map((event) => event.toolCallId);
    const open = begun.filter((id) => !ends.has(id));
    if (open.length > 0) yield { rule: 'call without an end', detail: open.join(' ') };
}

function* runProblems(run, { seen, one, before, schema }) {
    yield* streamProblems(run, seen, schema);
    if (run.status !== 200) return;
    const events = parseStream(run.text).map(({ event }) => event);
    const last = events.at(-1);
    const stopped = events.some((event) => event.type === 'CUSTOM' && /run\.stopped$/.test(event.name));
    const finished = last?.type === 'RUN_FINISHED' && !stopped;

    const known = new Set(before.map((message) => message.id));
    const mine = plain(run.messages).filter((message) => !known.has(message.id));
    const answers = mine.filter((message) => message.role === 'assistant');
    const shown = {
        text: answers.map((message) => message.content).join(''), calls: callsOf(answers),
        thought: mine.filter((message) => message.role === 'reasoning').map((message) => message.content).join(''),
    };
    const meant = expectationOf(one, run.answers);
    const wrong = meaningProblem(shown, meant, finished);
    if (wrong) yield { rule: 'meaning', detail: wrong };
    if (meant.end === 'complete' && !meant.either && !finished) yield { rule: 'ended badly', detail: JSON.stringify(events.slice(-2)) };
    if (meant.end !== 'complete' && finished) yield { rule: 'ended well', detail: `${meant.end}: ${JSON.stringify(last)}` };
    if (finished && meant.end === 'complete') {
        const total = last.usage?.reduce((sum, each) => ({
            inputTokens: sum.inputTokens + (each.inputTokens ?? 0), outputTokens: sum.outputTokens + (each.outputTokens ?? 0),
        }), { inputTokens: 0, outputTokens: 0 });
        const other = difference(total, meant.usage);
        if (other) yield { rule: 'usage', detail: other };
    }

    const handed = finished ? shown.calls.filter((call) => call.name !== serverTool).map((call) => call.id) : [];
    const waits = difference(run.pending, handed);
    if (waits) yield { rule: 'pending', detail: waits };
    if (seen.versioned && finished) {
        const outcome = difference(last.outcome?.pendingToolCallIds ?? [], handed);
        if (outcome) yield { rule: 'pending in the outcome', detail: outcome };
    }
}

// ---- The thread ---------------------------------------------------------------------------------------------

/// `dead`: the calls that nobody can answer any more, `earlier`: those of them that an earlier run has made.
function* viewProblems(run, live, { dead, earlier, answered }) {
    // AG-UI has no event that says that a server's tool has failed: only the store knows it.
    const comparable = (messages) => messages.filter((message) => !dead.has(message.toolCallId))
        .map(({ error, ...message }) => (error && answered.has(message.toolCallId) ? { ...message, error } : message));
    const stored = plain(run.stored);
    const wrong = difference(comparable(stored), comparable(live));
    if (wrong) yield { rule: 'stored messages', detail: wrong };
    const resultsOf = (messages, id) => messages.filter((message) => message.toolCallId === id);
    for (const id of dead) {
        const results = resultsOf(stored, id);
        if (results.length !== 1 || !results[0].error) {
            yield { rule: 'dead call', detail: `${id} has the results ${JSON.stringify(results)}` };
        }
        const told = resultsOf(live, id);
        const right = earlier.has(id) ? told.length === 1 && typeof parse(told[0].content)?.error === 'string' : told.length === 0;
        const whose = earlier.has(id) ? 'an earlier run' : 'this run';
        if (!right) yield { rule: 'dead call told', detail: `${id} of ${whose} has the results ${JSON.stringify(told)}` };
    }
}

/// External calls that nobody can answer any more.
function deadCalls(messages, pending, answered) {
    const ids = callsOf(messages).filter((call) => call.name !== serverTool).map((call) => call.id);
    return new Set(ids.filter((id) => !answered.has(id) && !pending.includes(id)));
}

function* requestProblems(seen) {
    for (const [index, { body }] of seen.requests.entries()) {
        const problem = historyProblem(body.messages);
        if (problem) {
            yield { rule: 'request', detail: `request ${index}: ${problem} ${JSON.stringify(body.messages).slice(0, 3000)}` };
        }
        const previous = seen.requests[index - 1]?.body;
        if (!previous) continue;
        const broken = difference(
            { messages: body.messages.slice(0, previous.messages.length), tools: body.tools },
            { messages: previous.messages, tools: previous.tools });
        if (broken) yield { rule: 'prefix', detail: `request ${index}: ${broken}` };
    }
}

/// The conversation as the model must read it, from the messages of the store.
function asSent(messages) {
    const results = new Map(messages.filter((message) => message.role === 'tool').map((message) => [message.toolCallId, message]));
    return messages.flatMap((message) => {
        if (message.role === 'user') return [{ role: 'user', text: message.content }];
        if (message.role !== 'assistant') return [];
        const calls = message.calls ?? [];
        const text = message.content.trim() === '' ? '' : message.content;
        if (text === '' && calls.length === 0) return [];
        return [
            { role: 'assistant', text, calls: argumentsOf(calls) },
            ...calls.map((call) => ({ role: 'tool', text: results.get(call.id)?.error ? undefined : results.get(call.id)?.content })),
        ];
    });
}

/// A model that thinks aloud may be sent its thoughts back as it said them.
function* lastRequestProblems(seen, stored, one) {
    const { messages } = seen.requests.at(-1).body;
    const expected = asSent(stored.slice(0, stored.findLastIndex((message) => message.role === 'user' || message.role === 'tool') + 1));
    const actual = messages.filter((message) => message.role !== 'system').map((message, n) => {
        const text = (Array.isArray(message.content) ? message.content.map((part) => part.text).join('') : message.content ?? '');
        if (message.role === 'tool') return { role: 'tool', text: expected[n]?.text === undefined ? undefined : text };
        if (message.role === 'user') return { role: 'user', text };
        const calls = (message.tool_calls ?? []).map((call) => ({ name: call.function.name, arguments: call.function.arguments }));
        const said = one.tags ? text.replace(/^<think>[^]*?<\/think>\n*/, '') : text;
        return { role: 'assistant', text: said.trim() === '' ? '' : said, calls: argumentsOf(calls).map(invalid) };
    });
    const wrong = difference(actual, expected.map((message) => (message.calls ? { ...message, calls: message.calls.map(invalid) } : message)));
    if (wrong) yield { rule: 'sent', detail: wrong };
}

/// Arguments that are no object are sent as one: which, is not the matter here.
const invalid = (call) => {
    const isObject = call.arguments !== null && typeof call.arguments === 'object' && !Array.isArray(call.arguments);
    return isObject && !('INVALID_JSON' in call.arguments) ? call : { ...call, arguments: 'no object' };
};

// ---- The chat stream ----------------------------------------------------------------------------------------

function* chatProblems(run, { one }) {
    if (run.status !== 200) {
        yield { rule: 'refused', detail: `${run.status} ${JSON.stringify(run.live)}` };
        return;
    }
    const list = fold('incremental', run.incremental);
    const final = run.full.at(-1);
    const modes = { 'the final full frame': final.messages, 'the frames as they came': run.list.messages };
    for (const [name, messages] of Object.entries(modes)) {
        const wrong = difference(list.messages, messages);
        if (wrong) yield { rule: 'chat modes', detail: `${name}: ${wrong}` };
    }
    for (const frames of [run.live, run.incremental, run.full]) {
        const ends = frames.map((frame) => frame.msgStatus === 'finished');
        if (ends.indexOf(true) !== frames.length - 1) yield { rule: 'chat end', detail: JSON.stringify(ends) };
    }
    const valuesOf = (type) => list.messages.filter((message) => message.type === type).map((message) => message.value);
    const shown = {
        text: valuesOf('content').join(''), thought: valuesOf('thinking').join(''),
        calls: valuesOf('tool_call_request').map((call) => ({ name: call.toolName, arguments: JSON.stringify(call.arguments) })),
    };
    const failed = valuesOf('error').length > 0;
    const meant = expectationOf(one, run.answers);
    const wrong = meaningProblem(shown, meant, !failed);
    if (wrong) yield { rule: 'chat meaning', detail: wrong };
    if (failed !== (meant.end !== 'complete') && !meant.either) {
        yield { rule: 'chat error', detail: JSON.stringify(list.messages).slice(0, 1000) };
    }
}

// ---- All ----------------------------------------------------------------------------------------------------

function* readerProblems(seen, one, schema) {
    let before = [];
    const answered = new Set();
    for (const [index, run] of seen.runs.entries()) {
        const next = seen.runs[index + 1]?.first ?? seen.requests.length;
        run.answers = seen.requests.slice(run.first, next).map((request) => request.answer);
        if (run.answers.length === 0) yield { rule: 'model not asked', detail: `run ${index}` };
        run.sent.answers.forEach((each) => answered.add(each.toolCallId));
        if (run.list) {
            yield* chatProblems(run, { one });
            continue;
        }
        const live = plain(run.messages);
        yield* runProblems(run, { seen, one, before, schema });
        const dead = deadCalls(live, run.pending, answered);
        yield* viewProblems(run, live, { dead, earlier: deadCalls(before, run.pending, answered), answered });
        before = [...live];
    }
    if (seen.requests.at(-1)?.answer !== -1) yield { rule: 'no end', detail: `${seen.runs.length} runs` };
    for (const text of seen.complaints) yield { rule: 'client complains', detail: text.slice(0, 1000) };
    yield* requestProblems(seen);
    const reloaded = plain(seen.reloaded);
    if (seen.requests.length > 0) yield* lastRequestProblems(seen, reloaded, one);
    const stored = seen.runs.at(-1)?.stored;
    const snapshot = stored && difference(reloaded, plain(stored));
    if (snapshot) yield { rule: 'snapshot', detail: snapshot };
}

/// `all`: what each reader has seen of the case; `schemas`: each AG-UI client's own, by name.
export function problemsOf(one, all, schemas) {
    const problems = [];
    for (const seen of all) {
        if (seen.failure) problems.push({ rule: 'test failed', reader: seen.name, detail: seen.failure });
        else for (const problem of readerProblems(seen, one, schemas[seen.name])) problems.push({ ...problem, reader: seen.name });
    }
    const whole = all.filter((seen) => !seen.failure);
    const agree = (rule, list, what) => list.slice(1).forEach((seen) => {
        const wrong = difference(anonymous(what(seen)), anonymous(what(list[0])));
        if (wrong) problems.push({ rule, reader: `${seen.name} and ${list[0].name}`, detail: wrong });
    });
    agree('clients disagree', whole.filter((seen) => seen.runs[0].messages), (seen) => plain(seen.runs.at(-1).messages));
    agree('threads disagree', whole, (seen) => plain(seen.reloaded));
    return problems;
}
