// The public Engine, on the page's side: arguments are checked and made plain here, the work is a worker's. Calls wait in one
// queue; a signal rejects its call at once, and the queue goes on when the worker has come to rest.
import { checkedChoices, mostProbable, scoreOf } from './choose.js';
import { AnswerParts, formOfCalls, readingOf } from './answer-parts.js';
import { attempt, park } from './attempts.js';
import { Call } from './call.js';
import { qwenError, throwIfAborted } from '../errors.js';
import { forwardRequest } from './forward.js';
import {
  formatAsText,
  GenerationRun,
  packSettings,
  StoppingRows,
  takenSettings,
  wellFormed,
  withSuggestion,
} from './generation.js';
import { begin } from './load-request.js';
import { plainMessages, plainTools } from './plain.js';
import { checkedIds, checkedText, Conversations, isMessages, textPrompts } from './prompts.js';
import { Queue } from './queue.js';
import { runTools } from './run-tools.js';

/**
 * @typedef {import('../types.js').ModelSource} ModelSource
 * @typedef {import('../types.js').LoadOptions} LoadOptions
 * @typedef {import('../types.js').ModelInfo} ModelInfo
 * @typedef {import('../types.js').Message} Message
 * @typedef {import('../types.js').Ids} Ids
 * @typedef {import('../types.js').ChatOptions} ChatOptions
 * @typedef {import('./generation.js').Settings} Settings
 * @typedef {import('./prompts.js').Prompts} Prompts
 * @typedef {import('../host.js').Host} Host
 */

/** What an engine is made of; load() alone makes one. */
class Parts {
  queue = new Queue();

  /**
   * @param {Host} host
   * @param {import('./connection.js').Connection} connection with a worker that has the model
   * @param {import('../protocol.js').Requests['load'][1]} loaded
   * @param {{ notes: string[], workerUrl: import('../host.js').ScriptUrl | undefined }} begun
   */
  constructor(host, connection, { info, specialTokens, templates, variables }, { notes, workerUrl }) {
    this.host = host;
    this.connection = connection;
    this.info = Object.freeze({ ...info, notes: [...notes, ...info.notes] });
    const model = { info: this.info, markers: specialTokens, templates, variables, count: this.#count.bind(this) };
    this.conversations = new Conversations(model, host, workerUrl);
  }

  /**
   * Tokens of a prompt, for a call whose turn in the queue it is.
   * @param {import('../protocol.js').Prompt} prompt
   */
  async #count(prompt) {
    const [ids] = await this.connection.request('tokenize', { prompts: [prompt], parseSpecial: true }).done;
    return ids.length;
  }
}

export class Engine {
  /**
   * What differs between a page and Node; index.js and node.js set it.
   * @type {Host}
   */
  static host;

  #parts;

  /** @param {Parts} [parts] */
  constructor(parts) {
    if (!(parts instanceof Parts))
      throw qwenError('usage', 'new Engine() has no model: await Engine.load(source) gives an engine');
    this.#parts = parts;
  }

  /**
   * Loads a model; the engine is ready when it resolves.
   * @param {ModelSource} source
   * @param {LoadOptions} [options]
   * @returns {Promise<Engine>}
   */
  static async load(source, options = {}) {
    const begun = await begin(this.host, source, options);
    const { connection, answer, notes } = await attempt(
      'load',
      begun,
      { onProgress: options.onProgress },
      options.signal,
    );
    return new this(new Parts(this.host, connection, answer, { notes, workerUrl: begun.workerUrl }));
  }

  /**
   * What load() would fetch and need; fetches only headers.
   * @param {ModelSource} source
   * @param {LoadOptions} [options]
   * @returns {Promise<import('../types.js').MemoryPlan>}
   */
  static async plan(source, options = {}) {
    const begun = await begin(this.host, source, options);
    const { connection, answer } = await attempt('plan', begun, {}, options.signal);
    park(begun, connection);
    return answer;
  }

  get info() {
    return this.#parts.info;
  }

  // ---- text

  /**
   * @overload
   * @param {string} text
   * @param {{ parse_special?: boolean }} [options] parse_special: text such as <|im_start|> becomes its id (default true)
   * @returns {Promise<Int32Array>}
   */
  /**
   * @overload
   * @param {string[]} text a batch is left-padded to its longest row
   * @param {{ parse_special?: boolean }} [options]
   * @returns {Promise<{ input_ids: number[][], attention_mask: number[][] }>}
   */
  /**
   * @param {string | string[]} text
   * @param {{ parse_special?: boolean }} [options]
   * @returns {Promise<any>}
   */
  async tokenize(text, { parse_special = true } = {}) {
    const texts = Array.isArray(text) ? text : [text];
    const prompts = texts.map((one, i) => ({ text: wellFormed(checkedText(one, `text ${i}`), 'the text', []) }));
    const rows = await this.#request('tokenize', { prompts, parseSpecial: parse_special });
    return Array.isArray(text) ? padded(rows, this.info.padTokenId ?? this.info.eosTokenIds[0] ?? 0) : rows[0];
  }

  /**
   * Which of some texts is the most probable answer. All are scored, each with the end of the answer behind it; nothing is
   * sampled, and the prompt is read once.
   * @param {string | Message[]} input messages: as chat() would send them
   * @param {string[]} choices
   * @param {{ per?: 'text' | 'token', signal?: AbortSignal }} [options] per 'token': by the mean over a choice's tokens
   * @returns {Promise<import('../types.js').Choice>}
   */
  async choose(input, choices, { per = 'text', signal } = {}) {
    throwIfAborted(signal);
    this.#checkOpen();
    const texts = checkedChoices(choices, per);
    const prompt = isMessages(input)
      ? await this.#parts.conversations.prompt(input, { signal }, true)
      : textPrompts(input).prompts[0];
    const [begun, ...answers] = await this.#request('tokenize', {
      prompts: [prompt, ...texts.map((text, i) => ({ text: wellFormed(text, `choices[${i}]`, []) }))],
      parseSpecial: true,
    });
    const scored = [];
    for (const answer of answers) {
      const ids = Int32Array.from([...answer, ...this.info.eosTokenIds.slice(0, 1)]);
      const input_ids = [Int32Array.from([...begun, ...ids.subarray(0, -1)])];
      const { logits } = await this.forward({ input_ids, logits_to_keep: ids.length, signal });
      scored.push(scoreOf(logits, ids, this.info.vocabSize));
    }
    return mostProbable(texts, scored, per);
  }

  /**
   * What of a response_format can be held, before any answer: of a schema everything that cannot, by pointers into it.
   * @param {import('../types.js').ResponseFormat} response_format
   * @returns {Promise<import('../types.js').FormatReport>}
   */
  async checkFormat(response_format) {
    return this.#request('checkFormat', { format: formatAsText(response_format) });
  }

  /**
   * @param {Ids} ids
   * @param {{ skip_special_tokens?: boolean }} [options]
   * @returns {Promise<string>}
   */
  async detokenize(ids, { skip_special_tokens = false } = {}) {
    return this.#request('detokenize', { ids: checkedIds(ids, 'ids'), skipSpecial: skip_special_tokens });
  }

  /**
   * The model's own template's text, as Transformers renders it: nothing is escaped. ChatML where the model has none.
   * @param {Message[]} messages
   * @param {{ tools?: unknown[], add_generation_prompt?: boolean, template?: string }} [options]
   * @returns {Promise<string>}
   */
  async applyChatTemplate(messages, { tools, add_generation_prompt = false, template } = {}) {
    this.#checkOpen();
    return this.#parts.conversations.text(messages, { tools, add_generation_prompt, template });
  }

  /**
   * Tokens of a text, or of a conversation as chat() would send it.
   * @param {string | Message[]} input
   * @returns {Promise<number>}
   */
  async countTokens(input) {
    if (typeof input === 'string') return (await this.tokenize(input)).length;
    this.#checkOpen();
    const prompt = await this.#parts.conversations.prompt(input, {}, true);
    const [ids] = await this.#request('tokenize', { prompts: [prompt], parseSpecial: true });
    return ids.length;
  }

  // ---- jobs

  /**
   * The bare model: logits (and hidden states) of given ids.
   * @param {import('../types.js').ForwardInput} input
   * @returns {Promise<import('../types.js').ForwardOutput>}
   */
  async forward(input) {
    throwIfAborted(input.signal);
    const { request, shape } = forwardRequest(input, this.info);
    const { logits, hidden } = await this.#request('forward', request, input.signal);
    return request.hidden ? { logits, shape, hidden } : { logits, shape };
  }

  /**
   * One prompt or a batch, as text or ids. Text is taken as it is: no template.
   * @param {string | Ids | Array<string | Ids>} prompt
   * @param {Settings} [settings]
   * @returns {import('../types.js').Generation}
   */
  generate(prompt, settings = {}) {
    return this.#run(() => {
      const prompts = textPrompts(prompt);
      return { settings: takenSettings(settings), chat: false, makePrompts: async () => prompts };
    });
  }

  /**
   * Chat: template, then generation to EOS or the end of the context. Text inside messages that looks like a special token stays
   * text: a visitor cannot forge a turn.
   * @param {Message[]} messages
   * @param {Settings & ChatOptions} [settings]
   * @returns {import('../types.js').Generation}
   */
  chat(messages, settings = {}) {
    return this.#run(() => {
      const { tools, truncate, template, continue_final_message, ...more } = takenSettings(settings);
      const { tool_choice, parallel_tool_calls, tool_parsing, thinking, ...rest } = more;
      const plain = plainMessages(messages, true);
      const given = plainTools(tools);
      const options = { tools: given ?? undefined, truncate, template, continue_final_message };
      const reading = readingOf({ tool_choice, parallel_tool_calls, tool_parsing, thinking }, given);
      const form = formOfCalls({ tool_choice, parallel_tool_calls }, given, reading, rest.response_format);
      const makePrompts = () => this.#parts.conversations.chat(plain, options, rest);
      return { settings: form ? { ...rest, response_format: form } : rest, chat: true, makePrompts, reading };
    });
  }

  /**
   * Chat rounds until the model calls no more tools: each call's execute runs, its result becomes a tool's turn.
   * @param {Message[]} messages
   * @param {import('../types.js').RunnableTool[]} tools
   * @param {import('../types.js').RunToolsSettings} [settings]
   * @returns {Promise<{ messages: Message[], result: import('../types.js').Result }>} messages: with all that was said
   */
  runTools(messages, tools, settings = {}) {
    return runTools((said, how) => this.chat(said, how), messages, tools, settings);
  }

  /**
   * Reads a prompt into the KV cache ahead of time; the next call that starts with it skips that part.
   * @param {string | Ids | Message[]} input messages are rendered without generation prompt
   * @param {{ tools?: unknown[], signal?: AbortSignal }} [options]
   * @returns {Promise<{ tokens: number }>}
   */
  async prefill(input, { tools, signal } = {}) {
    throwIfAborted(signal);
    this.#checkOpen();
    const prompt = isMessages(input)
      ? await this.#parts.conversations.prompt(input, { tools, signal }, false)
      : textPrompts(input).prompts[0];
    return this.#request('prefill', { prompt }, signal);
  }

  /**
   * Ends the worker and frees all memory; what is running rejects with 'closed'.
   * @returns {Promise<void>}
   */
  async close() {
    this.#parts.conversations.close(closedError());
    await this.#parts.connection.close(closedError());
  }

  /** @returns {Promise<void>} */
  [Symbol.asyncDispose]() {
    return this.close();
  }

  // ---- the worker

  #checkOpen() {
    if (this.#parts.connection.ended) throw this.#parts.connection.ended;
  }

  /** @param {AbortSignal} [signal] */
  #newCall(signal) {
    const { queue, connection } = this.#parts;
    return new Call(queue, connection, signal);
  }

  /**
   * A request when its turn has come.
   * @template {keyof import('../protocol.js').Requests} T
   * @param {T} type
   * @param {import('../protocol.js').Requests[T][0]} payload
   * @param {AbortSignal} [signal]
   * @returns {Promise<import('../protocol.js').Requests[T][1]>}
   */
  #request(type, payload, signal) {
    this.#checkOpen();
    const call = this.#newCall(signal);
    return call.run(() => call.send(type, payload));
  }

  /**
   * @typedef {object} Run
   * @property {Settings} settings
   * @property {boolean} chat
   * @property {() => Promise<Prompts>} makePrompts
   * @property {import('./answer-parts.js').Reading} [reading] how a conversation's answer is read
   */

  /**
   * @param {() => Run} take what the call gave, at once
   */
  #run(take) {
    const called = performance.now();
    const run = new GenerationRun(async (port) => {
      const given = take();
      const call = this.#newCall(given.settings.signal);
      port.onLeave(() => call.cancel('soft'));
      return call.run(() => this.#generate(call, given, port, performance.now() - called));
    });
    run.result.catch(() => {}); // the iterator reports it too
    return run;
  }

  /**
   * A generation whose turn has come.
   * @param {Call} call
   * @param {Run} run
   * @param {import('./generation.js').RunPort} port
   * @param {number} queue milliseconds that the call waited
   */
  async #generate(call, run, port, queue) {
    this.#checkOpen();
    const { settings } = run;
    const { request, notes } = await this.#generateRequest(run);
    const stopping = settings.stopping ? new StoppingRows(settings.stopping) : null;
    const [prompt] = request.prompts;
    const parts = run.reading ? new AnswerParts(run.reading, 'text' in prompt ? prompt.text : '') : null;
    const onChunks = (/** @type {import('../types.js').Chunk[]} */ chunks, /** @type {boolean} */ ask) => {
      port.push(parts ? parts.take(chunks) : chunks);
      const end = stopping?.ended(chunks) ?? [];
      if (stopping?.fault) call.cancel('hard');
      else if (ask) call.decide(end);
    };
    try {
      const told = await call.send('generate', request, { onChunks, onProgress: settings.onProgress });
      const { result, rest } = parts ? parts.finish(told) : { result: told, rest: [] };
      if (rest.length) port.push(rest);
      return { ...result, notes: [...notes, ...result.notes], timings: { ...result.timings, queue } };
    } catch (error) {
      throw stopping?.fault ?? withSuggestion(error, settings);
    }
  }

  /**
   * @param {Run} run
   * @returns {Promise<{ request: import('../protocol.js').GenerateRequest, notes: string[] }>}
   */
  async #generateRequest({ settings, chat, makePrompts }) {
    const { stopping, logits_processor } = settings;
    const defaults = this.info.generationConfig;
    const custom = logits_processor !== undefined && logits_processor !== null;
    const packed = packSettings(settings, { custom, chat, fileStops: defaults.stop_strings });
    const { prompts, notes } = await makePrompts();
    const processor = custom ? this.#processorUrl(logits_processor) : null;
    const seconds = settings.max_time ?? defaults.max_time;
    const maxTime = typeof seconds === 'number' ? seconds : Infinity;
    const { json, stops } = packed;
    return {
      request: { prompts, settings: json, stops, maxTime, ask: Boolean(stopping), processor },
      notes: [...packed.notes, ...notes],
    };
  }

  /** @param {string | URL} text */
  #processorUrl(text) {
    const { host } = this.#parts;
    const url = new URL(host.resolveUrl(String(text)));
    if (host.isPage && url.origin !== globalThis.location?.origin) {
      throw qwenError(
        'usage',
        `logits_processor ${url.href} is of another origin than the page: serve it with the page`,
      );
    }
    return url.href;
  }
}

const closedError = () => qwenError('closed', 'the engine was closed');

/**
 * @param {Int32Array[]} rows
 * @param {number} pad
 */
function padded(rows, pad) {
  const width = Math.max(0, ...rows.map((row) => row.length));
  const fill = (/** @type {number} */ n, /** @type {number} */ value) => new Array(n).fill(value);
  return {
    input_ids: rows.map((row) => [...fill(width - row.length, pad), ...row]),
    attention_mask: rows.map((row) => [...fill(width - row.length, 0), ...fill(row.length, 1)]),
  };
}
