// Messages before and after a template. Marker text (as <|im_start|>) in what people or tools wrote is kept from becoming a
// marker: before rendering, a character that occurs nowhere is put behind the first character of each such text; where it
// comes out of the template, no control token may start.
import { messageOf, qwenError } from '../errors.js';

/** @typedef {import('../types.js').Message} Message */

/** ChatML, for models that bring no template. */
export const CHATML =
  "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/**
 * Messages as Transformers gives them to a template: keys whose value is null are gone, a list of text parts is one text.
 * @param {unknown} messages
 * @param {boolean} [keepNulls] as other runtimes do: there are templates that ask 'content is none'
 * @returns {Record<string, any>[]}
 */
export function plainMessages(messages, keepNulls = false) {
  if (!Array.isArray(messages)) throw qwenError('usage', `messages is ${typeof messages}, not an array`);
  if (messages.length === 0) throw qwenError('usage', 'the conversation is empty: give at least one message');
  return /** @type {any[]} */ (plainJson(messages, 'messages')).map((message, i) => {
    if (typeof message !== 'object' || message === null)
      throw qwenError('usage', `message ${i} is ${message}, not an object`);
    if (typeof message.role !== 'string') throw qwenError('usage', `message ${i} has no role`);
    const kept = Object.entries(message).filter(([, value]) => value !== undefined && (keepNulls || value !== null));
    return { ...Object.fromEntries(kept), ...textContent(message.content, i) };
  });
}

/**
 * JSON.stringify would leave it out without a word.
 * @param {string} key
 * @param {unknown} value
 */
function refuseFunction(key, value) {
  if (typeof value === 'function') throw new Error(`${key} is a function`);
  return value;
}

/**
 * A value as JSON.stringify writes it: proxies and getters are what they show, and what has a toJSON() is what that gives.
 * @param {unknown} value
 * @param {string} what
 * @returns {unknown}
 */
export function plainJson(value, what) {
  try {
    return JSON.parse(JSON.stringify(value, refuseFunction) ?? 'null');
  } catch (error) {
    throw qwenError('usage', `${what} cannot be written as JSON: ${messageOf(error)}`, error);
  }
}

/**
 * @param {unknown} content
 * @param {number} i
 */
function textContent(content, i) {
  if (content === undefined || content === null) return {};
  if (typeof content === 'string') return { content };
  if (!Array.isArray(content)) throw qwenError('usage', `the content of message ${i} is ${typeof content}, not text`);
  const texts = content.map((part) => {
    if (part?.type === 'text' && typeof part.text === 'string') return part.text;
    throw qwenError('usage', `message ${i} has a part of type ${JSON.stringify(part?.type)}: only text parts are read`);
  });
  return { content: texts.join('') };
}

/**
 * OpenAI's clients send a call's arguments as JSON text, templates want the object.
 * @param {Record<string, any>[]} messages
 */
export function withParsedArguments(messages) {
  return messages.map((message) => {
    if (!Array.isArray(message.tool_calls)) return message;
    return { ...message, tool_calls: message.tool_calls.map(parsedCall) };
  });
}

/** @param {any} call */
function parsedCall(call) {
  if (typeof call?.function?.arguments !== 'string') return call;
  try {
    return { ...call, function: { ...call.function, arguments: JSON.parse(call.function.arguments) } };
  } catch {
    return call; // not JSON after all: the template gets the text
  }
}

/**
 * A value with every text in it (keys too) changed.
 * @param {any} value
 * @param {(text: string) => string} change
 * @returns {any}
 */
function mapTexts(value, change) {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, change));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [change(key), mapTexts(item, change)]));
}

/** As JSON writes it where everything outside ASCII is escaped; a template may do so. */
const escapedMark = (/** @type {string} */ mark) =>
  Array.from(mark, (char) => `\\u${char.charCodeAt(0).toString(16)}`).join('');

/**
 * A noncharacter of Unicode (or two) that occurs nowhere in the texts.
 * @param {string} texts
 */
function unusedMark(texts) {
  const codes = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i));
  const pairs = codes.flatMap((a) => codes.map((b) => a + b));
  const unused = [...codes, ...pairs].find((mark) => !texts.includes(mark) && !texts.includes(escapedMark(mark)));
  if (!unused) throw qwenError('usage', 'the messages hold every noncharacter of Unicode: one must be left');
  return unused;
}

const escaped = (/** @type {string} */ text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/**
 * Puts marks into marker text; a marker's beginning at the end of a text counts too, since the template may complete it.
 * @param {Record<string, unknown>} variables what was written: messages, tools
 * @param {string[]} markers
 * @param {string} template
 * @returns {{ variables: Record<string, unknown>, mark: string }}
 */
export function protectMarkers(variables, markers, template) {
  let texts = '';
  try {
    texts = JSON.stringify(variables);
  } catch (error) {
    throw qwenError('usage', `the messages cannot be written as JSON: ${messageOf(error)}`, error);
  }
  const mark = unusedMark(texts + template);
  const whole = markers.filter((marker) => marker.length > 1);
  if (whole.length === 0) return { variables, mark };
  const inside = new RegExp(whole.map(escaped).join('|'), 'g');
  const protect = (/** @type {string} */ text) => {
    const done = text.replace(inside, (marker) => marker[0] + mark + marker.slice(1));
    const cut = longestBeginning(done, whole);
    return cut ? done.slice(0, done.length - cut + 1) + mark + done.slice(done.length - cut + 1) : done;
  };
  return { variables: mapTexts(variables, protect), mark };
}

/**
 * Length of the longest true beginning of a marker that the text ends with.
 * @param {string} text
 * @param {string[]} markers
 */
function longestBeginning(text, markers) {
  let longest = 0;
  for (const marker of markers) {
    for (let n = Math.min(marker.length - 1, text.length); n > longest; n--) {
      if (text.endsWith(marker.slice(0, n))) longest = n;
    }
  }
  return longest;
}

/**
 * Takes the marks out of rendered text.
 * @param {string} text
 * @param {string} mark
 * @returns {{ text: string, blocked: number[] }} blocked: byte offsets at which no control token may start
 */
export function takeMarks(text, mark) {
  const pieces = text.split(escapedMark(mark)).join(mark).split(mark);
  const encoder = new TextEncoder();
  /** @type {number[]} */
  const blocked = [];
  let offset = 0;
  for (const piece of pieces.slice(0, -1)) {
    offset += encoder.encode(piece).length;
    const first = Array.from(piece.slice(-2)).pop() ?? '';
    blocked.push(offset - encoder.encode(first).length);
  }
  return { text: pieces.join(''), blocked };
}

/**
 * The conversation without its oldest turns (a turn begins with a message of the user); the system prompt stays. Null where
 * only the last turn is left.
 * @param {Record<string, any>[]} messages
 * @param {number} turns how many to leave out
 */
export function withoutOldest(messages, turns) {
  const first = messages.findIndex((message) => message.role !== 'system');
  const head = messages.slice(0, Math.max(first, 0));
  const starts = messages.map((message, i) => (message.role === 'user' ? i : -1)).filter((i) => i > first);
  if (turns > starts.length) return null;
  return turns === 0 ? messages : [...head, ...messages.slice(starts[turns - 1])];
}
