// The console in headless Chromium, with everything that a page should not do: errors, refused requests, violations of
// its Content-Security-Policy.

import fs from 'node:fs';
import { createRequire } from 'node:module';

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/// A page that records its complaints; `meant` are statuses of at least 400 that the test expects.
export async function watchedPage(browser, options = {}) {
    const page = await browser.newPage({ viewport: { width: 1200, height: 860 }, ...options });
    page.complaints = [];
    page.refused = [];
    page.on('pageerror', (error) => page.complaints.push(String(error)));
    page.on('console', (message) => {
        // Chromium reports each refused request here, too; `refused` has them with their status.
        if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) page.complaints.push(message.text());
    });
    page.on('response', (response) => response.status() >= 400 && page.refused.push(`${response.status()} ${new URL(response.url()).pathname}`));
    await page.addInitScript(() => {
        document.addEventListener('securitypolicyviolation', (event) => console.error(`CSP: ${event.violatedDirective} ${event.blockedURI}`));
    });
    return page;
}

/// What axe-core finds in the page as it is now, of the impacts `serious` and `critical`: `rule: selector`.
export async function seriousProblems(page) {
    await page.evaluate(axeSource);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
    return violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary}`));
}

/// The console, with the steps of a person.
export class ConsolePage {
    constructor(page) {
        this.page = page;
    }

    async startRun(text, { thread = '', tools = '' } = {}) {
        await this.page.click('#new-run');
        await this.page.fill('#start-thread', thread);
        await this.page.fill('#start-text', text);
        await this.page.fill('#start-tools', tools);
        const before = await this.runId();
        await this.page.click('#start-form button[type="submit"]');
        await this.otherRun(before);
    }

    runId() {
        return this.page.evaluate(() => new URLSearchParams(location.hash.slice(1)).get('run') ?? '');
    }

    otherRun(before) {
        return this.page.waitForFunction((old) => {
            const run = new URLSearchParams(location.hash.slice(1)).get('run') ?? '';
            return run !== old && document.querySelector('#run').value === run;
        }, before);
    }

    /// Until the chosen run has ended and all its events are there.
    async ended() {
        await this.page.waitForFunction(() => document.querySelector('#run-status').textContent === 'ended'
            && !document.querySelector('#download').disabled
            && /^RUN_(FINISHED|ERROR)$/.test(document.querySelector('#events li:last-child')?.dataset.type ?? ''));
    }

    types() {
        return this.page.$$eval('#events li', (rows) => rows.map((row) => row.dataset.type));
    }

    row(type) {
        return this.page.locator(`#events li[data-type="${type}"]`).first();
    }

    tab(name) {
        return this.page.click(`#tab-${name}`);
    }

    /// Presses a button of the first form under "Waiting", and waits for the run that it starts to end.
    async answer(button) {
        const before = await this.runId();
        await this.page.click(`#waiting form:first-child button:text-is("${button}")`);
        await this.otherRun(before);
        await this.ended();
    }

    /// The archive that "Download as a fixture" saves.
    async download(path) {
        const [file] = await Promise.all([this.page.waitForEvent('download'), this.page.click('#download')]);
        await file.saveAs(path);
        await this.page.waitForFunction(() => document.querySelector('#fixture-note').textContent !== '');
        return this.page.textContent('#fixture-note');
    }

    /// Opens the request at this place of the list, and waits until it is compared.
    async openRequest(index) {
        const item = this.page.locator('#requests > li').nth(index);
        await item.locator('summary').click();
        await item.locator('.part').last().waitFor();
        return item;
    }
}
