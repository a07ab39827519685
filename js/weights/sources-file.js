// A file of a manifest, put together from its sources: each is a row of parts, each part a URL or several. A source that fails is
// followed by the next one from the same byte on. Where the sums of its chunks are known, chunks come by ranges of their own,
// some at a time, and one with wrong bytes is asked for at the next source, alone.
import { messageOf, QwenError, qwenError } from '../errors.js';
import { streamSource } from './chunked-file.js';
import { fetchRange, NoRanges } from './http-range.js';

/** @typedef {Extract<import('../protocol.js').FilePlace, { kind: 'sources' }>} SourcesPlace */
/** @typedef {import('./open-file.js').RemoteFile} RemoteFile */
/** @typedef {import('./open-file.js').OpenFile} OpenFile */
/**
 * last: whether there is no other place to turn to. within: the first byte that is wanted.
 * @typedef {(url: string, options: { last: boolean, within: number }) => Promise<OpenFile | null>} OpenPart
 */
/** @typedef {{ bytes: number, url: string }[]} Mirror */

/**
 * All rows of URLs, in the order in which they are tried: a part with several URLs makes several.
 * @param {SourcesPlace} place
 * @returns {Mirror[]}
 */
export const mirrorsOf = ({ sources }) =>
  sources.flatMap((parts) => {
    const most = Math.max(...parts.map(({ urls }) => urls.length), 0);
    return Array.from({ length: most }, (_, n) =>
      parts.map(({ bytes, urls }) => ({ bytes, url: urls[Math.min(n, urls.length - 1)] })),
    );
  });

/** @param {unknown} error */
const isFinal = (error) => error instanceof QwenError && (error.code === 'aborted' || error.code === 'closed');

/** @implements {RemoteFile} */
export class SourcesFile {
  phase = /** @type {const} */ ('download');
  modified = '';
  #mirrors;
  #openPart;
  #mirror;
  /** @type {{ start: number, end: number, file: OpenFile } | null} */
  #part = null;
  /** @type {string[]} */
  #failures = [];
  #streaming = false;

  /**
   * @param {string} name
   * @param {SourcesPlace} place
   * @param {OpenPart} openPart
   * @param {number} [first] of the mirrors, the one to begin with
   */
  constructor(name, place, openPart, first = 0) {
    this.name = name;
    this.size = place.bytes;
    this.etag = place.sha256;
    this.#mirrors = mirrorsOf(place);
    this.#openPart = openPart;
    this.#mirror = Math.min(first, this.#mirrors.length - 1);
  }

  /** Which of the mirrors is in use. */
  get mirror() {
    return this.#mirror;
  }

  /** Goes on to the next mirror; false where there is none. */
  next() {
    this.close();
    if (this.#mirror + 1 >= this.#mirrors.length) return false;
    this.#mirror++;
    return true;
  }

  stream() {
    this.#streaming = true;
    this.#part?.file.stream?.();
  }

  /**
   * @param {Uint8Array} view
   * @param {number} offset
   * @returns {Promise<number>}
   */
  async fill(view, offset) {
    for (;;) {
      try {
        const { start, end, file } = await this.#partAt(offset);
        return await file.fill(view.subarray(0, end - offset), offset - start);
      } catch (error) {
        this.close();
        if (isFinal(error)) throw error;
        this.#failures.push(messageOf(error));
        if (this.next()) continue;
        throw qwenError('network', `${this.name}: no source gave it: ${this.#failures.join('; ')}`, error);
      }
    }
  }

  async finish() {}

  async pause() {
    this.close();
  }

  close() {
    this.#part?.file.close();
    this.#part = null;
  }

  /** @param {number} offset */
  async #partAt(offset) {
    if (this.#part && offset >= this.#part.start && offset < this.#part.end) return this.#part;
    this.close();
    let start = 0;
    const last = this.#mirror + 1 === this.#mirrors.length;
    for (const { bytes, url } of this.#mirrors[this.#mirror]) {
      const end = start + bytes;
      if (offset < end) {
        const file = await this.#openPart(url, { last, within: offset - start });
        if (file?.size !== bytes) {
          file?.close();
          throw new Error(`${url}: ${file ? `${file.size} bytes, expected ${bytes}` : 'not there'}`);
        }
        if (this.#streaming) file.stream?.();
        this.#part = { start, end, file };
        return this.#part;
      }
      start = end;
    }
    throw qwenError('internal', `${this.name}: byte ${offset} of ${this.size} was asked for`);
  }
}

/**
 * The bytes [start, end) of a file from the parts of one mirror.
 * @param {Mirror} parts
 * @param {{ start: number, end: number, arrived: (bytes: number) => void, control: AbortController, last: boolean, http: HttpOf }} wanted
 */
async function fromMirror(parts, { start, end, arrived, control, last, http }) {
  const bytes = new Uint8Array(end - start);
  let at = 0;
  for (const part of parts) {
    const [from, to] = [Math.max(start - at, 0), Math.min(end - at, part.bytes)];
    if (from < to) {
      const options = { ...http(part.url), control, size: part.bytes, last };
      const view = bytes.subarray(at + from - start, at + to - start);
      await fetchRange(part.url, view, { from, to, arrived, ...options });
    }
    at += part.bytes;
  }
  return bytes;
}

/** @typedef {(url: string) => import('./http-request.js').RequestOptions & { retryMs?: number }} HttpOf */

/**
 * Chunks of a manifest's file in ranges of their own. Servers without ranges are read as one stream.
 * @param {SourcesPlace} place
 * @param {SourcesFile} file what is read where ranges are not given
 * @param {HttpOf} http
 * @returns {import('./chunked-file.js').ChunkSource}
 */
export function rangesSource(place, file, http) {
  const mirrors = mirrorsOf(place);
  const stream = streamSource(file);
  const control = new AbortController();
  let streaming = mirrors.some((parts) => parts.some(({ url }) => url.startsWith('file:')));
  let mirror = 0;

  return {
    async read(start, end, arrived) {
      const failures = [];
      for (let tried = 0; !streaming && tried < mirrors.length; tried++) {
        const used = mirror;
        try {
          const last = used + 1 === mirrors.length;
          return await fromMirror(mirrors[used], { start, end, arrived, control, last, http });
        } catch (error) {
          if (isFinal(error)) throw error;
          if (error instanceof NoRanges) {
            streaming = true;
            break;
          }
          failures.push(messageOf(error));
          if (mirror === used) mirror = (mirror + 1) % mirrors.length;
        }
      }
      if (streaming) return stream.read(start, end, arrived);
      throw qwenError('network', `${file.name}: no source gave it: ${failures.join('; ')}`);
    },
    wrong: (() => {
      let left = 2 * mirrors.length;
      return () => {
        if (--left < 0) return false;
        mirror = (mirror + 1) % mirrors.length;
        return !streaming || file.next();
      };
    })(),
    stream: () => stream.stream?.(),
    rest: () => stream.rest(),
    close() {
      control.abort();
      stream.close();
    },
  };
}
