// The public Engine, on the page's side: arguments are checked and made plain here, the work is a worker's. Calls wait in one
// queue; a signal rejects its call at once, and the queue goes on when the worker has come to rest.
import { plainMessages } from './chat.js';
import { Connection } from './connection.js';
import { chooseBuild, requireSimd } from './env.js';
import { messageOf, orAborted, QwenError, qwenError, throwIfAborted, toQwenError } from '../errors.js';
import { forwardRequest } from './forward.js';
import {
  cancellable,
  GenerationRun,
  packSettings,
  stoppingRows,
  takenSettings,
  wellFormed,
  withSuggestion,
} from './generation.js';
import { checkedIds, checkedText, Conversations, isMessages, textPrompts } from './prompts.js';
import { ENGINE_WORKER } from '../protocol.js';
import { Queue } from './queue.js';
import { plainSource } from '../weights/source.js';

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

const LOAD_OPTIONS = [
  'contextLength',
  'maxRows',
  'threads',
  'simd',
  'kvType',
  'quantize',
  'cache',
  'sha256',
  'token',
  'signal',
  'onProgress',
  'workerUrl',
  'wasmUrl',
];

export class Engine {
  /**
   * What differs between a page and Node; index.js and node.js set it.
   * @type {Host}
   */
  static host;

  /** @type {Host} */
  #host = /** @type {any} */ (undefined);
  #queue = new Queue();
  /** @type {Connection} */
  #connection = /** @type {any} */ (undefined);
  /** @type {Conversations} */
  #conversations = /** @type {any} */ (undefined);
  /** @type {ModelInfo} */
  #info = /** @type {any} */ (undefined);

  /**
   * Loads a model; the engine is ready when it resolves.
   * @param {ModelSource} source
   * @param {LoadOptions} [options]
   * @returns {Promise<Engine>}
   */
  static async load(source, options = {}) {
    const engine = new this();
    await engine.#load(this.host, source, options);
    return engine;
  }

  /**
   * What load() would fetch and need; fetches only headers.
   * @param {ModelSource} source
   * @param {LoadOptions} [options]
   * @returns {Promise<import('../types.js').MemoryPlan>}
   */
  static async plan(source, options = {}) {
    const { connection, request } = begin(this.host, source, options);
    try {
      return await orAborted(connection.request('plan', request).done, options.signal);
    } finally {
      connection.close(closedError());
    }
  }

  /**
   * @param {Host} host
   * @param {ModelSource} source
   * @param {LoadOptions} options
   */
  async #load(host, source, options) {
    const { connection, request, notes, workerUrl } = begin(host, source, options);
    const { signal, onProgress } = options;
    try {
      const done = connection.request('load', request, { onProgress: guarded(onProgress) }).done;
      const { info, specialTokens, variables } = await orAborted(done, signal);
      this.#info = Object.freeze({ ...info, notes: [...notes, ...info.notes] });
      const model = { info: this.#info, markers: specialTokens, variables, count: this.#count.bind(this) };
      this.#conversations = new Conversations(model, host, workerUrl);
    } catch (error) {
      connection.close(toQwenError(error));
      throw error;
    }
    this.#host = host;
    this.#connection = connection;
  }

  get info() {
    return this.#info;
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
    const rows = await this.#call('tokenize', { prompts, parseSpecial: parse_special });
    return Array.isArray(text) ? padded(rows, this.#info.padTokenId ?? this.#info.eosTokenIds[0] ?? 0) : rows[0];
  }

  /**
   * @param {Ids} ids
   * @param {{ skip_special_tokens?: boolean }} [options]
   * @returns {Promise<string>}
   */
  async detokenize(ids, { skip_special_tokens = false } = {}) {
    return this.#call('detokenize', { ids: checkedIds(ids, 'ids'), skipSpecial: skip_special_tokens });
  }

  /**
   * The model's own template's text, as Transformers renders it: nothing is escaped. ChatML where the model has none.
   * @param {Message[]} messages
   * @param {{ tools?: unknown[], add_generation_prompt?: boolean, template?: string }} [options]
   * @returns {Promise<string>}
   */
  async applyChatTemplate(messages, { tools, add_generation_prompt = false, template } = {}) {
    this.#checkOpen();
    return this.#conversations.text(messages, { tools, add_generation_prompt, template });
  }

  /**
   * Tokens of a text, or of a conversation as chat() would send it.
   * @param {string | Message[]} input
   * @returns {Promise<number>}
   */
  async countTokens(input) {
    if (typeof input === 'string') return (await this.tokenize(input)).length;
    this.#checkOpen();
    const prompt = await this.#conversations.prompt(input, {}, true);
    const [ids] = await this.#call('tokenize', { prompts: [prompt], parseSpecial: true });
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
    const { request, shape } = forwardRequest(input, this.#info);
    const { logits, hidden } = await this.#call('forward', request, input.signal);
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
      const { tools, truncate, template, ...rest } = takenSettings(settings);
      const plain = plainMessages(messages);
      const makePrompts = () => this.#conversations.chat(plain, { tools, truncate, template }, rest);
      return { settings: rest, chat: true, makePrompts };
    });
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
      ? await this.#conversations.prompt(input, { tools, signal }, false)
      : textPrompts(input).prompts[0];
    return this.#call('prefill', { prompt }, signal);
  }

  /**
   * Ends the worker and frees all memory; what is running rejects with 'closed'.
   * @returns {Promise<void>}
   */
  async close() {
    this.#conversations.close(closedError());
    await this.#connection.close(closedError());
  }

  /** @returns {Promise<void>} */
  [Symbol.asyncDispose]() {
    return this.close();
  }

  // ---- the worker

  /**
   * Tokens of a prompt, for a call whose turn in the queue it is.
   * @param {import('../protocol.js').Prompt} prompt
   */
  async #count(prompt) {
    const [ids] = await this.#connection.request('tokenize', { prompts: [prompt], parseSpecial: true }).done;
    return ids.length;
  }

  #checkOpen() {
    if (this.#connection.ended) throw this.#connection.ended;
  }

  /**
   * A request when its turn has come.
   * @template {keyof import('../protocol.js').Requests} T
   * @param {T} type
   * @param {import('../protocol.js').Requests[T][0]} payload
   * @param {AbortSignal} [signal]
   * @returns {Promise<import('../protocol.js').Requests[T][1]>}
   */
  #call(type, payload, signal) {
    this.#checkOpen();
    let id = 0;
    const done = this.#queue.run(async () => {
      throwIfAborted(signal);
      const request = this.#connection.request(type, payload);
      id = request.id;
      return request.done;
    });
    done.catch(() => {}); // an aborted call's late end is nobody's
    return cancellable({ done, cancel: () => this.#connection.remark({ type: 'cancel', id, soft: false }) }, signal);
  }

  /** @param {() => { settings: Settings, chat: boolean, makePrompts: () => Promise<Prompts> }} take what the call gave, at once */
  #run(take) {
    const called = performance.now();
    const run = new GenerationRun(async (port) => {
      const { settings, chat, makePrompts } = take();
      const { signal } = settings;
      throwIfAborted(signal);
      let id = 0;
      const done = this.#queue.run(async () => {
        throwIfAborted(signal);
        const queue = performance.now() - called;
        const started = await this.#start(settings, chat, makePrompts, port);
        id = started.id;
        port.onLeave(() => this.#connection.remark({ type: 'cancel', id, soft: true }));
        if (port.left()) this.#connection.remark({ type: 'cancel', id, soft: true });
        if (signal?.aborted) this.#connection.remark({ type: 'cancel', id, soft: false });
        const result = await started.done;
        return { ...result, notes: [...started.notes, ...result.notes], timings: { ...result.timings, queue } };
      });
      done.catch(() => {});
      return cancellable({ done, cancel: () => this.#connection.remark({ type: 'cancel', id, soft: false }) }, signal);
    });
    run.result.catch(() => {}); // the iterator reports it too
    return run;
  }

  /**
   * Sends a generation to the worker.
   * @param {Settings} settings
   * @param {boolean} chat
   * @param {() => Promise<Prompts>} makePrompts
   * @param {import('./generation.js').RunPort} port
   */
  async #start(settings, chat, makePrompts, port) {
    this.#checkOpen();
    const { stopping, logits_processor, onProgress } = settings;
    const defaults = this.#info.generationConfig;
    const custom = logits_processor !== undefined && logits_processor !== null;
    const packed = packSettings(settings, { custom, chat, fileStops: defaults.stop_strings });
    const { prompts, notes } = await makePrompts();
    throwIfAborted(settings.signal);
    const processor = custom ? this.#processorUrl(logits_processor) : null;
    const seconds = settings.max_time ?? defaults.max_time;
    const maxTime = typeof seconds === 'number' ? seconds : Infinity;
    const ask = stopping ? stoppingRows(stopping) : null;
    /** @type {QwenError | null} */
    let fault = null;
    const onChunks = (/** @type {import('../types.js').Chunk[]} */ chunks, /** @type {boolean} */ asked) => {
      port.push(chunks);
      if (!ask) return;
      try {
        const end = fault ? [] : ask(chunks);
        if (asked) this.#connection.remark({ type: 'verdict', end });
      } catch (error) {
        fault = qwenError('usage', `stopping threw: ${messageOf(error)}`, error);
        this.#connection.remark({ type: 'cancel', id: request.id, soft: false });
      }
    };
    const { json, stops } = packed;
    const request = this.#connection.request(
      'generate',
      { prompts, settings: json, stops, maxTime, ask: Boolean(ask), processor },
      { onChunks, onProgress: guarded(onProgress) },
    );
    const done = request.done.catch((error) => {
      throw fault ?? withSuggestion(error, settings);
    });
    return { id: request.id, done, notes: [...packed.notes, ...notes] };
  }

  /** @param {string | URL} text */
  #processorUrl(text) {
    const url = new URL(this.#host.resolveUrl(String(text)));
    if (this.#host.isPage && url.origin !== globalThis.location?.origin) {
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
 * A caller's callback must not break the messages that call it: what it throws is reported as any uncaught error.
 * @template A
 * @param {((value: A) => void) | undefined} callback
 * @returns {((value: A) => void) | undefined}
 */
function guarded(callback) {
  if (!callback) return undefined;
  if (typeof callback !== 'function') throw qwenError('usage', `onProgress is a ${typeof callback}, not a function`);
  return (value) => {
    try {
      callback(value);
    } catch (error) {
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

/**
 * Checks what load() and plan() are given and starts the worker.
 * @param {Host} host
 * @param {ModelSource} source
 * @param {LoadOptions} options
 */
function begin(host, source, options) {
  throwIfAborted(options.signal);
  requireSimd();
  for (const key of Object.keys(options)) {
    if (!LOAD_OPTIONS.includes(key))
      throw qwenError('usage', `${key} is no load option (known: ${LOAD_OPTIONS.join(', ')})`);
  }
  const { contextLength, maxRows, kvType, quantize, cache = 'auto', sha256, token, workerUrl } = options;
  // The C tests' own choice, which multiplies the memory.
  if (/** @type {string | undefined} */ (quantize) === 'f32')
    throw qwenError('usage', 'quantize is "f32": one of "none", "q8_0" and "q4_0" is wanted');
  const { source: plain, pageFiles } = plainSource(source, host.resolveUrl);
  const { wasm, notes } = chooseBuild(options, host);
  const url = workerUrl === undefined ? undefined : host.resolveUrl(String(workerUrl));
  const engine = JSON.parse(JSON.stringify({ contextLength, maxRows, kvType, quantize }));
  const request = { source: plain, wasm, engine, cache, sha256: lowerCased(sha256), token };
  const connection = new Connection(host, ENGINE_WORKER, { url, pageFiles });
  return { connection, request, notes, workerUrl: url };
}

/**
 * @param {LoadOptions['sha256']} sha256
 * @returns {LoadOptions['sha256']}
 */
function lowerCased(sha256) {
  const check = (/** @type {unknown} */ hash) => {
    if (typeof hash === 'string' && /^[0-9a-f]{64}$/i.test(hash)) return hash.toLowerCase();
    throw qwenError('usage', `sha256 is ${JSON.stringify(hash)}, not 64 hexadecimal digits`);
  };
  if (sha256 === undefined) return undefined;
  if (typeof sha256 !== 'object' || sha256 === null) return check(sha256);
  return Object.fromEntries(Object.entries(sha256).map(([name, hash]) => [name, check(hash)]));
}

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
