// The parts of the example page that need no page: JSON Patches, and what each event changes in a thread.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { describe, it } from 'node:test';
import { applyPatch } from '../../examples/externaltool/web/json_patch.js';
import { Thread } from '../../examples/externaltool/web/thread.js';

const reference = createRequire(import.meta.url)('fast-json-patch');

/// Numbers below `limit` from a seed, the same in each run.
function makeRandom(seed) {
    let state = seed;
    return (limit) => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return Math.floor((state / 2 ** 32) * limit);
    };
}

describe('applyPatch', () => {
    const document = { title: 'List', items: [{ text: 'tea', done: false }], 'a/b': { '~': 1 } };

    const cases = [
        [[{ op: 'add', path: '/items/-', value: 1 }], { ...document, items: [document.items[0], 1] }],
        [[{ op: 'add', path: '/items/0', value: 1 }], { ...document, items: [1, document.items[0]] }],
        [[{ op: 'replace', path: '/a~1b/~0', value: 2 }], { ...document, 'a/b': { '~': 2 } }],
        [[{ op: 'remove', path: '/items/0/done' }], { ...document, items: [{ text: 'tea' }] }],
        [[{ op: 'move', from: '/items/0', path: '/first' }], { ...document, items: [], first: document.items[0] }],
        [[{ op: 'copy', from: '/title', path: '/items/0' }], { ...document, items: ['List', document.items[0]] }],
        [[{ op: 'test', path: '/items/0', value: { done: false, text: 'tea' } }], document],
        [[{ op: 'replace', path: '', value: [1] }], [1]],
        [[{ op: 'replace', path: '', value: {} }, { op: 'add', path: '/x', value: null }], { x: null }],
    ];
    for (const [patch, wanted] of cases) {
        it(`applies ${JSON.stringify(patch)}`, () => assert.deepEqual(applyPatch(document, patch), wanted));
    }

    const refused = [
        [{ op: 'add', path: '/items/2', value: 1 }],
        [{ op: 'add', path: '/none/x', value: 1 }],
        [{ op: 'add', path: '/title/x', value: 1 }],
        [{ op: 'add', path: 'title', value: 1 }],
        [{ op: 'remove', path: '/none' }],
        [{ op: 'remove', path: '/items/length' }],
        [{ op: 'replace', path: '/items/-', value: 1 }],
        [{ op: 'replace', path: '/constructor', value: 1 }],
        [{ op: 'test', path: '/title', value: 'Other' }],
        [{ op: 'move', from: '/none', path: '/x' }],
        [{ op: 'paint', path: '/title' }],
        [{ op: 'replace', path: '/title', value: 'Changed' }, { op: 'remove', path: '/none' }],
    ];
    for (const patch of refused) {
        it(`refuses ${JSON.stringify(patch)} and changes nothing`, () => {
            const before = structuredClone(document);
            assert.throws(() => applyPatch(document, patch));
            assert.deepEqual(document, before);
        });
    }

    it('adds a member called __proto__ like any other', () => {
        const changed = applyPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }]);
        assert.equal({}.polluted, undefined);
        assert.equal(changed.polluted, undefined);
        assert.ok(Object.hasOwn(changed, '__proto__'));
    });

    it('does what another implementation makes of 2000 differences', () => {
        const random = makeRandom(1);
        const value = (depth) => {
            const kind = random(depth > 2 ? 3 : 5);
            if (kind === 0) return random(5);
            if (kind === 1) return ['', 'a', 'b/c~d'][random(3)];
            if (kind === 2) return [null, true, false][random(3)];
            if (kind === 3) return Array.from({ length: random(4) }, () => value(depth + 1));
            return Object.fromEntries(Array.from({ length: random(4) }, () => [['a', 'b', '~/', ''][random(4)], value(depth + 1)]));
        };
        for (let count = 0; count < 2000; ++count) {
            const [before, after] = [{ root: value(0) }, { root: value(0) }];
            assert.deepEqual(applyPatch(before, reference.compare(before, after)), after);
        }
    });
});

describe('Thread', () => {
    const started = { type: 'RUN_STARTED', threadId: 't', runId: 'r' };
    const after = (...events) => {
        const thread = new Thread('t');
        for (const event of [started, ...events]) thread.apply(event);
        return thread;
    };
    const finished = (outcome) => ({ type: 'RUN_FINISHED', threadId: 't', runId: 'r', outcome });

    it('joins a message that is opened again', () => {
        const thread = after(
            { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' }, { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'a' },
            { type: 'TEXT_MESSAGE_END', messageId: 'm' }, { type: 'TOOL_CALL_START', toolCallId: 'c', toolCallName: 'f', parentMessageId: 'm' },
            { type: 'TOOL_CALL_ARGS', toolCallId: 'c', delta: '{}' }, { type: 'TEXT_MESSAGE_START', messageId: 'm', role: 'assistant' },
            { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'b' });
        assert.equal(thread.messages.length, 1);
        assert.equal(thread.messages[0].content, 'ab');
        assert.equal(thread.call('c').function.arguments, '{}');
    });

    it('keeps what waits after an error, and forgets it after a success', () => {
        const interrupts = [{ id: 'i', reason: 'tool_call' }];
        const thread = after(finished({ type: 'interrupt', interrupts }), started, { type: 'RUN_ERROR', message: 'no' });
        assert.deepEqual(thread.interrupts, interrupts);
        thread.apply(started);
        thread.apply(finished());
        assert.deepEqual(thread.interrupts, []);
    });

    it('has no calls to execute after a failed or stopped run', () => {
        const pending = finished({ type: 'success', pendingToolCallIds: ['c'] });
        assert.deepEqual([...after(pending).pending], ['c']);
        assert.equal(after(pending, started, { type: 'RUN_ERROR', message: 'no' }).pending.size, 0);
        const stopped = after(
            pending, started, { type: 'CUSTOM', name: 'agui-gateway.run.stopped', value: { reason: 'user_stop' } }, finished({ type: 'cancelled' }));
        assert.equal(stopped.pending.size, 0);
        assert.deepEqual(stopped.local.map(({ content }) => content), ['Stopped']);
    });

    it('replaces an activity only if the event says so', () => {
        const shown = (content, more) => ({ type: 'ACTIVITY_SNAPSHOT', messageId: 'a', activityType: 'x', content, ...more });
        const thread = after(shown({ n: 1 }), shown({ n: 2 }, { replace: false }));
        assert.deepEqual(thread.message('a').content, { n: 1 });
        thread.apply(shown({ n: 3 }));
        thread.apply({ type: 'ACTIVITY_DELTA', messageId: 'a', activityType: 'x', patch: [{ op: 'replace', path: '/n', value: 4 }] });
        assert.deepEqual(thread.message('a').content, { n: 4 });
        assert.equal(thread.messages.length, 1);
    });

    it('takes its messages from a snapshot, and changes on from there', () => {
        const thread = after(
            { type: 'MESSAGES_SNAPSHOT', messages: [{ id: 'u', role: 'user', content: 'hello' }, { id: 'm', role: 'assistant', content: 'a' }] },
            { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: 'b' });
        assert.deepEqual(thread.messages.map(({ content }) => content), ['hello', 'ab']);
    });

    it('ignores events that it does not know', () => {
        assert.deepEqual(after({ type: 'RAW', event: {} }, { type: 'LATER_INVENTION' }).messages, []);
    });
});
