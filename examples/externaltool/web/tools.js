// The tools of this page: a model calls them, and the page executes them.

import { newId } from './client.js';

const MAX_COLOR_LENGTH = 64;

// Arguments are text that a model wrote: they are checked like any other input from outside.
function checkedColor(argumentText) {
  let args;
  try {
    args = JSON.parse(argumentText === '' ? '{}' : argumentText);
  } catch {
    throw new Error('the arguments are not JSON');
  }
  if (args === null || typeof args !== 'object' || Array.isArray(args)) throw new Error('the arguments are not an object');
  const { color } = args;
  if (typeof color !== 'string') throw new Error('color must be a string');
  if (color.length > MAX_COLOR_LENGTH) throw new Error(`color is longer than ${MAX_COLOR_LENGTH} characters`);
  // CSS also accepts values that are not colours themselves: variables, and keywords such as `inherit`.
  const borrowed = /\b(?:var|env|attr)\(|^\s*(?:inherit|initial|unset|revert|revert-layer|currentcolor)\s*$/i;
  if (borrowed.test(color) || !CSS.supports('color', color)) throw new Error(`"${color}" is not a CSS colour`);
  return color.trim();
}

export const tools = new Map([['change_background', {
  definition: {
    name: 'change_background',
    description: 'Changes the background colour of the page that the user is looking at.',
    parameters: {
      type: 'object',
      properties: { color: { type: 'string', description: 'A CSS colour: a name, #rrggbb, rgb() or hsl()' } },
      required: ['color'],
    },
  },
  execute(argumentText) {
    const color = checkedColor(argumentText);
    document.body.style.backgroundColor = color;
    return { status: 'ok', color };
  },
}]]);

// Executes one pending call and returns the message that answers it. Every call gets an answer, a failure is
// one too: the conversation cannot go on while a call is open.
export function answerTo(call) {
  const { name, arguments: argumentText } = call.function;
  const answer = { id: newId('answer'), role: 'tool', toolCallId: call.id, name };
  try {
    const tool = tools.get(name);
    if (!tool) throw new Error(`this page has no tool named ${name}`);
    return { ...answer, content: JSON.stringify(tool.execute(argumentText)) };
  } catch (error) {
    return { ...answer, content: JSON.stringify({ status: 'error', message: error.message }), error: error.message };
  }
}
