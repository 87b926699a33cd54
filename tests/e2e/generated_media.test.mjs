// Images and audio that a model makes: each client gets an activity with a link to the bytes, which the history restates,
// also after a restart, and which end with the thread.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Agent, clients, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';

const answerOf = (fixture) => fs.readFileSync(new URL(`../../proto-fixtures/${fixture}/answer-1.sse`, import.meta.url));
const answers = { image: answerOf('dialect-image-made'), audio: answerOf('dialect-audio-made') };

/// A model server that answers with the bytes of the fixture that the user's first message names.
async function startModel() {
    const server = http.createServer(async (request, response) => {
        let body = '';
        for await (const chunk of request) body += chunk;
        const first = JSON.parse(body).messages.find(({ role }) => role === 'user');
        response.writeHead(200, { 'Content-Type': 'text/event-stream' });
        response.end(answers[first.content]);
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    const stop = () => new Promise((resolve) => server.close(resolve));
    return { url: `http://127.0.0.1:${server.address().port}/v1`, stop };
}

describe('what a model makes', () => {
    let model;
    let gateway;

    before(async () => {
        model = await startModel();
        gateway = await Gateway.start({ model });
    });
    after(() => stopAll(gateway, model));

    for (const client of clients) {
        for (const [kind, type, words] of [['image', 'image/png'], ['audio', 'audio/wav', 'Hi there.']]) {
            it(`is an activity with a link for client ${client.name}: ${kind}`, async () => {
                const agent = new Agent(client, gateway);
                agent.add(user(kind, `u-${kind}`));

                (await agent.run()).expectFinished();

                const [, answer, activity] = agent.messages;
                assert.deepEqual(agent.messages.map(({ role }) => role), ['user', 'assistant', 'activity']);
                assert.equal(typeof answer.content, 'string');
                assert.equal(activity.activityType, 'generated-media');
                const { url, bytes, sha256, ...rest } = activity.content;
                assert.deepEqual(rest, { kind, mimeType: type, ...(words && { transcript: words }) });
                const response = await fetch(url);
                assert.equal(response.headers.get('content-type'), type);
                const body = Buffer.from(await response.arrayBuffer());
                assert.deepEqual([body.length, createHash('sha256').update(body).digest('hex')], [bytes, sha256]);

                const before = structuredClone(agent.messages);
                agent.agent.url = `${gateway.url}/history`;
                await agent.run();
                assert.deepEqual(agent.messages, before, 'the snapshot changes nothing');
                const listed = await (await fetch(`${gateway.url}/threads/${agent.threadId}/messages`)).json();
                assert.deepEqual(listed.messages.at(-1).content, activity.content);
            });
        }
    }

    it('is there after a restart, until the thread is deleted', async () => {
        const agent = new Agent(clients.at(-1), gateway);
        agent.add(user('image'));
        (await agent.run()).expectFinished();
        await gateway.end('SIGKILL');
        await gateway.launch();

        const thread = `${gateway.url}/threads/${agent.threadId}`;
        const { messages } = await (await fetch(`${thread}/messages`)).json();
        const { url, bytes } = messages.find(({ role }) => role === 'activity').content;
        assert.equal((await (await fetch(url)).arrayBuffer()).byteLength, bytes);
        assert.equal((await fetch(thread, { method: 'DELETE' })).ok, true);
        assert.equal((await fetch(url)).status, 404);
    });
});
