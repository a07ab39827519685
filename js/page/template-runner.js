// Renders templates in a worker of its own, which is ended when it takes too long or is not wanted any more.
import { Connection } from './connection.js';
import { abortedError, QwenError, qwenError } from '../errors.js';
import { TEMPLATE_WORKER } from '../protocol.js';

const RENDER_MS = 2000;

/** The worker is started when it is first needed, and anew after it had to be ended. */
export class TemplateRunner {
  #host;
  #url;
  /** @type {Connection | null} */
  #connection = null;

  /**
   * @param {import('../host.js').Host} host
   * @param {string | undefined} url of the worker script
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
    if (signal?.aborted) throw abortedError(signal);
    if (!this.#connection || this.#connection.ended) {
      this.#connection = new Connection(this.#host, TEMPLATE_WORKER, { url: this.#url });
      // The first answer also says that the worker runs: its start is not the template's time.
      await this.#connection.request('render', { template: '', variables: {} }).done;
    }
    const connection = this.#connection;
    const end = (/** @type {QwenError} */ error) => connection.close(error);
    const late = qwenError('model', `the chat template did not end within ${RENDER_MS / 1000} s`);
    const timer = setTimeout(() => end(late), RENDER_MS);
    const abort = () => end(abortedError(signal));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await connection.request('render', { template, variables }).done;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** @param {QwenError} error */
  close(error) {
    this.#connection?.close(error);
    this.#connection = null;
  }
}
