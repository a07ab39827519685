// The store in the origin's private file system (OPFS). Files are opened in workers only; listing and removing work everywhere.
import { abortedError } from '../errors.js';
import { CACHE_FOLDER } from './store.js';

/** @typedef {import('../host.js').Store} Store */
/** @typedef {import('../host.js').StoreFile} StoreFile */

/** A worker that was ended a moment ago may still hold its files for so long. */
const HELD_MS = 5000;
const HELD_PAUSE_MS = 50;

/**
 * Null where the browser has none (an http page, a private window).
 * @param {string} [folder]
 * @returns {Promise<Store | null>}
 */
export async function opfsStore(folder = CACHE_FOLDER) {
  try {
    const root = await navigator.storage.getDirectory();
    return new OpfsStore(await root.getDirectoryHandle(folder, { create: true }), folder);
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
  #name;

  /**
   * @param {FileSystemDirectoryHandle} folder
   * @param {string} name
   */
  constructor(folder, name) {
    this.#folder = folder;
    this.#name = name;
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
   * As a whole or not at all, where the browser can (a stream is put in the file's place when it is closed).
   * @param {string} name
   * @param {string} text
   */
  async write(name, text) {
    const handle = await this.#folder.getFileHandle(name, { create: true });
    if (typeof handle.createWritable === 'function') {
      const stream = await handle.createWritable();
      await stream.write(text);
      return stream.close();
    }
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
    const access = await this.#access(handle, write);
    if (!access) return blobFile(await handle.getFile());
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

  /**
   * Two tabs may read at once where the browser knows the mode; others open a file for one alone: null for the second reader.
   * @param {any} handle
   * @param {boolean} write
   */
  async #access(handle, write) {
    for (const end = performance.now() + HELD_MS; ;) {
      try {
        return await handle.createSyncAccessHandle({ mode: write ? 'readwrite' : 'read-only' });
      } catch (error) {
        if (!write) return null;
        const held = error instanceof Error && error.name === 'NoModificationAllowedError';
        if (!held || performance.now() > end) throw error;
        await new Promise((resolve) => setTimeout(resolve, HELD_PAUSE_MS));
      }
    }
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

  /**
   * A Web Lock: it goes with the tab that holds it.
   * @param {string} name
   * @param {{ wait: boolean, signal?: AbortSignal }} options
   * @returns {Promise<(() => void) | null>}
   */
  async lock(name, { wait, signal }) {
    const { locks } = navigator;
    if (!locks) return () => {};
    const options = wait ? { signal } : { ifAvailable: true };
    return new Promise((resolve, reject) => {
      const hold = (/** @type {unknown} */ lock) => {
        if (lock) return new Promise((release) => resolve(() => release(undefined)));
        resolve(null);
        return undefined;
      };
      locks
        .request(`${this.#name}/${name}`, options, hold)
        .catch((error) => reject(signal?.aborted ? abortedError(signal) : error));
    });
  }

  async free() {
    const { quota, usage } = (await navigator.storage.estimate?.().catch(() => null)) ?? {};
    return quota === undefined ? Infinity : Math.max(0, quota - (usage ?? 0));
  }
}
