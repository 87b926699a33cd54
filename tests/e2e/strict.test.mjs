// Every event of every fixture and of every recorded end-to-end run is valid by strict schemas, in each projection and
// form; the official clients read every stream without an error or a warning; and the history of a thread changes
// nothing for a client that has streamed its runs.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { after, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { clients } from './support/client.mjs';
import { binFolder } from './support/gateway.mjs';
import { Player } from './support/player.mjs';
import { decodeEvent, decodeFrames, eventsOfText, fixtureFolder, projections, recordedStreams, recordFixtures } from './support/recorded_runs.mjs';
import { eventProblem, eventTypes } from './support/strict.mjs';

const [client0057, client0059, client1] = clients;
/// The streams that each client gets: those of the version that it declares, and the current one of 1.0.0 also the newest.
const readers = [[client1, '1.0'], [client1, '1.1'], [client0059, 'undeclared'], [client0057, 'undeclared']];

/// Fixtures in which the client's messages are not what it has streamed, so that its history changes them.
const reshaping = {
    'assistant-ui-reshaped-history': 'joins messages',
    'claude-media': 'an old client cannot hold the parts of a tool message',
    'claude-tool-names': 'sends a member that the protocol does not know',
    'client-history-mode': 'changes an answer',
    'detached-run-superseded': 'has not read a run',
    'dialect-mistral': 'leaves an answer out',
    'dialect-roles-in-turn': 'leaves an answer out',
    'dialect-tool-names': 'sends a member that the protocol does not know',
    'handoff-seed-002': 'sends a message without an id',
    'history-appended': 'leaves an answer out',
    'history-binary-part-upgraded': 'sends a part in a form of earlier versions',
    'history-client-history-full': 'is taken as an edit, against what the client shows',
    'history-same-content-as-parts': 'sends a text as parts',
    'responses-media': 'an old client cannot hold the parts of a tool message',
    'responses-tool-names': 'sends a member that the protocol does not know',
    'stopped-calls-told': 'gives an answer another id',
    'subagent-messages-left-out': 'an old client knows no subagents',
    'tool-name-mismatch': 'sends a member that the protocol does not know',
};

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'agui-strict-'));
after(() => fs.rmSync(folder, { recursive: true }));
const fixtures = recordFixtures(folder);
/// Type of event => names of the fixtures, the end-to-end tests and other programs that show it.
const shownBy = { fixture: new Map(), test: new Map(), random: new Map() };

function note(kind, name, events) {
    for (const { type } of events) shownBy[kind].set(type, (shownBy[kind].get(type) ?? new Set()).add(name));
}

/// The schema for events of a projection. Clients that declare no version are older than the schemas: they get the
/// events of 1.0 without its newest parts.
function problemsOf(events, projection) {
    return events.flatMap((event) => {
        const problem = eventProblem(event, projection === '1.1' ? '1.1' : '1.0');
        return problem ? [`${event.type}: ${problem}`] : [];
    });
}

/// The events as @ag-ui/proto 1.0.0 decodes them: it does not know the one member of 1.1.
function asDecoded(events) {
    return JSON.parse(JSON.stringify(events, (name, value) => (name === 'encryptedValueType' ? undefined : value)));
}

/// The complaints of a client that are faults of the stream: not those about a request in a form that it would not send
/// itself, or about the newer version of the stream.
function faultsOf(complaints, projection) {
    return complaints.filter((text) => !text.includes('from the outgoing input') &&
        !(projection === '1.1' && /speaks protocol 1\.1; this client speaks 1\.0|encryptedValueType/.test(text)));
}

/// Gives the client the messages of a request as an application does: they follow the last one that it holds.
function addRequest(player, { messages, state }) {
    const held = player.agent.messages;
    const known = messages.map((message) => held.findIndex(({ id }) => id === message.id));
    const kept = known.some((index) => index >= 0) ? held.slice(0, Math.max(...known) + 1) : held;
    const edited = new Map(messages.filter(({ role }) => role === 'user').map((message) => [message.id, message]));
    player.agent.setMessages([
        ...kept.map((message) => edited.get(message.id) ?? message),
        ...messages.filter((message, index) => known[index] < 0 && message.id),
    ]);
    if (state !== undefined) player.agent.setState(state);
}

/// The messages without what the history may change: the error of a tool message, the mark of a failed turn, results of
/// calls that can no longer be answered, media that became links, and the client's own messages without authority.
function comparable(messages, own, shown) {
    return messages.filter(({ id, role }) => !id.endsWith(':missing') && (role === 'user' || !own.has(id) || shown.has(id)))
        .map(({ error, metadata: { 'agui-gateway.error': failure, ...metadata } = {}, content, ...message }) => ({
            ...message,
            ...(Object.keys(metadata).length > 0 && { metadata }),
            ...(content !== undefined && content !== '' && {
                content: Array.isArray(content) ? content.map(({ source, ...part }) => (source ? part.type : part)) : content,
            }),
        }));
}

/// Plays the runs of a fixture to a client. Returns the faults, and whether its histories change something.
async function playFixture(runs, client, projection) {
    const players = new Map();
    const own = new Set();
    const faults = [];
    const changes = [];
    for (const run of runs) {
        const threadId = run.input?.threadId ?? 'chat';
        if (!players.has(threadId)) players.set(threadId, new Player(client));
        const player = players.get(threadId);
        const input = run.input ?? { threadId, messages: [] };
        for (const { id } of input.messages) if (!player.agent.messages.some((held) => held.id === id)) own.add(id);
        addRequest(player, input);
        faults.push(...faultsOf(await player.play(run.stream[projection], input), projection));

        // A client of the chat stream does not know the messages that it sends.
        if (!run.history[projection] || runs.some((each) => !each.input)) continue;
        const before = player.held;
        faults.push(...faultsOf(await player.play(run.history[projection], { threadId, runId: 'history' }), projection));
        const now = player.held;
        const shown = new Set(now.messages.map(({ id }) => id));
        const [then, since] = [before, now].map(({ messages, state }) => ({ messages: comparable(messages, own, shown), state }));
        try {
            assert.deepEqual(since, then);
        } catch (error) {
            changes.push(`run ${run.number} in ${client.name}, ${projection}: ${error.message}`);
        }
    }
    return { faults, changes };
}

describe('fixtures', () => {
    for (const [name, runs] of fixtures) {
        it(name, async () => {
            for (const run of runs) {
                for (const projection of projections) {
                    const events = eventsOfText(run.stream[projection]);
                    const history = run.history[projection] ? eventsOfText(run.history[projection]) : [];
                    if (projection === '1.1') note('fixture', name, events);
                    assert.deepEqual(problemsOf([...events, ...history], projection), [], `run ${run.number}, ${projection}`);
                    assert.deepEqual(decodeFrames(run.frames[projection]), asDecoded(events), `run ${run.number}, ${projection}`);
                }
            }
            const changes = [];
            for (const [client, projection] of readers) {
                const played = await playFixture(runs, client, projection);
                assert.deepEqual(played.faults, [], `${client.name}, ${projection}`);
                changes.push(...played.changes);
            }
            if (reshaping[name]) assert.ok(changes.length > 0, 'the history changes nothing: the exception can go');
            else assert.deepEqual(changes, []);
        });
    }
});

describe('random runs', () => {
    const count = Number(process.env.AGUI_RANDOM_RUNS ?? 500);
    const seed = Number(process.env.AGUI_RANDOM_SEED ?? 0);

    it(`${count} from seed ${seed} are valid in each form, and read by each client`, async () => {
        const program = spawn(path.join(binFolder, 'random-runs'), [seed, count], { stdio: ['ignore', 'pipe', 'inherit'] });
        const ended = once(program, 'close');
        let runs = 0;
        for await (const line of readline.createInterface({ input: program.stdout })) {
            const run = JSON.parse(line);
            const faults = [];
            note('random', 'random-runs', run['1.1']);
            for (const projection of projections) faults.push(...problemsOf(run[projection], projection));
            const decoded = run.frames.map((frame) => decodeEvent(Buffer.from(frame, 'hex')));
            const expected = asDecoded(run['1.1']);
            if (!isDeepStrictEqual(decoded, expected)) assert.deepEqual(decoded, expected, `seed ${run.seed}`);
            for (const [client, projection] of readers) {
                const stream = run[projection].map((event, index) => `id: ${index + 1}\ndata: ${JSON.stringify(event)}\n\n`).join('');
                faults.push(...faultsOf(await new Player(client).play(stream), projection).map((text) => `${client.name}: ${text}`));
            }
            assert.deepEqual(faults, [], `seed ${run.seed}`);
            ++runs;
        }
        assert.deepEqual([await ended, runs], [[0, null], count]);
    });
});

/// The folder with the streams of earlier end-to-end tests, given by run.sh.
const recorded = process.env.AGUI_RECORDED_STREAMS;

describe('recorded end-to-end runs', { skip: !recorded && 'AGUI_RECORDED_STREAMS is not set' }, () => {
    const streams = recorded ? recordedStreams(recorded) : [];

    it('have valid events', () => {
        assert.ok(streams.length > 0, `no stream in ${recorded}`);
        const problems = streams.flatMap(({ name, file, stream, input }) => {
            const events = eventsOfText(stream.slice(0, stream.lastIndexOf('\n\n') + 2));
            note('test', file, events);
            return problemsOf(events, input?.protocolVersion === '1.0' ? '1.0' : '1.1').map((text) => `${name}: ${text}`);
        });
        assert.deepEqual(problems, []);
    });

    it('are read by each client that declares their version', async () => {
        const faults = [];
        for (const { name, stream, input } of streams.filter((each) => each.complete && each.input?.threadId)) {
            const version = input.protocolVersion;
            for (const client of clients.filter(({ versioned }) => versioned === (version !== undefined))) {
                const player = new Player(client);
                player.agent.setMessages(input.messages);
                if (input.state !== undefined) player.agent.setState(input.state);
                const found = faultsOf(await player.play(stream, input), version === '1.0' ? '1.0' : '1.1');
                faults.push(...found.map((text) => `${name} in ${client.name}: ${text}`));
            }
        }
        assert.deepEqual(faults, []);
    });
});

describe('the table of events', () => {
    const readme = fs.readFileSync(path.join(fixtureFolder, 'README.md'), 'utf8');
    const rows = new Map([...readme.matchAll(/^\| ([A-Z_]+) \|(.*)\|(.*)\|(.*)\|$/gm)].map(([, type, ...cells]) =>
        [type, cells.map((cell) => /`(.+)`/.exec(cell)?.[1])]));
    const vectors = fs.readFileSync(new URL('../translator/protobuf/vectors.txt', import.meta.url), 'utf8');

    it('has a row for each event', () => assert.deepEqual([...rows.keys()].sort(), [...eventTypes].sort()));

    for (const type of eventTypes) {
        it(`names what shows ${type}`, () => {
            const [fixture, test, other] = rows.get(type);
            const shows = (kind, name) => shownBy[kind].get(type)?.has(name);
            const all = Object.fromEntries(Object.entries(shownBy).map(([kind, types]) => [kind, [...types.get(type) ?? []]]));
            assert.ok(fixture || test || other, `an empty row; it is shown by ${JSON.stringify(all)}`);
            if (fixture) assert.ok(shows('fixture', fixture), `${fixture} does not show it, but ${all.fixture}`);
            if (test && recorded) assert.ok(shows('test', test), `${test} does not show it, but ${all.test}`);
            if (other === 'random-runs') assert.ok(shows('random', other), `${other} does not show it`);
            if (other === 'vectors.txt') assert.ok(vectors.includes(`"${type}"`), `${other} does not have it`);
        });
    }
});
