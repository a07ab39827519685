// SHA-256 (FIPS 180-4) of bytes that come in pieces: crypto.subtle wants them all at once and is missing on http pages.

const K = new Int32Array(64);
const START = new Int32Array(8);

/** The first 32 bits of the fraction of x. */
const fraction = (/** @type {number} */ x) => ((x - Math.floor(x)) * 2 ** 32) | 0;

for (let n = 2, found = 0; found < 64; n++) {
  let prime = true;
  for (let d = 2; d * d <= n && prime; d++) prime = n % d !== 0;
  if (!prime) continue;
  if (found < 8) START[found] = fraction(Math.sqrt(n));
  K[found++] = fraction(Math.cbrt(n));
}

export class Sha256 {
  #state = START.slice();
  #block = new Uint8Array(64);
  #words = new Int32Array(64);
  #bytes = 0;

  /** @param {Uint8Array} data */
  update(data) {
    let used = this.#bytes % 64;
    let at = 0;
    this.#bytes += data.length;
    if (used > 0) {
      at = Math.min(64 - used, data.length);
      this.#block.set(data.subarray(0, at), used);
      used += at;
      if (used < 64) return;
      this.#compress(this.#block, 0);
    }
    for (; at + 64 <= data.length; at += 64) this.#compress(data, at);
    this.#block.set(data.subarray(at));
  }

  /** Lower-case hexadecimal; nothing may be added afterwards. */
  digest() {
    const bytes = this.#bytes;
    const tail = new Uint8Array(bytes % 64 < 56 ? 64 - (bytes % 64) : 128 - (bytes % 64));
    tail[0] = 128;
    const length = new DataView(tail.buffer, tail.length - 8);
    length.setUint32(0, Math.floor(bytes / 2 ** 29));
    length.setUint32(4, (bytes * 8) >>> 0);
    this.update(tail);
    return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
  }

  /**
   * @param {Uint8Array} data
   * @param {number} at
   */
  #compress(data, at) {
    const w = this.#words;
    for (let i = 0; i < 16; i++, at += 4) {
      w[i] = (data[at] << 24) | (data[at + 1] << 16) | (data[at + 2] << 8) | data[at + 3];
    }
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15];
      const y = w[i - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      w[i] = (w[i - 16] + s0 + w[i - 7] + s1) | 0;
    }
    const state = this.#state;
    let a = state[0];
    let b = state[1];
    let c = state[2];
    let d = state[3];
    let e = state[4];
    let f = state[5];
    let g = state[6];
    let h = state[7];
    for (let i = 0; i < 64; i++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const t1 = (h + s1 + ((e & f) ^ (~e & g)) + K[i] + w[i]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + t1) | 0;
      d = c;
      c = b;
      b = a;
      a = (t1 + t2) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }
}

/** @param {string} text */
export function sha256OfText(text) {
  const hash = new Sha256();
  hash.update(new TextEncoder().encode(text));
  return hash.digest();
}
