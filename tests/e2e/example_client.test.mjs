// The command-line client of examples/externaltool, as a user runs it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'node:test';
import { outline } from './support/client.mjs';
import { Gateway, binFolder, stopAll } from './support/gateway.mjs';
import { ModelServer } from './support/model.mjs';

describe('the command-line client', () => {
    let model;
    let gateway;

    before(async () => {
        model = await ModelServer.start();
        gateway = await Gateway.start({ model });
    });
    after(() => stopAll(gateway, model));

    /// Runs the client to its end.
    async function client(message) {
        const colorFile = path.join(gateway.folder, 'color');
        const program = path.join(binFolder, 'externaltool-client');
        const run = spawn(program, ['--url', gateway.url, '--message', message, '--color-file', colorFile]);
        let output = '';
        run.stdout.on('data', (chunk) => (output += chunk));
        run.stderr.on('data', (chunk) => (output += chunk));
        const code = await new Promise((resolve, reject) => {
            run.on('error', reject);
            run.on('close', resolve);
        });
        return { code, output, color: fs.existsSync(colorFile) ? fs.readFileSync(colorFile, 'utf8').trim() : undefined };
    }

    it('executes change_background and goes on with its result', async () => {
        const call = { name: 'change_background', arguments: '{"color":"teal"}', id: 'call_teal' };
        model.script('paint it teal', [{ toolCalls: [call] }, { content: 'It is teal.' }]);

        const { code, output, color } = await client('paint it teal');

        assert.equal(code, 0, output);
        assert.equal(color, 'teal');
        assert.match(output, /It is teal\.\n$/);
        assert.deepEqual(outline((await model.request('paint it teal', 2)).conversation), [
            'user: paint it teal',
            'assistant: | change_background({"color":"teal"})#call_teal',
            'tool call_teal: {"status":"ok","color":"teal"}',
        ]);
    });

    it('refuses arguments that are no colour, and tells the model', async () => {
        const call = { name: 'change_background', arguments: '{"color":"url(javascript:1)"}', id: 'call_bad' };
        model.script('paint it badly', [{ toolCalls: [call] }, { content: 'I am sorry.' }]);

        const { code, output } = await client('paint it badly');

        assert.equal(code, 1, output);
        assert.match((await model.request('paint it badly', 2)).conversation.at(-1).content, /error/);
    });

    it('left only valid requests to the model server', () => model.checkRequests());
});

describe('the chat-loop example', () => {
    let model;

    before(async () => {
        model = await ModelServer.start();
    });
    after(() => stopAll(model));

    async function chat(message) {
        const run = spawn(path.join(binFolder, 'chat-loop'), [model.url, 'test-model', message]);
        let output = '';
        run.stdout.on('data', (chunk) => (output += chunk));
        run.stderr.on('data', (chunk) => (output += chunk));
        const code = await new Promise((resolve, reject) => {
            run.on('error', reject);
            run.on('close', resolve);
        });
        return { code, output };
    }

    it('executes both tools and goes on with their results', async () => {
        const calls = [
            { name: 'add', arguments: '{"a":17,"b":25}', id: 'call_add' },
            { name: 'get_time', arguments: '{}', id: 'call_time' },
        ];
        model.script('add and tell the time', [{ toolCalls: calls }, { content: 'It is 42.' }]);

        const { code, output } = await chat('add and tell the time');

        assert.equal(code, 0, output);
        assert.match(output, /\[add {"a":17,"b":25}\]\n\[get_time {}\]/);
        assert.match(output, /It is 42\.\n\(1 rounds, 2 calls, \d+ tokens of answers\)\n$/);
        const sent = outline((await model.request('add and tell the time', 2)).conversation);
        assert.match(sent[2], /^tool call_add: 42$/);
        assert.match(sent[3], /^tool call_time: \d{4}-\d\d-\d\dT/);
    });

    it('says what went wrong with a model server', async () => {
        model.script('fail', [{ status: 500, error: { message: 'out of order' } }]);

        const { code, output } = await chat('fail');

        assert.equal(code, 1, output);
        assert.match(output, /model/);
    });
});
