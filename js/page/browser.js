// A page's side of what host.d.ts calls a Host.
import { opfsStore } from '../weights/opfs-store.js';
import { qwenError } from '../errors.js';

/**
 * A script that runs another one: a page without an origin (in a frame that is sandboxed so) may start no script but its own.
 * It stays as long as the page, because the worker's threads start from it too.
 * @param {string} url
 */
const borrowed = (url) =>
  URL.createObjectURL(new Blob([`importScripts(${JSON.stringify(url)})`], { type: 'text/javascript' }));

/** @type {import('../host.js').Host} */
export const browserHost = {
  isPage: true,

  startWorker(name, url) {
    if (globalThis.location?.protocol === 'file:') {
      throw qwenError('environment', 'a page opened as a file cannot start workers: serve it over http');
    }
    const own = globalThis.origin === 'null' ? borrowed(url ?? new URL('./worker.js', import.meta.url).href) : url;
    // Both are written out, so that bundlers see the file.
    const worker = own ? new Worker(own, { name }) : new Worker(new URL('./worker.js', import.meta.url), { name });
    return {
      post: (message, transfer = []) => worker.postMessage(message, transfer),
      listen(handle, fail) {
        worker.onmessage = ({ data }) => handle(data);
        worker.onmessageerror = () => fail(new Error('a message could not be read'));
        worker.onerror = (event) => {
          event.preventDefault?.();
          fail(new Error(event.message || 'its script could not be loaded'));
        };
      },
      terminate: () => worker.terminate(),
      hold() {},
    };
  },

  resolveUrl: (text) => new URL(text, globalThis.document?.baseURI ?? globalThis.location?.href).href,

  wasmUrls: () => ({
    '': new URL('./qwen2.wasm', import.meta.url).href,
    '-threads': new URL('./qwen2-threads.wasm', import.meta.url).href,
    '-relaxed': new URL('./qwen2-relaxed.wasm', import.meta.url).href,
    '-threads-relaxed': new URL('./qwen2-threads-relaxed.wasm', import.meta.url).href,
  }),

  canShare: () => Boolean(globalThis.crossOriginIsolated) && typeof SharedArrayBuffer === 'function',

  cores: () => Math.max(1, Math.floor(Number(globalThis.navigator?.hardwareConcurrency)) || 1),

  store: opfsStore,

  persist: async () => (await globalThis.navigator?.storage?.persist?.()) ?? false,
};
