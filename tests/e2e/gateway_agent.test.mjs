// The agent of examples/clients/gateway-agent with each official client: lost and silent connections, Stop, reload,
// a gateway that is killed in the middle of a run. AGUI_GATEWAY_AGENT is the folder of the built package.

import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { within } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { ModelServer, gate } from './support/model.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const built = process.env.AGUI_GATEWAY_AGENT;
const packages = { '0.0.57': 'ag-ui-client-0057', '0.0.59': 'ag-ui-client-0059', '1.0.0': 'ag-ui-client-1' };

/// Passes connections on until told otherwise: cut() ends them, hush() lets nothing through any more.
class Wire {
    static async start(port) {
        const wire = new Wire();
        wire.connections = 0;
        wire.pairs = new Set();
        wire.cutAfter = Infinity; ///< Bytes of the server after which a connection is cut, once.
        wire.server = net.createServer((client) => {
            wire.connections += 1;
            const server = net.connect(port, '127.0.0.1');
            const pair = { client, server, sent: 0 };
            wire.pairs.add(pair);
            const end = () => {
                wire.pairs.delete(pair);
                client.destroy();
                server.destroy();
            };
            for (const side of [client, server]) side.on('error', end).on('close', end);
            client.pipe(server);
            server.on('data', (data) => {
                if (pair.isHushed) return;
                pair.sent += data.length;
                client.write(data);
                if (pair.sent >= wire.cutAfter) {
                    wire.cutAfter = Infinity;
                    end();
                }
            });
        });
        await new Promise((resolve) => wire.server.listen(0, '127.0.0.1', resolve));
        wire.url = `http://127.0.0.1:${wire.server.address().port}/agui`;
        return wire;
    }

    cut() {
        for (const { client } of this.pairs) client.destroy();
    }

    hush() {
        for (const pair of this.pairs) pair.isHushed = true;
    }

    async stop() {
        this.cut();
        await new Promise((resolve) => this.server.close(resolve));
    }
}

for (const [version, name] of Object.entries(packages)) {
    describe(`GatewayAgent with @ag-ui/client ${version}`, { skip: !built && 'AGUI_GATEWAY_AGENT is not set: tests/run.sh sets it' }, () => {
        let model;
        let gateway;
        let wire;
        let folder;
        let GatewayAgent;
        let key;
        let threadId;

        before(async () => {
            folder = fs.mkdtempSync(path.join(here, 'node_modules', '.gateway-agent-'));
            for (const file of fs.readdirSync(path.join(built, 'dist')).filter((each) => each.endsWith('.js'))) {
                const code = fs.readFileSync(path.join(built, 'dist', file), 'utf8');
                fs.writeFileSync(path.join(folder, file), code.replaceAll("'@ag-ui/client'", `'${name}'`));
            }
            fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}');
            ({ GatewayAgent } = await import(path.join(folder, 'index.js')));
            model = await ModelServer.start();
            gateway = await Gateway.start({ model });
            gateway.args.push('--listen', new URL(gateway.base).host); // A restart keeps the address.
            wire = await Wire.start(Number(new URL(gateway.base).port));
        });
        after(async () => {
            await wire?.stop();
            await stopAll(gateway, model);
            fs.rmSync(folder, { recursive: true, force: true });
        });
        beforeEach((test) => {
            key = `[${test.name} ${randomUUID()}]`;
            threadId = randomUUID();
        });

        function agentOn(url, more = {}) {
            const agent = new GatewayAgent({ url, threadId, ...more });
            agent.seen = [];
            agent.subscribe({ onEvent: ({ event }) => void agent.seen.push(event) });
            return agent;
        }
        function ask(agent, text = key) {
            agent.addMessage({ id: randomUUID(), role: 'user', content: text });
            return agent.runAgent();
        }
        const said = (agent) => agent.messages.filter(({ role }) => role === 'assistant').map(({ content }) => content);
        const words = Array.from({ length: 60 }, (_, at) => `word${at} `).join('').trim();
        const deltas = (agent) => agent.seen.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join('');

        it('goes on after a connection that was cut, without a gap and without a repeat', async () => {
            const rest = gate();
            model.script(key, [{ content: words, pauseAfter: 20, resume: rest.opened }]);
            const agent = agentOn(wire.url);
            const running = ask(agent);
            while (deltas(agent) === '') await new Promise((resolve) => setTimeout(resolve, 10));
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
            while (deltas(agent) === '') await new Promise((resolve) => setTimeout(resolve, 10));
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
            while (deltas(agent) === '') await new Promise((resolve) => setTimeout(resolve, 10));
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
            while (!events.some(({ type }) => type === 'TEXT_MESSAGE_CONTENT')) await new Promise((resolve) => setTimeout(resolve, 10));
            rest.open();
            await within(10, Promise.all([stream, running]), 'both end');
            const snapshot = events.find(({ type }) => type === 'MESSAGES_SNAPSHOT').messages;
            assert.deepEqual(snapshot.map(({ content }) => content), [key, 'Hello.', 'more']);
            assert.equal(events.filter(({ type }) => type === 'TEXT_MESSAGE_CONTENT').map(({ delta }) => delta).join(''), words);
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
            while (deltas(agent) === '') await new Promise((resolve) => setTimeout(resolve, 10));
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
