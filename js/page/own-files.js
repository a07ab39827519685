// What visitors pick or drop, and what comes from another realm (a frame, a test runner), as the sources that the worker reads:
// lists, handles and folders become Files, and in Node a Blob is read on the thread that it belongs to.
import { messageOf, qwenError } from '../errors.js';
import { UNNAMED } from '../weights/source.js';

/** @typedef {import('../types.js').ModelSource} ModelSource */

/** The class of an object, whatever realm it is of. */
const classOf = (/** @type {unknown} */ item) => Object.prototype.toString.call(item).slice('[object '.length, -1);

/**
 * @param {unknown} source as the caller gave it
 * @param {boolean} isPage
 * @returns {Promise<ModelSource>}
 */
export async function withOwnFiles(source, isPage) {
  const list = classOf(source) === 'FileList' ? Array.from(/** @type {FileList} */ (source)) : source;
  if (!Array.isArray(list) && classOf(source) !== 'FileSystemDirectoryHandle') return ownFile(source, isPage);
  const items = Array.isArray(list) ? list : await filesIn(/** @type {any} */ (source));
  return /** @type {any} */ (await Promise.all(items.map((item) => ownFile(item, isPage))));
}

/**
 * @param {any} item
 * @param {boolean} isPage
 * @returns {Promise<any>}
 */
async function ownFile(item, isPage) {
  switch (classOf(item)) {
    case 'FileSystemFileHandle':
      return ownFile(await fileOf(item), isPage);
    case 'URL':
      return new URL(String(item));
    case 'File':
    case 'Blob':
      return isPage ? ownBlob(item) : pageFile(item);
    default:
      return item;
  }
}

/** @param {any} handle */
async function fileOf(handle) {
  try {
    return await handle.getFile();
  } catch (error) {
    const allowed = /** @type {Error} */ (error).name === 'NotAllowedError';
    const way = allowed ? 'ask for it first: handle.requestPermission() in answer to a click' : 'pick the file again';
    throw qwenError('storage', `${handle.name}: cannot be read (${messageOf(error)}); ${way}`, error);
  }
}

/** @param {{ values(): AsyncIterable<{ kind: string }> }} folder a FileSystemDirectoryHandle */
async function filesIn(folder) {
  const files = [];
  for await (const handle of folder.values()) if (handle.kind === 'file') files.push(handle);
  return files;
}

/** @param {Blob} blob of any realm */
function ownBlob(blob) {
  if (blob instanceof Blob) return blob;
  return 'name' in blob ? new File([blob], String(/** @type {File} */ (blob).name)) : new Blob([blob]);
}

/**
 * Node dies where one thread reads the Blob that fs.openAsBlob() gave to another.
 * @param {Blob} blob
 * @returns {import('../types.js').ModelFile}
 */
function pageFile(blob) {
  return {
    name: 'name' in blob ? String(blob.name) : UNNAMED,
    size: blob.size,
    read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()),
  };
}
