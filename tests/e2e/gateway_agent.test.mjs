// The agent of examples/clients/gateway-agent with each official client: lost and silent connections, Stop, reload,
// a gateway that is killed in the middle of a run. AGUI_GATEWAY_AGENT is the folder of the built package.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, it } from 'node:test';
import { within } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { Package, Wire, agentOn as makeAgent, clients, deltasOf, said, skip, until } from './support/gateway_agent.mjs';
import { ModelServer, gate } from './support/model.mjs';

for (const [version, name] of Object.entries(clients)) {
    describe(`GatewayAgent with @ag-ui/client ${version}`, { skip }, () => {
        let model;
        let gateway;
        let wire;
        let files;
        let GatewayAgent;
        let key;
        let threadId;

        before(async () => {
            files = new Package(name);
            ({ GatewayAgent } = await files.load());
            model = await ModelServer.start();
            gateway = await Gateway.start({ model });
            gateway.args.push('--listen', new URL(gateway.base).host); // A restart keeps the address.
            wire = await Wire.start(Number(new URL(gateway.base).port));
        });
        after(async () => {
            await wire?.stop();
            await stopAll(gateway, model);
            files?.stop();
        });
        beforeEach((test) => {
            key = `[${test.name} ${randomUUID()}]`;
            threadId = randomUUID();
        });

        const agentOn = (url, more = {}) => makeAgent(GatewayAgent, { url, threadId, ...more });
        function ask(agent, text = key) {
            agent.addMessage({ id: randomUUID(), role: 'user', content: text });
            return agent.runAgent();
        }
        const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();
        const deltas = (agent) => deltasOf(agent.seen);

        it('goes on after a connection that was cut, without a gap and without a repeat', async () => {
            const rest = gate();
            model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
            const agent = agentOn(wire.url);
            const running = ask(agent);
            await until(() => deltas(agent) !== '');
            const before = wire.connections;
            wire.cut();
            rest.open();
            await running;
            assert.equal(wire.connections > before, true, 'the connection was made again');
            assert.equal(deltas(agent), words);
            assert.deepEqual(said(agent), [words]);
            assert.equal(agent.seen.filter(({ type }) => type === 'RUN_STARTED').length, 1);
            assert.equal(model.requests(key).length, 1);
        });

        it('repeats a POST whose answer was lost, and nothing runs twice', async () => {
            model.script(key, [{ content: words }]);
            const agent = agentOn(wire.url);
            wire.cutAfter = 1;
            await ask(agent);
            assert.deepEqual(said(agent), [words]);
            assert.equal(model.requests(key).length, 1);
        });

        it('gives up a connection that is silent', async () => {
            const rest = gate();
            model.script(key, [{ content: words, pauseAfter: 5, resume: rest.opened }]);
            const agent = agentOn(wire.url, { silence: 300 });
            const running = ask(agent);
            await model.request(key, 1);
            await until(() => deltas(agent) !== '');
            wire.hush();
            rest.open();
            await within(20, running, 'the run is read to its end');
            assert.deepEqual(said(agent), [words]);
        });

        it('Stop ends the run on the server within 1 s, and the agent takes the next message', async () => {
            const never = gate();
            model.script(key, [{ content: words, pauseAfter: 5, resume: never.opened }, { content: 'Next.' }]);
            const agent = agentOn(gateway.url);
            const running = ask(agent);
            const exchange = await model.request(key, 1);
            await until(() => deltas(agent) !== '');
            agent.abortRun();
            await within(1, exchange.closed, 'the model server is left');
            await within(5, running, 'runAgent() ends');
            never.open();
            await ask(agent, 'next');
            assert.equal(said(agent).at(-1), 'Next.');
        });

        it('connect() shows the conversation and the active run to a page that was loaded again', async () => {
            const rest = gate();
            model.script(key, [{ content: 'Hello.' }, { content: words, pauseAfter: 5, resume: rest.opened }]);
            const first = agentOn(gateway.url);
            await ask(first);
            const running = ask(first, 'more');
            await model.request(key, 2);
            const second = agentOn(gateway.url);
            const events = [];
            const stream = new Promise((resolve, reject) => second.connect({
                threadId, runId: randomUUID(), messages: [], tools: [], context: [], state: {}, forwardedProps: {},
            }).subscribe({ next: (event) => events.push(event), error: reject, complete: resolve }));
            await until(() => deltasOf(events) !== '');
            rest.open();
            await within(10, Promise.all([stream, running]), 'both end');
            const snapshot = events.find(({ type }) => type === 'MESSAGES_SNAPSHOT').messages;
            assert.deepEqual(snapshot.map(({ content }) => content), [key, 'Hello.', 'more']);
            assert.equal(deltasOf(events), words);
        });

        it('says what the gateway has refused, and does not try again', async () => {
            const agent = agentOn(wire.url);
            const before = wire.connections;
            agent.addMessage({ id: randomUUID(), role: 'tool', toolCallId: 'never-made', content: 'x' });
            await assert.rejects(agent.runAgent(), (error) => error.name === 'GatewayError' && error.status === 422 && error.code !== 'unknown');
            assert.equal(wire.connections - before <= 1, true);
        });

        it('is told how a run ended whose gateway was killed', async () => {
            const never = gate();
            model.script(key, [{ content: words, pauseAfter: 5, resume: never.opened }, { content: 'Here again.' }]);
            const agent = agentOn(gateway.url);
            const running = ask(agent).catch((error) => error);
            await model.request(key, 1);
            await until(() => deltas(agent) !== '');
            await gateway.end('SIGKILL');
            await gateway.launch();
            await within(20, running, 'the run ends');
            never.open();
            const end = agent.seen.find(({ type }) => type === 'RUN_ERROR');
            assert.equal(end?.code, 'internal');
            assert.equal(words.startsWith(deltas(agent)), true);
            await ask(agent, 'again');
            assert.equal(said(agent).at(-1), 'Here again.');
        });
    });
}
