import { HttpAgent, runHttpRequest } from '@ag-ui/client';
import type { BaseEvent, HttpAgentConfig, RunAgentInput } from '@ag-ui/client';
import { readEvents } from './event-stream.js';
import { GatewayError, checked } from './gateway-error.js';
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
}

/**
 * An HttpAgent that uses what agui-gateway offers beyond AG-UI:
 *
 * - a connection that is lost in the middle of a run is made again, and the stream goes on after the last event: no
 *   event is missing and none comes twice. A page that becomes visible waits for half of the timeout only; one that is
 *   online again, or comes out of the back/forward cache, does not wait;
 * - abortRun(), and the `abortController` of runAgent(), end the run on the server at once;
 * - connect() brings the conversation of the thread, and then its active run: for a page that was loaded again.
 *
 * `url` is that of POST /agui or of POST /agui/agents/{agentId}. All requests have the headers and the other members of
 * requestInit().
 */
export class GatewayAgent extends HttpAgent {
    private readonly times: { silence: number; patience: number };

    constructor(config: GatewayAgentConfig) {
        super(config);
        this.times = { silence: config.silence ?? 40_000, patience: config.patience ?? 60_000 };
    }

    override run(input: RunAgentInput): RunStream {
        const reading = new RunReading(input.threadId, input.runId);
        return this.streamOf(input, reading, () => (reading.last === 0 ? this.url : undefined));
    }

    /** The conversation as events, then those of the active run. */
    connect(input: RunAgentInput): RunStream {
        // A run that was stopped before leaves its controller.
        if (this.abortController.signal.aborted) this.abortController = new AbortController();
        const body = { ...input, messages: [], forwardedProps: { ...input.forwardedProps, follow: true } };
        const reading = new HistoryReading(input.threadId);
        return this.streamOf(body, reading, () => {
            if (reading.run) return undefined;
            reading.begin();
            return `${this.base}/history`;
        });
    }

    override clone(): GatewayAgent {
        // The client's clone() runs no constructor.
        return Object.assign(super.clone() as GatewayAgent, { times: this.times });
    }

    /** The URL of the gateway's routes: that of POST /agui, whichever agent this is. */
    get base(): string {
        const path = this.url.replace(/[?#].*$/, '').replace(/\/+$/, '');
        const isWhole = path.endsWith('/agui') && !path.endsWith('/agui/agents/agui');
        return isWhole ? path : path.replace(/\/agents\/[^/]+$/, '');
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
            const stop = new Stop(leave.signal, () => {
                // A run that cannot be reached ends by itself, as after any lost connection.
                if (reading.run && !reading.isOver) this.cancel(input, reading.run).catch(() => {});
                leave.abort();
            });
            stop.watch(this.abortController.signal);
            const open = (signal: AbortSignal) => {
                const init = this.requestInit(input);
                stop.watch(init.signal);
                const url = urlOfPost();
                return url === undefined ? this.eventsAfter(reading.run!, init, signal) : this.send(url, { ...init, signal });
            };
            const read = async () => {
                try {
                    for await (const event of this.events(reading, open, leave.signal)) to.next(event);
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

    private async cancel(input: RunAgentInput, { threadId, runId }: RunReading): Promise<void> {
        const init = this.requestInit(input);
        const headers = new Headers(init.headers);
        headers.set('accept', 'application/json');
        const body = JSON.stringify({ threadId, runId });
        await (await this.send(`${this.base}/cancel`, { ...init, body, headers, signal: undefined })).arrayBuffer();
    }

    private async send(url: string, init: RequestInit): Promise<Response> {
        const fetch = this.fetch ?? globalThis.fetch;
        return checked(await fetch(url, init));
    }
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
