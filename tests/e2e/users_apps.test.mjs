// The apps of examples/clients with two users, each in a browser of its own: conversations, lists, approvals and pictures apart.
// Once with a token in each request, and once with the cookie of a session, where the gateway
// itself serves the page. The folders of the built apps are in the variables of client_apps.test.mjs and
// assistant_ui_app.test.mjs.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { AppPage, apps, call, notBuilt, setApp } from './support/app.mjs';
import { photo } from './support/photos.mjs';

const users = ['ada', 'bob'];
const tokenOf = (user) => `the-token-of-${user}-in-the-browser`;
const tokens = users.map((name) => ({ name, token_env: `TOKEN_${name.toUpperCase()}`, scopes: ['run', 'read', 'delete', 'approve'] }));
for (const user of users) process.env[`TOKEN_${user.toUpperCase()}`] = tokenOf(user); // The gateway's.
const kinds = { token: 'a token', session: 'a session' };

for (const [name, by] of Object.keys(apps).flatMap((each) => Object.keys(kinds).map((kind) => [each, kind]))) {
    describe(`the app of examples/clients/${name} with two users by ${kinds[by]}`, { skip: notBuilt(apps[name].variable) }, () => {
        const stage = setApp(name, {
            blank: true, label: `${name}-users-${by}`, isServed: by === 'session',
            config: {
                auth: { mode: 'bearer', tokens, session: { enabled: by === 'session' } },
                agent: name === 'tanstack' ? { events: ['tanstack'] } : {},
            },
        });
        const hasApprovals = name !== 'http-agent';
        const hasList = ['copilotkit', 'assistant-ui'].includes(name);
        let ada;
        let bob;

        beforeEach(async () => {
            [ada, bob] = await Promise.all(users.map((user) => AppPage.open(stage, { [by]: tokenOf(user) })));
        });
        afterEach(async (test) => {
            for (const [index, app] of [ada, bob].entries()) {
                await app.picture(`${stage.label}-${users[index]}-${test.name}`);
                const paths = app.requests.filter(({ request }) => request.headers().authorization).map(({ path }) => path);
                if (by === 'session') assert.deepEqual(paths, ['/agui/session'], 'the token is sent once');
            }
            await ada.close();
            await bob.close();
        });

        const threadIn = (app) => (name === 'http-agent' ? app.page.evaluate(() => sessionStorage.thread)
            : new URL(app.page.url()).searchParams.get(name === 'ai-sdk' ? 'chat' : 'thread'));

        /// Opens the app with the thread of another page, as somebody who knows its address.
        async function openThread(app, thread) {
            if (name === 'http-agent') await app.context.addInitScript((id) => { sessionStorage.thread = id; }, thread);
            await app.load({ [name === 'ai-sdk' ? 'chat' : 'thread']: thread });
        }
        const messagesOf = (app) => app.page.locator(app.ui.message).allInnerTexts();
        const titlesOf = (app) => app.page.getByTestId('thread').allInnerTexts();
        const says = async (app, ...texts) => {
            const shown = (await messagesOf(app)).join('\n');
            for (const text of texts) assert.ok(shown.includes(text), `${text} in ${shown}`);
            const foreign = app === ada ? /\bbob\b/i : /\bada\b/i; // No part of an id.
            assert.doesNotMatch(shown, foreign);
        };

        it('keeps conversations, lists and approvals apart, also for one thread id', async () => {
            const { key, model, weather } = stage;
            const [adasKey, bobsKey] = users.map((user) => `${user} ${key}`);
            const asks = [{ content: 'I look, ada.', toolCalls: [call('get_weather', { city: 'Oslo' })] }, { content: 'Done, ada.' }];
            model.script(adasKey, hasApprovals ? asks : [{ content: 'Done, ada.' }]);
            model.script(bobsKey, [{ content: 'Hello, bob.' }]);

            await ada.load();
            await ada.ask(adasKey);
            if (hasApprovals) await ada.button('Allow').waitFor();
            else await ada.shown('Done, ada.');
            const thread = await threadIn(ada);
            assert.ok(thread);

            await openThread(bob, thread);
            if (hasList) await bob.page.waitForLoadState('networkidle');
            assert.deepEqual(await messagesOf(bob), []);
            assert.equal(await bob.button('Allow').count(), 0);
            assert.doesNotMatch((await titlesOf(bob)).join(), /\bada\b/);
            await bob.ask(bobsKey);
            await bob.shown('Hello, bob.');
            await bob.idle();
            await says(bob, 'Hello, bob.');

            await ada.reload();
            if (hasApprovals) {
                await ada.button('Allow').click();
                await ada.shown('Done, ada.');
                await ada.idle();
                assert.deepEqual(weather.calls.map(({ arguments: { city } }) => city), ['Oslo']);
            }
            await ada.shown('Done, ada.');
            await says(ada, 'Done, ada.');

            await bob.reload();
            await bob.shown('Hello, bob.');
            await says(bob, 'Hello, bob.');
            if (!hasList) return;
            for (const [app, user] of [[ada, 'ada'], [bob, 'bob']]) {
                await app.reload();
                await app.page.getByTestId('thread').first().waitFor();
                const titles = await titlesOf(app);
                assert.equal(titles.length, 1);
                assert.match(titles[0], new RegExp(`^${user} `));
            }
        });

        /// A request for a user, outside of the user's page.
        async function request(app, method, path, body) {
            const headers = { ...await app.credentials(), ...(body && { 'Content-Type': 'application/json' }) };
            const response = await fetch(new URL(path, `${stage.gateway.url}/`), { method, headers, body: JSON.stringify(body) });
            return { status: response.status, body: await response.json().catch(() => undefined) };
        }

        if (name !== 'assistant-ui') return;

        it('keeps pictures apart', async () => {
            const { key, model } = stage;
            const adasKey = `ada ${key}`;
            model.script(adasKey, [{ content: 'A picture of ada.' }]);
            const { base64 } = photo(1);
            await ada.load();
            const chooser = ada.page.waitForEvent('filechooser');
            await ada.button('Attach').click();
            await (await chooser).setFiles({ name: 'lake.png', mimeType: 'image/png', buffer: Buffer.from(base64, 'base64') });
            await ada.ask(adasKey);
            await ada.shown('A picture of ada.');
            await ada.idle();
            const thread = await threadIn(ada);
            await ada.reload();
            await ada.page.waitForFunction(() => [...document.querySelectorAll('.message img')].some((image) => image.naturalWidth > 0));
            const link = await ada.page.locator('.message img').first().getAttribute('src');
            assert.match(link, /\/parts\/[0-9a-f]{64}\?token=/);

            await openThread(bob, thread);
            await bob.page.waitForLoadState('networkidle');
            assert.equal(await bob.page.locator('.message img').count(), 0);
            // The link alone shows the picture, as an img element sends no token. A user of the gateway has no other way to it.
            assert.equal((await fetch(link)).status, 200);
            const part = { type: 'image', source: { type: 'data', value: 'Ym9i', mimeType: 'image/png' } };
            const { body: kept } = await request(bob, 'POST', `threads/${thread}/parts`, part);
            const [, bobsToken] = kept.source.value.split('?');
            for (const forged of [link.split('?')[0], `${link.split('?')[0]}?${bobsToken}`]) {
                assert.equal((await request(bob, 'GET', forged)).status, 404);
            }
        });
    });
}
