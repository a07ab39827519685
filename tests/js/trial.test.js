// simd: 'auto': which build is kept, when it is timed, and what is remembered.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { decideBuild } from '../../js/worker/trial.js';
import { capabilities, Engine, TINY } from './support/package.js';

const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-trial-'));
after(() => rmSync(folder, { recursive: true }));

const CHOICE = { urls: { '': 'base', '-relaxed': 'relaxed' }, threads: 2, shared: true, relaxed: true, trial: true };

/** A store of text files, as far as a trial needs one. */
const storeOf = (files) =>
  /** @type {any} */ ({
    text: async (name) => files[name] ?? null,
    write: async (name, text) => void (files[name] = text),
  });

/** Decides between builds that take these seconds, one after the other; the build, and how often each was timed. */
async function decided(seconds, { files = null, choice = CHOICE, device = 'this one' } = {}) {
  const calls = { base: 0, relaxed: 0 };
  const start = async (url) => () => seconds[url][Math.min(calls[url]++, seconds[url].length - 1)];
  const { relaxed, trial } = await decideBuild(choice, { store: async () => files && storeOf(files), device, start });
  assert.equal(trial, false);
  return [relaxed ? 'relaxed' : 'base', calls.base, calls.relaxed];
}

test('the build whose best round is the faster one is kept', async () => {
  assert.deepEqual(await decided({ base: [1], relaxed: [2] }), ['base', 2, 2]);
  assert.deepEqual(await decided({ base: [2], relaxed: [1] }), ['relaxed', 2, 2]);
  assert.deepEqual(await decided({ base: [5, 2], relaxed: [9, 1] }), ['relaxed', 2, 2]);
  assert.deepEqual(await decided({ base: [1], relaxed: [1] }), ['relaxed', 2, 2]);
});

test('a lead of the base build that other work on the machine can make does not count', async () => {
  assert.deepEqual(await decided({ base: [1], relaxed: [1.05] }), ['relaxed', 2, 2]);
  assert.deepEqual(await decided({ base: [1], relaxed: [1.06] }), ['base', 2, 2]);
});

test('what is remembered is asked again after ten loads', async () => {
  const files = {};
  assert.deepEqual(await decided({ base: [1], relaxed: [2] }, { files }), ['base', 2, 2]); // on a busy machine
  for (let load = 2; load <= 10; load++)
    assert.deepEqual(await decided({ base: [2], relaxed: [1] }, { files }), ['base', 0, 0], String(load));
  assert.deepEqual(await decided({ base: [2], relaxed: [1] }, { files }), ['relaxed', 2, 2]);
  assert.deepEqual(await decided({ base: [1], relaxed: [2] }, { files }), ['relaxed', 0, 0]);
});

test('what was found is remembered, for this device and these wasm files', async () => {
  const files = {};
  assert.deepEqual(await decided({ base: [1], relaxed: [2] }, { files }), ['base', 2, 2]);
  assert.deepEqual(await decided({ base: [2], relaxed: [1] }, { files }), ['base', 0, 0]);
  assert.deepEqual(await decided({ base: [2], relaxed: [1] }, { files, device: 'another' }), ['relaxed', 2, 2]);
  for (const text of [
    '',
    '{',
    'null',
    '{"device":"this one"}',
    '{"device":"this one","relaxed":1}',
    '{"device":"this one","relaxed":false}',
  ])
    assert.deepEqual(await decided({ base: [1], relaxed: [2] }, { files: { 'simd.json': text } }), ['base', 2, 2]);
});

test('where nothing can be kept it is timed each time', async () => {
  for (let i = 0; i < 2; i++) assert.deepEqual(await decided({ base: [1], relaxed: [2] }), ['base', 2, 2]);
  const full = { text: async () => null, write: () => Promise.reject(new Error('no room')) };
  const context = { store: async () => /** @type {any} */ (full), device: '', start: async () => () => 1 };
  assert.equal((await decideBuild(CHOICE, context)).relaxed, true);
});

test('a trial that fails leaves the relaxed build, and nothing is remembered', async () => {
  const files = {};
  assert.deepEqual(await decided({ base: [1], relaxed: [0] }, { files }), ['relaxed', 2, 2]);
  const start = () => Promise.reject(new Error('no such file'));
  const context = { store: async () => storeOf(files), device: '', start };
  assert.equal((await decideBuild(CHOICE, context)).relaxed, true);
  assert.deepEqual(files, {});
});

test('a choice without a question is not timed', async () => {
  for (const relaxed of [true, false]) {
    const choice = { ...CHOICE, relaxed, trial: false };
    assert.deepEqual(await decided({ base: [1], relaxed: [1] }, { choice }), [relaxed ? 'relaxed' : 'base', 0, 0]);
  }
});

/** Loads and closes; the build that was taken. */
async function loaded(options) {
  const engine = await Engine.load(TINY, options);
  const { simd } = engine.info;
  await engine.close();
  return simd;
}

test('the package times once, and takes what it remembers', async (t) => {
  if (!(await capabilities()).relaxedSimd) return t.skip('no relaxed SIMD here');
  const cache = path.join(folder, 'auto');
  const file = path.join(cache, 'simd.json');
  const simd = await loaded({ cache });
  const { relaxed, seconds, device } = JSON.parse(readFileSync(file, 'utf8'));
  assert.ok(seconds.base > 0 && seconds.base < 1 && seconds.relaxed > 0 && seconds.relaxed < 1);
  assert.equal(relaxed, seconds.relaxed <= seconds.base * 1.05);
  assert.equal(simd, relaxed ? 'relaxed' : 'base');
  for (const kept of [true, false]) {
    writeFileSync(file, JSON.stringify({ device, relaxed: kept, loads: 1 }));
    assert.equal(await loaded({ cache, threads: 1 }), kept ? 'relaxed' : 'base');
    assert.equal(await loaded({ cache, threads: 2 }), kept ? 'relaxed' : 'base');
    assert.equal(readFileSync(file, 'utf8'), JSON.stringify({ device, relaxed: kept, loads: 3 }), 'not timed again');
  }
});

test('simd or a wasm file given explicitly is never timed', async (t) => {
  if (!(await capabilities()).relaxedSimd) return t.skip('no relaxed SIMD here');
  const cache = path.join(folder, 'explicit');
  const file = path.join(cache, 'simd.json');
  const build = (name) => fileURLToPath(new URL(`../../dist/${name}.wasm`, import.meta.url));
  assert.equal(await loaded({ cache, simd: 'base' }), 'base');
  assert.equal(await loaded({ cache, simd: 'relaxed' }), 'relaxed');
  assert.equal(await loaded({ cache, wasmUrl: build('qwen2-threads') }), 'base');
  assert.equal(await loaded({ cache, wasmUrl: build('qwen2-relaxed') }), 'relaxed');
  assert.equal(existsSync(file), false);
});
