// The apps of examples/clients with two users, each in a browser of its own: conversations, lists, approvals and pictures apart,
// and one thread that both share. Once with a token in each request, and once with the cookie of a session, where the gateway
// itself serves the page. The folders of the built apps are in the variables of client_apps.test.mjs and
// assistant_ui_app.test.mjs.

import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { AppPage, apps, call, notBuilt, setApp, words } from './support/app.mjs';
import { photo } from './support/photos.mjs';

const users = ['ada', 'bob'];
const tokenOf = (user) => `the+token/of-${user}-in-the-browser==`; // With what base64 may hold.
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

        it('shows a thread in both browsers that Ada has opened to Bob', async () => {
            const { key, model, weather } = stage;
            const asks = { content: 'I look.', toolCalls: [call('get_weather', { city: 'Oslo' })] };
            model.script(key, [{ content: 'Hello, Ada.' }, { content: 'Hello, Bob.' }, ...(hasApprovals ? [asks, { content: 'It rains.' }] : [])]);
            await ada.load();
            await ada.ask(key);
            await ada.shown('Hello, Ada.');
            await ada.idle();
            const access = [{ user: 'bob', rights: 'approve' }];
            const { body: { sharedId } } = await request(ada, 'PATCH', `threads/${await threadIn(ada)}/access`, { access });

            await openThread(bob, sharedId);
            await bob.shown('Hello, Ada.');
            await bob.ask('I am Bob.');
            await bob.shown('Hello, Bob.');
            await bob.idle();

            await ada.reload();
            await ada.shown('I am Bob.');
            await ada.shown('Hello, Bob.');
            if (!hasApprovals) return;
            await ada.ask('How is the weather?');
            await ada.button('Allow').waitFor();
            await bob.reload();
            await bob.button('Allow').click();
            await bob.shown('It rains.');
            await bob.idle();
            assert.equal(weather.calls.length, 1);
            await ada.reload();
            await ada.shown('It rains.');
            assert.equal(await ada.button('Allow').count(), 0);
        });

        if (name !== 'assistant-ui') return;

        it('lists a shared thread, and does not offer what its owner has not allowed', async () => {
            const { key, model, weather } = stage;
            const item = (app, text) => app.page.getByTestId('thread').filter({ hasText: text });
            const share = async (wanted) => {
                ada.page.once('dialog', (dialog) => dialog.accept(wanted));
                const done = ada.page.waitForResponse((response) => response.request().method() === 'PATCH' && response.url().endsWith('/access'));
                await item(ada, key.slice(0, 20)).getByRole('button', { name: /^Share/ }).click();
                assert.equal((await done).status(), 200);
            };
            const asks = { content: 'I look.', toolCalls: [call('get_weather', { city: 'Oslo' })] };
            model.script(key, [asks, { content: 'It rains.' }, { content: 'You are welcome.' }, { content: 'Both.' }]);
            await ada.load();
            await ada.ask(key);
            await ada.button('Allow').waitFor();
            await share('bob read');

            await bob.load();
            await item(bob, key.slice(0, 20)).getByText('shared: read').waitFor();
            assert.equal(await item(bob, key.slice(0, 20)).getByRole('button').count(), 1, 'no button but that which shows it');
            await item(bob, key.slice(0, 20)).getByRole('button').click();
            await bob.page.getByText('waits for an approval').waitFor();
            await bob.page.locator(`${bob.ui.input}[placeholder^="You may only read"]:disabled`).waitFor();
            assert.equal(await bob.button('Allow').count() + await bob.button('Again').count() + await bob.button('Edit').count(), 0);
            const sharedId = await threadIn(bob);
            assert.match(sharedId, /^shared-/);
            const input = { threadId: sharedId, runId: 'of-bob', messages: [{ id: 'of-bob', role: 'user', content: 'Hi.' }], tools: [] };
            assert.equal((await request(bob, 'POST', '/agui', input)).status, 403);

            await share('bob approve');
            await bob.reload();
            await bob.button('Allow').click();
            await bob.shown('It rains.');
            await bob.ask('Thank you, says Bob.');
            await bob.shown('You are welcome.');
            await bob.idle();
            assert.equal(weather.calls.length, 1);
            await ada.reload();
            await ada.shown('You are welcome.');
            await ada.shown('Thank you, says Bob.');
            await ada.ask('Thank you both.');
            await ada.shown('Both.');
            await ada.idle();

            await share('');
            await bob.reload();
            await bob.button('New chat').first().waitFor();
            await bob.page.waitForLoadState('networkidle');
            assert.deepEqual(await messagesOf(bob), []);
            assert.equal(await item(bob, key.slice(0, 20)).count(), 0);
        });

        it('lets a user who may write ask, and leaves the approval to the owner', async () => {
            const { key, model, weather } = stage;
            const asks = { content: 'I look, Bob.', toolCalls: [call('get_weather', { city: 'Oslo' })] };
            model.script(key, [{ content: 'Hello, Ada.' }, asks, { content: 'It rains, Bob.' }]);
            await ada.load();
            await ada.ask(key);
            await ada.shown('Hello, Ada.');
            await ada.idle();
            const access = [{ user: 'bob', rights: 'write' }];
            const { body: { sharedId } } = await request(ada, 'PATCH', `threads/${await threadIn(ada)}/access`, { access });

            await openThread(bob, sharedId);
            await bob.shown('Hello, Ada.');
            await bob.page.getByText('shared: write').first().waitFor();
            assert.equal((await request(bob, 'GET', `threads/${sharedId}`)).body.rights, 'write');
            await bob.ask('How is the weather, asks Bob?');
            await bob.page.getByText('waits for an approval').waitFor();
            assert.equal(await bob.button('Allow').count() + await bob.button('Deny').count(), 0);
            const { body: { interrupts } } = await request(bob, 'GET', `threads/${sharedId}/pending`);
            const resume = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload: { approved: true } }));
            assert.equal(resume.length, 1);
            const answer = { threadId: sharedId, runId: 'approved-by-bob', messages: [], tools: [], resume };
            assert.equal((await request(bob, 'POST', '/agui', answer)).status, 403);
            assert.equal(weather.calls.length, 0);

            await ada.reload();
            await ada.shown('How is the weather, asks Bob?');
            await ada.button('Allow').click();
            await ada.shown('It rains, Bob.');
            await ada.idle();
            assert.equal(weather.calls.length, 1);
            await bob.reload();
            await bob.shown('It rains, Bob.');
            assert.equal(await bob.page.getByText('waits for an approval').count(), 0);
        });

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

        if (by !== 'token') return;

        it('shows an answer that the other user has asked for while it comes', async () => {
            const { key, model, rest } = stage;
            model.script(key, [{ content: 'Hello, Ada.' }, { content: words, pauseAfter: 20, resume: rest.opened }]);
            await ada.load();
            await ada.ask(key);
            await ada.shown('Hello, Ada.');
            await ada.idle();
            const { body: { sharedId } } = await request(ada, 'PATCH', `threads/${await threadIn(ada)}/access`, { access: [{ user: 'bob', rights: 'read' }] });
            await ada.ask('Go on.');
            await ada.shown('word3 ');
            await openThread(bob, sharedId);
            await bob.shown('word3 ');
            rest.open();
            await Promise.all([ada, bob].map((app) => app.shown('word59')));
            await bob.idle();
            assert.equal(model.requests(key).length, 2);
        });

        it('lets a reader see a call of the page, and execute none', async () => {
            const { key, model } = stage;
            const painted = (app) => app.page.evaluate(() => document.body.style.background);
            model.script(key, [{ toolCalls: [call('change_background', { color: 'rgb(0, 0, 255)' })] }, { content: 'Now it is blue.' }]);
            await ada.page.addInitScript(() => { window.beforePainting = new Promise((resolve) => { window.paint = resolve; }); });
            await ada.load();
            await ada.ask(key);
            await ada.page.getByText('Background: rgb(0, 0, 255)').waitFor();
            const { body: { sharedId } } = await request(ada, 'PATCH', `threads/${await threadIn(ada)}/access`, { access: [{ user: 'bob', rights: 'read' }] });
            await openThread(bob, sharedId);
            await bob.page.getByText('Another tab is executing this.').waitFor();
            await ada.page.evaluate(() => window.paint());
            await ada.shown('Now it is blue.');
            await bob.shown('Now it is blue.');
            assert.deepEqual([await painted(ada), await painted(bob)], ['rgb(0, 0, 255)', '']);
            assert.equal(model.requests(key).length, 2);
        });
    });
}
