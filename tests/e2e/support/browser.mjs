// Headless Chromium and the pages that tests/run.sh --all bundles (browser/, browser_assistant_ui/).

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { chromium } from 'playwright-core';

// Debian has Chromium without a window, too, which takes less than half of the time; the pages see the same browser.
const programs = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

/// The pages of the two chat libraries: how to find their parts, and the query with which they load a conversation.
export const chatPages = [
    {
        name: 'assistant-ui 0.15.22', variable: 'AGUI_ASSISTANT_UI_PAGE', query: {},
        input: '[data-testid="input"]', send: '[data-testid="send"]', stop: '[data-testid="stop"]', idle: '[data-testid="send"]',
        message: '[data-testid="message"]',
    },
    {
        name: 'CopilotKit React 1.74.0', variable: 'AGUI_COPILOTKIT_PAGE', query: { history: '' },
        input: '[data-testid="copilot-chat-textarea"]', send: '[data-testid="copilot-send-button"]',
        stop: '[data-testid="copilot-send-button"]:has(.lucide-square)', idle: '[data-testid="copilot-send-button"] .lucide-arrow-up',
        message: '[data-testid="copilot-assistant-message"], [data-testid="copilot-user-message"]',
    },
];

/// The same page of CopilotKit without an agent of its own: by the gateway's routes for CopilotKit.
export const routedPages = ['rest', 'single'].map((runtime) => ({
    ...chatPages[1], name: `CopilotKit React 1.74.0 by the gateway's routes (${runtime})`, query: { runtime }, path: '/copilotkit',
}));

/// `args`: further ones of the command line. AGUI_CHROMIUM names another Chromium.
export function launchChromium(args = []) {
    const executablePath = process.env.AGUI_CHROMIUM ?? programs.find((each) => fs.existsSync(each));
    assert.ok(executablePath, 'there is no Chromium: apt-get install chromium-headless-shell');
    return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', ...args] });
}

/// A promise with a timeout: rejects after `seconds`, and says what was waited for.
export async function within(seconds, promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what}: not within ${seconds} s`)), seconds * 1000);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

/// Serves the files of a folder, with these headers.
export class Files {
    static async start(folder, headers = {}) {
        const files = new Files();
        files.server = http.createServer((request, response) => {
            const name = path.basename(new URL(request.url, 'http://localhost').pathname) || 'index.html';
            const file = path.join(folder, name);
            if (!fs.existsSync(file)) {
                response.writeHead(404).end();
                return;
            }
            response.writeHead(200, { ...headers, 'Content-Type': types[path.extname(name)] ?? 'application/octet-stream' });
            fs.createReadStream(file).pipe(response);
        });
        await new Promise((resolve) => files.server.listen(0, '127.0.0.1', resolve));
        files.origin = `http://127.0.0.1:${files.server.address().port}`;
        return files;
    }

    async stop() {
        this.server.closeAllConnections();
        await new Promise((resolve) => this.server.close(resolve));
    }
}
