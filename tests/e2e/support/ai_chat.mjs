// The AI SDK's own chat, without React: AbstractChat of the released package with DefaultChatTransport.

import * as v6 from 'ai-sdk-6';
import * as v7 from 'ai-sdk-7';
import { readFileSync } from 'node:fs';

const version = (name) => JSON.parse(readFileSync(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version;

export const sdks = [{ name: 'ai-sdk-6', sdk: v6 }, { name: 'ai-sdk-7', sdk: v7 }].map((each) => ({
    ...each, name: `ai ${version(each.name)}`,
}));

/// A chat whose page would use `api`. `chunks` are those of its last response, as the package's own parser reads them.
export function makeChat({ sdk }, { api, fetch: own = fetch, headers, ...init }) {
    const requests = [];
    const transport = new sdk.DefaultChatTransport({
        api, headers,
        fetch: async (url, options) => {
            const response = await own(url, options);
            requests.push({ url: String(url), body: options.body && JSON.parse(options.body), response });
            return response;
        },
    });
    const state = {
        status: 'ready', error: undefined, messages: init.messages ?? [],
        pushMessage(message) { this.messages = [...this.messages, message]; },
        popMessage() { this.messages = this.messages.slice(0, -1); },
        replaceMessage(index, message) {
            this.messages = this.messages.with(index, structuredClone(message));
        },
        snapshot: (value) => structuredClone(value),
    };
    class Chat extends sdk.AbstractChat {}
    const chat = new Chat({ ...init, transport, state });
    chat.requests = requests;
    return chat;
}

/// All texts of a message.
export const textOf = (message) => message.parts.filter(({ type }) => type === 'text').map(({ text }) => text).join('');

/// Resolves once `condition` holds.
export async function until(condition) {
    while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}
