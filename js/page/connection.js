// The page's end of a worker: requests by number, their answers, and what happens to them when the worker fails. One that
// dies rejects all that is pending, and all that comes later, with the same error.
import { messageOf, QwenError, qwenError, toQwenError } from '../errors.js';
import { errorToPlain, plainToError } from '../protocol.js';

/**
 * @typedef {import('../protocol.js').Answer} Answer
 * @typedef {import('../protocol.js').Requests} Requests
 *
 * What a request hears before it is done.
 * @typedef {{
 *   onProgress?: (progress: import('../types.js').Progress) => void,
 *   onChunks?: (chunks: import('../types.js').Chunk[], ask: boolean) => void,
 * }} Hearing
 */

export class Connection {
  #worker;
  #url;
  #ready = false;
  /** @type {QwenError | null} */
  #ended = null;
  #numbers = 0;
  /** @type {Map<number, Hearing & { resolve: (value: any) => void, reject: (error: QwenError) => void }>} */
  #pending = new Map();
  /** @type {import('../types.js').ModelFile[]} */
  #pageFiles;
  #reading = new AbortController();

  /**
   * @param {import('../host.js').Host} host
   * @param {string} name
   * @param {{ url?: string, pageFiles?: import('../types.js').ModelFile[] }} [options]
   */
  constructor(host, name, { url, pageFiles = [] } = {}) {
    this.#url = url;
    this.#pageFiles = pageFiles;
    try {
      this.#worker = host.startWorker(name, url);
    } catch (error) {
      throw qwenError(
        'environment',
        `the worker cannot be started: ${messageOf(error).replace(/\.$/, '')}. ${WORKER_HINT}`,
        error,
      );
    }
    this.#worker.listen(
      (message) => this.#receive(message),
      (error) => this.close(this.#deathOf(error)),
    );
    this.#worker.hold(false);
  }

  /** Null while the worker lives. */
  get ended() {
    return this.#ended;
  }

  /**
   * @template {keyof Requests} T
   * @param {T} type
   * @param {Requests[T][0]} payload
   * @param {Hearing} [hearing]
   * @returns {{ id: number, done: Promise<Requests[T][1]> }}
   */
  request(type, payload, hearing = {}) {
    const id = ++this.#numbers;
    const done = new Promise((resolve, reject) => {
      if (this.#ended) {
        reject(this.#ended);
        return;
      }
      this.#pending.set(id, { ...hearing, resolve, reject });
      this.#worker.hold(true);
      try {
        this.#worker.post({ ...payload, type, id });
      } catch (error) {
        this.#settle(id);
        reject(qwenError('usage', `an argument cannot be sent to the worker: ${messageOf(error)}`, error));
      }
    });
    return { id, done };
  }

  /** @param {import('../protocol.js').Remark} remark */
  remark(remark) {
    if (!this.#ended) this.#worker.post(remark);
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
    const end = this.#worker.terminate();
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
    return end;
  }

  /** @param {number} id */
  #settle(id) {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (this.#pending.size === 0) this.#worker.hold(false);
    return pending;
  }

  /** @param {Answer} message */
  #receive(message) {
    if (this.#ended) return;
    this.#ready = true;
    switch (message.type) {
      case 'done':
        this.#settle(message.id)?.resolve(message.value);
        break;
      case 'error':
        this.#settle(message.id)?.reject(plainToError(message.error));
        break;
      case 'progress':
        this.#pending.get(message.id)?.onProgress?.(message.progress);
        break;
      case 'chunks':
        this.#pending.get(message.id)?.onChunks?.(message.chunks, message.ask);
        break;
      case 'read':
        this.#read(message);
        break;
      case 'fatal':
        this.close(plainToError(message.error));
        break;
    }
  }

  /** @param {Extract<Answer, { type: 'read' }>} message */
  async #read({ call, file, offset, length }) {
    const source = this.#pageFiles[file];
    try {
      const bytes = await source.read(offset, length, this.#reading.signal);
      if (!(bytes instanceof Uint8Array) || bytes.length !== length) {
        const found = bytes instanceof Uint8Array ? `${bytes.length} bytes` : Object.prototype.toString.call(bytes);
        throw qwenError('usage', `${source.name}: read(${offset}, ${length}) gave ${found}`);
      }
      this.remark({ type: 'bytes', call, bytes });
    } catch (error) {
      const plain = errorToPlain(
        error instanceof QwenError ? error : qwenError('network', `${source.name}: ${messageOf(error)}`, error),
      );
      this.remark({ type: 'bytes', call, error: plain });
    }
  }

  /** @param {Error} error */
  #deathOf(error) {
    if (this.#ready) return toQwenError(qwenError('internal', `the worker failed: ${messageOf(error)}`, error));
    const where = this.#url ? ` from ${this.#url}` : '';
    return qwenError(
      'environment',
      `the worker could not be started${where}: ${messageOf(error)}. ${WORKER_HINT}`,
      error,
    );
  }
}

const WORKER_HINT =
  'worker.js must come from the origin of the page, over http(s), and be allowed by its Content Security Policy ' +
  "(worker-src 'self'): copy dist/ to your own host, or say where it is with workerUrl; a sandboxed frame needs allow-same-origin";
