// CopilotKit's chat straight against the gateway: a plain HttpAgent, a tool of the page, nothing between.
// The query says where: ?url=…/agui&thread=ID.

import { HttpAgent } from '@ag-ui/client';
import { CopilotChat, CopilotKitProvider, useFrontendTool } from '@copilotkit/react-core/v2';
import React from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

const query = new URLSearchParams(location.search);
const threadId = query.get('thread');
const agents = { default: new HttpAgent({ url: query.get('url'), threadId }) };

function Tools() {
    useFrontendTool({
        name: 'change_background',
        description: 'Changes the background colour of the page.',
        parameters: z.object({ color: z.string() }),
        handler: async ({ color }) => {
            document.body.dataset.color = color;
            return { status: 'ok', color };
        },
    });
    return null;
}

createRoot(document.getElementById('root')).render(
    <CopilotKitProvider selfManagedAgents={agents}>
        <Tools />
        <CopilotChat agentId="default" threadId={threadId} />
    </CopilotKitProvider>,
);
