// plan() and load() in the worker. The headers are read once, by a small engine that only plans; then the memory is made in
// its final size and the engine that stays reads the same header bytes from a copy, and the weights behind them.
import { messageOf, qwenError } from '../errors.js';
import { buildName } from '../protocol.js';
import { Files } from '../weights/files.js';
import { parseManifest } from '../weights/manifest.js';
import { mainOf } from '../weights/source.js';
import { compileWasm } from './compile.js';
import { startTrial } from './instance.js';
import { fixedMemory, growingMemory, pagesFor } from './memory.js';
import { decideBuild } from './trial.js';
import { turn } from './turn.js';
import { Wasm } from './wasm.js';

/** At most so many bytes go in at once, so that progress moves. */
const FEED_BYTES = 4 << 20;
/** The event loop turns once for so many bytes. */
const TURN_BYTES = 32 << 20;
const PROGRESS_MS = 50;
const DEFAULT_CONTEXT = 4096;
const LEAST_CONTEXT = 512;

/**
 * @typedef {import('../protocol.js').LoadRequest} LoadRequest
 * @typedef {{
 *   signal: AbortSignal,
 *   store: import('../host.js').Store | null,
 *   trial: { store: () => Promise<import('../host.js').Store | null>, device: string },
 *   readPage: (file: number, offset: number, length: number) => Promise<Uint8Array>,
 *   progress: (progress: import('../types.js').Progress) => void,
 *   note: (note: string) => void,
 * }} LoadContext
 */

/** Header bytes as they came, to be read a second time. */
class Headers {
  /** @type {Map<number, { offset: number, bytes: Uint8Array }[]>} */
  #pieces = new Map();

  /**
   * @param {number} file
   * @param {number} offset
   * @param {Uint8Array} bytes
   */
  keep(file, offset, bytes) {
    const pieces = this.#pieces.get(file) ?? [];
    if (pieces.length === 0) this.#pieces.set(file, pieces);
    pieces.push({ offset, bytes });
  }

  /**
   * As an OpenFile's fill; 0 where the offset is not among them.
   * @param {number} file
   * @param {Uint8Array} view
   * @param {number} offset
   */
  fill(file, view, offset) {
    for (const piece of this.#pieces.get(file) ?? []) {
      const at = offset - piece.offset;
      if (at < 0 || at >= piece.bytes.length) continue;
      const part = piece.bytes.subarray(at, at + view.length);
      view.set(part);
      return part.length;
    }
    return 0;
  }
}

/** Counts the bytes of all files as one number that only grows. */
class Meter {
  total = /** @type {number | null} */ (null);
  #report;
  #last = 0;
  #done = 0;
  /** @type {Map<number, number>} */
  #reached = new Map();

  /** @param {LoadContext['progress']} report */
  constructor(report) {
    this.#report = report;
  }

  /**
   * @param {number} file
   * @param {number} end bytes before it are in
   * @param {'download' | 'cache'} phase
   */
  reach(file, end, phase) {
    const before = this.#reached.get(file) ?? 0;
    if (end <= before) return;
    this.#reached.set(file, end);
    this.#done += end - before;
    const now = performance.now();
    if (now - this.#last < PROGRESS_MS) return;
    this.#last = now;
    this.#report({ phase, loaded: this.#done, total: this.total });
  }

  /** @param {'download' | 'cache'} phase */
  finish(phase) {
    if (this.total !== null) this.#report({ phase, loaded: this.total, total: this.total });
  }
}

/** One load: its files, the header bytes, and the two dialogues. */
class Loader {
  meter;
  files;
  #main;
  #headers = new Headers();

  /**
   * @param {LoadRequest} request
   * @param {LoadContext} context
   * @param {boolean} headersOnly
   */
  constructor(request, context, headersOnly) {
    const { source, sha256, token } = request;
    const { signal, store, readPage, note } = context;
    this.#main = source.main;
    this.meter = new Meter(context.progress);
    this.files = new Files({ source, sha256, token, signal, store, readPage, note, headersOnly });
  }

  /**
   * Answers an engine's wants until it has none.
   * @param {Wasm} wasm
   * @param {boolean} keep whether these are the headers, to be kept
   */
  async run(wasm, keep) {
    /** @type {import('../weights/files.js').OpenFile[]} */
    const opened = [];
    let sinceTurn = 0;
    /** @type {'download' | 'cache'} */
    let phase = 'download';
    wasm.open(this.#main);
    for (;;) {
      const want = wasm.want();
      if (want.kind === 'nothing') return phase;
      if (want.kind === 'open') {
        const file = await this.files.open(want.name, want.optional);
        if (file) opened.push(file);
        wasm.opened(file ? file.size : -1);
        continue;
      }
      const file = opened[want.file];
      const view = wasm.target(Math.min(want.bytes, FEED_BYTES));
      const known = keep ? 0 : this.#headers.fill(want.file, view, want.offset);
      const filled = known || file.fill(view, want.offset);
      const n = typeof filled === 'number' ? filled : await filled;
      if (n < 1) throw qwenError('format', `${file.name}: ended at ${want.offset} of ${file.size} bytes`);
      if (keep) this.#headers.keep(want.file, want.offset, wasm.target(n).slice());
      if (!known) phase = file.phase;
      wasm.feed(n);
      this.meter.reach(want.file, want.offset + n, phase);
      sinceTurn += n;
      if (sinceTurn >= TURN_BYTES) {
        sinceTurn = 0;
        await turn();
      }
    }
  }
}

/**
 * A source whose main file is a manifest becomes what the manifest lists.
 * @param {LoadRequest} request
 * @param {LoadContext} context
 * @param {boolean} headersOnly plan(): nothing is kept
 */
async function withoutManifest(request, context, headersOnly) {
  const { main, files } = request.source;
  const place = files[main];
  if (place?.kind !== 'url' || !main.endsWith('.json') || main === 'config.json') return request;
  const loader = new Loader({ ...request, sha256: undefined }, context, headersOnly);
  const file = await loader.files.open(main, false);
  if (!file) throw qwenError('storage', `${place.url}: no such file`);
  const bytes = new Uint8Array(file.size);
  let listed;
  try {
    for (let at = 0; at < bytes.length;) at += await file.fill(bytes.subarray(at), at);
    listed = parseManifest(new TextDecoder().decode(bytes), place.url);
    if (!headersOnly) await file.finish();
  } finally {
    loader.files.close();
  }
  return {
    ...request,
    source: { ...request.source, main: mainOf(Object.keys(listed)), files: listed, siblings: null },
  };
}

/**
 * Reads the headers with the small engine.
 * @param {Loader} loader
 * @param {LoadRequest} request
 * @param {WebAssembly.Module} module
 */
async function readHeaders(loader, request, module) {
  const wasm = await startPlanner(request, module, request.engine.contextLength);
  try {
    await loader.run(wasm, true);
    return wasm.plan();
  } finally {
    wasm.close();
  }
}

/**
 * @param {LoadRequest} request
 * @param {WebAssembly.Module} module
 * @param {number | undefined} contextLength
 */
const startPlanner = ({ engine, wasm }, module, contextLength) =>
  Wasm.start(module, growingMemory(), { ...engine, contextLength, threads: wasm.threads, headersOnly: true });

/**
 * The plan for another context, out of the headers that are there.
 * @param {Loader} loader
 * @param {LoadRequest} request
 * @param {WebAssembly.Module} module
 * @param {number} contextLength
 */
async function planAgain(loader, request, module, contextLength) {
  const wasm = await startPlanner(request, module, contextLength);
  try {
    await loader.run(wasm, false);
    return wasm.plan();
  } finally {
    wasm.close();
  }
}

/** Compiles each file once, as long as it is held. */
function compiler() {
  /** @type {Map<string, ReturnType<typeof compileWasm>>} */
  const modules = new Map();
  return (/** @type {string} */ url) => {
    const known = modules.get(url) ?? compileWasm(url);
    modules.set(url, known);
    return known;
  };
}

/**
 * The modules of a choice: the one that plans (of one thread) and the one that stays.
 * @param {import('../protocol.js').WasmChoice} choice
 * @param {typeof compileWasm} [compile]
 */
async function compileBoth(choice, compile = compiler()) {
  const build = buildName(choice);
  const [chosen, planner] = await Promise.all(
    [build, choice.shared ? '' : build].map((name) => compile(choice.urls[name])),
  );
  return { chosen, planner: planner.module };
}

/**
 * The build is decided before it is compiled; what was compiled for the trial alone is dropped on return.
 * @param {LoadRequest} request
 * @param {LoadContext} context
 */
async function decideAndCompile(request, { trial }) {
  const compile = compiler();
  const start = async (/** @type {string} */ url) => startTrial((await compile(url)).module);
  const wasm = await decideBuild(request.wasm, { ...trial, start });
  return { wasm, ...(await compileBoth(wasm, compile)) };
}

/**
 * @param {LoadRequest} request
 * @param {LoadContext} context
 * @returns {Promise<import('../types.js').MemoryPlan>}
 */
export async function planModel(request, context) {
  const full = await withoutManifest(request, context, true);
  const { planner } = await compileBoth(request.wasm);
  const loader = new Loader(full, context, true);
  try {
    const plan = await readHeaders(loader, full, planner);
    const { threads, shared } = request.wasm;
    const pages = pagesFor(plan.heapBytes, threads);
    const { cachedBytes } = loader.files;
    const advice = memoryRefusal(pages, shared) ? adviceFor(plan) : [];
    return {
      downloadBytes: Math.max(0, plan.fileBytes - cachedBytes),
      cachedBytes,
      weightBytes: plan.weightBytes,
      kvBytes: plan.kvBytes,
      peakBytes: pages * 65536,
      fits: advice.length === 0,
      advice,
    };
  } finally {
    loader.files.close();
  }
}

/**
 * Why that memory cannot be had, or ''.
 * @param {number} pages
 * @param {boolean} shared
 */
function memoryRefusal(pages, shared) {
  try {
    fixedMemory(pages, shared);
    return '';
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * What would need less.
 * @param {{ contextLength: number, kvBytes: number, weightBytes: number }} plan
 */
function adviceFor({ contextLength, kvBytes, weightBytes }) {
  const mib = (/** @type {number} */ bytes) => `${Math.ceil(bytes / 2 ** 20)} MiB`;
  const half = Math.floor(contextLength / 2);
  return [
    `contextLength ${half} instead of ${contextLength} needs ${mib(kvBytes / 2)} less`,
    `kvType 'q8_0' takes five eighths of the ${mib(kvBytes)} that an f16 cache takes`,
    `a file of smaller weights than ${mib(weightBytes)}: fewer parameters, or fewer bits for each`,
  ];
}

/** A load's engine and what the page is told of it. */
/** @typedef {{ wasm: Wasm, info: any, specialTokens: string[], variables: Record<string, string> }} Loaded */

/**
 * @param {LoadRequest} request
 * @param {LoadContext} context
 * @returns {Promise<Loaded>}
 */
export async function loadModel(request, context) {
  const { wasm: choice, chosen, planner } = await decideAndCompile(request, context);
  const full = { ...(await withoutManifest(request, context, false)), wasm: choice };
  const loader = new Loader(full, context, false);
  try {
    const plan = await readHeaders(loader, full, planner);
    loader.meter.total = plan.fileBytes;
    const { wasm, bytes, relaxed } = await startWithMemory({ loader, request: full, context, plan, chosen, planner });
    await turn(); // threads that the engine makes come up while this event loop turns
    const phase = await loader.run(wasm, false);
    await loader.files.finish();
    loader.meter.finish(phase);
    const { info, ...rest } = describe(wasm, { wasmBytes: bytes, simd: relaxed ? 'relaxed' : 'base' });
    return { ...rest, info: { ...info, name: info.name ?? full.source.main } };
  } finally {
    loader.files.close();
  }
}

/**
 * The contexts to try: the one that was asked for, or the default and less.
 * @param {LoadRequest} request
 * @param {{ contextLength: number }} plan
 */
function contexts({ engine }, plan) {
  if (engine.contextLength !== undefined) return [engine.contextLength];
  const list = [];
  for (let n = Math.min(plan.contextLength, DEFAULT_CONTEXT); n >= LEAST_CONTEXT; n = Math.floor(n / 2)) list.push(n);
  return list.length > 0 ? list : [plan.contextLength];
}

/**
 * The engine in the largest memory that the machine grants: smaller contexts are tried (where none was asked for), then
 * memory that is not shared, on one thread.
 * @param {{ loader: Loader, request: LoadRequest, context: LoadContext, plan: any,
 *   chosen: { module: WebAssembly.Module, bytes: number }, planner: WebAssembly.Module }} load
 */
async function startWithMemory({ loader, request, context, plan, chosen, planner }) {
  const { wasm: choice, engine } = request;
  const alone = { ...choice, threads: 1, shared: false };
  const choices = choice.shared && choice.urls[buildName(alone)] ? [choice, alone] : [choice];
  let refusal = '';
  for (const one of choices) {
    for (const contextLength of contexts(request, plan)) {
      const needs =
        contextLength === plan.contextLength && one === choice
          ? plan
          : await planAgain(loader, { ...request, wasm: one }, planner, contextLength);
      const memory = tryMemory(pagesFor(needs.heapBytes, one.threads), one.shared);
      if (typeof memory === 'string') {
        refusal ||= memory;
        continue;
      }
      if (refusal)
        context.note(`${refusal}: a context of ${contextLength} tokens on ${one.threads} thread(s) is used instead`);
      const build = one === choice ? chosen : await compileWasm(one.urls[buildName(one)]);
      const wasm = await Wasm.start(build.module, memory, { ...engine, contextLength, threads: one.threads });
      return { wasm, bytes: build.bytes, relaxed: one.relaxed };
    }
  }
  throw qwenError('memory', `${refusal}. What would help: ${adviceFor(plan).join('; ')}`);
}

/**
 * @param {number} pages
 * @param {boolean} shared
 */
function tryMemory(pages, shared) {
  try {
    return fixedMemory(pages, shared);
  } catch (error) {
    return messageOf(error);
  }
}

/**
 * @param {Wasm} wasm
 * @param {{ wasmBytes: number, simd: 'base' | 'relaxed' }} build
 * @returns {Loaded}
 */
function describe(wasm, build) {
  const { specialTokens = [], ...info } = wasm.info();
  /** @type {Record<string, string>} */
  const variables = {};
  const token = (/** @type {number | null | undefined} */ id) =>
    id === null || id === undefined || specialTokens.length === 0 ? '' : wasm.detokenize(Int32Array.of(id), false);
  variables.eos_token = token(info.eosTokenIds[0]);
  variables.pad_token = token(info.padTokenId);
  return { wasm, info: { ...info, ...build, memoryBytes: wasm.memoryBytes }, specialTokens, variables };
}
