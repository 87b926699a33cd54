import { HttpAgent } from "@ag-ui/client";
import { render } from "./render.js";   // Your page: shows the messages.

const base = "http://127.0.0.1:8080/agui";
// The app chooses the thread's id and keeps it: here in the page's address, so that a reload finds it.
const threadId = new URLSearchParams(location.search).get("thread") ?? crypto.randomUUID();
history.replaceState(null, "", `?thread=${encodeURIComponent(threadId)}`);
const agent = new HttpAgent({ url: base, threadId });
agent.subscribe({ onMessagesChanged: ({ messages }) => render(messages) });

// The tools of the page: what the model reads about each of them, and what the page does.
const tools = [{
  name: "change_background",
  description: "Changes the background colour of the page",
  parameters: { type: "object", properties: { color: { type: "string" } }, required: ["color"] },
}];
const execute = {
  change_background: ({ color }) => {
    document.body.style.background = color;
    return { status: "ok" };
  },
};

function answer({ toolCallId, toolCallName, arguments: text }) {
  const message = { id: crypto.randomUUID(), role: "tool", toolCallId };
  try {
    return { ...message, content: JSON.stringify(execute[toolCallName](JSON.parse(text))) };
  } catch (error) {
    return { ...message, content: "the tool failed", error: error.message };
  }
}

// Runs the agent. As long as the model calls tools of the page, executes them, sends the answers and continues.
let stopped = false;
async function run() {
  stopped = false;
  await agent.runAgent({ tools });
  await answerCalls();
}

// The gateway lists the calls that wait for an answer. Calls of a stopped run are not among them.
async function answerCalls() {
  const reply = await fetch(`${base}/threads/${encodeURIComponent(threadId)}/pending`);
  const { toolCalls = [] } = await reply.json();   // A new thread has no calls.
  if (toolCalls.length === 0 || stopped) return;
  for (const call of toolCalls) agent.addMessage(answer(call));
  await run();
}

export async function send(text) {
  agent.addMessage({ id: crypto.randomUUID(), role: "user", content: text });
  await run();
}

// Ends the run at once. The text so far is kept.
export async function stop() {
  stopped = true;
  await fetch(`${base}/cancel`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ threadId }),
  });
}

// After a reload: shows the conversation so far, follows the active run to its end, and answers pending calls.
export async function load() {
  const past = new HttpAgent({ url: `${base}/history`, threadId });
  past.subscribe({ onMessagesChanged: ({ messages }) => render(messages) });
  await past.runAgent({ forwardedProps: { follow: true } });
  agent.setMessages(past.messages);
  await answerCalls();
}
