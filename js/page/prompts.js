// What callers give as a prompt (text, ids, messages) as what the worker takes; conversations go through their template here.
import {
  plainJson,
  CHATML,
  plainMessages,
  protectMarkers,
  takeMarks,
  withoutOldest,
  withParsedArguments,
} from './chat.js';
import { qwenError } from '../errors.js';
import { wellFormed } from './generation.js';
import { TemplateRunner } from './template-runner.js';

/** @typedef {import('../errors.js').QwenError} QwenError */

/**
 * @typedef {import('../types.js').Message} Message
 * @typedef {import('../types.js').Ids} Ids
 * @typedef {import('../types.js').ChatOptions} ChatOptions
 * @typedef {import('../protocol.js').Prompt} Prompt
 * @typedef {{ prompts: Prompt[], notes: string[] }} Prompts plain prompts and remarks about them
 * @typedef {{ text: string, blocked: number[] }} Rendered
 */

/** Conversations of one engine: its template, its special tokens, and the worker that renders. */
export class Conversations {
  #info;
  #markers;
  #variables;
  #count;
  #templates;

  /**
   * @param {object} model
   * @param {import('../types.js').ModelInfo} model.info
   * @param {string[]} model.markers texts that must not become tokens where people wrote them
   * @param {Record<string, string>} model.variables what templates find beside the messages
   * @param {(prompt: Prompt) => Promise<number>} model.count tokens of a prompt, out of the queue
   * @param {import('../host.js').Host} host
   * @param {import('../host.js').ScriptUrl | undefined} workerUrl
   */
  constructor({ info, markers, variables, count }, host, workerUrl) {
    this.#info = info;
    this.#markers = markers;
    this.#variables = variables;
    this.#count = count;
    this.#templates = new TemplateRunner(host, workerUrl);
  }

  /** @param {QwenError} error */
  close(error) {
    this.#templates.close(error);
  }

  /**
   * Transformers' string.
   * @param {unknown} messages
   * @param {{ tools?: unknown[], add_generation_prompt: boolean, template?: string }} options
   */
  async text(messages, { tools, add_generation_prompt, template }) {
    const written = { messages: plainMessages(messages), tools: plainJson(tools ?? null, 'tools') };
    return this.#render(this.#template(template), written, add_generation_prompt);
  }

  /**
   * A conversation as a prompt in which marker text of messages and tools stays text.
   * @param {Record<string, any>[]} messages
   * @param {{ tools?: unknown[], template?: string, signal?: AbortSignal }} options
   * @param {boolean} addPrompt
   * @returns {Promise<Rendered>}
   */
  async #protected(messages, { tools, template, signal }, addPrompt) {
    const source = this.#template(template);
    const written = { messages: withParsedArguments(messages), tools: plainJson(tools ?? null, 'tools') };
    const { variables, mark } = protectMarkers(written, this.#markers, source);
    return takeMarks(await this.#render(source, variables, addPrompt, signal), mark);
  }

  /**
   * @param {string} template
   * @param {Record<string, unknown>} variables
   * @param {boolean} addPrompt
   * @param {AbortSignal} [signal]
   */
  #render(template, variables, addPrompt, signal) {
    const all = { ...this.#variables, ...variables, documents: null, add_generation_prompt: addPrompt };
    return this.#templates.render(template, all, signal);
  }

  /** @param {string | undefined} template */
  #template(template) {
    if (template !== undefined && typeof template !== 'string') throw qwenError('usage', 'template is not a text');
    return template === 'chatml' ? CHATML : (template ?? this.#info.chatTemplate ?? CHATML);
  }

  /**
   * The prompt of prefill() and countTokens().
   * @param {unknown} messages
   * @param {{ tools?: unknown[], signal?: AbortSignal }} options
   * @param {boolean} addPrompt
   */
  prompt(messages, options, addPrompt) {
    return this.#protected(plainMessages(messages), options, addPrompt);
  }

  /**
   * The prompt of chat().
   * @param {unknown} messages
   * @param {ChatOptions} options
   * @param {import('./generation.js').Settings} settings
   * @returns {Promise<Prompts>}
   */
  async chat(messages, options, { signal, max_new_tokens }) {
    const { tools, truncate = 'error', template, continue_final_message: goesOn = false } = options;
    if (truncate !== 'error' && truncate !== 'oldest-turns') {
      throw qwenError('usage', `truncate is ${JSON.stringify(truncate)}: 'error' or 'oldest-turns' is wanted`);
    }
    const plain = plainMessages(messages);
    const begun = goesOn ? begunAnswer(plain) : '';
    const make = async (/** @type {Record<string, any>[]} */ some) => {
      const asked = goesOn ? some.slice(0, -1) : some;
      return withText(await this.#protected(asked, { tools, template, signal }, true), begun, this.#markers);
    };
    const whole = await make(plain);
    const { rendered, notes } =
      truncate === 'error' ? { rendered: whole, notes: [] } : await this.#shortened(plain, whole, make, max_new_tokens);
    return { prompts: [{ text: wellFormed(rendered.text, 'a message', notes), blocked: rendered.blocked }], notes };
  }

  /**
   * The prompt with as few of the oldest turns left out as make room for the answer.
   * @param {Record<string, any>[]} messages
   * @param {Rendered} whole
   * @param {(messages: Record<string, any>[]) => Promise<Rendered>} make
   * @param {number | undefined} answer
   * @returns {Promise<{ rendered: Rendered, notes: string[] }>}
   */
  async #shortened(messages, whole, make, answer) {
    const { contextLength } = this.#info;
    const wanted = Math.max(answer ?? Math.floor(contextLength / 4), 1);
    const room = contextLength - Math.min(wanted, Math.floor(contextLength / 2));
    if ((await this.#count(whole)) <= room) return { rendered: whole, notes: [] };
    let most = 0;
    while (withoutOldest(messages, most + 1)) most++;
    if (most === 0) return { rendered: whole, notes: [] };
    // Fewest turns that make room lie in low .. high; where none do, all but the last go.
    let low = 1;
    let high = most;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const some = /** @type {Record<string, any>[]} */ (withoutOldest(messages, middle));
      if ((await this.#count(await make(some))) <= room) high = middle;
      else low = middle + 1;
    }
    const kept = /** @type {Record<string, any>[]} */ (withoutOldest(messages, low));
    const gone = messages.length - kept.length;
    const note = `the ${gone} oldest messages were left out to make room in the context of ${contextLength} tokens`;
    return { rendered: await make(kept), notes: [note] };
  }
}

/**
 * The answer that continue_final_message goes on with.
 * @param {Record<string, any>[]} messages
 * @returns {string}
 */
function begunAnswer(messages) {
  const last = messages[messages.length - 1];
  if (last?.role === 'assistant' && typeof last.content === 'string' && messages.length > 1) return last.content;
  throw qwenError(
    'usage',
    `continue_final_message goes on with an assistant's text as the last of several messages; the last is of role ${last?.role}`,
  );
}

/**
 * A prompt and the beginning of its answer. Marker text in that stays text, as in all that was said before.
 * @param {Rendered} prompt
 * @param {string} text
 * @param {string[]} markers
 * @returns {Rendered}
 */
function withText(prompt, text, markers) {
  if (!text) return prompt;
  const bytes = (/** @type {string} */ some) => new TextEncoder().encode(some).length;
  const start = bytes(prompt.text);
  const places = markers.flatMap((marker) => {
    const found = [];
    for (let i = text.indexOf(marker); i >= 0; i = text.indexOf(marker, i + 1))
      found.push(start + bytes(text.slice(0, i)));
    return found;
  });
  return { text: prompt.text + text, blocked: [...prompt.blocked, ...places.sort((a, b) => a - b)] };
}

/**
 * @param {unknown} input
 * @returns {input is Message[]}
 */
export const isMessages = (input) =>
  Array.isArray(input) && typeof input[0] === 'object' && input[0] !== null && 'role' in input[0];

/**
 * @param {unknown} text
 * @param {string} what
 */
export function checkedText(text, what) {
  if (typeof text === 'string') return text;
  throw qwenError('usage', `${what} is ${text === null ? 'null' : typeof text}, not text`);
}

/**
 * @param {number | bigint} id bigint: as tensors of other libraries have them
 * @param {() => string} what
 */
export function checkedId(id, what) {
  const number = typeof id === 'bigint' ? Number(id) : id;
  if (Number.isInteger(number) && Math.abs(number) <= 0x7fffffff) return number;
  throw qwenError('usage', `${what()} is not a token id`);
}

/**
 * @param {unknown} ids
 * @param {string} what
 */
export function checkedIds(ids, what) {
  const list = /** @type {ArrayLike<number>} */ (ids);
  if (typeof list !== 'object' || list === null || typeof list.length !== 'number') {
    throw qwenError('usage', `${what}: text or token ids are wanted, got ${ids === null ? 'null' : typeof ids}`);
  }
  return Int32Array.from(list, (id, i) => checkedId(id, () => `${what}: ${String(id)} at position ${i}`));
}

/**
 * @param {string | Ids | Array<string | Ids>} prompt
 * @returns {Prompts}
 */
export function textPrompts(prompt) {
  const isBatch = Array.isArray(prompt) && prompt.length > 0 && typeof prompt[0] !== 'number';
  const list = /** @type {(string | Ids)[]} */ (isBatch ? prompt : [prompt]);
  /** @type {string[]} */
  const notes = [];
  const prompts = list.map((one, i) => {
    if (typeof one === 'string') return { text: wellFormed(one, `prompt ${i}`, notes) };
    return { ids: checkedIds(one, `prompt ${i}`) };
  });
  return { prompts, notes };
}
