// The message field, its buttons, and the lines that say how it goes.

import { element } from './dom.js';

export const ui = {
  status: element('status'), prompt: element('prompt'), stop: element('stop'), composer: element('composer'), messages: element('messages'),
  problem: element('problem'), problemText: element('problem-text'), retry: element('retry'), newThread: element('new-thread'),
};

/** Shows a problem with a button; resolves once it is pressed. */
export function retryPressed(message, signal) {
  showProblem(message);
  ui.retry.hidden = false;
  return new Promise((resolve, reject) => {
    ui.retry.onclick = () => { hideProblem(); resolve(); };
    signal.addEventListener('abort', () => { hideProblem(); reject(new Error('given up')); }, { once: true });
  });
}

export function setStatus(state, text) {
  ui.status.dataset.state = state;
  if (ui.status.textContent !== text) ui.status.textContent = text;
}

export function setBusy(busy) {
  ui.stop.hidden = !busy;
  ui.stop.disabled = false;
  ui.newThread.disabled = busy;
  ui.prompt.placeholder = busy ? 'Message to the active run' : 'Message';
  // A screen reader announces an answer once it is complete, not word by word.
  ui.messages.setAttribute('aria-busy', String(busy));
}

export function showProblem(text) {
  ui.problemText.textContent = text;
  ui.retry.hidden = true;
  ui.problem.hidden = false;
}

export function hideProblem() {
  ui.problem.hidden = true;
}

/** Calls say(text) and stop() when the user does. */
export function listenTo({ say, stop }) {
  ui.composer.addEventListener('submit', (event) => {
    event.preventDefault();
    const text = ui.prompt.value.trim();
    ui.prompt.value = '';
    if (text !== '') say(text);
  });
  ui.prompt.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    ui.composer.requestSubmit();
  });
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') stop();
  });
  ui.stop.addEventListener('click', stop);
  element('suggestions').addEventListener('click', (event) => {
    const prompt = event.target.closest('button')?.dataset.prompt;
    if (prompt) say(prompt);
  });
}

/** The thread that the address names; empty if it names none. */
export function threadInAddress() {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return ''; // Somebody wrote a `%` into the address.
  }
}
