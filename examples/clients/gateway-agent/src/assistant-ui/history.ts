import { ExportedMessageRepository } from '@assistant-ui/react';
import type { ThreadHistoryAdapter, ThreadMessageLike } from '@assistant-ui/react';
import { fromAgUiMessages } from '@assistant-ui/react-ag-ui';
import type { GatewayAgent, LoadedThread } from '../gateway-agent.js';
import type { GivenRights } from './rights.js';

type AgUiMessages = Parameters<typeof fromAgUiMessages>[0];
type Loaded = Awaited<ReturnType<ThreadHistoryAdapter['load']>>;
type Item = ExportedMessageRepository['messages'][number];
/** What is needed of the runtime's thread. */
export interface ThreadControl {
    export(): ExportedMessageRepository;
    import(messages: ExportedMessageRepository): void;
    importExternalState(state: unknown): void;
    resumeRun(config: { parentId: string | null }): void;
}
type AgUiMessage = LoadedThread['messages'][number];
type ThreadInfo = { activeRunId?: string; createdAt: number; rights?: GivenRights };
type Page = { messages: AgUiMessage[]; hasEarlier: boolean };

/**
 * The conversation that the gateway keeps, for the thread of one agent. load() brings its last page, and the pages
 * before it come with loadEarlier(). completeLoad() does what must wait until the runtime has taken the messages,
 * because it executes no call that comes with them:
 *
 * - if a run is active, it is shown from its first event on: the runtime's own request for a run becomes one for that
 *   run's events (GatewayAgent.followNext), so that nothing runs twice;
 * - calls that wait for the page get their arguments, which load() leaves out, and are executed, once no other tab has
 *   claimed them. If that tab answers them, the conversation is loaded again. A user who may only read the thread executes
 *   none and waits for the answers.
 */
export class GatewayHistory implements ThreadHistoryAdapter {
    private loading: 'waits' | 'took' | undefined; // Whether load() has what the runtime takes next.
    private earlier = false;
    private first: string | undefined; // The id of the first message that was loaded.
    private completing: ((thread: ThreadControl) => void) | undefined;
    private readonly listeners = new Set<() => void>();

    /** `pageSize`: the least number of messages of a page, which holds whole turns. */
    constructor(private readonly agent: GatewayAgent, private readonly threadId: string, private readonly pageSize: number) {}

    /** Whether there are messages before those that were loaded. */
    get hasEarlier(): boolean {
        return this.earlier;
    }

    /**
     * Whether the runtime does not have the conversation yet. It replaces all that it shows by what load() brings, so a
     * message that is sent before would vanish from the page.
     */
    get isLoading(): boolean {
        return this.loading !== undefined;
    }

    /** Calls `listener` when `hasEarlier` or `isLoading` may have changed. Returns the function that ends that. */
    subscribe(listener: () => void): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }

    async load(): Promise<Loaded> {
        this.loads('waits');
        try {
            return await this.loadThread();
        } finally {
            this.loading = 'took';
        }
    }

    /** Call this when the runtime does not load any more; more often does no harm. */
    completeLoad(thread: ThreadControl): void {
        if (this.loading === 'took') this.loads(undefined);
        const complete = this.completing;
        this.completing = undefined;
        complete?.(thread);
    }

    /** Puts the page before the loaded messages in front of them. */
    async loadEarlier(thread: ThreadControl): Promise<void> {
        if (!this.earlier || this.first === undefined) return;
        const page = await this.before(this.first, this.pageSize);
        const shown = thread.export();
        const earlier = repositoryOf(page.messages).messages;
        const last = earlier.at(-1)?.message.id ?? null;
        const later = shown.messages.map((item) => (item.parentId === null ? { ...item, parentId: last } : item));
        thread.import({ headId: shown.headId, messages: [...earlier, ...later] });
        await this.took(page);
    }

    async append(): Promise<void> {} // The gateway keeps the conversation by itself.

    private async loadThread(): Promise<Loaded> {
        const { activeRunId, createdAt, rights } = await this.read<ThreadInfo>('');
        if (createdAt === 0) return { messages: [] }; // The thread does not exist yet.
        this.agent.claims.watch(rights === 'read');
        const followed = activeRunId === undefined ? undefined : await this.agent.loadThread(this.threadId);
        // The run may have ended meanwhile.
        if (followed?.activeRunId === undefined) return this.loadLastPage();
        const page = lastTurns(followed.messages, this.pageSize);
        await this.took(page);
        const repository = repositoryOf(page.messages);
        this.agent.followNext(this.threadId, followed.activeRunId, page.messages);
        this.completing = (thread) => thread.resumeRun({ parentId: repository.messages.at(-1)?.message.id ?? null });
        return { ...repository, ...stateOf(followed.state) };
    }

    private async loadLastPage(): Promise<Loaded> {
        const [page, { state }] = await Promise.all([
            this.read<Page>(`/messages?limit=${this.pageSize}`),
            this.read<{ state?: unknown }>('/state'),
        ]);
        await this.took(page);
        const repository = repositoryOf(page.messages);
        const { callIds, waiting } = withoutOpenArguments(repository);
        if (callIds.length > 0) this.completing = (thread) => void this.execute(callIds, repository, thread);
        return { ...waiting, ...stateOf(state) };
    }

    private async execute(callIds: string[], repository: ExportedMessageRepository, thread: ThreadControl): Promise<void> {
        const taken = await this.agent.claims.take(this.threadId, callIds);
        if (taken === 'left') return;
        if (taken !== 'answered') return thread.import(repository);
        const { state, ...loaded } = (await this.loadThread()) as ExportedMessageRepository & { state?: unknown };
        if (state !== undefined) thread.importExternalState(state);
        thread.import(loaded);
        this.completeLoad(thread);
    }

    private async took({ messages, hasEarlier }: Page): Promise<void> {
        this.first = messages[0]?.id ?? this.first;
        this.earlier = hasEarlier;
        this.changed();
        const turn = hasEarlier && this.first !== undefined ? await this.before(this.first, 1) : undefined;
        const last = turn?.messages.filter(({ role }) => role === 'assistant' || role === 'user').at(-1);
        this.agent.beginAfter(this.threadId, last);
    }

    private loads(loading: 'waits' | undefined): void {
        this.loading = loading;
        this.changed();
    }

    private changed(): void {
        for (const each of this.listeners) each();
    }

    private before(messageId: string, least: number): Promise<Page> {
        return this.read(`/messages?limit=${least}&before=${encodeURIComponent(messageId)}`);
    }

    private async read<T>(path: string): Promise<T> {
        return (await this.agent.request(`/threads/${encodeURIComponent(this.threadId)}${path}`)).json() as Promise<T>;
    }
}

function stateOf(state: unknown): Pick<Loaded, 'state'> {
    return state === undefined || state === null ? {} : { state: state as Loaded['state'] };
}

function repositoryOf(messages: readonly { id: string }[]): ExportedMessageRepository {
    return ExportedMessageRepository.fromArray(fromAgUiMessages(messages as AgUiMessages) as readonly ThreadMessageLike[]);
}

/** The same messages, without the arguments of the calls that wait for the page, and these calls. */
function withoutOpenArguments(repository: ExportedMessageRepository): { callIds: string[]; waiting: ExportedMessageRepository } {
    const last = repository.messages.at(-1);
    const callIds: string[] = [];
    if (last?.message.role !== 'assistant') return { callIds, waiting: repository };
    const content = last.message.content.map((part) => {
        if (part.type !== 'tool-call' || part.result !== undefined || part.approval !== undefined) return part;
        callIds.push(part.toolCallId);
        return { ...part, args: {}, argsText: '' };
    });
    const item = { ...last, message: { ...last.message, content } } as Item;
    return { callIds, waiting: { ...repository, messages: [...repository.messages.slice(0, -1), item] } };
}

/** The last turns with at least `least` messages altogether, as the gateway's own pages. */
export function lastTurns<T extends { role: string }>(messages: readonly T[], least: number): { messages: T[]; hasEarlier: boolean } {
    let first = Math.max(messages.length - least, 0);
    while (first > 0 && messages[first]?.role !== 'user') first -= 1;
    return { messages: messages.slice(first), hasEarlier: first > 0 };
}
