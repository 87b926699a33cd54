// The page of examples/clients, executed unchanged with each official client.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Agent, background, clients, outline, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const clientCode = fs.readFileSync(path.join(here, '../../examples/clients/page.js'), 'utf8');
const packages = { '0.0.57': 'ag-ui-client-0057', '0.0.59': 'ag-ui-client-0059', '1.0.0': 'ag-ui-client-1' };
const plainFetch = globalThis.fetch;
const green = { name: 'change_background', arguments: '{"color":"green"}', id: 'call_page' };

describe('the client of examples/clients', () => {
    let model;
    let gateway;
    let folder;
    let key;
    let threadId;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model });
        folder = fs.mkdtempSync(path.join(here, 'node_modules', '.clients-'));
    });
    after(async () => {
        globalThis.fetch = plainFetch;
        fs.rmSync(folder, { recursive: true, force: true });
        await stopAll(gateway, model);
    });
    beforeEach((test) => {
        key = `[${test.name}]`;
        threadId = randomUUID();
    });

    /// The page as it is after a (re)load: the module anew, with the browser's objects that it uses. leave() drops
    /// the connections that were made before the next page was opened.
    async function page({ name }, search = `?thread=${threadId}`) {
        const id = randomUUID();
        const replaced = clientCode
            .replace('"@ag-ui/client"', JSON.stringify(packages[name]))
            .replace('"./render.js"', JSON.stringify(`./${id}-render.mjs`))
            .replace('"http://127.0.0.1:8080/agui"', JSON.stringify(gateway.url));
        for (const part of [packages[name], `${id}-render`, gateway.url]) assert.ok(replaced.includes(part), `page.js has another ${part}`);
        const shown = { messages: [], onMessages: () => {} };
        const address = { search };
        const leave = new AbortController();
        globalThis.fetch = (url, init) => {
            const signals = [init?.signal, leave.signal].filter((signal) => signal);
            return plainFetch(url, { ...init, signal: AbortSignal.any(signals) });
        };
        globalThis.location = address;
        globalThis.history = { replaceState: (state, title, url) => { address.search = url; } };
        globalThis.document = { body: { style: {} } };
        globalThis.renderHere = (messages) => {
            shown.messages = structuredClone(messages);
            shown.onMessages();
        };
        fs.writeFileSync(path.join(folder, `${id}-render.mjs`), 'export const render = globalThis.renderHere;\n');
        const file = path.join(folder, `${id}.mjs`);
        // Each page keeps its own fetch, so that a page that was left sends no more requests.
        fs.writeFileSync(file, `const fetch = globalThis.fetch;\n${replaced}`);
        const module = await import(pathToFileURL(file));
        return { ...module, shown, address, body: globalThis.document.body, leave: () => leave.abort() };
    }

    /// Resolves once the page shows a message like that.
    function message(shown, isWanted) {
        return new Promise((resolve) => {
            shown.onMessages = () => shown.messages.some(isWanted) && resolve();
            shown.onMessages();
        });
    }

    const text = (shown, wanted) => message(shown, ({ content }) => content?.includes?.(wanted));

    const roles = (shown) => shown.messages.map((message) => message.role);

    for (const client of clients) {
        it(`carries a hand-off to its end, and shows all of it after a reload (${client.name})`, async () => {
            model.script(key, [{ toolCalls: [green] }, { content: 'It is green.' }, { content: 'You said so.' }]);
            const first = await page(client);
            await first.send(key);
            assert.equal(first.body.style.background, 'green');
            assert.equal(first.shown.messages.at(-1).content, 'It is green.');

            const second = await page(client);
            await second.load();
            assert.deepEqual(roles(second.shown), ['user', 'assistant', 'tool', 'assistant']);
            await second.send('why?');

            assert.equal(second.shown.messages.at(-1).content, 'You said so.');
            assert.deepEqual(outline((await model.request(key, 3)).conversation), [
                `user: ${key}`,
                'assistant: | change_background({"color":"green"})#call_page',
                'tool call_page: {"status":"ok"}',
                'assistant: It is green.',
                'user: why?',
            ]);
        });

        it(`answers a tool that fails (${client.name})`, async () => {
            model.script(key, [
                { toolCalls: [{ ...green, arguments: '{"color":1}', id: 'call_fails' }] },
                { content: 'A pity.' },
            ]);
            const only = await page(client);
            Object.defineProperty(only.body.style, 'background', { set: () => { throw new Error('no such colour'); } });

            await only.send(key);

            assert.equal(outline((await model.request(key, 2)).conversation).at(-1), 'tool call_fails: the tool failed\n\nError: no such colour');
            assert.equal(only.shown.messages.at(-1).content, 'A pity.');
        });

        it(`stops, keeps what was said, and goes on (${client.name})`, async () => {
            const never = gate();
            model.script(key, [{ content: 'A long story.', pauseAfter: 2, resume: never.opened }, { content: 'Another.' }]);
            const only = await page(client);
            const story = only.send(key);
            await text(only.shown, 'A long');

            await only.stop();
            await story;

            await (await model.request(key, 1)).closed;
            await only.send('another');
            assert.equal(only.shown.messages.at(-1).content, 'Another.');
            const [, said, next] = outline((await model.request(key, 2)).conversation);
            assert.match(said, /^assistant: A long/);
            assert.equal(next, 'user: another');
            never.open();
        });

        it(`never executes a call in which it was stopped, also after a reload (${client.name})`, async () => {
            const never = gate();
            model.script(key, [
                { toolCalls: [{ ...green, id: 'call_stopped' }], pauseAfter: 2, resume: never.opened },
                { content: 'Another.' },
                { content: 'One more.' },
            ]);
            const first = await page(client);
            const turn = first.send(key);
            await message(first.shown, ({ toolCalls }) => toolCalls?.length > 0);

            await first.stop();
            await turn;

            await (await model.request(key, 1)).closed;
            const reloaded = await page(client);
            await reloaded.load();
            const [stopped, result] = reloaded.shown.messages.slice(-2);
            assert.equal(stopped.toolCalls[0].id, 'call_stopped');
            assert.equal(result.toolCallId, 'call_stopped');
            assert.match(result.content, /interrupted/);
            assert.equal(reloaded.body.style.background, undefined);
            await reloaded.send('another');
            assert.equal(reloaded.body.style.background, undefined);
            assert.equal(reloaded.shown.messages.at(-1).content, 'Another.');

            await first.send('more');
            assert.equal(first.body.style.background, undefined);
            never.open();
        });

        it(`chooses a thread where the address names none, and keeps it (${client.name})`, async () => {
            model.script(key, [{ content: 'Hello.' }]);
            const first = await page(client, '');
            await first.load();
            assert.deepEqual(first.shown.messages, []);
            await first.send(`${key} hello`);
            const second = await page(client, first.address.search);
            await second.load();
            assert.equal(second.address.search, first.address.search);
            assert.deepEqual(second.shown.messages.map(({ content }) => content), [`${key} hello`, 'Hello.']);
        });

        it(`executes the call that waits for an answer when it is loaded (${client.name})`, async () => {
            model.script(key, [{ toolCalls: [{ ...green, id: 'call_waiting' }] }, { content: 'It is green.' }]);
            const plain = new Agent(client, gateway, { threadId });
            plain.add(user(key));
            await plain.run({ tools: [background] });

            const only = await page(client);
            await only.load();

            assert.equal(only.body.style.background, 'green');
            assert.equal(only.shown.messages.at(-1).content, 'It is green.');
        });

        it(`follows the run under way after a reload, and executes the call that it ends with (${client.name})`, async () => {
            const more = gate();
            model.script(key, [
                {
                    blocks: [{ type: 'text', text: 'I make it green.' }, { type: 'toolCall', ...green, id: 'call_followed' }],
                    pauseAfter: 2,
                    resume: more.opened,
                },
                { content: 'It is green.' },
            ]);
            const first = await page(client);
            const left = first.send(key).catch(() => {});
            await text(first.shown, 'I make');

            const second = await page(client);
            const loaded = second.load();
            await text(second.shown, 'I make');
            first.leave();
            more.open();
            await Promise.all([loaded, left]);

            assert.equal(second.body.style.background, 'green');
            assert.equal(second.shown.messages.at(-1).content, 'It is green.');
        });
    }

    it('left only valid requests to the model server', () => model.checkRequests());
});
