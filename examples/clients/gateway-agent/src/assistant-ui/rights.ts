import type { GatewayAgent } from '../gateway-agent.js';

/** What the owner of a thread allows another user: each right includes those before it. */
export type GivenRights = 'read' | 'write' | 'approve';

type Page = { threads: { threadId: string; rights: GivenRights }[]; nextCursor?: string };

const sharedPrefix = 'shared-'; // Of the ids that the gateway gives to shared threads.
const longestPage = 200;

/** What the owner of the thread allows the user; undefined if it is the user's own. The list of shared threads says it. */
export async function rightsOf(agent: GatewayAgent, threadId: string): Promise<GivenRights | undefined> {
    if (!threadId.startsWith(sharedPrefix)) return undefined;
    for (const archived of [false, true]) {
        for (let cursor = ''; ;) {
            const response = await agent.request(`/threads?shared=true&archived=${archived}&limit=${longestPage}${cursor}`);
            const { threads, nextCursor } = await response.json() as Page;
            const found = threads.find((each) => each.threadId === threadId);
            if (found) return found.rights;
            if (nextCursor === undefined) break;
            cursor = `&cursor=${encodeURIComponent(nextCursor)}`;
        }
    }
    return undefined;
}
