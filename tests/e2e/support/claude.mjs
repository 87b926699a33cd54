// A server that speaks Messages as strictly as Claude: it signs its thoughts, and refuses those that come back changed, or
// with another conversation before them.

import http from 'node:http';

const api = '2023-06-01';
const bindingBeta = 'thinking-binding-controls-2026-08-01';

function event(type, members = {}) {
    return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/// The value without the marks of the prompt cache, which are no part of what the model reads.
function unmarked(value) {
    return JSON.parse(JSON.stringify(value, (key, member) => (key === 'cache_control' ? undefined : member)));
}

export class Claude {
    static async start() {
        const claude = new Claude();
        claude.requests = []; // Bodies.
        claude.refusals = [];
        claude.returned = 0; // Thoughts that came back.
        claude.dropped = 0; // Thoughts that came back after another conversation.
        claude.signed = new Map(); // By signature: the thought, and what stood before it.
        claude.server = http.createServer((request, response) => claude.serve(request, response));
        await new Promise((resolve) => claude.server.listen(0, '127.0.0.1', resolve));
        claude.url = `http://127.0.0.1:${claude.server.address().port}`;
        return claude;
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }

    async serve(request, response) {
        let text = '';
        for await (const chunk of request) text += chunk;
        const body = JSON.parse(text);
        this.requests.push(body);
        const wrong = this.problem(request, body);
        if (wrong) {
            this.refusals.push(wrong);
            response.writeHead(400, { 'content-type': 'application/json' });
            response.end(JSON.stringify({ type: 'error', error: { type: 'invalid_request_error', message: wrong } }));
            return;
        }
        response.writeHead(200, { 'content-type': 'text/event-stream', 'request-id': `req_${this.requests.length}` });
        const answer = Buffer.from(this.answer(body));
        for (let at = 0; at < answer.length; at += 61) response.write(answer.subarray(at, at + 61));
        response.end();
    }

    problem({ url, headers }, body) {
        if (url !== '/v1/messages') return `POST ${url}`;
        if (headers['x-api-key'] !== 'sk-ant-test-key-of-e2e' || headers['anthropic-version'] !== api) return 'headers';
        if (!(body.max_tokens > 0) || body.stream !== true) return 'max_tokens, stream';
        for (const setting of ['temperature', 'top_p', 'top_k']) if (setting in body) return `${setting} is refused`;
        if (JSON.stringify(body).split('"cache_control"').length > 5) return 'more than four marks';
        let open = [];
        for (const [index, { role, content }] of body.messages.entries()) {
            if (role !== (index % 2 === 0 ? 'user' : 'assistant')) return `messages.${index}: role ${role}`;
            const results = content.filter((block) => block.type === 'tool_result');
            if (results.length !== open.length || results.some((block, at) => content[at] !== block || block.tool_use_id !== open[at])) {
                return `messages.${index}: results of ${open}`;
            }
            open = content.filter((block) => block.type === 'tool_use').map((block) => block.id);
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
        return body.messages.length % 2 === 1 ? undefined : 'the last message is the assistant\'s';
    }

    /// Everything in front of a message.
    before({ system, tools, messages }, index) {
        return JSON.stringify(unmarked({ system, tools, messages: messages.slice(0, index) }));
    }

    /// Thinks; calls the first tool if the last text speaks of paint, otherwise says something.
    answer(body) {
        const thinking = `Thought ${this.signed.size}`;
        const signature = `c2ln${this.signed.size}+/=`;
        this.signed.set(signature, { thinking, before: this.before(body, body.messages.length) });
        const last = body.messages.at(-1).content.at(-1);
        const calls = body.tools && last.type === 'text' && last.text.includes('paint');
        const block = (index, content_block, deltas) => event('content_block_start', { index, content_block }) +
            deltas.map((delta) => event('content_block_delta', { index, delta })).join('') + event('content_block_stop', { index });
        return event('message_start', {
            message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], stop_reason: null,
                usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 1 } },
        }) + event('ping') +
            block(0, { type: 'thinking', thinking: '', signature: '' },
                [{ type: 'thinking_delta', thinking }, { type: 'signature_delta', signature }]) +
            (calls
                ? block(1, { type: 'tool_use', id: `toolu_${this.signed.size}`, name: body.tools[0].name, input: {} },
                    ['', '{"col', 'or": "blue"}'].map((partial_json) => ({ type: 'input_json_delta', partial_json })))
                : block(1, { type: 'text', text: '' },
                    ['It is ', 'done.'].map((text) => ({ type: 'text_delta', text })))) +
            event('message_delta', { delta: { stop_reason: calls ? 'tool_use' : 'end_turn' }, usage: { output_tokens: 20 } }) +
            event('message_stop');
    }
}
