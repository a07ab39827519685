// What this machine can do, and which build of the engine follows from it.
import { qwenError } from '../errors.js';
import { BUILDS } from '../protocol.js';

/** @typedef {import('../host.js').Host} Host */

const THREADS_AUTO_MAX = 8;
export const THREADS_MAX = 64;

/** A module with one function of that type index 0 whose body is these bytes. */
function moduleWith(/** @type {number[]} */ body) {
  const code = [0, ...body, 0x0b];
  const bytes = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 10, code.length + 2, 1, code.length];
  return new Uint8Array([...bytes, ...code]);
}

const ZERO = [0xfd, 12, ...new Array(16).fill(0)];
const DROP = 0x1a;
/** i32x4.dot_i16x8_s */
const SIMD_PROBE = moduleWith([...ZERO, ...ZERO, 0xfd, 0xba, 0x01, DROP]);
/** The two relaxed operations that the engine uses: i16x8.relaxed_dot_i8x16_i7x16_s and i32x4.relaxed_dot_i8x16_i7x16_add_s. */
const RELAXED_PROBE = moduleWith(
  [ZERO, ZERO, [0xfd, 0x92, 0x02, DROP], ZERO, ZERO, ZERO, [0xfd, 0x93, 0x02, DROP]].flat(),
);

const validates = (/** @type {Uint8Array<ArrayBuffer>} */ probe) =>
  typeof WebAssembly === 'object' && WebAssembly.validate(probe);

/**
 * @param {Host} host
 * @returns {Promise<import('../types.js').Capabilities>}
 */
export async function capabilitiesOf(host) {
  const simd = validates(SIMD_PROBE);
  const relaxedSimd = validates(RELAXED_PROBE);
  const threads = host.canShare();
  const notes = [];
  if (!simd) notes.push(typeof WebAssembly === 'object' ? NO_SIMD : NO_WASM);
  if (simd && !relaxedSimd)
    notes.push('Relaxed SIMD is missing: the base build is used, which is slower on some machines.');
  if (!threads) notes.push(noThreads());
  if (!(await host.store())) {
    notes.push(
      'This page cannot keep models on the device: the private file system needs https and is off in some private windows.',
    );
  }
  return {
    simd,
    relaxedSimd,
    threads,
    crossOriginIsolated: Boolean(globalThis.crossOriginIsolated),
    hardwareConcurrency: host.cores(),
    notes,
  };
}

const NO_SIMD =
  'WebAssembly SIMD is missing: Chrome 91, Firefox 89, Safari 16.4 or Node 20 and a CPU of the last ten years have it.';
const NO_WASM =
  'There is no WebAssembly here: it is switched off (Lockdown Mode on Apple devices, where this site can be exempted; a ' +
  'policy of the browser; node --jitless).';

/** Why threads cannot share memory here. */
const noThreads = () =>
  globalThis.crossOriginIsolated
    ? 'Threads are missing: this browser has no SharedArrayBuffer, though the page is cross-origin isolated.'
    : 'Threads are missing: the page is not cross-origin isolated. Send Cross-Origin-Opener-Policy: same-origin and ' +
      'Cross-Origin-Embedder-Policy: require-corp with the page and with worker.js, or install isolation-sw.js.';

/**
 * The error of a place or a machine that cannot run any build, before anything is downloaded.
 * @param {Host} host
 */
export function requireEngine(host) {
  const refusal = host.refusal();
  if (refusal) throw qwenError('environment', refusal);
  if (typeof WebAssembly !== 'object') throw qwenError('environment', NO_WASM);
  if (!validates(SIMD_PROBE))
    throw qwenError('environment', `The engine needs WebAssembly SIMD (Safari 16.4+). ${NO_SIMD}`);
}

/**
 * The build that options and machine ask for. notes: what was asked for and cannot be had.
 * @param {Pick<import('../types.js').LoadOptions, 'threads' | 'simd' | 'wasmUrl'>} options
 * @param {Host} host
 * @returns {{ wasm: import('../protocol.js').WasmChoice, notes: string[] }}
 */
export function chooseBuild(options, host) {
  const forced = forcedBuild(options.wasmUrl, host);
  const notes = [];
  let threads = wantedThreads(options.threads, host.cores());
  if (threads > 1 && !host.canShare()) {
    if (options.threads !== undefined && options.threads !== 'auto') {
      notes.push(`${threads} threads were asked for, one is used. ${noThreads()}`);
    }
    threads = 1;
  }
  if (forced.build !== null && !forced.build.includes('-threads')) threads = 1;
  const relaxed = forced.build === null ? wantedRelaxed(options.simd) : forced.build.includes('-relaxed');
  const shared = forced.build === null ? threads > 1 : forced.build.includes('-threads');
  if (shared && !host.canShare()) throw qwenError('environment', `${options.wasmUrl} has threads. ${noThreads()}`);
  const auto = options.simd === undefined || options.simd === 'auto';
  const trial = auto && relaxed && forced.build === null;
  return { wasm: { urls: forced.urls, threads, shared, relaxed, trial }, notes };
}

/**
 * @param {number | 'auto' | undefined} threads
 * @param {number} cores
 */
function wantedThreads(threads, cores) {
  if (threads === undefined || threads === 'auto') return Math.max(1, Math.min(cores, THREADS_AUTO_MAX));
  if (Number.isInteger(threads) && threads >= 1 && threads <= THREADS_MAX) return threads;
  throw qwenError('usage', `threads is ${threads}: 'auto' or a whole number from 1 to ${THREADS_MAX} is wanted`);
}

/** @param {'auto' | 'base' | 'relaxed' | undefined} simd */
function wantedRelaxed(simd) {
  if (simd === undefined || simd === 'auto') return validates(RELAXED_PROBE);
  if (simd !== 'base' && simd !== 'relaxed') {
    throw qwenError('usage', `simd is ${JSON.stringify(simd)}: 'auto', 'base' or 'relaxed' is wanted`);
  }
  if (simd === 'relaxed' && !validates(RELAXED_PROBE)) {
    throw qwenError('environment', "this machine has no relaxed SIMD: leave simd out, or set it to 'base'");
  }
  return simd === 'relaxed';
}

/**
 * @param {string | URL | undefined} wasmUrl
 * @param {Host} host
 * @returns {{ urls: Record<string, string>, build: string | null }}
 */
function forcedBuild(wasmUrl, host) {
  if (wasmUrl === undefined) return { urls: host.wasmUrls(), build: null };
  const url = host.resolveUrl(String(wasmUrl));
  const file = /qwen2((?:-threads)?(?:-relaxed)?)\.wasm$/.exec(new URL(url).pathname);
  if (file) {
    // The plan needs the base build of one thread: it stands beside the one that is named, or is that one.
    const base = new URL(url);
    base.pathname = base.pathname.replace(/[^/]*$/, 'qwen2.wasm');
    return { urls: { '': base.href, [file[1]]: url }, build: file[1] };
  }
  if (!new URL(url).pathname.endsWith('/')) {
    throw qwenError('usage', `wasmUrl is ${url}: a folder (ending in /) or qwen2[-threads][-relaxed].wasm is wanted`);
  }
  const urls = Object.fromEntries(BUILDS.map((build) => [build, new URL(`qwen2${build}.wasm`, url).href]));
  return { urls, build: null };
}
