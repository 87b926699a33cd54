// A server that speaks Responses as strictly as OpenAI's: it encrypts its reasoning, keeps nothing, and refuses a
// history whose calls, outputs and reasoning do not fit together.

import { StrictServer } from './strict_server.mjs';

const outputs = new Set(['message', 'reasoning', 'function_call', 'web_search_call']);

export class OpenaiResponses extends StrictServer {
    path = '/v1';
    made = new Map(); // By id: the item, and the id of the reasoning before it.

    refusal(message) {
        return { error: { message, type: 'invalid_request_error', param: null, code: null } };
    }

    problem({ url, headers }, body) {
        if (url !== '/v1/responses') return `POST ${url}`;
        if (headers.authorization !== 'Bearer sk-test-key-of-e2e') return 'Incorrect API key provided';
        if (body.store !== false || body.stream !== true || 'previous_response_id' in body) return 'state of the server';
        if (body.stream_options?.include_obfuscation !== false) return 'padding';
        if (!/^[\x20-\x7e]{1,64}$/.test(body.prompt_cache_key)) return 'prompt_cache_key';
        for (const tool of body.tools ?? []) {
            if (tool.type !== 'function' || tool.strict !== false || !/^[a-zA-Z0-9_-]{1,64}$/.test(tool.name)) return 'tools';
        }
        const open = new Set();
        for (const [index, item] of body.input.entries()) {
            const where = `input[${index}]`;
            if (item.type === 'function_call_output') {
                if (!open.delete(item.call_id)) return `${where}: No tool call found for function call output`;
                continue;
            }
            if (item.type === 'message' && item.role !== 'assistant') {
                if (open.size > 0) return `${where}: No tool output found for function call`;
                const { content } = item;
                if (typeof content === 'string' ? !content.trim() : content.some(({ type }) => !type.startsWith('input_'))) return `${where}: content`;
                continue;
            }
            if (!outputs.has(item.type)) return `${where}: type`;
            if (item.type === 'message' && item.content.some(({ type, text }) => type !== 'output_text' || !text.trim())) return `${where}: content`;
            if (item.type === 'function_call') {
                if (typeof item.arguments !== 'string' || item.call_id.length > 64) return `${where}: call`;
                open.add(item.call_id);
            }
            const known = this.made.get(item.id);
            if (item.id && !known) return `${where}: Item '${item.id}' not found. Items are not persisted when store is false`;
            if (known?.after && body.input[index - 1]?.id !== known.after) return `${where}: provided without its required reasoning item`;
            if (known?.item.phase !== item.phase) return `${where}: phase`;
            if (item.type === 'reasoning') {
                if (JSON.stringify(item) !== JSON.stringify(known.item)) return `${where}: encrypted content could not be verified`;
                const next = body.input[index + 1];
                if (!next || this.made.get(next.id)?.after !== item.id) return `${where}: provided without its required following item`;
                this.returned += 1;
            }
        }
        return open.size > 0 ? 'No tool output found for function call' : undefined;
    }

    /// Reasons; calls the first tool if the last message speaks of paint, searches if it speaks of search, fails if it
    /// speaks of failure, otherwise says something.
    answer(body) {
        const number = this.requests.length;
        let sequence = 0;
        const event = (type, members = {}) =>
            `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...members })}\n\n`;
        const last = body.input.at(-1);
        const asks = (word) => last.role === 'user' && JSON.stringify(last.content).includes(word);
        const response = { id: `resp_${number}`, object: 'response', status: 'in_progress', output: [] };
        let text = event('response.created', { response }) + event('response.in_progress', { response });
        if (asks('failure')) {
            return text + event('response.failed', {
                response: { ...response, status: 'failed', error: { code: 'server_error', message: 'Something went wrong.' } },
            });
        }
        const output = [];
        const item = (begun, deltas, complete) => {
            const output_index = output.length;
            this.made.set(complete.id, { item: complete, after: output.at(-1)?.type === 'reasoning' ? output.at(-1).id : undefined });
            output.push(complete);
            text += event('response.output_item.added', { output_index, item: begun }) +
                deltas.map(([type, members]) => event(`response.${type}`, { output_index, item_id: complete.id, ...members })).join('') +
                event('response.output_item.done', { output_index, item: complete });
        };
        const summary = [{ type: 'summary_text', text: `Thought ${number}` }];
        const reasoning = { id: `rs_${number}`, type: 'reasoning', summary: [] };
        item(reasoning,
            [['reasoning_summary_part.added', { summary_index: 0, part: { ...summary[0], text: '' } }],
                ['reasoning_summary_text.delta', { summary_index: 0, delta: summary[0].text }],
                ['reasoning_summary_text.done', { summary_index: 0, text: summary[0].text }],
                ['reasoning_summary_part.done', { summary_index: 0, part: summary[0] }]],
            { ...reasoning, summary, encrypted_content: `gAAAA+/${number}=` });
        if (asks('search')) {
            const search = { id: `ws_${number}`, type: 'web_search_call', status: 'in_progress' };
            item(search, [['web_search_call.searching', {}], ['web_search_call.completed', {}]], { ...search, status: 'completed' });
        }
        if (body.tools && asks('paint')) {
            const call = { id: `fc_${number}`, type: 'function_call', call_id: `call_${number}`, name: body.tools[0].name };
            item({ ...call, status: 'in_progress', arguments: '' },
                [...['{"col', 'or": "blue"}'].map((delta) => ['function_call_arguments.delta', { delta }]),
                    ['function_call_arguments.done', { arguments: '{"color": "blue"}' }]],
                { ...call, status: 'completed', arguments: '{"color": "blue"}' });
        } else {
            const message = { id: `msg_${number}`, type: 'message', role: 'assistant', phase: 'final_answer' };
            const part = { type: 'output_text', text: 'It is done.', annotations: [] };
            item({ ...message, status: 'in_progress', content: [] },
                [['content_part.added', { content_index: 0, part: { ...part, text: '' } }],
                    ...['It is ', 'done.'].map((delta) => ['output_text.delta', { content_index: 0, delta, logprobs: [] }]),
                    ['output_text.done', { content_index: 0, text: part.text, logprobs: [] }],
                    ['content_part.done', { content_index: 0, part }]],
                { ...message, status: 'completed', content: [part] });
        }
        return text + event('response.completed', {
            response: {
                ...response, status: 'completed', output,
                usage: { input_tokens: 15, input_tokens_details: { cached_tokens: 5 }, output_tokens: 20,
                    output_tokens_details: { reasoning_tokens: 8 }, total_tokens: 35 },
            },
        });
    }
}
