import {
    ActionBarPrimitive, AssistantRuntimeProvider, ComposerPrimitive, ErrorPrimitive, MessagePrimitive, ThreadListItemPrimitive, ThreadListPrimitive,
    ThreadPrimitive, useAssistantTool, useAui, useAuiState,
} from '@assistant-ui/react';
import { GatewayChats, useClaimedElsewhere, useEarlierMessages, useGatewayRuntime, useThreadRights } from 'agui-gateway-agent/assistant-ui';
import React, { useState } from 'react';
import { createRoot } from 'react-dom/client';

// The gateway, and how many messages are loaded at once. The page's address may name others, which the tests do.
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

const chats = new GatewayChats({
    url,
    pageSize: Number(query.get('page') ?? 50),
    headers,
    claims: (toolName) => toolName !== 'ask_user', // A question may be answered in any tab.
});

// The tools of the page: one that it executes, and one that asks the user.
function Tools() {
    useAssistantTool({
        toolName: 'change_background',
        description: 'Changes the background colour of the page',
        parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
        execute: async ({ color }) => {
            await window.beforePainting; // For the tests.
            document.body.style.background = color;
            return { status: 'ok' };
        },
        render: ({ args }) => <p className="call">Background: {args.color}</p>,
    });
    useAssistantTool({
        toolName: 'ask_user',
        type: 'human',
        description: 'Asks the user to confirm something',
        parameters: { type: 'object', properties: { question: { type: 'string' } }, required: ['question'] },
        render: Question,
    });
    return null;
}

// A user who may only read the thread of another one answers nothing.
function Question({ args, result, addResult }) {
    const isReader = useThreadRights() === 'read';
    return (
        <div className="call">
            {args.question} {result !== undefined && <b>{result.confirmed ? 'Yes' : 'No'}</b>}
            {result === undefined && !isReader &&
                <><button onClick={() => addResult({ confirmed: true })}>Yes</button> <button onClick={() => addResult({ confirmed: false })}>No</button></>}
        </div>
    );
}

// Calls of the page's tools that another tab executes, of this user or of another one who shares the thread.
function Elsewhere() {
    const calls = useClaimedElsewhere(chats);
    return calls.length > 0 ? <p role="status">Another tab is executing this.</p> : null;
}

// A call of one of the server's tools. If the tool needs an approval, it waits here for a user who may give it.
function ServerCall({ toolName, args, result, approval, respondToApproval }) {
    const mayApprove = ['owner', 'approve'].includes(useThreadRights());
    const isWaiting = approval && approval.approved === undefined && result === undefined;
    return (
        <div className="call">
            {toolName} {JSON.stringify(args)} {result !== undefined && <span>→ {JSON.stringify(result)}</span>}
            {isWaiting && !mayApprove && <i>waits for an approval</i>}
            {isWaiting && mayApprove && <button onClick={() => respondToApproval({ approved: true })}>Allow</button>}
            {isWaiting && mayApprove && <button onClick={() => respondToApproval({ approved: false })}>Deny</button>}
        </div>
    );
}

function Attachment({ attachment }) {
    const image = attachment.content?.find((part) => part.type === 'image')?.image;
    return image ? <img src={image} alt={attachment.name} /> : <span>📎 {attachment.name}</span>;
}

function Message() {
    const role = useAuiState(({ message }) => message.role);
    const isReader = useThreadRights() === 'read';
    return (
        <MessagePrimitive.Root className="message" data-role={role}>
            <MessagePrimitive.Attachments>{(each) => <Attachment {...each} />}</MessagePrimitive.Attachments>
            <MessagePrimitive.Parts components={{ tools: { Fallback: ServerCall } }} />
            <MessagePrimitive.Error><ErrorPrimitive.Root className="error"><ErrorPrimitive.Message /></ErrorPrimitive.Root></MessagePrimitive.Error>
            {!isReader && (role === 'assistant'
                ? <ActionBarPrimitive.Root hideWhenRunning><ActionBarPrimitive.Reload>Again</ActionBarPrimitive.Reload></ActionBarPrimitive.Root>
                : <ActionBarPrimitive.Root hideWhenRunning><ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit></ActionBarPrimitive.Root>)}
        </MessagePrimitive.Root>
    );
}

function EditComposer() {
    return (
        <ComposerPrimitive.Root className="composer">
            <ComposerPrimitive.Input aria-label="Edit the message" />
            <ComposerPrimitive.Send>Save</ComposerPrimitive.Send>
            <ComposerPrimitive.Cancel>Cancel</ComposerPrimitive.Cancel>
        </ComposerPrimitive.Root>
    );
}

function Earlier() {
    const { hasEarlier, loadEarlier } = useEarlierMessages(chats);
    return hasEarlier ? <button onClick={loadEarlier}>Earlier messages</button> : null;
}

function Thread() {
    const isReader = useThreadRights() === 'read';
    return (
        <ThreadPrimitive.Root asChild>
            <main>
                <ThreadPrimitive.Viewport className="messages">
                    <Earlier />
                    <ThreadPrimitive.Messages components={{ Message, EditComposer }} />
                    <Elsewhere />
                </ThreadPrimitive.Viewport>
                <ComposerPrimitive.Root className="composer">
                    <ComposerPrimitive.Attachments>{(each) => <Attachment {...each} />}</ComposerPrimitive.Attachments>
                    {!isReader && <ComposerPrimitive.AddAttachment>Attach</ComposerPrimitive.AddAttachment>}
                    <ComposerPrimitive.Input aria-label="Message" placeholder={isReader ? 'You may only read this conversation' : 'Message'} />
                    <ThreadPrimitive.If running={false}><ComposerPrimitive.Send>Send</ComposerPrimitive.Send></ThreadPrimitive.If>
                    <ThreadPrimitive.If running><ComposerPrimitive.Cancel>Stop</ComposerPrimitive.Cancel></ThreadPrimitive.If>
                </ComposerPrimitive.Root>
            </main>
        </ThreadPrimitive.Root>
    );
}

// Asks to whom a thread shall be open. These users find it in their lists.
async function share(threadId) {
    const open = (await chats.threadList.access(threadId)).map(({ user, rights }) => `${user} ${rights}`).join(', ');
    const wanted = prompt('Open to (read, write or approve), such as: bob write, eve read', open);
    if (wanted === null) return;
    const access = wanted.split(',').map((each) => each.trim().split(/\s+/)).filter(([user]) => user);
    await chats.threadList.share(threadId, access.map(([user, rights = 'read']) => ({ user, rights })));
}

function ListItem() {
    const aui = useAui();
    const rights = useThreadRights();
    const title = useAuiState(({ threadListItem }) => threadListItem.title);
    const threadId = useAuiState(({ threadListItem }) => threadListItem.remoteId);
    const isArchived = useAuiState(({ threadListItem }) => threadListItem.status === 'archived');
    const rename = () => {
        const name = prompt('Title', title);
        if (name) void aui.threadListItem().rename(name);
    };
    // What only the owner may do with a thread.
    const ofOwner = (
        <>
            <button onClick={rename} aria-label={`Rename ${title}`}>✎</button>
            <button onClick={() => share(threadId).catch(({ message }) => alert(message))} aria-label={`Share ${title}`}>⇄</button>
            {isArchived
                ? <ThreadListItemPrimitive.Unarchive aria-label={`Unarchive ${title}`}>↑</ThreadListItemPrimitive.Unarchive>
                : <ThreadListItemPrimitive.Archive aria-label={`Archive ${title}`}>↓</ThreadListItemPrimitive.Archive>}
            <ThreadListItemPrimitive.Delete aria-label={`Delete ${title}`}>×</ThreadListItemPrimitive.Delete>
        </>
    );
    return (
        <ThreadListItemPrimitive.Root data-testid="thread">
            <ThreadListItemPrimitive.Trigger><ThreadListItemPrimitive.Title fallback="New chat" /></ThreadListItemPrimitive.Trigger>
            {rights === 'owner' ? ofOwner : <i>shared: {rights}</i>}
        </ThreadListItemPrimitive.Root>
    );
}

function Threads() {
    return (
        <nav>
            <ThreadListPrimitive.New>New chat</ThreadListPrimitive.New>
            <ThreadListPrimitive.Items components={{ ThreadListItem: ListItem }} />
            <details>
                <summary>Archived</summary>
                <ThreadListPrimitive.Items archived components={{ ThreadListItem: ListItem }} />
            </details>
        </nav>
    );
}

function App() {
    // The thread that is shown is a part of the page's address, so that a reload finds it.
    const [threadId, setThreadId] = useState(query.get('thread') ?? undefined);
    const runtime = useGatewayRuntime(chats, {
        threadId,
        onThreadIdChange(id) {
            if (id) query.set('thread', id);
            else query.delete('thread');
            history.replaceState(null, '', `?${query}`);
            setThreadId(id);
        },
    });
    return (
        <AssistantRuntimeProvider runtime={runtime}>
            <Tools />
            <div className="page"><Threads /><Thread /></div>
        </AssistantRuntimeProvider>
    );
}

const root = createRoot(document.getElementById('root'));
void signIn().then(() => root.render(<App />));
window.unmount = () => root.unmount(); // For the tests.
