// The kinds of tests. Each function resolves to {passed, failed, skipped} with real counts, and prints what failed.
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { WASM_BUILDS } from '../build/wasm.mjs';
import { cmakeBuild, configure } from '../lib/cmake.mjs';
import { filesIn, SHARED_FIXTURES } from '../lib/files.mjs';
import { CHECKS } from '../lib/lint.mjs';
import { nodeWithRelaxedSimd } from '../lib/node-relaxed.mjs';
import { at, captureAside, inParallel, quietly, say } from '../lib/run.mjs';

const CORES = 2;

/** @typedef {{ passed: number, failed: number, skipped: number }} Count */

/** A count from what a program printed last: 'N passed, N failed', ', N skipped' may follow. */
export function countOf({ ok, text }) {
  const lines = [...text.matchAll(/^(?:\d+: )?(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$/gm)];
  if (!lines.length) return { passed: 0, failed: 1, skipped: 0 };
  const [, passed, failed, skipped] = lines.at(-1).map(Number);
  return { passed, failed: failed || (ok ? 0 : 1), skipped: skipped || 0 };
}

function sum(counts) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const count of counts) for (const key of Object.keys(total)) total[key] += count[key] ?? 0;
  return total;
}

/** Prints the end of what a failed test said. */
function report(name, text, lines = 60) {
  say(`  FAILED ${name}`);
  const tail = text.trimEnd().split('\n').slice(-lines);
  say(tail.map((line) => `    ${line}`).join('\n'));
}

/** Of a program that has several tries; the slowest takes a quarter of it beside all else. */
const TRY_SECONDS = 200;

/**
 * Runs test programs of ours, each of which sums itself up in its last line. tries: one that stands still is begun anew, and
 * that is said: programs on threads do so in Node now and then (the main thread idle, the one of the test waiting for it).
 * What fails is not tried again.
 */
async function runPrograms(programs) {
  const jobs = programs.map(({ name, command, env, tries = 1 }) => async () => {
    const options = { seconds: tries > 1 ? TRY_SECONDS : 600, env: { ...process.env, ...env } };
    let done = await captureAside(command[0], command.slice(1), options);
    for (let left = tries - 1; left > 0 && !done.ok && /: stopped after \d+ s\n$/.test(done.text); left--) {
      say(`  ${name} stood still for ${TRY_SECONDS} s: once more`);
      done = await captureAside(command[0], command.slice(1), options);
    }
    const count = countOf(done);
    if (count.failed) report(name, done.text);
    return count;
  });
  return sum(await inParallel(CORES, jobs));
}

const testNames = () => filesIn('tests/c', /^test_.*\.c$/).map((file) => path.basename(file, '.c'));

/** The names that are wanted, each of which must be there: a test that was renamed would be left out without a word. */
export function known(wanted, present) {
  const missing = wanted.filter((name) => !present.includes(name));
  if (missing.length) throw new Error(`scripts/test/kinds.mjs names ${missing.join(', ')}, which is not there`);
  return wanted;
}

/** Format, warnings, types and lists; so many at once. */
export async function checks(list = CHECKS, together = CORES) {
  const jobs = list.map(({ name, run }) => async () => {
    const { ok, text, skipped } = await run();
    if (skipped) say(`  skipped ${name}: ${skipped}`);
    else if (!ok) report(name, text, 200);
    return { passed: ok ? 1 : 0, failed: ok || skipped ? 0 : 1, skipped: skipped ? 1 : 0 };
  });
  return sum(await inParallel(together, jobs));
}

const ASAN = { ASAN_OPTIONS: 'detect_leaks=1:allocator_may_return_null=1', UBSAN_OPTIONS: 'print_stacktrace=1' };

/** The C tests with AddressSanitizer and UBSan. */
export async function nativeTests() {
  const names = testNames();
  cmakeBuild('native-asan', ...names);
  return runPrograms(names.map((name) => ({ name, command: [at('build/native-asan', name)], env: ASAN })));
}

const THREADED = ['test_pool', 'test_matmul', 'test_attention', 'test_batch', 'test_engine'];

/** What runs on several threads, with ThreadSanitizer. */
export async function threadTests() {
  const names = known(THREADED, testNames());
  cmakeBuild('native-tsan', ...names);
  return runPrograms(names.map((name) => ({ name, command: [at('build/native-tsan', name)] })));
}

/** The tests that a wasm build's program holds, as commands. */
function wasmPrograms(build, node) {
  const program = at('build/wasm-tests', `tests${build}.js`);
  const names = quietly(node, [program]).trim().split('\n');
  return names.map((name) => ({ name: `${name}${build}`, command: [node, program, name], tries: 3 }));
}

/**
 * The C tests compiled to wasm, in Node (the relaxed ones in a Node that has relaxed SIMD): all of them in one build, in the
 * others those that could depend on the build; in a long run all in every one.
 */
export async function wasmTests({ long }) {
  configure('wasm', `-DQW_EVERY_BUILD=${long ? 'ON' : 'OFF'}`);
  cmakeBuild('wasm', 'wasm-tests');
  const relaxed = nodeWithRelaxedSimd();
  if (!relaxed) say('  no Node with relaxed SIMD here: the relaxed builds are not tested');
  const builds = WASM_BUILDS.map((build) => build.replace('qwen2', '')).filter(
    (build) => relaxed || !build.includes('relaxed'),
  );
  return runPrograms(
    builds.flatMap((build) => wasmPrograms(build, build.includes('relaxed') ? relaxed : process.execPath)),
  );
}

/** Runs node:test on files with one Node. */
async function nodeTest(node, files, label, env = {}) {
  const tap = at('build/tmp', `${label}.tap`);
  mkdirSync(at('build/tmp'), { recursive: true });
  const reporters = ['spec', 'stdout', 'tap', tap].map(
    (what, i) => `--test-reporter${i % 2 ? '-destination' : ''}=${what}`,
  );
  const args = ['--test', `--test-concurrency=${CORES}`, ...reporters, ...files];
  const done = await captureAside(node, args, { seconds: 2400, env: { ...process.env, ...env } });
  const text = existsSync(tap) ? readFileSync(tap, 'utf8') : '';
  const number = (word) => Number(new RegExp(`^# ${word} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  const count = {
    passed: number('pass'),
    failed: number('fail') + number('cancelled'),
    skipped: number('skipped') + number('todo'),
  };
  if (!done.ok && !count.failed) count.failed = 1;
  // What comes before that line is the list of those that passed, too.
  if (count.failed) report(label, done.text.slice(Math.max(0, done.text.indexOf('failing tests:'))), 150);
  return count;
}

/** What could depend on the Node that runs it or on its relaxed SIMD; all else would only repeat itself there. */
const OF_THE_NODE = ['engine-run', 'engine-load', 'env', 'readme', 'trial'].map((name) => `tests/js/${name}.test.js`);

/** tests/js in the running Node; where that has no relaxed SIMD, a part (in a long run all) also in one that has. */
export async function jsTests({ long }) {
  const files = filesIn('tests/js', /\.test\.js$/);
  cmakeBuild('native', 'qwen2'); // it is compared with the package's own command line
  const counts = [await nodeTest(process.execPath, files, 'node-tests')];
  const relaxed = nodeWithRelaxedSimd() ?? process.execPath;
  const again = known(OF_THE_NODE, files);
  if (relaxed !== process.execPath) counts.push(await nodeTest(relaxed, long ? files : again, 'node-tests-relaxed'));
  return sum(counts);
}

/** tests/browser, all files in one Chromium. */
export async function browserTests() {
  const { launchShared } = await import(pathToFileURL(at('tests/browser/support/browser.js')).href);
  const server = await launchShared();
  try {
    const files = filesIn('tests/browser', /\.test\.js$/);
    return await nodeTest(process.execPath, files, 'browser-tests', { QW_BROWSER: server.wsEndpoint() });
  } finally {
    await server.close();
  }
}

/**
 * All of ../shared/fixtures where that is there (a check holds our copies to it), else those copies. In a long run real/ goes
 * through every build, and natively against the float32 path of the same weights.
 */
export async function conformance({ long }) {
  const folder = existsSync(SHARED_FIXTURES) ? SHARED_FIXTURES : at('tests/fixtures');
  const args = [at('scripts/conformance.mjs'), folder, long ? '--reference' : '--quick'];
  const done = await captureAside(process.execPath, args, { seconds: long ? 7200 : 2400 });
  const count = countOf(done);
  if (count.failed) report('conformance', done.text, 200);
  return count;
}

/** Each fuzzer for some seconds; one that found nothing has passed. What it found stays in build/fuzz/. */
export async function fuzz(seconds) {
  const names = filesIn('tests/c', /^fuzz_.*\.c$/).map((file) => path.basename(file, '.c'));
  cmakeBuild('native-asan', ...names);
  const jobs = names.map((name) => async () => {
    const corpus = at('build/fuzz', name);
    mkdirSync(corpus, { recursive: true });
    const seeds = at('tests/c/seeds', name.slice('fuzz_'.length));
    const dictionary = at('tests/c', `${name}.dict`);
    const args = [
      `-max_total_time=${seconds}`,
      '-timeout=20',
      '-rss_limit_mb=2048',
      '-print_final_stats=1',
      `-artifact_prefix=${corpus}-`,
    ];
    if (existsSync(dictionary)) args.push(`-dict=${dictionary}`);
    const folders = existsSync(seeds) ? [corpus, seeds] : [corpus];
    const env = { ...process.env, ...ASAN };
    const { ok, text } = await captureAside(at('build/native-asan', name), [...args, ...folders], {
      seconds: seconds + 120,
      env,
    });
    const runs = Number(/number_of_executed_units: (\d+)/.exec(text)?.[1] ?? 0);
    if (ok && runs > 0) say(`  ${name}: ${runs} inputs`);
    else report(name, text);
    return { passed: ok && runs > 0 ? 1 : 0, failed: ok && runs > 0 ? 0 : 1 };
  });
  return sum(await inParallel(CORES, jobs));
}

const WASM_BUDGET = 400_000;
const JS_BUDGET = 60_000;
const TEMPLATES_BUDGET = 22_000;
const ELEMENT_BUDGET = 25_000;

/** What a page downloads. */
export async function budgets() {
  const counts = [];
  const check = (what, bytes, limit) => {
    say(`  ${what}: ${(bytes / 1000).toFixed(1)} of ${limit / 1000} KB`);
    counts.push({ passed: bytes <= limit ? 1 : 0, failed: bytes <= limit ? 0 : 1 });
  };
  for (const build of WASM_BUILDS) check(`${build}.wasm`, statSync(at('dist', `${build}.wasm`)).size, WASM_BUDGET);
  const gzipped = (...names) =>
    names.reduce((total, name) => total + gzipSync(readFileSync(at('dist', name)), { level: 9 }).length, 0);
  if (existsSync(at('dist/index.js'))) {
    check('index.js and worker.js, gzipped', gzipped('index.js', 'worker.js'), JS_BUDGET);
    check('template-worker.js (fetched by the first chat), gzipped', gzipped('template-worker.js'), TEMPLATES_BUDGET);
    check('element.js and element-define.js, gzipped', gzipped('element.js', 'element-define.js'), ELEMENT_BUDGET);
  }
  return sum(counts);
}
