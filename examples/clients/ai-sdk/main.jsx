import { useChat } from '@ai-sdk/react';
import {
    DefaultChatTransport, getToolName, isToolUIPart,
    lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls,
} from 'ai';
import React, { useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

// The gateway, which has server.ai_path = "/ai". The chat's id is a part of the page's address, so that a reload finds it.
const query = new URLSearchParams(location.search);
const gateway = query.get('gateway') ?? 'http://127.0.0.1:8080';
const api = `${gateway}/ai/chat`;

// Who uses the page. A page gets the user's token from its identity provider; this one takes it from its address, where no
// server sees it. With #token=… the tab keeps it, and each request has it. With #session=… it becomes a cookie that the browser
// sends by itself, for a page of the gateway's own origin.
const { token, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1).replaceAll('+', '%2B'))); // A token may have a plus.
history.replaceState(null, '', location.pathname + location.search);
if (token) sessionStorage.token = token;
const headers = sessionStorage.token ? { Authorization: `Bearer ${sessionStorage.token}` } : {};
const signIn = async () => session && (await fetch(`${gateway}/agui/session`, { method: 'POST', headers: { Authorization: `Bearer ${session}` } })).json();

// The tools of the page, as the model is told of them: one that the page executes, and one that asks the user.
const property = (name) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] });
const tools = [
    { name: 'change_background', description: 'Changes the background colour of the page', parameters: property('color') },
    { name: 'ask_user', description: 'Asks the user to confirm something', parameters: property('question') },
];
const transport = new DefaultChatTransport({ api, headers, body: { tools } });

function execute({ color }) {
    document.querySelector('nav').style.background = color;
    return { status: 'ok' };
}

// The chat goes on by itself when all calls of the page have results, and all approvals answers.
const sendAutomaticallyWhen = (chat) =>
    lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat);

function Call({ part, chat }) {
    const tool = getToolName(part);
    const { toolCallId, state, input, output, errorText, approval } = part;
    if (state === 'input-streaming') return <p className="call">{tool} …</p>;
    if (tool === 'ask_user') {
        const answer = (confirmed) => chat.addToolOutput({ tool, toolCallId, output: { confirmed } });
        return (
            <p className="call">
                {input?.question} {state === 'input-available'
                    ? <><button onClick={() => answer(true)}>Yes</button> <button onClick={() => answer(false)}>No</button></>
                    : <b>{output?.confirmed ? 'Yes' : 'No'}</b>}
            </p>
        );
    }
    const decide = (approved) => chat.addToolApprovalResponse({ id: approval.id, approved });
    return (
        <p className="call">
            {tool} {JSON.stringify(input)} {output !== undefined && `→ ${JSON.stringify(output)}`} {errorText} {state === 'output-denied' && 'denied'}
            {state === 'approval-requested' && <><button onClick={() => decide(true)}>Allow</button> <button onClick={() => decide(false)}>Deny</button></>}
        </p>
    );
}

function Part({ part, chat }) {
    if (part.type === 'text') return <p>{part.text}</p>;
    if (isToolUIPart(part)) return <Call part={part} chat={chat} />;
    if (part.type === 'data-state') return <p className="call">State: {JSON.stringify(part.data)}</p>;
    if (part.type === 'data-activity') return <p className="call">{part.data.activityType}: {JSON.stringify(part.data.content)}</p>;
    return null;
}

/** Executes the calls that wait for the page, each once: those of a run that has ended, and after a reload those of the conversation. */
function useExecution({ messages, status, addToolOutput }) {
    const begun = useRef(new Set());
    useEffect(() => {
        const last = messages.at(-1);
        if (status !== 'ready' || last?.role !== 'assistant') return;
        for (const part of last.parts) {
            if (part.type !== 'tool-change_background' || part.state !== 'input-available' || begun.current.has(part.toolCallId)) continue;
            begun.current.add(part.toolCallId);
            void addToolOutput({ tool: 'change_background', toolCallId: part.toolCallId, output: execute(part.input) });
        }
    }, [messages, status, addToolOutput]);
}

function Chat({ id, stored, onNew }) {
    const chat = useChat({ id, messages: stored, resume: stored.length > 0, transport, sendAutomaticallyWhen });
    const { messages, status, error } = chat;
    const [text, setText] = useState('');
    const isRunning = status === 'submitted' || status === 'streaming';
    // A message in between would leave the answer of the buttons unsent.
    const asks = messages.at(-1)?.parts.some(({ state }) => state === 'approval-requested') ?? false;
    useExecution(chat);
    const send = (event) => {
        event.preventDefault();
        if (!text || isRunning || asks) return;
        void chat.sendMessage({ text });
        setText('');
    };
    // The AI SDK only drops the connection, which looks like a reload. The gateway ends the run at once if it is told to.
    const stop = () => {
        void chat.stop();
        void fetch(`${gateway}/agui/cancel`, {
            method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId: id }),
        });
    };
    return (
        <div className="page">
            <nav><button onClick={onNew}>New chat</button></nav>
            <main tabIndex={0} aria-label="Conversation">
                {messages.map((message) => (
                    <div key={message.id} className="message" data-role={message.role}>
                        {message.parts.map((part, at) => <Part key={at} part={part} chat={chat} />)}
                    </div>
                ))}
                {error && <p className="error" role="alert">The answer failed. <button onClick={() => chat.regenerate()}>Again</button></p>}
            </main>
            <form onSubmit={send}>
                <input aria-label="Message" placeholder={asks ? 'Answer the question above first' : 'Message'} disabled={asks} autoComplete="off"
                    value={text} onChange={(event) => setText(event.target.value)} />
                {isRunning ? <button type="button" onClick={stop}>Stop</button> : <button disabled={asks}>Send</button>}
            </form>
        </div>
    );
}

function App({ first }) {
    const [{ id, stored }, setChat] = useState(first);
    query.set('chat', id);
    history.replaceState(null, '', `?${query}`);
    return <Chat key={id} id={id} stored={stored} onNew={() => setChat({ id: crypto.randomUUID(), stored: [] })} />;
}

async function start() {
    const id = query.get('chat') ?? crypto.randomUUID();
    await signIn();
    const { messages } = await (await fetch(`${api}/${encodeURIComponent(id)}/messages`, { headers })).json(); // None of a new chat.
    createRoot(document.getElementById('root')).render(<App first={{ id, stored: messages }} />);
}

void start();
