// The model server, and the server tool behind the gateway's webhook. It answers each conversation with the streams that
// were laid ready for it, one a request, and keeps the requests.

import http from 'node:http';
import { setImmediate as yieldToOthers } from 'node:timers/promises';

async function readJson(request) {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += part;
    return JSON.parse(text);
}

/// The name of the conversation, which its first user message begins with.
function nameOf(messages) {
    const first = messages.find((message) => message.role === 'user');
    const text = Array.isArray(first?.content) ? first.content.map((part) => part.text ?? '').join('') : first?.content ?? '';
    return /^\[([^\]]+)\]/.exec(text)?.[1];
}

function plainAnswer(content) {
    const chunk = { choices: [{ index: 0, delta: { content }, finish_reason: 'stop' }] };
    return `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`;
}

export class StreamServer {
    static async start() {
        const server = new StreamServer();
        server.conversations = new Map();
        server.problems = [];
        server.http = http.createServer((request, response) => {
            const answer = request.url === '/tool' ? server.#answerAsTool(request, response) : server.#answerAsModel(request, response);
            answer.catch((error) => {
                if (!['ECONNRESET', 'EPIPE'].includes(error.code)) server.problems.push(`the model server failed: ${error.stack}`);
                response.destroy();
            });
        });
        server.http.keepAliveTimeout = 60_000;
        await new Promise((resolve) => server.http.listen(0, '127.0.0.1', resolve));
        server.base = `http://127.0.0.1:${server.http.address().port}`;
        server.url = `${server.base}/v1`;
        return server;
    }

    /// Lays `streams` (of render()) ready for the conversation `name`; after them it is answered with `plain`. Returns its
    /// record: `requests`, each with its `answer`, the number of its stream, -1 for the plain one.
    expect(name, streams, plain = 'Done.') {
        const conversation = { streams, plain, next: 0, requests: [], last: undefined };
        this.conversations.set(name, conversation);
        return conversation;
    }

    forget(name) {
        this.conversations.delete(name);
    }

    async stop() {
        this.http.closeAllConnections();
        await new Promise((resolve) => this.http.close(resolve));
    }

    async #answerAsTool(request, response) {
        const { arguments: given } = await readJson(request);
        if (given.where !== undefined) response.writeHead(500).end('nowhere');
        else response.writeHead(200, { 'content-type': 'application/json' }).end('{"found":true}');
    }

    async #answerAsModel(request, response) {
        const body = await readJson(request);
        const conversation = this.conversations.get(nameOf(body.messages));
        if (!conversation) {
            this.problems.push(`a request of no conversation: ${JSON.stringify(body.messages).slice(0, 300)}`);
            response.writeHead(404).end();
            return;
        }
        // A request that is sent again has the same answer.
        const text = JSON.stringify(body.messages);
        const again = text === conversation.last;
        conversation.last = text;
        const number = again ? conversation.requests.at(-1).answer
            : conversation.next < conversation.streams.length ? conversation.next++ : -1;
        conversation.requests.push({ body, answer: number });
        const stream = conversation.streams[number];
        if (!stream) {
            response.writeHead(200, { 'content-type': 'text/event-stream' }).end(plainAnswer(conversation.plain));
            return;
        }
        await this.#play(stream, response);
    }

    async #play({ contentType, transfer, pieces, pace, reset }, response) {
        if (transfer === 'close') {
            response.useChunkedEncodingByDefault = false;
            response.shouldKeepAlive = false;
            response.removeHeader('transfer-encoding');
        }
        if (transfer === 'length' && !reset) response.setHeader('content-length', Buffer.concat(pieces).length);
        response.writeHead(200, contentType === '' ? {} : { 'content-type': contentType });
        for (const piece of pieces) {
            if (response.destroyed) return; // The gateway has all that it wants.
            response.write(piece);
            if (pace) await yieldToOthers();
        }
        if (!reset) response.end();
        else if (pieces.length === 0) response.destroy();
        else response.write('', () => response.destroy());
    }
}
