// The official clients, each given streams that were recorded: what it makes of them, and what it complains about.

/// Collects what is written to console.warn and console.error while `action` runs.
async function complaintsOf(action) {
    const complaints = [];
    const { warn, error } = console;
    console.warn = (...args) => complaints.push(`warning: ${args.map(String).join(' ')}`);
    console.error = (...args) => complaints.push(`error: ${args.map(String).join(' ')}`);
    try {
        await action();
    } catch (failure) {
        complaints.push(`failed: ${failure.message}`);
    } finally {
        Object.assign(console, { warn, error });
    }
    return complaints;
}

/// An official client that holds a conversation and reads recorded streams.
export class Player {
    constructor({ api }) {
        this.agent = new api.HttpAgent({
            url: 'http://recorded.invalid/agui',
            fetch: async () => new Response(this.stream, { headers: { 'content-type': 'text/event-stream' } }),
        });
    }

    /// Reads the stream of a run. Resolves to the complaints.
    play(stream, { threadId, runId, tools, context, forwardedProps, resume } = {}) {
        this.stream = stream;
        if (threadId) this.agent.threadId = threadId;
        // The client refuses a request that leaves an interrupt unanswered, but the stream was recorded.
        this.agent.pendingInterrupts = [];
        return complaintsOf(() => this.agent.runAgent({ runId, tools, context, forwardedProps, resume }));
    }

    /// A copy of the client's messages and state.
    get held() {
        return structuredClone({ messages: this.agent.messages, state: this.agent.state });
    }
}
