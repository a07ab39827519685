// simd: 'auto': which build is kept, when it is timed, and what is remembered.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../js/trial.js';

const CHOICE = { urls: { '': 'base', '-relaxed': 'relaxed' }, threads: 2, shared: true, relaxed: true, trial: true };

/** A store of text files, as far as a trial needs one. */
const storeOf = (files) =>
  /** @type {any} */ ({
    text: async (name) => files[name] ?? null,
    write: async (name, text) => void (files[name] = text),
  });

/** Settles with builds that take these seconds, one after the other; the build, and how often each was timed. */
async function settled(seconds, { files = null, choice = CHOICE, device = 'this one' } = {}) {
  const calls = { base: 0, relaxed: 0 };
  const start = async (url) => () => seconds[url][Math.min(calls[url]++, seconds[url].length - 1)];
  const { relaxed, trial } = await settle(choice, { store: async () => files && storeOf(files), device, start });
  assert.equal(trial, false);
  return [relaxed ? 'relaxed' : 'base', calls.base, calls.relaxed];
}

test('the build whose best round is the faster one is kept', async () => {
  assert.deepEqual(await settled({ base: [1], relaxed: [2] }), ['base', 3, 3]);
  assert.deepEqual(await settled({ base: [2], relaxed: [1] }), ['relaxed', 3, 3]);
  assert.deepEqual(await settled({ base: [5, 2, 5], relaxed: [9, 9, 1] }), ['relaxed', 3, 3]);
  assert.deepEqual(await settled({ base: [1], relaxed: [1] }), ['relaxed', 3, 3]);
});

test('what was found is remembered, for this device and these wasm files', async () => {
  const files = {};
  assert.deepEqual(await settled({ base: [1], relaxed: [2] }, { files }), ['base', 3, 3]);
  assert.deepEqual(await settled({ base: [2], relaxed: [1] }, { files }), ['base', 0, 0]);
  assert.deepEqual(await settled({ base: [2], relaxed: [1] }, { files, device: 'another' }), ['relaxed', 3, 3]);
  for (const text of ['', '{', 'null', '{"device":"this one"}', '{"device":"this one","relaxed":1}'])
    assert.deepEqual(await settled({ base: [1], relaxed: [2] }, { files: { 'simd.json': text } }), ['base', 3, 3]);
});

test('where nothing can be kept it is timed each time', async () => {
  for (let i = 0; i < 2; i++) assert.deepEqual(await settled({ base: [1], relaxed: [2] }), ['base', 3, 3]);
  const full = { text: async () => null, write: () => Promise.reject(new Error('no room')) };
  const context = { store: async () => /** @type {any} */ (full), device: '', start: async () => () => 1 };
  assert.equal((await settle(CHOICE, context)).relaxed, true);
});

test('a trial that fails leaves the relaxed build, and nothing is remembered', async () => {
  const files = {};
  assert.deepEqual(await settled({ base: [1], relaxed: [0] }, { files }), ['relaxed', 3, 3]);
  const start = () => Promise.reject(new Error('no such file'));
  const context = { store: async () => storeOf(files), device: '', start };
  assert.equal((await settle(CHOICE, context)).relaxed, true);
  assert.deepEqual(files, {});
});

test('a choice without a question is not timed', async () => {
  for (const relaxed of [true, false]) {
    const choice = { ...CHOICE, relaxed, trial: false };
    assert.deepEqual(await settled({ base: [1], relaxed: [1] }, { choice }), [relaxed ? 'relaxed' : 'base', 0, 0]);
  }
});
