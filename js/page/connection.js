// The page's end of a worker: requests by number, their answers, the threads that it asks for, and what happens when one of them
// fails. A worker that dies, is silent while it loads, or does not come to rest when a request is cancelled, rejects all that is
// pending, and all that comes later, with the same error.
import { messageOf, QwenError, qwenError, toQwenError } from '../errors.js';
import { errorToPlain, plainToError, THREAD_WORKER } from '../protocol.js';

/**
 * @typedef {import('../protocol.js').Answer} Answer
 * @typedef {import('../protocol.js').Requests} Requests
 *
 * Whom a request tells how it goes before it is done.
 * @typedef {object} Listeners
 * @property {(progress: import('../types.js').Progress) => void} [onProgress] the caller's
 * @property {(chunks: import('../types.js').Chunk[], ask: boolean) => void} [onChunks]
 *
 * @typedef {Listeners & { resolve: (value: any) => void, reject: (error: QwenError) => void,
 *   watch?: ReturnType<typeof setInterval> }} Pending watch: runs from a cancellation on
 */

const TICK_MS = 1000;
/** How long a cancelled request may take to its end; steps take a tenth of a second. */
const REST_SECONDS = 20;
/** How long a worker that loads may neither turn its event loop nor tell of progress. */
const SILENT_SECONDS = 10;

export class Connection {
  #host;
  #worker;
  #url;
  /** @type {import('../host.js').HostWorker[]} */
  #threads = [];
  #silence = 0;
  /** Whether what ended the worker was its own doing, so that another one may fare better. */
  failed = false;
  #ready = false;
  /** @type {QwenError | null} */
  #ended = null;
  #numbers = 0;
  /** @type {Map<number, Pending>} */
  #pending = new Map();
  /**
   * What 'read' messages ask for.
   * @type {import('../types.js').ModelFile[]}
   */
  pageFiles;
  #reading = new AbortController();

  /**
   * @param {import('../host.js').Host} host
   * @param {string} name
   * @param {{ url?: import('../host.js').ScriptUrl, pageFiles?: import('../types.js').ModelFile[] }} [options]
   */
  constructor(host, name, { url, pageFiles = [] } = {}) {
    this.#host = host;
    this.#url = url;
    this.pageFiles = pageFiles;
    try {
      this.#worker = host.startWorker(name, url);
    } catch (error) {
      if (error instanceof QwenError) throw error;
      const text = messageOf(error).replace(/\.$/, '');
      throw qwenError('environment', `the worker cannot be started: ${text}. ${host.workerHint}`, error);
    }
    this.#worker.listen(
      (message) => this.#receive(message),
      (error, wayOut) => this.close(this.#deathOf(error, wayOut)),
    );
    this.#worker.hold(false);
  }

  /**
   * Ends the worker where it gives no sign of life until `done` settles: an event loop that turns answers. Ticks are counted,
   * and no time, so that a page which sleeps, or is at work itself, blames nobody.
   * @template T
   * @param {Promise<T>} done
   * @returns {Promise<T>}
   */
  async watch(done) {
    const tick = () => {
      if (++this.#silence > SILENT_SECONDS) this.#fail(qwenError('internal', SILENT));
      else this.notify({ type: 'ping' });
    };
    this.#silence = 0;
    const timer = setInterval(tick, TICK_MS);
    try {
      return await done;
    } finally {
      clearInterval(timer);
    }
  }

  /** Null while the worker lives. */
  get ended() {
    return this.#ended;
  }

  /**
   * @template {keyof Requests} T
   * @param {T} type
   * @param {Requests[T][0]} payload
   * @param {Listeners} [listeners]
   * @returns {{ id: number, done: Promise<Requests[T][1]> }}
   */
  request(type, payload, { onProgress, onChunks } = {}) {
    const guarded = guard(onProgress);
    const id = ++this.#numbers;
    const done = new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#ended);
        return;
      }
      this.#pending.set(id, { onProgress: guarded, onChunks, resolve, reject });
      this.#worker.hold(true);
      try {
        this.#worker.post({ ...payload, type, id });
      } catch (error) {
        this.#take(id);
        reject(qwenError('usage', `an argument cannot be sent to the worker: ${messageOf(error)}`, error));
      }
    });
    return { id, done };
  }

  /**
   * @param {import('../protocol.js').Notification} message
   * @param {Transferable[]} [transfer]
   */
  notify(message, transfer) {
    if (!this.#ended) this.#worker.post(message, transfer);
  }

  /**
   * Asks for a request's early end. A worker that goes on for long is taken for one that hangs. Seconds are counted one by one:
   * a page that was asleep has not waited.
   * @param {number} id
   * @param {boolean} soft whether the answer is what there is, instead of 'aborted'
   */
  cancel(id, soft) {
    const pending = this.#pending.get(id);
    if (!pending) return;
    this.notify({ type: 'cancel', id, soft });
    let seconds = 0;
    pending.watch ??= setInterval(() => {
      if (++seconds < REST_SECONDS) return;
      const text = `the engine did not come to rest within ${REST_SECONDS} s after a call was stopped`;
      this.close(qwenError('closed', `${text}: it is lost, load the model again`));
    }, TICK_MS);
  }

  /**
   * Ends the worker; what is pending rejects.
   * @param {QwenError} error
   * @returns {unknown} a promise where the end takes time
   */
  close(error) {
    if (this.#ended) return undefined;
    this.#ended = error;
    this.#reading.abort();
    const end = Promise.all([this.#worker, ...this.#threads].map((worker) => worker.terminate()));
    for (const { reject, watch } of this.#pending.values()) {
      clearInterval(watch);
      reject(error);
    }
    this.#pending.clear();
    return end;
  }

  /**
   * Takes a request out of those that are pending.
   * @param {number} id
   */
  #take(id) {
    const pending = this.#pending.get(id);
    clearInterval(pending?.watch);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker.hold(false);
    return pending;
  }

  /** @param {Answer} message */
  #receive(message) {
    if (this.#ended) return;
    this.#ready = true;
    this.#silence = 0;
    switch (message.type) {
      case 'done':
        this.#take(message.id)?.resolve(message.value);
        break;
      case 'error':
        this.#take(message.id)?.reject(this.#errorOf(message.error));
        break;
      case 'progress':
        this.#pending.get(message.id)?.onProgress?.(message.progress);
        break;
      case 'chunks':
        this.#pending.get(message.id)?.onChunks?.(message.chunks, message.ask);
        break;
      case 'read':
        void this.#read(message);
        break;
      case 'thread':
        (this.#threads[message.thread] ??= this.#startThread(message.thread)).post(message.message);
        break;
      case 'fatal':
        this.close(plainToError(message.error));
        break;
    }
  }

  /** @param {Extract<Answer, { type: 'read' }>} message */
  async #read({ call, file, offset, length }) {
    const source = this.pageFiles[file];
    try {
      const bytes = await source.read(offset, length, this.#reading.signal);
      const kind = Object.prototype.toString.call(bytes); // instanceof knows only this realm's
      if (kind !== '[object Uint8Array]' || bytes.length !== length) {
        const found = kind === '[object Uint8Array]' ? `${bytes.length} bytes` : kind;
        throw qwenError('usage', `${source.name}: read(${offset}, ${length}) gave ${found}`);
      }
      // A copy, which can be transferred: the file's own bytes stay with it, and a view's buffer may be the whole file.
      const copy = new Uint8Array(bytes);
      this.notify({ type: 'bytes', call, bytes: copy }, [copy.buffer]);
    } catch (error) {
      const plain = errorToPlain(
        error instanceof QwenError ? error : qwenError('network', `${source.name}: ${messageOf(error)}`, error),
      );
      this.notify({ type: 'bytes', call, error: plain });
    }
  }

  /** @param {number} thread */
  #startThread(thread) {
    const worker = this.#host.startWorker(THREAD_WORKER, this.#url);
    worker.listen(
      (message) => this.notify({ type: 'thread', thread, message }),
      (error) => this.#fail(qwenError('internal', `a thread of the engine failed: ${messageOf(error)}`, error)),
    );
    worker.hold(false);
    return worker;
  }

  /** @param {QwenError} error */
  #fail(error) {
    if (this.#ended) return;
    this.failed = true;
    this.close(error);
  }

  /** @param {import('../protocol.js').PlainError} plain */
  #errorOf(plain) {
    const short = plain.code === 'memory' || plain.code === 'internal' ? this.#shortOfMemory(plain.message) : null;
    return short ?? plainToError(plain);
  }

  /**
   * The error where memory was refused and what limits it is known.
   * @param {string} text
   * @param {unknown} [cause]
   */
  #shortOfMemory(text, cause) {
    const limit = /out of memory|allocate memory/i.test(text) ? this.#host.memoryLimit() : '';
    return limit ? qwenError('memory', `${text.replace(/\.$/, '')}. ${limit}`, cause) : null;
  }

  /**
   * @param {Error} error
   * @param {string} [wayOut]
   */
  #deathOf(error, wayOut = this.#host.workerHint) {
    const short = this.#shortOfMemory(messageOf(error), error);
    if (short) return short;
    if (this.#ready) return toQwenError(qwenError('internal', `the worker failed: ${messageOf(error)}`, error));
    const where = this.#url ? ` from ${this.#url}` : '';
    return qwenError('environment', `the worker could not be started${where}: ${messageOf(error)}. ${wayOut}`, error);
  }
}

/**
 * A caller's callback must not break the messages that call it: what it throws is reported as any uncaught error.
 * @template A
 * @param {((value: A) => void) | undefined} callback
 * @returns {((value: A) => void) | undefined}
 */
function guard(callback) {
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

const SILENT = `the worker has given no sign of life for ${SILENT_SECONDS} s`;
