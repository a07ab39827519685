// plan() and load() in the worker. The headers are read once, by a small engine that only plans; then the memory is made in
// its final size and the engine that stays reads the same header bytes from a copy, and the weights behind them.
import { messageOf, QwenError, qwenError } from '../errors.js';
import { buildName } from '../protocol.js';
import { Files } from '../weights/files.js';
import { parseManifest } from '../weights/manifest.js';
import { mainOf } from '../weights/source.js';
import { mirrorsOf } from '../weights/sources-file.js';
import { compileWasm } from './compile.js';
import { startTrial } from './instance.js';
import { engineMemory, growingMemory, pagesFor } from './memory.js';
import { decideBuild } from './trial.js';
import { Meter } from './meter.js';
import { turn } from './turn.js';
import { Wasm } from './wasm.js';

/** At most so many bytes go in at once, so that progress moves. */
const FEED_BYTES = 4 << 20;
/** The event loop turns once for so many bytes. */
const TURN_BYTES = 32 << 20;
/** A load whose bytes were wrong is begun again so often: at another source, or without the copy that was damaged. */
const LOADS_MAX = 4;
const DEFAULT_CONTEXT = 4096;
const LEAST_CONTEXT = 512;

/**
 * @typedef {import('../protocol.js').LoadRequest} LoadRequest
 * @typedef {{
 *   signal: AbortSignal,
 *   store: import('../host.js').Store | null,
 *   trial: { store: () => Promise<import('../host.js').Store | null>, device: string },
 *   openPath: import('../host.js').OpenPath | undefined,
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

/** One load: its files, the header bytes, and the two dialogues. */
class Loader {
  meter;
  files;
  #main;
  #headers = new Headers();
  /** @type {import('../weights/open-file.js').OpenFile[]} by the numbers that C gives them */
  #numbered = [];
  /** @type {import('../weights/open-file.js').OpenFile | null} the one that is being read */
  #current = null;

  /**
   * @param {LoadRequest} request
   * @param {LoadContext} context
   * @param {boolean} headersOnly
   * @param {number} [mirror] of a manifest's mirrors, the one to begin with
   */
  constructor(request, context, headersOnly, mirror) {
    const { source, sha256, token } = request;
    const { signal, store, openPath, readPage, note } = context;
    this.#main = source.main;
    this.meter = new Meter(context.progress);
    const moved = () => this.#moved();
    const waiting = (/** @type {number} */ bytes) => this.meter.wait(bytes);
    const rest = { signal, store, openPath, readPage, note, moved, waiting };
    this.files = new Files({ source, sha256, token, headersOnly, mirror, ...rest });
    this.meter.total = this.files.totalBytes;
  }

  /** Bytes have come that the engine has not asked for yet. */
  #moved() {
    this.#numbered.forEach((file, n) => this.meter.reach(n, file.here ?? 0, file.phase));
  }

  /**
   * One file is read at a time: another one gives its connections back.
   * @param {import('../weights/open-file.js').OpenFile | null} file
   */
  async #turnTo(file) {
    if (this.#current && this.#current !== file) await this.#current.pause?.();
    this.#current = file;
  }

  /**
   * Answers an engine's wants until it has none.
   * @param {Wasm} wasm
   * @param {boolean} keep whether these are the headers, to be kept
   */
  async run(wasm, keep) {
    this.#numbered = [];
    let sinceTurn = 0;
    /** @type {'download' | 'cache'} */
    let phase = 'download';
    wasm.open(this.#main);
    for (;;) {
      const want = wasm.want();
      if (want.kind === 'nothing') return phase;
      if (want.kind === 'open') {
        if (keep) await this.#turnTo(null);
        const file = await this.files.open(want.name, want.optional);
        if (file) this.#numbered.push(file);
        this.meter.total ??= this.files.totalBytes;
        wasm.opened(file ? file.size : -1);
        continue;
      }
      const file = this.#numbered[want.file];
      const view = wasm.target(Math.min(want.bytes, FEED_BYTES));
      const known = keep ? 0 : this.#headers.fill(want.file, view, want.offset);
      if (!known && file !== this.#current) await this.#turnTo(file);
      const filled = known || file.fill(view, want.offset);
      const n = typeof filled === 'number' ? filled : await filled;
      if (n < 1) throw qwenError('format', `${file.name}: ended at ${want.offset} of ${file.size} bytes`);
      if (keep) this.#headers.keep(want.file, want.offset, wasm.target(n).slice());
      if (!known) phase = file.phase;
      wasm.feed(n);
      this.meter.reach(want.file, Math.max(want.offset + n, file.here ?? 0), phase);
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
    const free = (await context.store?.free().catch(() => Infinity)) ?? 0;
    const advice = memoryRefusal(pages, shared) ? adviceFor(plan, kvTypeOf(request)) : [];
    return {
      downloadBytes: Math.max(0, plan.fileBytes - cachedBytes),
      cachedBytes,
      weightBytes: plan.weightBytes,
      kvBytes: plan.kvBytes,
      peakBytes: pages * 65536,
      storageBytes: Number.isFinite(free) ? free : null,
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
    engineMemory(pages, shared);
    return '';
  } catch (error) {
    return messageOf(error);
  }
}

/** @param {LoadRequest} request */
const kvTypeOf = (request) => request.engine.kvType ?? 'f16';

/** What a cache of each type takes of one of float32; q8_0 has a scale of 16 bits for 8 values. */
const KV_SHARE = { f32: 1, f16: 1 / 2, q8_0: 5 / 16 };

/**
 * What would need less.
 * @param {{ contextLength: number, kvBytes: number, weightBytes: number }} plan
 * @param {string} kvType of that plan
 */
function adviceFor({ contextLength, kvBytes, weightBytes }, kvType) {
  const mib = (/** @type {number} */ bytes) => `${Math.ceil(bytes / 2 ** 20)} MiB`;
  const half = Math.floor(contextLength / 2);
  const share = KV_SHARE[/** @type {keyof typeof KV_SHARE} */ (kvType)];
  const smaller = Object.entries(KV_SHARE).filter(([, other]) => other < share);
  return [
    `contextLength ${half} instead of ${contextLength} needs ${mib(kvBytes / 2)} less`,
    ...smaller.map(
      ([name, other]) =>
        `kvType '${name}' takes ${mib((kvBytes * other) / share)} instead of the ${mib(kvBytes)} of '${kvType}'`,
    ),
    `a file of smaller weights than ${mib(weightBytes)}: fewer parameters, or fewer bits for each`,
  ];
}

/** A load's engine and what the page is told of it. */
/**
 * @typedef {{ wasm: Wasm, info: any, specialTokens: string[], templates: Record<string, string>,
 *   variables: Record<string, string> }} Loaded templates: those that have a name; variables: what each finds beside messages
 */

/**
 * @param {LoadRequest} request
 * @param {LoadContext} context
 * @returns {Promise<Loaded>}
 */
export async function loadModel(request, context) {
  const { wasm: choice, chosen, planner } = await decideAndCompile(request, context);
  const full = { ...(await withoutManifest(request, context, false)), wasm: choice };
  return withRightBytes(full, context, async (loader) => {
    const plan = await readHeaders(loader, full, planner);
    loader.meter.total = plan.fileBytes;
    const { wasm, bytes, relaxed } = await startWithMemory({ loader, request: full, context, plan, chosen, planner });
    try {
      await turn(); // threads that the engine makes come up while this event loop turns
      loader.files.stream();
      const phase = await loader.run(wasm, false);
      await loader.files.finish();
      loader.meter.finish(phase);
    } catch (error) {
      wasm.close();
      throw error;
    }
    const { info, ...rest } = describe(wasm, { wasmBytes: bytes, simd: relaxed ? 'relaxed' : 'base' });
    return { ...rest, info: { ...info, name: info.name ?? full.source.main } };
  });
}

/**
 * Brings a model to this device and loads nothing.
 * @param {LoadRequest} request
 * @param {LoadContext} context
 * @returns {Promise<number>} the bytes of all its files
 */
export async function fetchModel(request, context) {
  const full = await withoutManifest(request, context, false);
  const { planner } = await compileBoth(request.wasm);
  return withRightBytes(full, context, async (loader) => {
    const { fileBytes } = await readHeaders(loader, full, planner);
    loader.meter.total = fileBytes;
    loader.files.stream();
    await loader.files.finish();
    loader.meter.finish('download');
    return fileBytes;
  });
}

/**
 * Runs a load; where the bytes of a source or of a kept copy turn out to be wrong, again without it.
 * @template T
 * @param {LoadRequest} request
 * @param {LoadContext} context
 * @param {(loader: Loader) => Promise<T>} load
 * @returns {Promise<T>}
 */
async function withRightBytes(request, context, load) {
  const places = Object.values(request.source.files);
  const mirrors = Math.max(1, ...places.map((place) => (place.kind === 'sources' ? mirrorsOf(place).length : 1)));
  let mirror = 0;
  for (let round = 1; ; round++) {
    const loader = new Loader(request, context, false, mirror);
    try {
      return await load(loader);
    } catch (error) {
      const { faults, sourceFaults } = loader.files;
      const wrong = error instanceof QwenError && error.code === 'integrity' && faults > 0;
      // A copy that was wrong is out of the way; a source that was wrong is not asked again.
      if (sourceFaults > 0) mirror++;
      if (!wrong || round === LOADS_MAX || mirror >= mirrors) throw error;
      context.note(`${error.message}: it is fetched again`);
    } finally {
      loader.files.close();
    }
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
  throw qwenError('memory', `${refusal}. What would help: ${adviceFor(plan, kvTypeOf(request)).join('; ')}`);
}

/**
 * @param {number} pages
 * @param {boolean} shared
 */
function tryMemory(pages, shared) {
  try {
    return engineMemory(pages, shared);
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
  const { specialTokens = [], templates = {}, tokenTexts = {}, ...info } = wasm.info();
  const token = (/** @type {number | null | undefined} */ id) =>
    id === null || id === undefined || specialTokens.length === 0 ? '' : wasm.detokenize(Int32Array.of(id), false);
  // Empty texts where Transformers has none: published templates add bos_token to others without asking.
  const rest = {
    bos_token: '',
    unk_token: '',
    eos_token: token(info.eosTokenIds[0]),
    pad_token: token(info.padTokenId),
  };
  const variables = { ...rest, ...tokenTexts };
  return { wasm, info: { ...info, ...build, memoryBytes: wasm.memoryBytes }, specialTokens, templates, variables };
}
