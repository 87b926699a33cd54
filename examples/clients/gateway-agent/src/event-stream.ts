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
    let text = '';
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            heard();
            text += decoder.decode(value, { stream: true });
            let end: number;
            while ((end = text.indexOf('\n\n')) >= 0) {
                const event = parseFrame(text.slice(0, end));
                text = text.slice(end + 2);
                if (event) yield event;
            }
        }
    } finally {
        reader.cancel().catch(() => {}); // The connection may be gone already.
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
