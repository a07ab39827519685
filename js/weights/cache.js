// Weights kept on this device. A store is a folder of small operations, with the same shape over OPFS (browsers) and over a
// real folder (Node, node/files.js); everything above it is written once. Each file of a model is two: KEY.bin, the bytes from
// the start on, and KEY.json, what they are; KEY is the hash of the URL. A file whose bytes all came says complete: true.
import { sha256OfText } from './sha256.js';

/**
 * @typedef {import('../host.js').Store} Store
 * @typedef {import('../host.js').StoreFile} StoreFile
 *
 * @typedef {{ url: string, name: string, bytes: number, etag: string, modified: string, sha256: string, complete: boolean,
 *   lastUsed: number }} Entry
 */

export const CACHE_FOLDER = 'qwen2-wasm';
/** What trial.js remembers. */
export const SIMD_FILE = 'simd.json';

/** @param {string} url */
export const keyOf = (url) => sha256OfText(url).slice(0, 32);

/**
 * The store in the origin's private file system; null where the browser has none (an http page, a private window).
 * Files are opened in workers only; listing and removing work everywhere.
 * @param {string} [folder]
 * @returns {Promise<Store | null>}
 */
export async function opfsStore(folder = CACHE_FOLDER) {
  try {
    const root = await navigator.storage.getDirectory();
    return new OpfsStore(await root.getDirectoryHandle(folder, { create: true }));
  } catch {
    return null;
  }
}

/** @param {unknown} error */
const isNotFound = (error) => error instanceof Error && error.name === 'NotFoundError';

/**
 * A file that another tab holds open can still be read as a Blob.
 * @param {Blob} blob
 * @returns {StoreFile}
 */
function blobFile(blob) {
  const refuse = () => {
    throw new DOMException('the file is open for reading', 'InvalidStateError');
  };
  return {
    size: () => blob.size,
    async read(view, at) {
      const bytes = new Uint8Array(await blob.slice(at, at + view.length).arrayBuffer());
      view.set(bytes);
      return bytes.length;
    },
    write: refuse,
    truncate: refuse,
    close() {},
  };
}

/** @implements {Store} */
class OpfsStore {
  #folder;

  /** @param {FileSystemDirectoryHandle} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /** @param {string} name */
  async #file(name) {
    try {
      return await (await this.#folder.getFileHandle(name)).getFile();
    } catch (error) {
      if (isNotFound(error)) return null;
      throw error;
    }
  }

  /** @param {string} name */
  async text(name) {
    return (await (await this.#file(name))?.text()) ?? null;
  }

  /** @param {string} name */
  async bytes(name) {
    return (await this.#file(name))?.size ?? 0;
  }

  /**
   * @param {string} name
   * @param {string} text
   */
  async write(name, text) {
    const file = await this.open(name, true);
    try {
      const bytes = new TextEncoder().encode(text);
      file?.truncate(bytes.length);
      file?.write(bytes, 0);
    } finally {
      file?.close();
    }
  }

  /**
   * @param {string} name
   * @param {boolean} write
   * @returns {Promise<StoreFile | null>}
   */
  async open(name, write) {
    /** @type {any} */
    let handle;
    try {
      handle = await this.#folder.getFileHandle(name, { create: write });
    } catch (error) {
      if (!write && isNotFound(error)) return null;
      throw error;
    }
    let access;
    try {
      // Two tabs may read at once where the browser knows the mode; others open a file for one alone.
      access = await handle.createSyncAccessHandle({ mode: write ? 'readwrite' : 'read-only' });
    } catch (error) {
      if (write) throw error;
      return blobFile(await handle.getFile());
    }
    return {
      size: () => access.getSize(),
      read: (view, at) => access.read(view, { at }),
      write(bytes, at) {
        const n = access.write(bytes, { at });
        if (n !== bytes.length) throw new DOMException(`${n} of ${bytes.length} bytes written`, 'QuotaExceededError');
      },
      truncate: (bytes) => access.truncate(bytes),
      close: () => access.close(),
    };
  }

  /** @param {string} name */
  async remove(name) {
    try {
      await this.#folder.removeEntry(name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async names() {
    const names = [];
    // @ts-ignore: TypeScript's DOM library has no async iteration of folders.
    for await (const name of this.#folder.keys()) names.push(name);
    return names;
  }
}

/**
 * What is known of a kept file; null where there is none, or its description cannot be read.
 * @param {Store} store
 * @param {string} key
 * @returns {Promise<Entry | null>}
 */
export async function readEntry(store, key) {
  try {
    const entry = JSON.parse((await store.text(`${key}.json`)) ?? 'null');
    return entry && typeof entry.url === 'string' && Number.isFinite(entry.bytes) ? entry : null;
  } catch {
    return null;
  }
}

/**
 * @param {Store} store
 * @param {string} key
 * @param {Entry} entry
 */
export const writeEntry = (store, key, entry) => store.write(`${key}.json`, JSON.stringify(entry));

/**
 * @param {Store} store
 * @param {string} key
 */
export async function removeEntry(store, key) {
  await store.remove(`${key}.json`);
  await store.remove(`${key}.bin`);
}

/**
 * The public modelCache over a store that is found when it is needed.
 * @param {() => Promise<Store | null>} find
 * @param {() => Promise<boolean>} persist
 * @returns {import('../types.js').ModelCache}
 */
export function modelCacheOver(find, persist) {
  return {
    async list() {
      const store = await find();
      const names = (await store?.names()) ?? [];
      const list = [];
      for (const name of names.filter((one) => one.endsWith('.json'))) {
        const key = name.slice(0, -'.json'.length);
        const entry = store && (await readEntry(store, key));
        if (!store || !entry) continue;
        const bytes = await store.bytes(`${key}.bin`);
        list.push({ key, name: entry.name, bytes, complete: entry.complete, lastUsed: new Date(entry.lastUsed) });
      }
      return list.sort((a, b) => b.lastUsed.getTime() - a.lastUsed.getTime());
    },
    async delete(key) {
      const store = await find();
      if (store && /^[0-9a-f]+$/.test(key)) await removeEntry(store, key);
    },
    async clear() {
      const store = await find();
      for (const name of (await store?.names()) ?? []) {
        if (/^[0-9a-f]+\.(bin|json)$/.test(name) || name === SIMD_FILE) await store?.remove(name);
      }
    },
    persist,
  };
}
