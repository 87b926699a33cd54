export { GatewayAgent, GatewayError } from './gateway-agent.js';
export type { GatewayAgentConfig } from './gateway-agent.js';
