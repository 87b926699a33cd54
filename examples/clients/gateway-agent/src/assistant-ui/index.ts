export { GatewayAttachments } from './attachments.js';
export { GatewayChats, useClaimedElsewhere, useEarlierMessages, useGatewayRuntime, useThreadRights } from './chats.js';
export type { GatewayChat, GatewayChatsConfig, GatewayRuntimeOptions } from './chats.js';
export { GatewayHistory } from './history.js';
export { GatewayThreadList } from './thread-list.js';
export type { GivenRights } from './rights.js';
export type { ThreadAccess } from './thread-list.js';
