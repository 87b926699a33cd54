export { Claims } from './claims.js';
export type { ClaimedCall, TakenCalls, WhichCalls } from './claims.js';
export { GatewayAgent } from './gateway-agent.js';
export type { GatewayAgentConfig, LoadedThread } from './gateway-agent.js';
export { GatewayError } from './gateway-error.js';
