import type { RemoteThreadListAdapter } from '@assistant-ui/react';
import type { GatewayAgent } from '../gateway-agent.js';

type Thread = { threadId: string; title: string; archived: boolean; updatedAt: number; metadata?: Record<string, unknown> };
type RemoteThreadMetadata = Awaited<ReturnType<RemoteThreadListAdapter['fetch']>>;
type TitleStream = Awaited<ReturnType<RemoteThreadListAdapter['generateTitle']>>;
type TitleChunk = TitleStream extends ReadableStream<infer Chunk> ? Chunk : never;
type Messages = Parameters<RemoteThreadListAdapter['generateTitle']>[1];

const longestTitle = 80;

/** The gateway's threads, as the list of assistant-ui. */
export class GatewayThreadList implements RemoteThreadListAdapter {
    /**
     * `threadIdOf` gives the id on the gateway that a new thread of the page has from the beginning. `pageSize`: threads
     * that are loaded at once.
     */
    constructor(private readonly agent: GatewayAgent, private readonly threadIdOf: (localId: string) => string, private readonly pageSize: number) {}

    list = async ({ after }: { after?: string | undefined } = {}) => {
        const cursor = after === undefined ? '' : `&cursor=${encodeURIComponent(after)}`;
        const response = await this.agent.request(`/threads?limit=${this.pageSize}${cursor}`);
        const { threads, nextCursor } = await response.json() as { threads: Thread[]; nextCursor?: string };
        return { threads: threads.map(metadataOf), ...(nextCursor !== undefined && { nextCursor }) };
    };

    /** A thread that does not exist yet is an empty one: its first run makes it. */
    fetch = async (threadId: string): Promise<RemoteThreadMetadata> => metadataOf(await this.read(threadId));

    initialize = async (localId: string) => ({ remoteId: this.threadIdOf(localId), externalId: undefined });

    rename = (threadId: string, title: string) => this.change(threadId, { title });

    archive = (threadId: string) => this.change(threadId, { archived: true });

    unarchive = (threadId: string) => this.change(threadId, { archived: false });

    updateCustom = (threadId: string, custom: Record<string, unknown> | undefined) => this.change(threadId, { metadata: custom ?? null });

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

    private async read(threadId: string): Promise<Thread> {
        return (await this.agent.request(`/threads/${encodeURIComponent(threadId)}`)).json() as Promise<Thread>;
    }

    private async change(threadId: string, change: Record<string, unknown>): Promise<void> {
        const body = JSON.stringify(change);
        await (await this.agent.request(`/threads/${encodeURIComponent(threadId)}`, { method: 'PATCH', body })).arrayBuffer();
    }
}

function metadataOf({ threadId, title, archived, updatedAt, metadata }: Thread): RemoteThreadMetadata {
    return {
        remoteId: threadId,
        status: archived ? 'archived' : 'regular',
        ...(title && { title }),
        ...(updatedAt && { lastMessageAt: new Date(updatedAt) }),
        ...(metadata && { custom: metadata }),
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
