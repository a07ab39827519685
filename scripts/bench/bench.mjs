// Speed, measured, beside what is to be shown (lines.mjs): what the machine allows and the kernels reach (wasm.mjs), the engine
// as Node and a page see it (engine.js, page.mjs), and beside wllama and native llama.cpp (compare.mjs), also with files of random
// weights (random.mjs).
//   npm run bench -- --model FILE.gguf [--json OUT.json] [--threads 2] [--rounds 2] [--only PART,PART]
// Parts: roofline, kernels, engine, page, compare, random. Peers are installed under build/peer at first use. Nothing else should
// run on the machine meanwhile. `node scripts/bench/chart.mjs OUT.json` draws README's chart.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { at, capture, quietly, say, script } from '../lib/run.mjs';
import { workOf } from './gguf.mjs';
import { judge, table } from './lines.mjs';
import { Browser } from './page.mjs';
import { randomFile, TYPES } from './random.mjs';
import { better, compileRoofline, kernels, NODE, roofline, spin } from './wasm.mjs';

const PARTS = ['roofline', 'kernels', 'engine', 'page', 'compare', 'random'];
const PEERS = ['@wllama/wllama@3.13.0', 'node-llama-cpp@3.21.1', 'playwright-core'];
const TINY = at('models/austen-tiny-q8_0.gguf');
const ROUNDS = 3;
const PROMPT = 256;
const GENERATIONS = 1000;
/** Load average of the last minute. Peers that wait in loops lose most by other work. */
const BUSY = 0.5;

/** Engines that take turns, see engine.js. */
const groups = (threads) => [
  {
    auto: { threads, simd: 'auto', more: true },
    auto1: { threads: 1, simd: 'auto' },
    threads1: { threads: 1, simd: 'auto', threaded: true },
  },
  { base: { threads, simd: 'base', more: true }, base1: { threads: 1, simd: 'base' } },
];

/** A module's default export in the Node that is measured, called with these arguments; what it resolved to. */
function inNode(body, ...args) {
  const code = `import { Engine } from ${JSON.stringify(at('dist/node.js'))};
    import { measure } from ${JSON.stringify(at('scripts/bench/engine.js'))};
    const run = ${body};
    console.log(JSON.stringify(await run(...${JSON.stringify(args)})));`;
  const done = capture(NODE, ['--input-type=module', '-e', code]);
  if (!done.ok) throw new Error(done.stderr);
  return JSON.parse(done.stdout);
}

const measureInNode = (model, threads) =>
  inNode('(...args) => measure(Engine, ...args)', model, groups(threads), { dist: at('dist/'), rounds: ROUNDS });

/** Percent of a core that Node takes while an engine that has generated waits. */
const idleInNode = (model) =>
  inNode(
    `async (model, seconds) => {
      const engine = await Engine.load(model, { contextLength: 512, cache: false });
      await engine.generate('It is a truth', { max_new_tokens: 16 }).result;
      const wait = (s) => new Promise((done) => setTimeout(done, 1000 * s));
      await wait(1);
      const before = process.cpuUsage();
      await wait(seconds);
      const { user, system } = process.cpuUsage(before);
      await engine.close();
      return (user + system) / 1e4 / seconds;
    }`,
    model,
    5,
  );

function compare(model, { threads, rounds, engines = 'ours,ours-base,wllama,native' }) {
  if (!existsSync(at('build/peer/node_modules/node-llama-cpp')))
    quietly('npm', ['install', '--prefix', at('build/peer'), '--no-save', ...PEERS]);
  const json = at('build/bench/compare.json');
  const options = { model, threads, rounds, engines, json };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  say(quietly('node', [at('scripts/bench/compare.mjs'), ...args]));
  return JSON.parse(readFileSync(json, 'utf8'));
}

/** The figures of engines, one a column. */
function show(title, engines) {
  say(`\n${title}`);
  console.table(
    Object.fromEntries(
      Object.entries(engines).map(([name, figures]) => [
        name,
        Object.fromEntries(
          Object.entries(figures).map(([k, v]) => [k, typeof v === 'number' ? Math.round(v * 10) / 10 : v]),
        ),
      ]),
    ),
  );
}

/** Runs the wanted parts; `has` tells which. The roofline runs before and after, so that a disturbance spoils one of two. */
async function measureAll(result, { model, threads, rounds, has }) {
  const limits = has('roofline') ? compileRoofline() : null;
  if (limits) result.roofline = roofline(limits);
  const browser = has('kernels') || has('engine') || has('page') ? await Browser.start(model ?? TINY) : null;
  try {
    if (has('kernels')) {
      result.kernels = {
        node: await kernels(threads),
        chromium: await kernels(threads, (file, args) => browser.run(file, args)),
        spin: spin(),
      };
      for (const host of ['node', 'chromium']) show(`kernels in ${host}, GMAC/s`, result.kernels[host].rows);
    }
    if (has('engine')) {
      result.node = measureInNode(model, threads);
      show('the engine in Node', result.node);
      result.nodeIdle = idleInNode(model);
      result.chromium = await browser.call('measure', browser.url, groups(threads), { rounds: ROUNDS });
      show('the engine in Chromium', result.chromium);
    }
    if (has('page')) {
      result.page = {
        loads: await browser.call('loads', browser.url),
        longestTask: await browser.longestTask(),
        idle: await browser.idle(),
        generations: await browser.call('manyGenerations', browser.urlOf(TINY), GENERATIONS),
      };
      say(JSON.stringify(result.page));
    }
  } finally {
    await browser?.close();
  }
  if (has('compare')) result.compare = compare(model, { threads, rounds });
  for (const type of has('random') ? TYPES : []) {
    say(`\nrandom weights, ${type}`);
    const engines = 'ours,wllama,native';
    (result.random ??= {})[type] = compare(randomFile(type), { threads, rounds, engines });
  }
  if (limits) {
    result.roofline = better(result.roofline, roofline(limits));
    for (const [build, figures] of Object.entries(result.roofline)) {
      for (const [n, { read, kernels: speeds }] of Object.entries(figures))
        show(`what the machine allows, ${build}, ${n} threads: reads ${read} GB/s, GMAC/s of kernels`, speeds);
    }
  }
}

await script(async (args) => {
  const { values } = parseArgs({
    args,
    options: {
      model: { type: 'string' },
      json: { type: 'string', default: at('build/bench/bench.json') },
      threads: { type: 'string', default: '2' },
      only: { type: 'string', default: PARTS.join() },
      rounds: { type: 'string', default: '2' },
    },
  });
  const wanted = values.only.split(',');
  const strange = wanted.filter((part) => !PARTS.includes(part));
  if (strange.length) throw new Error(`no such part: ${strange.join(', ')} (there are ${PARTS.join(', ')})`);
  const has = (part) => wanted.includes(part);
  if (!values.model && ['engine', 'page', 'compare'].some(has))
    throw new Error('usage: npm run bench -- --model FILE.gguf (see the head of scripts/bench/bench.mjs)');
  const model = values.model && path.resolve(values.model);
  const threads = Number(values.threads);
  const result = {
    date: new Date().toISOString(),
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    loadBefore: loadavg()[0],
    model: model && path.basename(model),
    threads,
  };
  if (model) {
    const { bytes, macs, promptMacs } = workOf(model);
    result.work = { bytes, macs, promptMacs: promptMacs(PROMPT) / PROMPT };
  }
  if (result.loadBefore > BUSY)
    say(`The machine is busy (load ${result.loadBefore.toFixed(1)}): no figure can be trusted.`);
  await measureAll(result, { model, threads, rounds: Number(values.rounds), has });
  result.lines = judge(result);
  mkdirSync(path.dirname(values.json), { recursive: true });
  writeFileSync(values.json, `${JSON.stringify(result, null, 1)}\n`);
  say(`\n${table(result.lines)}\n\nwritten to ${path.relative(at('.'), values.json)}`);
});
