// Whether a kept file is still the one that its URL leads to.
import { answerOf } from './http-answer.js';

/**
 * 'same', 'changed', 'unknown' where the answer does not tell (it may be no file at all), 'unreachable' where none comes within a
 * short time, or the server is out of order.
 * @param {string} url
 * @param {{ etag: string, modified: string, bytes: number }} known
 * @param {{ signal: AbortSignal, headers?: Record<string, string>, redirect?: RequestRedirect, ms: number }} options
 */
export async function compareWithServer(url, known, { signal, headers, redirect, ms }) {
  const request = new AbortController();
  const abort = () => request.abort();
  const timer = setTimeout(abort, ms);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const all = { ...headers, Range: 'bytes=0-0' };
    const response = await fetch(url, { headers: all, redirect, signal: request.signal, cache: 'no-store' });
    const { status, range, length, encoded, html, etag, modified } = answerOf(response);
    if (status === 429 || status >= 500) return 'unreachable';
    if ((status !== 206 && status !== 200) || html) return 'unknown';
    const sure = status === 200 && !encoded && response.type !== 'cors';
    const size = range?.total ?? (sure ? length : NaN);
    if (Number.isFinite(size) && size !== known.bytes) return 'changed';
    if (etag && known.etag) return etag === known.etag ? 'same' : 'changed';
    if (modified && known.modified) return modified === known.modified ? 'same' : 'changed';
    return Number.isFinite(size) ? 'same' : 'unknown';
  } catch {
    return 'unreachable';
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
    request.abort();
  }
}
