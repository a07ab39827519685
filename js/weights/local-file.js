// Files of this device, which nobody keeps: picked or dropped ones, those that only the page can read, and paths (Node).
import { messageOf, qwenError } from '../errors.js';

/** @typedef {import('./open-file.js').OpenFile} OpenFile */
/** @typedef {{ block: number, ahead: number }} Blocks bytes that are read at once, and how many such blocks ahead of the engine */

/**
 * A file on disk (Node); null where it is absent.
 * @param {string} url
 * @param {string} name
 * @param {import('../host.js').OpenPath | undefined} openPath what the host reads paths with
 * @returns {OpenFile | null}
 */
export function diskFile(url, name, openPath) {
  if (!openPath) throw qwenError('usage', `${url}: a page cannot read a path; give an http(s) URL or a File`);
  let file;
  try {
    file = openPath(url);
  } catch (error) {
    throw qwenError('storage', `${url}: ${messageOf(error)}`, error);
  }
  if (!file) return null;
  const { size, read, close } = file;
  let open = true;
  return {
    name,
    size,
    phase: 'download',
    fill(view, offset) {
      const n = read(view, offset);
      if (n === 0) throw qwenError('format', `${url}: ended at ${offset} of ${size} bytes (it became shorter)`);
      return n;
    },
    async finish() {},
    close() {
      if (open) close();
      open = false;
    },
  };
}

/**
 * @param {Blob} blob
 * @param {string} name
 * @param {Blocks} blocks
 */
export function blobFile(blob, name, blocks) {
  const read = async (/** @type {number} */ offset, /** @type {number} */ length) => {
    try {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    } catch (error) {
      throw qwenError('storage', `${name}: cannot be read any more (${messageOf(error)}); pick the file again`, error);
    }
  };
  return new BlockFile(name, blob.size, read, blocks);
}

/**
 * Random access that answers later: read in large blocks, the next ones asked for while one is consumed.
 * @implements {OpenFile}
 */
export class BlockFile {
  phase = /** @type {const} */ ('download');
  #read;
  #blocks;
  /** @type {Map<number, Promise<Uint8Array>>} by index, the current block and those ahead of it */
  #pending = new Map();
  /** @type {{ index: number, bytes: Uint8Array } | null} */
  #current = null;

  /**
   * @param {string} name
   * @param {number} size
   * @param {(offset: number, length: number) => Promise<Uint8Array>} read
   * @param {Blocks} blocks
   */
  constructor(name, size, read, blocks) {
    this.name = name;
    this.size = size;
    this.#read = read;
    this.#blocks = blocks;
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   */
  fill(view, offset) {
    const { block } = this.#blocks;
    const index = Math.floor(offset / block);
    if (this.#current?.index === index) return this.#copy(this.#current.bytes, view, offset - index * block);
    return this.#load(index).then((bytes) => this.#copy(bytes, view, offset - index * block));
  }

  async finish() {}

  close() {
    this.#pending.clear();
    this.#current = null;
  }

  /**
   * @param {Uint8Array} bytes
   * @param {Uint8Array} view
   * @param {number} at
   */
  #copy(bytes, view, at) {
    const part = bytes.subarray(at, at + view.length);
    view.set(part);
    return part.length;
  }

  /** @param {number} index */
  async #load(index) {
    for (const old of this.#pending.keys()) if (old < index) this.#pending.delete(old);
    for (let i = index; i <= index + this.#blocks.ahead; i++) this.#ask(i);
    const bytes = await /** @type {Promise<Uint8Array>} */ (this.#pending.get(index));
    this.#current = { index, bytes };
    return bytes;
  }

  /** @param {number} index */
  #ask(index) {
    const { block } = this.#blocks;
    const offset = index * block;
    if (offset >= this.size || this.#pending.has(index)) return;
    const length = Math.min(block, this.size - offset);
    const promise = this.#read(offset, length).then((bytes) => {
      if (bytes.length === length) return bytes;
      throw qwenError('usage', `${this.name}: ${length} bytes asked at ${offset}, ${bytes.length} given`);
    });
    promise.catch(() => {}); // an error belongs to whoever gets as far as this block
    this.#pending.set(index, promise);
  }
}
