// Messages and tools as plain data. They come as objects of any kind (of classes, reactive proxies, with getters): what counts is
// what JSON.stringify would write of them.
import { messageOf, qwenError } from '../errors.js';

/**
 * The data that JSON.stringify would write: toJSON() counts, a Date is its text, undefined goes.
 * @param {unknown} value
 * @param {string} name of the value, for errors
 * @param {boolean} [functionsGo] as JSON.stringify leaves functions out; else they are refused
 * @returns {any}
 */
function plainJson(value, name, functionsGo = false) {
  /** @type {Map<unknown, string>} */
  const places = new Map();
  /**
   * @this {unknown}
   * @param {string} key
   * @param {unknown} item
   */
  function check(key, item) {
    const above = places.get(this);
    const place = above === undefined ? name : Array.isArray(this) ? `${above}[${key}]` : `${above}.${key}`;
    if (typeof item === 'bigint') throw new Error(`${place} is the BigInt ${item}: a number or a text is wanted`);
    if (typeof item === 'function' && !functionsGo) throw new Error(`${place} is a function`);
    if (typeof item === 'object' && item !== null) places.set(item, place);
    return item;
  }
  try {
    return JSON.parse(JSON.stringify(value, check));
  } catch (error) {
    throw qwenError('usage', `${name} cannot be written as JSON: ${messageOf(error)}`, error);
  }
}

/**
 * Messages as Transformers gives them to a template: keys whose value is null are gone, a list of text parts is one text.
 * @param {unknown} messages
 * @param {boolean} [keepNulls] as other runtimes do: there are templates that ask 'content is none'
 * @returns {Record<string, any>[]}
 */
export function plainMessages(messages, keepNulls = false) {
  if (!Array.isArray(messages)) throw qwenError('usage', `messages is ${typeof messages}, not an array`);
  if (messages.length === 0) throw qwenError('usage', 'the conversation is empty: give at least one message');
  const plain = plainJson(messages, 'messages').map((/** @type {any} */ message, /** @type {number} */ i) => {
    if (typeof message !== 'object' || message === null)
      throw qwenError('usage', `message ${i} is ${message}, not an object`);
    if (typeof message.role !== 'string') throw qwenError('usage', `message ${i} has no role`);
    return { ...message, ...textContent(message.content, i) };
  });
  return keepNulls ? plain : withoutNulls(plain);
}

/** @param {Record<string, any>[]} messages */
export const withoutNulls = (messages) =>
  messages.map((message) => Object.fromEntries(Object.entries(message).filter(([, value]) => value !== null)));

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
 * Tools as a template finds them; what they run is left out.
 * @param {unknown} tools
 * @returns {any[] | null} null: none were given
 */
export function plainTools(tools) {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) throw qwenError('usage', `tools is ${described(tools)}: an array of tools is wanted`);
  return plainJson(tools, 'tools', true).map((/** @type {unknown} */ tool, /** @type {number} */ j) => {
    if (typeof tool === 'object' && tool !== null) return tool;
    throw qwenError('usage', `tools[${j}] is ${described(tools[j])}: an object that describes a tool is wanted`);
  });
}

/** @param {unknown} value */
const described = (value) =>
  value === null ? 'null' : typeof value === 'string' ? 'a text' : `of type ${typeof value}`;
