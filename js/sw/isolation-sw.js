/* SPDX-License-Identifier: MIT
 * Threads on hosts that cannot set headers (GitHub Pages, for one), and pages that work without the network. One file for two
 * places: as a page's script it registers itself as a service worker and reloads the page once; as that worker it adds COOP
 * and COEP to the page and its workers, and keeps the page's files. It must lie in the folder of the page or above, because
 * that is the reach of a service worker.
 *
 *   <script src="isolation-sw.js"></script>                               does it at once
 *   <script src="isolation-sw.js" data-manual></script>                   waits for qwen2Isolation.enable() or .keep()
 *   <script src="isolation-sw.js" data-coep="credentialless"></script>    for pages with images of other sites
 *
 * Where it cannot help (no service workers, an insecure origin, a frame) the page runs on one thread.
 */
import { bePage } from './page-half.js';
import { beServiceWorker } from './worker-half.js';

if (typeof window === 'undefined') beServiceWorker();
else bePage(/** @type {HTMLScriptElement} */ (document.currentScript));
