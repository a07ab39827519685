// The rules of generation through the public API, one by one: what the settings make of the logits that forward() gives, rows
// and their seeds, padding, refusals, and the model's own defaults.
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { checkpoint, Engine, greedy, TINY, withCode } from './support/package.js';

const PROMPT = 'It is a truth';
const support = (name) => new URL(`./support/${name}`, import.meta.url);

/** @type {InstanceType<typeof Engine>} */
let engine;
let expected = [];
before(async () => {
  engine = await Engine.load(TINY, { threads: 1, contextLength: 512, maxRows: 8 });
  expected = await greedy(engine, PROMPT, 12);
});
after(() => engine.close());

const stillWorks = async () => assert.deepEqual(await greedy(engine, PROMPT, 12), expected);
const idsOf = async (text) => [...(await engine.tokenize(text))];
const run = async (prompt, settings) => engine.generate(prompt, settings).result;

async function logprobsOf(prompt, settings) {
  const all = [];
  for await (const { logprobs = [] } of engine.generate(prompt, settings)) all.push(...logprobs);
  return all;
}

/** Logits of the positions that choose the tokens, from the bare model. */
async function logitsOf(prompt, token_ids) {
  const ids = [...prompt, ...token_ids.slice(0, -1)];
  const { logits, shape } = await engine.forward({ input_ids: [ids], logits_to_keep: token_ids.length });
  return token_ids.map((_, i) => [...logits.subarray(i * shape[2], (i + 1) * shape[2])]);
}

function logSoftmax(scores) {
  const most = Math.max(...scores);
  const sum = scores.reduce((total, score) => total + Math.exp(score - most), 0);
  return scores.map((score) => score - most - Math.log(sum));
}

const near = (got, wanted, what) => assert.ok(Math.abs(got - wanted) < 2e-5, `${what}: ${got}, wanted ${wanted}`);

/** The n best of a row, as [id, value] in descending order. */
const best = (values, n) =>
  [...values.entries()].sort(([i, a], [j, b]) => b - a || i - j).slice(0, n); // prettier-ignore

// ---- log-probabilities

test('raw log-probabilities are the log-softmax of the logits, of the chosen and of the n best tokens', async () => {
  const prompt = await idsOf(PROMPT);
  const all = await logprobsOf(prompt, { max_new_tokens: 6, logprobs: 5 });
  const logits = await logitsOf(prompt, expected.slice(0, 6));
  assert.equal(all.length, 6);
  for (const [step, one] of all.entries()) {
    const wanted = logSoftmax(logits[step]);
    assert.equal(one.token_id, expected[step]);
    near(one.raw, wanted[one.token_id], `step ${step}`);
    assert.deepEqual(
      one.top_raw.map(([id]) => id),
      best(wanted, 5).map(([id]) => id),
    );
    for (const [id, value] of one.top_raw) near(value, wanted[id], `step ${step}, token ${id}`);
    near(one.processed, one.raw, 'nothing was processed');
    assert.deepEqual(one.top_processed, one.top_raw);
  }
});

test('processed ones are those of what is drawn from: penalties, temperature and cuts', async () => {
  const prompt = await idsOf('She was not to be persuaded, and she');
  const settings = { do_sample: true, seed: 11, max_new_tokens: 5, logprobs: 8 };
  const how = { repetition_penalty: 1.5, temperature: 0.6, top_k: 6 };
  const all = await logprobsOf(prompt, { ...settings, ...how });
  const chosen = all.map((one) => one.token_id);
  const logits = await logitsOf(prompt, chosen);
  for (const [step, one] of all.entries()) {
    near(one.raw, logSoftmax(logits[step])[one.token_id], 'raw is before all of it');
    const history = new Set([...prompt, ...chosen.slice(0, step)]);
    const penalised = logits[step].map((x, id) => (history.has(id) ? (x < 0 ? x * 1.5 : x / 1.5) : x) / 0.6);
    const kept = new Map(best(penalised, 6));
    const wanted = logSoftmax(penalised.map((x, id) => (kept.has(id) ? x : -Infinity)));
    near(one.processed, wanted[one.token_id], `step ${step}`);
    assert.deepEqual(one.top_processed.slice(0, 6).map(([id]) => id), [...kept.keys()]); // prettier-ignore
    for (const [id, value] of one.top_processed.slice(0, 6)) near(value, wanted[id], `step ${step}, token ${id}`);
    near(one.top_processed.reduce((sum, [, value]) => sum + Math.exp(value), 0), 1, 'their sum'); // prettier-ignore
    assert.deepEqual(one.top_processed.slice(6).map(([, value]) => value), [-Infinity, -Infinity]); // prettier-ignore
  }
});

test('as many as the vocabulary has can be told, and 0 tells the chosen one', async () => {
  const [whole] = await logprobsOf(PROMPT, { max_new_tokens: 1, logprobs: 4096 });
  assert.equal(new Set(whole.top_raw.map(([id]) => id)).size, 4096);
  near(whole.top_raw.reduce((sum, [, value]) => sum + Math.exp(value), 0), 1, 'their sum'); // prettier-ignore
  const [none] = await logprobsOf(PROMPT, { max_new_tokens: 1, logprobs: 0 });
  assert.deepEqual([none.top_raw, none.top_processed, none.token_id], [[], [], expected[0]]);
  assert.deepEqual(await logprobsOf(PROMPT, { max_new_tokens: 1 }), []);
  await assert.rejects(run(PROMPT, { logprobs: 4097 }), withCode('usage', /logprobs is 4097.*0 to 4096/));
});

// ---- the caller's processor

test("a caller's processor comes after all processors and before the warpers", async () => {
  const settings = { logits_processor: support('processor-order.mjs'), suppress_tokens: [7], max_new_tokens: 24 };
  const tokens = async (more) => new Set((await run(PROMPT, { ...settings, ...more })).sequences[0].token_ids);
  assert.deepEqual(await tokens({}), new Set([10]));
  assert.deepEqual(await tokens({ do_sample: true, top_k: 1, seed: 1 }), new Set([10]));
  assert.deepEqual(await tokens({ do_sample: true, top_k: 0, seed: 1 }), new Set([10, 11]));
  const far = { do_sample: true, top_k: 0, temperature: 0.001, seed: 1 };
  assert.deepEqual(await tokens(far), new Set([10]), 'temperature acts on what it left');
});

test('a processor that leaves NaN is named with its step, and the engine goes on', async () => {
  const settings = { logits_processor: support('processor-nan.mjs'), max_new_tokens: 8 };
  const text = /step 2: the logits_processor left NaN as the score of token 9/;
  await assert.rejects(run(PROMPT, settings), withCode('usage', text));
  await assert.rejects(run(PROMPT, { ...settings, do_sample: true }), withCode('usage', text));
  await stillWorks();
});

test('a processor edits every row of a batch', async () => {
  const settings = { logits_processor: support('processor-order.mjs'), suppress_tokens: [7], max_new_tokens: 3 };
  const { sequences } = await run([PROMPT, 'Emma'], settings);
  assert.deepEqual(
    sequences.map((row) => row.token_ids),
    [
      [10, 10, 10],
      [10, 10, 10],
    ],
  );
});

// ---- rows, seeds and padding

test('num_return_sequences: rows are prompt-major, and row r is the run with the seed (seed + r) mod 2^32', async () => {
  const prompts = [PROMPT, 'Emma Woodhouse, handsome, clever, and rich, with a'];
  const how = { do_sample: true, temperature: 1.2, top_k: 0, max_new_tokens: 10 };
  const { sequences, seed, usage } = await run(prompts, { ...how, num_return_sequences: 3, seed: 4294967294 });
  assert.equal(seed, 4294967294);
  assert.equal(sequences.length, 6);
  assert.equal(new Set(sequences.map((row) => row.text)).size, 6);
  for (const [r, row] of sequences.entries()) {
    const alone = await run(prompts[Math.floor(r / 3)], { ...how, seed: (4294967294 + r) % 2 ** 32 });
    assert.deepEqual({ ...alone.sequences[0], index: r }, row);
  }
  const lengths = await Promise.all(prompts.map((prompt) => engine.countTokens(prompt)));
  assert.equal(usage.prompt_tokens, lengths[0] + lengths[1], 'a prompt is read once');
  await assert.rejects(run(PROMPT, { num_return_sequences: 2 }), withCode('usage', /num_return_sequences.*do_sample/));
});

test('20 tokens are 10 and 10 more with rng_state, row by row', async () => {
  const prompts = [await idsOf(PROMPT), await idsOf('Emma')];
  const how = { do_sample: true, temperature: 1.3, top_k: 0, eos_token_id: [] };
  const whole = await run(prompts, { ...how, max_new_tokens: 20, seed: 77 });
  const first = await run(prompts, { ...how, max_new_tokens: 10, seed: 77 });
  const grown = prompts.map((prompt, r) => [...prompt, ...first.sequences[r].token_ids]);
  const second = await run(grown, { ...how, max_new_tokens: 10, rng_state: first.rng_state });
  for (const r of [0, 1]) {
    const joined = [...first.sequences[r].token_ids, ...second.sequences[r].token_ids];
    assert.deepEqual(joined, whole.sequences[r].token_ids);
  }
  assert.equal(second.rng_state, whole.rng_state);
  const [one] = first.rng_state.split(',');
  await assert.rejects(run(prompts, { ...how, rng_state: one }), withCode('usage', /rng_state.*2 rows/));
  const fresh = await Promise.all([1, 2].map(() => run(PROMPT, { ...how, max_new_tokens: 1, seed: null })));
  assert.notEqual(fresh[0].seed, fresh[1].seed, 'null is as good as none: each has a seed of its own');
  const both = await run(PROMPT, { ...how, max_new_tokens: 1, seed: 1, rng_state: one });
  assert.match(both.notes.join(), /seed 1 has no effect beside rng_state/);
  for (const bad of ['', 'x', '0'.repeat(64), `${one},`, 7])
    await assert.rejects(run(PROMPT, { ...how, rng_state: bad }), withCode('usage', /rng_state/), String(bad));
});

test('padded_ids: prompts padded on the left, outputs on the right, with pad_token_id', async () => {
  const prompts = [await idsOf('Emma'), await idsOf('She was the youngest of the two daughters'), await idsOf(PROMPT)];
  const width = Math.max(...prompts.map((prompt) => prompt.length));
  const stopping = ({ index, token_ids }) => index === 1 && token_ids.length === 2;
  const { sequences, padded_ids } = await run(prompts, { max_new_tokens: 5, pad_token_id: 77, stopping });
  assert.deepEqual(
    padded_ids,
    prompts.map((prompt, r) => [
      ...new Array(width - prompt.length).fill(77),
      ...prompt,
      ...sequences[r].token_ids,
      ...new Array(r === 1 ? 3 : 0).fill(77),
    ]),
  );
  assert.deepEqual(
    sequences.map((row) => row.token_ids.length),
    [5, 2, 5],
  );
  const { padded_ids: own } = await run(prompts.slice(0, 2), { max_new_tokens: 0 });
  assert.equal(own[0][0], engine.info.padTokenId ?? engine.info.eosTokenIds[0]);
});

test('rows of a batch stay what they are alone, with rules that look at the history', async () => {
  const prompts = [PROMPT, 'Emma', 'the the the the the the the the the'];
  for (const how of [
    { no_repeat_ngram_size: 1 },
    { repetition_penalty: 1.8, no_repeat_ngram_size: 3 },
    { do_sample: true, seed: 5, presence_penalty: 1.5, frequency_penalty: 1 },
  ]) {
    const { sequences } = await run(prompts, { max_new_tokens: 12, ...how });
    for (const [r, prompt] of prompts.entries()) {
      const seed = how.seed === undefined ? {} : { seed: how.seed + r };
      const alone = await run(prompt, { max_new_tokens: 12, ...how, ...seed });
      assert.deepEqual(sequences[r].token_ids, alone.sequences[0].token_ids, `${JSON.stringify(how)}, row ${r}`);
    }
  }
});

// ---- what cannot be run

test('rows that the pool does not hold are refused before anything runs', async () => {
  const other = await Engine.load(TINY, { threads: 1, contextLength: 128, maxRows: 4 });
  const prompt = await idsOf('It was a very long walk. '.repeat(5));
  const rows = [prompt, ...[1, 2, 3].map((n) => [n, ...prompt])];
  const needed = rows.reduce((sum, row) => sum + row.length, 0);
  assert.ok(needed > 128);
  await other.prefill(prompt);
  let progress = 0;
  const onProgress = () => progress++;
  const text = new RegExp(`${needed} tokens together, the context holds 128`);
  await assert.rejects(other.generate(rows, { onProgress }).result, withCode('context', text));
  assert.equal(progress, 0);
  const { usage } = await other.generate([...prompt, 5], { max_new_tokens: 1 }).result;
  assert.equal(usage.cached_tokens, prompt.length, 'what was read before is still there');
  const many = { num_return_sequences: 5, do_sample: true };
  await assert.rejects(other.generate(prompt, many).result, withCode('usage', /maxRows/));
  await other.close();
});

test('settings that leave no token to choose are a usage error that names the step, and the engine goes on', async () => {
  const all = Array.from({ length: 4096 }, (_, id) => id);
  for (const how of [{}, { do_sample: true }, { do_sample: true, top_p: 0.1 }, { renormalize_logits: true }])
    await assert.rejects(
      run(PROMPT, { suppress_tokens: all, ...how }),
      withCode('usage', /step 0:.*no token to choose/),
    );
  const later = { begin_suppress_tokens: [], bad_words_ids: all.map((id) => [expected[0], id]) };
  await assert.rejects(run(PROMPT, later), withCode('usage', /step 1:.*no token to choose/));
  const bias = Object.fromEntries(all.map((id) => [id, -Infinity]));
  await assert.rejects(run(PROMPT, { logit_bias: bias }), withCode('usage', /no token to choose/));
  const forced = { forced_eos_token_id: 5, suppress_tokens: [5] };
  await assert.rejects(run(PROMPT, forced), withCode('usage', /forced_eos_token_id.*suppress_tokens/));
  await stillWorks();
});

test('unknown keys are refused by name, with the one that may be meant; metadata is ignored, beams are refused', async () => {
  for (const [key, meant] of [
    ['temprature', 'temperature'],
    ['maxNewTokens', 'max_new_tokens'],
    ['max_tokens', 'max_new_tokens'],
    ['stop_string', 'stop_strings'],
    ['repeat_penalty', 'repetition_penalty'],
    ['top-p', 'top_p'],
    ['on_progress', 'onProgress'],
    ['temp', 'temperature'],
    ['stop', 'stop_strings'],
    ['n_predict', 'max_new_tokens'],
    ['max_completion_tokens', 'max_new_tokens'],
  ]) {
    const text = new RegExp(`unknown key ${key}: did you mean ${meant}\\?`);
    await assert.rejects(run(PROMPT, { [key]: 1 }), withCode('usage', text), key);
  }
  for (const key of ['zzz', '__proto__x', 'ä', '', 'x'.repeat(300)])
    await assert.rejects(run(PROMPT, { [key]: 1 }), withCode('usage', /unknown key/), key);
  for (const key of ['chat', 'custom_processor'])
    await assert.rejects(run(PROMPT, { [key]: true }), withCode('usage', new RegExp(`unknown key ${key}`)));
  const metadata = { _from_model_config: true, transformers_version: '5.24.0', bos_token_id: 1, use_cache: true };
  const { sequences, notes } = await run(PROMPT, { ...metadata, max_new_tokens: 12 });
  assert.deepEqual([sequences[0].token_ids, notes], [expected, []]);
  for (const refused of [{ num_beams: 2 }, { penalty_alpha: 0.6 }, { guidance_scale: 1.5 }, { constraints: [1] }])
    await assert.rejects(run(PROMPT, refused), withCode('usage', new RegExp(Object.keys(refused)[0])));
  assert.deepEqual((await run(PROMPT, { num_beams: 1, max_new_tokens: 1 })).notes, []);
  await stillWorks();
});

test('what is ignored is told in notes', async () => {
  const notes = async (settings) => (await run(PROMPT, { max_new_tokens: 1, ...settings })).notes.join('\n');
  assert.match(await notes({ temperature: 0.7 }), /temperature 0\.7 has no effect without do_sample/);
  assert.match(await notes({ top_p: 0.5 }), /top_p has no effect without do_sample/);
  assert.match(await notes({ max_length: 100 }), /max_new_tokens 1 takes precedence over max_length 100/);
  assert.match(
    await notes({ min_length: 3, min_new_tokens: 1 }),
    /min_new_tokens 1 takes precedence over min_length 3/,
  );
  assert.match(await notes({ early_stopping: true }), /early_stopping has no effect/);
  assert.equal(await notes({ temperature: 0.7, do_sample: true }), '');
  assert.equal(await notes({ temperature: 0 }), '');
});

test('the end of the context forces forced_eos_token_id where no length does', async () => {
  const prompt = (await idsOf('She was not to be persuaded. '.repeat(80))).slice(0, 500);
  const { sequences, padded_ids } = await run(prompt, { forced_eos_token_id: 4095, eos_token_id: 4095 });
  assert.deepEqual([sequences[0].finish_reason, padded_ids[0].length, padded_ids[0].at(-1)], ['eos', 512, 4095]);
  const two = await run([prompt.slice(0, 240), prompt.slice(0, 250)], {
    forced_eos_token_id: 4095,
    eos_token_id: 4095,
  });
  for (const row of two.sequences) assert.deepEqual([row.finish_reason, row.token_ids.at(-1)], ['eos', 4095]);
});

test('settings, prompts and callbacks that are none are usage errors of the result', async () => {
  const message = [{ role: 'user', content: 'x' }];
  for (const bad of [5, 'text', true, [1], () => 1]) {
    await assert.rejects(engine.generate(PROMPT, bad).result, withCode('usage', /settings are/), String(bad));
    await assert.rejects(engine.chat(message, bad).result, withCode('usage', /settings are/), String(bad));
  }
  assert.equal((await run(PROMPT, null)).sequences[0].token_ids[0], expected[0]);
  assert.ok((await engine.chat(message, null).result).sequences);
  for (const key of ['stopping', 'onProgress', 'signal'])
    for (const bad of [5, 'text', {}])
      await assert.rejects(run(PROMPT, { [key]: bad }), withCode('usage', new RegExp(`^${key} is`)), `${key} ${bad}`);
  const nothing = { stopping: null, onProgress: null, signal: null, stop_strings: null, logits_processor: null };
  assert.deepEqual((await run(PROMPT, { ...nothing, max_new_tokens: 12 })).sequences[0].token_ids, expected);
  await stillWorks();
});

test('a call takes what it is given at the call, whatever becomes of it afterwards', async () => {
  const ids = await idsOf(PROMPT);
  const settings = { max_new_tokens: 12 };
  const first = engine.generate(PROMPT, { max_new_tokens: 2 }).result;
  const waiting = engine.generate(ids, settings);
  ids.push(5, 6, 7);
  settings.max_new_tokens = 1;
  settings.suppress_tokens = expected;
  assert.deepEqual((await waiting.result).sequences[0].token_ids, expected);
  await first;
  const messages = [{ role: 'user', content: 'Who is Emma?' }];
  const { usage } = await engine.chat(messages, { max_new_tokens: 1 }).result;
  const answer = engine.chat(messages, { max_new_tokens: 1 }).result;
  messages[0].content = 'Another question that is longer';
  messages.push({ role: 'assistant', content: '' });
  assert.equal((await answer).usage.prompt_tokens, usage.prompt_tokens);
});

test('next() may be called ahead: every chunk comes once, in order', async () => {
  const chunks = engine.generate(PROMPT, { max_new_tokens: 12 })[Symbol.asyncIterator]();
  const ahead = await Promise.all(Array.from({ length: 14 }, () => chunks.next()));
  assert.deepEqual(
    ahead.flatMap(({ value }) => value?.token_ids ?? []),
    expected,
  );
  assert.equal(ahead.at(-1).done, true);
});

// ---- models that are changed for the test

const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-rules-'));
after(() => rmSync(folder, { recursive: true }));

/** A fixture's checkpoint of its own. */
function copyOf(name) {
  const place = path.join(folder, `${name}/`);
  cpSync(checkpoint(name), place, { recursive: true });
  return place;
}

/** Changes float32 values of a tensor in a checkpoint. */
function setWeights(place, tensor, change) {
  const file = path.join(place, 'model.safetensors');
  const bytes = readFileSync(file);
  const header = Number(bytes.readBigUInt64LE(0));
  const { data_offsets, dtype, shape } = JSON.parse(bytes.subarray(8, 8 + header).toString())[tensor];
  assert.equal(dtype, 'F32');
  change((at, value) => bytes.writeFloatLE(value, 8 + header + data_offsets[0] + 4 * at), shape);
  writeFileSync(file, bytes);
}

const FLOAT = { quantize: 'none', kvType: 'f32', threads: 1, contextLength: 64 };

const HUGE = 3.4e38;

/**
 * The first step whose hidden state overflows with finite weights of a row of the head, to +inf and to -inf, while the products of
 * all steps before are below 0: `up` and `down` are [dimension, weight].
 */
function overflows(states, size) {
  const at = (i, k) => states[i * size + k];
  for (let step = 1; step * size < states.length; step++) {
    const find = (towards) => {
      for (let k = 0; k < size; k++)
        for (const weight of [HUGE, -HUGE]) {
          const before = Array.from({ length: step }, (_, i) => weight * at(i, k));
          if (before.every((value) => value < 0) && (towards * weight * at(step, k)) / HUGE > 1.01) return [k, weight];
        }
      return null;
    };
    const [up, down] = [find(1), find(-1)];
    if (up && down) return { step, up, down };
  }
  return assert.fail('no step overflows');
}

test('logits that are NaN or infinite are a model error that names the step; remove_invalid_values goes on', async () => {
  const place = copyOf('untied-gqa4-2-f32');
  const prompt = [5, 6, 7];
  const settings = { max_new_tokens: 24, eos_token_id: [] };
  const sound = await Engine.load(place, FLOAT);
  const ids = (await sound.generate(prompt, settings).result).sequences[0].token_ids;
  const { hidden } = await sound.forward({ input_ids: [[...prompt, ...ids]], output_hidden_states: true });
  const { hiddenSize } = sound.info;
  const { step, up, down } = overflows(hidden.at(-1).subarray((prompt.length - 1) * hiddenSize), hiddenSize);
  await sound.close();

  for (const [places, word] of /** @type {[[number, number][], string][]} */ ([
    [[up], '\\+inf'],
    [[up, down], 'NaN'],
  ])) {
    setWeights(place, 'lm_head.weight', (set, [, width]) => {
      for (let k = 0; k < width; k++) set(9 * width + k, 0);
      for (const [k, weight] of places) set(9 * width + k, weight);
    });
    const broken = await Engine.load(place, FLOAT);
    const text = new RegExp(`step ${step}: the model's score of token 9 is ${word}.*remove_invalid_values`);
    await assert.rejects(broken.generate(prompt, settings).result, withCode('model', text));
    const short = await broken.generate(prompt, { ...settings, max_new_tokens: step }).result;
    assert.deepEqual(short.sequences[0].token_ids, ids.slice(0, step), 'the engine goes on');
    const more = await broken.generate(prompt, { ...settings, remove_invalid_values: true }).result;
    assert.equal(more.sequences[0].token_ids.length, 24);
    await broken.close();
  }
});

test("the model's generation_config.json fills the keys that a call leaves out", async () => {
  const place = copyOf('mha');
  const load = async (config) => {
    writeFileSync(path.join(place, 'generation_config.json'), JSON.stringify(config));
    return Engine.load(place, FLOAT);
  };
  const plain = await load({ eos_token_id: [] });
  const free = (await plain.generate([5, 6], { max_new_tokens: 8 }).result).sequences[0].token_ids;
  await plain.close();

  const other = await load({
    eos_token_id: [],
    max_new_tokens: 5,
    suppress_tokens: [free[0]],
    repetition_penalty: 1,
    do_sample: true,
    top_k: 1,
    num_beams: 4,
    transformers_version: '5.24.0',
    unheard_of: 3,
    top_p: 7,
  });
  assert.deepEqual(other.info.generationConfig, {
    eos_token_id: [],
    max_new_tokens: 5,
    suppress_tokens: [free[0]],
    repetition_penalty: 1,
    do_sample: true,
    top_k: 1,
  });
  const run = async (settings) => other.generate([5, 6], settings).result;
  const own = await run({});
  assert.equal(own.sequences[0].token_ids.length, 5);
  assert.ok(!own.sequences[0].token_ids.includes(free[0]));
  assert.deepEqual((await run({ seed: 1 })).sequences, (await run({ seed: 2 })).sequences, 'top_k 1 is of the file');
  for (const key of ['num_beams', 'unheard_of', 'top_p']) assert.match(own.notes.join('\n'), new RegExp(key));
  assert.ok(!/transformers_version/.test(own.notes.join()));
  const given = await run({ max_new_tokens: 8, suppress_tokens: [], do_sample: false });
  assert.deepEqual(given.sequences[0].token_ids, free, 'what a call gives counts');
  const nothing = await run({ max_new_tokens: null, suppress_tokens: undefined });
  assert.deepEqual(nothing.sequences, own.sequences, 'null and undefined leave a key out');
  await other.close();

  for (const stop_strings of [[5], [''], '', [[]], ['ok', null]]) {
    const odd = await load({ eos_token_id: [], max_new_tokens: 2, stop_strings });
    const { sequences, notes } = await odd.generate([5, 6]).result;
    assert.equal(sequences[0].token_ids.length, 2);
    assert.match(notes.join(), /generation_config\.json: stop_strings is .*: ignored/, JSON.stringify(stop_strings));
    assert.deepEqual((await odd.generate([5, 6], { stop_strings: [] }).result).notes, []);
    await odd.close();
  }

  rmSync(path.join(place, 'tokenizer.json'));
  const mute = await load({ eos_token_id: [], max_new_tokens: 2, stop_strings: ['ok'] });
  const { sequences, notes } = await mute.generate([5, 6]).result;
  assert.equal(sequences[0].token_ids.length, 2);
  assert.match(notes.join(), /stop_strings need a tokenizer, and this model came without one: ignored/);
  await mute.close();
});
