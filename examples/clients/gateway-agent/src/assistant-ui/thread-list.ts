import type { RemoteThreadListAdapter } from '@assistant-ui/react';
import type { GatewayAgent } from '../gateway-agent.js';
import type { GivenRights } from './rights.js';

type Thread = {
    threadId: string; title: string; archived: boolean; updatedAt: number; metadata?: Record<string, unknown>; rights?: GivenRights;
};
type Page = { threads: Thread[]; nextCursor?: string };
type Cursors = { own?: string | undefined; shared?: string | undefined };
type RemoteThreadMetadata = Awaited<ReturnType<RemoteThreadListAdapter['fetch']>>;
type TitleStream = Awaited<ReturnType<RemoteThreadListAdapter['generateTitle']>>;
type TitleChunk = TitleStream extends ReadableStream<infer Chunk> ? Chunk : never;
type Messages = Parameters<RemoteThreadListAdapter['generateTitle']>[1];

/** A user to whom a thread is open. Without a tenant it is one of the owner's own. */
export interface ThreadAccess {
    tenant?: string;
    user: string;
    rights: GivenRights;
}

/** The member of a thread's `custom` that has the rights of a user who is not its owner. */
export const rightsKey = 'agui-gateway.rights';

const longestTitle = 80;

/** The gateway's threads, as the list of assistant-ui: the user's own, and then those that others have opened to the user. */
export class GatewayThreadList implements RemoteThreadListAdapter {
    /**
     * `threadIdOf` gives the id on the gateway that a new thread of the page has from the beginning. `pageSize`: threads
     * that are loaded at once.
     */
    constructor(private readonly agent: GatewayAgent, private readonly threadIdOf: (localId: string) => string, private readonly pageSize: number) {}

    list = async ({ after }: { after?: string | undefined } = {}) => {
        const cursors = after === undefined ? undefined : JSON.parse(after) as Cursors;
        const [own, shared] = await Promise.all([this.page('', cursors, cursors?.own), this.page('&shared=true', cursors, cursors?.shared)]);
        const next: Cursors = { own: own.nextCursor, shared: shared.nextCursor };
        return {
            threads: [...own.threads, ...shared.threads].map(metadataOf),
            ...((next.own ?? next.shared) !== undefined && { nextCursor: JSON.stringify(next) }),
        };
    };

    /** A thread that does not exist yet is an empty one: its first run makes it. */
    fetch = async (threadId: string): Promise<RemoteThreadMetadata> => metadataOf(await this.read(threadId));

    initialize = async (localId: string) => ({ remoteId: this.threadIdOf(localId), externalId: undefined });

    rename = (threadId: string, title: string) => this.change(threadId, { title });

    archive = (threadId: string) => this.change(threadId, { archived: true });

    unarchive = (threadId: string) => this.change(threadId, { archived: false });

    updateCustom = (threadId: string, custom: Record<string, unknown> | undefined) => this.change(threadId, { metadata: custom ?? null });

    /** The users to whom a thread of this user is open. */
    access = async (threadId: string): Promise<ThreadAccess[]> => {
        const response = await this.agent.request(`/threads/${encodeURIComponent(threadId)}/access`);
        return (await response.json() as { access: ThreadAccess[] }).access;
    };

    /** Opens a thread to these users, and closes it to all others. They find it in their lists. */
    share = (threadId: string, access: readonly ThreadAccess[]) => this.change(threadId, { access }, '/access');

    delete = async (threadId: string): Promise<void> => {
        try {
            await this.agent.request(`/threads/${encodeURIComponent(threadId)}`, { method: 'DELETE' });
        } catch (problem) {
            if ((problem as { status?: number }).status !== 404) throw problem; // Else it has had no run, or is gone.
        }
    };

    /** The gateway's title. Its first run may not have begun: then it is that which the gateway will choose. */
    generateTitle = async (threadId: string, messages: Messages): Promise<TitleStream> => {
        const { title } = await this.read(threadId);
        return streamOf(title || firstLine(messages));
    };

    /** A page of one of the two lists; an empty one if the pages before were all. */
    private async page(which: string, cursors: Cursors | undefined, cursor: string | undefined): Promise<Page> {
        if (cursors && cursor === undefined) return { threads: [] };
        const after = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
        return (await this.agent.request(`/threads?limit=${this.pageSize}${which}${after}`)).json() as Promise<Page>;
    }

    private async read(threadId: string): Promise<Thread> {
        return (await this.agent.request(`/threads/${encodeURIComponent(threadId)}`)).json() as Promise<Thread>;
    }

    private async change(threadId: string, change: Record<string, unknown>, part = ''): Promise<void> {
        const body = JSON.stringify(change);
        await (await this.agent.request(`/threads/${encodeURIComponent(threadId)}${part}`, { method: 'PATCH', body })).arrayBuffer();
    }
}

function metadataOf({ threadId, title, archived, updatedAt, metadata, rights }: Thread): RemoteThreadMetadata {
    const custom = rights ? { ...metadata, [rightsKey]: rights } : metadata;
    return {
        remoteId: threadId,
        status: archived ? 'archived' : 'regular',
        ...(title && { title }),
        ...(updatedAt && { lastMessageAt: new Date(updatedAt) }),
        ...(custom && { custom }),
    };
}

function firstLine(messages: Messages): string {
    const user = messages.find(({ role }) => role === 'user');
    const text = user?.content.find((part) => part.type === 'text')?.text ?? '';
    return text.trim().replace(/\s+/g, ' ').slice(0, longestTitle);
}

function streamOf(text: string): TitleStream {
    const chunks = [
        { path: [], type: 'part-start', part: { type: 'text' } },
        { path: [0], type: 'text-delta', textDelta: text },
        { path: [0], type: 'part-finish' },
    ] as unknown as TitleChunk[];
    return new ReadableStream<TitleChunk>({
        start(to) {
            for (const chunk of chunks) to.enqueue(chunk);
            to.close();
        },
    }) as TitleStream;
}
