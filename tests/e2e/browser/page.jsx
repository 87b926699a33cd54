// CopilotKit's chat straight against the gateway: an HttpAgent, tools of the page, nothing between.
// The query says where: ?url=…/agui&thread=ID. With &history the agent loads the conversation, as CopilotKit asks its
// agent to when a chat with a given thread is opened; a plain HttpAgent cannot. Beside the chat: the interrupts of the
// server's tools, and the shared state.

import { HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client';
import { CopilotChat, CopilotKitProvider, useAgent, useFrontendTool, useHumanInTheLoop, useInterrupt } from '@copilotkit/react-core/v2';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

const query = new URLSearchParams(location.search);
const threadId = query.get('thread');
const url = query.get('url');

class HistoryAgent extends HttpAgent {
    connect(input) {
        const body = { ...input, forwardedProps: { ...input.forwardedProps, follow: true } };
        return transformHttpEventStream(runHttpRequest(() => fetch(`${url}/history`, this.requestInit(body))));
    }

    abortRun() {
        fetch(`${url}/cancel`, {
            method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ threadId }),
        });
    }
}

const Agent = query.has('history') ? HistoryAgent : HttpAgent;
const agents = { default: new Agent({ url, threadId }) };
window.executed = [];

function Tools() {
    useFrontendTool({
        name: 'change_background',
        description: 'Changes the background colour of the page.',
        parameters: z.object({ color: z.string() }),
        handler: async ({ color }) => {
            document.body.dataset.color = color;
            window.executed.push(color);
            return { status: 'ok', color };
        },
    });
    useHumanInTheLoop({
        name: 'approve',
        description: 'Asks the user for an approval.',
        parameters: z.object({ what: z.string() }),
        render: ({ status, result, respond }) => (
            status === 'executing'
                ? <button data-testid="approve" onClick={() => respond({ approved: true })}>Approve</button>
                : <p data-testid="approval">{status} {String(result)}</p>
        ),
    });
    return null;
}

function Approval({ interrupt, resolve }) {
    const answer = (payload) => resolve(payload, interrupt.id);
    return (
        <div data-testid="interrupt">
            <p data-testid="arguments">{JSON.stringify(interrupt.metadata.input)}</p>
            <button data-testid="allow" onClick={() => answer({ approved: true })}>Allow</button>
            <button data-testid="edit" onClick={() => answer({ approved: true, editedArgs: { city: 'Bergen' } })}>Bergen</button>
            <button data-testid="deny" onClick={() => answer({ approved: false, reason: 'Not there' })}>Deny</button>
        </div>
    );
}

function Approvals() {
    useInterrupt({
        render: ({ interrupts, resolve }) => <div>{interrupts.map((each) => <Approval key={each.id} interrupt={each} resolve={resolve} />)}</div>,
    });
    return null;
}

function SharedState() {
    const { agent } = useAgent({ agentId: 'default' });
    return (
        <p>
            <output data-testid="state">{JSON.stringify(agent.state)}</output>
            <button data-testid="set-state" onClick={() => agent.setState({ ...agent.state, page: 'CopilotKit' })}>Set</button>
        </p>
    );
}

createRoot(document.getElementById('root')).render(
    <CopilotKitProvider selfManagedAgents={agents}>
        <Tools />
        <Approvals />
        <SharedState />
        <CopilotChat agentId="default" threadId={threadId} />
    </CopilotKitProvider>,
);
