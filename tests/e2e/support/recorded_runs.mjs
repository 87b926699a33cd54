// Runs that `agui-replay check --record` or the end-to-end tests (streams.mjs) have recorded.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import * as proto from '@ag-ui/proto';
import { binFolder } from './gateway.mjs';
import { parseStream } from './streams.mjs';

export const projections = ['1.1', '1.0', 'undeclared'];
export const fixtureFolder = path.resolve(import.meta.dirname, '../../../proto-fixtures');

/// The event that a message of @ag-ui/proto is.
export function decodeEvent(message) {
    return JSON.parse(JSON.stringify(proto.decode(message)));
}

/// The events of a stream of frames, each the length of a message in four bytes and the message.
export function decodeFrames(bytes) {
    const events = [];
    let at = 0;
    while (at < bytes.length) {
        const length = bytes.readUInt32BE(at);
        assert.ok(length > 0 && at + 4 + length <= bytes.length, 'a broken frame');
        events.push(decodeEvent(bytes.subarray(at + 4, at + 4 + length)));
        at += 4 + length;
    }
    return events;
}

export function eventsOfText(stream) {
    return parseStream(stream).map((entry) => entry.event);
}

/// Plays all fixtures into `folder`. Returns the runs of each: fixture => [run]. A run has `input` (undefined for a
/// chat), and by projection `stream` (text), `frames` (protobuf) and `history` (text; undefined if there is none). `ai` is
/// the stream for the AI SDK.
export function recordFixtures(folder) {
    const replay = path.join(binFolder, 'agui-replay');
    const { status, stdout, stderr } = spawnSync(replay, ['check', '--record', folder, fixtureFolder], { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}${stderr}`);
    const read = (name) => (fs.existsSync(name) ? fs.readFileSync(name) : undefined);
    const fixtures = new Map();
    for (const file of fs.readdirSync(folder, { recursive: true }).sort()) {
        if (!file.endsWith('.1.1.sse')) continue;
        const base = path.join(folder, file.slice(0, -'.1.1.sse'.length));
        const each = (ending) => Object.fromEntries(projections.map((name) => [name, read(`${base}.${name}.${ending}`)]));
        const text = (files) => Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, bytes?.toString()]));
        const input = read(`${base}.input.json`);
        const run = {
            number: Number(path.basename(base)),
            input: input && JSON.parse(input),
            stream: text(each('sse')),
            frames: each('pb'),
            history: text(each('history.sse')),
            ai: read(`${base}.ai.sse`).toString(),
        };
        const name = path.dirname(file);
        fixtures.set(name, [...(fixtures.get(name) ?? []), run].sort((a, b) => a.number - b.number));
    }
    return fixtures;
}

/// The streams that the end-to-end tests recorded below `folder`: {name, stream, file, complete, input}.
export function recordedStreams(folder) {
    return fs.readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.sse')).sort().map((name) => ({
        name,
        stream: fs.readFileSync(path.join(folder, name), 'utf8'),
        ...JSON.parse(fs.readFileSync(path.join(folder, name.replace(/sse$/, 'json')), 'utf8')),
    }));
}
