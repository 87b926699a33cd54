import { toolDefinition } from '@tanstack/ai';
import { fetchServerSentEvents, useChat } from '@tanstack/ai-react';
import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';

// The gateway, whose agent has events = ["tanstack"]. The thread is a part of the page's address, so that a reload finds it.
const query = new URLSearchParams(location.search);
const url = query.get('gateway') ?? 'http://127.0.0.1:8080/agui';

// Who uses the page. A page gets the user's token from its identity provider; this one takes it from its address, where no
// server sees it. With #token=… the tab keeps it, and each request has it. With #session=… it becomes a cookie that the browser
// sends by itself, for a page of the gateway's own origin.
const { token, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1).replaceAll('+', '%2B'))); // A token may have a plus.
history.replaceState(null, '', location.pathname + location.search);
if (token) sessionStorage.token = token;
const headers = sessionStorage.token ? { Authorization: `Bearer ${sessionStorage.token}` } : {};
const signIn = async () => session && (await fetch(`${url}/session`, { method: 'POST', headers: { Authorization: `Bearer ${session}` } })).json();

const connection = fetchServerSentEvents(url, { headers });

// The tools of the page: one that it executes, and one that asks the user.
const tools = [
    toolDefinition({
        name: 'change_background',
        description: 'Changes the background colour of the page',
        inputSchema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
    }).client(({ color }) => {
        document.querySelector('nav').style.background = color;
        return { status: 'ok' };
    }),
    toolDefinition({
        name: 'ask_user',
        description: 'Asks the user to confirm something',
        inputSchema: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
    }).client(),
];

function Question({ part, onAnswer }) {
    const answer = (confirmed) => onAnswer({ toolCallId: part.id, tool: part.name, output: { confirmed } });
    return (
        <p className="call">
            {JSON.parse(part.arguments).question} {part.output === undefined
                ? <><button onClick={() => answer(true)}>Yes</button> <button onClick={() => answer(false)}>No</button></>
                : <b>{part.output.confirmed ? 'Yes' : 'No'}</b>}
        </p>
    );
}

function Part({ part, onAnswer }) {
    if (part.type === 'text') return part.content;
    if (part.type !== 'tool-call' || part.state === 'input-streaming' || part.state === 'awaiting-input') return null;
    if (part.name === 'ask_user') return <Question part={part} onAnswer={onAnswer} />;
    return <p className="call">{part.name} {part.arguments} {part.output !== undefined && `→ ${JSON.stringify(part.output)}`}</p>;
}

// A call of one of the server's tools that needs an approval. TanStack AI's shortcuts with a boolean are for its own
// servers: for another one's approval the answer is an object.
function Approval({ interrupt }) {
    const answer = (approved) => interrupt.resolveInterrupt({ approved });
    return (
        <p className="call">
            {interrupt.message} {JSON.stringify(interrupt.metadata?.input)} {interrupt.canResolve &&
                <><button onClick={() => answer(true)}>Allow</button> <button onClick={() => answer(false)}>Deny</button></>}
        </p>
    );
}

function Chat({ threadId, onNew }) {
    const { messages, sendMessage, stop, isLoading, sessionGenerating, interrupts, addToolResult, error } =
        useChat({ connection, threadId, tools, persistence: true });
    const [text, setText] = useState('');
    const isRunning = isLoading || sessionGenerating;
    const asks = interrupts.some(({ canResolve }) => canResolve); // TanStack AI sends no message until they are answered.
    const send = (event) => {
        event.preventDefault();
        if (!text || isRunning || asks) return;
        void sendMessage(text);
        setText('');
    };
    // TanStack AI only drops the connection, which looks like a reload. The gateway ends the run at once if it is told to.
    const end = () => {
        stop();
        void fetch(`${url}/cancel`, { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId }) });
    };
    return (
        <div className="page">
            <nav><button onClick={onNew}>New chat</button></nav>
            <main tabIndex={0} aria-label="Conversation">
                {messages.map(({ id, role, parts }) => (
                    <div key={id} className="message" data-role={role}>
                        {parts.map((part, at) => <Part key={at} part={part} onAnswer={addToolResult} />)}
                    </div>
                ))}
                {interrupts.map((interrupt) => <Approval key={interrupt.id} interrupt={interrupt} />)}
                {error && <p className="error" role="alert">{error.message}</p>}
            </main>
            <form onSubmit={send}>
                <input aria-label="Message" placeholder={asks ? 'Answer the question above first' : 'Message'} disabled={asks} autoComplete="off"
                    value={text} onChange={(event) => setText(event.target.value)} />
                {isRunning ? <button type="button" onClick={end}>Stop</button> : <button disabled={asks}>Send</button>}
            </form>
        </div>
    );
}

function App() {
    const [threadId, setThreadId] = useState(query.get('thread') ?? crypto.randomUUID());
    query.set('thread', threadId);
    history.replaceState(null, '', `?${query}`);
    return <Chat key={threadId} threadId={threadId} onNew={() => setThreadId(crypto.randomUUID())} />;
}

void signIn().then(() => createRoot(document.getElementById('root')).render(<App />));
