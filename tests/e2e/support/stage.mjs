// The tests of interrupts share a model server, the weather service behind a webhook, and gateways that use both.
// Each test has a thread of its own.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { postRun, runInput } from './client.mjs';
import { Gateway, stopAll } from './gateway.mjs';
import { ModelServer } from './model.mjs';
import { finishRecordings, recordAs } from './streams.mjs';
import { WeatherService } from './weather.mjs';

const postgres = fileURLToPath(new URL('../../postgres.sh', import.meta.url));

/// A call of the weather tool, as the scripts of models have it.
export function asks(city, id = 'call_1', name = 'get_weather') {
    return { name, arguments: JSON.stringify({ city }), id };
}

/// The entries of `resume` that answer an interrupt.
export const gives = (interrupt, payload) => ({ interruptId: interrupt.id, status: 'resolved', payload });
export const cancels = (interrupt) => ({ interruptId: interrupt.id, status: 'cancelled' });

class Stage {
    gateways = [];

    get gateway() {
        return this.gateways[0];
    }

    get other() {
        return this.gateways[1];
    }

    /// The JSON of a GET about the test's thread.
    async route(name, gateway = this.gateway) {
        return (await fetch(`${gateway.url}/threads/${this.threadId}/${name}`)).json();
    }

    /// One run of the test's thread.
    run(input, gateway = this.gateway) {
        return postRun(gateway, runInput({ threadId: this.threadId, messages: [], ...input }));
    }

    history(gateway = this.gateway, input = {}) {
        return this.run(input, { url: `${gateway.url}/history` });
    }

    async results(gateway = this.gateway) {
        return (await this.route('messages', gateway)).messages.filter(({ role }) => role === 'tool');
    }
}

/// Starts what the tests of the surrounding suite need, and ends it after them. `config` gets the weather service, and
/// returns what Gateway.start() takes. `count` gateways are started: one has a file, several share a PostgreSQL server.
/// Before each test those that have been ended are started again.
export function setStage({ config, count = 1 }) {
    const stage = new Stage();
    let folder;

    before(async () => {
        stage.model = await ModelServer.start();
        stage.weather = await WeatherService.start();
        const given = config(stage.weather);
        if (count > 1) {
            folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-e2e-pg-'));
            fs.rmdirSync(folder); // postgres.sh makes it, for the user of the server.
            const store = execFileSync('bash', [postgres, 'start', folder], { encoding: 'utf8' }).trim();
            given.session = { store, ...given.session };
        }
        while (stage.gateways.length < count) {
            stage.gateways.push(await Gateway.start({ model: stage.model, config: given }));
        }
    });
    after(async () => {
        await stopAll(...stage.gateways, stage.weather, stage.model);
        if (folder) execFileSync('bash', [postgres, 'stop', folder]);
        finishRecordings();
        assert.deepEqual(stage.model.problems, []);
    });
    beforeEach(async (test) => {
        recordAs(test.name);
        stage.key = `[${test.name}]`;
        stage.threadId = randomUUID();
        stage.weather.calls.length = 0;
        for (const gateway of stage.gateways) {
            if (gateway.process.exitCode !== null || gateway.process.signalCode !== null) await gateway.launch();
        }
    });
    return stage;
}
