// One range of a file whose size is known, by a request of its own.
import { QwenError, qwenError, throwIfAborted } from '../errors.js';
import { orSilence, retryAfter } from './http-answer.js';
import { explained, HttpRequest } from './http-request.js';
import { Patience, Retry } from './retry.js';

/** The server does not give ranges. */
export class NoRanges extends Error {}

/**
 * @typedef {import('./http-request.js').RequestOptions & {
 *   from: number, to: number, size: number, last: boolean, retryMs?: number,
 *   control: AbortController, arrived: (bytes: number) => void }} RangeOptions
 */

/** Where a request with a range failed so often before a byte came, the range itself may be what is refused. */
const REFUSALS = 2;

/**
 * Brings the bytes [from, to) of a file of `size` bytes.
 * @param {string} url
 * @param {Uint8Array} view
 * @param {RangeOptions} options control: ends it, as the signal does; last: there is no other place to turn to
 */
export async function fetchRange(url, view, options) {
  const { signal, control, last, retryMs } = options;
  const patience = new Patience({ signal, retryMs, patienceMs: last ? undefined : 0 });
  let refusals = 0;
  for (let done = 0; done < view.length;) {
    const request = new HttpRequest(url, options);
    const drop = () => request.drop();
    control.signal.addEventListener('abort', drop, { once: true });
    const arrived = (/** @type {Uint8Array} */ bytes) => {
      view.set(bytes, done);
      done += bytes.length;
      patience.came();
      options.arrived(bytes.length);
    };
    try {
      await readRange(request, { from: options.from + done, to: options.to, size: options.size, arrived });
    } catch (error) {
      throwIfAborted(signal);
      if (control.signal.aborted) throw qwenError('closed', `${url}: it was closed while it was read`);
      if (error instanceof NoRanges || error instanceof QwenError) throw error;
      if (error instanceof TypeError && !patience.begun && ++refusals === REFUSALS) throw new NoRanges();
      const told = await explained(url, error, options);
      await patience.afterFailure(told, (text) => qwenError('network', `${url}: ${text}`, error));
    } finally {
      request.drop();
      control.signal.removeEventListener('abort', drop);
    }
  }
}

/**
 * One request and its answer, which may be shorter than what was asked for.
 * @param {HttpRequest} request
 * @param {{ from: number, to: number, size: number, arrived: (bytes: Uint8Array) => void }} wanted
 */
async function readRange(request, { from, to, size, arrived }) {
  const { status, range, length, response, encoded } = await request.send(`bytes=${from}-${to - 1}`);
  if (status === 408 || status === 429 || status >= 500) throw new Retry(`status ${status}`, retryAfter(response));
  const whole = status === 200 && from === 0 && to === size && !encoded;
  if (status === 200 && !whole) throw new NoRanges();
  if (status !== 206 && !whole) throw qwenError('network', `${response.url}: status ${status}`);
  if (encoded || (range && (range.start !== from || range.end > to)) || length > to - from) throw new NoRanges();
  if (range?.total && range.total !== size)
    throw qwenError('network', `${response.url}: ${range.total} bytes, expected ${size}`);
  const reader = response.body?.getReader();
  let at = 0;
  while (reader) {
    const { done, value } = await orSilence(reader.read(), () => request.drop());
    if (done) break;
    if (at + value.length > to - from) throw new NoRanges();
    at += value.length;
    arrived(value);
  }
  const given = range ? range.end - range.start : length;
  if (at === 0 || at < given) throw new Retry(`the answer ended after ${at} of ${to - from} bytes`);
}
