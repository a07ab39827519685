// A PlainSource's files, opened by name for the loader (in the worker). Whatever a file is (HTTP, Blob, disk, a page's
// ModelFile, a manifest's parts), it becomes an OpenFile; those from the network are kept in the cache on their way, and those
// with a known hash are hashed on their way.
import { keyOf, readEntry, removeEntry, writeEntry } from './cache.js';
import { messageOf, qwenError } from '../errors.js';
import { compareWithServer, HttpFile, strangerIn } from './fetch.js';
import { CopyingFile } from './copying-file.js';
import { ManifestFile } from './manifest.js';

/** How long a load waits for the word that a kept file is still the current one. */
const VALIDATE_MS = 3000;
const PLAN_WINDOW = 1 << 20;

/**
 * A file being read. fill brings 1 .. view.length bytes from offset on and says how many; finish is called when the engine
 * has all it wants; phase says where the last bytes came from.
 * @typedef {object} OpenFile
 * @property {string} name
 * @property {number} size
 * @property {'download' | 'cache'} phase
 * @property {(view: Uint8Array, offset: number) => number | Promise<number>} fill
 * @property {() => Promise<void>} finish
 * @property {() => void} close
 *
 * @typedef {OpenFile & { etag: string, modified: string }} RemoteFile
 *
 * @typedef {object} FilesOptions
 * @property {import('../protocol.js').PlainSource} source
 * @property {string | Record<string, string>} [sha256]
 * @property {string} [token]
 * @property {AbortSignal} signal
 * @property {(note: string) => void} note
 * @property {boolean} headersOnly plan(): nothing is kept, and no more is fetched than is wanted
 * @property {import('./cache.js').Store | null} store
 * @property {(file: number, offset: number, length: number) => Promise<Uint8Array>} readPage bytes of a page's ModelFile
 */

export class Files {
  #options;
  /** @type {Map<string, OpenFile | null>} */
  #opened = new Map();
  /** Bytes of the open files that are on this device already. */
  cachedBytes = 0;
  /** A kept file's server did not answer: the others of this load are not asked for, so that one wait is all. */
  #unreachable = false;

  /** @param {FilesOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /**
   * Null where the file is absent. A second call gives the same file.
   * @param {string} name
   * @param {boolean} optional
   */
  async open(name, optional) {
    const known = this.#opened.get(name);
    if (known !== undefined) return known;
    const file = await this.#find(name, optional);
    this.#opened.set(name, file);
    return file;
  }

  /** Reads what is left of files that are kept or hashed. Rejects with 'integrity' where a hash differs. */
  async finish() {
    const { sha256 } = this.#options;
    for (const name of typeof sha256 === 'object' ? Object.keys(sha256) : []) {
      if (!this.#opened.get(name)) {
        const names = [...this.#opened.keys()].filter((one) => this.#opened.get(one));
        throw qwenError('usage', `sha256 names ${name}, which was not read (read: ${names.join(', ')})`);
      }
    }
    for (const file of this.#opened.values()) await file?.finish();
  }

  close() {
    for (const file of this.#opened.values()) file?.close();
    this.#opened.clear();
  }

  /**
   * @param {string} name
   * @param {boolean} optional
   * @returns {Promise<OpenFile | null>}
   */
  async #find(name, optional) {
    const { source, sha256 } = this.#options;
    const hash = typeof sha256 === 'string' ? (name === source.main ? sha256 : undefined) : sha256?.[name];
    const place = Object.hasOwn(source.files, name) ? source.files[name] : null;
    if (!place) {
      if (!source.siblings) return null;
      if (/[/\\:]/.test(name))
        throw qwenError('format', `${JSON.stringify(name)} is not the name of a file beside this one`);
      return this.#url(siblingUrl(source.siblings, name), name, optional, hash);
    }
    switch (place.kind) {
      case 'url':
        return this.#url(place.url, name, optional, hash);
      case 'sources':
        return this.#manifest(place, name);
      case 'blob':
        return this.#local(blobFile(place.blob, name, this.#blocks), hash);
      case 'page': {
        const read = (/** @type {number} */ at, /** @type {number} */ n) => this.#options.readPage(place.file, at, n);
        return this.#local(new AheadFile(name, place.size, read, this.#blocks), hash);
      }
    }
  }

  get #blocks() {
    return this.#options.headersOnly ? { block: 1 << 20, ahead: 0 } : { block: 4 << 20, ahead: 2 };
  }

  /**
   * @param {OpenFile} file
   * @param {string | undefined} hash
   */
  async #local(file, hash) {
    await refuseStranger(file);
    return this.#hashed(file, hash);
  }

  /**
   * @param {OpenFile} file
   * @param {string | undefined} hash
   */
  #hashed(file, hash) {
    return hash && !this.#options.headersOnly
      ? new CopyingFile(file, { expected: hash, note: this.#options.note })
      : file;
  }

  /**
   * @param {string} url
   * @param {string} name
   * @param {boolean} optional
   * @param {string | undefined} hash
   */
  async #url(url, name, optional, hash) {
    if (url.startsWith('file:')) {
      const file = diskFile(url, name);
      if (!file && !optional) throw qwenError('storage', `${url}: no such file`);
      return file && this.#local(file, hash);
    }
    return this.#remote({
      url,
      name,
      hash,
      optional,
      open: (probe) => HttpFile.open(url, { name, optional, probe, ...this.#http(url) }),
      compare: (known) => compareWithServer(url, known, { ...this.#http(url), ms: VALIDATE_MS }),
    });
  }

  /**
   * @param {Extract<import('../protocol.js').FilePlace, { kind: 'sources' }>} place
   * @param {string} name
   */
  #manifest(place, name) {
    const openPart = async (/** @type {string} */ url) =>
      url.startsWith('file:') ? diskFile(url, name) : await HttpFile.open(url, { name, ...this.#http(url) });
    return this.#remote({
      url: `sha256:${place.sha256}`,
      name,
      hash: place.sha256,
      optional: false,
      open: async () => ManifestFile.open(name, place, openPart),
      compare: async () => 'same',
    });
  }

  /** @param {string} url */
  #http(url) {
    const { token, source, signal, note, headersOnly } = this.#options;
    const own = token && source.origin === new URL(url).origin;
    return {
      signal,
      note,
      headers: own ? { Authorization: `Bearer ${token}` } : undefined,
      window: headersOnly ? PLAN_WINDOW : 0,
    };
  }

  /**
   * A file of the network: from the cache where it is there and current, else from its source and into the cache.
   * @param {Remote} remote
   * @returns {Promise<OpenFile | null>}
   */
  async #remote(remote) {
    const { store, headersOnly } = this.#options;
    if (!store) return this.#fresh(remote);
    const key = keyOf(remote.url);
    const entry = await readEntry(store, key);
    if (entry?.complete) {
      const kept = await this.#kept(store, key, entry, remote);
      if (kept) return kept;
    }
    if (remote.optional && !entry && this.#unreachable) {
      this.#options.note(`${remote.url} cannot be asked for now and is not on this device: it counts as absent`);
      return null;
    }
    const file = await remote.open(entry !== null && !headersOnly);
    if (!file) return null;
    if (headersOnly) {
      if (entry && sameFile(entry, file)) this.cachedBytes += await store.bytes(`${key}.bin`);
      return file;
    }
    return this.#keeping(store, key, entry, remote, file);
  }

  /** @param {Remote} remote */
  async #fresh(remote) {
    const file = await remote.open(false);
    return file && this.#hashed(file, remote.hash);
  }

  /**
   * @param {import('./cache.js').Store} store
   * @param {string} key
   * @param {import('./cache.js').Entry} entry
   * @param {Remote} remote
   * @returns {Promise<OpenFile | null>}
   */
  async #kept(store, key, entry, remote) {
    const { note, headersOnly } = this.#options;
    const sure = Boolean(remote.hash) && entry.sha256 === remote.hash;
    const ask = async () => (this.#unreachable ? 'unreachable' : await remote.compare(entry));
    const state = sure ? 'same' : await ask();
    const file = state === 'changed' ? null : await store.open(`${key}.bin`, false).catch(() => null);
    if (!file || file.size() !== entry.bytes) {
      file?.close();
      await removeEntry(store, key).catch(() => {});
      return null;
    }
    if (state === 'unknown' || (state === 'unreachable' && !this.#unreachable))
      note(`${remote.url} could not be asked whether it changed: the copy on this device is used`);
    this.#unreachable ||= state === 'unreachable';
    this.cachedBytes += entry.bytes;
    const touched = { ...entry, lastUsed: Date.now() };
    if (!headersOnly) await writeEntry(store, key, touched).catch(() => {});
    const open = storedFile(remote.name, file);
    if (sure || !remote.hash || headersOnly) return open;
    return new CopyingFile(open, {
      expected: remote.hash,
      note,
      onGood: (sha256) => writeEntry(store, key, { ...touched, sha256 }),
      onBad: () => removeEntry(store, key),
    });
  }

  /**
   * @param {import('./cache.js').Store} store
   * @param {string} key
   * @param {import('./cache.js').Entry | null} entry
   * @param {Remote} remote
   * @param {RemoteFile} file
   */
  async #keeping(store, key, entry, remote, file) {
    const { note } = this.#options;
    const { etag, modified, size: bytes } = file;
    const { url, name, hash } = remote;
    const next = { url, name, bytes, etag, modified, sha256: '', complete: false, lastUsed: Date.now() };
    let target = null;
    try {
      target = await store.open(`${key}.bin`, true);
      const resumable = entry && !entry.complete && target && target.size() <= bytes && sameFile(entry, file);
      if (!resumable) target?.truncate(0);
      await writeEntry(store, key, next);
    } catch (error) {
      target?.close();
      note(`${name} is not kept on this device: ${await storageMessage(error)}`);
      return this.#hashed(file, hash);
    }
    this.cachedBytes += target?.size() ?? 0;
    return new CopyingFile(file, {
      expected: hash,
      target,
      note: async (error) => note(`${name} is not kept on this device: ${await storageMessage(error)}`),
      onGood: (sha256) => writeEntry(store, key, { ...next, sha256, complete: true }),
      onBad: () => removeEntry(store, key),
    });
  }
}

/**
 * @typedef {object} Remote
 * @property {string} url what the cache knows it by
 * @property {string} name
 * @property {string | undefined} hash
 * @property {boolean} optional
 * @property {(probe: boolean) => Promise<RemoteFile | null>} open probe: a part of it is kept already
 * @property {(known: import('./cache.js').Entry) => Promise<'same' | 'changed' | 'unknown' | 'unreachable'>} compare
 */

/**
 * @param {import('./cache.js').Entry} entry
 * @param {RemoteFile} file
 */
function sameFile(entry, file) {
  if (entry.bytes !== file.size) return false;
  return entry.etag || file.etag
    ? entry.etag === file.etag
    : Boolean(entry.modified) && entry.modified === file.modified;
}

/**
 * The URL of another file in the same folder, with the same query.
 * @param {string} folder
 * @param {string} name
 */
export function siblingUrl(folder, name) {
  const url = new URL(folder);
  url.pathname = url.pathname.replace(/[^/]*$/, encodeURIComponent(name));
  return url.href;
}

/** @param {unknown} error */
async function storageMessage(error) {
  const text = messageOf(error);
  if (!(error instanceof Error) || error.name !== 'QuotaExceededError') return text;
  const { usage, quota } = (await globalThis.navigator?.storage?.estimate?.().catch(() => null)) ?? {};
  return quota === undefined ? text : `${text} (${usage} of ${quota} bytes are in use)`;
}

/** @param {OpenFile} file */
async function refuseStranger(file) {
  if (file.size === 0) return;
  const head = new Uint8Array(Math.min(64, file.size));
  const n = await file.fill(head, 0);
  const stranger = strangerIn(head.subarray(0, n));
  if (!stranger) return;
  file.close();
  throw qwenError('format', `${file.name}: ${stranger}`);
}

/**
 * @param {string} name
 * @param {import('./cache.js').StoreFile} file
 * @returns {OpenFile}
 */
function storedFile(name, file) {
  let open = true;
  return {
    name,
    size: file.size(),
    phase: 'cache',
    fill: (view, offset) => file.read(view, offset),
    async finish() {},
    close() {
      if (open) file.close();
      open = false;
    },
  };
}

/**
 * A file on disk (Node); null where it is absent.
 * @param {string} url
 * @param {string} name
 * @returns {RemoteFile | null}
 */
function diskFile(url, name) {
  const node = /** @type {any} */ (globalThis).qwen2Node;
  if (!node) throw qwenError('usage', `${url}: a page cannot read a path; give an http(s) URL or a File`);
  let file;
  try {
    file = /** @type {import('../host.js').NodeFiles} */ (node).openPath(url);
  } catch (error) {
    throw qwenError('storage', `${url}: ${messageOf(error)}`, error);
  }
  if (!file) return null;
  const { size, read, close } = file;
  let open = true;
  return {
    name,
    size,
    etag: '',
    modified: '',
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
 * @param {{ block: number, ahead: number }} blocks
 */
function blobFile(blob, name, blocks) {
  const read = async (/** @type {number} */ offset, /** @type {number} */ length) => {
    try {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    } catch (error) {
      throw qwenError('storage', `${name}: cannot be read any more (${messageOf(error)}); pick the file again`, error);
    }
  };
  return new AheadFile(name, blob.size, read, blocks);
}

/**
 * Random access that answers later: read in large blocks, the next ones asked for while one is consumed.
 * @implements {OpenFile}
 */
class AheadFile {
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
   * @param {{ block: number, ahead: number }} blocks
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
