// The benchmarks in C: what the machine allows (roofline.c) and what the engine's kernels reach (kernels.c), compiled for both
// kinds of SIMD, in Node and in a page.
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { at, capture, quietly } from '../lib/run.mjs';
import { nodeWithRelaxedSimd } from '../lib/node-relaxed.mjs';

const BUILDS = { base: [], relaxed: ['-mrelaxed-simd'] };
const SHARED_FLAGS = [
  ...['-std=gnu11', '-O3', '-ffp-contract=off', '-msimd128', '-pthread'],
  ...['-sENVIRONMENT=web,worker,node', '-sEXPORT_ES6', '-sMODULARIZE', '-sINVOKE_RUN=0'],
  ...['-sEXPORTED_RUNTIME_METHODS=callMain', '-sPTHREAD_POOL_SIZE=2', '-sINITIAL_MEMORY=768MB'],
];
/** What kernels.c and spin.c need of the engine. */
const KERNEL_SOURCES = [
  ...[
    'base/alloc',
    'base/status',
    'base/pool',
    'kernels/dtype',
    'kernels/layout',
    'kernels/quant',
    'kernels/panel',
    'kernels/matmul',
  ],
  ...['kernels/kernel_float', 'kernels/kernel_token', 'kernels/kernel_tile', 'kernels/activations'],
];
const SPIN_SOURCES = ['base/alloc', 'base/status', 'base/pool'];

/** The Node whose engine is measured. */
export const NODE = nodeWithRelaxedSimd() ?? process.execPath;

/** Compiles a benchmark of this folder, and files of src/, to build/bench/NAME.mjs. */
function compile(name, program, flags, engine = []) {
  const out = at('build/bench', `${name}.mjs`);
  const sources = [at('scripts/bench', program), ...engine.map((file) => at('src', `${file}.c`))];
  mkdirSync(path.dirname(out), { recursive: true });
  quietly(at('scripts/emcc'), [...sources, `-I${at('src')}`, ...SHARED_FLAGS, ...flags, '-o', out]);
  return out;
}

/** What a compiled benchmark prints in Node. */
function runInNode(file, args) {
  const code = `import(${JSON.stringify(file)}).then((m) => m.default()).then((m) => m.callMain(${JSON.stringify(args)}))`;
  const done = capture(NODE, ['-e', code]);
  if (!done.stdout) throw new Error(`${file}: ${done.stderr}`);
  return done.stdout;
}

/** By build; compiled once. */
export function compileRoofline() {
  return Object.fromEntries(
    Object.entries(BUILDS).map(([build, flags]) => [build, compile(`roofline-${build}`, 'roofline.c', flags)]),
  );
}

/**
 * roofline.c's figures, by build and number of threads: read in GB/s, the kernels' speeds in GMAC/s.
 * @param {Record<string, string>} files of compileRoofline
 */
export function roofline(files) {
  const figures = {};
  for (const [build, file] of Object.entries(files)) {
    for (const line of runInNode(file, []).split('\n')) {
      const [, threads, rest] = /^(\d) threads? +(.*)$/.exec(line) ?? [];
      if (!threads) continue;
      const of = ((figures[build] ??= {})[threads] ??= { read: 0, kernels: {} });
      const [, read] = /^read ([\d.]+)/.exec(rest) ?? [];
      const [, name, ...speeds] =
        /^(.*?) +GMAC\/s: .*? memory +([\d.]+) .*? cache +([\d.]+); .*? ([\d.]+)$/.exec(rest) ?? [];
      if (read) of.read = Number(read);
      else if (name) of.kernels[name] = Object.fromEntries(['memory', 'cache', 'tile'].map((k, i) => [k, +speeds[i]]));
      else throw new Error(`roofline.c printed what is not understood: ${line}`);
    }
  }
  return figures;
}

/** The better one of each figure of two runs of roofline(). */
export function better(a, b) {
  if (typeof a === 'number') return Math.max(a, b);
  return Object.fromEntries(Object.keys(a).map((key) => [key, better(a[key], b[key])]));
}

/**
 * The engine's kernels, and microseconds of a parallel region that does nothing.
 * @param {number} threads
 * @param {(file: string, args: string[]) => Promise<string>} [run] where; default: in Node
 */
export async function kernels(threads, run = async (file, args) => runInNode(file, args)) {
  const rows = [];
  let region = Infinity;
  for (const [build, flags] of Object.entries(BUILDS)) {
    const file = compile(`kernels-${build}`, 'kernels.c', [...flags, '-sEXIT_RUNTIME'], KERNEL_SOURCES);
    for (const n of [1, threads]) {
      const [first, ...speeds] = (await run(file, [String(n)]))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      if (n === threads) region = Math.min(region, first.region_us);
      rows.push(...speeds);
    }
  }
  return { region, rows };
}

/** Microseconds that a second thread spins after a region until it sleeps: the least of three. */
export function spin() {
  const file = compile('spin', 'spin.c', ['-sEXIT_RUNTIME'], SPIN_SOURCES);
  return Math.min(...[1, 2, 3].map(() => JSON.parse(runInNode(file, [])).us));
}
