import { HttpAgent } from '@ag-ui/client';

const url = new URLSearchParams(location.search).get('gateway') ?? 'http://127.0.0.1:8080/agui';
const threadId = sessionStorage.thread ??= crypto.randomUUID();   // A reload of the tab keeps the thread.

// Who uses the page. A page gets the user's token from its identity provider; this one takes it from its address, where no
// server sees it. With #token=… the tab keeps it, and each request has it. With #session=… it becomes a cookie that the browser
// sends by itself, for a page of the gateway's own origin.
const { token, session } = Object.fromEntries(new URLSearchParams(location.hash.slice(1).replaceAll('+', '%2B'))); // A token may have a plus.
history.replaceState(null, '', location.pathname + location.search);
if (token) sessionStorage.token = token;
const headers = sessionStorage.token ? { Authorization: `Bearer ${sessionStorage.token}` } : {};
const signIn = async () => session && (await fetch(`${url}/session`, { method: 'POST', headers: { Authorization: `Bearer ${session}` } })).json();

const agent = new HttpAgent({ url, threadId, headers });

function show(messages) {
    const lines = messages.filter(({ role, content }) => ['user', 'assistant'].includes(role) && content).map(({ role, content }) => {
        const line = document.createElement('p');
        line.textContent = `${role === 'user' ? 'You' : 'Model'}: ${content}`;
        return line;
    });
    document.querySelector('#messages').replaceChildren(...lines);
}
agent.subscribe({ onMessagesChanged: ({ messages }) => show(messages) });

// The gateway keeps the conversation: a page that was loaded again asks for it.
async function load() {
    const response = await fetch(`${url}/threads/${threadId}/messages`, { headers });
    agent.setMessages((await response.json()).messages);
    show(agent.messages);
}
void signIn().then(load);

document.querySelector('#form').addEventListener('submit', async (event) => {
    event.preventDefault();
    const input = document.querySelector('#text');
    if (!input.value || agent.isRunning) return;
    agent.addMessage({ id: crypto.randomUUID(), role: 'user', content: input.value });
    input.value = '';
    show(agent.messages);
    const run = agent.runAgent();
    showRunning(true);
    await run.catch((error) => alert(error.message));
    showRunning(false);
});

function showRunning(isRunning) {
    document.querySelector('#send').hidden = isRunning;
    document.querySelector('#stop').hidden = !isRunning;
}

// abortRun() only drops the connection, which looks like a reload. The gateway ends the run at once if it is told to.
document.querySelector('#stop').addEventListener('click', () => {
    agent.abortRun();
    void fetch(`${url}/cancel`, {
        method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify({ threadId }),
    });
});
