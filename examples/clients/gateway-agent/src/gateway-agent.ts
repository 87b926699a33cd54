import { HttpAgent, runHttpRequest } from '@ag-ui/client';
import type { BaseEvent, HttpAgentConfig, RunAgentInput } from '@ag-ui/client';
import { readEvents } from './event-stream.js';

type RunStream = ReturnType<HttpAgent['run']>;

export interface GatewayAgentConfig extends HttpAgentConfig {
    /**
     * How long a stream may be silent, in milliseconds, before its connection counts as lost. The server sends a
     * heartbeat every `server.heartbeat_seconds` (15 s).
     */
    silence?: number;
    /** How long lost connections are tried again, in milliseconds, counted from the first failure. */
    patience?: number;
}

/** A request that the gateway has refused. */
export class GatewayError extends Error {
    constructor(
        readonly status: number,
        readonly code: string,
        message: string,
        readonly activeRunId?: string,
    ) {
        super(message);
        this.name = 'GatewayError';
    }
}

const isTerminal = (type: string) => type === 'RUN_FINISHED' || type === 'RUN_ERROR';

/**
 * An HttpAgent that uses what agui-gateway offers beyond AG-UI:
 *
 * - a connection that is lost in the middle of a run is made again, and the stream goes on after the last event: no
 *   event is missing and none comes twice. A page that becomes visible or online again waits for half of the timeout;
 * - abortRun() ends the run on the server at once;
 * - connect() brings the conversation of the thread, and then its active run: for a page that was loaded again.
 *
 * `url` is that of POST /agui or of POST /agui/agents/{agentId}.
 */
export class GatewayAgent extends HttpAgent {
    private readonly silence: number;
    private readonly patience: number;
    private running: { threadId: string; runId: string; leave: AbortController } | undefined;

    constructor(config: GatewayAgentConfig) {
        super(config);
        this.silence = config.silence ?? 40_000;
        this.patience = config.patience ?? 60_000;
    }

    override run(input: RunAgentInput): RunStream {
        return this.streamOf(input, (leave) => this.eventsOf(input, leave));
    }

    /** The conversation as events, then those of the active run. */
    connect(input: RunAgentInput): RunStream {
        const body = { ...input, forwardedProps: { ...input.forwardedProps, follow: true } };
        return this.streamOf(input, (leave) => this.history(body, leave));
    }

    /** Ends the run on the server. What was said so far is kept. */
    override abortRun(): void {
        const active = this.running;
        super.abortRun();
        if (active) {
            // A run that cannot be reached ends by itself, as after any lost connection.
            this.cancel(active.threadId, active.runId).catch(() => {});
            active.leave.abort();
        }
    }

    override clone(): GatewayAgent {
        const made = super.clone() as GatewayAgent;
        // The client's clone() runs no constructor.
        return Object.assign(made, { running: undefined, silence: this.silence, patience: this.patience });
    }

    /** The URL of the gateway's routes: that of POST /agui, whichever agent this is. */
    private get base(): string {
        return this.url.replace(/\/agents\/[^/]+\/?$/, '').replace(/\/$/, '');
    }

    /**
     * What `events` yields, as an Observable; leaving it closes the connection. The class is that of the client's own
     * streams, which it does not export.
     */
    private streamOf(input: RunAgentInput, events: (leave: AbortController) => AsyncIterable<BaseEvent>): RunStream {
        const Stream = runHttpRequest(() => new Promise<Response>(() => {})).constructor as unknown as new (subscribe: (to: {
            next(event: BaseEvent): void;
            error(problem: unknown): void;
            complete(): void;
        }) => () => void) => RunStream;
        return new Stream((to) => {
            const leave = new AbortController();
            const mine = { threadId: input.threadId, runId: input.runId, leave };
            this.running = mine;
            const read = async () => {
                try {
                    for await (const event of events(leave)) to.next(event);
                    to.complete();
                } catch (problem) {
                    // The client ends a run without an error if its request was aborted.
                    to.error(leave.signal.aborted ? new DOMException('The run was stopped', 'AbortError') : problem);
                } finally {
                    if (this.running === mine) this.running = undefined;
                }
            };
            void read();
            return () => leave.abort();
        });
    }

    /** The events of a run up to its terminal one, over as many connections as it takes. */
    private async *eventsOf(input: RunAgentInput, leave: AbortController): AsyncGenerator<BaseEvent> {
        let last = 0;
        let failures = 0;
        let failingSince: number | undefined;
        for (;;) {
            const connection = new Connection(leave.signal, this.silence);
            try {
                // A POST that is repeated under its runId reads the same run again.
                const response = last === 0
                    ? await this.post(this.url, input, connection.signal)
                    : await this.read(`/threads/${encodeURIComponent(input.threadId)}/runs/${encodeURIComponent(input.runId)}/events?after=${last}`, connection.signal);
                for await (const { number, event } of readEvents(response.body!, () => {
                    failingSince = undefined;
                    connection.heard();
                })) {
                    if (number !== undefined && number <= last) continue;
                    last = number ?? last;
                    failures = 0;
                    yield event as unknown as BaseEvent;
                    if (isTerminal(event.type)) return;
                }
                throw new Error('the connection was closed in the middle of the run');
            } catch (problem) {
                const final = problem instanceof GatewayError && problem.status < 500 && problem.status !== 429;
                failingSince ??= Date.now();
                if (leave.signal.aborted || final || Date.now() - failingSince > this.patience) throw problem;
                failures += 1;
                await connection.pause(Math.min(250 * 2 ** failures, 5_000) * (0.5 + Math.random() / 2));
                if (leave.signal.aborted) throw problem;
            } finally {
                connection.close();
            }
        }
    }

    private async *history(input: RunAgentInput, leave: AbortController): AsyncGenerator<BaseEvent> {
        const response = await this.post(`${this.base}/history`, input, leave.signal);
        for await (const { event } of readEvents(response.body!, () => {})) yield event as unknown as BaseEvent;
    }

    private async post(url: string, input: RunAgentInput, signal: AbortSignal): Promise<Response> {
        return this.request(url, { ...this.requestInit(input), signal });
    }

    private async read(path: string, signal: AbortSignal): Promise<Response> {
        return this.request(this.base + path, { signal, headers: { ...this.headers, Accept: 'text/event-stream' } });
    }

    private async cancel(threadId: string, runId: string): Promise<void> {
        const headers = { ...this.headers, 'Content-Type': 'application/json' };
        const body = JSON.stringify({ threadId, runId });
        await (await this.request(`${this.base}/cancel`, { method: 'POST', headers, body })).arrayBuffer();
    }

    private async request(url: string, init: RequestInit): Promise<Response> {
        const fetch = this.fetch ?? globalThis.fetch; // Older clients have no fetch of their own.
        return checked(await fetch(url, init));
    }
}

async function checked(response: Response): Promise<Response> {
    if (response.ok) return response;
    const said = await response.json().catch(() => ({})) as { error?: { code?: string; message?: string; activeRunId?: string } };
    const { code = 'unknown', message = `HTTP ${response.status}`, activeRunId } = said.error ?? {};
    throw new GatewayError(response.status, code, message, activeRunId);
}

/** A connection that is given up after a silence, and at once if the page wakes up after a shorter one. */
class Connection {
    private readonly controller = new AbortController();
    private readonly wake: () => void;
    private readonly left: () => void;
    private timer: ReturnType<typeof setTimeout> | undefined;
    private heardAt = Date.now();
    private endPause: (() => void) | undefined;

    constructor(private readonly leave: AbortSignal, private readonly silence: number) {
        this.wake = () => {
            this.endPause?.();
            if (globalThis.document?.visibilityState !== 'hidden' && Date.now() - this.heardAt > silence / 2) this.lose();
        };
        this.left = () => {
            this.endPause?.();
            this.controller.abort();
        };
        leave.addEventListener('abort', this.left);
        globalThis.document?.addEventListener?.('visibilitychange', this.wake);
        globalThis.addEventListener?.('online', this.wake);
        this.heard();
    }

    get signal(): AbortSignal {
        return this.controller.signal;
    }

    heard(): void {
        this.heardAt = Date.now();
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.lose(), this.silence);
    }

    /** Returns early when the page is online or visible again, or has left. */
    async pause(milliseconds: number): Promise<void> {
        clearTimeout(this.timer);
        if (this.leave.aborted) return;
        await new Promise<void>((done) => {
            const timer = setTimeout(done, milliseconds);
            this.endPause = () => {
                clearTimeout(timer);
                done();
            };
        });
    }

    close(): void {
        clearTimeout(this.timer);
        this.leave.removeEventListener('abort', this.left);
        globalThis.document?.removeEventListener?.('visibilitychange', this.wake);
        globalThis.removeEventListener?.('online', this.wake);
        this.controller.abort();
    }

    private lose(): void {
        this.controller.abort(new Error('the connection is silent'));
    }
}
