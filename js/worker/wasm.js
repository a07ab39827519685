// The only file that sees pointers: the exports of src/hosts/wasm.c as methods over strings, arrays and plain objects. Views of the
// memory are made anew each time (it may have grown, it may be shared), text is copied before it is decoded (TextDecoder
// refuses shared memory), and a pointer above 2 GiB arrives negative (>>> 0).
import { messageOf, qwenError } from '../errors.js';
import { instantiate } from './instance.js';

/** Every export of src/hosts/wasm.c; scripts compare the list with the built module. */
export const EXPORTS = [
  'alloc',
  'check_format',
  'close',
  'detokenize',
  'end',
  'end_row',
  'error_text',
  'events',
  'feed',
  'forward',
  'forward_output',
  'free',
  'generate',
  'info',
  'new',
  'open',
  'opened',
  'out',
  'out_bytes',
  'plan',
  'prefill',
  'result',
  'scores',
  'selftest',
  'status_name',
  'step',
  'tokenize',
  'trial',
  'want',
];

/** The struct of 8 doubles that wants, scores and outputs are written to. */
const SLOTS = 8;

/** qw_want_kind */
const WANTS = /** @type {const} */ (['nothing', 'open', 'read']);

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const encoder = new TextEncoder();

/**
 * JSON lacks infinity: C writes it as text.
 * @param {number | string} value
 */
const logprobOf = (value) => (value === '-inf' ? -Infinity : value);

/** An engine in an instance of the module. After a trap `lost` is true and only a new one helps. */
export class Wasm {
  lost = false;
  #module;
  #memory;
  /** Pointers to the engine and to the struct of doubles. */
  #engine = 0;
  #slots = 0;
  /** Of the last 'read' want. */
  #target = 0;

  /**
   * @param {import('./instance.js').Instance} module
   * @param {WebAssembly.Memory} memory
   */
  constructor(module, memory) {
    this.#module = module;
    this.#memory = memory;
  }

  /**
   * @param {WebAssembly.Module} module
   * @param {WebAssembly.Memory} memory
   * @param {object} options of qw_engine_new
   */
  static async start(module, memory, options) {
    const instance = await instantiate(module, memory);
    const missing = EXPORTS.filter((name) => typeof instance[`_qwx_${name}`] !== 'function');
    if (missing.length > 0) {
      throw qwenError('environment', `worker.js and the wasm file are of different versions (no qwx_${missing[0]})`);
    }
    const wasm = new Wasm(instance, memory);
    wasm.#begin(options);
    return wasm;
  }

  get memoryBytes() {
    return this.#memory.buffer.byteLength;
  }

  /** @param {object} options */
  #begin(options) {
    const text = encoder.encode(JSON.stringify(options));
    const pointer = this.#put(text);
    this.#engine = this.#call('new', pointer, text.length) >>> 0;
    this.#call('free', pointer);
    const message = this.#engine ? this.#cString(this.#call('error_text', this.#engine)) : 'no memory for the engine';
    if (message) throw qwenError(this.#engine ? 'usage' : 'memory', message); // bad options are all that can fail there
    this.#slots = this.#alloc(SLOTS * 8);
  }

  close() {
    if (this.#engine && !this.lost) this.#call('close', this.#engine);
    this.#engine = 0;
  }

  // ---- loading

  /** @param {string} name */
  open(name) {
    const bytes = encoder.encode(name);
    this.#with([bytes], (pointer) => this.#check(this.#call('open', this.#engine, pointer, bytes.length)));
  }

  /** What the loader wants next. */
  want() {
    const kind = WANTS[this.#call('want', this.#engine, this.#slots)];
    const [, optional, file, offset, bytes, target, weights] = this.#doubles();
    this.#target = target;
    return {
      kind,
      name: kind === 'open' ? this.#text() : '',
      optional: optional !== 0,
      file,
      offset,
      bytes,
      weights: weights !== 0,
    };
  }

  /**
   * Where the first bytes of the wanted range go; valid until the next call.
   * @param {number} bytes
   */
  target(bytes) {
    return new Uint8Array(this.#memory.buffer, this.#target, bytes);
  }

  /** @param {number} bytes size of the wanted file, -1: absent */
  opened(bytes) {
    this.#check(this.#call('opened', this.#engine, bytes));
  }

  /** @param {number} bytes how many are at the target now */
  feed(bytes) {
    this.#check(this.#call('feed', this.#engine, bytes));
  }

  plan() {
    this.#check(this.#call('plan', this.#engine));
    return this.#json();
  }

  info() {
    this.#check(this.#call('info', this.#engine));
    return this.#json();
  }

  selfTest() {
    this.#check(this.#call('selftest', this.#engine));
    return this.#json();
  }

  // ---- text

  /**
   * @param {Uint8Array} text UTF-8
   * @param {boolean} parseSpecial
   * @param {Int32Array} blocked byte offsets at which no control token may start
   * @returns {Int32Array}
   */
  tokenize(text, parseSpecial, blocked) {
    return this.#with([text, blocked], (at, blocks) => {
      const special = parseSpecial ? 1 : 0;
      this.#check(this.#call('tokenize', this.#engine, at, text.length, special, blocks, blocked.length));
      return new Int32Array(this.#copyOut().buffer);
    });
  }

  /**
   * @param {Int32Array} ids
   * @param {boolean} skipSpecial
   */
  detokenize(ids, skipSpecial) {
    return this.#with([ids], (at) => {
      this.#check(this.#call('detokenize', this.#engine, at, ids.length, skipSpecial ? 1 : 0));
      return this.#text();
    });
  }

  /**
   * What of a response_format can be held.
   * @param {string} format JSON
   */
  checkFormat(format) {
    const text = encoder.encode(format);
    return this.#with([text], (at) => {
      this.#check(this.#call('check_format', this.#engine, at, text.length));
      return JSON.parse(this.#text());
    });
  }

  // ---- jobs

  /**
   * @param {{ ids: Int32Array, lengths: Int32Array, settings: string, stops: Uint8Array }} job
   */
  generate({ ids, lengths, settings, stops }) {
    const text = encoder.encode(settings);
    this.#with([ids, lengths, text, stops], (a, b, c, d) => {
      const e = this.#engine;
      this.#check(this.#call('generate', e, a, b, lengths.length, c, text.length, d, stops.length, 0));
    });
  }

  /** @param {Int32Array} ids */
  prefill(ids) {
    this.#with([ids], (at) => this.#check(this.#call('prefill', this.#engine, at, ids.length)));
  }

  /**
   * @param {{ ids: Int32Array, lengths: Int32Array, keep: Uint8Array, hidden: boolean }} job
   */
  forward({ ids, lengths, keep, hidden }) {
    this.#with([ids, lengths, keep], (a, b, c) => {
      this.#check(this.#call('forward', this.#engine, a, b, lengths.length, c, hidden ? 1 : 0));
    });
  }

  /**
   * @param {number} maxTokens
   * @returns {'done' | 'more' | 'scores'}
   */
  step(maxTokens) {
    const result = this.#call('step', this.#engine, maxTokens);
    if (result < 0) this.#check(-result);
    return result === 0 ? 'done' : result === 1 ? 'more' : 'scores';
  }

  /** @returns {{ phase: 'prefill' | 'decode', loaded: number, total: number, chunks: any[], finished: any[] }} */
  events() {
    this.#check(this.#call('events', this.#engine));
    const events = this.#json();
    for (const { logprobs = [] } of events.chunks) {
      for (const one of logprobs) {
        one.raw = logprobOf(one.raw);
        one.processed = logprobOf(one.processed);
        for (const pair of [...one.top_raw, ...one.top_processed]) pair[1] = logprobOf(pair[1]);
      }
    }
    return events;
  }

  /** Copies of what the last step of forward() brought. */
  forwardOutput() {
    this.#call('forward_output', this.#engine, this.#slots);
    const [logits, hidden, row, n, pos, nHidden] = this.#doubles();
    return {
      row,
      n,
      pos,
      nHidden,
      logits: (/** @type {number} */ vocabSize) => this.#floats(logits, n * vocabSize),
      hidden: (/** @type {number} */ values) => this.#floats(hidden, hidden ? values : 0),
    };
  }

  /**
   * The i-th row that waits for the caller's processor, as copies; null where there is no i-th.
   * @param {number} i
   * @param {number} vocabSize
   */
  scores(i, vocabSize) {
    if (this.#call('scores', this.#engine, i, this.#slots) === 0) return null;
    const [scores, ids, index, n] = this.#doubles();
    return {
      index,
      ids: new Int32Array(this.#copy(ids, n * 4).buffer),
      scores: this.#floats(scores, vocabSize),
      put: (/** @type {Float32Array} */ edited) => new Float32Array(this.#memory.buffer, scores, vocabSize).set(edited),
    };
  }

  /**
   * @param {number} index -1: all rows
   * @param {'time' | 'stopping' | 'aborted'} reason
   */
  endRow(index, reason) {
    const text = encoder.encode(`${reason}\0`);
    this.#with([text], (at) => this.#check(this.#call('end_row', this.#engine, index, at)));
  }

  result() {
    this.#check(this.#call('result', this.#engine));
    return this.#json();
  }

  /** Ends the job, if there is one. */
  end() {
    if (!this.lost) this.#call('end', this.#engine);
  }

  // ---- memory

  /**
   * @param {string} name
   * @param {...number} args
   * @returns {number}
   */
  #call(name, ...args) {
    if (this.lost) throw qwenError('closed', 'the engine is lost after a fault: load the model again');
    try {
      return this.#module[`_qwx_${name}`](...args);
    } catch (error) {
      this.lost = true;
      throw qwenError('internal', `the engine failed in qwx_${name}: ${messageOf(error)}; please report this`, error);
    }
  }

  /** @param {number} status */
  #check(status) {
    if (status === 0) return;
    const code = this.#cString(this.#call('status_name', status));
    throw qwenError(/** @type {any} */ (code), this.#cString(this.#call('error_text', this.#engine)));
  }

  /** @param {number} bytes */
  #alloc(bytes) {
    const pointer = this.#call('alloc', Math.max(bytes, 1)) >>> 0;
    if (pointer) return pointer;
    throw qwenError(
      'memory',
      `${bytes} bytes for the arguments of a call do not fit the engine's memory of ${this.memoryBytes} bytes`,
    );
  }

  /** @param {Uint8Array | Int32Array} array */
  #put(array) {
    const pointer = this.#alloc(array.byteLength);
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    new Uint8Array(this.#memory.buffer).set(bytes, pointer);
    return pointer;
  }

  /**
   * Runs a call with arrays in the engine's memory, which are freed afterwards.
   * @template T
   * @param {(Uint8Array | Int32Array)[]} arrays
   * @param {(...pointers: number[]) => T} use
   * @returns {T}
   */
  #with(arrays, use) {
    /** @type {number[]} */
    const pointers = [];
    try {
      for (const array of arrays) pointers.push(this.#put(array));
      return use(...pointers);
    } finally {
      if (!this.lost) for (const pointer of pointers) this.#call('free', pointer);
    }
  }

  #doubles() {
    return new Float64Array(this.#memory.buffer, this.#slots, SLOTS).slice();
  }

  /**
   * @param {number} pointer
   * @param {number} bytes
   */
  #copy(pointer, bytes) {
    return new Uint8Array(this.#memory.buffer, pointer, bytes).slice();
  }

  /**
   * @param {number} pointer
   * @param {number} n
   */
  #floats(pointer, n) {
    return n > 0 ? new Float32Array(this.#memory.buffer, pointer, n).slice() : new Float32Array(0);
  }

  #copyOut() {
    const pointer = this.#call('out', this.#engine) >>> 0;
    return this.#copy(pointer, this.#call('out_bytes', this.#engine) >>> 0);
  }

  #text() {
    return decoder.decode(this.#copyOut());
  }

  #json() {
    return JSON.parse(this.#text());
  }

  /** @param {number} pointer */
  #cString(pointer) {
    const bytes = new Uint8Array(this.#memory.buffer, pointer >>> 0);
    return decoder.decode(bytes.slice(0, bytes.indexOf(0)));
  }
}
