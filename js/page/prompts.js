// What callers give as a prompt (text, ids, messages) as what the worker takes; conversations go through their template here.
import { CHATML, developerAsSystem, withoutOldest, withParsedArguments } from './chat.js';
import { QwenError, qwenError } from '../errors.js';
import { wellFormed } from './generation.js';
import { protectMarkers, takeMarks } from './marks.js';
import { plainMessages, plainTools, withoutNulls } from './plain.js';
import { TemplateRunner, TOO_LONG } from './template-runner.js';
import { Probe } from './traces.js';

/**
 * @typedef {import('../types.js').Message} Message
 * @typedef {import('../types.js').Ids} Ids
 * @typedef {import('../types.js').ChatOptions} ChatOptions
 * @typedef {import('../protocol.js').Prompt} Prompt
 * @typedef {{ prompts: Prompt[], notes: string[] }} Prompts plain prompts and remarks about them
 * @typedef {{ text: string, blocked: number[], notes?: string[] }} Rendered
 * @typedef {{ source: string, addPrompt: boolean, signal: AbortSignal | undefined }} Rendering
 */

/** Conversations of one engine: its template, its special tokens, and the worker that renders. */
export class Conversations {
  #info;
  #markers;
  #named;
  #variables;
  #count;
  #templates;

  /**
   * @param {object} model
   * @param {import('../types.js').ModelInfo} model.info
   * @param {string[]} model.markers texts that must not become tokens where people wrote them
   * @param {Record<string, string>} model.templates those that have a name
   * @param {Record<string, string>} model.variables what templates find beside the messages
   * @param {(prompt: Prompt) => Promise<number>} model.count tokens of a prompt, out of the queue
   * @param {import('../host.js').Host} host
   * @param {import('../host.js').ScriptUrl | undefined} workerUrl
   */
  constructor({ info, markers, templates, variables, count }, host, workerUrl) {
    this.#info = info;
    this.#markers = markers;
    this.#named = new Map(Object.entries(templates));
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
    const rendering = this.#rendering({ tools, template }, add_generation_prompt);
    return firstThatRenders(withNullsOrWithout(plainMessages(messages, true)), (some) =>
      this.#render(rendering, { messages: some, tools: plainTools(tools) }),
    );
  }

  /**
   * A conversation as a prompt in which marker text of messages and tools stays text.
   * @param {Record<string, any>[]} messages with nulls
   * @param {{ tools?: unknown, template?: string, signal?: AbortSignal }} options
   * @param {boolean} addPrompt
   * @returns {Promise<Rendered>}
   */
  async #protected(messages, options, addPrompt) {
    const rendering = this.#rendering(options, addPrompt);
    const tools = plainTools(options.tools);
    const ways = withNullsOrWithout(messages).flatMap((some) =>
      some.some(({ role }) => role === 'developer') ? [some, developerAsSystem(some)] : [some],
    );
    return firstThatRenders(ways, (some) => this.#withTraces(rendering, { messages: some, tools }));
  }

  /**
   * The prompt, and notes of what left no trace in it.
   * @param {Rendering} rendering
   * @param {import('./traces.js').Written} written
   * @returns {Promise<Rendered>}
   */
  async #withTraces(rendering, { messages, tools }) {
    let written = { messages, tools };
    let probe = await this.#probed(rendering, written);
    if (probe?.losesDeveloper) {
      written = { messages: developerAsSystem(messages), tools };
      probe = await this.#probed(rendering, written);
    }
    if (probe?.losesAllTools) {
      throw qwenError(
        'usage',
        `the ${tools?.length} tools leave no trace in the prompt: the chat template does not mention tools; ` +
          `describe them in a system message, or give a template that knows them`,
      );
    }
    const parsed = withParsedArguments(written.messages, (message, call) => probe?.writesText(message, call) ?? false);
    const hasCalls = written.messages.some(({ tool_calls }) => tool_calls);
    const rendered = await firstThatRenders(
      hasCalls ? [parsed, written.messages] : [written.messages],
      (some) => this.#guarded(rendering, { messages: some, tools }),
      'model',
    );
    return { ...rendered, notes: probe?.notes() ?? [] };
  }

  /**
   * A probe that was rendered; null where the template does not take it.
   * @param {Rendering} rendering
   * @param {import('./traces.js').Written} written
   */
  async #probed(rendering, written) {
    const probe = new Probe(written, rendering.source);
    try {
      probe.read(await this.#render(rendering, probe.variables));
      return probe;
    } catch (error) {
      if (isRefusal(error, 'usage') || isRefusal(error, 'model')) return null;
      throw error;
    }
  }

  /**
   * @param {Rendering} rendering
   * @param {import('./traces.js').Written} written
   * @returns {Promise<Rendered>}
   */
  async #guarded(rendering, written) {
    const { variables, marks } = protectMarkers(written, this.#markers, rendering.source);
    return takeMarks(await this.#render(rendering, variables), marks);
  }

  /**
   * @param {Rendering} rendering
   * @param {Record<string, unknown>} variables
   */
  #render({ source, addPrompt, signal }, variables) {
    const all = { ...this.#variables, ...variables, documents: null, add_generation_prompt: addPrompt };
    return this.#templates.render(source, all, signal);
  }

  /**
   * @param {{ tools?: unknown, template?: string, signal?: AbortSignal }} options
   * @param {boolean} addPrompt
   * @returns {Rendering}
   */
  #rendering({ template, tools, signal }, addPrompt) {
    return { source: this.#template(template, Boolean(tools)), addPrompt, signal };
  }

  /**
   * As Transformers chooses one of several: that for tools where there are tools.
   * @param {unknown} template
   * @param {boolean} tools
   */
  #template(template, tools) {
    const own = this.#info.chatTemplate ?? CHATML;
    if (template === undefined || template === null) return (tools && this.#named.get('tool_use')) || own;
    if (typeof template !== 'string') throw qwenError('usage', 'template is not a text');
    const named = this.#named.get(template);
    if (named !== undefined) return named;
    if (template === 'default') return own;
    if (template === 'chatml') return CHATML;
    if (!/^[\w.-]+$/.test(template)) return template;
    const names = ['default', 'chatml', ...this.#named.keys()].join(', ');
    throw qwenError('usage', `template is "${template}", which is no template and none of the names ${names}`);
  }

  /**
   * The prompt of prefill() and countTokens().
   * @param {unknown} messages
   * @param {{ tools?: unknown[], signal?: AbortSignal }} options
   * @param {boolean} addPrompt
   */
  prompt(messages, options, addPrompt) {
    return this.#protected(plainMessages(messages, true), options, addPrompt);
  }

  /**
   * The prompt of chat().
   * @param {Record<string, any>[]} plain messages with nulls
   * @param {ChatOptions} options
   * @param {import('./generation.js').Settings} settings
   * @returns {Promise<Prompts>}
   */
  async chat(plain, options, { signal, max_new_tokens }) {
    const { tools, truncate = 'error', template, continue_final_message: goesOn = false } = options;
    if (truncate !== 'error' && truncate !== 'oldest-turns') {
      throw qwenError('usage', `truncate is ${JSON.stringify(truncate)}: 'error' or 'oldest-turns' is wanted`);
    }
    const begun = goesOn ? begunAnswer(plain) : '';
    const make = async (/** @type {Record<string, any>[]} */ some) => {
      const asked = goesOn ? some.slice(0, -1) : some;
      return withText(await this.#protected(asked, { tools, template, signal }, true), begun, this.#markers);
    };
    const whole = await make(plain);
    const { rendered, notes } =
      truncate === 'error' ? { rendered: whole, notes: [] } : await this.#shortened(plain, whole, make, max_new_tokens);
    const all = [...notes, ...(rendered.notes ?? [])];
    return { prompts: [{ text: wellFormed(rendered.text, 'a message', all), blocked: rendered.blocked }], notes: all };
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
 * Messages as Transformers gives them to a template; where that cannot be rendered, with nulls kept as others do.
 * @param {Record<string, any>[]} messages
 */
function withNullsOrWithout(messages) {
  const hasNulls = messages.some((message) => Object.values(message).includes(null));
  return hasNulls ? [withoutNulls(messages), messages] : [messages];
}

/**
 * Whether a template did not take what it was given.
 * @param {unknown} error
 * @param {import('../errors.js').ErrorCode} code 'usage': it says so or needs a key that is missing; 'model': it failed
 */
const isRefusal = (error, code) => error instanceof QwenError && error.code === code && error.message !== TOO_LONG;

/**
 * What the first of several ways to give messages to a template comes to; the first one's error where it takes none.
 * @template T
 * @param {Record<string, any>[][]} ways
 * @param {(messages: Record<string, any>[]) => Promise<T>} render
 * @param {import('../errors.js').ErrorCode} [refusal] the error that lets the next way be tried
 * @returns {Promise<T>}
 */
async function firstThatRenders(ways, render, refusal = 'usage') {
  let first;
  for (const way of ways) {
    try {
      return await render(way);
    } catch (error) {
      first ??= error;
      const isTemplates = isRefusal(error, 'usage') || isRefusal(error, 'model');
      if (!isRefusal(error, refusal)) throw isTemplates ? first : error;
    }
  }
  throw first;
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
  return { ...prompt, text: prompt.text + text, blocked: [...prompt.blocked, ...places.sort((a, b) => a - b)] };
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
