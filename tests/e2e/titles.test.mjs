// Titles by a model: its request, and where clients see the title.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';

const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: {} } }];

describe('titles by a model', () => {
    let model;
    let gateway;
    let key;
    let threadId;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model, config: {
            server: { copilotkit_path: '/copilotkit', console: true },
            models: { small: { provider: 'openai', base_url: model.url, model: 'small', max_output_tokens: 4000 } },
            agent: { title: 'model', title_model: 'small' },
        } });
    });
    after(() => stopAll(gateway, model));
    beforeEach((test) => {
        key = `[${test.name}]`;
        threadId = randomUUID();
    });

    const json = async (url) => (await fetch(url)).json();
    const title = async () => (await json(`${gateway.url}/threads/${threadId}`)).title;
    const logged = async (text) => {
        while (!gateway.log.split('\n').some((line) => line.includes(text) && line.includes(threadId))) {
            await new Promise((resolve) => setTimeout(resolve, 10));
        }
    };
    const titleRequests = () => model.exchanges.filter((each) => each.body.model === 'small' &&
        JSON.stringify(each.messages).includes(key));
    const send = (text) => postRun(gateway, runInput({ threadId, tools, messages: [user(`${key} ${text}`, randomUUID())] }));

    it('the model is asked once, after the run, and every list shows its title', async () => {
        const answered = gate();
        model.script(key, [{ content: 'Painted.' }, { content: 'Painted again.' }]);
        model.script(`{"user":"${key}`, [{ content: '"Painting a wall."', hold: answered.opened }]);
        (await send('Paint my wall')).expectFinished();
        assert.equal(await title(), `${key} Paint my wall`.slice(0, 80));
        answered.open();
        await logged('a model gave a thread its title');

        assert.equal(await title(), 'Painting a wall');
        const listed = (list) => list.threads.find((each) => (each.threadId ?? each.id) === threadId);
        assert.equal(listed(await json(`${gateway.url}/threads`)).title, 'Painting a wall');
        const copilotkit = await json(`${gateway.base}/copilotkit/threads?agentId=default`);
        assert.equal(listed(copilotkit).name, 'Painting a wall');

        const [asked, ...others] = titleRequests();
        assert.deepEqual(others, []);
        assert.equal(asked.body.tools, undefined);
        assert.equal(asked.body.max_completion_tokens ?? asked.body.max_tokens, 100);
        assert.deepEqual(JSON.parse(asked.conversation[0].content),
            { user: `${key} Paint my wall`, assistant: 'Painted.' });

        (await send('Again')).expectFinished();
        assert.equal(titleRequests().length, 1);
    });

    it('after a hand-off too', async () => {
        model.script(key, [{ toolCalls: [{ name: 'paint', arguments: '{}', id: 'call_1' }] }]);
        model.script(`{"user":"${key}`, [{ content: 'A wall' }]);
        (await send('Paint')).expectFinished();
        await logged('a model gave a thread its title');
        assert.equal(await title(), 'A wall');
    });

    it('a failure changes nothing, and a killed gateway asks no second time', async () => {
        const never = gate();
        model.script(key, [{ content: 'Painted.' }, { content: 'Painted again.' }]);
        model.script(`{"user":"${key}`, [{ content: 'Too late', hold: never.opened }]);
        (await send('Paint')).expectFinished();
        while (titleRequests().length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
        await gateway.end('SIGKILL');
        never.open();
        await gateway.launch();

        (await send('Again')).expectFinished();
        assert.equal(await title(), `${key} Paint`.slice(0, 80));
        assert.equal(titleRequests().length, 1);
    });
});
