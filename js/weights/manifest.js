// A manifest names the files of one model, their sizes and hashes, and where they come from (models/README.md describes the
// format): it is read here, and a file of it is put together from its sources. A source that fails is followed by the next
// one from the same byte on; the hash tells whether all was well.
import { messageOf, QwenError, qwenError } from '../errors.js';

/** @typedef {Extract<import('../protocol.js').FilePlace, { kind: 'sources' }>} SourcesPlace */
/** @typedef {import('./files.js').RemoteFile} RemoteFile */
/** @typedef {(url: string) => Promise<import('./files.js').OpenFile | null>} OpenPart */

/**
 * The files of a manifest, by name.
 * @param {string} text
 * @param {string} base the manifest's own URL
 * @returns {Record<string, SourcesPlace>}
 */
export function parseManifest(text, base) {
  /** @type {any} */
  let manifest;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw qwenError('format', `${base}: not JSON (${messageOf(error)})`, error);
  }
  if (manifest?.format !== 'qwen2-wasm-manifest' || manifest.version !== 1) {
    const found = `format ${JSON.stringify(manifest?.format)}, version ${JSON.stringify(manifest?.version)}`;
    throw qwenError('format', `${base}: not a manifest of version 1 (${found})`);
  }
  if (!Array.isArray(manifest.files) || manifest.files.length === 0) {
    throw qwenError('format', `${base}: the manifest lists no files`);
  }
  /** @type {Record<string, SourcesPlace>} */
  const files = {};
  for (const file of manifest.files) {
    const place = parseFile(file, base);
    if (Object.hasOwn(files, file.name)) throw qwenError('format', `${base}: two files are called ${file.name}`);
    files[file.name] = place;
  }
  return files;
}

/**
 * @param {any} file
 * @param {string} base
 * @returns {SourcesPlace}
 */
function parseFile(file, base) {
  const { name, bytes, sha256, sources } = file ?? {};
  const where = `${base}: file ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || !name || /[/\\]/.test(name)) throw qwenError('format', `${where}: not a file's name`);
  if (!Number.isSafeInteger(bytes) || bytes < 0)
    throw qwenError('format', `${where}: bytes is ${JSON.stringify(bytes)}`);
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw qwenError('format', `${where}: sha256 is ${JSON.stringify(sha256)}, not 64 hexadecimal digits`);
  }
  const known = (Array.isArray(sources) ? sources : []).map((source) => parseSource(source, bytes, base, where));
  const usable = /** @type {{ bytes: number, urls: string[] }[][]} */ (known.filter(Boolean));
  if (usable.length === 0) throw qwenError('format', `${where}: no source of a known kind`);
  return { kind: 'sources', bytes, sha256: sha256.toLowerCase(), sources: usable };
}

/**
 * The parts of a source; null where its kind is not known here.
 * @param {any} source
 * @param {number} bytes
 * @param {string} base
 * @param {string} where
 */
function parseSource(source, bytes, base, where) {
  const parts = typeof source === 'string' ? [{ bytes, urls: [source] }] : source?.parts;
  if (!Array.isArray(parts) || !parts.every((part) => Number.isSafeInteger(part?.bytes) && Array.isArray(part.urls))) {
    return null;
  }
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (total !== bytes)
    throw qwenError('format', `${where}: ${bytes} bytes, but the parts of a source add up to ${total}`);
  try {
    return parts.map((part) => ({
      bytes: part.bytes,
      urls: part.urls.map((/** @type {string} */ url) => new URL(url, base).href),
    }));
  } catch (error) {
    throw qwenError('format', `${where}: ${messageOf(error)}`, error);
  }
}

/** @implements {RemoteFile} */
export class ManifestFile {
  phase = /** @type {const} */ ('download');
  modified = '';
  #sources;
  #openPart;
  /** Of the source in use. */
  #source = 0;
  /** @type {{ start: number, end: number, file: import('./files.js').OpenFile } | null} */
  #part = null;
  /** @type {string[]} */
  #failures = [];

  /**
   * @param {string} name
   * @param {SourcesPlace} place
   * @param {OpenPart} openPart
   */
  constructor(name, place, openPart) {
    this.name = name;
    this.size = place.bytes;
    this.etag = place.sha256;
    this.#sources = place.sources;
    this.#openPart = openPart;
  }

  /**
   * @param {string} name
   * @param {SourcesPlace} place
   * @param {OpenPart} openPart
   */
  static async open(name, place, openPart) {
    const file = new ManifestFile(name, place, openPart);
    if (file.size > 0) await file.#trying(() => file.#partAt(0));
    return file;
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   * @returns {Promise<number>}
   */
  fill(view, offset) {
    return this.#trying(async () => {
      const { start, end, file } = await this.#partAt(offset);
      return await file.fill(view.subarray(0, end - offset), offset - start);
    });
  }

  async finish() {}

  close() {
    this.#part?.file.close();
    this.#part = null;
  }

  /**
   * Goes from source to source until one does it.
   * @template T
   * @param {() => Promise<T>} step
   * @returns {Promise<T>}
   */
  async #trying(step) {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        this.close();
        if (error instanceof QwenError && error.code === 'aborted') throw error;
        this.#failures.push(messageOf(error));
        if (++this.#source < this.#sources.length) continue;
        throw qwenError('network', `${this.name}: no source gave it: ${this.#failures.join('; ')}`, error);
      }
    }
  }

  /** @param {number} offset */
  async #partAt(offset) {
    if (this.#part && offset >= this.#part.start && offset < this.#part.end) return this.#part;
    this.close();
    let start = 0;
    for (const part of this.#sources[this.#source]) {
      const end = start + part.bytes;
      if (offset < end) {
        this.#part = { start, end, file: await this.#openAny(part) };
        return this.#part;
      }
      start = end;
    }
    throw qwenError('internal', `${this.name}: byte ${offset} of ${this.size} was asked for`);
  }

  /** @param {{ bytes: number, urls: string[] }} part */
  async #openAny(part) {
    const failures = [];
    for (const url of part.urls) {
      try {
        const file = await this.#openPart(url);
        if (file?.size === part.bytes) return file;
        file?.close();
        failures.push(`${url}: ${file ? `${file.size} bytes, expected ${part.bytes}` : 'not there'}`);
      } catch (error) {
        if (error instanceof QwenError && error.code === 'aborted') throw error;
        failures.push(messageOf(error));
      }
    }
    throw qwenError('network', failures.join('; '));
  }
}
