// The forms of a RunAgentInput that the gateway reads although the protocol has others: the documented leniencies
// (translator/input/run_input.hpp). A request that is put into the protocol's forms must be valid.

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value);
const snakeCase = (name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/// The members of these names. null counts as absent, snake_case is read if camelCase is absent, others are ignored.
function members(value, names) {
    if (!isObject(value)) return value;
    const out = {};
    for (const name of names) {
        const given = Object.hasOwn(value, name) ? value[name] : value[snakeCase(name)];
        if (given !== undefined && given !== null) out[name] = given;
    }
    return out;
}

const each = (list, read) => (Array.isArray(list) ? list.map(read).filter((value) => value !== undefined) : list);
const kinds = ['text', 'image', 'audio', 'video', 'document'];
const roles = ['developer', 'system', 'user', 'assistant', 'tool', 'activity', 'reasoning'];

/// undefined: the part is dropped, because its kind or that of its source is unknown.
function part(value) {
    if (!isObject(value) || typeof value.type !== 'string' || !kinds.includes(value.type)) return undefined;
    const { text, source, id, metadata } = members(value, ['text', 'source', 'id', 'metadata']);
    if (isObject(source) && typeof source.type === 'string' && !['data', 'url', 'file'].includes(source.type)) return undefined;
    const kept = { type: value.type, ...(id !== undefined && { id }), ...(metadata !== undefined && { metadata }) };
    if (value.type === 'text') return { ...kept, text };
    if (!isObject(source)) return { ...kept, source };
    const names = ['value', 'mimeType', ...(source.type === 'file' ? ['provider'] : [])];
    return { ...kept, source: { type: source.type, ...members(source, names) } };
}

function call(value) {
    const out = members(value, ['id', 'type', 'function', 'encryptedValue', 'encryptedValueType', 'metadata']);
    if (!isObject(out)) return out;
    if (out.encryptedValue === undefined) delete out.encryptedValueType;
    // There is only one type of calls, so the name of another does not matter.
    if (out.type === undefined || typeof out.type === 'string') out.type = 'function';
    return { ...out, function: isObject(out.function) ? { arguments: '', ...members(out.function, ['name', 'arguments']) } : out.function };
}

function message(value) {
    if (isObject(value) && typeof value.role === 'string' && !roles.includes(value.role)) return undefined;
    const own = {
        assistant: ['name', 'toolCalls'], tool: ['toolCallId', 'error'], activity: ['activityType'], reasoning: [],
    }[value?.role] ?? ['name'];
    const out = members(value, ['id', 'role', 'content', 'metadata', 'subagentRunId',
        ...(value?.role === 'activity' ? [] : ['encryptedValue', 'encryptedValueType']), ...own]);
    if (!isObject(out)) return out;
    if (out.encryptedValue === undefined) delete out.encryptedValueType;
    out.id ??= 'made';
    out.content ??= value.role === 'activity' ? {} : '';
    if (Array.isArray(out.content)) out.content = each(out.content, part);
    if (out.toolCalls !== undefined) out.toolCalls = each(out.toolCalls, call);
    return out;
}

export function leniently(input) {
    const out = members(input, ['threadId', 'runId', 'protocolVersion', 'parentRunId', 'state', 'messages', 'tools',
        'context', 'forwardedProps', 'resume']);
    if (!isObject(out)) return out;
    out.messages = each(out.messages, message);
    if (out.tools !== undefined) {
        out.tools = each(out.tools, (tool) => {
            const read = members(tool, ['name', 'description', 'parameters', 'metadata']);
            return isObject(read) ? { description: '', ...read } : read;
        });
    }
    if (out.context !== undefined) {
        out.context = each(out.context, (entry) => {
            const read = members(entry, ['description', 'value']);
            return isObject(read) ? { description: '', ...read } : read;
        });
    }
    if (out.resume !== undefined) {
        out.resume = each(out.resume, (entry) => members(entry, ['interruptId', 'status', 'payload', 'metadata']));
    }
    return out;
}
