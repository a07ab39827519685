// Node's side of what host.d.ts calls a Host.
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { folderStore } from './files.js';
import { releaseOf } from './lock-file.js';

/** The oldest Node that this package runs in, as package.json says. */
const OLDEST = [20, 16];

/** @param {string | URL} script */
const newWorker = (script, /** @type {string} */ name) =>
  // The caller's flags stay with the caller: --input-type, for one, keeps a worker from starting.
  new Worker(script, { workerData: { name }, name, execArgv: [] });

/** @type {import('../host.js').Host} */
export const nodeHost = {
  isPage: false,

  refusal() {
    const [major, minor] = process.versions.node.split('.').map(Number);
    if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return '';
    return `Node ${process.versions.node} is too old: ${OLDEST.join('.')} or a later one is needed`;
  },

  startWorker(name, url) {
    const script = url ? new URL(String(url)) : new URL('./node-worker.mjs', import.meta.url);
    const worker = newWorker(script, name);
    let held = true;
    /** @type {Set<string>} */
    const locks = new Set();
    const { threadId } = worker;
    worker.on('message', ({ lock }) => lock && locks.add(lock));
    worker.on('exit', () => releaseOf(locks, threadId));
    return {
      post: (message, transfer = []) => worker.postMessage(message, /** @type {any} */ (transfer)),
      listen(handle, fail) {
        worker.on('message', (message) => message.lock || handle(message));
        worker.on('error', fail);
        worker.on('exit', (code) => fail(new Error(`it ended with code ${code}`)));
      },
      terminate: () => worker.terminate(),
      hold(yes) {
        if (yes !== held) yes ? worker.ref() : worker.unref();
        held = yes;
      },
    };
  },

  /** A path is a URL too, once it is absolute; a trailing / (a checkpoint folder) stays. */
  resolveUrl(text) {
    if (/^[a-z][a-z0-9+.-]+:/i.test(text)) return new URL(text).href;
    const url = pathToFileURL(path.resolve(text));
    if (/[/\\]$/.test(text) && !url.pathname.endsWith('/')) url.pathname += '/';
    return url.href;
  },

  wasmUrls: () => ({
    '': new URL('./qwen2.wasm', import.meta.url).href,
    '-threads': new URL('./qwen2-threads.wasm', import.meta.url).href,
    '-relaxed': new URL('./qwen2-relaxed.wasm', import.meta.url).href,
    '-threads-relaxed': new URL('./qwen2-threads-relaxed.wasm', import.meta.url).href,
  }),

  canShare: () => true,

  cores: () => os.availableParallelism(),

  store: folderStore,

  persist: async () => true,

  workerHint:
    "a worker's script is a file: URL or path; under Node's permission model it needs --allow-worker, and --allow-fs-read " +
    'for the folder of this package, the model and the cache',

  memoryLimit() {
    try {
      const [, limit] = /^Max address space +(\d+)/m.exec(fs.readFileSync('/proc/self/limits', 'utf8')) ?? [];
      const mib = Math.floor(Number(limit) / 2 ** 20);
      return limit
        ? `The address space of this process is limited to ${mib} MiB (ulimit -v), of which each WebAssembly memory takes some GiB`
        : '';
    } catch {
      return ''; // no Linux
    }
  },
};
