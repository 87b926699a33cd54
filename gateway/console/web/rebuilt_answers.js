// The answers of a model, written anew from the events of a run: one body of server-sent events for each answer, in the
// OpenAI dialect, with one frame for each delta.

const frame = (choice, more = {}) => `data: ${JSON.stringify({ choices: choice ? [{ index: 0, ...choice }] : [], ...more })}\n\n`;
const delta = (members) => frame({ delta: members });

class Answer {
  frames = [];
  calls = new Map(); // By id: the index of the call in this answer.
  id = ''; // The message of the answer, once it is known.
  isOver = false; // A tool of the server has begun: what follows is another answer.

  bytes(usage) {
    const end = frame({ delta: {}, finish_reason: this.calls.size > 0 ? 'tool_calls' : 'stop' });
    return `${this.frames.join('')}${end}${usage ? frame(null, { usage }) : ''}data: [DONE]\n\n`;
  }
}

/** An answer of a few words, after which a run ends. */
export function closingAnswer() {
  const answer = new Answer();
  answer.frames.push(delta({ content: 'The run was cut here.' }));
  return answer.bytes();
}

/** The text of each body. */
export function answersOf(events) {
  const answers = [];
  let now = null;
  const answerFor = (messageId) => {
    if (!now || now.isOver || (messageId && now.id && now.id !== messageId)) answers.push(now = new Answer());
    if (messageId) now.id = messageId;
    return now;
  };
  for (const event of events) {
    switch (event.type) {
      case 'TEXT_MESSAGE_START':
        if (event.role !== 'user') answerFor(event.messageId);
        break;
      case 'TEXT_MESSAGE_CONTENT':
        now?.frames.push(delta({ content: event.delta }));
        break;
      case 'REASONING_MESSAGE_CONTENT':
        answerFor('').frames.push(delta({ reasoning_content: event.delta }));
        break;
      case 'TOOL_CALL_START': {
        const answer = answerFor(event.parentMessageId ?? '');
        answer.calls.set(event.toolCallId, answer.calls.size);
        answer.frames.push(delta({ tool_calls: [{ index: answer.calls.size - 1, id: event.toolCallId, type: 'function',
          function: { name: event.toolCallName, arguments: '' } }] }));
        break;
      }
      case 'TOOL_CALL_ARGS':
        if (now?.calls.has(event.toolCallId)) {
          now.frames.push(delta({ tool_calls: [{ index: now.calls.get(event.toolCallId), function: { arguments: event.delta } }] }));
        }
        break;
      case 'TOOL_CALL_RESULT':
        if (now) now.isOver = true;
        break;
      default:
    }
  }
  // The log has the sum of all answers: the last one reports it.
  const usage = events.flatMap((event) => event.usage ?? []);
  const sum = (name) => usage.reduce((total, each) => total + (each[name] ?? 0), 0);
  const reported = usage.length > 0 && {
    prompt_tokens: sum('inputTokens'), completion_tokens: sum('outputTokens'), total_tokens: sum('inputTokens') + sum('outputTokens'),
    prompt_tokens_details: { cached_tokens: sum('cachedInputTokens') },
  };
  return answers.map((answer, index) => answer.bytes(index === answers.length - 1 && reported));
}
