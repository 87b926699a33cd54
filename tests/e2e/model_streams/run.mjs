// Random streams of a model server through the released clients. See README.md.
//
// usage: node run.mjs [--seed N] [--count N] [--at-once N] [--smaller-for SECONDS]  
//        AGUI_BIN_DIR: where agui-gateway is

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { clients } from '../support/client.mjs';
import { Gateway, stopAll } from '../support/gateway.mjs';
import { agents, createCase, serverTool, smaller } from './answers.mjs';
import { plainAnswer, problemsOf } from './check.mjs';
import { collectComplaints, converse, readersOf } from './converse.mjs';
import { StreamServer } from './model.mjs';
import { render } from './render.mjs';

// Of each rule these many kinds of failures are printed.
const kindsMax = 5;
// A case has fewer steps to its smallest form; each is a conversation.
const stepsMax = 300;

const { values: options } = parseArgs({
    options: {
        seed: { type: 'string', default: '1' },
        count: { type: 'string', default: '2000' },
        'at-once': { type: 'string', default: '8' },
        'smaller-for': { type: 'string', default: '60' },
    },
});

const schemas = Object.fromEntries(clients.map(({ name }) => {
    const need = createRequire(import.meta.resolve(`ag-ui-client-${name === '1.0.0' ? '1' : name.replaceAll('.', '')}`));
    return [name, name === '1.0.0' ? need('@ag-ui/core/schemas').EventSchema : need('@ag-ui/core').EventSchemas];
}));

const model = await StreamServer.start();
const webhook = [{ name: serverTool, description: 'Looks something up.', parameters: '{"type":"object"}', url: `${model.base}/tool` }];
const models = {};
for (const [tags, name] of Object.entries(agents)) {
    models[name] = { provider: 'openai', base_url: model.url, model: 'mock', reasoning_tags: tags };
}
const gateway = await Gateway.start({
    model,
    config: {
        server: { log_level: 'warning' }, tools: { webhook }, models,
        agents: [['default', 'main'], ...Object.values(agents).map((name) => [name, name])]
            .map(([id, name]) => ({ id, models: [name], instructions: 'You are a test.' })),
    },
});
let conversations = 0;

const streamsOf = ({ seed, turns, tags }) => turns.map(({ answer }, n) => render(answer, `s${seed}t${n}`, tags));

/// Plays a case through every client at the same time, or through the one of that name, and judges it.
async function play(one, only) {
    const readers = readersOf(clients, gateway, one.tags).filter((reader) => only === undefined || reader.name === only);
    const all = await Promise.all(readers.map(async (reader) => {
        conversations += 1;
        const name = `${one.seed}/${conversations}`;
        const record = model.expect(name, streamsOf(one), plainAnswer(one.tags));
        try {
            return await converse(reader, one, name, record);
        } catch (error) {
            return { name: reader.name, failure: error.stack };
        } finally {
            model.forget(name);
        }
    }));
    return problemsOf(one, all, schemas);
}

/// The smallest case that breaks the same rule: { one, problem }.
async function shrink(one, problem, deadline) {
    const only = problem.rule.endsWith('disagree') ? undefined : problem.reader;
    let steps = 0;
    for (let found = true; found;) {
        found = false;
        for (const candidate of smaller(one)) {
            steps += 1;
            if (steps > stepsMax || performance.now() > deadline) break;
            const same = (await play(candidate, only)).find((each) => each.rule === problem.rule);
            if (!same) continue;
            [one, problem, found] = [candidate, same, true];
            break;
        }
    }
    return { one, problem };
}

/// Random cases until `count` streams were sent; `first` is the seed of the first one.
async function playAll(first, count) {
    const failures = [];
    let seed = first;
    let streams = 0;
    let cases = 0;
    async function worker() {
        while (streams < count) {
            const one = createCase(seed);
            seed += 1;
            cases += 1;
            streams += one.turns.length;
            const problems = await play(one);
            if (problems.length > 0) failures.push({ one, problems });
        }
    }
    await Promise.all(Array.from({ length: Number(options['at-once']) }, worker));
    return { failures, streams, cases };
}

/// What two smallest cases have in common if they fail for the same reason.
function kindOf({ turns }) {
    const kinds = (items) => items.map((item) => Object.keys(item)[0]);
    return JSON.stringify(turns.map(({ answer, reply }) => [kinds(answer.items), answer.style, answer.end, reply]));
}

async function report(failures) {
    const deadline = performance.now() + 1000 * Number(options['smaller-for']);
    const byRule = new Map();
    for (const { one, problems } of failures.sort((a, b) => a.one.seed - b.one.seed)) {
        for (const problem of problems) {
            const list = byRule.get(problem.rule) ?? byRule.set(problem.rule, []).get(problem.rule);
            if (list.at(-1)?.one !== one) list.push({ one, problem });
        }
    }
    // A case that breaks several rules is printed for the first of them.
    const printed = new Set();
    for (const [rule, list] of byRule) {
        const seeds = list.slice(0, 10).map(({ one }) => one.seed).join(', ');
        console.log(`\nFAILED ${rule}: ${list.length} conversations, the first seeds are ${seeds}`);
        let kinds = 0;
        for (const { one, problem } of list) {
            if (kinds === kindsMax || (kinds > 0 && performance.now() > deadline)) break;
            const smallest = await shrink(one, problem, deadline);
            const kind = kindOf(smallest.one);
            if (printed.has(kind)) continue;
            printed.add(kind);
            kinds += 1;
            print(smallest);
        }
    }
}

function print({ one, problem }) {
    console.log(`  --seed ${one.seed} --count 1, made smaller${one.tags ? `, thoughts end with ${one.tags}` : ''}:`);
    for (const [n, turn] of one.turns.entries()) {
        console.log(`    answer ${n}: ${JSON.stringify(turn)}`);
        const bytes = Buffer.concat(streamsOf(one)[n].pieces);
        console.log(`        ${JSON.stringify(bytes.toString().slice(0, 4000))}`);
    }
    console.log(`    ${problem.reader}: ${problem.detail.replaceAll('\n', '\n    ')}`);
}

collectComplaints();
const begin = performance.now();
const { failures, streams, cases } = await playAll(Number(options.seed), Number(options.count));
const seconds = ((performance.now() - begin) / 1000).toFixed(0);
await report(failures);
model.problems.forEach((problem) => console.log(`FAILED ${problem}`));
console.log(`${streams} streams in ${cases} conversations with ${clients.length} clients and the chat stream, ${seconds} s`);
const failed = failures.length + model.problems.length;
console.log(`${cases - failures.length} passed, ${failed} failed`);
await stopAll(gateway, model);
process.exit(failed > 0 ? 1 : 0);
