import { GatewayError } from './gateway-error.js';

/** How long a line waits for a silent server, and how long it tries to reach one. In milliseconds. */
export interface LinePatience {
    silence: number;
    patience: number;
}

const longestPause = 5_000;

/**
 * The connections of one stream, one after the other. A connection is lost when it is silent for too long. It is also
 * lost when the page is online again or comes out of the back/forward cache, because its network may be gone, and when
 * the page becomes visible after half of that silence. Then the next connection is made at once.
 */
export class Line {
    private connection: AbortController | undefined;
    private heardAt = 0;
    private silenceTimer: ReturnType<typeof setTimeout> | undefined;
    private failures = 0;
    private failingSince: number | undefined;
    private isAtOnce = false; // The next connection needs no pause.
    private endPause: (() => void) | undefined;
    private readonly stopListening: () => void;
    private readonly left: () => void;

    constructor(private readonly leave: AbortSignal, private readonly times: LinePatience) {
        this.stopListening = onWake((isNetworkNew) => this.wake(isNetworkNew));
        this.left = () => {
            this.connection?.abort();
            this.endPause?.();
        };
        leave.addEventListener('abort', this.left);
    }

    /** Begins a connection: the signal is aborted when it is lost. */
    open(): AbortSignal {
        this.connection = new AbortController();
        if (this.leave.aborted) this.connection.abort();
        this.isAtOnce = false;
        this.listen();
        return this.connection.signal;
    }

    /** The server has sent something. */
    heard(): void {
        this.failingSince = undefined;
        this.listen();
    }

    /** The server has sent an event: the pauses begin with the shortest again. */
    progressed(): void {
        this.failures = 0;
    }

    /**
     * Ends the connection and waits until the next one may be made. Throws `problem` if there is to be none: the reader
     * has left, the gateway has refused the request, or the patience is over. A page that is hidden or offline loses no
     * patience: nobody sees it, and it waits until it is back.
     */
    async failed(problem: unknown): Promise<void> {
        this.endConnection();
        const isRefused = problem instanceof GatewayError && problem.status < 500 && problem.status !== 429;
        if (this.leave.aborted || isRefused) throw problem;
        if (this.isAtOnce) return;
        this.failingSince ??= Date.now();
        const isOver = Date.now() - this.failingSince > this.times.patience;
        if (isOver && isAwake()) throw problem;
        this.failures += 1;
        await this.pause(isOver ? Infinity : Math.min(250 * 2 ** this.failures, longestPause) * (0.5 + Math.random() / 2));
        if (this.leave.aborted) throw problem;
    }

    close(): void {
        this.endConnection();
        this.stopListening();
        this.leave.removeEventListener('abort', this.left);
    }

    private wake(isNetworkNew: boolean): void {
        this.failingSince = undefined;
        this.endPause?.();
        if (this.connection && (isNetworkNew || Date.now() - this.heardAt > this.times.silence / 2)) {
            this.isAtOnce = true;
            this.connection.abort(new Error('the network may have changed'));
        }
    }

    private listen(): void {
        this.heardAt = Date.now();
        clearTimeout(this.silenceTimer);
        this.silenceTimer = setTimeout(() => this.connection?.abort(new Error('the connection is silent')), this.times.silence);
    }

    private endConnection(): void {
        clearTimeout(this.silenceTimer);
        this.connection?.abort();
        this.connection = undefined;
    }

    private async pause(milliseconds: number): Promise<void> {
        await new Promise<void>((done) => {
            const timer = milliseconds === Infinity ? undefined : setTimeout(done, milliseconds);
            this.endPause = () => {
                clearTimeout(timer);
                done();
            };
        });
        this.endPause = undefined;
    }
}

/** Whether somebody may look at the page, and the browser has a network. Always outside of browsers. */
function isAwake(): boolean {
    return globalThis.document?.visibilityState !== 'hidden' && globalThis.navigator?.onLine !== false;
}

/** Calls `wake` when the page is visible again, or (true) has a network again. Returns what ends that. */
function onWake(wake: (isNetworkNew: boolean) => void): () => void {
    const page = globalThis.document;
    const shown = () => page.visibilityState !== 'hidden' && wake(false);
    const online = () => wake(true);
    const restored = (event: Event) => (event as PageTransitionEvent).persisted && wake(true);
    page?.addEventListener?.('visibilitychange', shown);
    globalThis.addEventListener?.('online', online);
    globalThis.addEventListener?.('pageshow', restored);
    return () => {
        page?.removeEventListener?.('visibilitychange', shown);
        globalThis.removeEventListener?.('online', online);
        globalThis.removeEventListener?.('pageshow', restored);
    };
}
