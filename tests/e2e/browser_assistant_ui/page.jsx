// assistant-ui's chat straight against the gateway, with adapters as its documentation has them: the history is loaded
// from …/messages and …/state, Stop is a cancel. The query says where: ?url=…/agui&thread=ID. What the page's tools have done is in
// window.executed.

import { HttpAgent } from '@ag-ui/client';
import {
    AssistantRuntimeProvider, ComposerPrimitive, ExportedMessageRepository, MessagePrimitive, ThreadPrimitive, useAssistantTool,
} from '@assistant-ui/react';
import {
    fromAgUiMessages, useAgUiInterrupts, useAgUiRuntime, useAgUiSetState, useAgUiState, useAgUiSteerAway, useAgUiSubmitInterruptResponses,
} from '@assistant-ui/react-ag-ui';
import React from 'react';
import { createRoot } from 'react-dom/client';

const query = new URLSearchParams(location.search);
const url = query.get('url');
const threadId = query.get('thread');
const agent = new HttpAgent({ url, threadId });
window.executed = [];

const history = {
    async load() {
        const read = async (what) => (await fetch(`${url}/threads/${threadId}/${what}`)).json();
        const [{ messages }, { state }] = await Promise.all([read('messages'), read('state')]);
        return { ...ExportedMessageRepository.fromArray(fromAgUiMessages(messages)), state: state ?? undefined };
    },
    async append() {}, // The gateway keeps the conversation.
};

function cancel() {
    fetch(`${url}/cancel`, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId }),
    });
}

const changeBackground = {
    toolName: 'change_background',
    type: 'frontend',
    description: 'Changes the background colour of the page.',
    parameters: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
    execute: async ({ color }) => {
        window.executed.push(color);
        return { status: 'ok', color };
    },
};

const approve = {
    toolName: 'approve',
    type: 'human',
    description: 'Asks the user for an approval.',
    parameters: { type: 'object', properties: { what: { type: 'string' } } },
    render: ({ result, addResult }) => (
        result === undefined
            ? <button data-testid="approve" onClick={() => addResult({ approved: true })}>Approve</button>
            : <p data-testid="approval">{JSON.stringify(result)}</p>
    ),
};

function Tools() {
    useAssistantTool(changeBackground);
    useAssistantTool(approve);
    return null;
}

function ServerCall({ args, result, approval, respondToApproval }) {
    if (result !== undefined) return <p data-testid="result">{JSON.stringify(result)}</p>;
    if (!approval || approval.approved !== undefined) return null;
    return (
        <div data-testid="interrupt">
            <p data-testid="arguments">{JSON.stringify(args)}</p>
            <button data-testid="allow" onClick={() => respondToApproval({ approved: true })}>Allow</button>
            <button data-testid="deny" onClick={() => respondToApproval({ approved: false, reason: 'Not there' })}>Deny</button>
        </div>
    );
}

// What the buttons at the calls cannot do: change the arguments, or write something else instead.
function OtherAnswers() {
    const interrupts = useAgUiInterrupts();
    const submit = useAgUiSubmitInterruptResponses();
    const steerAway = useAgUiSteerAway();
    const payload = { approved: true, editedArgs: { city: 'Bergen' } };
    const answers = interrupts.map(({ id }) => ({ interruptId: id, status: 'resolved', payload }));
    return answers.length > 0 && (
        <p>
            <button data-testid="edit" onClick={() => submit(answers)}>Bergen</button>
            <button data-testid="steer-away" onClick={() => steerAway('never mind')}>Never mind</button>
        </p>
    );
}

function SharedState() {
    const state = useAgUiState();
    const setState = useAgUiSetState();
    return (
        <p>
            <output data-testid="state">{JSON.stringify(state)}</output>
            <button data-testid="set-state" onClick={() => setState((last) => ({ ...last, page: 'assistant-ui' }))}>Set</button>
        </p>
    );
}

function Attachment({ attachment }) {
    return attachment.content.filter((part) => part.type === 'image').map((part, n) => <img key={n} src={part.image} alt="" width="80" />);
}

function Message() {
    return (
        <MessagePrimitive.Root data-testid="message">
            <MessagePrimitive.Attachments>{(each) => <Attachment {...each} />}</MessagePrimitive.Attachments>
            <MessagePrimitive.Parts components={{ tools: { Fallback: ServerCall } }} />
        </MessagePrimitive.Root>
    );
}

function Chat() {
    const runtime = useAgUiRuntime({ agent, adapters: { history }, onCancel: cancel, onError: (error) => console.error(error) });
    return (
        <AssistantRuntimeProvider runtime={runtime}>
            <Tools />
            <SharedState />
            <OtherAnswers />
            <ThreadPrimitive.Root>
                <ThreadPrimitive.Messages components={{ Message }} />
                <ComposerPrimitive.Root>
                    <ComposerPrimitive.Input data-testid="input" />
                    <ThreadPrimitive.If running={false}>
                        <ComposerPrimitive.Send data-testid="send">Send</ComposerPrimitive.Send>
                    </ThreadPrimitive.If>
                    <ThreadPrimitive.If running>
                        <ComposerPrimitive.Cancel data-testid="stop">Stop</ComposerPrimitive.Cancel>
                    </ThreadPrimitive.If>
                </ComposerPrimitive.Root>
            </ThreadPrimitive.Root>
        </AssistantRuntimeProvider>
    );
}

createRoot(document.getElementById('root')).render(<Chat />);
