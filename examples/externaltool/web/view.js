// Shows a Thread. Called as often as events come; it draws once a frame, and keeps each node for as long as its item.

import { activityCard, approvalCard, callCard } from './cards.js';
import { arrange, button, element, follow, followable, make, setText } from './dom.js';
import { tools } from './tools.js';

const box = element('messages');
const steps = element('steps');
const welcome = element('welcome');

/** `actions`: answer(resumeEntry), execute(), resend(localMessage). */
export function makeView(actions) {
  let thread = null;
  let busy = false;
  let drawing = false;
  let widgets = new Map(); // By the key of an item.

  followable(box);

  const widget = (key, create) => {
    if (!widgets.has(key)) widgets.set(key, create());
    const found = widgets.get(key);
    found.isUsed = true;
    return found;
  };

  function text(message, kind = message.role) {
    const shown = widget(`text ${message.id}`, () => {
      return { node: make('div', `message ${kind}`), revision: null };
    });
    if (shown.revision === message.revision) return shown.node;
    shown.revision = message.revision;
    // A message may be of several parts, pictures among them: its texts are shown.
    const content = Array.isArray(message.content) ? message.content.map((part) => part.text ?? `[${part.type}]`).join('\n') : message.content ?? '';
    setText(shown.node, content);
    shown.node.hidden = content === '';
    return shown.node;
  }

  function approval(interrupt) {
    const card = widget(`approval ${interrupt.id}`, () => approvalCard(interrupt, thread.call(interrupt.toolCallId), actions.answer));
    card.setBusy(busy);
    return card.node;
  }

  function call(each) {
    const card = widget(`call ${each.id}`, callCard);
    const interrupt = thread.interrupts.find(({ toolCallId }) => toolCallId === each.id);
    let extra = interrupt && approval(interrupt);
    if (!busy && thread.pending.has(each.id) && tools.has(each.function.name)) {
      extra = widget(`execute ${each.id}`, () => ({ node: button('Execute it in this page', 'quiet', actions.execute) })).node;
    }
    card.update(thread, each, extra);
    return card.node;
  }

  function activity(message) {
    const card = widget(`activity ${message.id}`, activityCard);
    card.update(message);
    return card.node;
  }

  function local(item) {
    if (item.role === 'note') return text(item);
    const shown = widget(`local ${item.id}`, () => {
      const body = make('div', 'message user', item.content);
      const state = make('p', 'delivery');
      const again = button('Send it now', 'quiet', () => actions.resend(item));
      return { node: make('div', 'sent', body, state, again), state, again };
    });
    const words = { waiting: 'Waits for the run to take it', returned: 'Returned: the run had ended. Nothing was stored.', unknown: 'Whether the run has taken it is unknown' };
    setText(shown.state, words[item.delivery]);
    shown.node.dataset.delivery = item.delivery;
    shown.again.hidden = item.delivery !== 'returned' || busy;
    return shown.node;
  }

  const taken = (message) => widget(`taken ${message.id}`, () => ({ node: make('p', 'delivery taken', 'Taken by the active run') })).node;

  function nodesOf(message) {
    if (message.role === 'tool') return []; // Shown in its call's card.
    if (message.role === 'activity') return [activity(message)];
    const nodes = [text(message), ...(message.toolCalls ?? []).map(call)];
    if (thread.local.some(({ id, delivery }) => id === message.id && delivery === 'taken')) nodes.push(taken(message));
    return nodes;
  }

  function group(subagent) {
    const shown = widget(`subagent ${subagent.id}`, () => {
      const name = make('strong');
      const state = make('span', 'hint');
      const body = make('div', 'subagent-body');
      const node = make('details', 'subagent', make('summary', '', name, ' ', state), body);
      node.open = true;
      return { node, name, state, body, children: [] };
    });
    const words = { active: 'works', finished: 'has finished', suspended: 'waits for an answer', failed: 'failed' };
    setText(shown.name, subagent.name ?? 'Subagent');
    setText(shown.state, [words[subagent.status], subagent.text, subagent.description].filter(Boolean).join(' \u00b7 '));
    shown.node.dataset.state = subagent.status ?? '';
    return shown;
  }

  /** All nodes of the conversation in their order, those of a subagent in its group. */
  function collect() {
    const top = [];
    const groups = new Map();
    // A group stands where its subagent began, in that of its parent. A restored thread knows only the messages' tags.
    const groupOf = (id) => {
      if (!id) return top;
      if (!groups.has(id)) {
        const subagent = thread.subagents.get(id) ?? { id };
        const shown = group(subagent);
        shown.children = [];
        groups.set(id, shown);
        groupOf(subagent.parent === id ? undefined : subagent.parent).push(shown.node);
      }
      return groups.get(id).children;
    };
    const own = thread.local.filter(({ id }) => !thread.message(id));
    const waits = ({ delivery }) => delivery === 'waiting';
    const behind = (id) => own.filter((each) => each.after === id && !waits(each));
    top.push(...behind(undefined).map(local));
    for (const message of thread.messages) {
      groupOf(message.subagentRunId).push(...nodesOf(message));
      for (const { id, toolCallId } of thread.subagents.values()) {
        if (message.toolCalls?.some((each) => each.id === toolCallId)) groupOf(id);
      }
      top.push(...behind(message.id).map(local));
    }
    for (const id of thread.subagents.keys()) groupOf(id);
    const isLast = (item) => waits(item) || (item.after !== undefined && !thread.message(item.after));
    top.push(...own.filter(isLast).map(local));
    top.push(...thread.interrupts.filter(({ toolCallId }) => !thread.call(toolCallId)).map(approval));
    for (const shown of groups.values()) arrange(shown.body, shown.children);
    return top;
  }

  function drawSteps() {
    steps.hidden = thread.steps.length === 0;
    arrange(steps, thread.steps.map((step, index) => {
      const shown = widget(`step ${thread.run?.id} ${index}`, () => ({ node: make('li', '', step.name) })).node;
      shown.dataset.state = step.done ? 'done' : 'active';
      shown.setAttribute('aria-label', `${step.name}: ${step.done ? 'finished' : 'active'}`);
      return shown;
    }));
  }

  function draw() {
    drawing = false;
    for (const each of widgets.values()) each.isUsed = false;
    const nodes = collect();
    drawSteps();
    arrange(box, nodes.length > 0 ? nodes : [welcome]);
    for (const [key, each] of widgets) {
      if (!each.isUsed) {
        each.node.remove();
        widgets.delete(key);
      }
    }
    follow(box);
  }

  return {
    show(next) {
      if (next !== thread) widgets = new Map();
      thread = next;
      if (!drawing) requestAnimationFrame(draw);
      drawing = true;
    },
    setBusy(next) {
      busy = next;
      if (thread) this.show(thread);
    },
    /** Tells the user why an answer was not accepted, in the card; false if there is none. */
    showRefusal(interruptId, words) {
      const card = widgets.get(`approval ${interruptId}`);
      card?.show(words);
      return card !== undefined;
    },
    /** Moves the focus to the first open approval; false if there is none. */
    focusApproval() {
      const first = box.querySelector('.approval');
      first?.focus();
      return first !== null;
    },
  };
}
