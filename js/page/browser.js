// A page's side of what host.d.ts calls a Host.
import { opfsStore } from '../weights/opfs-store.js';
import { qwenError } from '../errors.js';
import { TEMPLATE_WORKER } from '../protocol.js';

/**
 * A script that runs another one: a page without an origin (in a frame that is sandboxed so) may start no script but its own.
 * It stays as long as the page, because the worker's threads start from it too.
 * @param {string} url
 */
const borrowed = (url) =>
  URL.createObjectURL(new Blob([`importScripts(${JSON.stringify(url)})`], { type: 'text/javascript' }));

/** @type {{ createScriptURL(text: string): object } | null} */
let policy = null;

/**
 * A script's URL as Trusted Types ask for it, where this browser has them: under a policy of our own, or what the caller has
 * made so. Where the page allows no such policy the text stays, and the browser says what it thinks of it.
 * @param {import('../host.js').ScriptUrl} url
 * @returns {any}
 */
function trusted(url) {
  const types = /** @type {any} */ (globalThis).trustedTypes;
  if (!types || types.isScriptURL(url)) return url;
  try {
    policy ??= types.createPolicy('qwen2-wasm', { createScriptURL: (/** @type {string} */ text) => text });
    return policy?.createScriptURL(String(url));
  } catch {
    return url;
  }
}

/**
 * Where template-worker.js is, for a page that has a copy of dist/ elsewhere: beside worker.js. A script that goes by another
 * name is a bundler's, which knows where it has put this one.
 * @param {import('../host.js').ScriptUrl | undefined} url of worker.js
 */
function besideWorker(url) {
  const beside = /^(https?:[^?#]*\/)worker\.js([?#].*)?$/.exec(String(url ?? ''));
  return beside ? `${beside[1]}template-worker.js${beside[2] ?? ''}` : undefined;
}

// Written so that bundlers see files that they copy: `new Worker(new URL(…))` would make them bundle a second one.
const engineWorker = () => new URL('./worker.js', import.meta.url);
const templateWorker = () => new URL('./template-worker.js', import.meta.url);

/**
 * @param {string} name
 * @param {import('../host.js').ScriptUrl | undefined} url of another script than the one beside this module
 */
function newWorker(name, url) {
  const script = url ?? (name === TEMPLATE_WORKER ? templateWorker() : engineWorker()).href;
  return new Worker(trusted(globalThis.origin === 'null' ? borrowed(String(script)) : script), { name });
}

/** Kinds of workers that cannot start others, by the classes of their global objects. */
const OTHER_WORKERS = { ServiceWorkerGlobalScope: 'a service worker', SharedWorkerGlobalScope: 'a shared worker' };

const OFFLINE =
  'this page is open, and the network is off or its server is gone: isolation-sw.js keeps page and scripts on the device for such times';

/**
 * Tells a script that no server brings from one that the browser refuses.
 * @param {string} url
 * @param {(error: Error, wayOut?: string) => void} fail
 */
async function failToStart(url, fail) {
  const error = new Error('its script could not be loaded');
  if (new URL(url).origin !== globalThis.location?.origin) return fail(error);
  const answer = await fetch(url, { method: 'HEAD', cache: 'no-store' }).catch(() => null);
  if (answer) fail(answer.ok ? error : new Error(`its script could not be loaded (status ${answer.status})`));
  else fail(error, OFFLINE);
}

/** @type {import('../host.js').Host} */
export const browserHost = {
  isPage: true,

  refusal() {
    if (typeof Worker === 'function') return '';
    const name = Object.prototype.toString.call(globalThis).slice('[object '.length, -1);
    const place = Object.hasOwn(OTHER_WORKERS, name)
      ? OTHER_WORKERS[/** @type {keyof OTHER_WORKERS} */ (name)]
      : 'this place';
    return `${place} cannot start workers, and an engine is one: it can live in a page or in a dedicated worker (new Worker), which others send messages to`;
  },

  startWorker(name, url) {
    if (globalThis.location?.protocol === 'file:') {
      throw qwenError('environment', 'a page opened as a file cannot start workers: serve it over http');
    }
    const worker = newWorker(name, name === TEMPLATE_WORKER ? besideWorker(url) : url);
    return {
      post: (message, transfer = []) => worker.postMessage(message, transfer),
      listen(handle, fail) {
        worker.onmessage = ({ data }) => handle(data);
        worker.onmessageerror = () => fail(new Error('a message could not be read'));
        worker.onerror = (event) => {
          event.preventDefault?.();
          if (event.message) fail(new Error(event.message));
          else void failToStart(String(url ?? engineWorker()), fail);
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

  memoryLimit: () => '',

  workerHint:
    'worker.js must come from the origin of the page, over http(s), and be allowed by its Content Security Policy ' +
    "(worker-src 'self'; with trusted-types, the policy qwen2-wasm): copy dist/ to your own host, or say where it is with " +
    'workerUrl; a sandboxed frame needs allow-same-origin',

  persist: async () => (await globalThis.navigator?.storage?.persist?.()) ?? false,
};
