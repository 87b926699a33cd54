import type { BaseEvent, Message } from '@ag-ui/client';
import type { TakenCalls } from './claims.js';

type Events = AsyncGenerator<BaseEvent>;
type AnyEvent = { type: string; toolCallId?: string; messages?: Message[] };
type ToolMessage = Extract<Message, { role: 'tool' }>;

/**
 * The events of `first`, with the hand-off to one client only: the end of a run that leaves calls open comes when `take`
 * has these calls. If another client has answered them, the events of `again()` take the place of that end: the
 * conversation, and the active run if there is one. They come as a part of the same run, with the results of its calls.
 */
export async function* withClaims(first: Events, again: () => Events, take: (callIds: string[]) => Promise<TakenCalls>): Events {
    const calls = new OpenCalls();
    let isAgain = false;
    let end: BaseEvent | undefined;
    for (let source: Events | undefined = first; source;) {
        let isStale = false;
        for await (const event of source) {
            const results = calls.takeAndFindResults(event);
            if (isAgain && typeOf(event) === 'RUN_STARTED') continue;
            if (isAgain) yield* results;
            end = typeOf(event) === 'RUN_FINISHED' ? event : undefined;
            if (end) {
                const taken = await take(calls.ids);
                isStale = taken === 'answered' || (taken === 'gone' && calls.areOfRun);
            }
            if (isStale) break;
            if (!end || !isAgain) yield event;
        }
        source = isStale ? again() : undefined;
        isAgain ||= isStale;
    }
    if (isAgain && end) yield end;
}

/** The calls without a result in a stream. */
class OpenCalls {
    /** Whether a run has made them, and not a conversation that was shown. */
    areOfRun = false;
    private readonly open = new Set<string>();

    get ids(): string[] {
        return [...this.open];
    }

    /** Takes an event. If it is a conversation with results of open calls, returns these as events. */
    takeAndFindResults(event: BaseEvent): BaseEvent[] {
        const { type, toolCallId = '', messages = [] } = event as unknown as AnyEvent;
        if (type === 'TOOL_CALL_RESULT') this.open.delete(toolCallId);
        if (type === 'TOOL_CALL_START') {
            this.open.add(toolCallId);
            this.areOfRun = true;
        }
        return type === 'MESSAGES_SNAPSHOT' ? this.takeMessages(messages) : [];
    }

    private takeMessages(messages: Message[]): BaseEvent[] {
        const results = messages.filter((each): each is ToolMessage => each.role === 'tool');
        const found = results.filter((each) => this.open.has(each.toolCallId));
        const answered = new Set(results.map((each) => each.toolCallId));
        const calls = messages.flatMap((each) => (each.role === 'assistant' ? each.toolCalls ?? [] : []));
        this.open.clear();
        this.areOfRun = false;
        for (const { id } of calls) if (!answered.has(id)) this.open.add(id);
        return found.map(({ id, toolCallId, content }) => (
            { type: 'TOOL_CALL_RESULT', messageId: id, toolCallId, content, role: 'tool' } as unknown as BaseEvent
        ));
    }
}

function typeOf(event: BaseEvent): string {
    return event.type;
}
