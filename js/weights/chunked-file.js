// An OpenFile that is read in chunks, each of which is checked before a byte of it is given out: against the sums that a manifest
// names, or those that were taken when the bytes first came. A chunk that is kept on this device comes from there; the others
// come from the source, are kept, and a bad one is asked for again, alone. Chunks pass in order, read some ahead.
import { QwenError, qwenError } from '../errors.js';
import { digest } from './digest.js';
import { Sha256 } from './sha256.js';

/** How many chunks are read before the engine asks for them. */
const AHEAD = 3;
/** So many damaged chunks of a kept copy are held for mending it; what is beyond is left to the next load. */
const MENDED_MAX = 16;

/**
 * Where chunks come from that are not kept.
 * @typedef {object} ChunkSource
 * @property {(start: number, end: number, arrived: (bytes: number) => void) => Promise<Uint8Array<ArrayBuffer>>} read chunks are asked for
 *   in order, some ahead; a source that is one stream reads them one after the other
 * @property {() => boolean} [wrong] the last bytes were not the file's: whether there is another place to ask
 * @property {() => void} [stream]
 * @property {() => void} rest gives back connections
 * @property {() => void} close
 *
 * @typedef {object} ChunkedOptions
 * @property {string} name
 * @property {number} size
 * @property {number} chunk bytes of a chunk
 * @property {() => Promise<ChunkSource>} source opened when it is needed
 * @property {import('./kept-copy.js').KeptCopy | null} copy
 * @property {import('./digest.js').Sums | null} [sums] what the chunks must have
 * @property {string} [sha256] what the whole must have
 * @property {boolean} [eager] whether chunks are read ahead from the first on
 * @property {(note: string) => void} note
 * @property {() => void} moved told when bytes have come
 * @property {(problem: 'wrong' | 'changed' | 'storage', error: unknown) => Promise<void>} failed 'wrong': the bytes are not the file's; 'changed': the file
 *   became another one while it was read; 'storage': keeping
 *   was given up
 */

/** @implements {OpenFile} */
export class ChunkedFile {
  /** @type {'download' | 'cache'} */
  phase = 'download';
  #o;
  #copy;
  #chunks;
  #eager;
  /** @type {Map<number, Promise<Uint8Array>>} being read, or read and not passed */
  #slots = new Map();
  /** @type {{ i: number, bytes: Uint8Array } | null} */
  #current = null;
  /** Chunks before this one have passed. */
  #passed = 0;
  #hash;
  #here = 0;
  /** @type {Map<number, number>} bytes of chunks that are on their way */
  #arrived = new Map();
  /** @type {Promise<ChunkSource> | null} */
  #source = null;
  /** @type {Map<number, Uint8Array<ArrayBuffer>>} chunks that were damaged in a kept copy, as they should be */
  #mended = new Map();
  #closed = false;
  /** Buffers that kept chunks are read into, and those of them that are free. */
  #buffers = new Set();
  /** @type {ArrayBuffer[]} */
  #spare = [];

  /** @param {ChunkedOptions} options */
  constructor(options) {
    this.#o = options;
    this.#copy = options.copy;
    this.#chunks = Math.ceil(options.size / options.chunk);
    this.#eager = options.eager ?? false;
    this.#hash = options.sha256 ? new Sha256() : null;
  }

  get name() {
    return this.#o.name;
  }

  get size() {
    return this.#o.size;
  }

  get here() {
    let sum = this.#here;
    for (const bytes of this.#arrived.values()) sum += bytes;
    return sum;
  }

  /** Chunks of a kept copy that were found damaged. */
  get mended() {
    return this.#mended;
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   */
  fill(view, offset) {
    const i = Math.floor(offset / this.#o.chunk);
    if (this.#current?.i === i) return this.#give(view, offset);
    return this.#pass(i).then(() => this.#give(view, offset));
  }

  stream() {
    this.#eager = true;
    this.#source?.then((source) => source.stream?.()).catch(() => {});
  }

  async pause() {
    await Promise.allSettled(this.#slots.values());
    if (this.#source) (await this.#source).rest();
  }

  /** Lets the rest pass. Rejects with 'integrity' where the whole is not what it should be. */
  async finish() {
    if (this.#copy?.complete && !this.#hash) return;
    if (this.#passed < this.#chunks) await this.#pass(this.#chunks - 1);
    const found = this.#hash?.digest() ?? '';
    if (found === (this.#o.sha256 ?? '')) return;
    const error = qwenError('integrity', `${this.name}: SHA-256 ${found}, expected ${this.#o.sha256}`);
    this.close();
    await this.#o.failed('wrong', error);
    throw error;
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#slots.clear();
    this.#current = null;
    this.#source?.then((source) => source.close()).catch(() => {});
    this.#copy?.close();
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   */
  #give(view, offset) {
    const { i, bytes } = /** @type {{ i: number, bytes: Uint8Array }} */ (this.#current);
    const at = offset - i * this.#o.chunk;
    const part = bytes.subarray(at, at + view.length);
    view.set(part);
    return part.length;
  }

  /**
   * Makes a chunk the current one. A complete copy is read at random; else every chunk passes once, in order.
   * @param {number} i
   */
  async #pass(i) {
    const inOrder = this.#hash !== null || !this.#copy?.complete;
    const from = inOrder && i >= this.#passed ? this.#passed : i;
    for (let n = from; n <= i; n++) {
      const bytes = await this.#take(n);
      this.#makeCurrent(n, bytes);
      if (n !== this.#passed) continue;
      this.#passed++;
      this.#hash?.update(bytes);
    }
  }

  /**
   * The buffer of the chunk before is read into again: fresh memory would cost as much as the reading.
   * @param {number} i
   * @param {Uint8Array} bytes
   */
  #makeCurrent(i, bytes) {
    const before = this.#current?.bytes.buffer;
    if (before && before !== bytes.buffer && this.#buffers.has(before))
      this.#spare.push(/** @type {ArrayBuffer} */ (before));
    this.#current = { i, bytes };
  }

  /** @param {number} i */
  async #take(i) {
    const last = this.#eager ? Math.min(i + AHEAD, this.#chunks - 1) : i;
    for (let n = i; n <= last; n++) {
      if (this.#slots.has(n)) continue;
      const slot = this.#read(n);
      slot.catch(() => {}); // an error belongs to whoever gets as far as this chunk
      this.#slots.set(n, slot);
    }
    const chunk = await /** @type {Promise<Uint8Array>} */ (this.#slots.get(i));
    for (const n of this.#slots.keys()) if (n <= i) this.#slots.delete(n);
    return chunk;
  }

  /**
   * @param {number} i
   * @returns {Promise<Uint8Array>}
   */
  async #read(i) {
    const bytes = await this.#fromCopy(i);
    if (!bytes) return this.#fetch(i);
    this.#count(i, bytes.length, 'cache');
    return bytes;
  }

  /** @param {number} i */
  #lengthOf(i) {
    return Math.min(this.#o.chunk, this.size - i * this.#o.chunk);
  }

  /**
   * A kept chunk; null where it is not there, or not what it was.
   * @param {number} i
   */
  async #fromCopy(i) {
    if (!this.#copy?.sums.has(i)) return null;
    const copy = this.#copy;
    const buffer = this.#spare.pop() ?? new ArrayBuffer(this.#o.chunk);
    this.#buffers.add(buffer);
    const bytes = new Uint8Array(buffer, 0, this.#lengthOf(i));
    const n = await copy.read(bytes, i * this.#o.chunk);
    const sums = this.#o.sums ?? copy.sums;
    if (n === bytes.length && sums.agrees(i, await digest(bytes))) return bytes;
    if (copy.complete && this.#mended.size === 0)
      this.#o.note(`${this.name}: the copy on this device was damaged; what was wrong was fetched again`);
    return null;
  }

  /**
   * A chunk from the source, from one place after the other until it is right.
   * @param {number} i
   */
  async #fetch(i) {
    this.#source ??= this.#open();
    const source = await this.#source;
    const start = i * this.#o.chunk;
    const known = this.#o.sums ?? (this.#copy?.complete ? this.#copy.sums : null);
    for (;;) {
      const bytes = await source
        .read(start, start + this.#lengthOf(i), (n) => this.#arrive(i, n))
        .catch((error) => this.#unread(error));
      const sum = await digest(bytes);
      if (!known || known.agrees(i, sum)) {
        this.#count(i, bytes.length, 'download');
        await this.#keep(i, bytes, sum);
        return bytes;
      }
      if (source.wrong?.()) continue;
      const text = `${this.name}: the bytes from ${start} on are not those of the file (SHA-256 of the chunk differs)`;
      const error = qwenError('integrity', text);
      await this.#o.failed('wrong', error);
      throw error;
    }
  }

  /**
   * @param {unknown} error
   * @returns {Promise<never>}
   */
  async #unread(error) {
    if (error instanceof QwenError && error.code === 'integrity') await this.#o.failed('changed', error);
    throw error;
  }

  async #open() {
    const source = await this.#o.source();
    if (this.#eager) source.stream?.();
    return source;
  }

  /**
   * @param {number} i
   * @param {Uint8Array<ArrayBuffer>} bytes
   * @param {Uint8Array} sum
   */
  async #keep(i, bytes, sum) {
    const copy = this.#copy;
    if (!copy || this.#closed) return;
    if (copy.complete) {
      if (this.#mended.size < MENDED_MAX) this.#mended.set(i, bytes);
      return;
    }
    try {
      copy.put(i, bytes, sum);
    } catch (error) {
      this.#copy = null;
      copy.close();
      await this.#o.failed('storage', error);
    }
  }

  /**
   * @param {number} i
   * @param {number} bytes so many more of the chunk have come
   */
  #arrive(i, bytes) {
    const before = this.#arrived.get(i) ?? 0;
    this.#arrived.set(i, Math.min(before + bytes, this.#lengthOf(i)));
    this.#o.moved();
  }

  /**
   * @param {number} i
   * @param {number} bytes
   * @param {'download' | 'cache'} phase
   */
  #count(i, bytes, phase) {
    this.phase = phase;
    this.#arrived.delete(i);
    this.#here += bytes;
    this.#o.moved();
  }
}

/** @typedef {import('./open-file.js').OpenFile} OpenFile */

/**
 * An OpenFile as a source of chunks: one stream, read in order.
 * @param {OpenFile} file
 * @returns {ChunkSource}
 */
export function streamSource(file) {
  /** @type {Promise<unknown>} */
  let last = Promise.resolve();
  let closed = false;
  return {
    read(start, end, arrived) {
      const reading = last.then(async () => {
        const bytes = new Uint8Array(end - start);
        for (let at = 0; at < bytes.length;) {
          if (closed) throw qwenError('closed', `${file.name}: it was closed while it was read`);
          const n = await file.fill(bytes.subarray(at), start + at);
          if (n < 1) throw qwenError('format', `${file.name}: ended at ${start + at} of ${file.size} bytes`);
          at += n;
          arrived(n);
        }
        return bytes;
      });
      last = reading;
      last.catch(() => {});
      return reading;
    },
    stream: () => file.stream?.(),
    rest: () => void file.pause?.(),
    close() {
      closed = true;
      file.close();
    },
  };
}
