// CopilotKit's own runtime in front of the gateway, for a team that keeps it. The page is that of ../copilotkit:
// http://localhost:5173/?runtime=http://localhost:4000/api/copilotkit

import { createServer } from 'node:http';
import { HttpAgent } from '@ag-ui/client';
import { CopilotRuntime } from '@copilotkit/runtime/v2';
import { createCopilotNodeListener } from '@copilotkit/runtime/v2/node';

const gateway = process.env.GATEWAY_URL ?? 'http://127.0.0.1:8080/agui';
const origin = process.env.PAGE_ORIGIN ?? 'http://localhost:5173';
const basePath = '/api/copilotkit';

// On Stop the runtime only drops its connection to the gateway, which then waits for a client that comes back. The runtime
// never does: it keeps the connection while a page is loaded again. So a dropped connection may end the run at once.
const agent = new HttpAgent({ url: gateway, headers: { 'X-On-Disconnect': 'cancel' } });
const runtime = new CopilotRuntime({ agents: { default: agent } });

const server = createServer(createCopilotNodeListener({ runtime, basePath, cors: { origin } }));
server.listen(Number(process.env.PORT ?? 4000), '127.0.0.1', () => {
    console.log(`runtime on http://127.0.0.1:${server.address().port}${basePath}`);
});
