// The script of the engine's workers. By its name a worker knows its part: the engine (owns the wasm; loads; runs jobs), or one
// of Emscripten's threads, whose part is in the glue that wasm.js brings along. Templates have a script of their own.
import { opfsStore } from '../weights/opfs-store.js';
import { qwenError, toQwenError } from '../errors.js';
import { Jobs } from './jobs.js';
import { fetchModel, loadModel, planModel } from './loading.js';
import { buildName, ENGINE_WORKER, errorToPlain, plainToError } from '../protocol.js';
import { compileWasm } from './compile.js';
import { engineMemory, pagesFor } from './memory.js';
import { Wasm } from './wasm.js';
import { hearThread } from './threads.js';
import { turn } from './turn.js';
import { WASM_VERSION } from '../../build/wasm/version.mjs';

/** Memory of a self-test, which has no model. */
const SELF_TEST_BYTES = 32 << 20;

/**
 * @typedef {import('../protocol.js').Answer} Answer
 * @typedef {import('../protocol.js').ToWorker} ToWorker
 * @typedef {import('../protocol.js').Requests} Requests
 */

/**
 * @template {keyof Requests} T
 * @typedef {import('../protocol.js').RequestMessage<T>} RequestMessage
 */

/** As a worker's global object, in browsers and (node-worker.mjs) in Node. */
const scope = /** @type {{ name: string, onmessage: ((event: { data: ToWorker }) => void) | null,
  postMessage(message: Answer, transfer?: Transferable[]): void }} */ (/** @type {unknown} */ (self));

/** @type {import('../host.js').NodeFiles | undefined} */
const node = /** @type {any} */ (globalThis).qwen2Node;

/** The request that is under way. */
class RunningRequest {
  id;
  control = new AbortController();
  /** @type {'none' | 'soft' | 'hard'} */
  cancelled = 'none';
  /** @type {((rows: number[]) => void) | null} */
  #verdict = null;
  /** @type {() => void} */
  #tellCancelled = () => {};
  /** @type {Promise<void>} */
  #cancellation = new Promise((resolve) => (this.#tellCancelled = resolve));

  /** @param {number} id */
  constructor(id) {
    this.id = id;
  }

  /** @param {boolean} soft */
  cancel(soft) {
    if (!soft) this.cancelled = 'hard';
    else if (this.cancelled === 'none') this.cancelled = 'soft';
    if (!soft) this.control.abort();
    this.#tellCancelled();
    this.decide([]);
  }

  /** @param {number[]} rows */
  decide(rows) {
    this.#verdict?.(rows);
    this.#verdict = null;
  }

  /** @returns {import('./jobs.js').JobPort} */
  get port() {
    return {
      progress: (progress) => scope.postMessage({ type: 'progress', id: this.id, progress }),
      chunks: (chunks, ask) => {
        if (chunks.length > 0 || ask) scope.postMessage({ type: 'chunks', id: this.id, chunks, ask });
      },
      verdict: () => {
        if (this.cancelled !== 'none') return Promise.resolve([]);
        return new Promise((resolve) => (this.#verdict = resolve));
      },
      cancelled: () => this.cancelled,
      cancellation: this.#cancellation,
    };
  }
}

/** The engine's part. */
class EngineWorker {
  /** @type {Wasm | null} */
  #wasm = null;
  /** @type {Jobs | null} */
  #jobs = null;
  /** @type {RunningRequest | null} */
  #current = null;
  /** @type {Map<number, { resolve: (bytes: Uint8Array) => void, reject: (error: Error) => void }>} */
  #reads = new Map();
  #calls = 0;

  /** @param {ToWorker} message */
  receive(message) {
    if (message.type === 'cancel') {
      if (this.#current?.id === message.id) this.#current?.cancel(message.soft);
    } else if (message.type === 'verdict') {
      this.#current?.decide(message.end);
    } else if (message.type === 'bytes') {
      const read = this.#reads.get(message.call);
      this.#reads.delete(message.call);
      if (message.bytes) read?.resolve(message.bytes);
      else read?.reject(plainToError(message.error ?? { code: 'internal', message: 'no bytes' }));
    } else if (message.type === 'thread') {
      hearThread(message);
    } else if (message.type === 'ping') {
      scope.postMessage({ type: 'alive' });
    } else {
      void this.#answer(message);
    }
  }

  /** @param {RequestMessage<keyof Requests>} message */
  async #answer(message) {
    const request = new RunningRequest(message.id);
    this.#current = request;
    try {
      const { value, transfer } = await this.#run(message, request);
      scope.postMessage({ type: 'done', id: request.id, value }, transfer);
    } catch (error) {
      scope.postMessage({ type: 'error', id: request.id, error: errorToPlain(toQwenError(error)) });
    } finally {
      if (this.#current === request) this.#current = null;
    }
    if (this.#wasm?.lost) {
      const text = 'the engine was lost after an internal fault: load the model again';
      scope.postMessage({ type: 'fatal', error: { code: 'closed', message: text } });
    }
  }

  /**
   * @param {RequestMessage<keyof Requests>} message
   * @param {RunningRequest} request
   * @returns {Promise<{ value: Requests[keyof Requests][1], transfer?: Transferable[] }>}
   */
  async #run(message, request) {
    switch (message.type) {
      case 'plan':
        return { value: await planModel(message, await this.#loadContext(message, request, [])) };
      case 'load':
        return { value: await this.#load(message, request) };
      case 'fetch': {
        /** @type {string[]} */
        const notes = [];
        const bytes = await fetchModel(message, await this.#loadContext(message, request, notes));
        return { value: { bytes, notes } };
      }
      case 'selftest':
        return { value: await selfTest(message.wasm) };
      case 'tokenize': {
        const jobs = this.#ready();
        const value = message.prompts.map((one) => jobs.tokenize(one, message.parseSpecial));
        return { value, transfer: buffersOf(value) };
      }
      case 'detokenize':
        return { value: this.#ready().detokenize(message.ids, message.skipSpecial) };
      case 'checkFormat':
        return { value: this.#ready().checkFormat(message.format) };
      case 'generate':
        return { value: await this.#ready().generate(message, request.port) };
      case 'prefill': {
        const ids = this.#ready().tokenize(message.prompt, true);
        return { value: await this.#ready().prefill(ids, request.port) };
      }
      case 'forward': {
        const value = await this.#ready().forward(message, request.port);
        return { value, transfer: buffersOf([value.logits, ...value.hidden]) };
      }
      default:
        throw qwenError('internal', `no request is called ${message.type}`);
    }
  }

  #ready() {
    if (!this.#jobs) throw qwenError('internal', 'no model is loaded');
    return this.#jobs;
  }

  /**
   * @param {RequestMessage<'load'>} message
   * @param {RunningRequest} request
   */
  async #load(message, request) {
    /** @type {string[]} */
    const notes = [];
    const loaded = await loadModel(message, await this.#loadContext(message, request, notes));
    this.#wasm = loaded.wasm;
    this.#jobs = new Jobs(loaded.wasm, loaded.info.vocabSize);
    const { info, specialTokens, templates, variables } = loaded;
    return { info: { ...info, notes: [...info.notes, ...notes] }, specialTokens, templates, variables };
  }

  /**
   * @param {import('../protocol.js').LoadRequest} message
   * @param {RunningRequest} request
   * @param {string[]} notes
   * @returns {Promise<import('./loading.js').LoadContext>}
   */
  async #loadContext(message, request, notes) {
    return {
      signal: request.control.signal,
      store: await storeOf(message, notes),
      trial: { store: async () => deviceStore(message.cache), device: `${WASM_VERSION} ${agent()}` },
      openPath: node?.openPath,
      readPage: (file, offset, length) => this.#readPage(file, offset, length),
      progress: request.port.progress,
      note: (note) => notes.push(note),
    };
  }

  /**
   * @param {number} file
   * @param {number} offset
   * @param {number} length
   * @returns {Promise<Uint8Array>}
   */
  #readPage(file, offset, length) {
    const call = ++this.#calls;
    return new Promise((resolve, reject) => {
      this.#reads.set(call, { resolve, reject });
      scope.postMessage({ type: 'read', call, file, offset, length });
    });
  }
}

/**
 * @param {(Int32Array | Float32Array)[]} arrays
 * @returns {Transferable[]}
 */
const buffersOf = (arrays) => arrays.map(({ buffer }) => /** @type {ArrayBuffer} */ (buffer));

/** What tells this machine from another, as far as a browser lets a page know. */
const agent = () => node?.agent() ?? navigator.userAgent;

/** @param {import('../protocol.js').LoadRequest['cache']} cache */
async function deviceStore(cache) {
  if (cache === false) return null;
  return (node ? node.folderStore : opfsStore)(cache === 'auto' ? undefined : cache);
}

/**
 * Where files of the network are kept; null: nowhere.
 * @param {import('../protocol.js').LoadRequest} message
 * @param {string[]} notes
 */
async function storeOf({ cache, source }, notes) {
  const remote =
    source.siblings ?? Object.values(source.files).map((place) => (place.kind === 'url' ? place.url : ''))[0];
  if (cache === false || !remote || (remote.startsWith('file:') && !remote.endsWith('.json'))) return null;
  const store = await deviceStore(cache);
  if (!store)
    notes.push(
      'nothing is kept on this device: there is no place to keep it (the page needs https, and no private window)',
    );
  return store;
}

/** @param {import('../protocol.js').WasmChoice} choice */
async function selfTest(choice) {
  const { module, bytes } = await compileWasm(choice.urls[buildName(choice)]);
  const memory = engineMemory(pagesFor(SELF_TEST_BYTES, choice.threads), choice.shared);
  const wasm = await Wasm.start(module, memory, { threads: choice.threads });
  await turn();
  const { ok, report } = wasm.selfTest();
  wasm.close();
  return {
    ok,
    report: `build qwen2${buildName(choice)}.wasm (${bytes} bytes), ${choice.threads} thread(s)\n${report}`,
  };
}

if (scope.name === ENGINE_WORKER) {
  const worker = new EngineWorker();
  scope.onmessage = ({ data }) => worker.receive(data);
  scope.postMessage({ type: 'ready' });
}
