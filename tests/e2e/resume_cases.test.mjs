// Every way to answer an approval and a question of a tool, after a restart and at another gateway on the same PostgreSQL.
// The labels INT-N are the rules of the list of released clients for interrupts.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { outline, post, runInput, user } from './support/client.mjs';
import { asks, cancels, gives, setStage } from './support/stage.mjs';
import { parseStream } from './support/streams.mjs';

const kinds = [
    {
        name: 'approval', tool: 'careful_weather', cities: ['Oslo', 'Bergen'], endless: 'Limbo',
        good: { approved: true }, other: { approved: false }, notExecuted: /cancelled/,
        wrong: [{}, { approved: 'yes' }, { approved: true, editedArgs: { town: 'Oslo' } }, null, 1],
        wasAnswered: () => true,
    },
    {
        name: 'question', tool: 'get_weather', cities: ['Utopia', 'Utopia'], endless: 'Avalon',
        good: { unit: 'C' }, other: { unit: 'F' }, notExecuted: /The input that the tool asked for was not given/,
        wrong: [{}, { unit: 'K' }, null, 1],
        wasAnswered: ({ inputs }) => inputs !== undefined,
    },
];

async function restart(...gateways) {
    await Promise.all(gateways.map((gateway) => gateway.end('SIGKILL')));
    await Promise.all(gateways.map((gateway) => gateway.launch()));
}

// Each resolves to the gateway that gets the answer.
const places = [
    {
        name: 'after a restart', count: 1,
        async move({ gateway }) {
            await restart(gateway);
            return gateway;
        },
    },
    { name: 'at the other gateway of one PostgreSQL', count: 2, move: async ({ other }) => other },
    {
        name: 'at the other gateway of one PostgreSQL, the first one killed', count: 2,
        async move({ gateway, other }) {
            await gateway.end('SIGKILL');
            return other;
        },
    },
    {
        name: 'at the other gateway of one PostgreSQL, after a restart of both', count: 2,
        async move({ gateway, other }) {
            await restart(gateway, other);
            return other;
        },
    },
];

const config = (count) => (weather) => ({
    session: count > 1 ? { lease_seconds: 6 } : {},
    tools: {
        approval_seconds: 600,
        webhook: [weather.tool, { ...weather.tool, name: 'careful_weather', approval: 'always' }],
    },
});

/// One test: a run has ended with interrupts, and the gateway has changed.
class Case {
    constructor(stage, kind) {
        Object.assign(this, { stage, kind });
    }

    async begin(place, cities = [this.kind.cities[0]]) {
        const { stage, kind } = this;
        const toolCalls = cities.map((city, i) => asks(city, `call_${i + 1}`, kind.tool));
        stage.model.script(stage.key, [{ toolCalls }, ...Array(6).fill({ content: 'It is clear.' })]);
        this.first = await stage.run({ messages: [user(stage.key, 'u1')] });
        this.interrupts = this.first.expectFinished().last.outcome.interrupts;
        assert.equal(this.interrupts.length, cities.length);
        [this.interrupt] = this.interrupts;
        this.at = await place.move(stage);
        return this;
    }

    run(input) {
        return this.stage.run(input, this.at);
    }

    async answered(...resume) {
        return (await this.run({ resume })).expectFinished();
    }

    async refused(...resume) {
        (await this.run({ resume })).expectError('resume_rejected');
    }

    /// The gateways that the place has not ended.
    get gateways() {
        return this.stage.gateways.filter(({ process }) => process.signalCode === null);
    }

    get good() {
        return gives(this.interrupt, this.kind.good);
    }

    /// What all running gateways show as open.
    async expectOpen(...interrupts) {
        for (const gateway of this.gateways) {
            assert.deepEqual((await this.stage.route('pending', gateway)).interrupts, interrupts);
        }
    }

    /// How often the tool was called with an answer, or approved.
    expectExecuted(count) {
        assert.equal(this.stage.weather.calls.filter(this.kind.wasAnswered).length, count);
    }

    /// The n-th request to the model, in short form.
    async told(number) {
        return outline((await this.stage.model.request(this.stage.key, number)).conversation);
    }

    expectAsked(times) {
        assert.equal(this.stage.model.requests(this.stage.key).length, times);
    }
}

const cases = [
    {
        name: 'is shown by every view', rules: 'INT-21',
        async test(on) {
            await on.expectOpen(on.interrupt);
            assert.deepEqual((await on.stage.history(on.at)).last.outcome.interrupts, [on.interrupt]);
            const shown = (await on.stage.route('messages', on.at)).messages;
            assert.deepEqual(shown.flatMap(({ metadata }) => metadata?.custom?.agui?.interrupts ?? []), [on.interrupt]);
        },
    },
    {
        name: 'is answered, and the call is not shown again', rules: 'INT-15, INT-21',
        async test(on) {
            const answered = await on.answered(on.good);
            assert.equal(answered.text, 'It is clear.');
            assert.deepEqual(answered.of('TOOL_CALL_RESULT').map(({ toolCallId }) => toolCallId), ['call_1']);
            assert.deepEqual(answered.of('TOOL_CALL_START'), []);
            on.expectExecuted(1);
            await on.expectOpen();
        },
    },
    {
        name: 'is not answered again by repeats, also after another restart', rules: 'INT-10',
        async test(on) {
            await on.answered(on.good);
            await on.answered(on.good);
            await restart(...on.gateways);
            for (const gateway of on.gateways) {
                (await on.stage.run({ resume: [on.good] }, gateway)).expectFinished();
            }
            on.expectExecuted(1);
            on.expectAsked(2);
        },
    },
    {
        name: 'takes no other answer after the first one', rules: 'INT-10, INT-17',
        async test(on) {
            await on.answered(on.good);
            await on.refused(gives(on.interrupt, on.kind.other));
            await on.refused(cancels(on.interrupt));
            on.expectExecuted(1);
            assert.equal((await on.stage.results(on.at)).length, 1);
        },
    },
    {
        name: 'is answered once by requests that come at the same time', rules: 'INT-10',
        async test(on) {
            const { gateways } = on;
            const input = () => runInput({ threadId: on.stage.threadId, messages: [], resume: [on.good] });
            const replies = await Promise.all(Array.from({ length: 6 }, async (_, i) => {
                const response = await post(gateways[i % gateways.length].url, input());
                await response.text();
                return response.status;
            }));
            assert.ok(replies.includes(200), `${replies}`);
            assert.deepEqual(replies.filter((status) => status !== 200 && status !== 409), []);
            on.expectExecuted(1);
            await on.expectOpen();
        },
    },
    {
        name: 'stays open beside another one that is answered', rules: 'INT-8', calls: 2,
        async test(on) {
            const [first, second] = on.interrupts;
            const partly = await on.answered(gives(first, on.kind.good));
            assert.deepEqual(partly.last.outcome.interrupts, [second]);
            assert.deepEqual(partly.of('TOOL_CALL_RESULT').map(({ toolCallId }) => toolCallId), ['call_1']);
            on.expectExecuted(1);
            on.expectAsked(1);
            await on.expectOpen(second);
            assert.equal((await on.answered(gives(second, on.kind.good))).text, 'It is clear.');
            on.expectExecuted(2);
        },
    },
    {
        name: 'is not answered beside another answer that is refused', rules: 'INT-18', calls: 2,
        async test(on) {
            const [first, second] = on.interrupts;
            await on.refused(gives(first, on.kind.good), gives(second, on.kind.wrong[0]));
            on.expectExecuted(0);
            await on.expectOpen(first, second);
        },
    },
    {
        name: 'is not answered by answers to anything else', rules: 'INT-7, INT-9',
        async test(on) {
            const unknown = gives({ id: `call_1:${'0'.repeat(32)}` }, on.kind.good);
            assert.deepEqual((await on.answered(unknown)).last.outcome.interrupts, [on.interrupt]);
            on.expectExecuted(0);
            await on.answered(unknown, on.good);
            on.expectExecuted(1);
        },
    },
    {
        name: 'is not answered from another thread', rules: 'INT-7',
        async test(on) {
            (await on.run({ threadId: `${on.stage.threadId}-other`, resume: [on.good] })).expectFinished();
            on.expectExecuted(0);
            await on.expectOpen(on.interrupt);
        },
    },
    {
        name: 'may be cancelled', rules: 'INT-13',
        async test(on) {
            assert.equal((await on.answered(cancels(on.interrupt))).text, 'It is clear.');
            on.expectExecuted(0);
            assert.match((await on.told(2)).at(-1), on.kind.notExecuted);
            await on.expectOpen();
            await on.answered(cancels(on.interrupt));
            await on.refused(on.good);
        },
    },
    {
        name: 'may be denied', rules: 'INT-13', kind: 'approval',
        async test(on) {
            await on.answered(gives(on.interrupt, { approved: false, reason: 'Not now' }));
            on.expectExecuted(0);
            assert.match((await on.told(2)).at(-1), /The call was not allowed: Not now/);
        },
    },
    {
        name: 'stays open after an answer that does not fit', rules: 'INT-11, INT-17, INT-19',
        async test(on) {
            for (const wrong of on.kind.wrong) await on.refused(gives(on.interrupt, wrong));
            on.expectExecuted(0);
            await on.expectOpen(on.interrupt);
            await on.answered(on.good);
            on.expectExecuted(1);
        },
    },
    {
        name: 'takes false as an answer', rules: 'INT-14', kind: 'question', cities: ['Erewhon'],
        async test(on) {
            await on.answered(gives(on.interrupt, false));
            assert.deepEqual(on.stage.weather.calls.map(({ inputs }) => inputs), [undefined, [false]]);
        },
    },
    {
        name: 'may follow another one, which no answer to that one answers', rules: 'INT-10', kind: 'question',
        cities: ['Utopia twice'],
        async test(on) {
            const [second] = (await on.answered(on.good)).last.outcome.interrupts;
            assert.deepEqual((await on.answered(on.good)).last.outcome.interrupts, [second]);
            await on.refused(gives(on.interrupt, on.kind.other));
            await on.expectOpen(second);
            await on.answered(gives(second, on.kind.other));
            assert.deepEqual(on.stage.weather.calls.at(-1).inputs, [on.kind.good, on.kind.other]);
            on.expectExecuted(2);
        },
    },
    {
        name: 'is not answered twice in one list', rules: 'INT-22',
        async test(on) {
            await on.refused(on.good, on.good);
            on.expectExecuted(0);
            await on.expectOpen(on.interrupt);
        },
    },
    {
        name: 'can only be cancelled after its time of expiry', rules: 'INT-12',
        async test(on) {
            const [{ expiresAt }] = await expire(on);
            while (Date.now() <= Date.parse(expiresAt)) await sleep(20);
            await on.refused(on.good);
            assert.equal((await on.answered(cancels(on.interrupt))).text, 'It is clear.');
            on.expectExecuted(0);
            await on.at.end('SIGKILL'); // The next test has the usual time.
        },
    },
    {
        name: 'stays open if a message comes instead, which is answered afterwards', rules: 'INT-9, INT-20',
        async test(on) {
            const waits = await on.run({ messages: [user('And now?', 'u2')] });
            assert.deepEqual(waits.expectFinished().last.outcome.interrupts, [on.interrupt]);
            on.expectAsked(1);
            await on.answered(on.good);
            const [result, message] = (await on.told(2)).slice(-2);
            assert.match(result, /^tool call_1/);
            assert.match(message, /And now/);
        },
    },
    {
        name: 'is answered together with a message', rules: 'INT-20',
        async test(on) {
            (await on.run({ messages: [user('And now?', 'u2')], resume: [on.good] })).expectFinished();
            on.expectExecuted(1);
            assert.match((await on.told(2)).at(-1), /And now/);
        },
    },
    {
        name: 'is answered under the runId of its run', rules: 'P6',
        async test(on) {
            const { threadId } = on.stage;
            const input = { ...runInput({ threadId, messages: [], resume: [on.good] }), runId: on.first.runId };
            const read = async (gateway) => parseStream(await (await post(gateway.url, input)).text());
            const answered = await read(on.at);
            assert.equal(answered.at(-1).event.type, 'RUN_FINISHED');
            assert.equal(answered[0].seq, 1_000_000_001);
            for (const gateway of on.gateways) {
                assert.deepEqual(await read(gateway), answered);
            }
            on.expectExecuted(1);
        },
    },
];

/// Starts the gateway that is asked with another time to answer, from which the time of expiry follows.
async function expire({ at, stage }) {
    const usual = fs.readFileSync(at.configFile, 'utf8');
    fs.writeFileSync(at.configFile, usual.replace('approval_seconds = 600', 'approval_seconds = 1'));
    await restart(at);
    fs.writeFileSync(at.configFile, usual);
    return (await stage.route('pending', at)).interrupts;
}

for (const place of places) {
    describe(place.name, () => {
        const stage = setStage({ config: config(place.count), count: place.count });

        for (const kind of kinds) {
            for (const { name, rules, calls = 1, kind: only, cities = kind.cities.slice(0, calls), test } of cases) {
                if (only && only !== kind.name) continue;
                it(`an interrupt for ${kind.name === 'approval' ? 'an approval' : 'a question'} ${name} (${rules})`, async () => {
                    await test(await new Case(stage, kind).begin(place, cities));
                });
            }
        }
    });
}

describe('an answer whose gateway is killed while it executes the call', () => {
    const stage = setStage({ config: config(2), count: 2 });

    for (const kind of kinds) {
        it(`is indeterminate at the other gateway, for ${kind.name}s`, async () => {
            const on = await new Case(stage, kind).begin({ move: async ({ gateway }) => gateway }, [kind.endless]);
            const reached = stage.weather.nextInLimbo();
            const input = () => runInput({ threadId: stage.threadId, messages: [], resume: [on.good] });
            const lost = post(stage.gateway.url, input()).then((response) => response.text()).catch(() => '');
            await reached;
            await stage.gateway.end('SIGKILL');
            await lost;

            let reply; // Until its lease is over, the killed one holds the thread.
            for (;;) {
                reply = await post(stage.other.url, input());
                if (reply.status !== 409) break;
                await reply.text();
                await sleep(50);
            }

            assert.equal(parseStream(await reply.text()).at(-1).event.type, 'RUN_FINISHED');
            on.at = stage.other;
            await on.expectOpen();
            const [result] = await stage.results(stage.other);
            assert.match(result.content, /effect is unknown/);
            await on.answered(on.good);
            on.expectExecuted(1);
        });
    }
});
