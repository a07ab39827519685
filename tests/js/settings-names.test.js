// The same settings by the same names: the contract's keys in dist/cli.js and in the native command line, which gives the same
// result from them. (The page: tests/browser/settings.test.js.)
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { settingKeys } from '../support/api-keys.js';
import { checkpoint, TINY } from './support/package.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const CLI = [process.execPath, path.join(root, 'dist/cli.js')];
const NATIVE = [path.join(root, 'build/native/qwen2')];
const PROMPT = 'It is a truth universally acknowledged, that';

/** A value of every setting that all of them know, as it is written on a command line. */
const VALUES = {
  max_new_tokens: 6,
  max_length: 500,
  min_length: 2,
  min_new_tokens: 3,
  remove_invalid_values: true,
  renormalize_logits: true,
  do_sample: true,
  temperature: 1.3,
  top_k: 40,
  top_p: 0.9,
  min_p: 0.01,
  typical_p: 0.95,
  epsilon_cutoff: 0.0001,
  eta_cutoff: 0.0001,
  repetition_penalty: 1.1,
  presence_penalty: 0.5,
  frequency_penalty: 0.2,
  no_repeat_ngram_size: 3,
  bad_words_ids: '[[5], [6, 7]]',
  sequence_bias: '[[[8], 1.5], [[9, 10], -2]]',
  logit_bias: '{"12": 3, "13": "-inf"}',
  suppress_tokens: '[20]',
  begin_suppress_tokens: '[21]',
  forced_eos_token_id: 4095,
  exponential_decay_length_penalty: '[2, 1.1]',
  eos_token_id: '[4094, 4095]',
  pad_token_id: 4093,
  stop_strings: 'never there',
  max_time: 100,
  response_format: '{"type": "regex", "regex": "[^]*"}',
  whitespace: 'compact',
  finish_in_budget: false,
  num_return_sequences: 2,
  seed: 4294967295,
  logprobs: 2,
  skip_special_tokens: false,
};
/** Of a run of its own, and of JavaScript only. */
const OTHERS = ['rng_state', 'logits_processor'];

const options = (values) => Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)]);

/** @param {string[]} program @param {string[]} args */
function run([command, ...first], args) {
  const { status, stdout, stderr } = spawnSync(command, [...first, ...args], { encoding: 'utf8', timeout: 60_000 });
  return { status, stdout, stderr };
}

function generate(program, values, model = TINY) {
  const got = run(program, ['generate', '--model', model, '--prompt', PROMPT, '--json', ...options(values)]);
  assert.deepEqual([got.status, got.stderr], [0, ''], got.stderr);
  return JSON.parse(got.stdout);
}

test('the native command line is built', () => assert.ok(existsSync(NATIVE[0]), 'npm test builds it'));

test('every setting of the contract is an option of both command lines', () => {
  assert.deepEqual([...Object.keys(VALUES), ...OTHERS].sort(), settingKeys().sort());
  const help = run(CLI, ['generate', '--help']).stdout;
  const chat = run(CLI, ['chat', '--help']).stdout;
  const native = run(NATIVE, ['--help']).stdout;
  for (const key of settingKeys()) {
    for (const text of [help, chat]) assert.match(text, new RegExp(`^    --${key} +\\S`, 'm'));
    if (key !== 'logits_processor') assert.match(native, new RegExp(`^    --${key}\\b`, 'm'));
  }
  assert.match(chat, /^ {4}--truncate /m);
});

test('both give the same result from all settings together, and go on from its state', () => {
  const [wasm, native] = [CLI, NATIVE].map((program) => generate(program, VALUES));
  for (const result of [wasm, native]) {
    for (const key of ['queue', 'prefill', 'decode']) assert.ok(result.timings[key] >= 0, key);
    delete result.timings;
  }
  assert.deepEqual(native, wasm);
  assert.equal(wasm.sequences.length, 2);
  assert.equal(wasm.seed, 4294967295);
  const tokens = wasm.sequences.reduce((sum, row) => sum + row.token_ids.length, 0);
  assert.equal(wasm.chunks.filter((chunk) => chunk.logprobs).length, tokens);
  assert.equal(wasm.chunks[0].logprobs[0].top_raw.length, 2);

  const more = { do_sample: true, max_new_tokens: 4, num_return_sequences: 2, rng_state: wasm.rng_state };
  const [a, b] = [CLI, NATIVE].map((program) => generate(program, more));
  assert.deepEqual(a.sequences, b.sequences);
  assert.equal(a.rng_state, b.rng_state);
  assert.notDeepEqual(a.sequences, generate(NATIVE, { ...more, rng_state: b.rng_state }).sequences);
});

test('without a seed each run has its own, and tells it', () => {
  for (const program of [CLI, NATIVE]) {
    const settings = { do_sample: true, max_new_tokens: 8 };
    const [one, two] = [generate(program, settings), generate(program, settings)];
    assert.notEqual(one.seed, two.seed);
    const again = generate(program, { ...settings, seed: one.seed });
    assert.deepEqual(again.sequences, one.sequences);
  }
});

test('max_time ends a run of either', () => {
  for (const program of [CLI, NATIVE]) {
    const { sequences } = generate(program, { max_time: 0, eos_token_id: '[]' });
    assert.equal(sequences[0].finish_reason, 'time');
    assert.equal(sequences[0].token_ids.length, 1);
  }
});

test('what is refused is refused by name, with exit code 2', () => {
  for (const program of [CLI, NATIVE])
    for (const [key, value] of [
      ['top_p', '7'],
      ['bad_words_ids', '[[99999]]'],
      ['eos_token_id', '-1'],
      ['seed', '4294967296'],
      ['stop_strings', ''],
    ]) {
      const got = run(program, ['generate', '--model', TINY, '--prompt', PROMPT, `--${key}`, value]);
      assert.deepEqual([got.status, got.stdout], [2, ''], `${program.at(-1)} ${key}`);
      assert.ok(got.stderr.includes(key), got.stderr);
    }
});

test('an option that is given twice is refused, not overruled', () => {
  for (const [key, value] of [
    ['top_k', '5'],
    ['seed', '5'],
    ['model', TINY],
  ]) {
    const args = ['generate', '--model', TINY, '--prompt', PROMPT, '--max_new_tokens', '1'];
    const twice = key === 'model' ? [`--${key}`, value] : [`--${key}`, value, `--${key}`, value];
    const got = run(NATIVE, [...args, ...twice]);
    assert.deepEqual([got.status, got.stdout], [2, ''], key);
    assert.match(got.stderr, new RegExp(`--${key} is given 2 times`));
  }
});

const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-names-'));
after(() => rmSync(folder, { recursive: true }));

test("the model's own generation_config.json fills what is not given, stop_strings and max_time too", () => {
  const model = path.join(folder, 'model/');
  cpSync(checkpoint('mha'), model, { recursive: true });
  const write = (config) => writeFileSync(path.join(model, 'generation_config.json'), JSON.stringify(config));
  write({ eos_token_id: [], max_new_tokens: 12 });
  const free = generate(NATIVE, { skip_special_tokens: false }, model).sequences[0];
  assert.equal(free.token_ids.length, 12);
  const [stop] = /[A-Za-z]{3}/.exec(free.text);
  write({ eos_token_id: [], max_new_tokens: 12, stop_strings: [stop, 'never'] });
  for (const program of [CLI, NATIVE]) {
    const [row] = generate(program, { skip_special_tokens: false }, model).sequences;
    assert.deepEqual([row.finish_reason, row.text], ['stop_string', free.text.slice(0, free.text.indexOf(stop))]);
  }
  write({ eos_token_id: [], max_time: 0 });
  for (const program of [CLI, NATIVE]) {
    assert.equal(generate(program, {}, model).sequences[0].finish_reason, 'time');
    assert.equal(generate(program, { max_time: 100, max_new_tokens: 3 }, model).sequences[0].finish_reason, 'length');
  }
});
