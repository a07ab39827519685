// A wasm file as a compiled module: fetched, known to be the one that was built with this script, and compiled.
import { WASM_HASHES } from '../../build/wasm/version.mjs';
import { messageOf, qwenError } from '../errors.js';
import { digest } from '../weights/digest.js';

/**
 * @param {string} url
 * @param {RequestCache} cache
 */
async function fetchWasm(url, cache) {
  let code;
  try {
    const response = await fetch(url, { cache });
    if (!response.ok) throw new Error(`status ${response.status}`);
    code = await response.arrayBuffer();
  } catch (error) {
    throw qwenError('environment', `${url}: the engine's wasm file could not be loaded (${messageOf(error)})`, error);
  }
  const [a, s, m, end] = new Uint8Array(code, 0, Math.min(4, code.byteLength));
  if (a !== 0 || s !== 0x61 || m !== 0x73 || end !== 0x6d) {
    throw qwenError('environment', `${url}: not a wasm file (is the file beside worker.js, or wasmUrl right?)`);
  }
  return code;
}

/**
 * Whether the file was built with this script.
 * @param {ArrayBuffer} code
 */
async function belongsHere(code) {
  const sum = (await digest(new Uint8Array(code))).subarray(0, 8);
  const hex = Array.from(sum, (byte) => byte.toString(16).padStart(2, '0'));
  return WASM_HASHES.includes(hex.join(''));
}

/**
 * Fetches and compiles a wasm file. One that a cache has kept from another version is asked for anew.
 * @param {string} url
 * @returns {Promise<{ module: WebAssembly.Module, bytes: number }>}
 */
export async function compileWasm(url) {
  let code = await fetchWasm(url, 'default');
  let known = await belongsHere(code);
  if (!known) {
    code = await fetchWasm(url, 'reload');
    known = await belongsHere(code);
  }
  if (!known) {
    const way = 'copy all files of dist/ together, and clear what a cache on the way has kept';
    throw qwenError('environment', `${url}: not the file that belongs to this worker.js, or not all of it: ${way}`);
  }
  try {
    return { module: await WebAssembly.compile(code), bytes: code.byteLength };
  } catch (error) {
    throw compileError(url, error);
  }
}

/**
 * @param {string} url
 * @param {unknown} error
 */
export function compileError(url, error) {
  const text = messageOf(error);
  if (/unsafe-eval|content security policy|blocked by CSP/i.test(text)) {
    const way = "add 'wasm-unsafe-eval' to script-src, in the headers of the page and of worker.js";
    return qwenError('environment', `the Content Security Policy forbids WebAssembly: ${way}`, error);
  }
  return qwenError('environment', `${url}: this browser cannot compile it (${text})`, error);
}
