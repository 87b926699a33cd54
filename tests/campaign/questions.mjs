// Server tools whose calls a person has to approve, or that ask a person for input, and the persons who answer. Each
// answer names the run that brings it, and the tools tell the model what they were given.

import { setTimeout as sleep } from 'node:timers/promises';

import { threadPath } from './users.mjs';

/// Lines of the tools' configuration, by name.
export const askingTools = { measure: '', order: 'approval = "always"' };

// The tools by the kinds of messages that make a model call them; `least`: how many questions a call asks at least.
const kinds = { asked: { tool: 'measure', least: 1 }, approved: { tool: 'order', least: 0 } };
export const isAsking = (kind) => kind in kinds;

/// The name and the arguments of the call that a message of this kind asks for.
export function askingCall(kind, below) {
    const { tool, least } = kinds[kind];
    return [tool, JSON.stringify({ questions: least + below(2) })];
}

/// What a tool answers to a call of the webhook, for a thread.
export function toolReply({ toolCallId, arguments: { questions = 0 }, inputs = [] }, thread) {
    if (inputs.length >= questions) return { result: `of ${toolCallId} for ${thread}`, ...(inputs.length > 0 && { inputs }) };
    const responseSchema = { type: 'object', properties: { answer: { type: 'string' } }, required: ['answer'] };
    const message = `question ${inputs.length + 1} of ${toolCallId} for ${thread}`;
    return { _meta: { 'org.agui-gateway/input': { message, responseSchema } } };
}

/// The run that has brought the last answer which these messages tell, of those that go on with `run`.
export function answeringRun(messages, run) {
    const told = messages.findLast(({ role }) => role === 'tool')?.content ?? '';
    if (told.includes('was not given')) return `${run}c`;
    return [...told.matchAll(/marker:[^/"]+\/(\w+b\d+)/g)].at(-1)?.[1] ?? run;
}

const mostAnswers = 20;

/// Who answers. `drive` carries a run to its end, `exchange` sends one request, and `steer` a message for a run that is
/// being driven; `hasLost(known)`: the store has lost something since then. All as in campaign.mjs.
export function createPerson({ drive, exchange, steer, steers, hasLost, note, violation, below, counts, gatewayOf }) {
    function decide({ id, metadata: { kind, input } }, mark) {
        const approval = () => (below(6) === 0
            ? { approved: false, reason: mark } : { approved: true, editedArgs: { ...input, by: mark } });
        return { interruptId: id, status: 'resolved', payload: kind === 'approval' ? approval() : { answer: mark } };
    }

    // These are open after a run that could not say so, because it failed or was stopped.
    async function openInterrupts({ thread, known }) {
        for (let attempt = 0; attempt < 2000; attempt += 1) {
            const reply = await exchange('GET', `${threadPath(thread)}/pending`, undefined, () => {}, { thread }).catch(() => undefined);
            if (reply?.status === 200) return JSON.parse(reply.text).interrupts;
            if (reply?.status === 404 && hasLost(known)) return []; // The thread was lost as a whole.
            await sleep(20);
        }
        violation('what is open is not told', { thread });
        return [];
    }

    // One run that brings an answer.
    async function give({ thread, known, tools }, run, entry, { stopAfter = 0, mayBeSteered = false } = {}) {
        const driven = drive(thread, run, { messages: [], tools, resume: [entry] }, [], known, stopAfter);
        if (mayBeSteered && steers && below(2) === 0) await Promise.all([driven, steer(thread, run, driven)]);
        const { terminal, first, given } = await driven;
        const { type, code, outcome } = terminal;
        note('given', { thread, run, ...entry, end: code ?? outcome?.type ?? type });
        return { terminal, first, given };
    }

    // Another answer to what was answered before must be refused, and the same one again must change nothing. Resolves to
    // true if the conversation was given up.
    async function giveOldAnswer(where, run, { asked, entry }, open) {
        const same = below(2) === 0;
        const { terminal, given } = await give(where, run, same ? entry : decide(asked, `marker:${where.thread}/${run}`));
        if (given || hasLost(where.known) || (terminal.type === 'RUN_ERROR' && terminal.code !== 'resume_rejected')) return given;
        const shown = terminal.outcome?.interrupts?.[0]?.id;
        if (same ? shown !== open : terminal.code !== 'resume_rejected') {
            violation('an old answer was taken', { thread: where.thread, run, terminal });
        }
        return false;
    }

    /// Answers what a run has left open, one interrupt in each run, until nothing is. `end` is the run's terminal event,
    /// `first` the gateway that began its stream. Resolves to true if the conversation was given up.
    return async function answerAll(where, run, { terminal: end, first }) {
        const { thread } = where;
        let interrupts = end.outcome?.interrupts ?? [];
        let before = first;
        let last;
        let hasCancelled = false;
        for (let number = 1; interrupts.length > 0; number += 1) {
            if (number > mostAnswers) {
                violation('questions have no end', { thread, run });
                return false;
            }
            const [asked] = interrupts;
            const { id, toolCallId: call, message, metadata: { kind } } = asked;
            note('asked', { thread, interrupt: id, call, kind, message });
            const isNext = last && last.asked.id !== id;
            if (isNext && below(2) === 0 && await giveOldAnswer(where, `${run}o${number}`, last, id)) return true;
            const cancels = kind === 'input' && !hasCancelled && below(8) === 0;
            hasCancelled ||= cancels;
            const name = cancels ? `${run}c` : `${run}b${number}`;
            const entry = cancels ? { interruptId: id, status: 'cancelled' } : decide(asked, `marker:${thread}/${name}`);
            const answered = await give(where, name, entry, { stopAfter: below(8) === 0 ? 2 + below(4) : 0, mayBeSteered: true });
            if (answered.given) return true;
            counts.answers += 1;
            if (gatewayOf(answered.first) !== gatewayOf(before)) counts.resumedElsewhere += 1;
            before = answered.first;
            last = { asked, entry };
            const { type, outcome } = answered.terminal;
            const isToldAll = type === 'RUN_FINISHED' && outcome?.type !== 'cancelled';
            interrupts = isToldAll ? outcome?.interrupts ?? [] : await openInterrupts(where);
            if (isToldAll && interrupts.length === 0 && below(3) === 0) {
                return giveOldAnswer(where, `${run}o`, last, undefined);
            }
        }
        return false;
    };
}
