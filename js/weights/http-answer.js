// What an answer to a request for (a part of) a file says: its headers as numbers, and why a body cannot be a model's file.

const SILENCE_MS = 30_000;

/**
 * @typedef {object} Answer
 * @property {Response} response
 * @property {number} status
 * @property {{ start: number, end: number, total: number } | null} range Content-Range where it can be seen; total may be NaN
 * @property {number} length Content-Length, NaN where it is unknown or of an encoded body
 * @property {boolean} encoded
 * @property {boolean} html
 * @property {string} etag
 * @property {string} modified
 */

/** @param {string | null} text */
export function parseContentRange(text) {
  const found = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(text ?? '');
  if (!found) return null;
  return { start: Number(found[1]), end: Number(found[2]) + 1, total: found[3] === '*' ? NaN : Number(found[3]) };
}

/**
 * @param {Response} response
 * @returns {Answer}
 */
export function answerOf(response) {
  const { headers, status } = response;
  const encoding = headers.get('content-encoding');
  const encoded = Boolean(encoding && encoding !== 'identity');
  const length = headers.get('content-length');
  return {
    response,
    status,
    range: parseContentRange(headers.get('content-range')),
    length: encoded || length === null || !/^\d+$/.test(length) ? NaN : Number(length),
    encoded,
    html: (headers.get('content-type') ?? '').startsWith('text/html'),
    etag: headers.get('etag') ?? '',
    modified: headers.get('last-modified') ?? '',
  };
}

/** @param {Response} response */
export function retryAfter(response) {
  const value = response.headers.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined;
}

/**
 * Why the first bytes of an answer cannot be a model's file, or ''.
 * @param {Uint8Array} head
 */
export function strangerIn(head) {
  const text = new TextDecoder('latin1').decode(head.slice(0, 64));
  if (/^\s*<(!doctype|html|head|body)/i.test(text)) return 'got HTML';
  if (text.startsWith('version https://git-lfs')) return 'got a Git LFS pointer, not the file';
  return '';
}

/**
 * What `promise` brings, or an Error where nothing came for too long (then `give` is called to drop the connection).
 * @template T
 * @param {Promise<T>} promise
 * @param {() => void} give
 * @returns {Promise<T>}
 */
export function orSilence(promise, give) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Error(`no byte for ${SILENCE_MS / 1000} s`));
      give();
    }, SILENCE_MS);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
