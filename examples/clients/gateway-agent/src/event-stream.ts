/** One event of a stream of agui-gateway. */
export interface NumberedEvent {
    /** The event's number in its run; undefined if the server sent none (RUN_ERROR of a store that failed). */
    number: number | undefined;
    event: { type: string } & Record<string, unknown>;
}

/**
 * Reads server-sent events whose data are JSON. Ends when the body ends. `heard` is called for each piece of the body,
 * heartbeats included.
 */
export async function* readEvents(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<NumberedEvent> {
    const decoder = new TextDecoder();
    const reader = body.getReader();
    const frames = new FrameSplitter();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            heard();
            for (const frame of frames.split(decoder.decode(value, { stream: true }))) {
                const event = parseFrame(frame);
                if (event) yield event;
            }
        }
    } finally {
        reader.cancel().catch(() => {}); // The connection may be gone already.
    }
}

/** Splits a text that comes in pieces at its empty lines. Reads each character once, however long a frame is. */
export class FrameSplitter {
    private begun: string[] = []; // The pieces of the frame that is not complete.

    split(piece: string): string[] {
        const frames: string[] = [];
        let start = 0;
        if (piece.startsWith('\n') && this.begun.at(-1)?.endsWith('\n')) {
            frames.push(this.complete(''));
            start = 1;
        }
        for (let end: number; (end = piece.indexOf('\n\n', start)) >= 0; start = end + 2) {
            frames.push(this.complete(piece.slice(start, end)));
        }
        if (start < piece.length) this.begun.push(piece.slice(start));
        return frames;
    }

    private complete(last: string): string {
        const frame = this.begun.join('') + last;
        this.begun = [];
        return frame;
    }
}

function parseFrame(frame: string): NumberedEvent | undefined {
    let number: number | undefined;
    let data = '';
    for (const line of frame.split('\n')) {
        if (line.startsWith('id:')) number = Number(line.slice(3));
        else if (line.startsWith('data:')) data += line.slice(5).trimStart();
    }
    return data ? { number, event: JSON.parse(data) } : undefined;
}
