// The one error class of the package. message says what, where, both values and the way out; code is for programs.

/**
 * @typedef {'format' | 'model' | 'integrity' | 'network' | 'storage' | 'memory' | 'context' | 'usage' | 'aborted'
 *   | 'environment' | 'closed' | 'internal'} ErrorCode
 */

export class QwenError extends Error {
  /**
   * @param {string} [message]
   * @param {{ code?: ErrorCode, cause?: unknown }} [options]
   */
  constructor(message, { code = 'internal', cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'QwenError';
    /** @type {ErrorCode} */
    this.code = code;
  }
}

/**
 * @param {ErrorCode} code
 * @param {string} message
 * @param {unknown} [cause]
 */
export const qwenError = (code, message, cause) => new QwenError(message, { code, cause });

/**
 * The error of a call whose signal was aborted; the signal's reason is its cause.
 * @param {AbortSignal} [signal]
 */
export const abortedError = (signal) => qwenError('aborted', 'the call was aborted by its signal', signal?.reason);

/** @param {AbortSignal | undefined} signal */
export function throwIfAborted(signal) {
  if (signal && typeof signal.addEventListener !== 'function') throw qwenError('usage', 'signal is no AbortSignal');
  if (signal?.aborted) throw abortedError(signal);
}

/**
 * What `promise` comes to, or a rejection with 'aborted' as soon as the signal is aborted.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal | undefined} signal
 * @param {() => void} [onAbort] brings what is going on behind the promise to its end
 * @returns {Promise<T>}
 */
export function cancellable(promise, signal, onAbort = () => {}) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => {
      onAbort();
      reject(abortedError(signal));
    };
    const end = () => signal.removeEventListener('abort', abort);
    promise.then(resolve, reject).then(end, end);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

/** @param {unknown} error */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error));

/**
 * Any thrown value as a QwenError: it keeps one that is, and calls the rest our fault.
 * @param {unknown} error
 * @param {ErrorCode} [code]
 */
export function toQwenError(error, code = 'internal') {
  return error instanceof QwenError ? error : qwenError(code, messageOf(error), error);
}
