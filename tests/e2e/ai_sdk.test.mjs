// The AI SDK's chat with nothing but the gateway's address: both released lines of the package, each with its own
// transport, parser and message reducer.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { makeChat, sdks, textOf, until } from './support/ai_chat.mjs';
import { within } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';
import { WeatherService } from './support/weather.mjs';

const colour = (to, id) => ({ name: 'change_background', arguments: JSON.stringify({ color: to }), id });
const weather = (city, id) => ({ name: 'get_weather', arguments: JSON.stringify({ city }), id });
const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('');

for (const one of sdks) {
    describe(`the chat of ${one.name}`, () => {
        const { lastAssistantMessageIsCompleteWithToolCalls, lastAssistantMessageIsCompleteWithApprovalResponses } = one.sdk;
        let model;
        let service;
        let gateway;
        let key;
        let id;
        const errors = [];

        before(async () => {
            model = await ModelServer.start();
            service = await WeatherService.start();
            const parameters = JSON.stringify({ type: 'object', properties: { color: { type: 'string' } } });
            gateway = await Gateway.start({ model, config: {
                server: { ai_path: '/ai', cors_origins: ['https://app.example'], max_body_bytes: 65_536 },
                tools: {
                    external: [{ name: 'change_background', description: 'Changes the colour.', parameters }],
                    webhook: [service.tool, { ...service.tool, name: 'send_mail', approval: 'always' }],
                },
                agents: [{ id: 'default', models: ['main'] }, { id: 'other', models: ['main'], instructions: 'You are the other.' }],
            } });
        });
        after(() => stopAll(gateway, service, model));
        beforeEach((test) => {
            key = `[${one.name}: ${test.name}]`;
            id = randomUUID();
            errors.length = 0;
        });
        afterEach(() => assert.deepEqual(errors, []));

        const api = () => `${gateway.base}/ai/chat`;
        const chatWith = (init = {}) => makeChat(one, { api: api(), id, onError: (error) => errors.push(error), ...init });
        const failed = () => errors.splice(0).map(({ message }) => message).join('\n');
        const stored = async () => (await (await fetch(`${api()}/${id}/messages`)).json()).messages;
        const parts = (message, ...types) => message.parts.filter(({ type }) => types.includes(type));

        it('says a text', async () => {
            model.script(key, [{ content: 'Hello there.' }, { content: 'Good bye.' }]);
            const chat = chatWith();

            await chat.sendMessage({ text: key });
            await chat.sendMessage({ text: 'Bye.' });

            assert.deepEqual(chat.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant']);
            assert.deepEqual(chat.messages.map(textOf), [key, 'Hello there.', 'Bye.', 'Good bye.']);
            assert.equal(chat.status, 'ready');
            assert.equal(chat.messages[1].parts[0].type, 'step-start');
            const { response } = chat.requests[0];
            assert.equal(response.headers.get('x-vercel-ai-ui-message-stream'), 'v1');
            assert.match(response.headers.get('content-type'), /^text\/event-stream/);
            const second = await model.request(key, 2);
            assert.deepEqual(second.conversation.map(({ content }) => content), [key, 'Hello there.', 'Bye.']);
        });

        it('has what the page sees after a reload', async () => {
            model.script(key, [{ reasoning: 'Hm.', content: 'Let me see.', toolCalls: [weather('Oslo', `c-${id}`)] }, { content: 'It is clear.' }, { content: 'You are welcome.' }]);
            const chat = chatWith();
            await chat.sendMessage({ text: key });
            const shown = (message) => message.parts.filter(({ type }) => !type.startsWith('data-')).map(({ type, text, state, input, output }) => ({ type, text, state, input, output }));

            const loaded = JSON.parse(JSON.stringify(await stored()));

            assert.deepEqual(loaded.map(({ id: each }) => each), chat.messages.map(({ id: each }) => each));
            assert.deepEqual(loaded.map(shown).slice(1), JSON.parse(JSON.stringify(chat.messages)).map(shown).slice(1));
            await one.sdk.validateUIMessages({ messages: loaded });
            const again = chatWith({ messages: loaded });
            await again.sendMessage({ text: 'Thanks.' });
            assert.equal(textOf(again.messages.at(-1)), 'You are welcome.');
            assert.equal((await model.request(key, 3)).conversation.length, 5);
        });

        it('executes a call of the page and goes on by itself', async () => {
            model.script(key, [{ content: 'At once.', toolCalls: [colour('red', `a-${id}`)] }, { content: 'It is red.' }]);
            const chat = chatWith({
                sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
                onToolCall: ({ toolCall }) => {
                    chat.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: { done: toolCall.input.color } });
                },
            });

            await chat.sendMessage({ text: key });
            await until(() => textOf(chat.messages.at(-1)).includes('It is red.') && chat.status === 'ready');

            assert.equal(chat.messages.length, 2, 'one message for both runs');
            assert.deepEqual(parts(chat.messages[1], 'tool-change_background').map(({ state, output }) => ({ state, output })),
                [{ state: 'output-available', output: { done: 'red' } }]);
            const second = await model.request(key, 2);
            assert.deepEqual(JSON.parse(second.conversation.at(-1).content), { done: 'red' });
            assert.equal(chat.requests.length, 2);
            assert.deepEqual((await stored()).map(({ id: each }) => each), chat.messages.map(({ id: each }) => each));
        });

        it('executes two calls of the page at once, one of which fails, and one of the server', async () => {
            model.script(key, [{ toolCalls: [colour('red', `a-${id}`), weather('Atlantis', `b-${id}`), colour('blue', `c-${id}`)] }, { content: 'One worked.' }]);
            const chat = chatWith({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
            await chat.sendMessage({ text: key });
            assert.equal(chat.requests.length, 1, 'the page has not answered yet');

            await chat.addToolOutput({ tool: 'change_background', toolCallId: `a-${id}`, output: 'ok' });
            assert.equal(chat.requests.length, 1);
            await chat.addToolOutput({ tool: 'change_background', toolCallId: `c-${id}`, state: 'output-error', errorText: 'too blue' });
            await until(() => textOf(chat.messages.at(-1)).includes('One worked.') && chat.status === 'ready');

            const [, answer] = chat.messages;
            assert.deepEqual(answer.parts.filter(({ toolCallId }) => toolCallId).map(({ state }) => state),
                ['output-available', 'output-error', 'output-error']);
            const second = await model.request(key, 2);
            const results = second.conversation.filter(({ role }) => role === 'tool');
            assert.deepEqual(results.map(({ tool_call_id: each }) => each), [`a-${id}`, `b-${id}`, `c-${id}`]);
            assert.match(results[2].content, /too blue/);
            assert.equal(chat.requests.length, 2);
        });

        for (const approved of [true, false]) {
            it(`asks for an approval that is ${approved ? 'given' : 'denied'}`, async () => {
                model.script(key, [{ toolCalls: [{ ...weather('Oslo', `a-${id}`), name: 'send_mail' }] }, { content: 'As you wish.' }]);
                service.calls.length = 0;
                const chat = chatWith({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
                await chat.sendMessage({ text: key });
                const [asked] = parts(chat.messages[1], 'tool-send_mail');
                assert.equal(asked.state, 'approval-requested');
                assert.deepEqual(parts((await stored())[1], 'tool-send_mail').map(({ state, approval }) => ({ state, approval })),
                    [{ state: 'approval-requested', approval: asked.approval }]);
                assert.equal(service.calls.length, 0);

                await chat.addToolApprovalResponse({ id: asked.approval.id, approved, ...(!approved && { reason: 'Not today' }) });
                await until(() => textOf(chat.messages.at(-1)).includes('As you wish.') && chat.status === 'ready');

                const [answered] = parts(chat.messages[1], 'tool-send_mail');
                assert.equal(answered.state, approved ? 'output-available' : 'output-denied');
                assert.equal(service.calls.length, approved ? 1 : 0);
                assert.equal(chat.messages.length, 2);
                assert.equal(parts((await stored())[1], 'tool-send_mail')[0].state, answered.state);
                if (!approved) assert.match((await model.request(key, 2)).conversation.at(-1).content, /Not today/);
            });
        }

        it('stops: the model is left at once with X-On-Disconnect, and the chat goes on', async () => {
            const never = gate();
            model.script(key, [{ content: words, pauseAfter: 6, resume: never.opened }, { content: 'Another one.' }]);
            const chat = chatWith({ headers: { 'X-On-Disconnect': 'cancel' } });
            const sent = chat.sendMessage({ text: key });
            await until(() => chat.messages.length === 2 && textOf(chat.messages[1]).includes('word'));

            await chat.stop();
            await sent;

            await within(1, (await model.request(key, 1)).closed, 'the model server is left');
            never.open();
            assert.equal(chat.status, 'ready');
            await chat.sendMessage({ text: 'Another.' });
            assert.equal(textOf(chat.messages.at(-1)), 'Another one.');
        });

        it('goes on after a stop without that header, too', async () => {
            const never = gate();
            model.script(key, [{ content: words, pauseAfter: 6, resume: never.opened }, { content: 'Another one.' }]);
            const chat = chatWith();
            const sent = chat.sendMessage({ text: key });
            await until(() => chat.messages.length === 2 && textOf(chat.messages[1]).includes('word'));

            await chat.stop();
            await sent;
            await chat.sendMessage({ text: 'Another.' });

            never.open();
            assert.equal(textOf(chat.messages.at(-1)), 'Another one.');
        });

        it('ends with an abort if another page stops it', async () => {
            const never = gate();
            model.script(key, [{ content: words, pauseAfter: 6, resume: never.opened }]);
            const chat = chatWith();
            const sent = chat.sendMessage({ text: key });
            await until(() => chat.messages.length === 2 && textOf(chat.messages[1]).includes('word'));

            const stopped = await fetch(`${gateway.url}/cancel`, {
                method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId: id }) });
            assert.deepEqual(await stopped.json(), { cancelled: true });
            await sent;

            never.open();
            assert.equal(chat.status, 'ready');
            assert.equal(chat.requests.length, 1);
        });

        it('resumes in the middle of a run, without a gap, from the beginning of the answer', async () => {
            const rest = gate();
            model.script(key, [{ content: 'First.', toolCalls: [colour('red', `a-${id}`)] }, { content: words, pauseAfter: 6, resume: rest.opened }]);
            const chat = chatWith({ sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
            await chat.sendMessage({ text: key });
            void chat.addToolOutput({ tool: 'change_background', toolCallId: `a-${id}`, output: 'ok' });
            await until(() => textOf(chat.messages[1]).includes('word'));

            const executed = [];
            const reloaded = chatWith({ messages: await stored(), onToolCall: ({ toolCall }) => executed.push(toolCall) });
            const resumed = reloaded.resumeStream();
            await until(() => textOf(reloaded.messages.at(-1)).includes('word'));
            rest.open();
            await resumed;

            assert.deepEqual(reloaded.messages.map(textOf), [key, `First.${words}`]);
            assert.deepEqual(executed, [], 'a call that is answered is not executed again');
            await until(() => chat.status === 'ready');
            assert.deepEqual(reloaded.messages.map(({ id: each }) => each), chat.messages.map(({ id: each }) => each));
            assert.equal(textOf(chat.messages[1]), `First.${words}`);
            assert.deepEqual((await stored()).map(textOf), [key, `First.${words}`]);
        });

        it('has nothing to resume', async () => {
            model.script(key, [{ content: 'Done.' }]);
            const chat = chatWith();
            await chat.resumeStream();
            await chat.sendMessage({ text: key });
            await chat.resumeStream();

            assert.deepEqual(chat.requests.map(({ response }) => response.status), [204, 200, 204]);
            assert.equal(chat.status, 'ready');
            assert.deepEqual(await stored().then((all) => all.map(textOf)), [key, 'Done.']);
        });

        it('answers again, and an edited message anew', async () => {
            model.script(key, [{ content: 'One.' }, { content: 'Two.' }, { content: 'Three.' }, { content: 'Four.' }]);
            const chat = chatWith();
            await chat.sendMessage({ text: key });
            await chat.regenerate();
            assert.deepEqual(chat.messages.map(textOf), [key, 'Two.']);
            assert.equal((await model.request(key, 2)).conversation.length, 1);
            await chat.sendMessage({ text: 'More.' });
            await chat.sendMessage({ text: `${key} edited`, messageId: chat.messages[0].id });

            assert.deepEqual(chat.messages.map(textOf), [`${key} edited`, 'Four.']);
            assert.equal((await model.request(key, 4)).conversation.length, 1);
            assert.deepEqual((await stored()).map(textOf), [`${key} edited`, 'Four.']);
        });

        it('shows a failure of the model, and regenerates', async () => {
            model.script(key, [{ error: { message: 'secret of the server', type: 'invalid_request_error' }, status: 400 }, { content: 'Now.' }]);
            const chat = chatWith();
            await chat.sendMessage({ text: key });

            assert.equal(chat.status, 'error');
            const message = failed();
            assert.ok(message.length > 0 && !message.includes('secret'), message);
            await chat.regenerate();
            assert.equal(textOf(chat.messages.at(-1)), 'Now.');
        });

        it('goes on after a killed process', async () => {
            const never = gate();
            model.script(key, [{ content: words, pauseAfter: 6, resume: never.opened }, { content: 'Again.' }]);
            const chat = chatWith();
            const sent = chat.sendMessage({ text: key });
            await until(() => chat.messages.length === 2 && textOf(chat.messages[1]).includes('word'));

            await gateway.end('SIGKILL');
            await sent;
            assert.equal(chat.status, 'error');
            assert.ok(failed().length > 0);
            await gateway.launch();

            never.open();
            const reloaded = chatWith({ messages: await stored() });
            await reloaded.resumeStream();
            assert.match(textOf(reloaded.messages[1]), /^word0 /, 'what was shown is not lost');
            await reloaded.regenerate();
            assert.equal(textOf(reloaded.messages.at(-1)), 'Again.');
        });

        it('has named agents', async () => {
            model.script(key, [{ content: 'I am.' }]);
            const chat = chatWith({ api: `${gateway.base}/ai/agents/other/chat` });
            await chat.sendMessage({ text: key });
            await chat.resumeStream();

            const asked = await model.request(key, 1);
            assert.equal(asked.messages[0].content, 'You are the other.');
            assert.deepEqual(chat.requests.map(({ response }) => response.status), [200, 204]);
            const unknown = chatWith({ id: randomUUID(), api: `${gateway.base}/ai/agents/nobody/chat` });
            await unknown.sendMessage({ text: key });
            assert.match(failed(), /not_found/);
        });

        it('sends a picture and reads it again', async () => {
            model.script(key, [{ content: 'A dot.' }]);
            const url = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
            const chat = chatWith();
            await chat.sendMessage({ text: key, files: [{ type: 'file', mediaType: 'image/png', url, filename: 'dot.png' }] });

            const { content } = (await model.request(key, 1)).conversation[0];
            assert.deepEqual(content.map(({ type }) => type), ['image_url', 'text']);
            const [file] = parts((await stored())[0], 'file');
            assert.deepEqual([file.mediaType, file.url], ['image/png', url]);
        });
    });
}
