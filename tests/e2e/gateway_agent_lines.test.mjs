// The agent of examples/clients/gateway-agent behind proxies that refuse, end and cut connections, on a page that goes
// offline or is hidden, and how it is stopped. AGUI_GATEWAY_AGENT is the folder of the built package.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { within } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { Package, ReverseProxy, Wire, agentOn as makeAgent, clients, deltasOf, said, skip, until } from './support/gateway_agent.mjs';
import { ModelServer, gate } from './support/model.mjs';

const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();

/// A browser's page around the agent: its events are sent by hand.
class Page {
    constructor() {
        this.window = new EventTarget();
        globalThis.document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
        globalThis.addEventListener = this.window.addEventListener.bind(this.window);
        globalThis.removeEventListener = this.window.removeEventListener.bind(this.window);
    }

    show(visibilityState) {
        globalThis.document.visibilityState = visibilityState;
        globalThis.document.dispatchEvent(new Event('visibilitychange'));
    }

    tell(name, more) {
        this.window.dispatchEvent(Object.assign(new Event(name), more));
    }

    leave() {
        for (const name of ['document', 'addEventListener', 'removeEventListener']) delete globalThis[name];
    }
}

for (const [version, name] of Object.entries(clients)) {
    describe(`connections of GatewayAgent with @ag-ui/client ${version}`, { skip }, () => {
        let model;
        let gateway;
        let wire;
        let proxy;
        let files;
        let GatewayAgent;
        let key;
        let threadId;
        let rest; ///< Opens the rest of the model's answer.

        before(async () => {
            files = new Package(name);
            ({ GatewayAgent } = await files.load());
            model = await ModelServer.start();
            const agents = ['default', 'x'].map((id) => ({ id, models: ['main'], instructions: `You are ${id}.` }));
            gateway = await Gateway.start({ model, config: { agents, session: { store: 'memory:' } } });
            gateway.args.push('--listen', new URL(gateway.base).host); // A restart keeps the address.
            wire = await Wire.start(Number(new URL(gateway.base).port));
            proxy = await ReverseProxy.start(gateway);
        });
        after(async () => {
            await wire?.stop();
            await stopAll(gateway, model, proxy);
            files?.stop();
        });
        beforeEach((test) => {
            key = `[${test.name} ${randomUUID()}]`;
            threadId = randomUUID();
            rest = gate();
            proxy.requests.length = 0;
        });
        afterEach(() => rest.open());

        const agentOn = (url, more = {}) => makeAgent(GatewayAgent, { url, threadId, ...more });
        function ask(agent, text = key, parameters = {}) {
            agent.addMessage({ id: randomUUID(), role: 'user', content: text });
            return agent.runAgent(parameters);
        }
        /// Asks, and waits until the answer has begun, whose rest waits for `rest`.
        async function begin(agent, parameters) {
            model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }, { content: 'Next.' }]);
            const running = ask(agent, key, parameters);
            running.catch(() => {}); // A test may look at it later.
            const exchange = await model.request(key, 1);
            await until(() => deltasOf(agent.seen) !== '');
            return { running, exchange };
        }
        /// A page that was loaded again, once it shows the answer that has begun.
        async function loadAgain(agent) {
            const connecting = agent.connectAgent({});
            connecting.catch(() => {});
            await until(() => deltasOf(agent.seen) !== '');
            return connecting;
        }
        const types = (agent, type) => agent.seen.filter((event) => event.type === type);

        it('Stop after a reload ends the active run on the server', async () => {
            const { running, exchange } = await begin(agentOn(gateway.url));
            const agent = agentOn(gateway.url);
            const connecting = loadAgain(agent);
            await until(() => deltasOf(agent.seen) !== '');
            agent.abortRun();
            await within(1, exchange.closed, 'the model server is left');
            await within(5, Promise.all([running, connecting]), 'both end');
            rest.open();
            await ask(agent, 'next');
            assert.equal(said(agent).at(-1), 'Next.');
        });

        it('a reload after Stop shows the conversation', async () => {
            const agent = agentOn(gateway.url);
            const { running } = await begin(agent);
            agent.abortRun();
            await running;
            agent.setMessages([]);
            await agent.connectAgent({});
            assert.deepEqual(agent.messages.map(({ role }) => role), ['user', 'assistant']);
        });

        for (const [what, cut] of [['cut', () => wire.cut()], ['ended as if it were complete', () => proxy.finish()]]) {
            it(`connect() goes on after a connection that was ${what}`, async () => {
                const { running } = await begin(agentOn(gateway.url));
                const agent = agentOn(what === 'cut' ? wire.url : proxy.url);
                const connecting = loadAgain(agent);
                await until(() => deltasOf(agent.seen) !== '');
                cut();
                rest.open();
                await within(20, Promise.all([running, connecting]), 'both end');
                assert.equal(deltasOf(agent.seen), words);
                assert.deepEqual(said(agent), [words]);
                assert.equal(types(agent, 'RUN_STARTED').length, 2, 'that of the history and that of the run');
            });
        }

        it('connect() asks again for a conversation whose connection was cut', async () => {
            model.script(key, [{ content: words }]);
            await ask(agentOn(gateway.url));
            const agent = agentOn(wire.url);
            wire.cutAfter = 1;
            await agent.connectAgent({});
            assert.deepEqual(said(agent), [words]);
            assert.equal(types(agent, 'MESSAGES_SNAPSHOT').length, 1);
        });

        it('a run goes on after a connection that was ended as if it were complete', async () => {
            const agent = agentOn(proxy.url);
            const { running } = await begin(agent);
            proxy.finish();
            rest.open();
            await within(20, running, 'the run is read to its end');
            assert.equal(deltasOf(agent.seen), words);
        });

        it('the abortController of runAgent() ends the run on the server', async () => {
            const agent = agentOn(gateway.url);
            const abortController = new AbortController();
            const { running, exchange } = await begin(agent, { abortController });
            abortController.abort();
            await within(1, exchange.closed, 'the model server is left');
            await within(5, running, 'runAgent() ends');
        });

        it('leaving a run does not end it', async () => {
            const agent = agentOn(proxy.url);
            const { running } = await begin(agent);
            await agent.detachActiveRun();
            await running;
            await until(() => proxy.replies.size === 0);
            assert.deepEqual(proxy.requests.map(({ url }) => url), ['/some/where/agui']);
        });

        it('sends what requestInit() says with every request, by the agent\'s own URL and the gateway\'s routes', async () => {
            class Mine extends GatewayAgent {
                requestInit(input) {
                    const init = super.requestInit(input);
                    return { ...init, credentials: 'include', mode: 'cors', headers: { ...init.headers, 'X-Tenant': input.threadId } };
                }
            }
            const inits = [];
            const agent = makeAgent(Mine, {
                url: `${proxy.url}/agents/x`, threadId, headers: { Authorization: 'Bearer me' },
                fetch: (url, init) => {
                    inits.push(init);
                    return fetch(url, init);
                },
            });
            const { running } = await begin(agent);
            proxy.finish();
            await until(() => proxy.requests.length === 2 && types(agent, 'RUN_STARTED').length === 1);
            agent.abortRun();
            await running;
            await until(() => proxy.requests.length === 3);
            await agent.connectAgent({});
            const { runId } = types(agent, 'RUN_STARTED')[0];
            assert.deepEqual(proxy.requests.map(({ method, url }) => `${method} ${url.split('?')[0]}`), [
                'POST /some/where/agui/agents/x', `GET /some/where/agui/threads/${threadId}/runs/${runId}/events`,
                'POST /some/where/agui/cancel', 'POST /some/where/agui/history',
            ]);
            for (const { headers } of proxy.requests) assert.deepEqual([headers['x-tenant'], headers.authorization], [threadId, 'Bearer me']);
            for (const init of inits) assert.deepEqual([init.credentials, init.mode], ['include', 'cors']);
            assert.equal(proxy.requests[1].headers['content-type'], undefined);
        });

        it('sends cookies to other origins if it is told to, and so does a clone', async () => {
            for (const credentials of ['include', undefined]) {
                const agent = agentOn(wire.url, { credentials });
                for (const each of [agent, agent.clone()]) {
                    const inits = [];
                    each.fetch = (url, init) => {
                        inits.push(init);
                        return fetch(url, init);
                    };
                    await each.request('/threads');
                    assert.deepEqual(inits.map((init) => init.credentials), [credentials]);
                }
            }
        });

        it('finds the gateway\'s routes below any path', () => {
            for (const [url, base] of [
                ['/agui', '/agui'], ['/agui/', '/agui'], ['http://h/agui?x=1', 'http://h/agui'], ['http://h/a/agui/agents/x/', 'http://h/a/agui'],
                ['http://h/agents/agui', 'http://h/agents/agui'], ['http://h/agui/agents/agui', 'http://h/agui'], ['/chat/agents/x', '/chat'],
            ]) assert.equal(agentOn(url).base, base, url);
        });

        it('tries again after 503, for the run and for the rest of it', async () => {
            proxy.refusals = [503];
            const agent = agentOn(proxy.url);
            const { running } = await begin(agent);
            proxy.refusals = [503, 429];
            proxy.finish();
            rest.open();
            await within(20, running, 'the run is read to its end');
            assert.equal(deltasOf(agent.seen), words);
            assert.equal(proxy.requests.length, 5);
            assert.equal(model.requests(key).length, 1);
        });

        it('says so at once if the run is not known any more', async () => {
            const agent = agentOn(wire.url);
            const { running } = await begin(agent);
            await gateway.end('SIGKILL');
            await gateway.launch();
            await assert.rejects(within(20, running, 'the run ends'), (error) => error.name === 'GatewayError' && error.status === 404);
        });

        it('a clone has the limits of its original, and ends only its own run', async () => {
            const original = agentOn(wire.url, { silence: 300 });
            const { running, exchange } = await begin(original);
            const copy = original.clone();
            copy.threadId = randomUUID();
            copy.abortRun();
            assert.equal(exchange.isClosed ?? false, false);
            wire.hush();
            rest.open();
            await within(20, running, 'the run is read to its end');
            assert.equal(said(original).at(-1), words);

            rest = gate();
            const next = original.clone();
            Object.assign(next, { threadId: randomUUID(), messages: [], subscribers: [] });
            const seen = [];
            next.subscribe({ onEvent: ({ event }) => void seen.push(event) });
            key = `[again ${randomUUID()}]`;
            const again = begin(Object.assign(next, { seen }));
            await until(() => deltasOf(seen) !== '');
            wire.hush();
            rest.open();
            await within(20, (await again).running, 'the clone gives up a silent connection, too');
            assert.equal(deltasOf(seen), words);
        });

        it('loads a thread, and follows its run in place of the next one', async () => {
            const first = agentOn(gateway.url);
            const { running } = await begin(first);
            const agent = agentOn(gateway.url);
            const { messages, activeRunId, state } = await agent.loadThread(threadId);
            assert.deepEqual([messages.map(({ content }) => content), activeRunId, state], [[key], types(first, 'RUN_STARTED')[0].runId, undefined]);
            agent.setMessages(messages);
            agent.followNext(threadId, activeRunId, messages);
            const following = agent.runAgent();
            rest.open();
            await within(20, Promise.all([running, following]), 'both end');
            assert.deepEqual(said(agent), [words]);
            assert.equal(types(agent, 'RUN_STARTED')[0].runId, activeRunId);
            assert.equal((await agent.loadThread(threadId)).activeRunId, undefined);

            agent.followNext(threadId, activeRunId, agent.messages);
            await ask(agent, 'next');
            assert.equal(said(agent).at(-1), 'Next.', 'the user has said something');
        });

        it('tells an edit of the first message that it has from a new one', async () => {
            model.script(key, [{ content: 'One.' }, { content: 'Two.' }, { content: 'Changed.' }, { content: 'More.' }]);
            const whole = agentOn(gateway.url);
            await ask(whole);
            await ask(whole, 'second');
            const agent = agentOn(gateway.url);
            agent.beginAfter(threadId, whole.messages[1]);
            await ask(agent, 'changed');
            await ask(agent, 'more');
            const sent = model.requests(key).at(-1).messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
            assert.deepEqual(sent, [key, 'One.', 'changed', 'Changed.', 'more']);
        });

        it('a silence that is longer than the patience ends nothing', async () => {
            const agent = agentOn(wire.url, { silence: 400, patience: 1 });
            const { running } = await begin(agent);
            wire.hush();
            rest.open();
            await within(20, running, 'the run is read to its end');
            assert.equal(deltasOf(agent.seen), words);
        });

        it('gives up when the patience is over', async () => {
            const agent = agentOn(wire.url, { patience: 1 });
            const { running } = await begin(agent);
            await wire.down();
            try {
                await assert.rejects(within(20, running, 'runAgent() ends'), (error) => !['AbortError', 'GatewayError'].includes(error.name));
            } finally {
                await wire.up();
            }
        });

        it('Stop ends the pause between two attempts', async () => {
            const page = new Page();
            try {
                const agent = agentOn(wire.url, { patience: -1 });
                const { running } = await begin(agent);
                page.show('hidden'); // A hidden page waits without an end.
                await wire.down();
                agent.abortRun();
                await within(5, running, 'runAgent() ends');
            } finally {
                await wire.up();
                page.leave();
            }
        });

        for (const [event, more] of [['online'], ['pageshow', { persisted: true }]]) {
            it(`connects again at once on ${event}`, async () => {
                const page = new Page();
                try {
                    const agent = agentOn(wire.url, { silence: 3_600_000 });
                    const { running } = await begin(agent);
                    wire.hush();
                    rest.open();
                    const before = wire.connections;
                    page.tell('pageshow', { persisted: false }); // The first load of a page.
                    page.show('visible');
                    assert.equal(wire.connections, before);
                    page.tell(event, more);
                    await within(20, running, 'the run is read to its end');
                    assert.equal(deltasOf(agent.seen), words);
                } finally {
                    page.leave();
                }
            });
        }
    });
}

describe('the lines of GatewayAgent', { skip }, () => {
    let files;
    let Line;
    let page;
    let leave;

    before(async () => {
        files = new Package(clients['1.0.0']);
        ({ Line } = await files.load('line.js'));
    });
    after(() => files?.stop());
    beforeEach(() => {
        page = new Page();
        leave = new AbortController();
    });
    afterEach(() => page.leave());

    const lost = new Error('lost');
    const ticks = () => new Promise((resolve) => setImmediate(resolve));

    it('of a hidden page give nothing up, and wait for it to be shown', async () => {
        const line = new Line(leave.signal, { silence: 1000, patience: -1 });
        line.open();
        page.show('hidden');
        let isOver = false;
        const pause = line.failed(lost).then(() => (isOver = true));
        page.show('hidden');
        await ticks();
        assert.equal(isOver, false, 'being hidden ends no pause');
        page.show('visible');
        await pause;
        assert.equal(line.open().aborted, false);
        await assert.rejects(line.failed(lost), lost);
        line.close();
    });

    it('are lost with the network: no pause, and the old connection is left', async () => {
        const line = new Line(leave.signal, { silence: 1000, patience: -1 });
        const signal = line.open();
        page.tell('online');
        assert.equal(signal.aborted, true);
        await line.failed(lost); // Without the network's return, the patience would be over.
        line.close();
    });

    it('end with their reader, in a pause too', async () => {
        const line = new Line(leave.signal, { silence: 1000, patience: -1 });
        const signal = line.open();
        page.show('hidden');
        const pause = line.failed(lost);
        leave.abort();
        await assert.rejects(pause, lost);
        assert.equal(signal.aborted, true);
        line.close();
    });

    it('leave no listener behind', async () => {
        const line = new Line(leave.signal, { silence: 1000, patience: 1 });
        const signal = line.open();
        line.close();
        const next = new Line(leave.signal, { silence: 1000, patience: 1 });
        page.tell('online');
        assert.equal(signal.aborted, true);
        next.close();
    });
});

describe('the event stream of GatewayAgent', { skip }, () => {
    it('is split alike, in whatever pieces it comes', async () => {
        const files = new Package(clients['1.0.0']);
        try {
            const { FrameSplitter } = await files.load('event-stream.js');
            const text = ':\n\nid: 1\ndata: {"a":1}\n\n\n\ndata: x\n\nunfinished\n';
            const whole = [':', 'id: 1\ndata: {"a":1}', '', 'data: x'];
            for (let first = 0; first <= text.length; first += 1) {
                for (let second = first; second <= text.length; second += 1) {
                    const splitter = new FrameSplitter();
                    const pieces = [text.slice(0, first), text.slice(first, second), text.slice(second)];
                    const frames = pieces.flatMap((piece) => splitter.split(piece)).map((frame) => frame.replace(/\n$/, ''));
                    assert.deepEqual(frames, whole, `${first}, ${second}`);
                }
            }
        } finally {
            files.stop();
        }
    });
});
