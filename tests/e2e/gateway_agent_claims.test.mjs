// Two clients and one hand-off: the agent of examples/clients/gateway-agent claims the calls of the page, so that one
// client executes them. AGUI_GATEWAY_AGENT is the folder of the built package.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it, mock } from 'node:test';
import { within } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { Package, agentOn as makeAgent, clients, said, skip, until } from './support/gateway_agent.mjs';
import { ModelServer } from './support/model.mjs';
import { WeatherService } from './support/weather.mjs';

const tools = [{ name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: {} } }];
const paint = (id) => ({ name: 'paint', arguments: '{}', id });

/// An EventTarget behind the global functions of a browser's window; remove() takes them away.
function standIn() {
    const target = new EventTarget();
    const names = ['addEventListener', 'removeEventListener'];
    for (const name of names) globalThis[name] = target[name].bind(target);
    return Object.assign(target, { remove: () => names.forEach((name) => delete globalThis[name]) });
}

for (const [version, name] of Object.entries(clients)) {
    describe(`claims of GatewayAgent with @ag-ui/client ${version}`, { skip }, () => {
        let model;
        let weather;
        let gateway;
        let files;
        let GatewayAgent;
        let key;
        let threadId;
        let agents;

        before(async () => {
            files = new Package(name);
            ({ GatewayAgent } = await files.load());
            model = await ModelServer.start();
            weather = await WeatherService.start();
            gateway = await Gateway.start({ model, config: { tools: { webhook: [{ ...weather.tool, approval: 'always' }] } } });
        });
        after(async () => {
            await stopAll(gateway, model, weather);
            files?.stop();
        });
        beforeEach((test) => {
            key = `[${test.name} ${randomUUID()}]`;
            threadId = randomUUID();
            agents = [];
        });
        afterEach(() => {
            for (const agent of agents) agent.claims.release(threadId);
        });

        /// An agent of the tab of that name, whose requests to paths with an entry in `refusals` get that status.
        function tab(holder, more = {}, refusals = {}) {
            const requests = [];
            const methods = [];
            const agent = makeAgent(GatewayAgent, { url: gateway.url, threadId, holder, ...more, fetch: async (url, init) => {
                const what = /\/(\w+)$/.exec(new URL(url).pathname)[1];
                requests.push(what);
                methods.push(init.method);
                if (!refusals[what]) return fetch(url, init);
                return new Response('{"error":{"code":"not_found","message":"There is no such route."}}', { status: refusals[what] });
            } });
            agents.push(agent);
            return Object.assign(agent, { requests, methods });
        }
        function ask(agent) {
            agent.addMessage({ id: randomUUID(), role: 'user', content: key });
            return agent.runAgent({ tools });
        }
        function answer(agent, ...ids) {
            for (const id of ids) agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId: id, content: 'painted' });
            return agent.runAgent({ tools });
        }
        /// The events that connect() brings, and the promise of their end.
        function connect(agent) {
            const events = [];
            const ended = new Promise((resolve, reject) => agent.connect({
                threadId, runId: randomUUID(), messages: [], tools, context: [], state: {}, forwardedProps: {},
            }).subscribe({ next: (event) => events.push(event), error: reject, complete: resolve }));
            return { events, ended };
        }
        const typesOf = (events) => events.map(({ type }) => type);
        const holderOf = async (callId) => (await (await fetch(`${gateway.url}/threads/${threadId}/pending`)).json()).toolCalls
            .find(({ toolCallId }) => toolCallId === callId)?.claimedUntil;

        it('a run that ends with calls has claimed them; another tab waits, and sees the answer and what follows', async () => {
            model.script(key, [{ toolCalls: [paint('c1'), paint('c2')] }, { content: 'Painted.' }]);
            const first = tab('first');
            await ask(first);
            assert.ok(await holderOf('c1') > Date.now() && await holderOf('c2') > Date.now());

            const second = tab('second');
            let changes = 0;
            second.claims.subscribe(() => (changes += 1));
            const { events, ended } = connect(second);
            await until(() => second.claims.elsewhere.length > 0);
            assert.deepEqual(second.claims.elsewhere.map(({ toolCallId }) => toolCallId), ['c1', 'c2']);
            assert.ok(second.claims.elsewhere.every(({ claimedUntil }) => claimedUntil > Date.now()));
            assert.ok(!typesOf(events).includes('RUN_FINISHED'), 'the page is not told to execute the calls');

            await answer(first, 'c1', 'c2');
            await within(20, ended, 'the second tab goes on');
            assert.equal(typesOf(events).at(-1), 'RUN_FINISHED');
            assert.equal(typesOf(events).filter((type) => type === 'RUN_FINISHED').length, 1);
            assert.deepEqual(events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map(({ toolCallId, content }) => [toolCallId, content]),
                [['c1', 'painted'], ['c2', 'painted']]);
            assert.deepEqual(second.claims.elsewhere, []);
            assert.ok(changes >= 2);
            assert.equal(second.requests.filter((path) => path === 'claim').length, 1, 'one refusal is enough');
            const { messages } = events.findLast(({ type }) => type === 'MESSAGES_SNAPSHOT');
            assert.equal(messages.at(-1).content, 'Painted.');
            assert.equal(model.requests(key).length, 2);
        });

        it('runAgent() that follows the run of another tab ends with the other one\'s answer', async () => {
            model.script(key, [{ toolCalls: [paint('c1')] }, { content: 'Painted.' }]);
            const first = tab('first');
            await ask(first);
            const { runId } = first.seen[0];

            const second = tab('second');
            second.addMessage(first.messages[0]);
            second.followNext(threadId, runId, second.messages);
            const followed = second.runAgent({ tools });
            await until(() => second.claims.elsewhere.length > 0);
            await answer(first, 'c1');
            await within(20, followed, 'the second tab goes on');

            assert.deepEqual(said(second).at(-1), 'Painted.');
            assert.deepEqual(second.messages.map(({ role }) => role), ['user', 'assistant', 'tool', 'assistant']);
            assert.equal(model.requests(key).length, 2);
        });

        it('a tab that is stopped while it waits, or sends a message, executes nothing', async () => {
            model.script(key, [{ toolCalls: [paint('c1')] }, { content: 'Next.' }]);
            await ask(tab('first'));
            const second = tab('second');
            const { events, ended } = connect(second);
            await until(() => second.claims.elsewhere.length > 0);
            second.abortRun();
            await within(5, ended.catch(() => {}), 'the stream ends');
            assert.ok(!typesOf(events).includes('RUN_FINISHED'));
            assert.deepEqual(second.claims.elsewhere, []);

            await ask(tab('third'));
            assert.equal(await holderOf('c1'), undefined, 'the message has ended the hand-off');
            assert.equal(model.requests(key).length, 2);
        });

        for (const [what, refusals] of [['claims', { claim: 404 }], ['pending calls', { pending: 404 }], ['working claims', { claim: 500 }]]) {
            it(`a gateway without ${what} leaves the calls to every tab`, async () => {
                model.script(key, [{ toolCalls: [paint('c1')] }]);
                await ask(tab('first'));
                const second = tab('second', {}, refusals);
                await within(5, connect(second).ended, 'the stream ends');
                assert.ok(second.requests.includes(Object.keys(refusals)[0]));
            });
        }

        it('claims only the calls that the page names', async () => {
            model.script(key, [{ toolCalls: [paint('c1')] }, { content: 'Painted.' }]);
            const first = tab('first', { claims: (toolName) => toolName !== 'paint' });
            await ask(first);
            const second = tab('second', { claims: false });
            await connect(second).ended;
            assert.equal(await holderOf('c1'), undefined);
            assert.deepEqual([...first.requests, ...second.requests].filter((path) => path === 'claim'), []);
        });

        it('claims no call that waits for an approval', async () => {
            model.script(key, [{ toolCalls: [{ name: 'get_weather', arguments: '{"city":"Oslo"}', id: 'c1' }] }]);
            const first = tab('first');
            await ask(first);
            assert.equal(first.seen.at(-1).type, 'RUN_FINISHED');
            await within(5, connect(tab('second')).ended, 'the stream ends');
            assert.deepEqual(first.requests.filter((path) => path === 'claim'), []);
        });

        it('a copy of an agent claims for the same tab', async () => {
            model.script(key, [{ toolCalls: [paint('c1')] }]);
            const first = tab('first');
            await ask(first);
            const copy = first.clone();
            agents.push(copy);
            await within(5, connect(copy).ended, 'the stream ends');
        });

        if (version !== '1.0.0') return;

        const ends = {
            'calls release()': (agent) => agent.claims.release(threadId),
            'stops the run': (agent) => agent.abortRun(),
            'shows another page': (agent, page) => page.dispatchEvent(new Event('pagehide')),
        };
        for (const [what, end] of Object.entries(ends)) {
            it(`takes over from a tab that ${what}, before its claim ends`, async () => {
                model.script(key, [{ toolCalls: [paint('c1'), paint('c2')] }]);
                const first = tab('first');
                const page = standIn();
                await ask(first).finally(() => page.remove());
                const claimedUntil = await holderOf('c1');
                const second = tab('second');
                const { ended } = connect(second);
                await until(() => second.claims.elsewhere.length > 0);
                end(first, page);
                await within(20, ended, 'the second tab takes over');
                assert.ok(Date.now() < claimedUntil);
                assert.ok(await holderOf('c1') > claimedUntil && await holderOf('c2') > claimedUntil);
            });
        }

        it('an answer keeps its claim until it is there', async () => {
            model.script(key, [{ toolCalls: [paint('c1')] }, { content: 'Painted.' }]);
            const first = tab('first');
            await ask(first);
            await answer(first, 'c1');
            assert.deepEqual(first.methods.filter((method) => method === 'DELETE'), []);
        });

        it('takes over from a tab that has crashed, when its claim ends', async () => {
            model.script(key, [{ toolCalls: [paint('c1')] }, { content: 'Painted.' }]);
            const first = tab('first');
            await ask(first);
            const claimedUntil = await holderOf('c1');
            first.claims.forget(threadId); // Renewed no more.
            const second = tab('second');
            const { events, ended } = connect(second);
            await within(60, ended, 'the second tab takes over');
            assert.ok(Date.now() >= claimedUntil, 'not before the claim has ended');
            assert.ok(!typesOf(events).includes('TOOL_CALL_RESULT'));
            assert.ok(await holderOf('c1') > claimedUntil);
        });
    });
}

describe('Claims', { skip }, () => {
    let files;
    let Claims;
    let statuses; ///< Of the next claims; then 200.
    let claimed;
    let claims;
    let answerMeanwhile;
    let open; ///< The calls that wait.

    before(async () => {
        files = new Package(clients['1.0.0']);
        ({ Claims } = await files.load());
    });
    after(() => files?.stop());
    beforeEach(() => {
        statuses = [];
        claimed = [];
        open = ['c1', 'c2'];
        answerMeanwhile = false;
        mock.timers.enable({ apis: ['setTimeout', 'Date'] });
        claims = new Claims(async (path, init) => {
            const toolCalls = open.map((toolCallId) => ({ toolCallId, toolCallName: 'paint' }));
            if (!init) return new Response(JSON.stringify({ toolCalls, interrupts: [] }));
            if (answerMeanwhile) open = [];
            const isGivenUp = init.method === 'DELETE';
            assert.equal(init.keepalive ?? false, isGivenUp);
            claimed.push([/calls\/(\w+)/.exec(path)[1], JSON.parse(init.body).holder, ...(isGivenUp ? ['no more'] : [])].join(' '));
            const status = (isGivenUp ? undefined : statuses.shift()) ?? 200;
            if (status === 200) return new Response('{}');
            throw Object.assign(new Error('refused'), { status });
        }, 'me', true);
    });
    afterEach(() => {
        claims.release('t');
        mock.timers.reset();
    });
    async function pass(milliseconds) {
        mock.timers.tick(milliseconds);
        for (let turns = 0; turns < 50; turns += 1) await Promise.resolve();
        await new Promise((resolve) => setImmediate(resolve));
        return claimed.splice(0);
    }

    it('are renewed every 10 s until they are released', async () => {
        assert.equal(await claims.take('t', ['c1', 'c2']), 'held');
        assert.deepEqual(await pass(9_999), ['c1 me', 'c2 me']);
        assert.deepEqual(await pass(1), ['c1 me', 'c2 me']);
        assert.deepEqual(await pass(10_000), ['c1 me', 'c2 me']);
        claims.release('another thread');
        assert.deepEqual(await pass(10_000), ['c1 me', 'c2 me']);
        claims.release('t');
        assert.deepEqual(await pass(60_000), ['c1 me no more', 'c2 me no more']);
        assert.deepEqual(await pass(60_000), []);
    });

    it('are not given up by forget()', async () => {
        assert.equal(await claims.take('t', ['c1', 'c2']), 'held');
        claims.forget('t');
        assert.deepEqual(await pass(60_000), ['c1 me', 'c2 me']);
    });

    it('are given up when the page is left, and renewed if it comes back', async () => {
        const page = standIn();
        try {
            assert.equal(await claims.take('t', ['c1', 'c2']), 'held');
            page.dispatchEvent(new Event('pagehide'));
            assert.deepEqual(await pass(0), ['c1 me', 'c2 me', 'c1 me no more', 'c2 me no more']);
            assert.deepEqual(await pass(10_000), ['c1 me', 'c2 me']);
            claims.forget('t');
            page.dispatchEvent(new Event('pagehide'));
            assert.deepEqual(await pass(60_000), []);
        } finally {
            page.remove();
        }
    });

    it('that were taken before another tab had the next one are given up with the wait', async () => {
        statuses = [200, 409];
        const taken = claims.take('t', ['c1', 'c2']);
        assert.deepEqual(await pass(0), ['c1 me', 'c2 me']);
        claims.release('t');
        assert.equal(await taken, 'left');
        assert.deepEqual(await pass(60_000), ['c1 me no more']);
    });

    it('are renewed after a failure, but not after a refusal', async () => {
        assert.equal(await claims.take('t', ['c1']), 'held');
        claimed.length = 0;
        for (const status of [503, 429, 0]) {
            statuses = [status];
            assert.deepEqual(await pass(10_000), ['c1 me'], `before ${status}`);
        }
        for (const status of [404, 409]) {
            assert.equal(await claims.take('t', ['c1']), 'held');
            claimed.length = 0;
            statuses = [status];
            assert.deepEqual(await pass(10_000), ['c1 me']);
            assert.deepEqual(await pass(60_000), [], `after ${status}`);
        }
    });

    it('of several calls are asked for one after the other: a tab with the first of them gets them all', async () => {
        statuses = [409];
        const taken = claims.take('t', ['c2', 'c1']);
        assert.deepEqual(await pass(0), ['c1 me'], 'c2 is left to the tab that has c1');
        assert.deepEqual(claims.elsewhere.map(({ toolCallId }) => toolCallId), ['c1']);
        assert.deepEqual(await pass(5_000), ['c1 me', 'c2 me']);
        assert.equal(await taken, 'held');
        assert.deepEqual(claims.elsewhere, []);
    });

    it('are not waited for after release() or the signal', async () => {
        statuses = Array(10).fill(409);
        const released = claims.take('t', ['c1']);
        await pass(0);
        claims.release('t');
        assert.equal(await released, 'left');
        assert.equal(await claims.take('t', ['c1'], AbortSignal.abort()), 'left');
        await pass(0);
        assert.deepEqual(await pass(60_000), []);
    });

    it('are gone if they are answered between two requests, and held without the route', async () => {
        statuses = [404, 404];
        assert.equal(await claims.take('t', ['c1', 'c2']), 'held');
        statuses = [404];
        answerMeanwhile = true;
        assert.equal(await claims.take('t', ['c1']), 'gone');
        assert.equal(await claims.take('t', ['c1']), 'gone');
    });

    it('of a user who may only read a thread are none: the answers of others are waited for', async () => {
        claims.watch(true);
        const taken = claims.take('t', ['c1']);
        assert.deepEqual(await pass(0), []);
        assert.deepEqual(claims.elsewhere.map(({ toolCallId }) => toolCallId), ['c1']);
        open = ['c2'];
        assert.deepEqual(await pass(5_000), []);
        assert.equal(await taken, 'answered');
        assert.equal(await claims.take('t', ['c1']), 'answered');
        claims.watch(false);
        assert.equal(await claims.take('t', ['c2']), 'held');
    });

    it('need no gateway if there is no call', async () => assert.equal(await claims.take('t', []), 'held'));
});
