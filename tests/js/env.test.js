// Which build runs where, and in which order calls run.
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { browserHost } from '../../js/page/browser.js';
import { capabilitiesOf, chooseBuild, requireEngine } from '../../js/page/env.js';
import { Queue } from '../../js/page/queue.js';
import { buildName } from '../../js/protocol.js';
import { Engine, TINY, withCode } from './support/package.js';

const { validate } = WebAssembly;
afterEach(() => (WebAssembly.validate = validate));

const URLS = Object.fromEntries(['', '-threads', '-relaxed', '-threads-relaxed'].map((build) => [build, `x${build}`]));
/** @returns {any} */
const host = (more = {}) => ({
  refusal: () => '',
  canShare: () => true,
  cores: () => 4,
  store: async () => ({}),
  wasmUrls: () => URLS,
  resolveUrl: (text) => new URL(text, 'https://h.example/').href,
  ...more,
});
const choose = (options, more) => {
  const { wasm, notes } = chooseBuild(options, host(more));
  return [buildName(wasm), wasm.threads, notes.length];
};

/** This machine as one with or without relaxed SIMD. */
function pretendRelaxed(yes) {
  WebAssembly.validate = (bytes) => (bytes.byteLength > 100 ? yes : validate(bytes));
}

test('this Node has SIMD, and the probe tells whether it has relaxed SIMD', async () => {
  const { simd, relaxedSimd, notes } = await capabilitiesOf(host());
  assert.equal(simd, true);
  assert.equal(relaxedSimd, Number(process.versions.node.split('.')[0]) >= 22);
  assert.equal(notes.length, relaxedSimd ? 0 : 1);
});

test('what is missing is noted', async () => {
  WebAssembly.validate = () => false;
  assert.throws(() => requireEngine(host()), withCode('environment', /SIMD \(Safari 16\.4\+\)/));
  const able = await capabilitiesOf(host({ canShare: () => false, store: async () => null }));
  assert.deepEqual([able.simd, able.relaxedSimd, able.threads, able.notes.length], [false, false, false, 3]);
});

test('auto takes relaxed SIMD where it validates and up to 8 threads where memory can be shared', () => {
  pretendRelaxed(true);
  assert.deepEqual(choose({}), ['-threads-relaxed', 4, 0]);
  assert.deepEqual(choose({ threads: 'auto', simd: 'auto' }, { cores: () => 128 }), ['-threads-relaxed', 8, 0]);
  assert.deepEqual(choose({}, { canShare: () => false }), ['-relaxed', 1, 0]);
  assert.deepEqual(choose({ threads: 3 }, { canShare: () => false }), ['-relaxed', 1, 1]);
  assert.deepEqual(choose({ threads: 1, simd: 'base' }), ['', 1, 0]);
  pretendRelaxed(false);
  assert.deepEqual(choose({ threads: 2 }), ['-threads', 2, 0]);
  assert.throws(() => choose({ simd: 'relaxed' }), withCode('environment', /relaxed/));
});

test('a page that was opened as a file is told to be served', (t) => {
  t.after(() => delete (/** @type {any} */ (globalThis).location));
  /** @type {any} */ (globalThis).location = { protocol: 'file:' };
  assert.throws(() => browserHost.startWorker('x'), withCode('environment', /opened as a file.*serve it over http/));
});

test('wasmUrl with a file forces its build', () => {
  pretendRelaxed(false);
  assert.deepEqual(choose({ wasmUrl: 'w/qwen2-threads.wasm', threads: 2 }), ['-threads', 2, 0]);
  assert.deepEqual(choose({ wasmUrl: 'w/qwen2-threads-relaxed.wasm' }), ['-threads-relaxed', 4, 0]);
  assert.deepEqual(choose({ wasmUrl: 'w/qwen2.wasm', threads: 2 }), ['', 1, 0]);
  const noThreads = { canShare: () => false };
  assert.throws(() => choose({ wasmUrl: 'w/qwen2-threads.wasm' }, noThreads), withCode('environment', /isolated/));
  assert.equal(chooseBuild({ wasmUrl: 'w/' }, host()).wasm.urls['-threads'], 'https://h.example/w/qwen2-threads.wasm');
  assert.throws(() => choose({ wasmUrl: 'w/other.wasm' }), withCode('usage', /wasmUrl/));
});

test('builds are to be timed where auto could take either', () => {
  const trial = (options) => chooseBuild(options, host()).wasm.trial;
  pretendRelaxed(true);
  assert.deepEqual([{}, { simd: 'auto' }, { threads: 1 }, { wasmUrl: 'w/' }].map(trial), [true, true, true, true]);
  assert.deepEqual([{ simd: 'base' }, { simd: 'relaxed' }, { wasmUrl: 'w/qwen2-relaxed.wasm' }].map(trial), [
    false,
    false,
    false,
  ]);
  pretendRelaxed(false);
  assert.equal(trial({}), false);
});

test('both SIMD builds give the same ids', async (t) => {
  if (!(await capabilitiesOf(host())).relaxedSimd) return t.skip('no relaxed SIMD here');
  const rows = [];
  for (const simd of ['base', 'relaxed']) {
    const engine = await Engine.load(TINY, { simd, threads: 2 });
    assert.equal(engine.info.simd, simd);
    rows.push((await engine.generate('It is a truth', { max_new_tokens: 16 }).result).sequences[0].token_ids);
    await engine.close();
  }
  assert.deepEqual(rows[1], rows[0]);
});

test('a queue runs one job at a time, in order, whatever became of those before', async () => {
  const queue = new Queue();
  const seen = [];
  const job = (name, ms, fail) => () =>
    new Promise((resolve, reject) => {
      seen.push(`${name} starts`);
      setTimeout(() => {
        seen.push(`${name} ends`);
        if (fail) reject(new Error(name));
        else resolve(name);
      }, ms);
    });
  const results = await Promise.allSettled([
    queue.run(job('a', 20)),
    queue.run(job('b', 1, true)),
    queue.run(() => assert.fail('at once')),
    queue.run(job('c', 5)),
  ]);
  assert.deepEqual(
    results.map((one) => one.status),
    ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(seen, ['a starts', 'a ends', 'b starts', 'b ends', 'c starts', 'c ends']);
});
