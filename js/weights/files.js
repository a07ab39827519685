// A PlainSource's files, opened by name for the loader (in the worker). Whatever a file is (HTTP, Blob, disk, a page's
// ModelFile, a manifest's parts), it becomes an OpenFile; those of the network are a Keeper's, those with a known hash are checked.
import { qwenError } from '../errors.js';
import { ChunkedFile, streamSource } from './chunked-file.js';
import { strangerIn } from './http-answer.js';
import { compareWithServer } from './http-compare.js';
import { HttpFile } from './http-file.js';
import { Keeper } from './keeper.js';
import { CHUNK_BYTES } from './kept-copy.js';
import { BlockFile, blobFile, diskFile } from './local-file.js';
import { rangesSource, SourcesFile } from './sources-file.js';

/** How long a load waits for the word that a kept file is still the current one. */
const VALIDATE_MS = 3000;
/** While headers are read, of files of which there are several, so much is asked for at first. */
const WINDOW_BYTES = 1 << 20;

/**
 * @typedef {import('./open-file.js').OpenFile} OpenFile
 * @typedef {import('./open-file.js').RemoteFile} RemoteFile
 *
 * @typedef {object} FilesOptions
 * @property {import('../protocol.js').PlainSource} source
 * @property {string | Record<string, string>} [sha256]
 * @property {string} [token]
 * @property {AbortSignal} signal
 * @property {(note: string) => void} note
 * @property {boolean} headersOnly plan(): nothing is kept, and no more is fetched than is wanted
 * @property {import('../host.js').Store | null} store
 * @property {import('../host.js').OpenPath} [openPath] in Node
 * @property {(file: number, offset: number, length: number) => Promise<Uint8Array>} readPage bytes of a page's ModelFile
 * @property {() => void} [moved] told when bytes have come
 * @property {(bytes: number) => void} [waiting] told how much has come of what another tab or process brings
 * @property {number} [mirror] of a manifest's mirrors, the one to begin with
 * @property {number} [retryMs]
 */

export class Files {
  #options;
  #keeper;
  /** @type {Map<string, OpenFile | null>} */
  #opened = new Map();
  #streaming = false;

  /** @param {FilesOptions} options */
  constructor(options) {
    this.#options = options;
    const { store, signal, headersOnly, note, moved = () => {}, waiting = () => {} } = options;
    const eager = !headersOnly && this.#isSingle;
    this.#keeper = new Keeper({ store, signal, headersOnly, eager, note, moved, waiting });
  }

  /** Bytes of the open files that are on this device already. */
  get cachedBytes() {
    return this.#keeper.cachedBytes;
  }

  /** How often what was kept, or came, was not the file: another try may find another place. */
  get faults() {
    return this.#keeper.faults;
  }

  /** Of these, how often a source gave other bytes. */
  get sourceFaults() {
    return this.#keeper.sourceFaults;
  }

  /** Bytes of all files where that is known before their headers are read, else null. */
  get totalBytes() {
    const { source } = this.#options;
    if (this.#isSingle) return this.#opened.get(source.main)?.size ?? null;
    const places = Object.entries(source.files);
    let sum = 0;
    for (const [name, place] of places) {
      if (place.kind !== 'sources' || !/\.gguf$/i.test(name)) return null;
      sum += place.bytes;
    }
    return places.length > 0 ? sum : null;
  }

  /** Whether the model is one file that needs no other. */
  get #isSingle() {
    const { main } = this.#options.source;
    return /\.gguf$/i.test(main) && !/-\d{5}-of-\d{5}\.gguf$/i.test(main);
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
    if (this.#streaming) file?.stream?.();
    this.#opened.set(name, file);
    return file;
  }

  /** The headers are read: files are wanted to their ends now. */
  stream() {
    this.#streaming = true;
    for (const file of this.#opened.values()) file?.stream?.();
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
    for (const file of this.#opened.values()) {
      await file?.finish();
      await file?.pause?.();
    }
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
        return this.#manifest(place, name, hash);
      case 'blob':
        return this.#local(blobFile(place.blob, name, this.#blocks), hash);
      case 'page': {
        const read = (/** @type {number} */ at, /** @type {number} */ n) => this.#options.readPage(place.file, at, n);
        return this.#local(new BlockFile(name, place.size, read, this.#blocks), hash);
      }
    }
  }

  get #blocks() {
    return this.#options.headersOnly ? { block: 1 << 20, ahead: 0 } : { block: 4 << 20, ahead: 2 };
  }

  /**
   * @param {OpenFile} file
   * @param {string | undefined} sha256
   */
  async #local(file, sha256) {
    await refuseStranger(file);
    const { headersOnly, note, moved = () => {} } = this.#options;
    if (!sha256 || headersOnly) return file;
    const { name, size } = file;
    const source = async () => streamSource(file);
    return new ChunkedFile({
      name,
      size,
      chunk: CHUNK_BYTES,
      copy: null,
      sha256,
      source,
      note,
      moved,
      failed: async () => {},
    });
  }

  /**
   * @param {string} url
   * @param {string} name
   * @param {boolean} optional
   * @param {string | undefined} sha256
   */
  async #url(url, name, optional, sha256) {
    if (url.startsWith('file:')) {
      const file = diskFile(url, name, this.#options.openPath);
      if (!file && !optional) throw qwenError('storage', `${url}: no such file`);
      return file && this.#local(file, sha256);
    }
    const measuring = this.#options.waiting;
    return this.#keeper.open({
      url,
      name,
      sha256,
      optional,
      open: (probe) => HttpFile.open(url, { name, optional, probe, measuring, ...this.#http(url) }),
      source: streamSource,
      compare: (known) => compareWithServer(url, known, { ...this.#http(url), ms: VALIDATE_MS }),
    });
  }

  /**
   * @param {Extract<import('../protocol.js').FilePlace, { kind: 'sources' }>} place
   * @param {string} name
   * @param {string | undefined} hash
   */
  async #manifest(place, name, hash) {
    const { sha256, chunks } = place;
    if (hash && hash !== sha256)
      throw qwenError('integrity', `${name}: the manifest has SHA-256 ${sha256}, expected ${hash}`);
    const { openPath, mirror } = this.#options;
    /** @type {import('./sources-file.js').OpenPart} */
    const openPart = async (url, { last, within }) => {
      if (url.startsWith('file:')) return diskFile(url, name, openPath);
      const patience = last ? {} : { patienceMs: 0 };
      return HttpFile.open(url, { name, ...this.#http(url), ...patience, probe: within > 0 });
    };
    return this.#keeper.open({
      url: `sha256:${sha256}`,
      name,
      sha256,
      chunks,
      optional: false,
      open: async () => new SourcesFile(name, place, openPart, mirror),
      source: (file) =>
        chunks ? rangesSource(place, /** @type {SourcesFile} */ (file), (url) => this.#http(url)) : streamSource(file),
      compare: async () => 'same',
    });
  }

  /** @param {string} url */
  #http(url) {
    const { token, source, signal, note, headersOnly, openPath, retryMs } = this.#options;
    const own = token && source.origin === new URL(url).origin;
    const bounded = headersOnly || (!this.#streaming && !this.#isSingle);
    return {
      signal,
      note,
      retryMs,
      headers: own ? { Authorization: `Bearer ${token}` } : undefined,
      redirect: own && !openPath && sendsHeadersAlong() ? /** @type {const} */ ('error') : undefined,
      window: bounded ? WINDOW_BYTES : 0,
    };
  }
}

/**
 * Chrome before 119 and Firefox before 111 send an Authorization header along a redirect to another origin. Browsers that have
 * Promise.withResolvers are newer.
 */
const sendsHeadersAlong = () => !('withResolvers' in Promise);

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
