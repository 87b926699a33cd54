// A thread with four photos of 3 MB is loaded again by each official client: no event is larger than they read, and every
// photo is there, for the page and, in the next request, for the model.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { StreamServer } from './model_streams/model.mjs';
import { Agent, clients, post, postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { historyProblem } from './support/model.mjs';
import { contentWith, photo } from './support/photos.mjs';
import { parseStream } from './support/streams.mjs';

// Released clients give up at 10 MB; the gateway stays below that.
const eventBytesMax = 8_000_000;
const key = 'photos';
const threadId = 'thread of photos';

describe('a thread with four photos of 3 MB', () => {
    const photos = [1, 2, 3, 4].map(photo);
    let model;
    let gateway;
    let conversation;

    before(async () => {
        model = await StreamServer.start();
        gateway = await Gateway.start({ model });
        conversation = model.expect(key, []);
        for (const [n, each] of photos.entries()) {
            const message = user(contentWith(`[${key}] photo ${n}`, each));
            (await postRun(gateway, runInput({ threadId, messages: [message] }))).expectFinished();
        }
    });
    after(() => stopAll(gateway, model));

    /// The photo of a message: where a link leads, or the data.
    async function shown(message) {
        const { source } = message.content.find((part) => part.type === 'image');
        if (source.type === 'data') return Buffer.from(source.value, 'base64');
        const response = await fetch(source.value);
        assert.equal(response.status, 200, source.value);
        assert.equal(response.headers.get('content-type'), 'image/png');
        return Buffer.from(await response.arrayBuffer());
    }

    it('is sent in events of less than 8 MB', async () => {
        const response = await post(`${gateway.url}/history`, runInput({ threadId, messages: [] }));
        const events = parseStream(await response.text());
        const sizes = events.map(({ event }) => JSON.stringify(event).length);
        assert.ok(Math.max(...sizes) < eventBytesMax, `events of ${sizes.join(', ')} bytes`);
        const [snapshot] = events.filter(({ event }) => event.type === 'MESSAGES_SNAPSHOT');
        assert.equal(snapshot.event.messages.length, 2 * photos.length);
    });

    it('comes by pages, with a link for each photo; a page that is sent back is the end of the whole conversation', async () => {
        const read = async (query) => (await fetch(`${gateway.url}/threads/${encodeURIComponent(threadId)}/messages?${query}`)).json();
        const pages = [];
        for (let before = ''; pages.at(-1)?.hasEarlier !== false; before = `&before=${pages.at(-1).messages[0].id}`) {
            pages.push(await read(`limit=1${before}`));
        }
        assert.deepEqual(pages.map(({ messages }) => messages.map(({ role }) => role)), photos.map(() => ['user', 'assistant']));
        const questions = pages.map(({ messages }) => messages[0]);
        assert.ok(questions.every(({ content }) => content.find(({ type }) => type === 'image').source.type === 'url'));
        const sums = await Promise.all(questions.reverse().map(async (each) => createHash('sha256').update(await shown(each)).digest('hex')));
        assert.deepEqual(sums, photos.map((each) => each.sha256));

        const before = conversation.requests.length;
        const sent = [...pages[0].messages, user('what do you see?')];
        (await postRun(gateway, runInput({ threadId, messages: sent }))).expectFinished();
        const [{ body }] = conversation.requests.slice(before);
        const seen = body.messages.flatMap(({ content }) => (Array.isArray(content) ? content : [])).filter(({ type }) => type === 'image_url');
        assert.deepEqual(seen.map(({ image_url: { url } }) => url.length), photos.map(({ base64 }) => `data:image/png;base64,${base64}`.length));
    });

    for (const client of clients) {
        it(`is loaded with every photo by @ag-ui/client ${client.name}, which goes on with it`, async () => {
            const history = new Agent(client, { url: `${gateway.url}/history` }, { threadId });
            await history.run();
            const withPhotos = history.messages.filter((message) => message.role === 'user' && Array.isArray(message.content));
            const sums = await Promise.all(withPhotos.map(async (message) => createHash('sha256').update(await shown(message)).digest('hex')));
            assert.deepEqual(sums, photos.map((each) => each.sha256));

            const agent = new Agent(client, gateway, { threadId });
            agent.messages = history.messages;
            agent.add(user('what do you see?'));
            (await agent.run()).expectFinished();
            const { messages } = conversation.requests.at(-1).body;
            const sent = messages.flatMap((message) => (Array.isArray(message.content) ? message.content : []))
                .filter((part) => part.type === 'image_url').map((part) => part.image_url.url);
            assert.deepEqual(sent.map((url) => url.slice(0, 60)), photos.map((each) => `data:image/png;base64,${each.base64}`.slice(0, 60)));
            assert.ok(sent.every((url, n) => url.endsWith(photos[n].base64)), 'the model gets other bytes');
        });
    }

    it('left only valid requests to the model server', () => {
        assert.deepEqual(conversation.requests.map(({ body }) => historyProblem(body.messages)).filter(Boolean), []);
        assert.deepEqual(model.problems, []);
    });
});
