// Random conversations, as plain data. An answer of the model has `items`, its meaning, and a `style`, the way in which
// its server writes it: a member that is absent is the ordinary way. Each member of a style is one oddity of some server,
// so a failing conversation is made smaller by leaving members and items out.

import { createRandom } from '../../campaign/random.mjs';

/// The tools that clients offer.
export const tools = ['paint', 'paint_over', 'measure'].map((name) => ({
    name, description: `The tool ${name}.`, parameters: { type: 'object', properties: {} },
}));

/// The tool of the server: a call of it is answered within the run. It fails if the arguments say where.
export const serverTool = 'lookup';

// Every member that a style may have, with its values. `needs`: how an answer must be for the member to mean something.
const hasCall = (answer) => answer.items.some((item) => item.call);
const hasText = (answer) => answer.items.some((item) => item.text !== undefined);
const hasThought = (answer) => answer.items.some((item) => item.thought !== undefined);
const hasEmptyCall = (answer) => answer.items.some((item) => item.call && Object.keys(item.call.arguments).length === 0);
const oddities = [
    // The body and its way over the network.
    { member: 'framing', values: ['crlf', 'cr', 'unseparated', 'lines', 'whole', 'whole'] },
    { member: 'byteOrderMark', values: [true] },
    { member: 'comments', values: [true] },
    { member: 'pings', values: [true] },
    { member: 'fields', values: ['event', 'id', 'tight', 'split'] },
    { member: 'done', values: ['missing', 'bare'] },
    { member: 'contentType', values: ['text/event-stream; charset=utf-8', 'application/json', 'text/plain', 'application/x-ndjson', ''] },
    { member: 'transfer', values: ['close', 'length'] },
    { member: 'network', values: ['bytes', 'random', 'random'] },
    { member: 'pace', values: [true] },
    // The chunks.
    { member: 'role', values: ['alone', 'null', 'each', 'absent'] },
    { member: 'nulls', values: [true] },
    { member: 'extras', values: [true] },
    { member: 'empty', values: [true] },
    { member: 'alternatives', values: [true] },
    { member: 'choiceIndex', values: ['absent', 'null'] },
    { member: 'escape', values: [true] },
    { member: 'joined', values: [true], needs: (answer) => hasCall(answer) && (hasText(answer) || hasThought(answer)) },
    { member: 'usage', values: ['end', 'finish', 'choice', 'delta', 'each', 'groq', 'null', 'camel'] },
    { member: 'finish', values: ['stop', 'tool_calls', 'tool_use', 'eos', 'missing', 'last', 'bare', 'twice', 'upper', 'empty', 'native'] },
    { member: 'repeated', values: [true] },
    // Text and reasoning.
    { member: 'pieces', values: ['unit', 'torn', 'one'], needs: (answer) => hasText(answer) || hasThought(answer) },
    { member: 'parts', values: [true], needs: hasText },
    { member: 'reasoning', values: ['reasoning', 'reasoning_text', 'thinking', 'details', 'summary', 'both', 'part'], needs: hasThought },
    // Calls.
    { member: 'ids', values: ['absent', 'each', 'late', 'empty', 'repeated', 'long', 'odd'], needs: hasCall },
    { member: 'index', values: ['absent', 'zero', 'null', 'text', 'from one'], needs: hasCall },
    { member: 'name', values: ['each', 'padded', 'functions'], needs: hasCall },
    { member: 'arguments', values: ['whole', 'unit', 'torn', 'placeholder', 'object', 'encoded', 'twice encoded', 'pretty'],
        needs: hasCall },
    { member: 'noArguments', values: ['absent', 'empty', 'null', 'null text', 'blank'], needs: hasEmptyCall },
    { member: 'callType', values: ['absent', 'each'], needs: hasCall },
    { member: 'legacy', values: [true], needs: (answer) => answer.items.filter((item) => item.call).length === 1 },
    { member: 'order', values: ['woven', 'text inside', 'late'], needs: hasCall },
    { member: 'together', values: [true], needs: (answer) => answer.items.filter((item) => item.call).length > 1 },
    { member: 'glued', values: ['pieces', 'one'], needs: (answer) => answer.items.filter((item) => item.call).length > 1 },
];

/// The agents whose models think aloud in their text, by the setting `reasoning_tags`.
export const agents = { '<think>': 'tagged', '</think>': 'untagged' };

/// How an answer ends. All but `complete` are failures or cuts: `at` is then the share of the answer that comes.
const ends = ['length', 'lost', 'reset', 'error', 'filter'];

const words = [
    'With', ' pleasure', ', I', ' paint', ' it', ' blue', '.', '\n\n', ' Grüße', ' 你好', ' 🎨', ' 👩‍👩‍👧', ' שלום', '\t',
    ' "quoted"', ' \\n', ' {"a":1}',
    ' data: x', ' [DONE]', '\r\n', ' \u2028', ' a < b', ' </think>', ' null', ' 😀😀', '\u0001', ' e\u0301',
];
// Half a pair that has no other half: every reader must see U+FFFD.
const halves = ['\ud83d', '\ude00'];

/// A conversation of up to three random answers, each followed by what the client does then.
export function createCase(seed) {
    const { random, below } = createRandom(seed);
    const pick = (list) => list[below(list.length)];
    const chance = (share) => random() < share;

    function text(most) {
        let out = '';
        for (let count = 1 + below(most); count > 0; count -= 1) out += pick(words);
        return chance(0.05) ? `${out}${pick(halves)} and` : out;
    }

    function value(depth) {
        switch (below(depth > 1 ? 5 : 7)) {
        case 0: return below(1000);
        case 1: return chance(0.5);
        case 2: return null;
        case 5: return Array.from({ length: below(3) }, () => value(depth + 1));
        case 6: return object(depth + 1);
        default: return text(3);
        }
    }

    function object(depth = 0) {
        const out = {};
        for (let count = below(4); count > 0; count -= 1) out[pick(['color', 'where', 'größe', 'a b', '"'])] = value(depth);
        return out;
    }

    function item() {
        const kind = below(10);
        if (kind < 4) return { text: text(8) };
        if (kind < 5) return { thought: text(6) };
        const name = chance(0.15) ? serverTool : pick(tools).name;
        return { call: { name, arguments: chance(0.25) ? {} : object() } };
    }

    function answer() {
        const made = { items: Array.from({ length: below(6) }, item), style: {}, random: below(2 ** 31), end: 'complete' };
        if (chance(0.004)) made.items.unshift({ text: `${'Grüße 🎨 '.repeat(20_000)}.` });
        if (chance(0.12)) Object.assign(made, { end: pick(ends), at: random() });
        for (let count = below(9); count > 0; count -= 1) {
            const { member, values, needs } = pick(oddities);
            if (needs?.(made) ?? true) made.style[member] = pick(values);
        }
        return made;
    }

    const turns = Array.from({ length: 1 + below(3) }, () => ({
        answer: answer(),
        // For a turn that ends in calls of the client: their answers, in what order, with or without a user message; or a
        // user message alone, which abandons them.
        reply: pick(['answers', 'answers', 'answers', 'reversed', 'answers and message', 'message']),
        failed: chance(0.15),
    }));
    return { seed, turns, ...(chance(0.08) && { tags: pick(Object.keys(agents)) }) };
}

/// Cases that are a little smaller, the largest steps first.
export function* smaller(one) {
    const { turns } = one;
    if (one.tags) yield { ...one, tags: undefined };
    for (const at of turns.keys()) if (turns.length > 1) yield { ...one, turns: turns.toSpliced(at, 1) };
    for (const [at, turn] of turns.entries()) {
        const { answer } = turn;
        const withTurn = (change) => ({ ...one, turns: turns.with(at, { ...turn, ...change }) });
        const withAnswer = (change) => withTurn({ answer: { ...answer, ...change } });
        for (const member of Object.keys(answer.style)) {
            const { [member]: dropped, ...style } = answer.style;
            yield withAnswer({ style });
        }
        if (answer.end !== 'complete') yield withAnswer({ end: 'complete' });
        for (const index of answer.items.keys()) yield withAnswer({ items: answer.items.toSpliced(index, 1) });
        if (turn.reply !== 'answers') yield withTurn({ reply: 'answers' });
        if (turn.failed) yield withTurn({ failed: false });
        for (const [index, item] of answer.items.entries()) {
            const withItem = (changed) => withAnswer({ items: answer.items.with(index, changed) });
            for (const kind of ['text', 'thought']) {
                if (item[kind]?.length > 1) yield withItem({ [kind]: item[kind].slice(0, item[kind].length >> 1) });
                if (item[kind]?.length > 1) yield withItem({ [kind]: item[kind].slice(item[kind].length >> 1) });
            }
            for (const key of Object.keys(item.call?.arguments ?? {})) {
                const { [key]: dropped, ...rest } = item.call.arguments;
                yield withItem({ call: { ...item.call, arguments: rest } });
                const plain = { ...item.call.arguments, [key]: 'a' };
                if (item.call.arguments[key] !== 'a') yield withItem({ call: { ...item.call, arguments: plain } });
            }
        }
    }
}
