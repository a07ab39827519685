// One file over HTTP, read in ascending order. In a load one streaming answer feeds the engine as it arrives; while only headers
// are wanted, ranges of bounded size are asked for and read to their ends, so that no answer waits half read and holds a
// connection. Lost connections go on where they stopped; servers that ignore ranges, cap them, hide them, compress, or answer
// a missing file with a page of HTML are told apart here. Every request asks the original URL, so an expired redirect is
// resolved anew.
import { QwenError, qwenError, throwIfAborted } from '../errors.js';
import { orSilence, retryAfter, strangerIn } from './http-answer.js';
import { explained, HttpRequest } from './http-request.js';
import { Patience, Retry } from './retry.js';

/** A gap up to this size is read and thrown away rather than asked for anew. */
const SKIP_BYTES = 1 << 20;
/** Of a smaller body from another origin the length is not trusted: its encoding cannot be seen. */
const SMALL_BYTES = 64 << 20;
/** A body without a length is gathered in Blobs of this size, which browsers move to disk. */
const BLOB_BYTES = 16 << 20;
const PROBE_BYTES = 1024;
const EMPTY = new Uint8Array(0);

/**
 * @typedef {import('./http-answer.js').Answer} Answer
 *
 * @typedef {object} HttpOptions
 * @property {string} name for messages
 * @property {AbortSignal} signal
 * @property {Record<string, string>} [headers]
 * @property {'follow' | 'error'} [redirect]
 * @property {boolean} [optional] may be absent
 * @property {(note: string) => void} [note]
 * @property {number} [window] first range in bytes, doubled each time; 0: one open range
 * @property {boolean} [probe] the first request is for the beginning only, because most of the file is here already
 * @property {(bytes: number) => void} [measuring] told of the bytes of a body whose length is unknown, as they come
 * @property {number} [retryMs]
 * @property {number} [patienceMs]
 */

/** @implements {RemoteFile} */
export class HttpFile {
  phase = /** @type {const} */ ('download');
  size = 0;
  etag = '';
  modified = '';
  #url;
  #options;
  #patience;
  /** Whether the server gives ranges; null: a plain request worked where one with a range failed, which may have been chance. */
  #ranges = /** @type {boolean | null} */ (true);
  #window;
  /** @type {HttpRequest | null} */
  #request = null;
  /** @type {ReadableStreamDefaultReader<Uint8Array> | null} */
  #reader = null;
  /** Of the next byte of the answer that is being read, and where that answer ends. */
  #at = 0;
  #until = 0;
  /** @type {Uint8Array} */
  #chunk = EMPTY;
  /** @type {Blob | null} a body that came without a length */
  #whole = null;
  #closed = false;

  /**
   * @param {string} url
   * @param {HttpOptions} options
   */
  constructor(url, options) {
    this.#url = url;
    this.#options = options;
    this.#patience = new Patience(options);
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

  /** From now on the file is wanted to its end. */
  stream() {
    this.#window = 0;
  }

  /**
   * Brings 1 .. view.length bytes from offset on; returns how many. Costs least where offsets ascend.
   * @param {Uint8Array} view
   * @param {number} offset
   * @returns {Promise<number>}
   */
  async fill(view, offset) {
    if (this.#whole) {
      const bytes = new Uint8Array(await this.#whole.slice(offset, offset + view.length).arrayBuffer());
      view.set(bytes);
      return bytes.length;
    }
    return this.#trying(async () => {
      if (!this.#isAt(offset)) await this.#seek(offset);
      await this.#more();
      const n = Math.min(view.length, this.#chunk.length);
      view.set(this.#chunk.subarray(0, n));
      this.#drop(n);
      return n;
    });
  }

  async finish() {}

  async pause() {
    this.#hangUp();
  }

  close() {
    this.#closed = true;
    this.#hangUp();
  }

  #hangUp() {
    this.#request?.drop();
    this.#request = null;
    this.#reader = null;
    this.#chunk = EMPTY;
  }

  /** @param {number} offset */
  #isAt(offset) {
    return offset === this.#at && (this.#reader !== null || this.#chunk.length > 0);
  }

  /** @param {number} n */
  #drop(n) {
    this.#chunk = this.#chunk.subarray(n);
    this.#at += n;
  }

  /**
   * Runs a step again while its fault may pass.
   * @template T
   * @param {() => Promise<T>} step
   * @returns {Promise<T>}
   */
  async #trying(step) {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        this.#hangUp();
        throwIfAborted(this.#options.signal);
        if (this.#closed) throw qwenError('closed', `${this.#url}: it was closed while it was read`);
        if (error instanceof QwenError) throw error;
        const told = await explained(this.#url, error, this.#options);
        // What began well is not forbidden: the network has gone.
        const again = told instanceof QwenError && this.#patience.begun ? error : told;
        await this.#patience.afterFailure(again, (text) => qwenError('network', `${this.#url}: ${text}`, error));
      }
    }
  }

  /**
   * Asks for the file from an offset on (a window of it, where there is one).
   * @param {number} offset
   */
  async #ask(offset) {
    this.#hangUp();
    if (this.#closed) throw qwenError('closed', `${this.#url}: it is closed`);
    const request = new HttpRequest(this.#url, this.#options);
    this.#request = request;
    if (this.#ranges === false) return request.send();
    const end = this.#window > 0 ? String(offset + this.#window - 1) : '';
    return request.sendRange(`bytes=${offset}-${end}`);
  }

  /** First request: size, validators, first bytes. False where the file is absent and may be. */
  async #start() {
    let answer = await this.#ask(0);
    if (answer.status === 416 && /^bytes \*\/0$/.test(answer.response.headers.get('content-range') ?? '')) return true;
    const odd = answer.status === 206 && (answer.encoded || (answer.range && answer.range.start !== 0));
    if (answer.status === 416 || odd) answer = await this.#askPlain();
    if (!this.#accept(answer)) return false;
    if (answer.status === 206 && this.#window > 0 && !this.#totalOf(answer)) {
      // The total is hidden (CORS) or unknown: an open range tells it by its length, and is left after the head.
      this.#window = 0;
      answer = await this.#ask(0);
      if (!this.#accept(answer)) return false;
    }
    if (answer.status === 206 && !this.#totalOf(answer)) {
      answer = await this.#askPlain();
      if (!this.#accept(answer)) return false;
    }
    this.etag = answer.etag;
    this.modified = answer.modified;
    if (answer.status === 206) {
      this.size = this.#totalOf(answer);
    } else {
      if (this.#ranges) this.#ranges = this.#request?.plain ? null : false;
      if (this.#lengthIsSure(answer)) this.size = answer.length;
      else return this.#measure(answer);
    }
    await this.#begin(answer, 0);
    return this.#look();
  }

  /**
   * The file's size as a 206 to the first request tells it, NaN where it does not.
   * @param {Answer} answer
   */
  #totalOf({ range, length }) {
    return range?.total || (this.#window > 0 ? NaN : length);
  }

  #askPlain() {
    this.#ranges = false;
    return this.#ask(0);
  }

  /** @param {Answer} answer */
  #lengthIsSure({ length, encoded, response }) {
    if (encoded || !Number.isFinite(length)) return false;
    // Of an answer from another origin the encoding cannot be seen; nobody compresses large weights on the fly.
    return response.type !== 'cors' || length > SMALL_BYTES;
  }

  /**
   * Reads the body to its end, since only that tells its size, and keeps it.
   * @param {Answer} answer
   */
  async #measure({ response }) {
    this.#reader = readerOf(response);
    const blobs = [];
    /** @type {Uint8Array<ArrayBuffer>[]} */
    let pieces = [];
    let held = 0;
    let size = 0;
    for (;;) {
      const { done, value } = await this.#next();
      if (done) break;
      pieces.push(/** @type {Uint8Array<ArrayBuffer>} */ (value));
      size += value.length;
      held += value.length;
      this.#options.measuring?.(size);
      if (held < BLOB_BYTES) continue;
      blobs.push(new Blob(pieces));
      pieces = [];
      held = 0;
    }
    this.#hangUp();
    this.size = size;
    this.#whole = new Blob([...blobs, ...pieces]);
    return this.#refuse(new Uint8Array(await this.#whole.slice(0, 64).arrayBuffer()));
  }

  /** Refuses bodies that are no model's file. False: absent, with a note. */
  async #look() {
    if (this.size === 0) return true;
    await this.#more(64);
    return this.#refuse(this.#chunk);
  }

  /** @param {Uint8Array} head */
  #refuse(head) {
    const stranger = strangerIn(head);
    if (!stranger) return true;
    this.#hangUp();
    if (this.#options.optional && stranger === 'got HTML') {
      this.#options.note?.(`${this.#url}: ${stranger}, so the file counts as absent`);
      return false;
    }
    throw qwenError(stranger === 'got HTML' ? 'network' : 'format', `${this.#url}: ${stranger}`);
  }

  /** @param {Answer} answer */
  #accept({ status, response }) {
    if (status === 200 || status === 206) return true;
    this.#hangUp();
    if (status === 408 || status === 429 || status >= 500) throw new Retry(`status ${status}`, retryAfter(response));
    if (this.#options.optional && [403, 404, 410].includes(status)) {
      if (status === 403) this.#options.note?.(`${this.#url}: status 403, so the file counts as absent`);
      return false;
    }
    const hint = status === 401 || status === 403 ? ' (does it need a token?)' : '';
    throw qwenError('network', `${this.#url}: status ${status}${hint}`);
  }

  /**
   * Begins to read an answer. One of bounded size is read at once: nothing is left waiting in a connection.
   * @param {Answer} answer
   * @param {number} at
   */
  async #begin(answer, at) {
    this.#reader = readerOf(answer.response);
    this.#at = at;
    this.#until = this.size;
    if (answer.status !== 206) return;
    const given = answer.range ? answer.range.end - answer.range.start : answer.length;
    const asked = this.#window > 0 ? Math.min(this.#window, this.size - at) : this.size - at;
    this.#until = at + (given <= asked ? given : asked);
    if (this.#window > 0) await this.#more(this.#until - at);
  }

  /** Goes to an offset: by reading on where it is near or there is no other way, else with a new request. */
  async #seek(/** @type {number} */ offset) {
    const ahead = offset > this.#at && (this.#reader !== null || this.#chunk.length > 0);
    const near = ahead && offset - this.#at <= SKIP_BYTES;
    if (!near && (this.#ranges || !ahead)) await this.#restart(offset);
    while (this.#at < offset) {
      await this.#more();
      this.#drop(Math.min(this.#chunk.length, offset - this.#at));
    }
  }

  /**
   * Asks for the rest from an offset on, and makes sure that it is the rest of the same file.
   * @param {number} offset
   */
  async #restart(offset) {
    if (this.#window > 0) this.#window *= 2;
    let answer = await this.#ask(offset);
    if (answer.status === 206 && !this.#fits(answer, offset)) answer = await this.#askPlain();
    if (answer.status === 416) this.#changed(`status 416 at byte ${offset}`);
    this.#accept(answer);
    const { status, range, length, etag, modified } = answer;
    if (status === 200 && answer.html) throw new Retry('got HTML');
    const total = status === 206 ? range?.total : this.#lengthIsSure(answer) ? length : NaN;
    if (total && total !== this.size) this.#changed(`${total} bytes, before ${this.size}`);
    if (this.etag && etag && etag !== this.etag) this.#changed(`ETag ${etag}, before ${this.etag}`);
    const dated = !this.etag || !etag;
    if (dated && this.modified && modified && modified !== this.modified)
      this.#changed(`Last-Modified ${modified}, before ${this.modified}`);
    await this.#begin(answer, status === 206 ? offset : 0);
  }

  /**
   * Whether an answer with status 206 can be what was asked for: a range that begins there and is no longer.
   * @param {Answer} answer
   * @param {number} offset
   */
  #fits({ range, length, encoded }, offset) {
    if (encoded || (range && range.start !== offset)) return false;
    const asked = this.#window > 0 ? Math.min(this.#window, this.size - offset) : this.size - offset;
    if (range && Number.isFinite(length) && length !== range.end - range.start) return false;
    return Number.isFinite(length) ? length <= asked : range !== null;
  }

  /**
   * @param {string} found
   * @returns {never}
   */
  #changed(found) {
    this.#hangUp();
    throw qwenError('integrity', `${this.#url}: the file changed while it was read (now ${found}); load it again`);
  }

  /** @returns {Promise<ReadableStreamReadResult<Uint8Array>>} */
  async #next() {
    const reader = this.#reader;
    if (!reader) throw new Retry('the answer has no body');
    const result = await orSilence(reader.read(), () => this.#hangUp());
    if (!result.done) this.#patience.came();
    return result;
  }

  /** Sees to it that at least `least` bytes (as far as the file has them) are at hand. */
  async #more(least = 1) {
    const pieces = [this.#chunk];
    let held = this.#chunk.length;
    const wanted = () => Math.min(least, this.size - this.#at);
    while (held < wanted()) {
      const end = this.#at + held;
      if (end === this.#until) {
        // The server gave less than it was asked for, in whole: the next piece follows at once.
        held += await this.#goOn(end, pieces);
        continue;
      }
      const { done, value } = await this.#next();
      if (done) throw new Retry(`the answer ended after ${end} of ${this.size} bytes`);
      if (end + value.length > this.#until) this.#surplus(end + value.length);
      pieces.push(value);
      held += value.length;
    }
    if (pieces.length > 1) this.#chunk = joined(pieces, held);
    if (this.#at + held === this.#until) this.#reader = null;
  }

  /**
   * Begins the next answer; how many bytes of it are there already.
   * @param {number} end
   * @param {Uint8Array[]} pieces what is held already
   */
  async #goOn(end, pieces) {
    const at = this.#at;
    await this.#restart(end);
    if (this.#at !== end) throw new Retry(`the server gave ranges up to byte ${end} and no further`);
    this.#at = at;
    pieces.push(this.#chunk);
    return this.#chunk.length;
  }

  /**
   * More bytes than the answer may have: whatever it is, it is not the rest of the file.
   * @param {number} end
   */
  #surplus(end) {
    this.#ranges = false;
    throw new Retry(`the answer goes on to byte ${end}, where ${this.#until} was its end`);
  }
}

/** @typedef {import('./open-file.js').RemoteFile} RemoteFile */

/** @param {Response} response */
const readerOf = (response) => /** @type {ReadableStream<Uint8Array> | null} */ (response.body)?.getReader() ?? null;

/**
 * @param {Uint8Array[]} pieces
 * @param {number} length
 */
function joined(pieces, length) {
  const all = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
