// Messages before a template: what is taken otherwise than it was written, and what is left out.
import { changed } from './traces.js';

/** ChatML, for models that bring no template. */
export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + ((message.content or '') if message.tool_calls else message.content) + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * OpenAI's clients send a call's arguments as JSON text, most templates want the object.
 * @param {Record<string, any>[]} messages
 * @param {(message: number, call: number) => boolean} [keepsText] where the template wants the text
 */
export function withParsedArguments(messages, keepsText = () => false) {
  return messages.map((message, i) => {
    if (!Array.isArray(message.tool_calls)) return message;
    return { ...message, tool_calls: message.tool_calls.map((call, k) => (keepsText(i, k) ? call : parsedCall(call))) };
  });
}

/** @param {Record<string, any>} call */
const parsedCall = (call) =>
  changed(call, (inner) =>
    typeof inner.arguments === 'string' ? { ...inner, arguments: parsed(inner.arguments) } : inner,
  );

/** Texts and numbers of JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi;
/** What a number that JavaScript would change is written behind, as text. */
const KEPT = '\ufdef';

/**
 * JSON in Python's terms: an integer that a double cannot hold is a BigInt, 1.0 is a Number object, which is no int.
 * @param {string} text
 */
function parsed(text) {
  const write = (/** @type {string} */ token) => {
    const value = Number(token);
    const changes = Number.isInteger(value) && (!Number.isSafeInteger(value) || /[.e]/i.test(token));
    return token[0] !== '"' && changes ? `"${KEPT}${token}"` : token;
  };
  const read = (/** @type {string} */ _, /** @type {unknown} */ value) => {
    if (typeof value !== 'string' || value[0] !== KEPT) return value;
    const token = value.slice(1);
    return /[.e]/i.test(token) ? Object(Number(token)) : BigInt(token);
  };
  try {
    const plain = JSON.parse(text);
    return JSON.stringify(plain).includes(KEPT) ? plain : JSON.parse(text.replace(TOKENS, write), read);
  } catch {
    return text; // not JSON after all: the template gets the text
  }
}

/**
 * OpenAI's newer name of the role.
 * @param {Record<string, any>[]} messages
 */
export const developerAsSystem = (messages) =>
  messages.map((message) => (message.role === 'developer' ? { ...message, role: 'system' } : message));

/**
 * The conversation without its oldest turns (a turn begins with a message of the user); the system prompt stays. Null where
 * only the last turn is left.
 * @param {Record<string, any>[]} messages
 * @param {number} turns how many to leave out
 */
export function withoutOldest(messages, turns) {
  const first = messages.findIndex((message) => !['system', 'developer'].includes(message.role));
  const head = messages.slice(0, Math.max(first, 0));
  const starts = messages.map((message, i) => (message.role === 'user' ? i : -1)).filter((i) => i > first);
  if (turns > starts.length) return null;
  return turns === 0 ? messages : [...head, ...messages.slice(starts[turns - 1])];
}
