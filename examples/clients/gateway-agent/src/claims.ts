/** A call that another client executes. It may be taken over from that time (milliseconds since 1970). */
export interface ClaimedCall {
    toolCallId: string;
    claimedUntil: number;
}

/**
 * `held`: the client may execute the calls. `gone`: one of them does not wait for an answer. `answered`: so, and it did at
 * the beginning. `left`: the client does not wait any more.
 */
export type TakenCalls = 'held' | 'gone' | 'answered' | 'left';

/** Which calls are claimed, by the name of their tool. */
export type WhichCalls = boolean | ((toolName: string) => boolean);

type Pending = {
    toolCalls: { toolCallId: string; toolCallName: string; claimedUntil?: number }[];
    interrupts?: { toolCallId?: string }[];
};
type Held = { threadId: string; callId: string };
type Request = (path: string, init?: { method?: string; body?: string; keepalive?: boolean }) => Promise<Response>;

const renewal = 10_000; // The gateway keeps a claim for 30 s.
const longestWait = 5_000; // The other client may answer before its claim ends.

/**
 * The claims of one client: which pending calls it executes, so that no other one does. They are renewed until they are
 * released, refused, or the calls are answered. A page that is left gives them up, so that another tab can take over.
 */
export class Claims {
    /** The calls of `take()` that other clients execute. */
    elsewhere: readonly ClaimedCall[] = [];
    private readonly listeners = new Set<() => void>();
    private readonly held = new Map<string, { threadId: string; timer: ReturnType<typeof setTimeout> }>();
    private readonly waiting = new Set<{ threadId: string; end: AbortController }>();
    private onlyWatches = false;

    constructor(private readonly request: Request, private readonly holder: string, private readonly which: WhichCalls) {}

    /** Calls `listener` when `elsewhere` changes. Returns the function that ends that. */
    subscribe(listener: () => void): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }

    /**
     * Waits until this client has all of the calls that are claimed. All but those of `which` and those that wait for an
     * approval are, unless the gateway does not know claims or cannot be asked.
     */
    async take(threadId: string, callIds: readonly string[], leave?: AbortSignal): Promise<TakenCalls> {
        if (callIds.length === 0 || (this.which === false && !this.onlyWatches)) return 'held';
        const wait = { threadId, end: new AbortController() };
        const end = () => wait.end.abort();
        leave?.addEventListener('abort', end);
        if (leave?.aborted) end();
        this.waiting.add(wait);
        const outcome = await this.wait(threadId, callIds, wait.end.signal);
        leave?.removeEventListener('abort', end);
        this.waiting.delete(wait);
        this.show([]);
        if (outcome !== 'held') this.giveUp(this.letGo(threadId, callIds));
        return outcome;
    }

    /**
     * Whether this client may not answer calls, because its user may only read the thread: it claims none, and waits until
     * others have answered them.
     */
    watch(isOn: boolean): void {
        this.onlyWatches = isOn;
    }

    /** This client does not execute calls of the thread any more: it gives its claims up, and waits for no others. */
    release(threadId: string): void {
        this.giveUp(this.letGoAll(threadId));
    }

    /**
     * Renews no claim of the thread any more, and waits for none: for a request that answers the calls, or with which the
     * user goes on. The gateway keeps the claims until that request comes.
     */
    forget(threadId: string): void {
        this.letGoAll(threadId);
    }

    private async wait(threadId: string, callIds: readonly string[], end: AbortSignal): Promise<TakenCalls> {
        for (let hasWaited = false; !end.aborted; hasWaited = true) {
            const found = await this.tryAll(threadId, callIds, hasWaited);
            if (end.aborted) break;
            if (found === 'gone') return hasWaited || this.onlyWatches ? 'answered' : 'gone';
            if (found === 'held') return 'held';
            this.show(found);
            await pause(Math.min(Math.max(found[0]!.claimedUntil - Date.now(), 1_000), longestWait), end);
        }
        return 'left';
    }

    private async tryAll(threadId: string, callIds: readonly string[], hasWaited: boolean): Promise<'held' | 'gone' | [ClaimedCall, ...ClaimedCall[]]> {
        const pending = await this.pending(threadId);
        if (!pending) return 'held';
        const approvals = new Set(pending.interrupts?.map(({ toolCallId }) => toolCallId));
        const asked = callIds.filter((id) => !approvals.has(id));
        const open = pending.toolCalls.filter(({ toolCallId }) => asked.includes(toolCallId));
        if (open.length < asked.length) return 'gone';
        const which = this.which;
        const own = open.filter(({ toolCallName }) => this.onlyWatches || typeof which === 'boolean' || which(toolCallName));
        let isUnknown = false;
        // In the gateway's order: two clients never wait for each other, each with one of two calls.
        for (const [at, { toolCallId, claimedUntil }] of own.entries()) {
            // At first the claim may be this tab's own, from before a reload.
            const isKnown = hasWaited && claimedUntil !== undefined && !this.held.has(toolCallId);
            const status = isKnown || this.onlyWatches ? 409 : await this.claim(threadId, toolCallId);
            if (status === 200) this.hold(threadId, toolCallId);
            isUnknown ||= status === 404;
            if (status !== 409) continue;
            const others = own.slice(at + 1).flatMap((each) => each.claimedUntil === undefined ? [] : claimedOf(each.toolCallId, each.claimedUntil));
            return [claimedOf(toolCallId, claimedUntil ?? Date.now() + longestWait), ...others];
        }
        // Answered since it was listed, unless the gateway has no such route.
        const left = isUnknown ? await this.pending(threadId) : undefined;
        return left && own.some(({ toolCallId }) => !left.toolCalls.some((each) => each.toolCallId === toolCallId)) ? 'gone' : 'held';
    }

    /** undefined: the gateway cannot be asked, or does not know. */
    private async pending(threadId: string): Promise<Pending | undefined> {
        try {
            return await (await this.request(`/threads/${encodeURIComponent(threadId)}/pending`)).json() as Pending;
        } catch {
            return undefined;
        }
    }

    /** Claims a call, or gives the claim up. Returns the status of the answer; 0 if there is none. */
    private async claim(threadId: string, callId: string, method: 'POST' | 'DELETE' = 'POST'): Promise<number> {
        const path = `/threads/${encodeURIComponent(threadId)}/calls/${encodeURIComponent(callId)}/claim`;
        const init = { method, body: JSON.stringify({ holder: this.holder }), ...(method === 'DELETE' && { keepalive: true }) };
        try {
            const response = await this.request(path, init);
            await response.arrayBuffer();
            return response.status;
        } catch (problem) {
            return (problem as { status?: number }).status ?? 0;
        }
    }

    private hold(threadId: string, callId: string): void {
        clearTimeout(this.held.get(callId)?.timer);
        const renew = async () => {
            const status = await this.claim(threadId, callId);
            if (this.held.get(callId)?.timer !== timer) return;
            // A gateway that cannot be reached, or is busy, is asked again.
            if (status === 200 || status === 0 || status === 429 || status >= 500) this.hold(threadId, callId);
            else this.letGo(threadId, [callId]);
        };
        const timer = setTimeout(() => void renew(), renewal);
        (timer as { unref?: () => void }).unref?.(); // Outside of browsers: the process may end.
        this.held.set(callId, { threadId, timer });
        globalThis.addEventListener?.('pagehide', this.leavePage);
    }

    private letGoAll(threadId: string): Held[] {
        for (const each of this.waiting) if (each.threadId === threadId) each.end.abort();
        return this.letGo(threadId, [...this.held.keys()]);
    }

    private letGo(threadId: string, callIds: readonly string[]): Held[] {
        const calls = callIds.filter((id) => this.held.get(id)?.threadId === threadId);
        for (const id of calls) {
            clearTimeout(this.held.get(id)!.timer);
            this.held.delete(id);
        }
        if (this.held.size === 0) globalThis.removeEventListener?.('pagehide', this.leavePage);
        return calls.map((callId) => ({ threadId, callId }));
    }

    /** A gateway that cannot be reached, or does not know the request, keeps the claims until they expire. */
    private giveUp(calls: readonly Held[]): void {
        for (const { threadId, callId } of calls) void this.claim(threadId, callId, 'DELETE');
    }

    /** A page that comes back out of the back/forward cache still renews its claims, and so gets back those that are free. */
    private readonly leavePage = () => this.giveUp([...this.held].map(([callId, { threadId }]) => ({ threadId, callId })));

    private show(calls: readonly ClaimedCall[]): void {
        if (calls.length === 0 && this.elsewhere.length === 0) return;
        this.elsewhere = calls;
        for (const each of this.listeners) each();
    }
}

function claimedOf(toolCallId: string, claimedUntil: number): ClaimedCall {
    return { toolCallId, claimedUntil };
}

function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
        const done = () => {
            clearTimeout(timer);
            resolve();
        };
        const timer = setTimeout(done, milliseconds);
        signal.addEventListener('abort', done, { once: true });
    });
}

const storageKey = 'agui-gateway.holder';
let ownName: string | undefined;

/**
 * The name of this tab, under which it claims calls. A reload keeps it. A copy of the tab gets another one, because the
 * name is in the tab's storage only while no page is shown.
 */
export function nameOfTab(): string {
    if (ownName !== undefined) return ownName;
    ownName = storage()?.getItem(storageKey) ?? crypto.randomUUID();
    storage()?.removeItem(storageKey);
    globalThis.addEventListener?.('pagehide', () => storage()?.setItem(storageKey, ownName!));
    globalThis.addEventListener?.('pageshow', () => storage()?.removeItem(storageKey));
    return ownName;
}

/** undefined outside of browsers, and where the user does not allow it. */
function storage(): Storage | undefined {
    try {
        return globalThis.document ? globalThis.sessionStorage : undefined;
    } catch {
        return undefined;
    }
}
