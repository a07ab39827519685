/* SPDX-License-Identifier: MIT
 * Threads on hosts that cannot set headers (GitHub Pages, for one). Two halves in one file: as a page's script it
 * registers itself as a service worker and reloads the page once; as that worker it adds COOP and COEP to the page and
 * its workers. It must lie in the folder of the page or above, because that is the reach of a service worker.
 *
 *   <script src="isolation-sw.js"></script>               does it at once
 *   <script src="isolation-sw.js" data-manual></script>   waits for qwen2Isolation.enable()
 *
 * Where it cannot help (no service workers, an insecure origin, a frame) the page runs on one thread.
 */
'use strict';

if (typeof window === 'undefined') {
  // ---- The worker's half.
  const scope = /** @type {any} */ (self);
  scope.addEventListener('install', () => scope.skipWaiting());
  scope.addEventListener('activate', (/** @type {any} */ event) => event.waitUntil(scope.clients.claim()));
  scope.addEventListener('fetch', (/** @type {any} */ event) => {
    const { request } = event;
    // Only what decides isolation: everything else, the weights above all, goes past this worker.
    const isPage = request.mode === 'navigate';
    const isWorker = request.destination === 'worker' || request.destination === 'sharedworker';
    if (isPage || isWorker) event.respondWith(fetch(request).then(withHeaders));
  });

  const withHeaders = (/** @type {Response} */ response) => {
    if (response.status === 0) return response; // a redirect, which the browser follows itself
    const headers = new Headers(response.headers);
    headers.set('Cross-Origin-Opener-Policy', 'same-origin');
    headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
    headers.set('Cross-Origin-Resource-Policy', 'same-origin');
    const { status, statusText } = response;
    const body = status === 204 || status === 205 || status === 304 ? null : response.body;
    return new Response(body, { status, statusText, headers });
  };
} else {
  // ---- The page's half.
  const { src, dataset } = /** @type {HTMLScriptElement} */ (document.currentScript);
  const RELOADED = 'qwen2-isolation-reloaded';

  /* A browser that takes the headers and still does not isolate the page must not be reloaded for ever: the tab
   * remembers its one reload. Where it cannot remember, it does not reload. */
  const memory = () => {
    try {
      sessionStorage.setItem(RELOADED + '?', '1');
      sessionStorage.removeItem(RELOADED + '?');
      return sessionStorage;
    } catch {
      return null;
    }
  };

  const reason = () => {
    if (window.crossOriginIsolated) return 'this page is isolated already';
    if (!window.isSecureContext) return 'service workers need https (or localhost)';
    if (window.top !== window.self) return 'a page in a frame takes its isolation from the page around it';
    if (!navigator.serviceWorker) return 'this browser has no service workers here, as in some private windows';
    if (!memory()) return 'this browser keeps no session storage here';
    if (memory()?.getItem(RELOADED))
      return 'this tab was reloaded once and the browser still does not isolate the page';
    return null;
  };

  const activated = (/** @type {ServiceWorker} */ worker) =>
    new Promise((/** @type {(done?: void) => void} */ resolve, reject) => {
      const look = () => {
        if (worker.state === 'activated') resolve();
        else if (worker.state === 'redundant') reject(new Error('the service worker could not be installed'));
      };
      worker.addEventListener('statechange', look);
      look();
    });

  const isolation = {
    /** Null where enable() may help, else a sentence that says why not. */
    get unavailable() {
      return reason();
    },
    /** Registers the service worker and reloads the page; rejects where that cannot help. */
    async enable() {
      const why = reason();
      if (why) throw new Error(why);
      const registration = await navigator.serviceWorker.register(src);
      const worker = registration.installing ?? registration.waiting ?? registration.active;
      if (worker) await activated(worker);
      memory()?.setItem(RELOADED, '1');
      window.location.reload();
    },
  };
  Object.assign(window, { qwen2Isolation: isolation });
  if (!('manual' in dataset)) isolation.enable().catch(() => {});
}
