#!/usr/bin/env node
/**
 * One model file, one machine, one run: this package, wllama and native llama.cpp side by side.
 *
 *   npm i --prefix build/peer @wllama/wllama@3.13.0 node-llama-cpp@3.21.1 playwright-core
 *   node ../shared/peer/compare.mjs --model FILE.gguf [--modules build/peer/node_modules] [--threads 2] [--prompt 256]
 *        [--generate 48] [--runs 3] [--rounds 2] [--engines ours,ours-base,wllama,native] [--json OUT.json]
 *
 * Run it from the project's root after a build: ours is ./dist/index.js in Chromium. Engines take turns, --rounds times, so that a
 * drift of the machine's speed hits all of them. Prints tokens per second (median of all runs) and the ratios to each peer.
 * prefill = prompt tokens / prefill time; decode = forward passes after the first new token / their time. ours: the build that 'auto' picks; ours-base: base SIMD.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL, fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startServer } from '../../js/cli/static-server.js';
import { CHROMIUM_ARGS, findChromium } from '../lib/browsers.mjs';

const { values: arg } = parseArgs({
  options: {
    model: { type: 'string' },
    modules: { type: 'string', default: 'build/peer/node_modules' },
    package: { type: 'string', default: '.' },
    threads: { type: 'string', default: '2' },
    prompt: { type: 'string', default: '256' },
    generate: { type: 'string', default: '48' },
    runs: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    context: { type: 'string', default: '2048' },
    engines: { type: 'string', default: 'ours,ours-base,wllama,native' },
    json: { type: 'string' },
    chromium: { type: 'string', default: findChromium() ?? undefined },
  },
});
if (!arg.model) {
  console.error('usage: compare.mjs --model FILE.gguf (see the head of this file)');
  process.exit(2);
}
const here = path.dirname(fileURLToPath(import.meta.url));
const modules = path.resolve(arg.modules);
const load = (name, entry) => import(pathToFileURL(path.join(modules, name, entry)));

const words = ['alpha', 'beta', 'gamma', 'delta', 'river', 'stone', 'cloud', 'light'];
const makePrompt = (seed) =>
  `${seed} ` + Array.from({ length: +arg.prompt - 2 }, (_, i) => words[(i * 7 + seed * 3 + (i >> 3)) % 8]).join(' ');

/** The pages of this folder, and beside them what they load: the package, the peers and the model. */
async function serve() {
  const links = fs.mkdtempSync(path.join(os.tmpdir(), 'qw-compare-'));
  const places = { modules, package: path.resolve(arg.package), model: path.dirname(path.resolve(arg.model)) };
  for (const [name, folder] of Object.entries(places))
    if (fs.existsSync(folder)) fs.symlinkSync(folder, path.join(links, name));
  const { url, close } = await startServer({ folders: [links, here], policy: null });
  return { url, close: () => (fs.rmSync(links, { recursive: true }), close()) };
}

async function inBrowser(page, options) {
  const { chromium } = await load('playwright-core', 'index.mjs');
  const browser = await chromium.launch({ executablePath: arg.chromium, args: CHROMIUM_ARGS });
  try {
    const tab = await browser.newPage();
    tab.on('pageerror', (e) => console.error('[page]', e.message));
    await tab.goto(`${server.url}${page}`);
    await tab.waitForFunction('window.ready', null, { timeout: 20_000 });
    return await tab.evaluate((o) => window.run(o), options);
  } finally {
    await browser.close();
  }
}

async function native({ prompts, generate, threads, contextLength }) {
  const { getLlama } = await load('node-llama-cpp', 'dist/index.js');
  const llama = await getLlama({ gpu: false, maxThreads: threads, logLevel: 'error' });
  const t0 = performance.now();
  const model = await llama.loadModel({ modelPath: path.resolve(arg.model) });
  const context = await model.createContext({ contextSize: contextLength, threads, batchSize: 512 });
  const loadMs = performance.now() - t0;
  const sequence = context.getSequence();
  const runs = [];
  for (const prompt of prompts) {
    await sequence.clearHistory();
    const tokens = model.tokenize(prompt);
    let t = performance.now();
    await sequence.evaluateWithoutGeneratingNewTokens(tokens.slice(0, -1));
    const prefillMs = performance.now() - t;
    let n = 0;
    for await (const _ of sequence.evaluate(tokens.slice(-1), { temperature: 0 })) {
      if (n++ === 0) t = performance.now();
      if (n >= generate) break;
    }
    runs.push({ promptTokens: tokens.length - 1, prefillMs, newTokens: n, decodeMs: performance.now() - t });
  }
  await context.dispose();
  await model.dispose();
  await llama.dispose();
  return { loadMs, runs };
}

const median = (xs) => xs.sort((a, b) => a - b)[xs.length >> 1];
const server = await serve();
const results = {};
let seed = 1;
for (let round = 0; round < +arg.rounds; round++) {
  for (const engine of arg.engines.split(',')) {
    const options = {
      url: `/model/${path.basename(arg.model)}`,
      threads: +arg.threads,
      contextLength: +arg.context,
      generate: +arg.generate,
      simd: engine === 'ours-base' ? 'base' : 'auto',
      prompts: Array.from({ length: +arg.runs }, () => makePrompt(seed++)),
    };
    const r =
      engine === 'native'
        ? await native(options)
        : await inBrowser(engine === 'wllama' ? 'wllama.html' : 'ours.html', options);
    const all = (results[engine] ??= { loadMs: [], prefill: [], decode: [], firstChunkMs: [] });
    all.loadMs.push(r.loadMs);
    for (const x of r.runs) {
      all.prefill.push((1000 * x.promptTokens) / x.prefillMs);
      all.decode.push((1000 * (x.newTokens - 1)) / x.decodeMs);
      if (x.firstChunkMs) all.firstChunkMs.push(x.firstChunkMs);
    }
    Object.assign(all, { wasmBytes: r.wasmBytes, simd: r.simd, sample: r.runs.at(-1).text?.slice(0, 60) });
  }
}
await server.close();
const rows = Object.fromEntries(
  Object.entries(results).map(([k, v]) => [
    k,
    {
      'load s': +(median(v.loadMs) / 1000).toFixed(2),
      'prefill tok/s': +median(v.prefill).toFixed(1),
      'decode tok/s': +median(v.decode).toFixed(1),
      ...(v.wasmBytes && { 'wasm KB': Math.round(v.wasmBytes / 1024), simd: v.simd }),
    },
  ]),
);
console.table(rows);
const ratios = {};
for (const us of ['ours', 'ours-base'])
  for (const peer of ['wllama', 'native'])
    if (rows[us] && rows[peer])
      ratios[`${us}/${peer}`] = {
        prefill: +(rows[us]['prefill tok/s'] / rows[peer]['prefill tok/s']).toFixed(2),
        decode: +(rows[us]['decode tok/s'] / rows[peer]['decode tok/s']).toFixed(2),
      };
if (Object.keys(ratios).length) console.table(ratios);
if (arg.json) fs.writeFileSync(arg.json, JSON.stringify({ rows, ratios, results }, null, 1));
process.exit(0);
