// One file over HTTP, read in ascending order: a single streaming answer feeds the engine as it arrives, with Range where a
// position other than the start is wanted. Lost connections go on where they stopped; servers that ignore ranges, compress,
// or answer a missing file with a page of HTML are told apart here. Every request asks the original URL, so an expired
// redirect is resolved anew.
import { abortedError, messageOf, QwenError, qwenError, throwIfAborted } from '../errors.js';

const ATTEMPTS = 5;
const RETRY_MS = 500;
const RETRY_AFTER_MAX_MS = 60_000;
const SILENCE_MS = 30_000;
/** A gap up to this size is read and thrown away rather than asked for anew. */
const SKIP_BYTES = 1 << 20;
/** A body without a trustworthy length is held up to this size; a larger one is counted first, then fetched again. */
const HOLD_BYTES = 64 << 20;
const PROBE_BYTES = 1024;
const EMPTY = new Uint8Array(0);

/**
 * @typedef {object} HttpOptions
 * @property {string} name for messages
 * @property {AbortSignal} signal
 * @property {Record<string, string>} [headers]
 * @property {boolean} [optional] may be absent
 * @property {(note: string) => void} [note]
 * @property {number} [window] first range in bytes, doubled each time; 0: one open range (for plan(), which wants headers only)
 * @property {boolean} [probe] the first request is for the beginning only, because most of the file is here already
 * @property {number} [retryMs]
 */

/** A fault that another attempt may cure. */
class Retry extends Error {
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
function sleep(ms, signal) {
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
 * What `promise` brings, or a Retry where nothing came for too long (then `give` is called to drop the connection).
 * @template T
 * @param {Promise<T>} promise
 * @param {() => void} give
 * @returns {Promise<T>}
 */
function orSilence(promise, give) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      reject(new Retry(`no byte for ${SILENCE_MS / 1000} s`));
      give();
    }, SILENCE_MS);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** @param {Response} response */
function retryAfter(response) {
  const value = response.headers.get('retry-after');
  if (!value) return undefined;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.max(ms, 0) : undefined;
}

/** @param {string | null} text */
function parseContentRange(text) {
  const found = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+|\*)$/.exec(text ?? '');
  if (!found) return null;
  return { start: Number(found[1]), total: found[3] === '*' ? NaN : Number(found[3]) };
}

/** @param {Response} response */
function contentLength(response) {
  const value = response.headers.get('content-length');
  return value === null || !/^\d+$/.test(value) ? NaN : Number(value);
}

/** @param {Response} response */
function isEncoded(response) {
  const encoding = response.headers.get('content-encoding');
  return Boolean(encoding && encoding !== 'identity');
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

export class HttpFile {
  phase = /** @type {const} */ ('download');
  size = 0;
  etag = '';
  modified = '';
  #url;
  #options;
  #ranges = false;
  #window;
  /** @type {AbortController | null} */
  #request = null;
  /** @type {ReadableStreamDefaultReader<Uint8Array> | null} */
  #reader = null;
  /** Of the next byte of the answer that is being read, and where that answer ends. */
  #at = 0;
  #until = 0;
  /** @type {Uint8Array} */
  #chunk = EMPTY;
  /** @type {Uint8Array | null} */
  #held = null;

  /**
   * @param {string} url
   * @param {HttpOptions} options
   */
  constructor(url, options) {
    this.#url = url;
    this.#options = options;
    this.#window = options.probe ? PROBE_BYTES : (options.window ?? 0);
  }

  /**
   * The file, its size known and its first bytes looked at; null where it is optional and absent.
   * @param {string} url
   * @param {HttpOptions} options
   */
  static async open(url, options) {
    const file = new HttpFile(url, options);
    const found = await file.#trying(() => file.#start());
    file.#window = options.window ?? 0;
    return found ? file : null;
  }

  get name() {
    return this.#options.name;
  }

  /**
   * Brings 1 .. view.length bytes from offset on; returns how many. Costs least where offsets ascend.
   * @param {Uint8Array} view
   * @param {number} offset
   * @returns {Promise<number>}
   */
  fill(view, offset) {
    return this.#trying(async () => {
      if (this.#held) {
        const bytes = this.#held.subarray(offset, offset + view.length);
        view.set(bytes);
        return bytes.length;
      }
      if (!this.#reader || offset !== this.#at) await this.#seek(offset);
      await this.#more();
      const n = Math.min(view.length, this.#chunk.length);
      view.set(this.#chunk.subarray(0, n));
      this.#chunk = this.#chunk.subarray(n);
      this.#at += n;
      return n;
    });
  }

  async finish() {}

  close() {
    this.#request?.abort();
    this.#request = null;
    this.#reader = null;
    this.#chunk = EMPTY;
  }

  /**
   * Runs a step again while its fault may pass, after a pause that grows or that the server names.
   * @template T
   * @param {() => Promise<T>} step
   * @returns {Promise<T>}
   */
  async #trying(step) {
    const { signal, retryMs = RETRY_MS } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        return await step();
      } catch (error) {
        this.close();
        throwIfAborted(signal);
        if (error instanceof QwenError) throw error;
        const after = error instanceof Retry ? error.after : undefined;
        if (attempt === ATTEMPTS || (after ?? 0) > RETRY_AFTER_MAX_MS) {
          throw qwenError('network', `${this.#url}: ${messageOf(error)}, after ${attempt} attempts`, error);
        }
        await sleep(after ?? retryMs * 2 ** (attempt - 1), signal);
      }
    }
  }

  /**
   * @param {number} offset
   * @param {boolean} ranged
   */
  async #fetch(offset, ranged) {
    this.close();
    const request = new AbortController();
    const { signal, headers } = this.#options;
    const abort = () => request.abort();
    signal.addEventListener('abort', abort, { once: true });
    request.signal.addEventListener('abort', () => signal.removeEventListener('abort', abort), { once: true });
    throwIfAborted(signal);
    const end = this.#window > 0 ? String(offset + this.#window - 1) : '';
    const range = ranged ? { Range: `bytes=${offset}-${end}` } : undefined;
    this.#request = request;
    const asked = fetch(this.#url, { headers: { ...headers, ...range }, signal: request.signal, cache: 'no-store' });
    return await orSilence(asked, abort);
  }

  /** First request: size, validators, first bytes. False where the file is absent and may be. */
  async #start() {
    let response = await this.#fetch(0, true);
    const range = parseContentRange(response.headers.get('content-range'));
    if (response.status === 416 && range?.total === 0) {
      this.#held = EMPTY;
      return true;
    }
    if (response.status === 416 || (response.status === 206 && (isEncoded(response) || (range && range.start !== 0)))) {
      response = await this.#fetch(0, false);
    }
    if (!this.#accept(response)) return false;
    this.etag = response.headers.get('etag') ?? '';
    this.modified = response.headers.get('last-modified') ?? '';
    this.#ranges = response.status === 206;
    this.#read(response, 0);
    const total = this.#ranges ? (range?.total ?? (this.#window ? NaN : contentLength(response))) : NaN;
    if (Number.isFinite(total)) this.size = total;
    else if (this.#ranges)
      throw qwenError('network', `${this.#url}: the server hides Content-Range (CORS), so the size is not known`);
    else if (this.#lengthIsSure(response)) this.size = contentLength(response);
    else await this.#measure();
    return this.#look();
  }

  /** @param {Response} response */
  #lengthIsSure(response) {
    const length = contentLength(response);
    if (isEncoded(response) || !Number.isFinite(length)) return false;
    // Of an answer from another origin the encoding cannot be seen; nobody compresses weights on the fly.
    return response.type !== 'cors' || length > HOLD_BYTES;
  }

  /** Reads the body to its end, since only that tells its size: into memory, or, where it is large, for the size alone. */
  async #measure() {
    /** @type {Uint8Array[]} */
    let chunks = [];
    let size = 0;
    for (;;) {
      const { done, value } = await this.#next();
      if (done) break;
      size += value.length;
      if (size <= HOLD_BYTES) chunks.push(value);
      else chunks = [];
    }
    this.size = size;
    this.close();
    if (size > HOLD_BYTES) return;
    this.#held = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      this.#held.set(chunk, at);
      at += chunk.length;
    }
  }

  /** Refuses bodies that are no model's file. False: absent, with a note. */
  async #look() {
    if (this.size === 0) return true;
    if (this.#reader) await this.#more(64);
    const stranger = strangerIn(this.#held ?? this.#chunk);
    if (!stranger) return true;
    this.close();
    if (this.#options.optional && stranger === 'got HTML') {
      this.#options.note?.(`${this.#url}: ${stranger}, so the file counts as absent`);
      return false;
    }
    throw qwenError(stranger === 'got HTML' ? 'network' : 'format', `${this.#url}: ${stranger}`);
  }

  /** @param {Response} response */
  #accept(response) {
    const { status } = response;
    if (status === 200 || status === 206) return true;
    this.close();
    if (status === 408 || status === 429 || status >= 500) throw new Retry(`status ${status}`, retryAfter(response));
    if (this.#options.optional && [403, 404, 410].includes(status)) {
      if (status === 403) this.#options.note?.(`${this.#url}: status 403, so the file counts as absent`);
      return false;
    }
    const hint = status === 401 || status === 403 ? ' (does it need a token?)' : '';
    throw qwenError('network', `${this.#url}: status ${status}${hint}`);
  }

  /**
   * @param {Response} response
   * @param {number} at
   */
  #read(response, at) {
    const body = /** @type {ReadableStream<Uint8Array> | null} */ (response.body);
    this.#reader = body?.getReader() ?? null;
    this.#at = at;
    this.#until = this.#window && response.status === 206 ? at + this.#window : Infinity;
  }

  /** Goes to an offset: by reading on where it is near or there is no other way, else with a new request. */
  async #seek(/** @type {number} */ offset) {
    const near = this.#reader && offset > this.#at && offset - this.#at <= SKIP_BYTES;
    if (!near && (this.#ranges || !this.#reader || offset < this.#at)) await this.#restart(offset);
    while (this.#at < offset) {
      await this.#more();
      const n = Math.min(this.#chunk.length, offset - this.#at);
      this.#chunk = this.#chunk.subarray(n);
      this.#at += n;
    }
  }

  /** @param {number} offset */
  async #restart(offset) {
    if (this.#window) this.#window *= 2;
    let response = await this.#fetch(offset, this.#ranges);
    const range = parseContentRange(response.headers.get('content-range'));
    if (response.status === 206 && range && range.start !== offset) {
      this.#ranges = false;
      response = await this.#fetch(0, false);
    }
    this.#accept(response);
    if (response.status === 200 && this.#lengthIsSure(response) && contentLength(response) !== this.size) {
      throw new Retry(`the server answers with ${contentLength(response)} bytes, before it was ${this.size}`);
    }
    const etag = response.headers.get('etag') ?? '';
    const total = response.status === 206 ? range?.total : undefined;
    if ((this.etag && etag && etag !== this.etag) || (total && total !== this.size)) {
      this.close();
      const found =
        total && total !== this.size ? `${total} bytes, before ${this.size}` : `ETag ${etag}, before ${this.etag}`;
      throw qwenError('integrity', `${this.#url}: the file changed while it was read (now ${found}); load it again`);
    }
    this.#read(response, response.status === 206 ? offset : 0);
  }

  /** @returns {Promise<ReadableStreamReadResult<Uint8Array>>} */
  async #next() {
    const reader = this.#reader;
    if (!reader) throw new Retry('the answer has no body');
    return await orSilence(reader.read(), () => this.close());
  }

  /** Sees to it that at least `least` bytes (as far as the file has them) are at hand. */
  async #more(least = 1) {
    while (this.#chunk.length < Math.min(least, this.size - this.#at)) {
      const { done, value } = await this.#next();
      if (!done) {
        this.#chunk = this.#chunk.length ? joined(this.#chunk, value) : value;
        continue;
      }
      const end = this.#at + this.#chunk.length;
      if (end < this.#until) throw new Retry(`the answer ended after ${end} of ${this.size} bytes`);
      if (this.#chunk.length) return;
      await this.#restart(end);
    }
  }
}

/**
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
function joined(a, b) {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/**
 * Whether the file at a URL is still the one with these validators: 'same', 'changed', 'unknown' where the answer does not
 * tell (it may be no file at all), 'unreachable' where none comes within a short time, or the server is out of order.
 * @param {string} url
 * @param {{ etag: string, modified: string, bytes: number }} known
 * @param {{ signal: AbortSignal, headers?: Record<string, string>, ms: number }} options
 */
export async function compareWithServer(url, known, { signal, headers, ms }) {
  const request = new AbortController();
  const abort = () => request.abort();
  const timer = setTimeout(abort, ms);
  signal.addEventListener('abort', abort, { once: true });
  try {
    const range = { Range: 'bytes=0-0' };
    const response = await fetch(url, { headers: { ...headers, ...range }, signal: request.signal, cache: 'no-store' });
    const html = (response.headers.get('content-type') ?? '').startsWith('text/html');
    if (response.status === 429 || response.status >= 500) return 'unreachable';
    if ((response.status !== 206 && response.status !== 200) || html) return 'unknown';
    const range0 = parseContentRange(response.headers.get('content-range'));
    const sure = response.status === 200 && !isEncoded(response) && response.type !== 'cors';
    const size = range0?.total ?? (sure ? contentLength(response) : NaN);
    if (Number.isFinite(size) && size !== known.bytes) return 'changed';
    const etag = response.headers.get('etag');
    if (etag && known.etag) return etag === known.etag ? 'same' : 'changed';
    const modified = response.headers.get('last-modified');
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
