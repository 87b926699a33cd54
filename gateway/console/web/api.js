// Requests to the gateway: its public routes, and the console's own. Nothing here knows the page.

const BASE = '..'; // Relative: it works below any base_path.
const PAGE = 200; // The most that one request for a list gives.
const MOST_PAGES = 50; // A thread of ten thousand entries is read; a longer one is not a matter for a page.
const RECONNECTS = 5;
const MEMORY = 'agui-gateway console'; // The key in sessionStorage, which each tab has for itself.

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let token = '';
try {
  token = sessionStorage.getItem(MEMORY) ?? '';
} catch {
  // Forbidden: the token is asked for after each reload.
}

export function useToken(text) {
  token = text;
  try {
    sessionStorage.setItem(MEMORY, text);
  } catch {
    // See above.
  }
}

export function newId(kind) {
  // Not crypto.randomUUID(): it is missing where the page was not loaded over HTTPS or from this machine.
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `${kind}-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

async function request(path, { method = 'GET', body, headers = {}, signal } = {}) {
  const sent = { ...headers };
  if (body !== undefined) sent['Content-Type'] = 'application/json';
  if (token) sent.Authorization = `Bearer ${token}`;
  const response = await fetch(`${BASE}${path}`, { method, headers: sent, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  if (response.ok) return response;
  const text = await response.text();
  let error = {};
  try {
    ({ error } = JSON.parse(text));
  } catch {
    // A proxy has answered.
  }
  const place = error.path ? ` (${error.path})` : '';
  throw new Refused(response.status, error.code ?? '', `${response.status} ${error.code ?? response.statusText}: ${error.message ?? ''}${place}`);
}

const json = async (path, options) => (await request(path, options)).json();
const ofThread = (threadId, rest = '') => `/agui/threads/${encodeURIComponent(threadId)}${rest}`;

export function listThreads({ cursor = '', archived }) {
  const query = new URLSearchParams({ limit: PAGE, archived });
  if (cursor) query.set('cursor', cursor);
  return json(`/agui/threads?${query}`);
}

export const threadOf = (threadId) => json(ofThread(threadId));
export const messagesOf = async (threadId) => (await json(ofThread(threadId, '/messages'))).messages;
export const pendingOf = (threadId) => json(ofThread(threadId, '/pending'));

/** The session events of a thread, the oldest first; `complete` is false if there are more than are read. */
export async function journalOf(threadId) {
  const entries = [];
  for (let page = 0; page < MOST_PAGES; ++page) {
    const { events } = await json(ofThread(threadId, `/events?limit=${PAGE}&after=${entries.at(-1)?.seq ?? 0}`));
    entries.push(...events);
    if (events.length < PAGE) return { entries, complete: true };
  }
  return { entries, complete: false };
}

export async function modelRequests(threadId) {
  const query = threadId ? `?${new URLSearchParams({ threadId })}` : '';
  return (await json(`/console/requests${query}`)).requests;
}

export const modelRequest = (number) => json(`/console/requests/${number}`);

/**
 * Reads a run from its begin to its end, whether it is active or not; `take(number, event)` gets each event once. A
 * run that was continued has several parts, each with an end of its own.
 */
export async function readRun(threadId, runId, take, signal) {
  let last = 0;
  let failures = 0;
  for (;;) {
    try {
      const path = ofThread(threadId, `/runs/${encodeURIComponent(runId)}/events?protocolVersion=1.1&after=${last}`);
      const response = await request(path, { headers: { Accept: 'text/event-stream' }, signal });
      if (response.status === 204) return;
      const before = last;
      for await (const { id, data } of serverSentEvents(response.body)) {
        last = id;
        failures = 0;
        take(id, JSON.parse(data));
      }
      if (last === before) throw new Error('the stream was empty');
    } catch (error) {
      if (signal?.aborted || error instanceof Refused || ++failures > RECONNECTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500 * failures));
    }
  }
}

// Lines end with LF, a blank line ends an event, a line that begins with ':' is a comment.
async function* serverSentEvents(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let id = 0;
  let data = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (line.startsWith('id: ')) id = Number(line.slice(4));
      else if (line.startsWith('data: ')) data += line.slice(6);
      else if (line === '' && data) {
        yield { id, data };
        data = '';
      }
    }
  }
}

/**
 * Starts a run that goes on without a reader, and returns once it has begun: who wants its events reads them by
 * readRun().
 */
export async function startRun(body, agentId) {
  const leave = new AbortController();
  const path = agentId ? `/agui/agents/${encodeURIComponent(agentId)}` : '/agui';
  const response = await request(path, {
    method: 'POST',
    body: { protocolVersion: '1.1', ...body },
    headers: { Accept: 'text/event-stream', 'X-On-Disconnect': 'continue' },
    signal: leave.signal,
  });
  const reader = response.body.getReader();
  await reader.read();
  leave.abort();
  await reader.closed.catch(() => {});
}

export const cancelRun = (threadId, runId) => json('/agui/cancel', { method: 'POST', body: { threadId, runId } });
