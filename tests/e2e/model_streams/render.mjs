// Writes an answer as its server would: the bytes of the body, in the pieces in which they leave.

import { createRandom } from '../../campaign/random.mjs';
import { argumentPieces, betweenTags, callId, deltasOf, joined, meaningOf, rawByte, spelled, thoughtDelta, usage } from './deltas.mjs';

/// `prefix` makes the ids of calls unique. Resolves to { contentType, transfer, pieces, reset, pace, ...meaningOf() }.
export function render(answer, prefix, tags) {
    const meaning = meaningOf(answer, tags);
    const { style, end } = meaning;
    // Each part has numbers of its own, so that a smaller answer is written the same way in all else.
    const dice = (part) => createRandom(answer.random + part);
    const body = style.framing === 'whole' ? wholeBody(meaning, prefix, answer.at) : streamedBody(meaning, prefix, dice, answer.at);
    const contentType = style.contentType ??
        { whole: 'application/json', lines: 'application/x-ndjson' }[style.framing] ?? 'text/event-stream';
    const mark = style.byteOrderMark ? [Buffer.from('\ufeff')] : [];
    return { ...meaning, contentType, transfer: style.transfer, pace: style.pace, reset: end === 'reset',
        pieces: cut([...mark, ...body], style.network, dice(1)) };
}

function finishName(meaning) {
    const right = meaning.calls.length > 0 ? 'tool_calls' : 'stop';
    const { style, end } = meaning;
    if (end === 'length') return 'length';
    if (end === 'filter') return 'content_filter';
    const named = { stop: 'stop', tool_calls: 'tool_calls', tool_use: 'tool_use', eos: 'eos_token', upper: right.toUpperCase() };
    return named[style.finish] ?? right;
}

function chunk(choices, style) {
    const extras = style.extras && { system_fingerprint: 'fp_1', service_tier: null, provider: 'x', obfuscation: 'abc' };
    return { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'mock', choices, ...extras };
}

function choice(delta, style, finish = style.finish === 'empty' ? '' : null) {
    const nulls = style.nulls && { content: null, tool_calls: null, function_call: null, refusal: null, reasoning_content: null, audio: null };
    const role = style.role === 'each' && { role: 'assistant' };
    const extras = style.extras && { logprobs: { content: [] }, stop_reason: null };
    const index = { absent: {}, null: { index: null } }[style.choiceIndex] ?? { index: 0 };
    return { ...index, delta: { ...nulls, ...role, ...delta }, finish_reason: finish, ...extras };
}

function wholeMessage(meaning, prefix) {
    const { style } = meaning;
    const once = { ...style, arguments: style.arguments === 'object' ? 'object' : 'whole' };
    const tool_calls = meaning.calls.map((call, n) => ({
        id: callId(style, prefix, call, n), type: 'function',
        function: { name: spelled(call.name, style), arguments: argumentPieces(call, once)[0] },
    }));
    const text = meaning.items.map((item) => (item.aloud ? betweenTags(item, meaning.tags) : item.text ?? '')).join('');
    const thought = meaning.items.map((item) => item.thought ?? '').join('');
    return {
        role: 'assistant', content: text === '' ? null : text, ...(tool_calls.length > 0 && { tool_calls }),
        ...(thought !== '' && thoughtDelta(thought, style.reasoning === 'part' ? {} : style)),
    };
}

/// The chunks of a streamed answer; `at` is the share of it that comes if it does not end well.
function chunksOf(meaning, prefix, dice, at) {
    const { style, end } = meaning;
    const { below } = dice(4);
    let deltas = joined(deltasOf(meaning, prefix, dice), style);
    if (end !== 'complete') deltas = deltas.slice(0, Math.floor(at * (deltas.length + 1)));
    const begin = { alone: { role: 'assistant' }, null: { role: 'assistant', content: null }, absent: undefined }[style.role ?? ''];
    const chunks = style.role === 'absent' ? [] : [chunk([choice(begin ?? { role: 'assistant', content: '' }, style)], style)];
    for (const { delta } of deltas) {
        if (style.empty && below(3) === 0) {
            const nothing = [[choice({}, style)], [choice({ content: '' }, style)], [choice({ tool_calls: [] }, style)], [], [choice({ reasoning_content: '' }, style)]];
            chunks.push(chunk(nothing[below(nothing.length)], style));
        }
        if (style.alternatives && below(3) === 0) chunks.push(chunk([{ ...choice({ content: 'another answer' }, style), index: 1 }], style));
        chunks.push(chunk([choice(delta, style)], style));
    }
    if (['lost', 'reset'].includes(end)) return chunks;
    if (end === 'error') return [...chunks, { error: { message: 'The engine is overloaded.', type: 'server_error', code: 503 } }];

    const complete = end === 'complete';
    const last = chunks.at(-1)?.choices[0];
    const repeated = complete && style.repeated && { message: wholeMessage(meaning, prefix) };
    if (!(complete && style.finish === 'missing') || chunks.length === 0) {
        const native = style.finish === 'native' && { native_finish_reason: 'STOP' };
        if (complete && style.finish === 'last' && last && last.index !== 1) last.finish_reason = finishName(meaning);
        else if (style.finish === 'bare') chunks.push(chunk([{ index: 0, finish_reason: finishName(meaning), ...repeated }], style));
        else chunks.push(chunk([{ ...choice({}, style, finishName(meaning)), ...native, ...repeated }], style));
        if (style.finish === 'twice') chunks.push(chunk([choice({}, style, finishName(meaning))], style));
    }
    addUsage(chunks, style);
    return chunks;
}

function addUsage(chunks, style) {
    const last = chunks.at(-1);
    const choiceOf = last.choices[0];
    switch (style.usage) {
    case 'end': chunks.push({ ...chunk([], style), usage }); break;
    case 'camel': chunks.push({ ...chunk([], style), usage: { inputTokens: 11, outputTokens: 7, totalTokens: 18 } }); break;
    case 'finish': last.usage = usage; break;
    case 'choice': if (choiceOf) choiceOf.usage = usage; else last.usage = usage; break;
    case 'delta': if (choiceOf?.delta) choiceOf.delta.usage = usage; else last.usage = usage; break;
    case 'groq': last.x_groq = { id: 'req_1', usage }; break;
    case 'each': chunks.forEach((each, n) => { each.usage = { ...usage, completion_tokens: n === chunks.length - 1 ? 7 : 1 }; }); break;
    case 'null': chunks.forEach((each) => { each.usage = null; }); break;
    default:
    }
}

/// JSON as bytes. `escape`: nothing but ASCII.
function encode(value, style, indent) {
    let text = JSON.stringify(value, undefined, indent);
    if (style.escape) {
        text = text.replace(/[\u0080-\udfff\uf000-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
    }
    if (!/[\ue080-\ue0ff]/.test(text)) return Buffer.from(text);
    return Buffer.concat(text.split(/([\ue080-\ue0ff])/).map((part) => (
        /^[\ue080-\ue0ff]$/.test(part) ? Buffer.from([part.charCodeAt(0) - rawByte]) : Buffer.from(part))));
}

function streamedBody(meaning, prefix, dice, at) {
    const { style, end } = meaning;
    const { below } = dice(5);
    const eol = { crlf: '\r\n', cr: '\r' }[style.framing] ?? '\n';
    const lines = style.framing === 'lines';
    const gap = ['lines', 'unseparated'].includes(style.framing) ? '' : eol;
    const lead = style.fields === 'tight' ? 'data:' : 'data: ';
    const body = [];
    const add = (...parts) => body.push(Buffer.concat(parts.map((part) => Buffer.from(part))));
    for (const [n, value] of chunksOf(meaning, prefix, dice, at).entries()) {
        if (style.comments && below(3) === 0) add(lines ? eol : `: keep-alive${eol}${gap}`);
        if (style.pings && !lines && below(3) === 0) add(`event: ping${eol}data: {"type":"ping"}${eol}${gap}`);
        if (lines) add(encode(value, style), eol);
        else if (style.fields === 'split') {
            const text = encode(value, style, 1).toString('latin1').split('\n').map((line) => `${lead}${line}${eol}`).join('');
            add(Buffer.from(text, 'latin1'), gap);
        } else {
            const before = { event: `event: chunk${eol}`, id: `id: ${n}${eol}retry: 10${eol}` }[style.fields] ?? '';
            add(before, lead, encode(value, style), eol, gap);
        }
    }
    const ending = end === 'complete' || end === 'length' || end === 'filter';
    if (ending && style.done !== 'missing' && !lines) add(`${lead}[DONE]`, style.done === 'bare' ? '' : eol + gap);
    return body;
}

function wholeBody(meaning, prefix, at) {
    const { style, end } = meaning;
    if (end === 'error') return [encode({ error: { message: 'The engine is overloaded.', code: 503 } }, style)];
    const message = wholeMessage(meaning, prefix);
    const value = { ...chunk([{ index: 0, message, finish_reason: finishName(meaning) }], style), object: 'chat.completion' };
    addUsage([value], style.usage === 'delta' || style.usage === 'end' ? { usage: 'finish' } : style);
    if (style.usage === 'camel') value.usage = { inputTokens: 11, outputTokens: 7 };
    const body = encode(value, style, style.extras ? 2 : 0);
    const parts = style.comments ? [Buffer.from('\n \r\n'), body] : [body];
    return ['lost', 'reset'].includes(end) ? [body.subarray(0, Math.floor(at * body.length))] : parts;
}

/// The pieces in which the network takes the bytes.
function cut(body, network, { below }) {
    if (network === undefined) return body;
    const bytes = Buffer.concat(body);
    const out = [];
    for (let at = 0; at < bytes.length;) {
        const size = network === 'bytes' && bytes.length < 4000 ? 1 : 1 + below(Math.max(40, bytes.length >> 5));
        out.push(bytes.subarray(at, at + size));
        at += size;
    }
    return out;
}
