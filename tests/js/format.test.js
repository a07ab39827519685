// Answers that have the form that was asked for, whatever the model would write: expressions and choices.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Engine, TINY, withCode } from './support/package.js';

const PROMPT = 'It is a truth universally acknowledged, that';

/** @type {any} */
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 512 })));
after(() => engine.close());

/** A processor that dictates ids. @param {number} prompt its length @param {number[]} ids */
const script = (prompt, ids) => new URL(`./support/processor-script.mjs?prompt=${prompt}&ids=${ids}`, import.meta.url);

const regex = (pattern) => ({ type: 'regex', regex: pattern });
const choice = (...choices) => ({ type: 'choice', choices });

/** @param {object} settings @param {string | string[]} [prompt] */
async function sequencesOf(settings, prompt = PROMPT) {
  return (await engine.generate(prompt, { max_new_tokens: 48, ...settings }).result).sequences;
}

const PATTERNS = [
  /[0-9]{4}-[0-9]{2}-[0-9]{2}/,
  /(Mr|Mrs|Miss)\. [A-Z][a-z]{2,12}/u,
  / ?\p{L}+(, \p{L}+){1,3}\./u,
  /[^a-z]{5,9}/,
  /(yes|no|perhaps)?/,
  /.{0,7}é.{0,7}/u,
];

test('every answer matches its expression, greedy and drawn, and says that it is complete', async () => {
  for (const pattern of PATTERNS) {
    for (const sampling of [{}, { do_sample: true, temperature: 1.5, num_return_sequences: 4, seed: 7 }]) {
      for (const { text, format, finish_reason } of await sequencesOf({
        response_format: regex(pattern),
        ...sampling,
      })) {
        assert.match(text, new RegExp(`^(?:${pattern.source})$`, pattern.flags));
        assert.deepEqual([format, finish_reason], [{ complete: true }, 'eos'], JSON.stringify(text));
      }
    }
  }
});

test('a choice is one of the choices, alone, in a batch, and among ten thousand', async () => {
  const many = Array.from({ length: 10_000 }, (_, i) => `${i * 7919} sheep`);
  for (const choices of [['yes', 'no'], ['a', 'ab', 'abc', ''], ['\n', '"quoted"', '你好'], many]) {
    const response_format = choice(...choices);
    for (const { text, format } of await sequencesOf({ response_format, do_sample: true, temperature: 2, seed: 3 }, [
      PROMPT,
      'No',
    ]))
      assert.deepEqual([choices.includes(text), format.complete], [true, true], text);
  }
});

test('what is short of tokens ends in time where it can, and tells where it cannot', async () => {
  const open = regex(/[a-z ]{3,}!/);
  for (const max_new_tokens of [4, 5, 9, 24]) {
    for (const seed of [1, 2, 3, 4]) {
      const [{ text, format }] = await sequencesOf({ response_format: open, max_new_tokens, do_sample: true, seed });
      assert.match(text, /^[a-z ]{3,}!$/, `${max_new_tokens} tokens, seed ${seed}`);
      assert.equal(format.complete, true);
    }
  }
  const [cut] = await sequencesOf({
    response_format: choice('a text of many more tokens than two'),
    max_new_tokens: 2,
  });
  assert.deepEqual([cut.format, cut.finish_reason], [{ complete: false }, 'length']);
  const [free] = await sequencesOf({ response_format: open, max_new_tokens: 6, finish_in_budget: false });
  assert.equal(free.format.complete, /!$/.test(free.text));
});

test('it is a rule among the others: the same seed the same answer, bans hold, and a ban of all that is left is told', async () => {
  const response_format = choice('yes', 'no');
  const [one] = await sequencesOf({ response_format });
  assert.deepEqual((await sequencesOf({ response_format }))[0], one);
  const other = one.text === 'yes' ? 'no' : 'yes';
  const [banned] = await sequencesOf({ response_format, bad_words_ids: [one.token_ids.slice(0, 1)] });
  assert.ok(['yes', 'no'].includes(banned.text));
  assert.notDeepEqual(banned.token_ids, one.token_ids);
  const bytes = await engine.tokenize(other);
  const run = engine.generate(PROMPT, {
    response_format: choice('x'),
    suppress_tokens: [...(await engine.tokenize('x'))],
  });
  await assert.rejects(run.result, withCode('usage', /step 0: response_format leaves no token/));
  assert.ok(bytes.length > 0);
  const endless = engine.generate(PROMPT, { response_format: choice('x'), eos_token_id: [] });
  await assert.rejects(endless.result, withCode('usage', /the text is complete, and eos_token_id has no id/));
  assert.equal((await sequencesOf({ max_new_tokens: 3 }))[0].token_ids.length, 3, 'the engine goes on');
});

test('without a form, and with that of any text, an answer is what it was, bit for bit', async () => {
  const settings = { do_sample: true, seed: 5, logprobs: 1, max_new_tokens: 24 };
  const plain = await sequencesOf(settings);
  assert.equal('format' in plain[0], false);
  assert.deepEqual(await sequencesOf({ ...settings, response_format: { type: 'text' } }), plain);
  assert.deepEqual(await sequencesOf({ ...settings, response_format: null }), plain);
});

test('what cannot be held is refused by name before the first token', async () => {
  /** @type {[any, RegExp][]} */
  const bad = [
    [{ type: 'regex', regex: '(a' }, /character 3/],
    [{ type: 'regex', regex: '(?=a)b' }, /look/],
    [{ type: 'regex', regex: /a/i }, /flag/],
    [{ type: 'regex', regex: 7 }, /regex is number, wanted a pattern/],
    [{ type: 'regex' }, /regex is missing/],
    [{ type: 'choice', choices: [] }, /choices is array, wanted an array of at least one text/],
    [{ type: 'choice', choices: ['a', 5] }, /choices\[1\] is number/],
    [{ type: 'yaml' }, /type is "yaml"/],
    [{}, /an object with a type/],
    ['json', /an object with a type/],
  ];
  for (const [response_format, words] of bad) {
    const run = engine.generate(PROMPT, { response_format });
    await assert.rejects(run.result, withCode('usage', words), JSON.stringify(response_format));
  }
});

test('choose() tells how probable each choice is as the answer, as the logits of the whole have it', async () => {
  const choices = [' a', ' a single man', ' zebra', ' no'];
  const { index, text, logprobs, probabilities } = await engine.choose(PROMPT, choices);
  assert.equal(text, choices[index]);
  assert.equal(Math.max(...logprobs), logprobs[index]);
  assert.ok(Math.abs(probabilities.reduce((sum, one) => sum + one, 0) - 1) < 1e-9);
  const prompt = [...(await engine.tokenize(PROMPT))];
  for (const [i, choice] of choices.entries()) {
    const ids = [...(await engine.tokenize(choice)), engine.info.eosTokenIds[0]];
    const settings = { max_new_tokens: ids.length, logprobs: 0, logits_processor: script(prompt.length, ids) };
    const chunks = [];
    for await (const chunk of engine.generate(PROMPT, settings)) chunks.push(...(chunk.logprobs ?? []));
    const sum = chunks.reduce((total, { raw }) => total + raw, 0);
    assert.ok(Math.abs(sum - logprobs[i]) < 1e-3 * ids.length, `${choice}: ${logprobs[i]}, step by step ${sum}`);
  }
  const mean = await engine.choose(PROMPT, choices, { per: 'token' });
  assert.deepEqual(mean.logprobs, logprobs);
  assert.notDeepEqual(mean.probabilities, probabilities);
  const chat = await engine.choose([{ role: 'user', content: 'Well?' }], ['yes', 'no', 'yes and no']);
  assert.equal(chat.probabilities.length, 3);
});

test('choose() refuses what is no choice by name', async () => {
  for (const [choices, options, words] of /** @type {[any, any, RegExp][]} */ ([
    [[], {}, /choices is \[\]/],
    ['a', {}, /choices is "a"/],
    [['a', 1], {}, /choices\[1\] is number/],
    [['a', 'b', 'a'], {}, /choices\[2\] is "a" again/],
    [['a'], { per: 'word' }, /per is "word"/],
  ]))
    await assert.rejects(engine.choose(PROMPT, choices, options), withCode('usage', words));
  await assert.rejects(engine.choose(PROMPT, ['a'], { signal: AbortSignal.abort() }), withCode('aborted'));
});

test('a chat has a form too', async () => {
  const messages = [{ role: 'user', content: 'Is Emma handsome?' }];
  const { sequences } = await engine.chat(messages, { response_format: choice('yes', 'no'), max_new_tokens: 8 }).result;
  assert.ok(['yes', 'no'].includes(sequences[0].text), sequences[0].text);
});
