/** What the owner of a thread allows another user: each right includes those before it. */
export type GivenRights = 'read' | 'write' | 'approve';
