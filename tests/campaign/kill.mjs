// Kills the gateway at random moments under load, restarts it, and lets its clients go on.
//
// usage: node kill.mjs [--kills N] [--clients N] [--seed N] [--keep FOLDER] [--mix-up CLIENT]       AGUI_BIN_DIR: where agui-gateway is

import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { createCampaign } from './campaign.mjs';

const { values: options } = parseArgs({
    options: {
        kills: { type: 'string', default: '20' },
        clients: { type: 'string', default: '200' },
        seed: { type: 'string', default: String(Date.now() % 1e9) },
        keep: { type: 'string' },
        'mix-up': { type: 'string' },
    },
});
const folder = options.keep ?? fs.mkdtempSync(path.join(os.tmpdir(), 'agui-kills-'));
console.log(`seed ${options.seed}, ${options.clients} clients, ${options.kills} kills, files in ${folder}`);

const campaign = await createCampaign({
    folder, seed: options.seed, steers: true, users: true, mixUp: options['mix-up'] && Number(options['mix-up']),
});
campaign.launch();
await campaign.untilReady();
const clients = Array.from({ length: Number(options.clients) }, (_, i) => campaign.converse(i, Infinity));
for (let kill = 0; kill < Number(options.kills); kill += 1) {
    await sleep(300 + campaign.below(1200));
    campaign.signal('SIGKILL');
    await campaign.ended();
    campaign.launch();
    await campaign.untilReady();
}
await sleep(500);
campaign.stopClients();
await Promise.all(clients);
const { status, text } = await campaign.finish();
const { counts } = campaign;
console.log(`${counts.known} runs, ${counts.handoffs} hand-offs, ${counts.answers} approvals and answers, ` +
    `${counts.stops} stops, ${counts.cuts} connections lost, ` +
    `${counts.steered} messages taken by active runs, ${counts.returned} returned, ` +
    `${counts.reattached} re-attached, ${counts.reposts} repeated, ${counts.lost} runs ended by a crash`);
process.stdout.write(text);
if (status === 0 && !options.keep) fs.rmSync(folder, { recursive: true });
process.exit(status);
