import { useAui, useAuiState, useRemoteThreadListRuntime } from '@assistant-ui/react';
import type { AssistantRuntime } from '@assistant-ui/react';
import { useAgUiRuntime } from '@assistant-ui/react-ag-ui';
import type { UseAgUiRuntimeOptions } from '@assistant-ui/react-ag-ui';
import { useCallback, useEffect, useMemo, useRef, useSyncExternalStore } from 'react';
import type { ClaimedCall } from '../claims.js';
import { GatewayAgent } from '../gateway-agent.js';
import type { GatewayAgentConfig } from '../gateway-agent.js';
import { GatewayAttachments } from './attachments.js';
import { GatewayHistory } from './history.js';
import { GatewayThreadList, rightsKey } from './thread-list.js';
import type { GivenRights } from './rights.js';

export interface GatewayChatsConfig extends Omit<GatewayAgentConfig, 'threadId'> {
    /** The least number of messages that are loaded at once (50; the gateway gives 200 at most). */
    pageSize?: number;
    /** The files that the composer takes, as in an input element: pictures, sound, video, PDF and text. */
    accept?: string;
    /** Makes the agent of a thread, in place of a GatewayAgent with this configuration. */
    agent?: (config: GatewayAgentConfig) => GatewayAgent;
}

export interface GatewayChat {
    agent: GatewayAgent;
    history: GatewayHistory;
    attachments: GatewayAttachments;
}

const everyday = 'image/*,audio/*,video/*,application/pdf,text/*';

/** The conversations of a user on one gateway. An application makes one, outside of its components. */
export class GatewayChats {
    readonly threadList: GatewayThreadList;
    private readonly chats = new Map<string, GatewayChat>();
    private readonly localIds = new Map<string, string>();

    constructor(private readonly config: GatewayChatsConfig) {
        this.threadList = new GatewayThreadList(this.agentOf('list'), (localId) => this.threadIdOf(localId), 50);
    }

    /** The id on the gateway of a thread that has only a local one so far. */
    threadIdOf(localId: string): string {
        const known = this.localIds.get(localId) ?? crypto.randomUUID();
        this.localIds.set(localId, known);
        return known;
    }

    /** What belongs to a thread, which need not exist yet. */
    chat(threadId: string): GatewayChat {
        let chat = this.chats.get(threadId);
        if (!chat) {
            const agent = this.agentOf(threadId);
            const { pageSize = 50, accept = everyday } = this.config;
            chat = { agent, history: new GatewayHistory(agent, threadId, pageSize), attachments: new GatewayAttachments(agent, threadId, accept) };
            this.chats.set(threadId, chat);
        }
        return chat;
    }

    private agentOf(threadId: string): GatewayAgent {
        const { pageSize, accept, agent = (config: GatewayAgentConfig) => new GatewayAgent(config), ...config } = this.config;
        return agent({ ...config, threadId });
    }
}

export interface GatewayRuntimeOptions extends Omit<UseAgUiRuntimeOptions, 'agent' | 'adapters'> {
    /** The thread to show, for example from the page's address; undefined shows a new one. */
    threadId?: string | undefined;
    /** The user has chosen another thread, or the new one has got its id. */
    onThreadIdChange?: (threadId: string | undefined) => void;
    /** Further adapters of assistant-ui, such as `speech`. */
    adapters?: Omit<NonNullable<UseAgUiRuntimeOptions['adapters']>, 'history' | 'threadList'>;
}

/**
 * The runtime for AssistantRuntimeProvider: the list of threads, and for each its messages, its active run, files,
 * approvals, state and Stop. `chats` must stay the same.
 */
export function useGatewayRuntime(chats: GatewayChats, options: GatewayRuntimeOptions = {}): AssistantRuntime {
    const { threadId, onThreadIdChange, ...ofThread } = options;
    const latest = useRef(ofThread);
    latest.current = ofThread;
    const runtimeHook = useCallback(() => useThread(chats, latest.current), [chats]);
    return useRemoteThreadListRuntime({
        runtimeHook, adapter: chats.threadList, threadId, ...(onThreadIdChange && { onThreadIdChange }),
    });
}

/** For a button above the messages: whether there are earlier ones, and what brings them. */
export function useEarlierMessages(chats: GatewayChats): { hasEarlier: boolean; loadEarlier: () => Promise<void> } {
    const { history } = useChat(chats);
    const aui = useAui();
    const subscribe = useCallback((listener: () => void) => history.subscribe(listener), [history]);
    const hasEarlier = useSyncExternalStore(subscribe, () => history.hasEarlier, () => false);
    return { hasEarlier, loadEarlier: () => history.loadEarlier(aui.thread()) };
}

/** The calls of the chat that another tab executes: the page shows no buttons for them. They come back if that tab is gone. */
export function useClaimedElsewhere(chats: GatewayChats): readonly ClaimedCall[] {
    const { claims } = useChat(chats).agent;
    const subscribe = useCallback((listener: () => void) => claims.subscribe(listener), [claims]);
    return useSyncExternalStore(subscribe, () => claims.elsewhere, () => claims.elsewhere);
}

/** What the user may do with the thread, or with the thread of an item of the list: everything, or what its owner allows. */
export function useThreadRights(): 'owner' | GivenRights {
    return useAuiState(({ threadListItem }) => (threadListItem.custom?.[rightsKey] as GivenRights | undefined) ?? 'owner');
}

function useChat(chats: GatewayChats): GatewayChat {
    const localId = useAuiState(({ threadListItem }) => threadListItem.id);
    const remoteId = useAuiState(({ threadListItem }) => threadListItem.remoteId);
    return chats.chat(remoteId ?? chats.threadIdOf(localId));
}

function useThread(chats: GatewayChats, { adapters, ...options }: GatewayRuntimeOptions): AssistantRuntime {
    const { agent, history, attachments } = useChat(chats);
    // The runtime takes an unmounted chat for a stopped one. Its run goes on if the agent has left it before.
    useEffect(() => () => {
        void agent.detachActiveRun();
        agent.claims.release(agent.threadId);
    }, [agent]);
    // The runtime has a version of the client with types of its own.
    const itsAgent = agent as unknown as UseAgUiRuntimeOptions['agent'];
    // The same object each time: another one makes the runtime tell its subscribers of a change.
    const allAdapters = useMemo(() => ({ attachments, ...adapters, history }), [attachments, adapters, history]);
    const isLoading = useSyncExternalStore(useCallback((listener) => history.subscribe(listener), [history]), () => history.isLoading, () => false);
    const isReader = useThreadRights() === 'read';
    const runtime = useAgUiRuntime({
        ...options, agent: itsAgent, adapters: allAdapters,
        isSendDisabled: isLoading || (options.isSendDisabled ?? false),
        isDisabled: isReader || (options.isDisabled ?? false),
    });
    useEffect(() => {
        const { thread } = runtime;
        const check = () => {
            if (!thread.getState().isLoading) history.completeLoad(thread);
        };
        check();
        return thread.subscribe(check);
    }, [runtime, history]);
    return runtime;
}
