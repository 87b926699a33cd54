import {
    CopilotChat, CopilotKitProvider, useAgent, useFrontendTool, useHumanInTheLoop, useInterrupt, useThreads,
} from '@copilotkit/react-core/v2';
import '@copilotkit/react-core/v2/styles.css';
import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

// The gateway, with server.copilotkit_path = "/copilotkit" (--demo sets it).
const query = new URLSearchParams(location.search);
const runtimeUrl = query.get('runtime') ?? 'http://127.0.0.1:8080/copilotkit';

// Who uses the page. A page gets the user's token from its identity provider; this one takes it from its address, where no
// server sees it. With #token=… the tab keeps it, and each request has it. With #session=… it becomes a cookie that the browser
// sends by itself, for a page of the gateway's own origin.
const { token, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1).replaceAll('+', '%2B'))); // A token may have a plus.
history.replaceState(null, '', location.pathname + location.search);
if (token) sessionStorage.token = token;
const headers = sessionStorage.token ? { Authorization: `Bearer ${sessionStorage.token}` } : {};
const signIn = async () => session && (await fetch('/agui/session', { method: 'POST', headers: { Authorization: `Bearer ${session}` } })).json();

// The tools of the page: one that it executes, and one that asks the user.
function Tools() {
    useFrontendTool({
        name: 'change_background',
        description: 'Changes the background colour of the page',
        parameters: z.object({ color: z.string() }),
        handler: async ({ color }) => {
            document.querySelector('nav').style.background = color;
            return { status: 'ok' };
        },
    });
    useHumanInTheLoop({
        name: 'ask_user',
        description: 'Asks the user to confirm something',
        parameters: z.object({ question: z.string() }),
        render: ({ args, status, result, respond }) => (
            <div className="card">
                {args.question} {status === 'executing'
                    ? <><button onClick={() => respond({ confirmed: true })}>Yes</button> <button onClick={() => respond({ confirmed: false })}>No</button></>
                    : String(result ?? '')}
            </div>
        ),
    });
    return null;
}

// A call of one of the server's tools that needs an approval.
function Approvals() {
    useInterrupt({
        render: ({ interrupts, resolve }) => interrupts.map(({ id, message, metadata }) => (
            <div key={id} className="card">
                {message} {JSON.stringify(metadata?.input)}{' '}
                <button onClick={() => resolve({ approved: true }, id)}>Allow</button>
                <button onClick={() => resolve({ approved: false }, id)}>Deny</button>
            </div>
        )),
    });
    return null;
}

// The state that the page and the agent share: a list that both may change.
function SharedList() {
    const { agent } = useAgent({ agentId: 'default' });
    const items = agent.state?.items ?? [];
    const add = () => agent.setState({ ...agent.state, items: [...items, { text: 'milk', done: false }] });
    return (
        <p data-testid="list">
            List: {items.map(({ text }) => text).join(', ') || 'empty'} <button onClick={add}>Add milk</button>
        </p>
    );
}

function Threads({ shown, onShow }) {
    const { threads, renameThread, archiveThread, deleteThread } = useThreads({ agentId: 'default' });
    const rename = (id, name) => {
        const title = prompt('Title', name);
        if (title) void renameThread(id, title);
    };
    return (
        <nav>
            <button onClick={() => onShow(crypto.randomUUID())}>New chat</button>
            <SharedList />
            {threads.map(({ id, name }) => (
                <div key={id} data-testid="thread">
                    <button aria-current={id === shown} onClick={() => onShow(id)}>{name || 'New chat'}</button>
                    <button aria-label={`Rename ${name}`} onClick={() => rename(id, name)}>✎</button>
                    <button aria-label={`Archive ${name}`} onClick={() => archiveThread(id)}>↓</button>
                    <button aria-label={`Delete ${name}`} onClick={() => deleteThread(id)}>×</button>
                </div>
            ))}
        </nav>
    );
}

function App() {
    // The thread that is shown is a part of the page's address, so that a reload finds it.
    const [threadId, setThreadId] = useState(query.get('thread') ?? crypto.randomUUID());
    query.set('thread', threadId);
    history.replaceState(null, '', `?${query}`);
    // CopilotKit's two buttons are pictures without a name for screen readers.
    const names = { addMenuButton: { 'aria-label': 'Add' }, sendButton: { 'aria-label': 'Send or stop' } };
    return (
        <CopilotKitProvider runtimeUrl={runtimeUrl} headers={headers} enableInspector={false}>
            <Tools />
            <Approvals />
            <div className="page">
                <Threads shown={threadId} onShow={setThreadId} />
                <main><CopilotChat key={threadId} agentId="default" threadId={threadId} attachments={{ enabled: true }} input={names} /></main>
            </div>
        </CopilotKitProvider>
    );
}

void signIn().then(() => createRoot(document.getElementById('root')).render(<App />));
