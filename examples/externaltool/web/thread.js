// The page's copy of a conversation: each event changes it, and the view shows it. Nothing here touches the page.

import { applyPatch } from './json_patch.js';

export class Thread {
  constructor(id) {
    this.id = id;
    this.isNew = true; // Until the gateway has it.
    this.messages = []; // As in AG-UI, each with `revision`, which grows when the message changes.
    this.local = []; // Of this page alone: { id, role, content, after, delivery? }, shown behind the message `after`.
    this.state = undefined; // The shared document; undefined if there is none.
    this.interrupts = []; // What waits for the user, since the run that ended with it.
    this.pending = new Set(); // Ids of the calls that the page may execute.
    this.subagents = new Map(); // By subagentRunId: { id, name, description, parent, toolCallId, status, text }.
    this.steps = []; // Of the newest run: { name, done }.
    this.run = null; // The newest run: { id, active, stopReason }.
    this.revisions = 0;
  }

  message(id) {
    return this.messages.find((each) => each.id === id);
  }

  call(id) {
    for (const message of this.messages) {
      const call = message.toolCalls?.find((each) => each.id === id);
      if (call) return call;
    }
    return undefined;
  }

  resultOf(callId) {
    return this.messages.find((each) => each.role === 'tool' && each.toolCallId === callId);
  }

  /** Adds a message, or returns the one with this id. */
  add(message) {
    const known = this.message(message.id);
    if (known) return known;
    this.messages.push(message);
    return this.touch(message);
  }

  touch(message) {
    message.revision = ++this.revisions;
    return message;
  }

  note(content) {
    this.addLocal({ id: `note ${++this.revisions}`, role: 'note', content });
  }

  addLocal(item) {
    const added = { ...item, after: this.messages.at(-1)?.id };
    this.local.push(added);
    return added;
  }

  apply(event) {
    handlers[event.type]?.(this, event);
  }
}

const handlers = {
  RUN_STARTED(thread, { runId }) {
    thread.run = { id: runId, active: true, stopReason: '' };
    thread.steps = [];
  },
  RUN_FINISHED(thread, { outcome }) {
    thread.run.active = false;
    thread.interrupts = outcome?.type === 'interrupt' ? outcome.interrupts : [];
    thread.pending = new Set(outcome?.pendingToolCallIds ?? []);
    thread.steps.forEach((step) => { step.done = true; });
    if (outcome?.type !== 'cancelled') return;
    const reasons = { user_stop: 'Stopped', superseded: 'Stopped: another message took over' };
    thread.note(reasons[thread.run.stopReason] ?? `Stopped by the gateway: ${thread.run.stopReason || 'no reason given'}`);
  },
  RUN_ERROR(thread) {
    // Interrupts stay open after an error: the client keeps its list, and so does the gateway.
    if (thread.run) thread.run.active = false;
    thread.pending = new Set();
  },

  TEXT_MESSAGE_START(thread, { messageId, role, subagentRunId }) {
    thread.add({ id: messageId, role: role ?? 'assistant', content: '', subagentRunId });
  },
  TEXT_MESSAGE_CONTENT(thread, { messageId, delta }) {
    const message = thread.add({ id: messageId, role: 'assistant', content: '' });
    message.content = `${message.content ?? ''}${delta}`;
    thread.touch(message);
  },
  REASONING_MESSAGE_START(thread, { messageId, subagentRunId }) {
    thread.add({ id: messageId, role: 'reasoning', content: '', subagentRunId });
  },
  REASONING_MESSAGE_CONTENT(thread, { messageId, delta }) {
    const message = thread.add({ id: messageId, role: 'reasoning', content: '' });
    message.content += delta;
    thread.touch(message);
  },

  TOOL_CALL_START(thread, { toolCallId, toolCallName, parentMessageId, subagentRunId }) {
    if (thread.call(toolCallId)) return; // Reopened: the call continues (AG-UI rule S9).
    const message = thread.add({ id: parentMessageId ?? toolCallId, role: 'assistant', content: '', subagentRunId });
    (message.toolCalls ??= []).push({ id: toolCallId, function: { name: toolCallName, arguments: '' } });
    thread.touch(message);
  },
  TOOL_CALL_ARGS(thread, { toolCallId, delta }) {
    const call = thread.call(toolCallId);
    if (call) call.function.arguments += delta;
  },
  TOOL_CALL_RESULT(thread, { messageId, toolCallId, content }) {
    // Only the gateway's own tools have results on the stream; those of this page are answered by this page.
    thread.add({ id: messageId, role: 'tool', toolCallId, content });
  },

  MESSAGES_SNAPSHOT(thread, { messages }) {
    thread.messages = messages.map((message) => thread.touch({ ...message }));
  },
  STATE_SNAPSHOT(thread, { snapshot }) {
    thread.state = snapshot ?? undefined;
  },
  STATE_DELTA(thread, { delta }) {
    thread.state = applyPatch(thread.state ?? {}, delta);
  },

  ACTIVITY_SNAPSHOT(thread, { messageId, activityType, content, replace, subagentRunId }) {
    const known = thread.message(messageId);
    if (!known) thread.add({ id: messageId, role: 'activity', activityType, content, subagentRunId });
    else if (replace !== false) thread.touch(Object.assign(known, { activityType, content }));
  },
  ACTIVITY_DELTA(thread, { messageId, patch }) {
    const known = thread.message(messageId);
    if (known) thread.touch(Object.assign(known, { content: applyPatch(known.content, patch) }));
  },

  STEP_STARTED(thread, { stepName }) {
    thread.steps.push({ name: stepName, done: false });
  },
  STEP_FINISHED(thread, { stepName }) {
    const step = thread.steps.findLast((each) => each.name === stepName);
    if (step) step.done = true;
  },

  SUBAGENT_STARTED(thread, { subagentRunId, name, description, parentSubagentRunId, parentToolCallId }) {
    thread.subagents.set(subagentRunId, {
      id: subagentRunId, name, description, parent: parentSubagentRunId, toolCallId: parentToolCallId, status: 'active', text: '',
    });
  },
  SUBAGENT_FINISHED(thread, { subagentRunId, outcome }) {
    const subagent = thread.subagents.get(subagentRunId);
    if (subagent) subagent.status = outcome?.type === 'suspended' ? 'suspended' : 'finished';
  },
  SUBAGENT_ERROR(thread, { subagentRunId, message }) {
    const subagent = thread.subagents.get(subagentRunId);
    if (subagent) Object.assign(subagent, { status: 'failed', text: message });
  },

  CUSTOM(thread, { name, value }) {
    if (name === 'agui-gateway.run.stopped') thread.run.stopReason = value?.reason ?? '';
  },
};
