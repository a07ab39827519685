// The page's half: registers this script as a service worker, reloads the page once where that isolates it, and lets the
// worker keep the page's files.
import { cachePrefix } from './versions.js';

const RELOADED = 'qwen2-isolation-reloaded';
const ISOLATED = 'qwen2-isolation-isolated';
const OFF = 'qwen2-isolation-off';

/**
 * Storage of that kind, or null where the browser denies it.
 * @param {'sessionStorage' | 'localStorage'} kind
 */
function storage(kind) {
  try {
    const one = window[kind];
    one.setItem(`${RELOADED}?`, '1');
    one.removeItem(`${RELOADED}?`);
    return one;
  } catch {
    return null;
  }
}

/**
 * When that was noted, in milliseconds; 0: never.
 * @param {'sessionStorage' | 'localStorage'} kind
 * @param {string} key
 */
const timeOf = (kind, key) => Number(storage(kind)?.getItem(key) ?? 0);

/** Why there can be no service worker, or null. */
function noWorker() {
  if (!window.isSecureContext) return 'service workers need https (or localhost)';
  if (window.top !== window.self) return 'a page in a frame takes its isolation from the page around it';
  if (!navigator.serviceWorker) return 'this browser has no service workers here, as in some private windows';
  return null;
}

/*
 * A browser that takes the headers and still does not isolate the page must not be reloaded for ever: the tab remembers its
 * one reload, and the site when it was isolated last: a reload before that is no failure. (The tab alone cannot forget it:
 * Chromium gives a page that loses its isolation the session storage of before.) Where it cannot remember, it does not reload.
 */
function noIsolation() {
  if (window.crossOriginIsolated) return 'this page is isolated already';
  const why = noWorker();
  if (why) return why;
  if (!storage('sessionStorage')) return 'this browser keeps no session storage here';
  if (timeOf('sessionStorage', RELOADED) > timeOf('localStorage', ISOLATED))
    return 'this tab was reloaded once and the browser still does not isolate the page';
  return null;
}

/** @param {ServiceWorker} worker */
const activated = (worker) =>
  new Promise((/** @type {(done?: void) => void} */ resolve, reject) => {
    const look = () => {
      if (worker.state === 'activated') resolve();
      else if (worker.state === 'redundant') reject(new Error('the service worker could not be installed'));
    };
    worker.addEventListener('statechange', look);
    look();
  });

const isOff = () => Boolean(storage('localStorage')?.getItem(OFF));

/**
 * This script's registration, and no other one's.
 * @param {string} src
 */
async function registered(src) {
  const registration = await navigator.serviceWorker.getRegistration();
  const worker = registration?.active ?? registration?.waiting ?? registration?.installing;
  return worker?.scriptURL.split('?')[0] === src.split('?')[0] ? registration : undefined;
}

const loaded = () =>
  new Promise((resolve) => {
    if (document.readyState === 'complete') resolve(undefined);
    else window.addEventListener('load', resolve, { once: true });
  });

/**
 * @param {ServiceWorker | null} worker
 * @param {string} src of this script, which is one of the page's files
 */
async function askToKeep(worker, src) {
  await loaded();
  const page = window.location.origin + window.location.pathname;
  const names = performance.getEntriesByType('resource').map(({ name }) => name);
  const { port1, port2 } = new MessageChannel();
  const kept = await new Promise((resolve) => {
    port1.onmessage = ({ data }) => resolve(data);
    worker?.postMessage({ type: 'keep', urls: [page, src, ...names] }, [port2]);
  });
  port1.close();
  if (kept.error) throw new Error(kept.error);
  return kept;
}

/** @param {HTMLScriptElement} element the one that brought this script */
export function bePage({ src, dataset }) {
  const script = dataset.coep ? `${src}?coep=${encodeURIComponent(dataset.coep)}` : src;

  async function register() {
    const registration = await navigator.serviceWorker.register(script);
    const worker = registration.active ?? registration.installing ?? registration.waiting;
    if (worker) await activated(worker);
    return worker;
  }

  const isolation = {
    /** Null where enable() may help, else a sentence that says why not. */
    get unavailable() {
      return noIsolation();
    },

    /** Registers the service worker and reloads the page; rejects where that cannot help. */
    async enable() {
      const why = noIsolation();
      if (why) throw new Error(why);
      storage('localStorage')?.removeItem(OFF);
      await register();
      storage('sessionStorage')?.setItem(RELOADED, String(Date.now()));
      window.location.reload();
    },

    /**
     * Keeps page and scripts on the device, so that the next visit works without the network; registers the service worker
     * where it is not, and reloads nothing. Resolves when all is kept; rejects where that is impossible.
     * @returns {Promise<{ version: string, files: number }>}
     */
    async keep() {
      const why = noWorker() ?? (isOff() ? 'it was turned off by disable()' : null);
      if (why) throw new Error(why);
      return askToKeep(await register(), src);
    },

    /** Takes the service worker and what it keeps away, until enable(); pages that are open go on as they are. */
    async disable() {
      storage('localStorage')?.setItem(OFF, '1');
      storage('sessionStorage')?.removeItem(RELOADED);
      const registration = noWorker() ? undefined : await registered(src);
      if (!registration) return;
      await registration.unregister();
      const prefix = cachePrefix(registration.scope);
      for (const name of await caches.keys()) if (name.startsWith(prefix)) await caches.delete(name);
    },
  };

  /** At once, or, where the page is to ask first, if it has asked on an earlier visit. */
  async function begin() {
    if (noWorker() || isOff()) return;
    if ('manual' in dataset && !(await registered(src))) return;
    if (noIsolation()) await isolation.keep();
    else await isolation.enable();
  }

  if (window.crossOriginIsolated) storage('localStorage')?.setItem(ISOLATED, String(Date.now()));
  Object.assign(window, { qwen2Isolation: isolation });
  begin().catch(() => {}); // the page works without
}
