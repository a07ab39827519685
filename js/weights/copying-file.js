// An OpenFile whose bytes are also hashed or kept while the engine reads them: every byte from the first to the last passes
// once, in order; what the engine skips is read for their sake. Where a kept beginning is there already it is read from there.
import { qwenError } from '../errors.js';
import { Sha256 } from './sha256.js';

const SCRATCH_BYTES = 256 << 10;

/**
 * @typedef {object} CopyOptions
 * @property {string} [expected] SHA-256 that the whole must have
 * @property {import('./cache.js').StoreFile | null} [target] where the bytes go; what it holds already is the file's beginning
 * @property {(fault: any) => void} note told where keeping failed; reading goes on
 * @property {(sha256: string) => Promise<void>} [onGood] all bytes have passed (sha256 is '' where none is expected)
 * @property {() => Promise<void>} [onBad] what was kept must go
 */

/** @typedef {import('./files.js').OpenFile} OpenFile */

/** @implements {OpenFile} */
export class CopyingFile {
  /** @type {'download' | 'cache'} */
  phase;
  #file;
  #options;
  #hash;
  #target;
  /** How much the target held when it was opened. */
  #had = 0;
  /** Bytes before this have passed. */
  #passed = 0;
  #done = false;

  /**
   * @param {OpenFile} file
   * @param {CopyOptions} options
   */
  constructor(file, options) {
    this.#file = file;
    this.#options = options;
    this.#hash = options.expected ? new Sha256() : null;
    this.#target = options.target ?? null;
    this.#had = this.#target?.size() ?? 0;
    this.phase = this.#had > 0 ? 'cache' : file.phase;
  }

  get name() {
    return this.#file.name;
  }

  get size() {
    return this.#file.size;
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   */
  async fill(view, offset) {
    if (offset > this.#passed) await this.#pass(offset);
    return this.#fill(view, offset);
  }

  async finish() {
    if (this.#done) return;
    await this.#pass(this.size);
    this.#done = true;
    const found = this.#hash?.digest() ?? '';
    if (found !== (this.#options.expected ?? '')) {
      this.close();
      await this.#options.onBad?.();
      throw qwenError('integrity', `${this.name}: SHA-256 ${found}, expected ${this.#options.expected}`);
    }
    this.#closeTarget();
    if (this.#options.target && !this.#target) return; // keeping was given up
    try {
      await this.#options.onGood?.(found);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  close() {
    this.#file.close();
    this.#closeTarget();
  }

  #closed = false;

  #closeTarget() {
    if (!this.#closed) this.#target?.close();
    this.#closed = true;
  }

  /** Reads on to a position. */
  async #pass(/** @type {number} */ end) {
    const scratch = new Uint8Array(SCRATCH_BYTES);
    while (this.#passed < end) {
      await this.#fill(scratch.subarray(0, Math.min(scratch.length, end - this.#passed)), this.#passed);
    }
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   */
  async #fill(view, offset) {
    let n = 0;
    if (this.#target && offset < this.#had) {
      this.phase = 'cache';
      n = await this.#target.read(view.subarray(0, this.#had - offset), offset);
    }
    if (n === 0) {
      n = await this.#file.fill(view, offset);
      this.phase = this.#file.phase;
    }
    const fresh = offset + n - this.#passed;
    if (fresh > 0) await this.#take(view.slice(n - fresh, n)); // a copy: file systems and hashes refuse shared memory
    return n;
  }

  /** @param {Uint8Array} bytes */
  async #take(bytes) {
    const at = this.#passed;
    this.#passed += bytes.length;
    this.#hash?.update(bytes);
    if (!this.#target || this.#passed <= this.#had) return;
    try {
      this.#target.write(bytes, at);
    } catch (error) {
      await this.#giveUp(error);
    }
  }

  /** @param {unknown} error */
  async #giveUp(error) {
    this.#closeTarget();
    this.#target = null;
    this.#options.note(error);
    await this.#options.onBad?.().catch(() => {});
  }
}
