// A run of generate() or chat() as the caller holds it: an iterator of chunks with a result, and the settings on their way to
// C. Chunks wait here until someone iterates.
import { messageOf, qwenError } from '../errors.js';
import { nearName } from '../names.js';
import { SETTINGS } from '../settings.js';

/** @typedef {import('../errors.js').QwenError} QwenError */

/** @typedef {import('../types.js').Chunk} Chunk */
/** @typedef {import('../types.js').Result} Result */
/** @typedef {import('../types.js').GenerationSettings & import('../types.js').RunOptions} Settings */

/** RunOptions that stay in JavaScript. */
const OWN_KEYS = ['stop_strings', 'logits_processor', 'stopping', 'signal', 'onProgress'];

/** Keys by which JavaScript tells C of the call; a caller has none of them. */
const INNER_KEYS = ['custom_processor', 'chat'];

/**
 * What run() needs of a Generation.
 * @typedef {object} RunPort
 * @property {(chunks: Chunk[]) => void} push
 * @property {(cancel: () => void) => void} onLeave what to do when the consumer leaves the loop
 */

/** @typedef {import('../types.js').Generation} Generation */

/** @implements {Generation} */
export class GenerationRun {
  #result;
  /** @type {Chunk[]} */
  #chunks = [];
  /** @type {QwenError | null} */
  #error = null;
  #ended = false;
  #left = false;
  #taken = false;
  /** @type {(() => void)[]} Calls of next() that wait. */
  #waiting = [];
  /** @type {(() => void) | null} */
  #cancel = null;

  /** @param {(port: RunPort) => Promise<Result>} run starts at once */
  constructor(run) {
    const port = {
      push: (/** @type {Chunk[]} */ chunks) => {
        if (!this.#left) this.#chunks.push(...chunks);
        this.#wake();
      },
      onLeave: (/** @type {() => void} */ cancel) => (this.#cancel = cancel),
    };
    this.#result = run(port);
    this.#result.then(
      () => this.#end(null),
      (error) => this.#end(error),
    );
  }

  /** @returns {Promise<Result>} */
  get result() {
    return this.#result;
  }

  /** @returns {AsyncIterator<Chunk, undefined, undefined>} */
  [Symbol.asyncIterator]() {
    this.#take();
    return {
      next: () => this.#next(),
      return: async () => {
        this.#leave();
        return { done: true, value: undefined };
      },
    };
  }

  /** @returns {ReadableStream<string>} */
  textStream() {
    this.#take();
    return new ReadableStream({
      pull: async (controller) => {
        for (;;) {
          const { done, value } = await this.#next();
          if (done) return controller.close();
          if (value.index === 0 && value.text) return controller.enqueue(value.text);
        }
      },
      cancel: () => this.#leave(),
    });
  }

  #take() {
    if (this.#taken) throw qwenError('usage', 'a generation has one consumer: it is iterated, or streamed, already');
    this.#taken = true;
  }

  /** @returns {Promise<IteratorResult<Chunk, undefined>>} */
  async #next() {
    while (!this.#left) {
      const chunk = this.#chunks.shift();
      if (chunk) return { done: false, value: chunk };
      if (this.#error) throw this.#error;
      if (this.#ended) break;
      await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
    }
    return { done: true, value: undefined };
  }

  #wake() {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #leave() {
    if (this.#left) return;
    this.#left = true;
    this.#chunks = [];
    this.#wake();
    if (!this.#ended) this.#cancel?.();
  }

  /** @param {any} error */
  #end(error) {
    this.#ended = true;
    this.#error = error;
    if (error?.code === 'aborted') this.#chunks = []; // the caller wants no more of it
    this.#wake();
  }
}

/**
 * A call's settings as they are at the call, whatever the caller does with the object later.
 * @template {object} T
 * @param {T | null | undefined} settings
 * @returns {T}
 */
export function takenSettings(settings) {
  const given = settings ?? /** @type {T} */ ({});
  if (typeof given !== 'object' || Array.isArray(given)) {
    throw qwenError('usage', `settings are ${Array.isArray(given) ? 'an array' : `a ${typeof given}`}, not an object`);
  }
  return { ...given };
}

/**
 * Settings as C reads them, and what stays here.
 * @param {Settings} settings
 * @param {{ custom: boolean, chat: boolean, fileStops: string | string[] | undefined }} run
 * @returns {{ json: string, stops: Uint8Array, notes: string[] }}
 */
export function packSettings(settings, { custom, chat, fileStops }) {
  /** @type {Record<string, unknown>} */
  const sent = {};
  for (const [key, value] of Object.entries(settings)) {
    if (INNER_KEYS.includes(key)) throw qwenError('usage', `settings: unknown key ${key}: no caller sets it`);
    if (!OWN_KEYS.includes(key)) sent[key] = value;
  }
  if ((sent.seed ?? sent.rng_state ?? null) === null) sent.seed = crypto.getRandomValues(new Uint32Array(1))[0];
  if (sent.response_format) sent.response_format = formatAsText(sent.response_format);
  if (custom) sent.custom_processor = true;
  if (chat) sent.chat = true;
  /** @type {string[]} */
  const notes = [];
  const stops = packStops(settings.stop_strings ?? usableStops(fileStops, notes), notes);
  try {
    return { json: JSON.stringify(sent, asJson), stops, notes };
  } catch (error) {
    throw qwenError('usage', `the settings cannot be written as JSON: ${messageOf(error)}`, error);
  }
}

/**
 * A response_format as C reads it: JSON text, a RegExp as its source and flags.
 * @param {any} format
 */
export function formatAsText(format) {
  if (typeof format !== 'object' || typeof format?.type !== 'string') {
    throw qwenError('usage', `response_format is ${JSON.stringify(format)}: an object with a type is wanted`);
  }
  const { regex } = format;
  const isRegExp = Object.prototype.toString.call(regex) === '[object RegExp]';
  try {
    return JSON.stringify(isRegExp ? { ...format, regex: regex.source, flags: regex.flags } : format);
  } catch (error) {
    throw qwenError('usage', `response_format cannot be written as JSON: ${messageOf(error)}`, error);
  }
}

/**
 * The engine's refusal of a key that it does not know, with the setting that may have been meant.
 * @param {any} error
 * @param {Settings} settings
 */
export function withSuggestion(error, settings) {
  const unknown = Object.keys(settings).find((key) => error?.message?.includes(`unknown key ${key}:`));
  if (error?.code !== 'usage' || !unknown) return error;
  const near = nearName(unknown, [...Object.keys(SETTINGS), ...OWN_KEYS]);
  return near ? qwenError('usage', `settings: unknown key ${unknown}: did you mean ${near}?`) : error;
}

/**
 * Numbers that JSON lacks go as text, so that C can refuse them by name; typed arrays as arrays.
 * @param {string} key
 * @param {unknown} value
 */
function asJson(key, value) {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'nan' : value > 0 ? 'inf' : '-inf';
  }
  if (typeof value === 'function' || typeof value === 'symbol' || typeof value === 'bigint') {
    throw new Error(`${key} is a ${typeof value}`);
  }
  return ArrayBuffer.isView(value) && !(value instanceof DataView) ? Array.from(/** @type {any} */ (value)) : value;
}

/**
 * The stop strings of the model's file; what is wrong with them costs a note, not the call.
 * @param {unknown} stops
 * @param {string[]} notes
 */
function usableStops(stops, notes) {
  const list = [stops ?? []].flat();
  if (list.every((stop) => typeof stop === 'string' && stop !== '')) return list;
  notes.push(`generation_config.json: stop_strings is ${JSON.stringify(stops)}: ignored`);
  return [];
}

/**
 * stop.h's packed form: for each string its length as a little-endian u32, then its bytes.
 * @param {unknown} stops
 * @param {string[]} notes
 */
function packStops(stops, notes) {
  const list = typeof stops === 'string' ? [stops] : stops;
  if (!Array.isArray(list) || !list.every((stop) => typeof stop === 'string')) {
    throw qwenError('usage', `stop_strings is ${JSON.stringify(stops)}: a text or an array of texts is wanted`);
  }
  const encoded = list.map((stop) => new TextEncoder().encode(wellFormed(stop, 'a stop string', notes)));
  const packed = new Uint8Array(encoded.reduce((sum, bytes) => sum + 4 + bytes.length, 0));
  const view = new DataView(packed.buffer);
  let at = 0;
  for (const bytes of encoded) {
    view.setUint32(at, bytes.length, true);
    packed.set(bytes, at + 4);
    at += 4 + bytes.length;
  }
  return packed;
}

/**
 * Text without lone surrogates: each becomes U+FFFD, and a note says so.
 * @param {string} text
 * @param {string} what
 * @param {string[]} notes
 */
export function wellFormed(text, what, notes) {
  const sound = text.replace(/\p{Surrogate}/gu, '\ufffd');
  if (sound !== text) notes.push(`a lone surrogate in ${what} became U+FFFD`);
  return sound;
}

/** The caller's stopping predicate, and each row's tokens and text for it. */
export class StoppingRows {
  #stopping;
  /** @type {Map<number, { index: number, token_ids: number[], text: string }>} */
  #rows = new Map();
  /** @type {QwenError | null} what the predicate threw */
  fault = null;

  /** @param {NonNullable<Settings['stopping']>} stopping */
  constructor(stopping) {
    if (typeof stopping !== 'function') throw qwenError('usage', `stopping is a ${typeof stopping}, not a function`);
    this.#stopping = stopping;
  }

  /**
   * The rows that the predicate ends after these chunks; none after it threw.
   * @param {Chunk[]} chunks
   */
  ended(chunks) {
    try {
      return this.fault ? [] : chunks.filter((chunk) => this.#ends(chunk)).map((chunk) => chunk.index);
    } catch (error) {
      this.fault = qwenError('usage', `stopping threw: ${messageOf(error)}`, error);
      return [];
    }
  }

  /** @param {Chunk} chunk */
  #ends({ index, token_ids, text }) {
    const row = this.#rows.get(index) ?? { index, token_ids: [], text: '' };
    this.#rows.set(index, row);
    row.token_ids.push(...token_ids);
    row.text += text;
    return token_ids.length > 0 && this.#stopping({ ...row, token_ids: [...row.token_ids] });
  }
}
