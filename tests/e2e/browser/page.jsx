// CopilotKit's chat straight against the gateway: an HttpAgent, tools of the page, nothing between.
// The query says where: ?url=…/agui&thread=ID. With &runtime=auto, rest or single it is CopilotKit's own agent, by the
// gateway's routes for it (url=…/copilotkit). With &history the agent loads the conversation, as CopilotKit asks its
// agent to when a chat with a given thread is opened; a plain HttpAgent cannot. Beside the chat: the interrupts of the
// server's tools, and the shared state.

import { HttpAgent, runHttpRequest, transformHttpEventStream } from '@ag-ui/client';
import {
    CopilotChat, CopilotKitProvider, useAgent, useConfigureSuggestions, useFrontendTool, useHumanInTheLoop, useInterrupt, useThreads,
} from '@copilotkit/react-core/v2';
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
const agents = query.has('runtime') ? {} : { default: new Agent({ url, threadId }) };
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

function Suggestions() {
    useConfigureSuggestions({ instructions: 'Suggest what the user could say next.', available: 'always', maxSuggestions: 1 });
    return null;
}

function Threads() {
    const { threads, error, renameThread, archiveThread, unarchiveThread, deleteThread, refetchThreads, fetchMoreThreads } =
        useThreads({ agentId: 'default', includeArchived: query.has('archived'), limit: 2 });
    window.threads = { renameThread, archiveThread, unarchiveThread, deleteThread, refetchThreads, fetchMoreThreads };
    const shown = threads.map((each) => `${each.name}${each.archived ? ' (archived)' : ''}`);
    return <ul data-testid="threads">{error ? <li>{String(error)}</li> : shown.map((each, at) => <li key={threads[at].id}>{each}</li>)}</ul>;
}

const runtime = query.get('runtime');
const source = runtime
    ? { runtimeUrl: url, ...(runtime !== 'auto' && { useSingleEndpoint: runtime === 'single' }) }
    : { selfManagedAgents: agents };

createRoot(document.getElementById('root')).render(
    <CopilotKitProvider {...source}>
        <Tools />
        {query.has('suggestions') && <Suggestions />}
        {query.has('threads') && <Threads />}
        <Approvals />
        <SharedState />
        <CopilotChat agentId="default" threadId={threadId} />
    </CopilotKitProvider>,
);
