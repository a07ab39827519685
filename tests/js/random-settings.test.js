// Generations with settings at random through the whole API: chunks join to the result, ends are the right ones, what is refused is
// refused by a code, and the engine gives the same afterwards.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine, greedy, QwenError, TINY } from './support/package.js';

const DRAWS = 400;

/** A generator of its own, so that a failure comes again. */
function dice(state) {
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

/** Settings, each in `rarity` draws once. */
function randomSettings(roll) {
  const one = (list) => list[roll(list.length)];
  const settings = { max_new_tokens: roll(14), seed: roll(2 ** 32), do_sample: roll(2) === 1 };
  /** @type {[number, () => object][]} */
  const choices = [
    [3, () => ({ temperature: one([0, 0.01, 0.7, 3, 50]) })],
    [3, () => ({ top_k: one([0, 1, 3, 4096, 99999]) })],
    [3, () => ({ top_p: one([0, 0.1, 0.9, 1]) })],
    [4, () => ({ min_p: one([0, 0.5, 1]) })],
    [4, () => ({ typical_p: one([0.1, 0.9, 1]) })],
    [4, () => ({ stop_strings: one([['e'], [' the', 'a b'], 'th', ['\n'], ['é', '’']]) })],
    [4, () => ({ num_return_sequences: 1 + roll(3) })],
    [4, () => ({ logprobs: roll(5) })],
    [4, () => ({ forced_eos_token_id: one([4095, [4095, 3]]) })],
    [4, () => ({ min_new_tokens: roll(10) })],
    [4, () => ({ no_repeat_ngram_size: roll(4) })],
    [4, () => ({ eos_token_id: one([[], [13], [272, 286], 4095]) })],
    [4, () => ({ skip_special_tokens: roll(2) === 0 })],
    [6, () => ({ max_time: one([0, 0.001, 10]) })],
    [5, () => ({ exponential_decay_length_penalty: [roll(4), 1 + roll(9)] })],
    [5, () => ({ bad_words_ids: [[roll(4096)], [roll(4096), roll(4096)]] })],
    [5, () => ({ presence_penalty: roll(5) - 2, frequency_penalty: roll(5) - 2 })],
    [6, () => ({ renormalize_logits: true })],
    [5, () => ({ stopping: ({ index, token_ids }) => index % 2 === 0 && token_ids.length === 3 })],
  ];
  for (const [rarity, make] of choices) if (roll(rarity) === 0) Object.assign(settings, make());
  return settings;
}

/** Text and ids of each row as they came. */
async function collect(run) {
  const rows = [];
  for await (const { index, text, token_ids } of run) {
    rows[index] ??= { text: '', token_ids: [] };
    rows[index].text += text;
    rows[index].token_ids.push(...token_ids);
  }
  return rows;
}

function checkRow({ text, token_ids, finish_reason }, streamed, settings, eosTokenIds) {
  assert.deepEqual({ text, token_ids }, streamed ?? { text: '', token_ids: [] });
  const { max_new_tokens, eos_token_id = eosTokenIds, stop_strings = [] } = settings;
  const ended = [eos_token_id].flat().includes(token_ids.at(-1));
  assert.equal(finish_reason === 'eos', ended);
  assert.ok(token_ids.length <= max_new_tokens);
  if (finish_reason === 'length') assert.equal(token_ids.length, max_new_tokens);
  if (finish_reason === 'time') assert.ok('max_time' in settings);
  if (finish_reason === 'stopping') assert.equal(token_ids.length, 3);
  if (!ended) for (const stop of [stop_strings].flat()) assert.ok(!text.includes(stop), JSON.stringify([stop, text]));
}

test('random settings and prompts keep every promise of a result', async () => {
  const engine = await Engine.load(TINY, { threads: 1, contextLength: 256, maxRows: 8 });
  const roll = dice(20261201);
  const expected = await greedy(engine);
  let ran = 0;
  for (let i = 0; i < DRAWS; i++) {
    const settings = randomSettings(roll);
    const prompts = Array.from({ length: 1 + roll(3) }, () => Array.from({ length: 1 + roll(30) }, () => roll(4093)));
    const run = engine.generate(prompts, settings);
    try {
      const streamed = await collect(run);
      const { sequences, padded_ids } = await run.result;
      assert.equal(sequences.length, prompts.length * (settings.num_return_sequences ?? 1));
      for (const row of sequences) checkRow(row, streamed[row.index], settings, engine.info.eosTokenIds);
      assert.equal(new Set(padded_ids.map((row) => row.length)).size, 1);
      ran++;
    } catch (error) {
      if (error instanceof QwenError) assert.equal(error.code, 'usage', error.message);
      else throw new Error(`draw ${i}, ${JSON.stringify(settings)}`, { cause: error });
    }
    if (i % 40 === 0) assert.deepEqual(await greedy(engine), expected);
  }
  assert.ok(ran > DRAWS / 2, `${ran} of ${DRAWS} ran`);
  await engine.close();
});
