// A manifest names the files of one model, their sizes and hashes, and where they come from; models/README.md describes the
// format. Version 2 has sums of chunks too, so that wrong bytes are found as they come.
import { messageOf, qwenError } from '../errors.js';

export const MANIFEST_FORMAT = 'qwen2-wasm-manifest';
export const MANIFEST_VERSION = 2;
const OLDEST_VERSION = 1;
const CHUNK_MIN = 1 << 16;
const CHUNK_MAX = 64 << 20;

/** @typedef {Extract<import('../protocol.js').FilePlace, { kind: 'sources' }>} SourcesPlace */

/**
 * @callback ReadPart A part of a source with its absolute URLs; null where its kind is not known.
 * @param {any} part
 * @param {string} base
 * @returns {any}
 */

/**
 * The files of a manifest, by name.
 * @param {string} text
 * @param {string} base the manifest's own URL
 * @param {ReadPart} [readPart] for a reader who knows more kinds of parts than URLs
 * @returns {Record<string, SourcesPlace>}
 */
export function parseManifest(text, base, readPart = urlPart) {
  /** @type {any} */
  let manifest;
  try {
    manifest = JSON.parse(text);
  } catch (error) {
    throw qwenError('format', `${base}: not JSON (${messageOf(error)})`, error);
  }
  const { format, version } = manifest ?? {};
  const known = Number.isInteger(version) && version >= OLDEST_VERSION && version <= MANIFEST_VERSION;
  if (format !== MANIFEST_FORMAT || !known) {
    const found = `format ${JSON.stringify(format)}, version ${JSON.stringify(version)}`;
    const want = `version ${OLDEST_VERSION} to ${MANIFEST_VERSION}`;
    throw qwenError('format', `${base}: not a manifest of ${want} (${found})`);
  }
  if (!Array.isArray(manifest.files) || manifest.files.length === 0) {
    throw qwenError('format', `${base}: the manifest lists no files`);
  }
  /** @type {Record<string, SourcesPlace>} */
  const files = {};
  for (const file of manifest.files) {
    const place = parseFile(file, base, readPart);
    if (Object.hasOwn(files, file.name)) throw qwenError('format', `${base}: two files are called ${file.name}`);
    files[file.name] = place;
  }
  return files;
}

/**
 * @param {any} file
 * @param {string} base
 * @param {ReadPart} readPart
 * @returns {SourcesPlace}
 */
function parseFile(file, base, readPart) {
  const { name, bytes, sha256, sources, chunks } = file ?? {};
  const where = `${base}: file ${JSON.stringify(name)}`;
  if (typeof name !== 'string' || !name || /[/\\]/.test(name)) throw qwenError('format', `${where}: not a file's name`);
  if (!Number.isSafeInteger(bytes) || bytes < 0)
    throw qwenError('format', `${where}: bytes is ${JSON.stringify(bytes)}`);
  if (typeof sha256 !== 'string' || !/^[0-9a-f]{64}$/i.test(sha256)) {
    throw qwenError('format', `${where}: sha256 is ${JSON.stringify(sha256)}, not 64 hexadecimal digits`);
  }
  const known = (Array.isArray(sources) ? sources : []).map((source) => {
    const read = (/** @type {any} */ part) => readPart(part, base);
    return parseSource(source, bytes, read, where);
  });
  const usable = /** @type {{ bytes: number, urls: string[] }[][]} */ (known.filter(Boolean));
  if (usable.length === 0) throw qwenError('format', `${where}: no source of a known kind`);
  const place = { kind: /** @type {const} */ ('sources'), bytes, sha256: sha256.toLowerCase(), sources: usable };
  return chunks === undefined ? place : { ...place, chunks: parseChunks(chunks, bytes, where) };
}

/**
 * @param {any} chunks
 * @param {number} total
 * @param {string} where
 * @returns {{ bytes: number, sha256: string }}
 */
function parseChunks(chunks, total, where) {
  const { bytes, sha256 } = chunks ?? {};
  if (!Number.isInteger(bytes) || bytes < CHUNK_MIN || bytes > CHUNK_MAX) {
    throw qwenError('format', `${where}: chunks.bytes is ${JSON.stringify(bytes)}, not ${CHUNK_MIN} to ${CHUNK_MAX}`);
  }
  const count = Math.ceil(total / bytes);
  if (!Array.isArray(sha256) || sha256.length !== count) {
    const found = Array.isArray(sha256) ? `${sha256.length} sums` : JSON.stringify(sha256);
    throw qwenError(
      'format',
      `${where}: chunks.sha256 has ${found}, ${total} bytes in chunks of ${bytes} have ${count}`,
    );
  }
  const odd = sha256.find((sum) => typeof sum !== 'string' || !/^[0-9a-f]{64}$/i.test(sum));
  if (odd !== undefined)
    throw qwenError('format', `${where}: chunks.sha256 has ${JSON.stringify(odd)}, not 64 hexadecimal digits`);
  return { bytes, sha256: sha256.join('').toLowerCase() };
}

/**
 * The parts of a source; null where its kind is not known here.
 * @param {any} source
 * @param {number} bytes
 * @param {(part: any) => any} read
 * @param {string} where
 */
function parseSource(source, bytes, read, where) {
  const parts = typeof source === 'string' ? [{ bytes, urls: [source] }] : source?.parts;
  if (!Array.isArray(parts) || !parts.every((part) => Number.isSafeInteger(part?.bytes))) return null;
  let known;
  try {
    known = parts.map(read);
  } catch (error) {
    throw qwenError('format', `${where}: ${messageOf(error)}`, error);
  }
  if (!known.every(Boolean)) return null;
  const total = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (total !== bytes)
    throw qwenError('format', `${where}: ${bytes} bytes named, but the parts of a source add up to ${total}`);
  return known;
}

/** @type {ReadPart} */
export function urlPart({ bytes, urls }, base) {
  if (!Array.isArray(urls) || urls.length === 0) return null;
  return { bytes, urls: urls.map((url) => allowedUrl(new URL(url, base), new URL(base))) };
}

/**
 * What a stranger's manifest may make this machine read: nothing of its disk and nothing of the networks that only it reaches.
 * @param {URL} url
 * @param {URL} base
 */
function allowedUrl(url, base) {
  const own = url.protocol === base.protocol && url.host === base.host;
  if (!own && base.protocol !== 'file:') {
    if (!/^https?:$/.test(url.protocol))
      throw new Error(`${url.href}: a manifest of ${base.origin} may name http(s) only`);
    if (isPrivate(url.hostname) && !isPrivate(base.hostname))
      throw new Error(`${url.href}: a manifest of ${base.origin} may not name hosts of a private network`);
  } else if (!/^(https?|file):$/.test(url.protocol)) {
    throw new Error(`${url.href}: only http, https and (on this disk) file URLs are read`);
  }
  return url.href;
}

/**
 * Whether a name, as URL writes it, is one of this machine or of a private network.
 * @param {string} host
 */
function isPrivate(host) {
  const name = host.replace(/\.$/, '');
  if (/^\[/.test(name)) {
    const mapped = /^\[::(?:ffff:)?([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/.exec(name);
    if (mapped) {
      const [high, low] = [parseInt(mapped[1], 16), parseInt(mapped[2], 16)];
      return isPrivate([high >> 8, high & 255, low >> 8, low & 255].join('.'));
    }
    return /^\[(::1?\]|f[cd]|fe[89ab])/.test(name);
  }
  if (/^\d+\.\d+\.\d+\.\d+$/.test(name))
    return /^(0|10|127|169\.254|192\.168|172\.(1[6-9]|2\d|3[01])|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7]))\./.test(name);
  return (
    name === 'localhost' || !name.includes('.') || /\.(localhost|local|internal|intranet|lan|home\.arpa)$/.test(name)
  );
}
