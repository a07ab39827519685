// Renders templates in a worker of its own, which is ended when one takes too long or is not wanted any more. Renderings take
// turns: what ends the worker under one of them is no matter of the others.
import { Connection } from './connection.js';
import { abortedError, cancellable, qwenError, throwIfAborted } from '../errors.js';
import { TEMPLATE_WORKER } from '../protocol.js';
import { Queue } from './queue.js';

/** @typedef {import('../errors.js').QwenError} QwenError */

const RENDER_MS = 2000;
/** The message of the error where a template takes too long. */
export const TOO_LONG = `the chat template did not end within ${RENDER_MS / 1000} s`;

/** The worker is started when it is first needed, and anew after it had to be ended. */
export class TemplateRunner {
  #host;
  #url;
  #queue = new Queue();
  /** @type {Connection | null} */
  #connection = null;
  /** @type {QwenError | null} */
  #closed = null;

  /**
   * @param {import('../host.js').Host} host
   * @param {import('../host.js').ScriptUrl | undefined} url of the worker script
   */
  constructor(host, url) {
    this.#host = host;
    this.#url = url;
  }

  /**
   * @param {string} template
   * @param {Record<string, unknown>} variables
   * @param {AbortSignal} [signal]
   * @returns {Promise<string>}
   */
  async render(template, variables, signal) {
    throwIfAborted(signal);
    const done = this.#queue.run(async () => {
      throwIfAborted(signal);
      if (this.#closed) throw this.#closed;
      return this.#renderNow(template, variables, signal);
    });
    done.catch(() => {}); // an aborted call's late end is nobody's
    return cancellable(done, signal);
  }

  /**
   * @param {string} template
   * @param {Record<string, unknown>} variables
   * @param {AbortSignal | undefined} signal
   */
  async #renderNow(template, variables, signal) {
    const running = this.#connection && !this.#connection.ended ? this.#connection : null;
    const connection = running ?? new Connection(this.#host, TEMPLATE_WORKER, { url: this.#url });
    this.#connection = connection;
    const abort = () => void connection.close(abortedError(signal));
    signal?.addEventListener('abort', abort, { once: true });
    let timer;
    try {
      // The first answer says that the worker runs: its start is not the template's time.
      if (!running) await connection.request('render', { template: '', variables: {} }).done;
      const late = qwenError('model', TOO_LONG);
      timer = setTimeout(() => connection.close(late), RENDER_MS);
      return await connection.request('render', { template, variables }).done;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** @param {QwenError} error */
  close(error) {
    this.#closed = error;
    this.#connection?.close(error);
  }
}
