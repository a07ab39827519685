// Sets up, builds, and runs every kind of test in order.
//   node scripts/test.mjs [--long] [--only KIND,KIND]
// --only: checks, native, threads, wasm, js, browser, conformance, fuzz, budgets. --long: the fuzzers get ten minutes each, and
// what runs once otherwise runs in every build and host.
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { at, captureAside, say, script, show } from './lib/run.mjs';
import * as kinds from './test/kinds.mjs';

/** aside: it waits more than it computes, and runs beside those before it. */
const KINDS = [
  { name: 'checks', title: 'format, warnings, types, lists', run: () => kinds.checks() },
  { name: 'native', title: 'C tests, ASan and UBSan', run: kinds.nativeTests },
  { name: 'threads', title: 'C tests, TSan', run: kinds.threadTests },
  { name: 'wasm', title: 'C tests as wasm in Node', run: kinds.wasmTests },
  { name: 'browser', title: 'browser tests', run: kinds.browserTests, aside: true },
  { name: 'js', title: 'JavaScript tests in Node', run: kinds.jsTests },
  { name: 'conformance', title: 'conformance', run: kinds.conformance },
  { name: 'fuzz', title: 'fuzzing', run: ({ long }) => kinds.fuzz(long ? 600 : 10) },
  { name: 'budgets', title: 'sizes', run: kinds.budgets },
];

const TICKS_PER_SECOND = 100;
const MODEL = 'build/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf';

async function node(file, ...args) {
  const code = await show(process.execPath, [at(file), ...args]);
  if (code) throw new Error(`${file} failed`);
}

/** The real model makes more of the conformance tests run; without it they count as skipped. */
async function fetchModel() {
  if (existsSync(at(MODEL))) return;
  await node('scripts/fetch-model.mjs').catch(() => say('  going on without the real model'));
}

/** Seconds of processor time that the programs begun by this one have had, where the system tells; those still running not. */
function cpuSeconds() {
  if (!existsSync('/proc/self/stat')) return 0;
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const { userCPUTime, systemCPUTime } = process.resourceUsage();
  return (Number(fields[13]) + Number(fields[14])) / TICKS_PER_SECOND + (userCPUTime + systemCPUTime) / 1e6;
}

/**
 * Begins a kind in a process of its own, in which nothing that the others do blocks it; resolves to its count once asked for.
 * @returns {() => Promise<kinds.Count>}
 */
function begin(kind, { long }) {
  const args = [at('scripts/test/alone.mjs'), kind.name, ...(long ? ['--long'] : [])];
  const running = captureAside(process.execPath, args, { seconds: 3600 });
  return async () => {
    const done = await running;
    say(done.text.replace(/\n[^\n]*\n$/, ''));
    return kinds.countOf(done);
  };
}

async function runKind(kind, options, run = kind.run) {
  say(`\n${kind.title}`);
  const start = { wall: Date.now(), cpu: cpuSeconds() };
  let count;
  try {
    count = await run(options);
  } catch (error) {
    say(`  FAILED ${error.message}`);
    count = { passed: 0, failed: 1, skipped: 0 };
  }
  const seconds = ((Date.now() - start.wall) / 1000).toFixed(0);
  const cpu = (cpuSeconds() - start.cpu).toFixed(0);
  const words = `${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`;
  say(`  ${words} (${seconds} s)`);
  return { ...count, line: `  ${kind.title.padEnd(32)} ${words}, ${seconds} s (processors ${cpu} s)` };
}

function summary(results) {
  const total = (key) => results.reduce((sum, result) => sum + result[key], 0);
  say('\nsummary');
  for (const { line } of results) say(line);
  if (!existsSync(at(MODEL))) say('  The real model is not here (npm run fetch-model): what needs it was skipped.');
  const skipped = total('skipped');
  say(`\n${total('passed')} passed, ${total('failed')} failed${skipped ? `, ${skipped} skipped` : ''}`);
  return total('failed') || !total('passed') ? 1 : 0;
}

await script(async (args) => {
  const { values } = parseArgs({
    args,
    options: { long: { type: 'boolean', default: false }, only: { type: 'string' } },
  });
  const wanted = values.only?.split(',') ?? KINDS.map((kind) => kind.name);
  const unknown = wanted.filter((name) => !KINDS.some((kind) => kind.name === name));
  if (unknown.length)
    throw new Error(`no such kind: ${unknown.join(', ')} (there are ${KINDS.map((kind) => kind.name).join(', ')})`);
  if (values.long) process.env.QW_LONG = '1';
  await node('scripts/setup.mjs');
  await node('scripts/build.mjs');
  if (values.long || !values.only) await fetchModel();
  const results = [];
  const chosen = KINDS.filter((kind) => wanted.includes(kind.name));
  const aside = new Map(chosen.filter((kind) => kind.aside).map((kind) => [kind, begin(kind, values)]));
  for (const kind of chosen) results.push(await runKind(kind, values, aside.get(kind)));
  return summary(results);
});
