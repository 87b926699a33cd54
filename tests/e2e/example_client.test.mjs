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
