// Running a loaded model through the built package in Node: text, logits, generation, stopping, aborting, closing.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { after, before, test } from 'node:test';
import { Engine, greedy, QwenError, selfTest, TINY, withCode } from './support/package.js';

const PROMPT = 'It is a truth';
const support = (name) => new URL(`./support/${name}`, import.meta.url);

/** @type {InstanceType<typeof Engine>} */
let engine;
let expected = [];
before(async () => {
  engine = await Engine.load(TINY, { threads: 1, contextLength: 512, maxRows: 4 });
  expected = await greedy(engine, PROMPT, 12);
});
after(() => engine.close());

/** After whatever a test did, the next call gives what a fresh engine gives. */
const stillWorks = async () => assert.deepEqual(await greedy(engine, PROMPT, 12), expected);

const chunksOf = async (run) => {
  const chunks = [];
  for await (const chunk of run) chunks.push(chunk);
  return chunks;
};

// ---- text

test('text becomes ids and ids the text', async () => {
  for (const text of ['', ' leading', 'Hello,  world!\n\n', 'naïve – “quoted” 你好 👩‍👩‍👧', 'x != y , z . a ? b']) {
    const ids = await engine.tokenize(text);
    assert.ok(ids instanceof Int32Array);
    assert.equal(await engine.detokenize(ids), text);
    assert.equal(await engine.countTokens(text), ids.length);
  }
  assert.deepEqual(await engine.tokenize(''), new Int32Array(0));
});

test('a batch of texts is padded on the left', async () => {
  const { input_ids, attention_mask } = await engine.tokenize(['Emma', 'Emma Woodhouse, handsome']);
  const [short, long] = [await engine.tokenize('Emma'), await engine.tokenize('Emma Woodhouse, handsome')];
  const pads = long.length - short.length;
  assert.deepEqual(input_ids, [[...new Array(pads).fill(4093), ...short], [...long]]);
  assert.deepEqual(attention_mask[0], [...new Array(pads).fill(0), ...new Array(short.length).fill(1)]);
  assert.deepEqual(await engine.tokenize([]), { input_ids: [], attention_mask: [] });
});

test('special tokens in text are ids unless parse_special is false; skip_special_tokens leaves them out', async () => {
  const marker = await engine.detokenize([engine.info.eosTokenIds[0]]);
  assert.deepEqual([...(await engine.tokenize(marker))], [engine.info.eosTokenIds[0]]);
  const plain = await engine.tokenize(marker, { parse_special: false });
  assert.ok(plain.length > 1);
  assert.equal(await engine.detokenize(plain), marker);
  const ids = [...(await engine.tokenize('a')), engine.info.eosTokenIds[0]];
  assert.equal(await engine.detokenize(ids, { skip_special_tokens: true }), 'a');
});

test('a long text, tokenised in pieces, has the ids of the whole', async () => {
  const lines = Array.from(
    { length: 4000 },
    (_, i) => `Line ${i}, with "words" and ${i % 7} blanks${' '.repeat(i % 7)}\n`,
  );
  const whole = await engine.tokenize(lines.join(''));
  assert.equal(await engine.detokenize(whole), lines.join(''));
  const byLine = [];
  // A line end and a letter after it are always a boundary, and each of these texts is short enough to stay whole.
  for (let at = 0; at < lines.length; at += 500)
    byLine.push(...(await engine.tokenize(lines.slice(at, at + 500).join(''))));
  assert.deepEqual([...whole], byLine);

  const sentence = [...(await engine.tokenize(' She walked to the village'))];
  const [first, ...rest] = new Array(40_000).fill(' She walked to the village');
  const megabyte = await engine.tokenize([first, ...rest].join(''));
  assert.equal(megabyte.length, 40_000 * sentence.length);
  assert.ok(megabyte.every((id, i) => id === sentence[i % sentence.length]));
});

test('a long text without blanks or line ends has the same ids wherever it is cut', async () => {
  const units = [
    '你好，世界。',
    '"a":1,',
    '{"k":[1,2.5]},',
    'かな、カナ；',
    '한글,',
    "don't,it's;",
    'e\u0301,',
    '１２，',
    '½"',
    "x'll,",
  ];
  let seed = 9;
  const next = () => (seed = (seed * 1664525 + 1013904223) >>> 0) >>> 16;
  let text = 'B';
  while (text.length < 300_000) text += units[next() % units.length];
  const ids = [...(await engine.tokenize(text))];
  assert.equal(await engine.detokenize(ids), text.normalize('NFC'));
  // A line end and a letter behind it are a boundary, so that what stands before moves all further cuts.
  for (const lines of [7, 20_001]) {
    const before = 'A\n'.repeat(lines);
    const start = await engine.tokenize(before);
    const all = await engine.tokenize(before + text);
    assert.equal(all.length, start.length + ids.length);
    assert.ok(ids.every((id, i) => all[start.length + i] === id));
  }
  const large = '秋の夜、"1,2";'.repeat(40_000);
  assert.ok((await engine.countTokens(large)) > 200_000);
  await assert.rejects(engine.generate(large).result, withCode('context', /512/));
});

test('one unbroken run of letters, blanks or ideographs takes time in proportion', async () => {
  for (const unit of ['a', '_', '\n', ' ', '你', '{"a":[1,2],"b":"c"},']) {
    /** The best of three, so that other work on the machine does not count. */
    const timed = async (n) => {
      const text = unit.repeat(n / unit.length);
      const times = [];
      for (let i = 0; i < 3; i++) {
        const started = performance.now();
        const ids = await engine.tokenize(text);
        times.push(performance.now() - started);
        assert.equal(await engine.detokenize(ids), text);
      }
      return Math.min(...times);
    };
    await timed(1000);
    const [short, long] = [await timed(5000), await timed(50_000)];
    // In proportion it is 10 times, with the square 100.
    assert.ok(long < 40 * short, `${JSON.stringify(unit)}: ${short} ms for 5,000 characters, ${long} for 50,000`);
  }
});

test('with threads, long texts go into shared memory and come out of it as they are', async () => {
  const pair = await Engine.load(TINY, { threads: 2, contextLength: 512 });
  const text = 'Emma – “naïve” 你好 👩‍👩‍👧\n'.repeat(5000);
  const ids = await pair.tokenize(text);
  assert.deepEqual(ids, await engine.tokenize(text));
  assert.equal(await pair.detokenize(ids), text);
  await pair.close();
});

test('NUL and lone surrogates in text do no harm', async () => {
  assert.equal(await engine.detokenize(await engine.tokenize('1\u00002')), '1\u00002');
  assert.equal(await engine.detokenize(await engine.tokenize('a\ud800b')), 'a\ufffdb');
  const { notes } = await engine.generate('a\udc00b', { max_new_tokens: 1, stop_strings: '\ud800' }).result;
  assert.equal(notes.filter((note) => /lone surrogate/.test(note)).length, 2);
});

test('what is no text or no id is a usage error', async () => {
  for (const bad of [7, null, undefined, {}]) await assert.rejects(engine.tokenize(bad), withCode('usage'));
  await assert.rejects(engine.tokenize(['a', 7]), withCode('usage', /text 1/));
  for (const bad of [['a'], [1.5], [NaN], 7, null]) await assert.rejects(engine.detokenize(bad), withCode('usage'));
  for (const bad of [[-1], [4096], [2 ** 31 - 1]]) {
    await assert.rejects(engine.detokenize(bad), withCode('usage', /out of range/));
    await assert.rejects(engine.generate(bad).result, withCode('usage', /out of range/));
    await assert.rejects(engine.forward({ input_ids: [bad] }), withCode('usage', /out of range/));
  }
  await stillWorks();
});

// ---- logits

const rowOf = ({ logits, shape }, row, position) => {
  const start = (row * shape[1] + position) * shape[2];
  return logits.subarray(start, start + shape[2]);
};

test('forward() gives the logits of the positions that are kept', async () => {
  const ids = [...(await engine.tokenize(PROMPT))];
  const all = await engine.forward({ input_ids: [ids] });
  assert.deepEqual(all.shape, [1, ids.length, 4096]);
  assert.equal(all.hidden, undefined);
  const last = await engine.forward({ input_ids: [ids], logits_to_keep: 1 });
  assert.deepEqual(last.shape, [1, 1, 4096]);
  assert.deepEqual(rowOf(last, 0, 0), rowOf(all, 0, ids.length - 1));
  const some = await engine.forward({ input_ids: [Int32Array.from(ids)], logits_to_keep: [3, 0, 3] });
  for (const [k, position] of [3, 0, 3].entries()) assert.deepEqual(rowOf(some, 0, k), rowOf(all, 0, position));
  const best = rowOf(last, 0, 0).reduce((top, value, id, row) => (value > row[top] ? id : top), 0);
  assert.equal(best, expected[0]);
});

test('a left-padded batch gives the bits of its rows alone, hidden states too', async () => {
  const long = [...(await engine.tokenize('She was the youngest of the two daughters of a most affectionate father'))];
  const short = long.slice(0, 4);
  const pads = long.length - short.length;
  const batch = await engine.forward({
    input_ids: [[...new Array(pads).fill(4093), ...short], long],
    attention_mask: [[...new Array(pads).fill(0), 1, 1, 1, 1], long.map(() => 1)],
    output_hidden_states: true,
  });
  for (const [row, ids] of [short, long].entries()) {
    const alone = await engine.forward({ input_ids: [ids], output_hidden_states: true });
    const from = long.length - ids.length;
    for (let i = 0; i < ids.length; i++) assert.deepEqual(rowOf(batch, row, from + i), rowOf(alone, 0, i));
    assert.equal(alone.hidden.length, 6 + 2);
    for (const [layer, states] of alone.hidden.entries()) {
      const start = (row * long.length + from) * 256;
      assert.deepEqual(batch.hidden[layer].subarray(start, start + states.length), states);
    }
  }
});

test('forward() refuses what is not a left-padded batch', async () => {
  /** @type {[any, RegExp][]} */
  const bad = [
    [{ input_ids: [] }, /at least one row/],
    [{ input_ids: [[]] }, /empty/],
    [{ input_ids: [[1, 2], [1]] }, /row 1 has 1/],
    [{ input_ids: [[1, 2.5]] }, /2\.5/],
    [{ input_ids: [[1, 2]], attention_mask: [[1, 0]] }, /left padding/],
    [{ input_ids: [[1, 2]], attention_mask: [[0, 0]] }, /left padding/],
    [{ input_ids: [[1, 2]], attention_mask: [[1]] }, /1 values/],
    [{ input_ids: [[1, 2]], attention_mask: [] }, /undefined values/],
    [{ input_ids: [[1, 2]], logits_to_keep: -1 }, /logits_to_keep/],
    [{ input_ids: [[1, 2]], logits_to_keep: [2] }, /position 2/],
  ];
  for (const [input, text] of bad)
    await assert.rejects(engine.forward(input), withCode('usage', text), JSON.stringify(input));
  await assert.rejects(engine.forward({ input_ids: [new Array(513).fill(1)] }), withCode('context', /513.*512/));
  await stillWorks();
});

// ---- generation

test('chunks joined are the result', async () => {
  const run = engine.generate(PROMPT, { max_new_tokens: 12 });
  const chunks = await chunksOf(run);
  const result = await run.result;
  const [sequence] = result.sequences;
  assert.equal(chunks.map((chunk) => chunk.text).join(''), sequence.text);
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk.token_ids),
    sequence.token_ids,
  );
  assert.equal(await engine.detokenize(sequence.token_ids), sequence.text);
  assert.equal(sequence.finish_reason, 'length');
  assert.equal(result.usage.completion_tokens, 12);
  assert.deepEqual(result.padded_ids[0].slice(-12), sequence.token_ids);
  assert.ok(result.timings.decode > 0 && result.timings.prefill > 0 && result.timings.queue >= 0);
});

test('a prompt is text, ids of any kind, or a batch of both', async () => {
  const ids = await engine.tokenize(PROMPT);
  for (const prompt of [ids, [...ids]]) assert.deepEqual(await greedy(engine, prompt, 12), expected);
  const { sequences, padded_ids } = await engine.generate([PROMPT, [...ids], 'Emma'], { max_new_tokens: 12 }).result;
  assert.equal(sequences.length, 3);
  assert.deepEqual(sequences[0].token_ids, expected);
  assert.deepEqual(sequences[1].token_ids, expected);
  assert.deepEqual(sequences[2].token_ids, await greedy(engine, 'Emma', 12));
  assert.equal(new Set(padded_ids.map((row) => row.length)).size, 1);
});

test('more tokens than the context holds end with it', async () => {
  for (const max_new_tokens of [600, 1e9]) {
    const { sequences, usage } = await engine.generate([34], { max_new_tokens, eos_token_id: [] }).result;
    assert.deepEqual([sequences[0].finish_reason, usage.completion_tokens], ['length', 511]);
  }
});

test('0 tokens evaluate the prompt and end with length; 1 is one', async () => {
  const none = await engine.generate(PROMPT, { max_new_tokens: 0 }).result;
  assert.deepEqual(none.sequences, [{ index: 0, text: '', token_ids: [], finish_reason: 'length' }]);
  assert.deepEqual(await greedy(engine, PROMPT, 1), expected.slice(0, 1));
  const full = await engine.generate(PROMPT).result;
  const [{ token_ids, finish_reason }] = full.sequences;
  const ended = engine.info.eosTokenIds.includes(token_ids.at(-1));
  assert.equal(finish_reason, ended ? 'eos' : 'length');
  assert.ok(full.padded_ids[0].length <= 512);
});

test('the same seed gives the same tokens, another one others; rng_state goes on', async () => {
  const sample = async (more) => engine.generate(PROMPT, { do_sample: true, max_new_tokens: 16, ...more }).result;
  const [first, again, other] = [await sample({ seed: 5 }), await sample({ seed: 5 }), await sample({ seed: 6 })];
  assert.equal(first.seed, 5);
  assert.deepEqual(again.sequences, first.sequences);
  assert.notDeepEqual(other.sequences, first.sequences);
  const random = await sample({});
  assert.deepEqual((await sample({ seed: random.seed })).sequences, random.sequences);
  const half = await sample({ seed: 5, max_new_tokens: 8 });
  const rest = await engine.generate(half.padded_ids[0], {
    do_sample: true,
    max_new_tokens: 8,
    rng_state: half.rng_state,
  }).result;
  assert.deepEqual([...half.sequences[0].token_ids, ...rest.sequences[0].token_ids], first.sequences[0].token_ids);
  const rows = await sample({ seed: 5, num_return_sequences: 2 });
  assert.deepEqual(
    rows.sequences.map((row) => row.token_ids),
    [first.sequences[0].token_ids, other.sequences[0].token_ids],
  );
});

test('text never shows what a stop string swallows', async () => {
  const text = (await engine.generate(PROMPT, { max_new_tokens: 12 }).result).sequences[0].text;
  const stop = text.slice(5, 11);
  const run = engine.generate(PROMPT, { max_new_tokens: 12, stop_strings: [stop, 'never there'] });
  const chunks = await chunksOf(run);
  const [sequence] = (await run.result).sequences;
  assert.equal(sequence.finish_reason, 'stop_string');
  assert.equal(sequence.text, text.slice(0, text.indexOf(stop)));
  assert.equal(chunks.map((chunk) => chunk.text).join(''), sequence.text);
});

/** Generates the given ids, whatever the model thinks. */
const dictated = (ids, settings = {}) => {
  const logits_processor = support(`processor-script.mjs?prompt=1&ids=${ids}`);
  return engine.generate([34], { eos_token_id: [], max_new_tokens: ids.length, logits_processor, ...settings });
};

test('characters that are spread over tokens come whole, and bytes that are none at once', async () => {
  // The first 256 ids are Qwen's: the bytes.
  for (const [ids, pieces] of [
    [
      [172, 253, 246, 224, 161, 98, 121],
      ['', '', '', '😂', '', '', '好'],
    ],
    [
      [124, 32],
      ['\ufffd', 'A'],
    ],
    [
      [177, 32],
      ['\ufffd', 'A'],
    ],
    [
      [169, 254, 222],
      ['', '\ufffd\ufffd', '\ufffd'],
    ],
    [
      [220, 32],
      [' ', 'A'],
    ],
  ]) {
    const run = dictated(ids);
    const chunks = await chunksOf(run);
    assert.deepEqual(
      chunks.map((chunk) => chunk.text),
      pieces,
    );
    const [sequence] = (await run.result).sequences;
    assert.deepEqual([sequence.text, sequence.token_ids], [pieces.join(''), ids]);
    assert.equal(await engine.detokenize(ids), sequence.text);
  }
});

test('an end in the middle of a character gives U+FFFD, and nothing of it to the next generation', async () => {
  for (const settings of [{}, { stop_strings: ['zz'] }]) {
    const run = dictated([172, 253], settings);
    const text = (await chunksOf(run)).map((chunk) => chunk.text).join('');
    assert.deepEqual([text, (await run.result).sequences[0].text], ['\ufffd', '\ufffd']);
    assert.equal((await dictated([246, 224, 32]).result).sequences[0].text, '\ufffd\ufffdA');
  }
  await stillWorks();
});

test('stop strings over several tokens: what may become one is held, and given when it did not', async () => {
  const letters = (text) => [...text].map((one) => one.charCodeAt(0) - 33);
  for (const [text, stop_strings, pieces, reason] of /** @type {[string, string, string[], string][]} */ ([
    ['okDEFGHIJx', 'DEFGHIJ', ['o', 'k', '', '', '', '', '', '', ''], 'stop_string'],
    ['please', 'assistant', ['p', 'l', 'e', '', '', 'ase'], 'length'],
    ['pleas', 'assistant', ['p', 'l', 'e', '', 'as'], 'length'],
    ['DEFX', 'DEFG', ['', '', '', 'DEFX'], 'length'],
  ])) {
    const run = dictated(letters(text), { stop_strings });
    const chunks = await chunksOf(run);
    const [sequence] = (await run.result).sequences;
    assert.deepEqual(
      chunks.map((chunk) => chunk.text),
      pieces,
    );
    assert.deepEqual([sequence.text, sequence.finish_reason], [pieces.join(''), reason]);
    assert.equal(sequence.token_ids.length, pieces.length);
  }
});

test('logprobs come with the chunks', async () => {
  const [chunk] = await chunksOf(engine.generate(PROMPT, { max_new_tokens: 1, logprobs: 3 }));
  const [one] = chunk.logprobs;
  assert.equal(one.token_id, expected[0]);
  assert.equal(one.top_raw.length, 3);
  assert.equal(one.top_raw[0][0], expected[0]);
  assert.equal(one.top_raw[0][1], one.raw);
  assert.ok(one.raw < 0);
});

test('settings that mean nothing are usage errors that name key and value', async () => {
  /** @type {[object, RegExp][]} */
  const bad = [
    [{ temprature: 1 }, /temprature/],
    [{ temperature: NaN, do_sample: true }, /temperature.*nan/i],
    [{ temperature: Infinity, do_sample: true }, /temperature.*inf/i],
    [{ temperature: -1, do_sample: true }, /temperature.*-1/],
    [{ temperature: '0.7', do_sample: true }, /temperature/],
    [{ max_new_tokens: -1 }, /max_new_tokens.*-1/],
    [{ max_new_tokens: -2 }, /max_new_tokens.*-2/],
    [{ max_new_tokens: NaN }, /max_new_tokens.*nan/i],
    [{ max_new_tokens: 1.5 }, /max_new_tokens/],
    [{ top_p: 1.5, do_sample: true }, /top_p/],
    [{ num_beams: 4 }, /num_beams/],
    [{ eos_token_id: 5000 }, /eos_token_id/],
    [{ stop_strings: [''] }, /stop/],
    [{ stop_strings: [7] }, /stop_strings/],
    [{ seed: -1 }, /seed/],
    [{ num_return_sequences: 9, do_sample: true }, /maxRows/],
    [{ temperature: 5n }, /temperature is a bigint/],
    [{ temperature: () => 1 }, /temperature is a function/],
  ];
  for (const [settings, text] of bad) {
    const run = engine.generate(PROMPT, settings);
    await assert.rejects(run.result, withCode('usage', text), String(Object.keys(settings)));
    await assert.rejects(chunksOf(run), withCode('usage', text));
  }
  await stillWorks();
});

test('an empty prompt, too many rows and too long a prompt are refused with both numbers', async () => {
  for (const empty of ['', [], [[]], ['a', '']]) {
    await assert.rejects(engine.generate(empty).result, withCode('usage', /empty/), JSON.stringify(empty));
  }
  await assert.rejects(engine.generate(['a', 'b', 'c', 'd', 'e']).result, withCode('usage', /maxRows/));
  await assert.rejects(engine.generate(new Array(600).fill(1)).result, withCode('context', /600.*512/));
  await assert.rejects(
    engine.generate([new Array(300).fill(1), new Array(300).fill(2)]).result,
    withCode('context', /600.*512/),
  );
  await stillWorks();
});

test('typed arrays and undefined in settings are what they look like', async () => {
  const first = expected[0];
  const settings = {
    max_new_tokens: 3,
    suppress_tokens: Int32Array.of(first),
    top_k: undefined,
    eos_token_id: undefined,
  };
  const { sequences } = await engine.generate(PROMPT, settings).result;
  assert.ok(!sequences[0].token_ids.includes(first));
});

test('max_time ends with what there is', async () => {
  const { sequences } = await engine.generate(PROMPT, { max_time: 0.05, eos_token_id: [] }).result;
  assert.equal(sequences[0].finish_reason, 'time');
  assert.ok(sequences[0].token_ids.length > 0);
  await stillWorks();
});

test('progress of a long prompt is told in tokens', async () => {
  const progress = [];
  const prompt = await engine.tokenize('Mr. Bennet was so odd a mixture of quick parts. '.repeat(30));
  await engine.generate(prompt, { max_new_tokens: 1, onProgress: (one) => progress.push(one) }).result;
  assert.deepEqual(progress.at(-1), { phase: 'prefill', loaded: prompt.length, total: prompt.length });
  assert.ok(progress.length > 1);
  assert.deepEqual(
    progress.map((one) => one.loaded),
    progress.map((one) => one.loaded).sort((a, b) => a - b),
  );
});

test('a prompt that was read ahead, or continues the last one, is computed only where it is new', async () => {
  const prompt = [...(await engine.tokenize('The family of Dashwood had long been settled in Sussex.'))];
  assert.deepEqual(await engine.prefill(prompt), { tokens: prompt.length });
  const { usage, sequences } = await engine.generate([...prompt, 5, 6], { max_new_tokens: 4 }).result;
  assert.equal(usage.prompt_tokens, prompt.length + 2);
  assert.equal(usage.cached_tokens, prompt.length);
  const fresh = await Engine.load(TINY, { threads: 1, contextLength: 512 });
  assert.deepEqual(await greedy(fresh, [...prompt, 5, 6], 4), sequences[0].token_ids);
  await fresh.close();
});

// ---- stopping and the caller's processor

test('the predicate sees each token and ends its row, after which nothing comes', async () => {
  const seen = [];
  const stopping = (row) => {
    seen.push(row);
    return row.token_ids.length === 5;
  };
  const run = engine.generate(PROMPT, { max_new_tokens: 12, stopping });
  const chunks = await chunksOf(run);
  const [sequence] = (await run.result).sequences;
  assert.equal(sequence.finish_reason, 'stopping');
  assert.deepEqual(sequence.token_ids, expected.slice(0, 5));
  assert.deepEqual(
    seen.map((row) => row.token_ids.length),
    [1, 2, 3, 4, 5],
  );
  assert.ok(sequence.text.startsWith(seen.at(-1).text));
  assert.equal(chunks.map((chunk) => chunk.text).join(''), sequence.text);
});

test('the predicate ends one row of a batch and the others go on', async () => {
  const stopping = ({ index, token_ids }) => index === 1 && token_ids.length === 2;
  const { sequences } = await engine.generate([PROMPT, 'Emma', 'Anne'], { max_new_tokens: 6, stopping }).result;
  assert.deepEqual(
    sequences.map((row) => row.token_ids.length),
    [6, 2, 6],
  );
  assert.deepEqual(
    sequences.map((row) => row.finish_reason),
    ['length', 'stopping', 'length'],
  );
});

test('a predicate that throws is a usage error with its cause', async () => {
  const stopping = () => {
    throw new TypeError('oops');
  };
  const run = engine.generate(PROMPT, { stopping });
  await assert.rejects(
    run.result,
    (/** @type {any} */ error) => error.code === 'usage' && error.cause instanceof TypeError,
  );
  await stillWorks();
});

test("a caller's module edits the scores in the worker", async () => {
  const { sequences } = await engine.generate(PROMPT, {
    max_new_tokens: 6,
    logits_processor: support('processor-ban.mjs'),
  }).result;
  const ids = sequences[0].token_ids;
  assert.equal(ids.length, 6);
  assert.ok(
    ids.every((id) => id % 2 === 1),
    String(ids),
  );
  assert.deepEqual(ids.slice(3), [7, 7, 7]);
  await stillWorks();
});

test('a module that throws, gives a promise, has no function or is not there is a usage error', async () => {
  /** @type {[string, RegExp][]} */
  const cases = [
    ['processor-throws.mjs', /ids are too many/],
    ['processor-async.mjs', /promise/],
    ['processor-none.mjs', /no function/],
    ['processor-missing.mjs', /cannot be imported/],
  ];
  for (const [name, text] of cases) {
    await assert.rejects(engine.generate(PROMPT, { logits_processor: support(name) }).result, withCode('usage', text));
  }
  await stillWorks();
});

// ---- ends before the end

test('leaving the loop early gives what there is as aborted', async () => {
  const run = engine.generate(PROMPT, { eos_token_id: [] });
  let n = 0;
  for await (const chunk of run) if (chunk.text && ++n === 3) break;
  const { sequences } = await run.result;
  assert.equal(sequences[0].finish_reason, 'aborted');
  assert.ok(sequences[0].token_ids.length >= 3 && sequences[0].token_ids.length < 400);
  assert.deepEqual(sequences[0].token_ids.slice(0, 3), expected.slice(0, 3));
  await stillWorks();
});

test('leaving at once, before the first chunk, or after the last one is no error', async () => {
  const early = engine.generate(PROMPT, { eos_token_id: [] });
  await early[Symbol.asyncIterator]().return();
  assert.equal((await early.result).sequences[0].finish_reason, 'aborted');
  const late = engine.generate(PROMPT, { max_new_tokens: 3 });
  await late.result;
  for await (const _ of late) break;
  assert.equal((await late.result).sequences[0].finish_reason, 'length');
  await stillWorks();
});

test('a signal rejects iterator and result at once with its reason, at whatever moment it comes', async () => {
  const long = 'Mr. Bennet was so odd a mixture of quick parts. '.repeat(30);
  const moments = ['at once', 'progress 1', 'progress 2', 'chunk 1', 'chunk 20'];
  for (const moment of moments) {
    const control = new AbortController();
    let answered = false;
    const reach = (now) => {
      if (now !== moment) return;
      control.abort(moment);
      engine.tokenize('x').then(() => (answered = true));
    };
    let seen = 0;
    const onProgress = () => reach(`progress ${++seen}`);
    const run = engine.generate(long, { eos_token_id: [], signal: control.signal, onProgress });
    const iterate = async () => {
      let chunks = 0;
      for await (const _ of run) reach(`chunk ${++chunks}`);
    };
    const iterated = iterate().catch((error) => error);
    reach('at once');
    const error = await run.result.then(
      () => assert.fail(`it ended: ${moment}`),
      (fault) => fault,
    );
    assert.equal(answered, false, `${moment}: sooner than the worker can say anything`);
    assert.deepEqual([error.code, error.cause], ['aborted', moment]);
    assert.equal((await iterated).code, 'aborted');
  }
  await assert.rejects(engine.generate(PROMPT, { signal: AbortSignal.abort() }).result, withCode('aborted'));
  await assert.rejects(engine.forward({ input_ids: [[1]], signal: AbortSignal.abort() }), withCode('aborted'));
  await assert.rejects(engine.prefill(long, { signal: AbortSignal.abort() }), withCode('aborted'));
  await stillWorks();
});

test('calls wait in one queue, in their order; one that is aborted while it waits does not run', async () => {
  const order = [];
  const note = (name) => (value) => (order.push(name), value);
  const control = new AbortController();
  const first = engine.generate(PROMPT, { max_new_tokens: 12 }).result.then(note('first'));
  const dropped = engine.generate(PROMPT, { signal: control.signal }).result.catch((error) => error);
  const second = engine.generate('Emma', { max_new_tokens: 3 }).result.then(note('second'));
  const third = engine.tokenize('x').then(note('third'));
  control.abort();
  assert.equal((await dropped).code, 'aborted');
  const results = await Promise.all([first, second, third]);
  assert.deepEqual(order, ['first', 'second', 'third']);
  assert.deepEqual(results[0].sequences[0].token_ids, expected);
  assert.ok(results[1].timings.queue > 0);
});

test('textStream() is the text of row 0, and cancelling it leaves the loop', async () => {
  const run = engine.generate([PROMPT, 'Emma'], { max_new_tokens: 12 });
  const text = await new Response(run.textStream().pipeThrough(new TextEncoderStream())).text();
  assert.equal(text, (await run.result).sequences[0].text);
  const other = engine.generate(PROMPT, { eos_token_id: [] });
  const reader = other.textStream().getReader();
  await reader.read();
  await reader.cancel();
  assert.equal((await other.result).sequences[0].finish_reason, 'aborted');
  assert.throws(() => other.textStream(), withCode('usage', /one consumer/));
  await stillWorks();
});

test('chunks are kept until someone comes', async () => {
  const run = engine.generate(PROMPT, { max_new_tokens: 12 });
  await run.result;
  assert.deepEqual(
    (await chunksOf(run)).flatMap((chunk) => chunk.token_ids),
    expected,
  );
});

// ---- faults and the end

test('a trap in the engine is an internal error, and the engine is closed afterwards', async () => {
  const broken = await Engine.load(TINY, { threads: 1, workerUrl: support('trapping-worker.mjs') });
  await assert.rejects(broken.generate(PROMPT, { eos_token_id: [] }).result, withCode('internal', /unreachable/));
  await assert.rejects(broken.generate(PROMPT).result, withCode('closed', /load the model again/));
  await assert.rejects(broken.tokenize('x'), withCode('closed'));
  await broken.close();
});

test('a worker that dies rejects what is pending, and all that comes later', async () => {
  const dying = await Engine.load(TINY, { threads: 1, workerUrl: support('dying-worker.mjs') });
  const busy = Array.from({ length: 40 }, () => dying.generate(PROMPT, { eos_token_id: [], max_new_tokens: 900 }));
  const waits = [dying.tokenize('x'), dying.forward({ input_ids: [[1]] }), dying.prefill('x')];
  const calls = [...busy.map((run) => run.result), ...busy.map((run) => chunksOf(run)), ...waits];
  const codes = await Promise.all(
    calls.map((call) =>
      call.then(
        () => 'done',
        ({ code, message }) => (/died by itself/.test(message) ? code : message), // not the watch on silent workers
      ),
    ),
  );
  // It dies 700 ms after its start: some of the first are done by then, and all of what is under way or waits is told.
  assert.deepEqual([...new Set(codes.slice(-23))], ['internal']);
  assert.deepEqual(codes.slice(0, 40), codes.slice(40, 80));
  await assert.rejects(dying.tokenize('x'), withCode('internal', /died by itself/));
  await dying.close();
});

test('close() rejects what runs and what waits, and all calls afterwards; twice is no error', async () => {
  const other = await Engine.load(TINY, { threads: 2 });
  const { info } = other;
  const run = other.generate(PROMPT, { eos_token_id: [] });
  const begun = new EventEmitter();
  const read = async () => {
    for await (const chunk of run) begun.emit('chunk', chunk);
  };
  const first = once(begun, 'chunk');
  const calls = [run.result, read(), other.tokenize('x'), other.forward({ input_ids: [[1]] })];
  const faults = Promise.all(
    calls.map((call) =>
      call.then(
        () => assert.fail('it ended'),
        (error) => error.code,
      ),
    ),
  );
  await first;
  await other.close();
  await other.close();
  assert.deepEqual(await faults, ['closed', 'closed', 'closed', 'closed']);
  await assert.rejects(other.generate(PROMPT).result, withCode('closed'));
  await assert.rejects(other.tokenize('x'), withCode('closed'));
  await assert.rejects(other.applyChatTemplate([{ role: 'user', content: 'x' }]), withCode('closed'));
  await assert.rejects(other.chat([{ role: 'user', content: 'x' }]).result, withCode('closed'));
  assert.equal(other.info, info);
});

/** Runs a script with the package in a process of its own; it must end by itself. */
function processOf(code) {
  const dist = new URL('../../dist/node.js', import.meta.url).href;
  const script = `import { Engine, QwenError } from ${JSON.stringify(dist)}; const TINY = ${JSON.stringify(TINY)};\n${code}`;
  const { status, stdout, stderr, error } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    timeout: 20_000,
    encoding: 'utf8',
  });
  assert.equal(error, undefined);
  return { status, stdout, stderr };
}

test('the process ends by itself after close(), and an idle engine that is open does not keep it alive', () => {
  const closed = processOf(`const e = await Engine.load(TINY, { threads: 2 });
    console.log((await e.generate('Emma', { max_new_tokens: 3 }).result).sequences[0].token_ids.length);
    console.log(await e.applyChatTemplate([{ role: 'user', content: 'x' }]));
    await e.close();`);
  assert.deepEqual([closed.status, closed.stderr], [0, '']);
  assert.match(closed.stdout, /^3\n<\|im_start\|>user\nx/);
  const open = processOf(`const e = await Engine.load(TINY, { threads: 2 });
    console.log((await e.generate('Emma', { max_new_tokens: 3 }).result).sequences[0].token_ids.length);`);
  assert.deepEqual([open.status, open.stdout, open.stderr], [0, '3\n', '']);
  const running = processOf(`const e = await Engine.load(TINY, { threads: 1 });
    e.generate('Emma', { max_new_tokens: 50, eos_token_id: [] }).result.then((r) => console.log(r.usage.completion_tokens));`);
  assert.deepEqual([running.status, running.stdout], [0, '50\n']);
});

test('a result that nobody looks at is no unhandled rejection', () => {
  const { status, stderr } = processOf(`const e = await Engine.load(TINY, { threads: 1 });
    e.generate('', {});
    e.generate('Emma', { signal: AbortSignal.timeout(20), eos_token_id: [] });
    const control = new AbortController();
    const run = e.generate('Emma', { signal: control.signal, eos_token_id: [] });
    try { for await (const chunk of run) control.abort(); } catch (error) { if (error.code !== 'aborted') throw error; }
    e.generate('Emma', { eos_token_id: [] });
    await e.close();
    await new Promise((resolve) => setTimeout(resolve, 50));`);
  assert.deepEqual([status, stderr], [0, '']);
});

test('await using closes', async () => {
  const other = await Engine.load(TINY, { threads: 1 });
  await other[Symbol.asyncDispose ?? 'undefined']();
  await assert.rejects(other.tokenize('x'), withCode('closed'));
});

test('selfTest() reports on this machine', async () => {
  const { ok, report } = await selfTest({ threads: 2 });
  assert.equal(ok, true, report);
  assert.match(report, /qwen2.*wasm/);
  await assert.rejects(selfTest({ signal: AbortSignal.abort() }), withCode('aborted'));
});

test('QwenError is an Error with a code', () => {
  /** @type {any} */
  const error = new QwenError('text', { code: 'usage', cause: 7 });
  assert.equal(error instanceof Error, true);
  assert.deepEqual([error.name, error.code, error.message, error.cause], ['QwenError', 'usage', 'text', 7]);
});
