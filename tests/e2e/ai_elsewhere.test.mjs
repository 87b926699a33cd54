// The chat of the AI SDK with two gateways on one PostgreSQL: the page's requests come to either of them.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { makeChat, sdks, textOf, until } from './support/ai_chat.mjs';
import { within } from './support/browser.mjs';
import { gate } from './support/model.mjs';
import { asks, setStage } from './support/stage.mjs';

const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('');

describe('the AI SDK with two gateways on one PostgreSQL', () => {
    const stage = setStage({ count: 2, config: (weather) => ({
        server: { ai_path: '/ai' },
        tools: { webhook: [{ ...weather.tool, approval: 'always' }] },
    }) });

    for (const one of sdks) {
        const chatOn = (gateway, init = {}) => makeChat(one, { api: `${gateway.base}/ai/chat`, id: stage.threadId, ...init });
        const stored = async (gateway) => (await (await fetch(`${gateway.base}/ai/chat/${stage.threadId}/messages`)).json()).messages;
        const toolOf = (chat) => chat.messages.at(-1).parts.find(({ type }) => type === 'tool-get_weather');

        it(`${one.name} resumes a stream at the other one`, async () => {
            const rest = gate();
            stage.model.script(stage.key, [{ content: words, pauseAfter: 6, resume: rest.opened }]);
            const chat = chatOn(stage.gateway);
            const sent = chat.sendMessage({ text: stage.key });
            await until(() => chat.messages.length === 2 && textOf(chat.messages[1]).includes('word'));

            const resumed = chatOn(stage.other, { messages: await stored(stage.other) });
            const rests = resumed.resumeStream();
            await until(() => textOf(resumed.messages.at(-1)).includes('word'));
            rest.open();
            await Promise.all([sent, rests]);

            assert.deepEqual(resumed.messages.map(textOf), [stage.key, words]);
            assert.deepEqual(resumed.messages.map(({ id }) => id), chat.messages.map(({ id }) => id));
            assert.equal(resumed.requests[0].response.status, 200);
            assert.equal(resumed.status, 'ready');
            assert.equal(stage.model.requests(stage.key).length, 1);
        });

        it(`${one.name} learns at the other one that the first was killed, and goes on there`, async () => {
            const never = gate();
            stage.model.script(stage.key, [{ content: words, pauseAfter: 6, resume: never.opened }, { content: 'Here again.' }]);
            const chat = chatOn(stage.gateway, { onError: () => {} });
            const sent = chat.sendMessage({ text: stage.key });
            await until(() => chat.messages.length === 2 && textOf(chat.messages[1]).includes('word'));
            const errors = [];
            const resume = async () => {
                const resumed = chatOn(stage.other, { messages: await stored(stage.other), onError: ({ message }) => errors.push(message) });
                const rests = resumed.resumeStream();
                await until(() => textOf(resumed.messages.at(-1)).includes('word'));
                return { resumed, rests };
            };
            const early = await resume();
            await stage.gateway.end('SIGKILL');
            await sent;
            assert.equal(chat.status, 'error');
            const late = await resume();

            await within(120, Promise.all([early.rests, late.rests]), 'the other gateway ends both streams');

            assert.deepEqual([early, late].map(({ resumed }) => resumed.status), ['error', 'error']);
            assert.equal(errors.length, 2);
            never.open();
            const again = chatOn(stage.other, { messages: await stored(stage.other) });
            await again.resumeStream();
            assert.equal(again.requests[0].response.status, 204);
            assert.match(textOf(again.messages[1]), /^word0 /, 'what was shown is not lost');
            await again.sendMessage({ text: 'Go on.' });
            assert.equal(textOf(again.messages.at(-1)), 'Here again.');
        });

        for (const approved of [true, false]) {
            it(`${one.name} answers an approval at the other one after the first was killed: ${approved}`, async () => {
                stage.model.script(stage.key, [{ toolCalls: [asks('Oslo')] }, { content: 'As you wish.' }]);
                const chat = chatOn(stage.gateway);
                await chat.sendMessage({ text: stage.key });
                const { approval } = toolOf(chat);
                await stage.gateway.end('SIGKILL');

                const other = chatOn(stage.other, {
                    messages: await stored(stage.other),
                    sendAutomaticallyWhen: one.sdk.lastAssistantMessageIsCompleteWithApprovalResponses,
                });
                assert.deepEqual([toolOf(other).state, toolOf(other).approval], ['approval-requested', approval]);
                await other.addToolApprovalResponse({ id: approval.id, approved });
                await until(() => other.status === 'ready' && textOf(other.messages.at(-1)).includes('As you wish.'));

                assert.equal(toolOf(other).state, approved ? 'output-available' : 'output-denied');
                assert.equal(stage.weather.calls.length, approved ? 1 : 0);
                assert.deepEqual((await stored(stage.other)).map(({ id }) => id), other.messages.map(({ id }) => id));
            });
        }
    }
});
