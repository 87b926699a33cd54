// The tools of examples/tools, with the example's own model, webhook and MCP servers.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { after, before, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { postRun, runInput, user } from './support/client.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';
import { finishRecordings, recordAs } from './support/streams.mjs';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const servers = path.join(repository, 'examples/tools/servers.py');
const toml = fs.readFileSync(path.join(repository, 'examples/tools/tools.toml'), 'utf8');

/// The tables of a TOML text, each as its lines without comments.
function tablesOf(text) {
    const lines = text.split('\n').map((line) => line.replace(/\s*# .*$/, '').trim()).filter(Boolean);
    const tables = [];
    for (const line of lines) {
        if (line.startsWith('[')) tables.push([]);
        tables.at(-1)?.push(line);
    }
    return tables;
}

class Servers {
    static async start() {
        const started = new Servers();
        started.process = spawn('python3', [servers, '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
        started.ended = new Promise((resolve) => started.process.on('close', resolve));
        const lines = readline.createInterface({ input: started.process.stdout });
        started.url = await Promise.race([new Promise((resolve) => lines.once('line', resolve)), started.ended]);
        return started;
    }

    async stop() {
        this.process.kill('SIGTERM');
        await this.ended;
    }
}

describe('the tools of examples/tools', () => {
    let python;
    let folder;
    let gateway;

    before(async () => {
        python = await Servers.start();
        folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-tools-'));
        const config = path.join(folder, 'tools.toml');
        fs.writeFileSync(config, toml.replaceAll('http://127.0.0.1:9200', python.url)
            .replace('"examples/tools/servers.py"', JSON.stringify(servers)) + '\n[server]\nlisten = "127.0.0.1:0"\n');
        gateway = await Gateway.start({ embedding: true, args: [config] });
    });
    after(async () => {
        await stopAll(gateway, python);
        fs.rmSync(folder, { recursive: true, force: true });
        finishRecordings();
    });
    beforeEach((test) => recordAs(`examples/tools ${test.name}`));

    function say(text, agent = 'default') {
        const input = runInput({ threadId: `${agent} ${text}`, protocolVersion: '1.1', messages: [user(text)] });
        return postRun({ url: `${gateway.url}/agents/${agent}` }, input);
    }

    async function resultOf(text) {
        const run = (await say(`use ${text}`)).expectFinished();
        assert.equal(run.of('TOOL_CALL_RESULT').length, 1);
        return run.of('TOOL_CALL_RESULT')[0].content;
    }

    it('are those that the README shows', () => {
        const readme = fs.readFileSync(path.join(repository, 'examples/tools/README.md'), 'utf8');
        const shown = tablesOf(/\n## The configuration\n.*?```toml\n(.*?)```/s.exec(readme)[1]);
        const tables = tablesOf(toml);
        assert.ok(shown.length >= 5);
        for (const table of shown) {
            assert.ok(tables.some((one) => table.every((line) => one.includes(line))), table.join('\n'));
        }
    });

    it('are executed by whom they belong to', async () => {
        assert.equal(await resultOf('get_weather {"city": "Ulm"}'), '{"city": "Ulm", "celsius": 21}');
        assert.equal(await resultOf('mcp__local__roll {"sides": 6}'), 'a die of 6 sides shows 4');
        assert.equal(await resultOf('mcp__remote__roll {"sides": 8}'), 'a die of 8 sides shows 4');
        assert.match(await resultOf('get_time'), /^\d{4}-\d\d-\d\dT[\d:]{8}Z$/);
        assert.match(await resultOf('disk_space'), /^\d+ GiB are free$/);
        const open = (await say('use open_page {"url": "https://docs.ag-ui.com"}')).expectFinished();
        assert.deepEqual(open.last.outcome.pendingToolCallIds, open.calls.map((call) => call.id));
        assert.equal(open.calls.length, 1);
    });

    it('give the model error results', async () => {
        assert.match(await resultOf('get_weather {"city": 7}'), /^The arguments do not fit the tool's schema\. At \/city: /);
        assert.equal(await resultOf('no_such_tool'), 'There is no tool of this name.');
    });

    it('are picked for an agent', async () => {
        assert.match((await say('Hello', 'careful')).text, /^My tools: get_weather, mcp__local__roll, open_page$/);
    });

    it('are not called for ever', async () => {
        const warned = await say('use get_weather {"city": "Ulm"} forever');
        const results = warned.of('TOOL_CALL_RESULT').map((event) => event.content);
        assert.equal(results.length, 11);
        assert.match(results[2], /^Warning: this tool was called 3 times in a row/);
        assert.equal(warned.of('CUSTOM').at(-1).value.reason, 'max_rounds_exceeded');
        const ended = await say('use get_weather {"city": "Ulm"} forever', 'careful');
        assert.equal(ended.calls.length, 3);
        assert.equal(ended.of('CUSTOM').at(-1).value.reason, 'tool_loop_detected');
        assert.deepEqual(ended.last.outcome, { type: 'cancelled' });
    });
});
