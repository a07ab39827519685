// SHA-256 of chunks: by crypto.subtle, which works beside this thread, and where there is none (plain http) by our own. The sums
// of a file's chunks are what its bytes are trusted by, as they come and whenever they are read again.
import { Sha256 } from './sha256.js';

export const SUM_BYTES = 32;

/** @param {string} hex */
export const bytesOfHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));

/**
 * @param {Uint8Array<ArrayBuffer>} bytes not shared: crypto.subtle refuses that
 * @returns {Promise<Uint8Array>}
 */
export async function digest(bytes) {
  const { subtle } = globalThis.crypto ?? {};
  if (subtle) return new Uint8Array(await subtle.digest('SHA-256', bytes));
  const hash = new Sha256();
  hash.update(bytes);
  return bytesOfHex(hash.digest());
}

/** The sums of a file's chunks, one after the other; a chunk whose sum is all zeros is not known. */
export class Sums {
  #bytes;

  /**
   * @param {number} chunks
   * @param {Uint8Array} [known] the sums of the first chunks, or fewer
   */
  constructor(chunks, known = new Uint8Array(0)) {
    this.#bytes = new Uint8Array(chunks * SUM_BYTES);
    this.#bytes.set(known.subarray(0, this.#bytes.length));
  }

  /** @param {number} i */
  of(i) {
    return this.#bytes.subarray(i * SUM_BYTES, (i + 1) * SUM_BYTES);
  }

  /** @param {number} i */
  has(i) {
    return this.of(i).some((byte) => byte !== 0);
  }

  /**
   * @param {number} i
   * @param {Uint8Array} sum
   */
  set(i, sum) {
    this.of(i).set(sum);
  }

  /**
   * @param {number} i
   * @param {Uint8Array} sum
   */
  agrees(i, sum) {
    return this.of(i).every((byte, at) => byte === sum[at]);
  }

  get count() {
    let n = 0;
    for (let i = 0; i * SUM_BYTES < this.#bytes.length; i++) if (this.has(i)) n++;
    return n;
  }
}
