// Makes the gateway fail once at each failpoint, in each way, while clients use it: it is killed there, an error
// happens there, or it is delayed for a moment. Needs a build with AGUI_FAILPOINTS (the presets dev and tsan have it).
//
// usage: node failpoints.mjs [--only NAME] [--clients N] [--seed N] [--jobs N] [--keep FOLDER]
// The last line is `N passed, M failed`: one test for each failpoint and way.

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createCampaign } from './campaign.mjs';

const { values: options } = parseArgs({
    options: {
        only: { type: 'string', default: '' },
        clients: { type: 'string', default: '12' },
        seed: { type: 'string', default: '1' },
        jobs: { type: 'string', default: '3' },
        keep: { type: 'string' },
    },
});

// `when` a failpoint is reached: while clients use the gateway, at its start, at the start after a kill, or when it stops.
// `at` is how often it is passed before it acts. Failpoints where nothing can fail have no error. With durability power, all that
// is stored goes through the store's queue. `hasty`: clients send messages to threads that are busy.
// `queue`: so they do, and the messages wait in the threads' queues, or are taken by the active runs ('steer'). `steers`:
// they send messages to active runs.
const all = ['kill', 'error', 'delay'];
const noError = ['kill', 'delay'];
const places = [
    { name: 'listener.accepted', at: 7, ways: noError },
    { name: 'connection.head_read', at: 20, ways: all },
    { name: 'connection.body_read', at: 20, ways: all },
    { name: 'agui.input_read', at: 15, ways: all },
    { name: 'admission.arrived', at: 15, ways: all },
    { name: 'admission.busy', at: 5, ways: noError, hasty: true },
    { name: 'queue.store', at: 5, ways: all, queue: true },
    { name: 'queue.stored', at: 5, ways: all, queue: true },
    { name: 'queue.waits', at: 9, ways: noError, queue: true },
    { name: 'queue.read', at: 3, ways: all, queue: true },
    { name: 'queue.taken', at: 3, ways: all, queue: true },
    { name: 'begin.stored', at: 30, ways: all, queue: true },
    { name: 'queue.offer', at: 3, ways: noError, queue: 'steer' },
    { name: 'queue.offered', at: 3, ways: noError, queue: 'steer' },
    { name: 'run.messages', at: 2, ways: noError, queue: 'steer' },
    { name: 'loop.messages_taken', at: 2, ways: all, queue: 'steer' },
    { name: 'steer.put', at: 3, ways: all, steers: true },
    { name: 'steer.waits', at: 3, ways: noError, steers: true },
    { name: 'run.messages', at: 2, ways: noError, steers: true },
    { name: 'loop.messages_taken', at: 2, ways: all, steers: true },
    { name: 'admission.turn_taken', at: 15, ways: all },
    { name: 'admission.looked_up', at: 15, ways: all },
    { name: 'admission.admitted', at: 15, ways: all },
    { name: 'admission.thread_taken', at: 15, ways: all },
    { name: 'admission.settled', at: 15, ways: all },
    { name: 'begin.loaded', at: 15, ways: all },
    { name: 'begin.planned', at: 15, ways: all },
    { name: 'begin.stored', at: 15, ways: all },
    { name: 'launch.registered', at: 15, ways: all },
    { name: 'run.start', at: 15, ways: noError },
    { name: 'run.event', at: 120, ways: all },
    { name: 'run.commit', at: 3, ways: all },
    { name: 'run.committed', at: 3, ways: all },
    { name: 'run.finish', at: 10, ways: all },
    { name: 'run.ending', at: 10, ways: all },
    { name: 'run.finish_stored', at: 10, ways: noError },
    { name: 'run.thread_free', at: 10, ways: noError },
    { name: 'run.end_published', at: 10, ways: noError },
    { name: 'loop.begun', at: 14, ways: all },
    { name: 'loop.ask_model', at: 14, ways: all },
    { name: 'model.ask', at: 14, ways: noError },
    { name: 'model.answering', at: 14, ways: noError },
    { name: 'model.read', at: 60, ways: noError },
    { name: 'loop.model_answered', at: 10, ways: all },
    { name: 'loop.turn_stored', at: 2, ways: all },
    { name: 'loop.tools_finished', at: 2, ways: all },
    { name: 'loop.results_stored', at: 2, ways: all },
    { name: 'batch.starting', at: 2, ways: noError },
    { name: 'batch.finished', at: 2, ways: noError },
    { name: 'loop.ending', at: 10, ways: all },
    { name: 'log.flush', at: 60, ways: noError },
    { name: 'log.durable', at: 60, ways: noError },
    { name: 'stream.read', at: 60, ways: all },
    { name: 'stream.written', at: 60, ways: all },
    { name: 'journal.make', at: 1, ways: noError, when: 'start' },
    { name: 'journal.write', at: 60, ways: all },
    { name: 'journal.written', at: 60, ways: noError },

    { name: 'store.begun', at: 40, ways: all },
    { name: 'store.executed', at: 40, ways: all },
    { name: 'store.job_executed', at: 20, ways: all },
    { name: 'store.committed', at: 40, ways: noError },
    { name: 'store.tell', at: 40, ways: noError },
    { name: 'store.told', at: 40, ways: noError },
    { name: 'store.begun', durability: 'power', at: 40, ways: all },
    { name: 'store.sync', durability: 'power', at: 40, ways: all },
    { name: 'store.synced', durability: 'power', at: 40, ways: noError },
    { name: 'store.read', at: 20, ways: all },
    { name: 'journal.recovered', at: 1, ways: noError, when: 'restart' },
    { name: 'cancel.requested', at: 1, ways: all },
    { name: 'cancel.counted', at: 1, ways: noError },
    { name: 'sweep.begin', at: 1, ways: all, when: 'start' },
    { name: 'sweep.done', at: 1, ways: all, when: 'start' },
    { name: 'store.read', at: 1, ways: all, when: 'restart' }, // The list of lost runs.
    { name: 'recovery.run', at: 2, ways: noError, when: 'restart' },
    { name: 'recovery.loaded', at: 2, ways: all, when: 'restart' },
    { name: 'recovery.commit', at: 2, ways: all, when: 'restart' },
    { name: 'recovery.run_ended', at: 2, ways: noError, when: 'restart' },
    { name: 'drain.begun', at: 1, ways: noError, when: 'stop' },
    { name: 'drain.runs_ended', at: 1, ways: noError, when: 'stop' },
];

// Whether these clients pass a place, and get as far as a server tool and a model that is told an acknowledged answer,
// depends on the machine (a kill may come early): more clients are started until they have.
const mostRounds = 10;

// A process that a failpoint has killed is restarted without the failpoint.
async function keepAlive(campaign, over) {
    while (!over.now) {
        const how = await Promise.race([campaign.ended(), over.signal]);
        if (over.now || how === undefined) return;
        campaign.launch();
        await campaign.untilReady().catch(() => {});
    }
}

async function stumble({ name, at, when, clients, durability, hasty, queue, steers }, way, folder) {
    const seed = Number(options.seed);
    const campaign = await createCampaign({ folder, seed, mayFail: true, durability, hasty, queue, steers });
    const failpoint = { AGUI_FAILPOINT: `${name}=${way}:${at}` };
    let end;
    const over = { now: false, signal: new Promise((resolve) => { end = resolve; }) };
    campaign.launch(when === 'restart' ? {} : failpoint);
    const kept = keepAlive(campaign, over);
    await campaign.untilReady();
    const count = clients ?? Number(options.clients);
    const converse = (round) =>
        Array.from({ length: count }, (_, i) => campaign.converse(round * count + i, 1));
    const passedPlace = () => campaign.log().includes(`failpoint ${name}`);
    const enough = () => (when === 'stop' || passedPlace())
        && campaign.counts.told > 0 && campaign.counts.executed > 0;
    for (let round = 0; round < mostRounds && (round === 0 || !enough()); round += 1) {
        const conversations = converse(round);
        if (when === 'restart' && !passedPlace()) {
            await sleep(500 / (round + 1)); // What the killed process leaves is another thing each time.
            campaign.nextLaunch(failpoint);
            campaign.signal('SIGKILL');
        }
        await Promise.all(conversations);
    }
    over.now = true;
    end();
    await kept;
    const { status, text } = await campaign.finish();
    const happened = passedPlace();
    return { passed: status === 0 && happened, text: happened ? text : `the place was never passed ${at} times\n${text}` };
}

const work = places.filter(({ name }) => name.startsWith(options.only))
    .flatMap((place) => place.ways.map((way) => ({ place, way })));
let passed = 0;
let failed = 0;

async function worker() {
    for (let next = work.shift(); next; next = work.shift()) {
        const { place, way } = next;
        const folder = options.keep
            ? path.join(options.keep, `${place.name}-${way}`)
            : fs.mkdtempSync(path.join(os.tmpdir(), 'agui-failpoint-'));
        const begin = Date.now();
        const outcome = await stumble(place, way, folder);
        passed += outcome.passed ? 1 : 0;
        failed += outcome.passed ? 0 : 1;
        console.log(`${outcome.passed ? 'ok    ' : 'FAILED'} ${place.name} ${way} (${Date.now() - begin} ms)`);
        if (!outcome.passed) console.log(`${outcome.text}files in ${folder}`);
        else if (!options.keep) fs.rmSync(folder, { recursive: true });
    }
}

await Promise.all(Array.from({ length: Number(options.jobs) }, worker));
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
