// Recording and checking of the event streams that the tests see.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

const folder = process.env.AGUI_STREAM_DIR;
const recordings = [];
// The rules that a stream necessarily breaks if the client left in the middle: something is still open at its end.
const leftEarly = ['AGUI003', 'AGUI103', 'AGUI203', 'AGUI402', 'AGUI501', 'AGUI604'];
let tolerated = [];
let label = 'stream';
let filed = 0;

/// Names the test that runs: its streams are filed under that name. `allow` are rules of ag-ui-validate
/// that these streams may break.
export function recordAs(name, allow = []) {
    label = name.replaceAll(/[^A-Za-z0-9.]+/g, '-').slice(0, 90);
    tolerated = allow;
}

function inputOf(body) {
    try {
        return typeof body === 'string' ? JSON.parse(body) : undefined;
    } catch {
        return undefined;
    }
}

/// fetch() that keeps a copy of every event stream. The clients use it too.
export async function recordingFetch(url, init) {
    const response = await fetch(url, init);
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
    const recording = { label, allow: [...tolerated], chunks: [], complete: false, input: inputOf(init?.body) };
    recordings.push(recording);
    const copy = new TransformStream({
        transform(chunk, controller) {
            recording.chunks.push(Buffer.from(chunk));
            controller.enqueue(chunk);
        },
        flush() {
            recording.complete = true;
        },
    });
    return new Response(response.body.pipeThrough(copy), { status: response.status, headers: response.headers });
}

/// The events of a stream, with `seq` beside each. Strict: LF line ends, `id:` and one `data:` line an event.
export function parseStream(text) {
    assert.ok(!text.includes('\r'), 'a carriage return in the stream');
    const events = [];
    for (const frame of text.split('\n\n').slice(0, -1)) {
        const lines = frame.split('\n').filter((line) => !line.startsWith(':'));
        if (lines.length === 0) continue;
        const data = lines.filter((line) => line.startsWith('data: '));
        const id = lines.filter((line) => line.startsWith('id: '));
        assert.equal(data.length, 1, `not one data line: ${frame}`);
        assert.equal(id.length, 1, `not one id line: ${frame}`);
        assert.equal(lines.length, 2, `an unexpected line: ${frame}`);
        events.push({ seq: Number(id[0].slice(4)), event: JSON.parse(data[0].slice(6)) });
    }
    return events;
}

const free = new Set(['snapshot', 'value', 'rawEvent', 'event', 'delta', 'metadata', 'state']);

function findNull(value, where) {
    if (value === null) return where;
    if (typeof value !== 'object') return undefined;
    for (const [name, member] of Object.entries(value)) {
        if (free.has(name)) continue;
        const found = findNull(member, `${where}.${name}`);
        if (found) return found;
    }
    return undefined;
}

/// What every complete stream of one run must hold (P1, P2; the labels are in the top-level README).
export function checkStream(text) {
    const parsed = parseStream(text);
    if (parsed.length === 0) return;
    const events = parsed.map((entry) => entry.event);
    const terminals = events.filter((event) => event.type === 'RUN_FINISHED' || event.type === 'RUN_ERROR');
    assert.equal(events[0].type, 'RUN_STARTED');
    assert.equal(terminals.length, 1, 'not exactly one terminal event');
    assert.equal(events.at(-1), terminals[0], 'an event follows the terminal');
    for (const [type, what] of [['TOOL_CALL_START', 'starts'], ['TOOL_CALL_END', 'ends']]) {
        const calls = events.filter((event) => event.type === type).map((event) => event.toolCallId);
        assert.equal(new Set(calls).size, calls.length, `a call ${what} twice`);
    }
    for (const [index, event] of events.entries()) {
        assert.equal(findNull(event, event.type), undefined, 'null in place of an absent member');
        const isDelta = event.type.endsWith('_CONTENT') || event.type === 'TOOL_CALL_ARGS';
        if (isDelta) assert.ok(event.delta.length > 0, `${event.type} with an empty delta`);
        else assert.ok(Number.isSafeInteger(event.timestamp), `${event.type} without an integer timestamp`);
        if (index > 0) assert.ok(parsed[index].seq > parsed[index - 1].seq, 'sequence numbers do not grow');
    }
}

function file(recording, index, text) {
    fs.mkdirSync(folder, { recursive: true });
    const name = path.join(folder, `${recording.label}.${process.pid}.${index}`);
    const allow = recording.complete ? recording.allow : [...recording.allow, ...leftEarly];
    fs.writeFileSync(`${name}.sse`, text);
    const about = { file: path.basename(process.argv[1]), complete: recording.complete, input: recording.input };
    fs.writeFileSync(`${name}.json`, JSON.stringify(about));
    if (allow.length > 0) fs.writeFileSync(`${name}.allow`, `${allow.join('\n')}\n`);
}

/// Files all streams so far for ag-ui-validate and strict.test.mjs, those that the client left early with the rules
/// that such an end breaks tolerated; then fails if a complete one breaks a rule of checkStream().
export function finishRecordings() {
    const problems = [];
    for (const recording of recordings.splice(0)) {
        const text = Buffer.concat(recording.chunks).toString('utf8');
        if (folder) file(recording, filed++, text);
        if (!recording.complete) continue;
        try {
            checkStream(text);
        } catch (error) {
            problems.push(`${recording.label}: ${error.message}`);
        }
    }
    assert.deepEqual(problems, []);
}
