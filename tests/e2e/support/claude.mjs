// A server that speaks Messages as strictly as Claude: it signs its thoughts, and refuses those that come back changed, or
// with another conversation before them. It pauses in the middle of a search, and takes back neither a text nor a question
// that it refused.

import { StrictServer } from './strict_server.mjs';

const versions = ['2023-06-01', '2026-10-21']; // The vendor's own clients send the second.
const bindingBeta = 'thinking-binding-controls-2026-08-01';
const toolsBeta = 'inline-tools-2026-09-15';

function event(type, members = {}) {
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/// The value without the marks of the prompt cache, which are no part of what the model reads.
function unmarked(value) {
    return JSON.parse(JSON.stringify(value, (key, member) => (key === 'cache_control' ? undefined : member)));
}

export class Claude extends StrictServer {
    idHeader = 'request-id';
    dropped = 0; // Thoughts that came back after another conversation.
    paused = undefined; // The content of the last answer as JSON, if it is a pause.
    withdrawn = []; // Texts that no request may hold.
    signed = new Map(); // By signature: the thought, and what stood before it.

    refusal(message) {
        return { type: 'error', error: { type: 'invalid_request_error', message } };
    }

    problem({ url, headers }, body) {
        if (url !== '/v1/messages') return `POST ${url}`;
        const key = headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', '');
        if (key !== 'sk-ant-test-key-of-e2e' || !versions.includes(headers['anthropic-version'])) return 'headers';
        if (!(body.max_tokens > 0) || body.stream !== true) return 'max_tokens, stream';
        for (const setting of ['temperature', 'top_p', 'top_k']) if (setting in body) return `${setting} is refused`;
        if (JSON.stringify(body).split('"cache_control"').length > 5) return 'more than four marks';
        const all = JSON.stringify(body.messages);
        if (this.withdrawn.some((text) => all.includes(text))) return 'a text that was refused';
        let open = [];
        for (const [index, { role, content }] of body.messages.entries()) {
            const former = body.messages[index - 1]?.role ?? 'assistant';
            const follows = { user: ['assistant'], system: ['user'], assistant: ['user', 'system'] }[role];
            if (!follows?.includes(former)) return `messages.${index}: role ${role}`;
            const additions = content.filter((block) => block.type === 'tool_addition');
            if (additions.length > 0 && (role !== 'system' || !headers['anthropic-beta']?.split(',').includes(toolsBeta))) {
                return `messages.${index}: tool_addition`;
            }
            for (const { tool } of additions) {
                if (tool.type !== 'tool_definition' || !tool.definition.name || tool.definition.input_schema.type !== 'object') {
                    return `messages.${index}: ${JSON.stringify(tool)}`;
                }
            }
            if (role === 'system' && content.some(({ type }) => !['text', 'tool_addition'].includes(type))) {
                return `messages.${index}: content of a system message`;
            }
            const results = content.filter((block) => block.type === 'tool_result');
            if (results.length !== open.length || results.some((block, at) => content[at] !== block || block.tool_use_id !== open[at])) {
                return `messages.${index}: results of ${open}`;
            }
            open = content.filter((block) => block.type === 'tool_use').map((block) => block.id);
            const searches = content.filter((block) => block.type === 'server_tool_use');
            if (index + 1 < body.messages.length &&
                searches.some(({ id }) => !content.some((block) => block.tool_use_id === id))) {
                return `messages.${index}: a search without a result`;
            }
            if (content.some((block) => block.type === 'text' && !block.text.trim())) return `messages.${index}: empty text`;
            for (const block of content.filter(({ type }) => type === 'thinking')) {
                const known = this.signed.get(block.signature);
                if (known?.thinking !== block.thinking) return `messages.${index}: Invalid signature in thinking block`;
                this.returned += 1;
                if (known.before === this.before(body, index)) continue;
                const drops = body.thinking?.block_binding?.prefix_mismatch_behavior === 'drop_block' &&
                    headers['anthropic-beta']?.split(',').includes(bindingBeta);
                if (!drops) return `messages.${index}: the block is bound to a different conversation`;
                this.dropped += 1;
            }
        }
        const last = body.messages.at(-1);
        if (last.role !== 'assistant') return undefined;
        return JSON.stringify(unmarked(last.content)) === this.paused ? undefined : 'the last message is the assistant\'s';
    }

    /// Everything in front of a message.
    before({ system, tools, messages }, index) {
        return JSON.stringify(unmarked({ system, tools, messages: messages.slice(0, index) }));
    }

    /// Thinks; calls the first tool if the last text speaks of paint, searches and pauses if it speaks of a search, refuses
    /// in the middle of a text if it is forbidden, otherwise says something.
    answer(body) {
        const thinking = `Thought ${this.signed.size}`;
        const signature = `c2ln${this.signed.size}+/=`;
        const goesOn = body.messages.at(-1).role === 'assistant';
        // What follows a pause is a part of the same message.
        this.signed.set(signature, { thinking, before: this.before(body, body.messages.length - (goesOn ? 1 : 0)) });
        const last = body.messages.at(-1).content.at(-1);
        const about = (word) => last.type === 'text' && last.text.includes(word);
        const block = (index, content_block, deltas = []) => event('content_block_start', { index, content_block }) +
            deltas.map((delta) => event('content_block_delta', { index, delta })).join('') + event('content_block_stop', { index });
        const thought = (index) => block(index, { type: 'thinking', thinking: '', signature: '' },
            [{ type: 'thinking_delta', thinking }, { type: 'signature_delta', signature }]);
        const text = (index, pieces) => block(index, { type: 'text', text: '' },
            pieces.map((piece) => ({ type: 'text_delta', text: piece })));
        const id = `srvtoolu_${this.signed.size}`;
        let blocks;
        let reason = 'end_turn';
        this.paused = undefined;
        if (goesOn) {
            blocks = block(0, { type: 'web_search_tool_result', tool_use_id: last.id, content: [] }) + thought(1) + text(2, ['Found', ' it.']);
        } else if (about('forbidden')) {
            blocks = thought(0) + text(1, ['I could']);
            reason = 'refusal';
            this.withdrawn.push('I could', last.text);
        } else if (about('search')) {
            const search = { type: 'server_tool_use', id, name: 'web_search', input: {} };
            blocks = thought(0) + block(1, search);
            reason = 'pause_turn';
            this.paused = JSON.stringify([{ type: 'thinking', thinking, signature }, search]);
        } else if (body.tools && about('paint')) {
            blocks = thought(0) + block(1, { type: 'tool_use', id: `toolu_${this.signed.size}`, name: body.tools[0].name, input: {} },
                ['', '{"col', 'or": "blue"}'].map((partial_json) => ({ type: 'input_json_delta', partial_json })));
            reason = 'tool_use';
        } else {
            blocks = thought(0) + text(1, ['It is ', 'done.']);
        }
        return event('message_start', {
            message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null,
                usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } },
        }) + event('ping') + blocks +
            event('message_delta', { delta: { stop_reason: reason }, usage: { output_tokens: 20 } }) + event('message_stop');
    }
}
