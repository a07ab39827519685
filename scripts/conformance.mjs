// Runs every fixture below the given folders (the layout of tests/fixtures): through the native runner, the same runner as wasm
// (base, and relaxed in a Node that has it), and the public API in Node; then compares what must be equal bit for bit, in
// Chromium too.
//   npm run conformance -- DIR... [--only tokenizer,checkpoints,...] [--model FILE] [--builds native,base,relaxed,api,chromium] [--quick] [--reference]
// --quick: each part runs natively and once as wasm, the part exact in every build: where its hashes are equal, all that
// follows from the logits is; the real model over one cache.
// --model: the vocabulary and real model (default: the fetched one; absent: what needs it is skipped). --reference: also holds the
// real model against its own float32 path, natively (4 GB and some minutes).
import { existsSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { runApi } from './conformance/api.mjs';
import { hasChromium, runChromium } from './conformance/chromium.mjs';
import { Counter } from './conformance/counter.mjs';
import { runFormat } from './conformance/format.mjs';
import { cmakeBuild } from './lib/cmake.mjs';
import { nodeWithRelaxedSimd } from './lib/node-relaxed.mjs';
import { at, captureAside, inParallel, say, script } from './lib/run.mjs';

const PARTS = ['tokenizer', 'checkpoints', 'processors', 'stopping', 'chat', 'real', 'exact', 'types', 'format'];
const BUILDS = ['native', 'base', 'relaxed', 'api', 'chromium'];
/** With --quick: the parts of a build; the others have all that they can run. */
const QUICK = { base: ['processors', 'exact', 'types', 'format'], relaxed: ['exact'] };
const MODEL = 'build/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf';
const TINY = 'models/austen-tiny-q8_0.gguf';

/** Builds at once. */
const TOGETHER = 2;

/** Of how many of MaskBench's schemas one is asked: natively, with --quick, and as wasm. */
const SHARES = { whole: 1, quick: 5, wasm: 40 };

/**
 * The command that runs a build of a program (conformance or format_probe); null where this machine cannot.
 * @returns {string[] | null}
 */
function commandOf(program, build) {
  if (build === 'native') {
    cmakeBuild('native', program);
    return [at(`build/native/${program}`)];
  }
  const name = build === 'base' ? `${program}-threads` : `${program}-threads-relaxed`;
  const node = build === 'base' ? process.execPath : nodeWithRelaxedSimd();
  if (!node) return null;
  cmakeBuild('wasm', name);
  return [node, at('build/wasm-tests', `${name}.js`)];
}

/** The part format, which asks a program of its own. */
async function addFormat(counter, build, { folders, model, tiny, quick }) {
  const probe = commandOf('format_probe', build);
  const share = build !== 'native' ? SHARES.wasm : quick ? SHARES.quick : SHARES.whole;
  if (!probe) return;
  for (const folder of folders)
    await runFormat({ folder, counter, probe, model: model ?? tiny, hasVocabulary: Boolean(model), share });
}

/** What a runner printed: its counts and hashes. */
function readRunner(build, { ok, text }) {
  const counter = new Counter();
  for (const line of text.split('\n')) {
    const hash = /^hash (.*): ([0-9a-f]{16})$/.exec(line);
    const sum = /^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/.exec(line);
    if (hash) counter.hashes.set(hash[1], hash[2]);
    else if (sum) [counter.passed, counter.failed, counter.skipped] = sum.slice(1).map((n) => Number(n ?? 0));
    else if (line) say(`${build}: ${line}`);
  }
  if (!ok && !counter.failed) counter.check(false, `${build}: the runner ended without a count, or badly after one`);
  return counter;
}

function partsOf(build, { only, quick }) {
  const wanted = only ?? PARTS;
  const quickly = quick && QUICK[build];
  return quickly ? wanted.filter((part) => quickly.includes(part)) : wanted;
}

async function runBuild(build, options) {
  if (build === 'api') {
    const counter = new Counter();
    const { Engine } = await import(pathToFileURL(at('dist/node.js')).href);
    for (const folder of options.folders) await runApi({ ...options, Engine, counter, folder });
    return counter;
  }
  if (build === 'chromium') {
    const counter = new Counter();
    if (options.only && !options.only.includes('exact')) return null;
    if (!hasChromium()) say('chromium: not here, not run');
    for (const folder of hasChromium() ? options.folders : []) await runChromium({ ...options, counter, folder });
    return counter;
  }
  const runner = commandOf('conformance', build);
  if (!runner) {
    say(`${build}: no Node with relaxed SIMD here, not run`);
    return null;
  }
  const args = [...runner.slice(1), ...options.folders];
  if (options.model) args.push('--model', options.model);
  if (options.tiny) args.push('--tiny', options.tiny);
  const parts = partsOf(build, options);
  if (!parts.length) return null;
  args.push('--only', parts.join(','));
  if (options.quick) args.push('--quick');
  if (options.reference && build === 'native') args.push('--reference');
  const counter = readRunner(build, await captureAside(runner[0], args, { seconds: 3600 }));
  if (parts.includes('format')) await addFormat(counter, build, options);
  return counter;
}

/** Every hash that two builds have must be the same. */
function compareHashes(results, counter) {
  const first = new Map();
  for (const [build, { hashes }] of results)
    for (const [name, hash] of hashes) {
      if (!first.has(name)) {
        first.set(name, [build, hash]);
        continue;
      }
      const [other, want] = first.get(name);
      counter.where = name;
      counter.check(hash === want, `logits differ between builds: ${build} has ${hash}, ${other} has ${want}`);
    }
}

function parse(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      model: { type: 'string' },
      builds: { type: 'string', default: BUILDS.join(',') },
      reference: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
    },
  });
  const only = values.only?.split(',') ?? null;
  const builds = values.builds.split(',');
  for (const [names, known] of [
    [only ?? [], PARTS],
    [builds, BUILDS],
  ])
    for (const name of names)
      if (!known.includes(name)) throw new Error(`'${name}' is not known: there are ${known.join(', ')}`);
  for (const file of [...positionals, values.model ?? at(TINY)])
    if (!existsSync(file)) throw new Error(`${file}: no such file or folder`);
  const model = values.model ?? (existsSync(at(MODEL)) ? at(MODEL) : null);
  const folders = (positionals.length ? positionals : [at('tests/fixtures')]).map((folder) => path.resolve(folder));
  const tiny = at(TINY);
  const { reference, quick } = values;
  return { only, builds, folders, tiny, reference, quick, model: model && path.resolve(model) };
}

await script(async (args) => {
  const options = parse(args);
  for (const build of options.builds.filter((name) => !['api', 'chromium'].includes(name)))
    commandOf('conformance', build);
  const jobs = options.builds.map((build) => async () => {
    const start = Date.now();
    const counter = await runBuild(build, options);
    if (!counter) return [];
    const { passed, failed, skipped } = counter;
    say(
      `${build}: ${passed} passed, ${failed} failed, ${skipped} skipped (${Math.round((Date.now() - start) / 1000)} s)`,
    );
    return [[build, counter]];
  });
  const results = (await inParallel(TOGETHER, jobs)).flat();
  const total = new Counter();
  compareHashes(results, total);
  if (total.passed)
    say(`bit for bit: ${total.passed} of ${total.passed + total.failed} hashes are equal between builds`);
  for (const [, counter] of results) for (const key of ['passed', 'failed', 'skipped']) total[key] += counter[key];
  say(`${total.passed} passed, ${total.failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}`);
  return total.failed || !total.passed ? 1 : 0;
});
