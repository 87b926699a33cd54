// Mutated requests: a valid RunAgentInput, in which some values, chosen at random, are replaced, removed or repeated.

export function makeRandom(seed) {
    let state = seed >>> 0 || 1;
    return (below) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % below;
    };
}

const odd = [
    null, true, false, 0, -1, 1.5, 1e308, 9007199254740993, '', 'x', '\u0000', '\ud800', '你😀', '__proto__', 'a\nb', '/a/0',
    [], {}, [[]], [null], [{}], ['x'], { a: null }, { type: 'text' }, { type: 'binary' }, { role: 'user' }, 'user', 'tool',
    'resolved', 'x'.repeat(300), Array(70).fill(0), { type: 'image', source: { type: 'data', value: '%', mimeType: 'x' } },
];

export function validInput(random, { threadId, runId, interruptId, callId }) {
    const image = { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' }, id: 'p1', metadata: { n: 1 } };
    const input = {
        threadId, runId, protocolVersion: ['1.0', '1.1'][random(2)], parentRunId: 'r0',
        state: { list: [1, { a: null }], text: 'x' },
        messages: [
            { id: 'u1', role: 'user', content: 'Pay.', name: 'Ann', metadata: { a: 1 } },
            { id: 'a1', role: 'assistant', content: 'Yes.', encryptedValue: 'e', encryptedValueType: 'p.t',
                toolCalls: [{ id: callId, type: 'function', function: { name: 'pay', arguments: '{"amount":1}' } }] },
            { id: 't1', role: 'tool', toolCallId: callId, content: random(2) ? 'ok' : [{ type: 'text', text: 'ok' }, image], error: 'no' },
            { id: 'g1', role: 'reasoning', content: 'Hm.' },
            { id: 'v1', role: 'activity', activityType: 'card', content: { a: [1] } },
            { id: `u${runId}`, role: 'user', content: [{ type: 'text', text: 'And?', id: 'p0' }, image,
                { type: 'document', source: { type: 'url', value: 'http://x.invalid/', mimeType: 'application/pdf' } },
                { type: 'audio', source: { type: 'file', value: 'f', provider: 'p' } }] },
        ],
        tools: [{ name: 'paint', description: 'Paints.', parameters: { type: 'object', properties: { a: { type: 'string' } } }, metadata: { m: 1 } }],
        context: [{ description: 'd', value: 'v' }],
        forwardedProps: { command: { resume: 'x' }, follow: false, a: 1 },
        resume: [{ interruptId, status: ['resolved', 'cancelled'][random(2)], payload: { approved: random(2) === 0, editedArgs: { amount: 2 } }, metadata: {} }],
    };
    for (const name of ['state', 'resume', 'tools', 'context', 'forwardedProps']) if (random(3) === 0) delete input[name];
    return input;
}

/// All places in the document: [container, key].
function placesIn(value, places = []) {
    for (const key of Object.keys(value)) {
        places.push([value, key]);
        if (value[key] !== null && typeof value[key] === 'object') placesIn(value[key], places);
    }
    return places;
}

/// Changes the document in one place.
export function mutate(random, input) {
    const places = placesIn(input).filter(([at, key]) => at !== input || (key !== 'threadId' && key !== 'runId') || random(20) === 0);
    const [at, key] = places[random(places.length)];
    switch (random(8)) {
    case 0:
        if (Array.isArray(at)) at.splice(Number(key), 1);
        else delete at[key];
        break;
    case 1:
        if (Array.isArray(at)) at.push(structuredClone(at[key]));
        else at[`x${random(9)}`] = at[key];
        break;
    case 2: {
        const [from, other] = places[random(places.length)];
        at[key] = structuredClone(from[other]);
        break;
    }
    case 3:
        if (!Array.isArray(at)) {
            at[key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)] = at[key];
            if (random(2)) delete at[key];
        }
        break;
    default:
        at[key] = structuredClone(odd[random(odd.length)]);
    }
}

/// Damages the text of a document.
export function damage(random, text) {
    const bytes = Buffer.from(text);
    if (random(3) === 0) return bytes.subarray(0, random(bytes.length));
    for (let count = random(4); count >= 0; --count) bytes[random(bytes.length)] = random(2) ? random(256) : '{}[]",:0\\'.charCodeAt(random(9));
    return bytes;
}
