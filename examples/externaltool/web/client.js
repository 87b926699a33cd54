// Requests to the gateway. Nothing here knows the page.

const ENDPOINT = 'agui'; // Relative: it works below any base_path.
const MAX_RECONNECTS = 3;

export class ConnectionLost extends Error {}

/** An answer of the gateway that is an error, with its code (https status and text if a proxy made it). */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function newId(kind) {
  // Not crypto.randomUUID(): it is missing where the page was not loaded over HTTPS or from this machine.
  const bytes = crypto.getRandomValues(new Uint8Array(6));
  return `${kind}-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener('abort', () => { clearTimeout(timer); reject(new Error('given up')); }, { once: true });
  });
}

async function request(path, { method = 'GET', body, type = 'application/json', accept, signal } = {}) {
  const headers = {};
  if (body !== undefined) headers['Content-Type'] = type;
  if (accept) headers.Accept = accept;
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    throw new ConnectionLost(`The gateway cannot be reached: ${error.message}`);
  }
  // A refused request is an ordinary HTTP error with JSON; a stream only begins when the run has.
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  try {
    const { error } = await response.json();
    const place = error.path ? ` (${error.path})` : '';
    return new Refused(response.status, error.code, `The gateway answered ${response.status} ${error.code}: ${error.message}${place}`);
  } catch {
    return new Refused(response.status, '', `The gateway answered ${response.status} ${response.statusText}`);
  }
}

const json = async (path, options) => (await request(path, options)).json();
const ofThread = (threadId, rest = '') => `${ENDPOINT}/threads/${encodeURIComponent(threadId)}${rest}`;

/**
 * Reads a run to its end; `take({ sequence, event, data })` gets each event once. The run lives in the gateway, not in
 * the connection: after a loss the same POST (same runId, same body) attaches to it again and nothing is executed
 * twice. Events seen before are skipped. `lost(attempt, most, error)` is told of each loss; once the attempts are used,
 * its promise decides when to go on.
 */
export async function readRun(body, { take, posted, lost, signal }) {
  let seen = 0;
  let ended = false;
  for (let attempt = 1; ; ++attempt) {
    try {
      posted?.();
      for await (const entry of post(ENDPOINT, body, signal)) {
        if (entry.sequence && entry.sequence <= seen) continue;
        seen = entry.sequence || seen;
        ended ||= entry.event.type === 'RUN_FINISHED' || entry.event.type === 'RUN_ERROR';
        take(entry);
      }
      // HTTP 200 says nothing about success, only a terminal event does.
      if (ended) return;
      throw new ConnectionLost('The stream ended before the run did');
    } catch (error) {
      if (!(error instanceof ConnectionLost) || signal.aborted) throw error;
      await lost(attempt, MAX_RECONNECTS, error);
      if (attempt <= MAX_RECONNECTS) await pause(500 * 2 ** attempt, signal);
      else attempt = 0;
    }
  }
}

/** The conversation of a thread as events and then, if a run is active, that run's events to its end. */
export function readHistory(threadId, signal) {
  const body = { threadId, runId: newId('history'), protocolVersion: '1.1', messages: [], forwardedProps: { follow: true } };
  return post(`${ENDPOINT}/history`, body, signal);
}

async function* post(path, body, signal) {
  const response = await request(path, { method: 'POST', body, accept: 'text/event-stream', signal });
  for await (const { sequence, data } of serverSentEvents(response.body)) yield { sequence, data, event: JSON.parse(data) };
}

// Server-sent events by hand: lines end with LF, a blank line ends an event, a line that begins with ':' is a
// comment (the gateway sends one every 15 s of silence). `id:` is the event's number in the run's log.
async function* serverSentEvents(stream) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  let data = [];
  let sequence = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw new ConnectionLost(`The connection was lost: ${error.message}`);
      });
      if (done) return; // The body is read to its end, so that the browser counts the request as complete.
      const lines = (rest + decoder.decode(value, { stream: true })).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { sequence, data: data.join('\n') };
          data = [];
          sequence = 0;
        } else if (line.startsWith('data:')) {
          data.push(line.slice(line[5] === ' ' ? 6 : 5));
        } else if (line.startsWith('id:')) {
          sequence = Number(line.slice(3)) || 0;
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // The body was not read to its end, so the connection cannot be reused.
  }
}

/** `{updatedAt, activeRunId?}` of the thread; an empty one if it does not exist yet. */
export const threadInfo = (threadId, signal) => json(ofThread(threadId), { signal });

/** The calls that this app may still execute, and the interrupts that wait. */
export const pendingOf = (threadId, signal) => json(ofThread(threadId, '/pending'), { signal });

/** Changes the stored document by a JSON Patch; resolves to the whole document. */
export async function patchState(threadId, patch) {
  return (await json(ofThread(threadId, '/state'), { method: 'PATCH', body: patch, type: 'application/json-patch+json' })).state;
}

export async function stateOf(threadId) {
  return (await json(ofThread(threadId, '/state'))).state;
}

/**
 * Gives a user message to the active run. Resolves to true once the run has stored it for its next request to the
 * model, and to false if the run ended first: then nothing is stored. The message's id makes a repeat harmless.
 */
export async function steer(threadId, runId, message, signal) {
  for (let attempt = 1; ; ++attempt) {
    try {
      return (await json(`${ENDPOINT}/steer`, { method: 'POST', body: { threadId, runId, message }, signal })).taken;
    } catch (error) {
      if (error.code === 'run_ended') return false;
      const isUnsure = error instanceof ConnectionLost || error.status === 503;
      if (!isUnsure || attempt > MAX_RECONNECTS || signal?.aborted) throw error;
      await pause(500 * 2 ** attempt, signal);
    }
  }
}

/** Stops the run; its stream then ends by itself with its terminal event. */
export function cancelRun(threadId, runId) {
  return json(`${ENDPOINT}/cancel`, { method: 'POST', body: { threadId, runId }, signal: AbortSignal.timeout(10_000) });
}
