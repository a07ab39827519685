// Any ModelSource as a PlainSource, on the page: what is a name, a URL, a Blob or an object of the caller's is decided here;
// the worker opens it (files.js).
import { qwenError } from '../errors.js';
import { hubUrl } from './hub.js';

/** @typedef {import('../types.js').ModelSource} ModelSource */
/** @typedef {import('../types.js').ModelFile} ModelFile */
/** @typedef {import('../protocol.js').PlainSource} PlainSource */
/** @typedef {import('../protocol.js').FilePlace} FilePlace */

/** What a Blob that has no name is called: the loader then looks at its first bytes. */
export const UNNAMED = 'model';

/**
 * @param {ModelSource} source
 * @param {(text: string) => string} resolveUrl absolute URL of a relative string or path
 * @returns {{ source: PlainSource, pageFiles: ModelFile[] }} pageFiles: by the number that 'read' messages name
 */
export function plainSource(source, resolveUrl) {
  /** @type {ModelFile[]} */
  const pageFiles = [];
  if (Array.isArray(source)) return { source: severalFiles(source, resolveUrl, pageFiles), pageFiles };
  if (isRepo(source)) return { source: oneUrl(hubUrl(source), resolveUrl), pageFiles };
  if (typeof source === 'string' || source instanceof URL) return { source: oneUrl(source, resolveUrl), pageFiles };
  const { name, place } = placeOf(source, resolveUrl, pageFiles);
  return { source: { main: name, files: { [name]: place }, siblings: null, origin: null }, pageFiles };
}

/**
 * @param {ModelSource} source
 * @returns {source is { repo: string }}
 */
const isRepo = (source) => typeof (/** @type {any} */ (source)?.repo) === 'string';

/** @param {string} href */
function nameIn(href) {
  const last = new URL(href).pathname.split('/').pop() ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/**
 * @param {string | URL} text
 * @param {(text: string) => string} resolveUrl
 * @returns {PlainSource}
 */
function oneUrl(text, resolveUrl) {
  const url = new URL(checkedUrl(text, resolveUrl));
  url.hash = '';
  const main = nameIn(url.href) || 'config.json';
  /** @type {Record<string, FilePlace>} */
  const files = url.pathname.endsWith('/') ? {} : { [main]: { kind: 'url', url: url.href } };
  return { main, files, siblings: url.href, origin: url.origin };
}

/**
 * @param {string | URL} text
 * @param {(text: string) => string} resolveUrl
 */
function checkedUrl(text, resolveUrl) {
  let href = '';
  try {
    href = resolveUrl(String(text));
  } catch {
    throw qwenError('usage', `${JSON.stringify(String(text))} is not a URL`);
  }
  if (!/^(https?|file):/.test(href))
    throw qwenError('usage', `${href}: only http, https and (in Node) file URLs are read`);
  return href;
}

/**
 * @param {unknown} item
 * @param {(text: string) => string} resolveUrl
 * @param {ModelFile[]} pageFiles
 * @returns {{ name: string, place: FilePlace }}
 */
function placeOf(item, resolveUrl, pageFiles) {
  if (typeof item === 'string' || item instanceof URL) {
    const url = checkedUrl(item, resolveUrl);
    return { name: nameIn(url), place: { kind: 'url', url } };
  }
  if (typeof Blob !== 'undefined' && item instanceof Blob) {
    return {
      name: 'name' in item && typeof item.name === 'string' ? item.name : UNNAMED,
      place: { kind: 'blob', blob: item },
    };
  }
  const file = /** @type {ModelFile | null} */ (item);
  if (typeof file?.read === 'function' && typeof file.name === 'string') {
    if (!Number.isSafeInteger(file.size) || file.size < 0) {
      throw qwenError('usage', `${file.name}: size is ${file.size}, not a number of bytes`);
    }
    pageFiles.push(file);
    return { name: file.name, place: { kind: 'page', file: pageFiles.length - 1, size: file.size } };
  }
  const found = item === null ? 'null' : Object.prototype.toString.call(item);
  throw qwenError(
    'usage',
    `a model's source is a URL, a Blob, a file with name, size and read(), or an array of these; got ${found}`,
  );
}

/**
 * @param {unknown[]} items
 * @param {(text: string) => string} resolveUrl
 * @param {ModelFile[]} pageFiles
 * @returns {PlainSource}
 */
function severalFiles(items, resolveUrl, pageFiles) {
  if (items.length === 1 && (typeof items[0] === 'string' || items[0] instanceof URL))
    return oneUrl(items[0], resolveUrl);
  /** @type {Record<string, FilePlace>} */
  const files = {};
  const origins = new Set();
  for (const item of items) {
    const { name, place } = placeOf(item, resolveUrl, pageFiles);
    if (Object.hasOwn(files, name)) throw qwenError('usage', `two files are called ${name}`);
    files[name] = place;
    if (place.kind === 'url') origins.add(new URL(place.url).origin);
  }
  return {
    main: mainOf(Object.keys(files)),
    files,
    siblings: null,
    origin: origins.size === 1 ? [...origins][0] : null,
  };
}

/**
 * The file to begin with among several.
 * @param {string[]} names
 */
export function mainOf(names) {
  if (names.length === 0) throw qwenError('usage', 'the source names no file');
  if (names.length === 1) return names[0];
  const ggufs = names.filter((name) => /\.gguf$/i.test(name)).sort();
  const sets = new Set(ggufs.map((name) => name.replace(/-\d{5}-of-(\d{5})\.gguf$/i, '-of-$1')));
  if (sets.size > 1) throw qwenError('usage', `the source holds several models: ${ggufs.join(', ')}`);
  if (ggufs.length > 0) return ggufs[0];
  if (names.includes('config.json')) return 'config.json';
  const tensors = names.filter((name) => name.endsWith('.safetensors'));
  if (tensors.length === 1) return tensors[0];
  throw qwenError('usage', `neither a .gguf file nor config.json is among ${names.join(', ')}`);
}
