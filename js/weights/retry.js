// When a request that failed is tried again. Before the first byte a few attempts decide; a download that has begun goes on for
// minutes, as long as bytes come now and then. Pauses grow, with jitter, so that many visitors do not come back at once.
import { abortedError, messageOf, QwenError, throwIfAborted } from '../errors.js';

const ATTEMPTS = 5;
const RETRY_MS = 500;
const PAUSE_MAX_MS = 15_000;
/** A server that asks for a longer pause than this is not waited for. */
const RETRY_AFTER_MAX_MS = 120_000;
/** How long a download that has begun may stand still. */
const PATIENCE_MS = 300_000;

/** A fault that another attempt may cure. */
export class Retry extends Error {
  /**
   * @param {string} message
   * @param {number} [after] milliseconds that the server asks to wait
   */
  constructor(message, after) {
    super(message);
    this.after = after;
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
export function sleep(ms, signal) {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(abortedError(signal));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal.addEventListener('abort', abort, { once: true });
  });
}

/**
 * A pause that ends early when the device is online again; while it is offline no attempt is made in vain.
 * @param {number} ms
 * @param {AbortSignal} signal
 */
async function pause(ms, signal) {
  if (globalThis.navigator?.onLine !== false) return sleep(ms, signal);
  const early = new AbortController();
  const wake = () => early.abort();
  globalThis.addEventListener?.('online', wake, { once: true });
  signal.addEventListener('abort', wake, { once: true });
  await sleep(PAUSE_MAX_MS, early.signal).catch(() => {});
  globalThis.removeEventListener?.('online', wake);
  signal.removeEventListener('abort', wake);
  return throwIfAborted(signal);
}

/**
 * @typedef {object} RetryOptions
 * @property {AbortSignal} signal
 * @property {number} [retryMs] the first pause
 * @property {number} [patienceMs] 0: a few attempts are all, because there is another source to turn to
 */

/** One file's: it knows whether bytes came, and how long ago. */
export class Patience {
  #options;
  #begun = false;
  #failures = 0;
  #since = 0;

  /** @param {RetryOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Whether bytes have come at all. */
  get begun() {
    return this.#begun;
  }

  /** Bytes have come. */
  came() {
    this.#begun = true;
    this.#failures = 0;
  }

  /**
   * Waits before the next attempt; or throws what `fail` makes of the last failure where there is none.
   * @param {unknown} error
   * @param {(message: string) => Error} fail
   */
  async afterFailure(error, fail) {
    const { signal, retryMs = RETRY_MS, patienceMs = PATIENCE_MS } = this.#options;
    throwIfAborted(signal);
    if (error instanceof QwenError) throw error;
    if (++this.#failures === 1) this.#since = performance.now();
    const after = error instanceof Retry ? error.after : undefined;
    const lasting = this.#begun && patienceMs > 0 && performance.now() - this.#since < patienceMs;
    if ((this.#failures >= ATTEMPTS && !lasting) || (after ?? 0) > RETRY_AFTER_MAX_MS) {
      throw fail(`${messageOf(error)}, after ${this.#failures} attempts`);
    }
    const grown = Math.min(retryMs * 2 ** (this.#failures - 1), PAUSE_MAX_MS) * (0.5 + Math.random() / 2);
    await pause(after ?? grown, signal);
  }
}
