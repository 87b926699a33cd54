import { HttpAgent, runHttpRequest } from '@ag-ui/client';
import type { BaseEvent, HttpAgentConfig, Message, RunAgentInput } from '@ag-ui/client';
import { Claims, nameOfTab } from './claims.js';
import type { WhichCalls } from './claims.js';
import { readEvents } from './event-stream.js';
import { GatewayError, checked } from './gateway-error.js';
import { withClaims } from './hand-off.js';
import { Line } from './line.js';
import { HistoryReading, RunReading } from './readings.js';
import type { Reading } from './readings.js';

type RunStream = ReturnType<HttpAgent['run']>;

export interface GatewayAgentConfig extends HttpAgentConfig {
    /**
     * How long a stream may be silent, in milliseconds, before its connection counts as lost. The server sends a
     * heartbeat every `server.heartbeat_seconds` (15 s).
     */
    silence?: number;
    /**
     * How long lost connections are tried again, in milliseconds, counted from the first failure. A page that is hidden
     * or offline goes on when it is back.
     */
    patience?: number;
    /**
     * The calls of the page's tools that only one client shall execute (all): this one claims them before a run ends with
     * them, and waits while another one has them. A function gets the name of the tool.
     */
    claims?: WhichCalls;
    /** The name under which this client claims calls: by default that of the tab. */
    holder?: string;
    /**
     * Whether requests carry cookies, as in fetch(): with `same-origin`, the default, those to the page's own origin do.
     * A page of another origin whose user has a session needs `include`.
     */
    credentials?: RequestCredentials;
}

export interface LoadedThread {
    messages: Message[];
    /** undefined if the thread has none. */
    state: unknown;
    /** The run that is active; undefined if there is none. */
    activeRunId: string | undefined;
}

/**
 * An HttpAgent that uses what agui-gateway offers beyond AG-UI:
 *
 * - a connection that is lost in the middle of a run is made again, and the stream goes on after the last event: no
 *   event is missing and none comes twice. A page that becomes visible waits for half of the timeout only; one that is
 *   online again, or comes out of the back/forward cache, does not wait;
 * - abortRun(), and the `abortController` of runAgent(), end the run on the server at once;
 * - connect() brings the conversation of the thread, and then its active run: for a page that was loaded again;
 * - of two clients that show a hand-off, one executes its calls. For the other one the run ends when these are answered,
 *   with what has happened since, or with the calls if the first client is gone.
 *
 * `url` is that of POST /agui or of POST /agui/agents/{agentId}. All requests have the headers and the other members of
 * requestInit().
 */
export class GatewayAgent extends HttpAgent {
    /** The calls that this client executes, and those that another one does. */
    readonly claims: Claims;
    private readonly times: { silence: number; patience: number };
    private readonly which: { claims: WhichCalls; holder: string | undefined };
    private readonly credentials: RequestCredentials | undefined;
    private followed: { threadId: string; runId: string; lastUserMessage: string | undefined } | undefined;
    private earlier: { threadId: string; message: Message } | undefined;

    constructor(config: GatewayAgentConfig) {
        super(config);
        this.times = { silence: config.silence ?? 40_000, patience: config.patience ?? 60_000 };
        this.which = { claims: config.claims ?? true, holder: config.holder };
        this.credentials = config.credentials;
        this.claims = this.claimsOf(this);
    }

    override run(input: RunAgentInput): RunStream {
        this.claims.forget(input.threadId);
        const { threadId, runId, lastUserMessage } = this.followed ?? {};
        this.followed = undefined;
        const isSame = threadId === input.threadId && lastUserMessage === lastUserMessageOf(input.messages);
        const isFollowed = runId !== undefined && isSame;
        const reading = new RunReading(input.threadId, isFollowed ? runId : input.runId);
        return this.streamOf(this.withEarlier(input), reading, () => (reading.last === 0 && !isFollowed ? this.url : undefined));
    }

    /**
     * The next run() of this thread shows the given run from its first event on, and starts none; unless the user has
     * said something since these messages. For user interfaces that go on after a reload with runAgent().
     */
    followNext(threadId: string, runId: string, messages: readonly Message[]): void {
        this.followed = { threadId, runId, lastUserMessage: lastUserMessageOf(messages) };
    }

    /**
     * The messages of run() on this thread begin after the given one: for user interfaces that have loaded only the last
     * messages. It is sent with them, so that the gateway can tell an edit of the first of them from a new message.
     */
    beginAfter(threadId: string, message: Message | undefined): void {
        this.earlier = message && { threadId, message };
    }

    /** The conversation as events, then those of the active run. */
    connect(input: RunAgentInput): RunStream {
        // A run that was stopped before leaves its controller.
        if (this.abortController.signal.aborted) this.abortController = new AbortController();
        const reading = new HistoryReading(input.threadId);
        return this.streamOf(bodyOfHistory(input), reading, () => this.urlOfHistory(reading));
    }

    /**
     * The conversation as messages, without those of its active run, and the id of that run: for adapters of user
     * interfaces that do not call connect().
     */
    async loadThread(threadId: string): Promise<LoadedThread> {
        const loaded: LoadedThread = { messages: [], state: undefined, activeRunId: undefined };
        const reading = new HistoryReading(threadId);
        const open = (signal: AbortSignal) => this.openHistory(reading, signal);
        for await (const event of this.events(reading, open, new AbortController().signal)) {
            const { messages, snapshot } = event as unknown as { messages?: Message[]; snapshot?: unknown };
            if (reading.run) break;
            if (event.type === 'MESSAGES_SNAPSHOT') loaded.messages = messages ?? [];
            if (event.type === 'STATE_SNAPSHOT') loaded.state = snapshot;
        }
        loaded.activeRunId = reading.run?.runId;
        return loaded;
    }

    /** A request to a route of the gateway (`/threads`), with the headers and so on of requestInit(). */
    async request(path: string, init: { method?: string; body?: string; keepalive?: boolean } = {}): Promise<Response> {
        const { headers: given, ...common } = this.requestInit(inputOf(this.threadId));
        const headers = new Headers(given);
        headers.set('accept', 'application/json');
        if (init.body === undefined) headers.delete('content-type');
        return this.send(this.base + path, { ...common, method: 'GET', body: undefined, ...init, headers, signal: undefined });
    }

    /** Also gives up the calls of the page that were about to be executed. */
    override abortRun(): void {
        super.abortRun();
        this.claims.release(this.threadId);
    }

    override clone(): GatewayAgent {
        // The client's clone() runs no constructor.
        const { times, which, credentials, earlier } = this;
        const copy = Object.assign(super.clone() as GatewayAgent, { times, which, credentials, followed: undefined, earlier });
        return Object.assign(copy, { claims: this.claimsOf(copy) });
    }

    /** The URL of the gateway's routes: that of POST /agui, whichever agent this is. */
    get base(): string {
        const path = this.url.replace(/[?#].*$/, '').replace(/\/+$/, '');
        const isWhole = path.endsWith('/agui') && !path.endsWith('/agui/agents/agui');
        return isWhole ? path : path.replace(/\/agents\/[^/]+$/, '');
    }

    protected override requestInit(input: RunAgentInput): RequestInit {
        const init = super.requestInit(input);
        return this.credentials === undefined ? init : { ...init, credentials: this.credentials };
    }

    private withEarlier(input: RunAgentInput): RunAgentInput {
        const { threadId, message } = this.earlier ?? {};
        const isNeeded = message && threadId === input.threadId && !input.messages.some(({ id }) => id === message.id);
        return isNeeded ? { ...input, messages: [message, ...input.messages] } : input;
    }

    private claimsOf(agent: GatewayAgent): Claims {
        return new Claims((path, init) => agent.request(path, init), this.which.holder ?? nameOfTab(), this.which.claims);
    }

    private openHistory(reading: HistoryReading, signal: AbortSignal): Promise<Response> {
        const url = this.urlOfHistory(reading);
        const init = { ...this.requestInit(bodyOfHistory(inputOf(reading.threadId))), signal };
        return url === undefined ? this.eventsAfter(reading.run!, init, signal) : this.send(url, init);
    }

    private urlOfHistory(reading: HistoryReading): string | undefined {
        if (reading.run) return undefined;
        reading.begin();
        return `${this.base}/history`;
    }

    /**
     * What is read, as an Observable; leaving it closes the connection. `urlOfPost` is where the input goes, or undefined
     * once the events of the run are read instead. The class is that of the client's own streams, which it does not
     * export.
     */
    private streamOf(input: RunAgentInput, reading: Reading, urlOfPost: () => string | undefined): RunStream {
        const Stream = runHttpRequest(() => new Promise<Response>(() => {})).constructor as unknown as new (subscribe: (to: {
            next(event: BaseEvent): void;
            error(problem: unknown): void;
            complete(): void;
        }) => () => void) => RunStream;
        return new Stream((to) => {
            const leave = new AbortController();
            let shown: Reading = reading;
            const stop = new Stop(leave.signal, () => {
                // A run that cannot be reached ends by itself, as after any lost connection.
                if (shown.run && !shown.isOver) this.cancel(shown.run).catch(() => {});
                leave.abort();
            });
            stop.watch(this.abortController.signal);
            const open = (signal: AbortSignal) => {
                const init = this.requestInit(input);
                stop.watch(init.signal);
                const url = urlOfPost();
                return url === undefined ? this.eventsAfter(reading.run!, init, signal) : this.send(url, { ...init, signal });
            };
            const again = () => {
                shown = new HistoryReading(input.threadId);
                return this.eventsOfHistory(shown as HistoryReading, leave.signal);
            };
            const take = async (callIds: string[]) => {
                const taken = await this.claims.take(input.threadId, callIds, leave.signal);
                leave.signal.throwIfAborted();
                return taken;
            };
            const read = async () => {
                try {
                    for await (const event of withClaims(this.events(reading, open, leave.signal), again, take)) to.next(event);
                    to.complete();
                } catch (problem) {
                    // The client ends a run without an error if its request was aborted.
                    to.error(leave.signal.aborted ? new DOMException('The run was stopped', 'AbortError') : problem);
                } finally {
                    leave.abort();
                }
            };
            void read();
            return () => leave.abort();
        });
    }

    /** The conversation after the message of beginAfter(), and the active run. */
    private async *eventsOfHistory(reading: HistoryReading, leave: AbortSignal): AsyncGenerator<BaseEvent> {
        for await (const event of this.events(reading, (signal) => this.openHistory(reading, signal), leave)) {
            const { messages } = event as { messages?: Message[] };
            const { threadId, message } = this.earlier ?? {};
            const last = threadId === reading.threadId ? messages?.findIndex(({ id }) => id === message?.id) ?? -1 : -1;
            yield last < 0 ? event : { ...event, messages: messages!.slice(last + 1) } as BaseEvent;
        }
    }

    /** The events of a reading, over as many connections as it takes. */
    private async *events(reading: Reading, open: (signal: AbortSignal) => Promise<Response>, leave: AbortSignal): AsyncGenerator<BaseEvent> {
        const line = new Line(leave, this.times);
        try {
            while (!reading.isOver) {
                try {
                    const response = await open(line.open());
                    if (!response.body) throw new GatewayError(410, 'run_ended', 'the run has ended, and its last event cannot be read');
                    for await (const next of readEvents(response.body, () => line.heard())) {
                        line.progressed();
                        for (const event of reading.take(next)) yield event as unknown as BaseEvent;
                        if (reading.isOver) return;
                    }
                    if (reading.mayEnd) return;
                    throw new Error('the connection was closed in the middle of the run');
                } catch (problem) {
                    await line.failed(problem);
                }
            }
        } finally {
            line.close();
        }
    }

    private eventsAfter({ threadId, runId, last }: RunReading, init: RequestInit, signal: AbortSignal): Promise<Response> {
        const path = `/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}/events?after=${last}`;
        const headers = new Headers(init.headers);
        headers.delete('content-type');
        return this.send(this.base + path, { ...init, method: 'GET', body: undefined, headers, signal });
    }

    private async cancel({ threadId, runId }: RunReading): Promise<void> {
        await (await this.request('/cancel', { method: 'POST', body: JSON.stringify({ threadId, runId }) })).arrayBuffer();
    }

    private async send(url: string, init: RequestInit): Promise<Response> {
        const fetch = this.fetch ?? globalThis.fetch;
        return checked(await fetch(url, init));
    }
}

function inputOf(threadId: string): RunAgentInput {
    return { threadId, runId: crypto.randomUUID(), messages: [], tools: [], context: [], state: {}, forwardedProps: {} };
}

function lastUserMessageOf(messages: readonly { id: string; role: string }[]): string | undefined {
    return messages.filter(({ role }) => role === 'user').at(-1)?.id;
}

function bodyOfHistory(input: RunAgentInput): RunAgentInput {
    return { ...input, messages: [], forwardedProps: { ...input.forwardedProps, follow: true } };
}

/** Calls `stop` once if one of the watched signals is aborted before `leave` is. */
class Stop {
    private readonly watched = new Set<AbortSignal>();

    constructor(private readonly leave: AbortSignal, private readonly stop: () => void) {}

    watch(signal: AbortSignal | null | undefined): void {
        if (!signal || this.watched.has(signal) || this.leave.aborted) return;
        this.watched.add(signal);
        if (signal.aborted) this.stop();
        else signal.addEventListener('abort', this.stop, { signal: this.leave });
    }
}
