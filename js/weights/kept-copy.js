// The life of a kept model, in a store (a folder of small operations, host.d.ts). A copy of a file has an id, KEY-WHEN, and is
//   ID.json  what it is; written once, before the first byte
//   ID.bin   its bytes, chunk by chunk
//   ID.sums  SHA-256 of each chunk that came; zeros where it has not
//   ID.done  there when all have come: the copy is complete (its text is the whole's hash where that is known)
//   ID.used  when it was last used
// Absent, partial and complete are told by which of these there are. A copy that is being replaced stays as it is while the new one,
// with an id of its own, grows beside it; it goes when the new one is complete. Nothing that others may read is written in place.
// A key has one writer at a time: whoever holds the store's lock of that name.
import { digest, SUM_BYTES, Sums } from './digest.js';
import { sha256OfText } from './sha256.js';

/** Bytes of a chunk where no manifest says otherwise: what a kill costs at most. */
export const CHUNK_BYTES = 2 << 20;

/**
 * @typedef {import('../host.js').Store} Store
 * @typedef {import('../host.js').StoreFile} StoreFile
 *
 * @typedef {object} Entry
 * @property {string} url where it came from
 * @property {string} name
 * @property {number} bytes
 * @property {string} etag
 * @property {string} modified
 * @property {number} chunk bytes of a chunk
 *
 * @typedef {object} Found
 * @property {string} id
 * @property {Entry | null} entry null: it cannot be read
 * @property {boolean} complete
 * @property {string} sha256 of the whole, '' where it is not known
 */

const FILE = /^([0-9a-f]{32}(?:-[0-9a-z]+)?)\.(bin|json|sums|done|used)$/;
const KINDS = ['bin', 'sums', 'done', 'json', 'used'];

/** Parts of a signed URL that differ at each visit. */
const SIGNATURE = /^(x-amz-.*|x-goog-.*|signature|expires|key-pair-id|policy)$/i;

/**
 * Where a file is kept: by its hash where that is known, so that one copy serves all its URLs.
 * @param {{ url: string, sha256?: string }} file
 */
export function keyOf({ url, sha256 }) {
  if (sha256) return sha256OfText(`sha256:${sha256}`).slice(0, 32);
  const plain = new URL(url);
  for (const name of [...plain.searchParams.keys()]) if (SIGNATURE.test(name)) plain.searchParams.delete(name);
  return sha256OfText(plain.href).slice(0, 32);
}

/** @param {string} id */
export const keyIn = (id) => id.split('-')[0];

/**
 * The ids in a store, the newest first.
 * @param {Store} store
 * @param {string} [key] only those of this key
 */
export async function idsIn(store, key = '') {
  const ids = (await store.names()).map((name) => FILE.exec(name)?.[1] ?? '');
  return [...new Set(ids.filter((id) => id && id.startsWith(key)))].sort().reverse();
}

/**
 * @param {Store} store
 * @param {string} id
 * @returns {Promise<Found>}
 */
export async function lookAt(store, id) {
  const done = await store.text(`${id}.done`).catch(() => null);
  let entry = null;
  try {
    const found = JSON.parse((await store.text(`${id}.json`)) ?? 'null');
    if (typeof found?.url === 'string' && Number.isFinite(found.bytes) && found.chunk > 0) entry = found;
  } catch {
    // An unreadable description is none.
  }
  return { id, entry, complete: entry !== null && done !== null, sha256: done ?? '' };
}

/**
 * @param {Store} store
 * @param {string} key
 */
export async function copiesOf(store, key) {
  return Promise.all((await idsIn(store, key)).map((id) => lookAt(store, id)));
}

/**
 * How much of a copy is here.
 * @param {Store} store
 * @param {Found} found
 */
export async function bytesOf(store, { id, entry, complete }) {
  const bytes = await store.bytes(`${id}.bin`);
  if (!entry || complete) return bytes;
  return Math.min(entry.bytes, (await readSums(store, id, entry)).count * entry.chunk);
}

/**
 * @param {Store} store
 * @param {string} id
 * @param {Entry} entry
 */
async function readSums(store, id, entry) {
  const file = await store.open(`${id}.sums`, false).catch(() => null);
  const known = new Uint8Array(file?.size() ?? 0);
  try {
    await file?.read(known, 0);
  } finally {
    file?.close();
  }
  return new Sums(Math.ceil(entry.bytes / entry.chunk), known);
}

/**
 * @param {Store} store
 * @param {string} id
 */
export async function discard(store, id) {
  for (const kind of KINDS) await store.remove(`${id}.${kind}`);
}

/**
 * @param {Store} store
 * @param {string} id
 */
export const touch = (store, id) => store.write(`${id}.used`, String(Date.now())).catch(() => {});

/**
 * When a copy was last used; 0 where that is not known.
 * @param {Store} store
 * @param {string} id
 */
export async function lastUse(store, id) {
  const used = Number(await store.text(`${id}.used`).catch(() => null));
  return Number.isFinite(used) && used > 0 ? used : parseInt(id.split('-')[1] ?? '0', 36) || 0;
}

/** An open copy. */
export class KeptCopy {
  #store;
  #data;
  #sumsFile;
  #closed = false;

  /**
   * @param {Store} store
   * @param {Found & { entry: Entry }} found
   * @param {{ data: StoreFile, sums: Sums, sumsFile: StoreFile | null }} open
   */
  constructor(store, { id, entry, complete }, { data, sums, sumsFile }) {
    this.#store = store;
    this.id = id;
    this.entry = entry;
    this.complete = complete;
    this.sums = sums;
    this.#data = data;
    this.#sumsFile = sumsFile;
  }

  /**
   * A new copy, empty and open for writing.
   * @param {Store} store
   * @param {string} key
   * @param {Entry} entry
   */
  static async begin(store, key, entry) {
    const id = `${key}-${Date.now().toString(36).padStart(9, '0')}${Math.floor(Math.random() * 1e6).toString(36)}`;
    await store.write(`${id}.json`, JSON.stringify(entry));
    const copy = await KeptCopy.open(store, { id, entry, complete: false, sha256: '' });
    if (!copy) throw new Error(`${id}.bin could not be made`);
    return copy;
  }

  /**
   * A partial copy for writing, a complete one for reading; null where its bytes are not there.
   * @param {Store} store
   * @param {Found} found
   */
  static async open(store, { id, entry, complete, sha256 }) {
    if (!entry) return null;
    const data = await store.open(`${id}.bin`, !complete);
    if (!data) return null;
    try {
      const sums = await readSums(store, id, entry);
      const sumsFile = complete ? null : await store.open(`${id}.sums`, true);
      return new KeptCopy(store, { id, entry, complete, sha256 }, { data, sums, sumsFile });
    } catch (error) {
      data.close();
      throw error;
    }
  }

  /**
   * @param {Uint8Array} view
   * @param {number} at
   */
  async read(view, at) {
    try {
      return await this.#data.read(view, at);
    } catch {
      return 0; // what cannot be read is fetched
    }
  }

  /**
   * Keeps a chunk: its bytes first, then the word that they are there.
   * @param {number} i
   * @param {Uint8Array} bytes
   * @param {Uint8Array} sum
   */
  put(i, bytes, sum) {
    this.#data.write(bytes, i * this.entry.chunk);
    this.#sumsFile?.write(sum, i * SUM_BYTES);
    this.sums.set(i, sum);
  }

  /**
   * All is there: from now on the copy is the key's, and others go. One that is being read by another tab may stay until next time.
   * @param {string} sha256
   */
  async finish(sha256) {
    this.close();
    await this.#store.write(`${this.id}.done`, sha256);
    await touch(this.#store, this.id);
    for (const id of await idsIn(this.#store, keyIn(this.id)))
      if (id !== this.id) await discard(this.#store, id).catch(() => {});
  }

  /** Of a complete copy: its whole hash is known now. */
  async vouch(/** @type {string} */ sha256) {
    await this.#store.write(`${this.id}.done`, sha256).catch(() => {});
  }

  /**
   * Writes chunks of a complete copy anew that were damaged. The lock is the caller's.
   * @param {Map<number, Uint8Array<ArrayBuffer>>} chunks
   */
  async mend(chunks) {
    this.close();
    const data = await this.#store.open(`${this.id}.bin`, true);
    const sums = await this.#store.open(`${this.id}.sums`, true);
    try {
      for (const [i, bytes] of chunks) {
        data?.write(bytes, i * this.entry.chunk);
        sums?.write(await digest(bytes), i * SUM_BYTES);
      }
    } finally {
      data?.close();
      sums?.close();
    }
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.#data.close();
    this.#sumsFile?.close();
  }
}
