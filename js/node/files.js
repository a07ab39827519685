// What Node has instead of the browser's file systems: model files by path, and the cache in a folder. Used on the main
// thread (modelCache) and in the worker, where node/worker.mjs hands it over as globalThis.qwen2Node.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';
import { abortedError } from '../errors.js';
import { CACHE_FOLDER } from '../weights/store.js';
import { tryLock, waitForLock } from './lock-file.js';

/** $XDG_CACHE_HOME/qwen2-wasm or ~/.cache/qwen2-wasm. */
export const defaultCacheFolder = () =>
  path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), CACHE_FOLDER);

/** This Node on this CPU. */
export const agent = () => `${process.version} ${process.arch} ${os.cpus()[0]?.model}`;

/** @param {unknown} error */
const isNotFound = (error) => /** @type {{ code?: string }} */ (error)?.code === 'ENOENT';

/**
 * A file on disk for the engine to read, straight into wasm memory; null where there is none.
 * @param {string} url a file: URL
 */
export function openPath(url) {
  const place = fileURLToPath(url);
  let file;
  try {
    file = fs.openSync(place, 'r');
  } catch (error) {
    if (isNotFound(error)) return null;
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ERR_ACCESS_DENIED')
      throw new Error(`Node's permission model forbids it: start node with --allow-fs-read=${place}`, { cause: error });
    throw error;
  }
  const stat = fs.fstatSync(file);
  if (stat.isDirectory()) {
    fs.closeSync(file);
    throw new Error(`${place} is a folder (a checkpoint folder's path ends in /)`);
  }
  return {
    size: stat.size,
    /**
     * @param {Uint8Array} view
     * @param {number} offset
     */
    read: (view, offset) => fs.readSync(file, view, 0, view.length, offset),
    close: () => fs.closeSync(file),
  };
}

/**
 * An open file of a folder's store.
 * @param {number} file
 * @returns {import('../host.js').StoreFile}
 */
const storeFile = (file) => ({
  size: () => fs.fstatSync(file).size,
  read: (view, offset) => fs.readSync(file, view, 0, view.length, offset),
  write(bytes, offset) {
    for (let done = 0; done < bytes.length;) {
      done += fs.writeSync(file, bytes, done, bytes.length - done, offset + done);
    }
  },
  truncate: (bytes) => fs.ftruncateSync(file, bytes),
  close: () => fs.closeSync(file),
});

/**
 * Makes a folder and those above it. Node's own `recursive` never comes back from a place where the system says that a folder
 * in it cannot be (/proc).
 * @param {string} folder
 */
function makeFolder(folder) {
  if (fs.existsSync(folder)) return;
  const above = path.dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    fs.mkdirSync(folder);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error; // another process may have made it
  }
}

/**
 * Told of each lock before this thread tries to hold it; node/worker.mjs sets it.
 * @type {{ onHold?: (file: string) => void }}
 */
export const lockWatch = {};

/**
 * @param {string} file
 * @param {{ wait: boolean, signal?: AbortSignal }} options
 */
async function lockAt(file, { wait, signal }) {
  const { onHold } = lockWatch;
  if (!wait) return tryLock(file, onHold);
  return waitForLock(file, { signal, onHold }).catch((error) => {
    throw signal?.aborted ? abortedError(signal) : error;
  });
}

/**
 * @param {string} [folder]
 * @returns {Promise<import('../host.js').Store | null>}
 */
export async function folderStore(folder) {
  let place = '';
  try {
    place = path.resolve(folder ?? defaultCacheFolder());
    makeFolder(place);
  } catch {
    return null;
  }
  const at = (/** @type {string} */ name) => path.join(place, name);
  return {
    async text(name) {
      try {
        return fs.readFileSync(at(name), 'utf8');
      } catch (error) {
        if (isNotFound(error)) return null;
        throw error;
      }
    },
    async bytes(name) {
      return fs.statSync(at(name), { throwIfNoEntry: false })?.size ?? 0;
    },
    async write(name, text) {
      const partial = at(`${name}.${process.pid}-${threadId}`);
      fs.writeFileSync(partial, text);
      fs.renameSync(partial, at(name));
    },
    async open(name, write) {
      try {
        return storeFile(fs.openSync(at(name), write ? fs.constants.O_RDWR | fs.constants.O_CREAT : 'r'));
      } catch (error) {
        if (!write && isNotFound(error)) return null;
        throw error;
      }
    },
    async remove(name) {
      fs.rmSync(at(name), { force: true });
    },
    async names() {
      return fs.readdirSync(place);
    },
    lock: (name, options) => lockAt(at(`${name}.lock`), options),
    async free() {
      const { bavail, bsize } = fs.statfsSync(place);
      return bavail * bsize;
    },
  };
}
