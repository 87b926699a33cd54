import type { NumberedEvent } from './event-stream.js';

type AnyEvent = NumberedEvent['event'];

const isTerminal = (type: string) => type === 'RUN_FINISHED' || type === 'RUN_ERROR';

/** What has been read of a stream, over all of its connections. */
export interface Reading {
    /** The run that the stream shows; undefined before it is known. */
    readonly run: RunReading | undefined;
    /** Whether nothing more comes. */
    readonly isOver: boolean;
    /** Whether the body may end here. */
    readonly mayEnd: boolean;
    /** Takes an event of the current connection, and returns the events to show now. */
    take(next: NumberedEvent): AnyEvent[];
}

/** One run, up to its terminal event. */
export class RunReading implements Reading {
    /** The number of the last event that was shown. */
    last = 0;
    isOver = false;
    readonly mayEnd = false;

    constructor(readonly threadId: string, readonly runId: string) {}

    get run(): RunReading {
        return this;
    }

    take({ number, event }: NumberedEvent): AnyEvent[] {
        if (number !== undefined && number <= this.last) return [];
        this.last = number ?? this.last;
        this.isOver = isTerminal(event.type);
        return [event];
    }
}

/**
 * The conversation, then its active run. The conversation is shown when all of it has come, so that it can be asked for
 * again if its connection is lost.
 */
export class HistoryReading implements Reading {
    run: RunReading | undefined;
    private past: AnyEvent[] = [];
    private isShown = false;

    constructor(readonly threadId: string) {}

    get isOver(): boolean {
        return this.run?.isOver ?? false;
    }

    get mayEnd(): boolean {
        return this.isShown && !this.run;
    }

    /** The conversation is asked for. */
    begin(): void {
        this.past = [];
        this.isShown = false;
    }

    take(next: NumberedEvent): AnyEvent[] {
        if (this.isShown) {
            this.run ??= new RunReading(this.threadId, String(next.event.runId)); // The first event is RUN_STARTED.
            return this.run.take(next);
        }
        this.past.push(next.event);
        this.isShown = isTerminal(next.event.type);
        return this.isShown ? this.past : [];
    }
}
