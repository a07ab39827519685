// Large calls must fit the memory that was planned for them, or be refused before any work is done.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Engine, TINY } from './support/package.js';

/** @param {number} n */
const ids = (n) => Array.from({ length: n }, (_, i) => 300 + ((i * 37) % 3000));

// All the work was done, and then the result was a memory error: its padded rows were written as text in C.
test('a batch of many short prompts and a long one gives its result', async () => {
  const engine = await Engine.load(TINY, { maxRows: 256, contextLength: 6600, threads: 1 });
  const prompts = [ids(6000), ...Array.from({ length: 255 }, (_, i) => ids(1 + (i % 3)))];
  const { padded_ids, sequences } = await engine.generate(prompts, { max_new_tokens: 1, eos_token_id: [] }).result;
  assert.equal(sequences.length, 256);
  assert.deepEqual(new Set(padded_ids.map((row) => row.length)), new Set([6001]));
  assert.deepEqual(padded_ids[0].slice(0, 6000), prompts[0]);
  assert.deepEqual(padded_ids[255].slice(-1 - prompts[255].length, -1), prompts[255]);
  await engine.close();
});

test('log-probabilities of the whole vocabulary: for the rows that fit, else refused before the first token', async () => {
  const engine = await Engine.load(TINY, { maxRows: 256, contextLength: 1800, threads: 1 });
  const { vocabSize } = engine.info;
  const settings = { max_new_tokens: 2, do_sample: true, seed: 1, eos_token_id: [], logprobs: vocabSize };
  const chunks = [];
  for await (const chunk of engine.generate(ids(5), settings)) chunks.push(chunk);
  assert.deepEqual(
    new Set(chunks.flatMap(({ logprobs = [] }) => logprobs.map((one) => one.top_raw.length))),
    new Set([vocabSize]),
  );
  const seen = [];
  const many = engine.generate(ids(5), { ...settings, num_return_sequences: 256 });
  many.result.catch(() => {});
  await assert.rejects(
    (async () => {
      for await (const chunk of many) seen.push(chunk);
    })(),
    (/** @type {any} */ error) =>
      error.code === 'memory' && error.message.includes(`logprobs ${vocabSize} of 256 rows`),
  );
  assert.equal(seen.length, 0);
  const again = await engine.generate(ids(5), { max_new_tokens: 2, eos_token_id: [] }).result;
  assert.equal(again.sequences[0].token_ids.length, 2);
  await engine.close();
});
