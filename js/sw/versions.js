// The site as it is kept on the device: whole versions, each a cache of its own. A version is what two looks at the site, one
// after the other, have found alike, so that none is half of one deployment and half of the next. A page and its workers get
// all their files of the version that the page began with; a version goes when no page has it and a newer one is there.
import { bareUrl, isPart, referencesOf } from './references.js';

/**
 * @typedef {object} State
 * @property {string | null} current the version that new pages get
 * @property {string[]} roots where a look begins: the pages, and what they asked for beyond their references
 * @property {Record<string, { version: string, page: string, since: number }>} clients page: the client whose worker it is, or
 *   itself
 *
 * @typedef {{ url: string, bytes: ArrayBuffer, headers: Headers }} Found
 */

/** A page is no part of a model that somebody has named as one. */
const MAX_BYTES = 16 << 20;
const MAX_ROOTS = 200;
const LOOKS = 4;
/** A page that begins is not among the browser's clients at once. */
const BEGINS_MS = 60_000;

const scope = /** @type {any} */ (self);
const prefix = () => cachePrefix(scope.registration.scope);

/** @param {string} reach of the service worker */
export const cachePrefix = (reach) => `qwen2-site ${reach} `;

const STATE = '/qwen2-site-state';
/** The version of a page that is not kept yet: no file of another version may come to it. */
const FROM_NETWORK = '';

/** @type {Promise<State> | null} */
let known = null;

/** Read once in a worker's life. */
const state = () => (known ??= readState());

/** @returns {Promise<State>} */
async function readState() {
  const kept = await (await caches.open(`${prefix()}state`)).match(STATE);
  return kept ? kept.json() : { current: null, roots: [], clients: {} };
}

async function writeState() {
  await (await caches.open(`${prefix()}state`)).put(STATE, new Response(JSON.stringify(await state())));
}

/**
 * The version that a client has, with its workers.
 * @param {string} client
 */
const versionOf = async (client) => (await state()).clients[client]?.version ?? null;

/**
 * @param {string} client
 * @param {string | null} version
 * @param {string} [of] the client that has made it, of a worker
 */
async function assign(client, version, of = client) {
  if (!client || version === null) return;
  const { clients } = await state();
  clients[client] = { version, page: clients[of]?.page ?? of, since: Date.now() };
  await writeState();
}

/**
 * @param {string | null} version
 * @param {Request} request
 * @returns {Promise<Response | undefined>}
 */
async function find(version, request) {
  if (!version) return undefined;
  const cache = await caches.open(prefix() + version);
  const ignoreSearch = request.mode === 'navigate';
  return cache
    .match(request, { ignoreVary: true })
    .then((exact) => exact ?? (ignoreSearch ? cache.match(request, { ignoreVary: true, ignoreSearch }) : undefined));
}

/**
 * A file for a client, from its version or the network; begins: the client that the response makes.
 * @param {Request} request
 * @param {{ client: string, begins: string }} who
 */
export async function answer(request, { client, begins }) {
  const isPage = request.mode === 'navigate';
  // A worker whose page is not told has the version of new pages: worker.js itself refuses a wasm file of another one.
  const version = (isPage ? null : await versionOf(client)) ?? (await state()).current;
  const kept = await find(version, request);
  if (kept) {
    await assign(begins, version, isPage ? begins : client);
    return kept;
  }
  if (isPage) await assign(begins, FROM_NETWORK);
  const response = await fetch(request);
  if (!isPage && response.ok && isPart(request.url)) await remember(request.url);
  return response;
}

/** @param {string} url */
async function remember(url) {
  const { roots } = await state();
  const bare = bareUrl(url);
  if (roots.includes(bare) || roots.length >= MAX_ROOTS) return;
  roots.push(bare);
  await writeState();
}

let looking = Promise.resolve();

/**
 * Looks at the site and keeps what has changed. A page that has no version yet has the one that is found: it was loaded just
 * before.
 * @param {string} client
 * @param {string[]} urls of the page and of what it has loaded
 * @returns {Promise<{ version: string, files: number }>}
 */
export function keep(client, urls) {
  const done = looking.then(() => keepNow(client, urls));
  looking = done.then(
    () => {},
    () => {},
  );
  return done;
}

/** @type {typeof keep} */
async function keepNow(client, urls) {
  const now = await state();
  for (const url of urls.filter(isPart)) await remember(url);
  /** @type {{ version: string, files: Found[] }} */
  let found = { version: now.current ?? '', files: [] };
  for (let looks = 0, last; found.version !== last || looks === 0; looks++) {
    if (looks === LOOKS) throw new Error('the site changes all the time');
    last = found.version;
    found = await look(now.roots);
  }
  if (found.version !== now.current) await store(found);
  now.current = found.version;
  now.roots = now.roots.filter((url) => found.files.some((file) => file.url === url));
  if (!(await versionOf(client))) await assign(client, found.version);
  await tidy();
  return { version: found.version, files: found.files.length };
}

/**
 * All files that the roots lead to, and a hash of them.
 * @param {string[]} roots
 */
async function look(roots) {
  /** @type {Map<string, Found | null>} */
  const files = new Map();
  for (let wave = [...new Set(roots)]; wave.length > 0;) {
    const found = await Promise.all(wave.map(take));
    wave.forEach((url, i) => files.set(url, found[i]));
    const next = found.flatMap((file) => (file ? leadsTo(file) : []));
    wave = [...new Set(next)].filter((url) => !files.has(url));
  }
  const list = [...files.values()].filter((file) => file !== null).sort((a, b) => (a.url < b.url ? -1 : 1));
  const lines = await Promise.all(list.map(async ({ url, bytes }) => `${url} ${await hashOf(bytes)}`));
  return { version: await hashOf(new TextEncoder().encode(lines.join('\n'))), files: list };
}

/** @param {Found} file */
function leadsTo({ url, bytes, headers }) {
  const type = headers.get('Content-Type') ?? '';
  return /html|javascript|css/.test(type) ? referencesOf(new TextDecoder().decode(bytes), type, url) : [];
}

/**
 * Null where there is no such file, or none of a page; no answer is an error.
 * @param {string} url
 * @returns {Promise<Found | null>}
 */
async function take(url) {
  const control = new AbortController();
  const response = await fetch(url, { cache: 'no-cache', signal: control.signal });
  if (response.status >= 500) throw new Error(`${url}: status ${response.status}`);
  if (!response.ok || Number(response.headers.get('Content-Length')) > MAX_BYTES) {
    control.abort();
    return null;
  }
  const bytes = await response.arrayBuffer();
  return bytes.byteLength > MAX_BYTES ? null : { url, bytes, headers: response.headers };
}

/** @param {BufferSource} bytes */
async function hashOf(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes), 0, 16);
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {{ version: string, files: Found[] }} found */
async function store({ version, files }) {
  const name = prefix() + version;
  try {
    const cache = await caches.open(name);
    for (const { url, bytes, headers } of files) {
      const plain = new Headers(headers);
      for (const of of ['Content-Encoding', 'Content-Length']) plain.delete(of); // of the body on its way
      await cache.put(url, new Response(bytes, { headers: plain }));
    }
  } catch (error) {
    await caches.delete(name);
    throw error;
  }
}

/** Forgets pages that are gone, with their workers, and versions that nobody has. */
async function tidy() {
  const now = await state();
  // Pages only: asked for workers too, Firefox waits for every one of them, and threads of an engine never answer.
  const alive = new Set((await scope.clients.matchAll({ includeUncontrolled: true, type: 'window' })).map(idOf));
  for (const [client, { page, since }] of Object.entries(now.clients))
    if (!alive.has(page) && Date.now() - since > BEGINS_MS) delete now.clients[client];
  await writeState();
  const wanted = new Set(['state', now.current, ...Object.values(now.clients).map(({ version }) => version)]);
  for (const name of await caches.keys())
    if (name.startsWith(prefix()) && !wanted.has(name.slice(prefix().length))) await caches.delete(name);
}

const idOf = (/** @type {{ id: string }} */ client) => client.id;
