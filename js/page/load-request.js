// What load() and plan() are given, checked and made plain for the worker.
import { chooseBuild, requireEngine } from './env.js';
import { qwenError, throwIfAborted } from '../errors.js';
import { nearName } from '../names.js';
import { withOwnFiles } from './own-files.js';
import { plainSource } from '../weights/source.js';

/**
 * @typedef {import('../types.js').ModelSource} ModelSource
 * @typedef {import('../types.js').LoadOptions} LoadOptions
 */

const LOAD_OPTIONS = [
  'contextLength',
  'maxRows',
  'threads',
  'simd',
  'kvType',
  'quantize',
  'cache',
  'sha256',
  'token',
  'signal',
  'onProgress',
  'workerUrl',
  'wasmUrl',
];

/**
 * Checks what load() and plan() are given.
 * @param {import('../host.js').Host} host
 * @param {ModelSource} source
 * @param {LoadOptions} options
 * @returns {Promise<import('./attempts.js').Begun>}
 */
export async function begin(host, source, options) {
  throwIfAborted(options.signal);
  requireEngine(host);
  for (const key of Object.keys(options)) {
    if (LOAD_OPTIONS.includes(key)) continue;
    const near = nearName(key, LOAD_OPTIONS);
    const hint = near ? `did you mean ${near}?` : '';
    throw qwenError('usage', `${key} is no load option: ${hint || `there are ${LOAD_OPTIONS.join(', ')}`}`);
  }
  const { contextLength, maxRows, kvType, quantize, cache = 'auto', sha256, token, workerUrl } = options;
  // The C tests' own choice, which multiplies the memory.
  if (/** @type {string | undefined} */ (quantize) === 'f32')
    throw qwenError('usage', 'quantize is "f32": one of "none", "q8_0" and "q4_0" is wanted');
  const { wasm, notes } = chooseBuild(options, host);
  const script = isTrusted(workerUrl) ? workerUrl : workerUrl && host.resolveUrl(String(workerUrl));
  const engine = JSON.parse(JSON.stringify({ contextLength, maxRows, kvType, quantize }));
  const { source: plain, pageFiles } = plainSource(await withOwnFiles(source, host.isPage), host.resolveUrl);
  const request = { source: plain, wasm, engine, cache, sha256: lowerCased(sha256), token };
  return { host, request, pageFiles, notes, workerUrl: script };
}

/**
 * Whether a page's Trusted Types know this object.
 * @param {unknown} url
 * @returns {url is import('../host.js').ScriptUrl}
 */
const isTrusted = (url) => /** @type {any} */ (globalThis).trustedTypes?.isScriptURL(url) ?? false;

/**
 * @param {LoadOptions['sha256']} sha256
 * @returns {LoadOptions['sha256']}
 */
function lowerCased(sha256) {
  const check = (/** @type {unknown} */ hash) => {
    if (typeof hash === 'string' && /^[0-9a-f]{64}$/i.test(hash)) return hash.toLowerCase();
    throw qwenError('usage', `sha256 is ${JSON.stringify(hash)}, not 64 hexadecimal digits`);
  };
  if (sha256 === undefined) return undefined;
  if (typeof sha256 !== 'object' || sha256 === null) return check(sha256);
  return Object.fromEntries(Object.entries(sha256).map(([name, hash]) => [name, check(hash)]));
}
