// The checker finds what it is there for: each fault is planted in what clients would have seen of a sound conversation.
// And the writer of streams writes what was meant.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { createCase, smaller } from './answers.mjs';
import { problemsOf } from './check.mjs';
import { fold } from './converse.mjs';
import { render } from './render.mjs';

const { EventSchema } = createRequire(import.meta.resolve('ag-ui-client-1'))('@ag-ui/core/schemas');

const copy = (value) => JSON.parse(JSON.stringify(value));
const call = { name: 'paint', arguments: { color: 'blue' } };
const answerOf = (items, style = {}, more = {}) => ({ items, style, random: 1, end: 'complete', ...more });
const one = { seed: 7, turns: [{ answer: answerOf([{ text: 'Hi.' }, { call }], { usage: 'end' }), reply: 'answers', failed: false }] };
const written = JSON.stringify(call.arguments);

function streamOf(runId, events) {
    const all = [{ type: 'RUN_STARTED', threadId: 't', runId }, ...events];
    return all.map((event, n) => `id: ${n + 1}\ndata: ${JSON.stringify({
        ...event, ...(/CONTENT|ARGS/.test(event.type) ? {} : { timestamp: 5 }) })}\n\n`).join('');
}

const finished = (runId, more) => ({ type: 'RUN_FINISHED', threadId: 't', runId, ...more });
const text = (messageId, delta) => [
    { type: 'TEXT_MESSAGE_START', messageId, role: 'assistant' },
    { type: 'TEXT_MESSAGE_CONTENT', messageId, delta },
    { type: 'TEXT_MESSAGE_END', messageId },
];

/// What a client with the id prefix `p` has seen of `one`: the call is handed over and answered, then the model says "Done."
function seen(name = '1.0.0', p = 'x') {
    const handed = { id: `${p}2`, role: 'assistant', content: 'Hi.', toolCalls: [{ id: `${p}c`, type: 'function', function: { name: 'paint', arguments: written } }] };
    const first = [{ id: `${p}1`, role: 'user', content: `[7/${p}] hello` }, handed];
    const second = [...first, { id: `${p}3`, role: 'tool', toolCallId: `${p}c`, content: 'paint is done' }, { id: `${p}4`, role: 'assistant', content: 'Done.' }];
    const asked = [{ role: 'system', content: 's' }, { role: 'user', content: `[7/${p}] hello` }];
    const answered = [...asked,
        { role: 'assistant', content: 'Hi.', tool_calls: [{ id: `${p}c`, type: 'function', function: { name: 'paint', arguments: written } }] },
        { role: 'tool', tool_call_id: `${p}c`, content: 'paint is done' }];
    return copy({
        name, versioned: true, complaints: [], reloaded: second,
        requests: [{ answer: 0, body: { messages: asked, tools: [] } }, { answer: -1, body: { messages: answered, tools: [] } }],
        runs: [
            {
                status: 200, first: 0, sent: { answers: [] }, messages: first, stored: first, pending: [`${p}c`],
                ended: [{ id: `${p}c`, name: 'paint', arguments: call.arguments }],
                text: streamOf('r1', [
                    ...text(`${p}2`, 'Hi.'),
                    { type: 'TOOL_CALL_START', toolCallId: `${p}c`, toolCallName: 'paint', parentMessageId: `${p}2` },
                    { type: 'TOOL_CALL_ARGS', toolCallId: `${p}c`, delta: written },
                    { type: 'TOOL_CALL_END', toolCallId: `${p}c` },
                    finished('r1', { usage: [{ provider: 'p', model: 'm', inputTokens: 11, outputTokens: 7 }], outcome: { type: 'success', pendingToolCallIds: [`${p}c`] } }),
                ]),
            },
            {
                status: 200, first: 1, sent: { answers: [{ toolCallId: `${p}c` }] }, messages: second, stored: second, pending: [], ended: [],
                text: streamOf('r2', [...text(`${p}4`, 'Done.'), finished('r2', { outcome: { type: 'success' } })]),
            },
        ],
    });
}

/// The same as a client of the chat stream sees it.
function chatSeen() {
    const whole = seen('chat stream, incremental', 'y');
    const message = (index, type, value, status = 'generated') => ({ type, value, timestamp: 1, id: `m-${index}`, status });
    const frame = (messages, msgStatus = 'generating') => ({ sessionId: 's', messageId: 'm', msgStatus, messages });
    const asked = { toolCallId: 'yc', toolName: 'paint', arguments: call.arguments, pending: true };
    const runOf = (run, frames, messages) => ({ status: 200, first: run.first, sent: run.sent, live: frames, incremental: copy(frames),
        full: [frame([]), frame(messages, 'finished')], list: fold('incremental', frames) });
    const hi = [message(0, 'content', 'Hi.'), message(1, 'tool_call_request', asked)];
    const done = [message(0, 'content', 'Done.')];
    return { ...whole, runs: [
        runOf(whole.runs[0], [frame([message(0, 'content', 'Hi.', 'generating')]), frame([message(0, 'content', ''), hi[1]], 'finished')], hi),
        runOf(whole.runs[1], [frame(done, 'finished')], done),
    ] };
}

const schemas = { '1.0.0': EventSchema };
const rulesOf = (...all) => [...new Set(problemsOf(one, all, schemas).map((problem) => problem.rule))];

/// The rules that a client's view breaks after `change`.
function after(change) {
    const changed = seen();
    change(changed, ...changed.runs);
    return rulesOf(changed);
}

const replace = (run, from, to) => {
    assert.ok(run.text.includes(from), from);
    run.text = run.text.replace(from, to);
};

describe('the checker', () => {
    it('finds nothing in a sound conversation', () => {
        assert.deepEqual(problemsOf(one, [seen(), seen('1.0.0', 'z'), chatSeen()], schemas), []);
    });

    const frameOf = (run, type) => run.text.split('\n\n').find((each) => each.includes(type));
    const again = (run, type) => replace(run, 'id: 8\n', `${frameOf(run, type).replace(/id: \d+/, 'id: 8')}\n\nid: 9\n`);
    const faults = [
        ['a call that ends twice', ['ended twice', 'stream'], (_, run) => {
            again(run, 'TOOL_CALL_END');
            run.ended.push(run.ended[0]);
        }],
        ['a call that starts twice', ['stream'], (_, run) => again(run, 'TOOL_CALL_START')],
        ['a call that never ends', ['call without an end'], (_, run) => run.ended.pop()],
        ['arguments that come after the end', ['arguments at the end of a call'], (_, run) => { run.ended[0].arguments = {}; }],
        ['an event that the client\'s schema refuses', ['schema'], (_, run) => replace(run, '"inputTokens":11', '"inputTokens":"11"')],
        ['a client that fails', ['client failed'], (_, run) => { run.error = 'bad'; }],
        ['a client that complains', ['client complains'], (all) => all.complaints.push('No message found')],
        ['a delta of more than 64 KB', ['large delta'], (_, run) => replace(run, '"delta":"Hi."', `"delta":"${'x'.repeat(70_000)}"`)],
        ['another text than was meant', ['meaning', 'stored messages'], (_, run) => { run.messages[1].content = 'Ho.'; }],
        ['a failure of a sound answer', ['ended badly', 'dead call'], (_, run) => {
            run.text = run.text.replace(/\{"type":"RUN_FINISHED".*\}/, '{"type":"RUN_ERROR","message":"m","code":"c","timestamp":5}');
            run.pending = [];
        }],
        ['usage that is not what the server said', ['usage'], (_, run) => replace(run, '"inputTokens":11', '"inputTokens":12')],
        ['a call that does not wait', ['pending', 'dead call'], (_, run) => { run.pending = []; }],
        ['a call that was abandoned without a result', ['dead call', 'dead call told'], (_, run, next) => { next.sent.answers = []; }],
        ['a message that is not stored', ['stored messages', 'sent'], (all, _, run) => {
            run.stored = run.stored.toSpliced(1, 1);
            all.reloaded = run.stored;
        }],
        ['a snapshot without a message', ['sent', 'snapshot'], (all) => { all.reloaded = all.reloaded.toSpliced(2, 1); }],
        ['a request without an answer', ['request', 'sent'], (all) => all.requests[1].body.messages.pop()],
        ['a request that does not begin with the one before', ['prefix'], (all) => { all.requests[1].body.messages[0].content = 'another'; }],
        ['a run that asks no model', ['model not asked', 'no end', 'meaning', 'sent'], (all) => all.requests.pop()],
        ['a refusal', ['refused'], (_, run) => { run.status = 409; }],
    ];
    for (const [what, rules, change] of faults) {
        it(`finds ${what}`, () => {
            const found = after(change);
            assert.deepEqual(rules.filter((rule) => !found.includes(rule)), [], `found: ${found.join(', ')}`);
        });
    }

    it('finds clients that disagree', () => {
        const other = seen('1.0.0', 'z');
        other.runs[1].messages.at(-1).content = 'Done';
        other.reloaded.at(-1).content = 'Done';
        assert.ok(['clients disagree', 'threads disagree'].every((rule) => rulesOf(seen(), other).includes(rule)));
    });

    it('finds incremental frames that do not add up', () => {
        const chat = chatSeen();
        chat.runs[0].incremental[0].messages[0].value = 'H';
        assert.ok(['chat modes', 'chat meaning'].every((rule) => rulesOf(chat).includes(rule)));
    });

    it('finds an end that is said too early', () => {
        const chat = chatSeen();
        chat.runs[0].live[0].msgStatus = 'finished';
        assert.deepEqual(rulesOf(chat), ['chat end']);
    });
});

describe('the streams', () => {
    const bytes = (answer, prefix = 'p') => Buffer.concat(render(answer, prefix).pieces).toString();
    const deltas = (answer) => bytes(answer).split('\n\n').filter((each) => each.includes('choices'))
        .map((each) => JSON.parse(each.slice(6)).choices[0].delta);

    it('are the ordinary ones without a style', () => {
        const [begin, ...rest] = deltas(answerOf([{ text: 'Hi.' }]));
        assert.deepEqual(begin, { role: 'assistant', content: '' });
        assert.equal(rest.map((delta) => delta.content ?? '').join(''), 'Hi.');
        assert.ok(bytes(answerOf([{ text: 'Hi.' }])).endsWith('"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'));
    });

    it('have the same bytes however the network cuts them', () => {
        const items = [{ text: 'Grüße 🎨' }, { call }];
        for (const network of ['bytes', 'random']) assert.equal(bytes(answerOf(items, { network })), bytes(answerOf(items)));
    });

    it('may cut a character into its bytes', () => {
        const pieces = render(answerOf([{ text: '🎨' }], { pieces: 'torn' }), 'p').pieces;
        assert.ok(pieces.some((piece) => piece.toString().includes('\ufffd')));
    });

    it('keep the order of each call\'s pieces, and of the texts, when they are woven', () => {
        const items = [{ call }, { call: { name: 'measure', arguments: { color: 'red' } } }, { text: 'after' }];
        for (const order of ['woven', 'text inside', 'late']) {
            for (let random = 1; random <= 20; random += 1) {
                const all = deltas(answerOf(items, { order }, { random }));
                const of = (index) => all.flatMap((delta) => delta.tool_calls ?? []).filter((each) => each.index === index).map((each) => each.function.arguments).join('');
                assert.deepEqual([of(0), of(1)], ['{"color":"blue"}', '{"color":"red"}']);
                assert.equal(all.map((delta) => delta.content ?? '').join(''), 'after');
            }
        }
    });

    it('come again with their seed, and can be made smaller to nothing', () => {
        assert.deepEqual(createCase(11), createCase(11));
        let smallest = createCase(11);
        for (let next = smallest; next; [next] = smaller(next)) smallest = next;
        assert.deepEqual(smallest.turns.map(({ answer }) => [answer.items, answer.style, answer.end]), [[[], {}, 'complete']]);
    });
});
