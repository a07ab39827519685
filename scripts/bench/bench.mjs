// Speed, measured: what the machine allows (roofline.c), what the kernels reach (kernels.c), and the engine as a page and Node
// see it (engine.js), beside wllama and native llama.cpp in the same run (compare.mjs).
//   npm run bench -- --model FILE.gguf [--json OUT.json] [--threads 2] [--only roofline,kernels,engine,compare] [--rounds 2]
// Peers are installed under build/peer at first use. Nothing else should run on the machine meanwhile.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { chromium } from 'playwright-core';
import { startServer } from '../../js/cli/static-server.js';
import { at, capture, quietly, say, script } from '../lib/run.mjs';
import { nodeWithRelaxedSimd } from '../lib/node-relaxed.mjs';

const BROWSER = '/usr/bin/chromium';
const BROWSER_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];
const PEERS = ['@wllama/wllama@3.13.0', 'node-llama-cpp@3.21.1', 'playwright-core'];
const THREADS_FLAGS = ['-pthread', '-sPTHREAD_POOL_SIZE=2', '-sINITIAL_MEMORY=768MB'];

/** Compiles a benchmark of this folder (and C sources of the engine) to build/bench/NAME.mjs. */
function compile(name, sources, flags) {
  const out = at('build', 'bench', `${name}.mjs`);
  mkdirSync(path.dirname(out), { recursive: true });
  const shared = [
    '-std=gnu11',
    '-O3',
    '-ffp-contract=off',
    '-msimd128',
    '-sENVIRONMENT=web,worker,node',
    '-sEXPORT_ES6',
  ];
  quietly(at('scripts/emcc'), [
    ...sources,
    ...shared,
    '-sMODULARIZE',
    '-sINVOKE_RUN=0',
    '-sEXPORTED_RUNTIME_METHODS=callMain',
    ...flags,
    '-o',
    out,
  ]);
  return out;
}

/** Runs a compiled benchmark in the Node that has relaxed SIMD; what it printed. */
function runInNode(file, args) {
  const code = `import(${JSON.stringify(file)}).then((m) => m.default()).then((m) => m.callMain(${JSON.stringify(args)}))`;
  const done = capture(nodeWithRelaxedSimd() ?? process.execPath, ['-e', code]);
  if (!done.stdout) throw new Error(`${file}: ${done.stderr}`);
  return done.stdout;
}

function roofline() {
  return Object.fromEntries(
    [
      ['base', []],
      ['relaxed', ['-mrelaxed-simd']],
    ].map(([build, flags]) => {
      const file = compile(`roofline-${build}`, [at('scripts/bench/roofline.c')], [...THREADS_FLAGS, ...flags]);
      const text = runInNode(file, []);
      say(text);
      return [build, text];
    }),
  );
}

/** What kernels.c needs of the engine. */
const KERNEL_SOURCES = [
  ...['alloc', 'status', 'dtype', 'quant', 'panel', 'pool', 'matmul'],
  ...['kernel_float', 'kernel_one', 'kernel_tile', 'acts'],
];

function kernels(threads) {
  const sources = [at('scripts/bench/kernels.c'), ...KERNEL_SOURCES.map((name) => at(`src/${name}.c`))];
  const rows = [];
  for (const flags of [[], ['-mrelaxed-simd']]) {
    const file = compile('kernels', sources, [`-I${at('src')}`, ...flags, ...THREADS_FLAGS, '-sEXIT_RUNTIME']);
    for (const n of [1, threads]) {
      const [region, ...speeds] = runInNode(file, [String(n)])
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      say(`parallel region that does nothing, ${n} threads: ${region.region_us} us`);
      console.table(speeds);
      rows.push(region, ...speeds);
    }
  }
  return rows;
}

const RUNS = (threads) => [
  { threads: 1, simd: 'auto' },
  { threads, simd: 'auto', long: true },
  { threads: 1, simd: 'base' },
  { threads, simd: 'base', long: true },
];

async function inChromium(model, runs) {
  const server = await startServer({ folders: [at('.'), path.dirname(model)], policy: null });
  const browser = await chromium.launch({ executablePath: BROWSER, args: BROWSER_ARGS });
  try {
    const page = await browser.newPage();
    await page.goto(`${server.url}scripts/bench/engine.html`);
    await page.waitForFunction('window.ready', null, { timeout: 20_000 });
    const results = [];
    for (const options of runs)
      results.push(await page.evaluate(([url, o]) => window.run(url, o), [`/${path.basename(model)}`, options]));
    return results;
  } finally {
    await browser.close();
    await server.close();
  }
}

async function inNode(model, runs) {
  const code = `import { Engine } from ${JSON.stringify(at('dist/node.js'))}; import { measure } from ${JSON.stringify(at('scripts/bench/engine.js'))};
    for (const options of ${JSON.stringify(runs)}) console.log(JSON.stringify(await measure(Engine, ${JSON.stringify(model)}, options)));`;
  const done = capture(nodeWithRelaxedSimd() ?? process.execPath, ['--input-type=module', '-e', code]);
  if (!done.ok) throw new Error(done.stderr);
  return done.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const rounded = (figures) =>
  Object.fromEntries(Object.entries(figures).map(([k, v]) => [k, typeof v === 'number' ? Math.round(v * 10) / 10 : v]));

function compare(model, threads, rounds) {
  if (!existsSync(at('build/peer/node_modules/node-llama-cpp')))
    quietly('npm', ['install', '--prefix', at('build/peer'), '--no-save', ...PEERS]);
  const json = at('build/bench/compare.json');
  const done = capture('node', [
    at('scripts/bench/compare.mjs'),
    '--model',
    model,
    '--threads',
    String(threads),
    '--rounds',
    String(rounds),
    '--json',
    json,
  ]);
  say(done.stdout + done.stderr);
  return JSON.parse(readFileSync(json, 'utf8'));
}

await script(async (args) => {
  const { values } = parseArgs({
    args,
    options: {
      model: { type: 'string' },
      json: { type: 'string', default: at('build/bench/bench.json') },
      threads: { type: 'string', default: '2' },
      only: { type: 'string', default: 'roofline,kernels,engine,compare' },
      rounds: { type: 'string', default: '2' },
    },
  });
  if (!values.model)
    throw new Error('usage: npm run bench -- --model FILE.gguf (see the head of scripts/bench/bench.mjs)');
  const model = path.resolve(values.model);
  const threads = Number(values.threads);
  const parts = values.only.split(',');
  const result = {
    date: new Date().toISOString(),
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    model: path.basename(model),
    threads,
  };
  if (parts.includes('roofline')) result.roofline = roofline();
  if (parts.includes('kernels')) result.kernels = kernels(threads);
  if (parts.includes('engine')) {
    result.node = await inNode(model, RUNS(threads));
    say('the engine in Node');
    console.table(result.node.map(rounded));
    result.chromium = await inChromium(model, RUNS(threads));
    say('the engine in Chromium');
    console.table(result.chromium.map(rounded));
  }
  if (parts.includes('compare')) result.compare = compare(model, threads, Number(values.rounds));
  mkdirSync(path.dirname(values.json), { recursive: true });
  writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`);
  say(`written to ${path.relative(at('.'), values.json)}`);
});
