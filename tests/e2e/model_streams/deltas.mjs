// The meaning of an answer, and the deltas in which its server says it: which members, in which pieces and order.

// A byte of a character that is cut in the middle stands in strings as a character of this private range until the chunk
// is made into bytes. The texts of answers.mjs have none of these.
export const rawByte = 0xe000;

export const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 };

/// For a model that thinks aloud: its thoughts come first, between the tags. Without an opening tag, every text has some.
function aloud(items, tags) {
    const [first, ...others] = items;
    const hasText = items.some((item) => item.text !== undefined);
    if (tags === undefined || !(first?.thought !== undefined || (tags === '</think>' && hasText))) return items;
    const thoughts = `Let me see${(first.thought ?? '').replaceAll(/<\/?think>/g, '').trimEnd()}.`;
    const rest = first.thought === undefined ? items : others;
    const begin = rest.findIndex((item) => item.text !== undefined);
    return [{ aloud: thoughts }, ...rest.map((item, n) => (n === begin ? { text: `So${item.text}` } : item))];
}

/// What an answer means, and the style without the members that contradict each other. `tags`: as the setting. `either`: the server's way of
/// writing calls is ambiguous, so that an error is right, too.
export function meaningOf({ items: all, style: given, end }, tags) {
    const items = aloud(all, tags);
    const style = { ...given };
    const drop = (...members) => members.forEach((member) => delete style[member]);
    const calls = items.filter((item) => item.call);

    const streamed = ['order', 'glued', 'joined', 'together', 'repeated', 'done', 'fields', 'alternatives', 'choiceIndex', 'empty', 'pings'];
    if (style.framing === 'whole') drop(...streamed);
    if (style.framing === 'lines') drop('fields', 'done');
    if (style.framing === 'unseparated') drop('pings');
    if (style.framing === 'unseparated' && style.fields !== 'tight') drop('fields');
    if (style.finish === 'missing' && (style.done === 'missing' || ['lines', 'whole'].includes(style.framing))) drop('finish');
    if (style.legacy) {
        if (calls.length !== 1) drop('legacy');
        else drop('ids', 'index', 'callType', 'glued', 'order', 'together', 'repeated');
    }
    if (style.arguments === 'object') drop('order', 'glued');

    // Two calls of one tool, the second without a beginning of its own.
    const glue = style.glued && calls.findIndex((item, n) => n > 0 && !isEmpty(item.call) && !isEmpty(calls[n - 1].call));
    if (!(glue > 0)) drop('glued');
    else drop('ids', 'index', 'order', 'together', 'repeated', 'joined');
    const meant = items.map((item) => {
        if (!style.glued || item !== calls[glue]) return item;
        return { call: { ...item.call, name: calls[glue - 1].call.name } };
    });

    const numbered = style.index === undefined || style.index === 'from one';
    const named = style.ids === undefined || ['each', 'repeated', 'long', 'odd'].includes(style.ids);
    if (!(numbered || style.ids === 'each') && calls.length > 1 && style.order !== 'text inside') drop('order');
    const order = meant.filter((item) => item.call).map((item) => item.call);
    const repeats = order.filter((call, n) => call.name === order[n + 1]?.name);
    // `{}` may be a placeholder: what follows it cannot be told from another call.
    if (!numbered && repeats.some(isEmpty)) drop('ids');
    const told = style.framing === 'whole' || numbered || named;
    const either = Boolean(style.glued) || (!told && repeats.length > 0);
    const join = (...kinds) => meant.map((item) => kinds.map((kind) => item[kind] ?? '').join('')).join('').toWellFormed();
    return {
        items: meant, tags, style, glue, either, end, calls: order,
        text: join('text'), thought: join('aloud', 'thought'),
        usage: [undefined, 'null'].includes(style.usage) ? undefined
            : { input: usage.prompt_tokens, output: usage.completion_tokens },
    };
}

const isEmpty = (call) => Object.keys(call.arguments).length === 0;

/// Pieces of random sizes, single units, or one.
function split(text, { below }, how) {
    if (text.length > 2000) return text.match(/[^]{1,70000}/g); // A server that sends a long text at once.
    if (how === 'one') return [text];
    const pieces = [];
    for (let at = 0; at < text.length;) {
        const size = how === 'unit' ? 1 : 1 + below(Math.max(4, text.length >> 1));
        pieces.push(text.slice(at, at + size));
        at += size;
    }
    return pieces;
}

function torn(text) {
    const byteToChar = (byte) => String.fromCharCode(byte < 0x80 ? byte : rawByte + byte);
    return Array.from(Buffer.from(text.toWellFormed()), byteToChar).join('');
}

function pieces(text, how, random) {
    return how === 'torn' ? split(torn(text), random) : split(text, random, how);
}

/// Text may come between any two of these pieces: it ends a thought, and no server ends one in a character.
function wholeCharacters(text, how, random) {
    return split(Array.from(text.toWellFormed()), random, how).map((characters) => characters.join(''));
}

export function callId(style, prefix, call, n) {
    switch (style.ids) {
    case 'absent': return undefined;
    case 'empty': return '';
    case 'repeated': return `call_${n}`;
    case 'long': return `portkey-${prefix.padEnd(30, '0')}-${n}`.padEnd(44, 'f');
    case 'odd': return `functions.${call.name}:${n}`;
    default: return `call_${prefix}_${n}`;
    }
}

export function argumentPieces(call, style, random) {
    if (isEmpty(call) && style.noArguments) {
        return { absent: [undefined], empty: [''], null: [null], 'null text': ['null'], blank: [' '] }[style.noArguments];
    }
    const text = JSON.stringify(call.arguments, undefined, style.arguments === 'pretty' ? 2 : 0);
    switch (style.arguments) {
    case 'whole': return [text];
    case 'object': return [call.arguments];
    case 'encoded': return ['', ...split(JSON.stringify(text), random)];
    case 'twice encoded': return ['', ...split(JSON.stringify(JSON.stringify(text)), random)];
    case 'placeholder': return isEmpty(call) ? ['{}'] : ['{}', ...split(text, random)];
    default: return ['', ...pieces(text, style.arguments, random)];
    }
}

export function spelled(name, style) {
    return { padded: ` ${name}\n`, functions: `functions.${name}` }[style.name] ?? name;
}

/// The deltas of a call. `continues`: without a beginning of its own, which glues it to the call before.
function callDeltas(call, n, { style, glue }, prefix, random) {
    const continues = style.glued && n === glue;
    const number = style.glued && n >= glue ? n - 1 : n;
    const odd = { absent: {}, zero: { index: 0 }, null: { index: null }, text: { index: String(number) }, 'from one': { index: number + 1 } };
    const index = odd[style.index] ?? { index: number };
    const id = callId(style, prefix, call, number);
    const type = style.callType === 'absent' ? {} : { type: 'function' };
    return argumentPieces(call, style, random).map((text, at) => {
        const first = at === 0 && !continues;
        const function_ = {
            ...((first || (style.name === 'each' && !continues)) && { name: spelled(call.name, style) }),
            ...(text !== undefined && { arguments: text }),
        };
        if (style.legacy) return { function_call: function_ };
        const hasId = { each: true, late: at === 1 }[style.ids] ?? first;
        const whole = { ...index, ...(hasId && !continues && id !== undefined && { id }),
            ...((first || style.callType === 'each') && type), function: function_ };
        return { tool_calls: [whole] };
    });
}

export function thoughtDelta(text, style) {
    switch (style.reasoning) {
    case 'reasoning': case 'reasoning_text': case 'thinking': return { [style.reasoning]: text };
    case 'details': return { reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] };
    case 'summary': return { reasoning_details: [{ type: 'reasoning.summary', summary: text, index: 0 }] };
    case 'both': return { reasoning: text, reasoning_content: text };
    case 'part': return { content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }] };
    default: return { reasoning_content: text };
    }
}

const textDelta = (text, style) => ({ content: style.parts ? [{ type: 'text', text }] : text });

/// The deltas of the answer, each with its kind, in the order in which the server writes them.
export function deltasOf(meaning, prefix, dice) {
    const { style } = meaning;
    const random = dice(2);
    let n = -1;
    const spoken = meaning.items.filter((item) => item.aloud !== undefined)
        .flatMap((item) => pieces(betweenTags(item, meaning.tags), style.pieces, random))
        .map((piece) => ({ kind: 'text', delta: textDelta(piece, style) }));
    const groups = meaning.items.filter((item) => item.aloud === undefined).map((item) => {
        if (item.call) n += 1;
        const cut = item.thought !== undefined && style.order === 'text inside' ? wholeCharacters : pieces;
        const deltas = item.call ? callDeltas(item.call, n, meaning, prefix, random)
            : cut(item.text ?? item.thought, style.pieces, random)
                .map((piece) => (item.text === undefined ? thoughtDelta(piece, style) : textDelta(piece, style)));
        const kind = item.call ? 'call' : item.text === undefined ? 'thought' : 'text';
        return deltas.map((delta) => ({ kind, delta }));
    });
    // The second of two glued calls goes on where the first one ended.
    if (style.glued === 'one') joinArguments(groups, meaning);
    return [...spoken, ...inOrder(groups, style, dice(3))];
}

export const betweenTags = (item, tags) => `${tags === '<think>' ? tags : ''}\n${item.aloud}\n</think>\n\n`;

function inOrder(groups, style, random) {
    if (style.order === 'late') return late(groups);
    if (style.order === 'woven') return woven(groups, (group) => group[0]?.kind === 'call', random);
    if (style.order === 'text inside') return woven(groups, undefined, random, true);
    return groups.flat();
}

function joinArguments(groups, { glue, items }) {
    const places = items.filter((item) => item.aloud === undefined).flatMap((item, at) => (item.call ? [at] : []));
    const [before, behind] = [groups[places[glue - 1]], groups[places[glue]]];
    const last = before.at(-1).delta.tool_calls[0].function;
    last.arguments += behind.splice(0).map(({ delta }) => delta.tool_calls[0].function.arguments).join('');
}

/// The last piece of the first call comes at the end of the answer.
function late(groups) {
    const call = groups.find((group) => group[0]?.kind === 'call');
    if (!call || call.length < 2) return groups.flat();
    const piece = call.pop();
    return [...groups.flat(), piece];
}

/// Neighbouring groups that `which` takes are written in turns; with `texts`, one call and the text around it.
function woven(groups, which, { below }, texts = false) {
    const out = [];
    for (let at = 0; at < groups.length;) {
        let end = at + 1;
        if (texts) {
            while (end < groups.length && groups.slice(at, end + 1).filter((group) => group[0]?.kind === 'call').length <= 1) end += 1;
        } else if (which(groups[at])) {
            while (end < groups.length && which(groups[end])) end += 1;
        }
        out.push(...inTurns(groups.slice(at, end), below));
        at = end;
    }
    return out;
}

/// Each queue keeps its order, and calls begin in the order of their queues. Texts are one queue: theirs has an order, too.
function inTurns(groups, below) {
    const queues = [];
    for (const group of groups.filter((each) => each.length > 0)) {
        const others = queues.find((queue) => queue[0].kind === group[0].kind && group[0].kind !== 'call');
        if (others) others.push(...group);
        else queues.push([...group]);
    }
    const begun = queues.map(() => 0);
    const out = [];
    for (;;) {
        const open = [...queues.keys()].filter((n) => begun[n] < queues[n].length);
        if (open.length === 0) return out;
        const waits = (n) => queues[n][0].kind === 'call' && queues.slice(0, n).some((queue, m) => queue[0].kind === 'call' && begun[m] === 0);
        const allowed = open.filter((n) => !waits(n));
        const n = allowed[below(allowed.length)];
        out.push(queues[n][begun[n]]);
        begun[n] += 1;
    }
}

/// Calls that begin in a row share a chunk; or a text and the call after it.
export function joined(deltas, style) {
    const rank = { thought: 0, text: 1, call: 2 };
    const out = [];
    for (const each of deltas) {
        const last = out.at(-1);
        const both = last && (style.together && last.kind === 'call' && each.kind === 'call' && !style.legacy
            || style.joined && rank[last.kind] < rank[each.kind] && !Object.keys(each.delta).some((name) => name in last.delta));
        if (!both) out.push(each);
        else if (each.kind === 'call' && last.kind === 'call') {
            last.delta = { ...last.delta, tool_calls: [...last.delta.tool_calls, ...each.delta.tool_calls] };
        } else out[out.length - 1] = { kind: each.kind, delta: { ...last.delta, ...each.delta } };
    }
    return out;
}
