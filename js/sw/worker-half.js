// The service worker's half: gives a page and its workers their files, from the device where they are kept, with the two
// headers that isolate.
import { answer, keep } from './versions.js';

const scope = /** @type {any} */ (self);
const EMBEDDER_POLICIES = ['require-corp', 'credentialless'];

export function beServiceWorker() {
  const wanted = new URL(scope.location.href).searchParams.get('coep') ?? '';
  const policy = EMBEDDER_POLICIES.includes(wanted) ? wanted : EMBEDDER_POLICIES[0];

  // It takes over no page that is open: Firefox waits for all workers of such a page, and threads of an engine never answer.
  scope.addEventListener('fetch', (/** @type {any} */ event) => {
    const { request, clientId, resultingClientId } = event;
    const isolates = request.mode === 'navigate' || ['worker', 'sharedworker'].includes(request.destination);
    if (!isolates && passes(request)) return;
    const response = answer(request, { client: clientId, begins: resultingClientId });
    event.respondWith(isolates ? response.then((plain) => withHeaders(plain, policy)) : response);
  });

  scope.addEventListener('message', (/** @type {any} */ event) => {
    const { data, source, ports } = event;
    if (data?.type !== 'keep') return;
    const done = keep(source?.id ?? '', data.urls).then(
      (kept) => ports[0].postMessage(kept),
      (error) => ports[0].postMessage({ error: String(error) }),
    );
    event.waitUntil(done);
  });
}

/**
 * Whether a request goes past this worker: models above all, and what is wanted fresh.
 * @param {Request} request
 */
const passes = ({ method, url, headers, cache }) =>
  method !== 'GET' ||
  new URL(url).origin !== scope.location.origin ||
  headers.has('Range') ||
  cache === 'no-store' ||
  cache === 'reload';

/**
 * @param {Response} response
 * @param {string} policy
 */
function withHeaders(response, policy) {
  if (response.status === 0) return response; // a redirect, which the browser follows itself
  const headers = new Headers(response.headers);
  headers.set('Cross-Origin-Opener-Policy', 'same-origin');
  if (!EMBEDDER_POLICIES.includes(headers.get('Cross-Origin-Embedder-Policy') ?? ''))
    headers.set('Cross-Origin-Embedder-Policy', policy);
  headers.set('Cross-Origin-Resource-Policy', 'same-origin');
  const { status, statusText } = response;
  const body = status === 204 || status === 205 || status === 304 ? null : response.body;
  return new Response(body, { status, statusText, headers });
}
