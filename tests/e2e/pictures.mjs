// Takes the pictures page.png of examples/clients: each app on the gateway's demo, as it is after a reload while an approval is
// open. `node pictures.mjs [APP…]`; the folders of the built apps are in the variables of client_apps.test.mjs,
// ai_sdk_app.test.mjs and assistant_ui_app.test.mjs, as tests/run.sh --all sets them.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AppPage, apps } from './support/app.mjs';
import { Files, launchChromium } from './support/browser.mjs';
import { Gateway, stopAll } from './support/gateway.mjs';

const clients = fileURLToPath(new URL('../../examples/clients', import.meta.url));

/// A conversation with a call of the page, one of the server, and one that waits. HttpAgent's app has no tools.
async function converse(app, name) {
    if (name === 'http-agent') {
        for (const text of ['Hello', 'Add tea to the list']) {
            await app.ask(text);
            await app.idle();
        }
        return;
    }
    for (const [text, answer] of [['Make the background light blue', 'Done! The answer was: {'], ['Add tea to the list', 'Done! The answer was: tea']]) {
        await app.ask(text);
        await app.shown(answer);
        await app.idle();
    }
    await app.ask('Order what is on the list');
    await app.button('Allow').waitFor();
}

async function take(name, browser) {
    const files = await Files.start(process.env[apps[name].variable]);
    const set = [`server.cors_origins=["${files.origin}"]`, 'agents.0.events=["tanstack"]'].flatMap((each) => ['--set', each]);
    const gateway = await Gateway.start({ args: ['--demo', '--listen', '127.0.0.1:0', ...set] });
    const url = gateway.base + apps[name].base;
    const stage = { browser, files, ui: apps[name], host: new URL(url).host, address: () => ({ gateway: url, runtime: url }), origin: () => files.origin };
    const viewport = { width: 860, height: name === 'http-agent' ? 360 : 620 };
    const app = await AppPage.open(stage, { context: { viewport } });
    try {
        await app.load();
        await converse(app, name);
        await app.reload();
        if (name === 'http-agent') await app.shown('tea is on the list');
        else await app.button('Allow').waitFor();
        if (name !== 'http-agent') await app.button('Allow').scrollIntoViewIfNeeded();
        if (['tanstack', 'ai-sdk'].includes(name)) await app.isLocked();
        await app.page.waitForLoadState('networkidle');
        await app.page.screenshot({ path: path.join(clients, name, 'page.png') });
        await app.close();
    } finally {
        await stopAll(gateway, files);
    }
}

const browser = await launchChromium();
try {
    for (const name of process.argv.length > 2 ? process.argv.slice(2) : Object.keys(apps)) await take(name, browser);
} finally {
    await browser.close();
}
