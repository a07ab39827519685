// What a conversation keeps between calls: which tokens are read again after an answer, an abort, a stop string or an edited turn,
// that the logits are the bits of a fresh reading, and what is dropped where the context is too small. With QW_LONG=1 on the real
// model too.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Engine, TINY } from './support/package.js';

const REAL = fileURLToPath(new URL('../../build/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf', import.meta.url));

const user = (content) => ({ role: 'user', content });
const assistant = (content) => ({ role: 'assistant', content });
const system = (content) => ({ role: 'system', content });

/** @type {InstanceType<typeof Engine>} */
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 512 })));
after(() => engine.close());

function commonPrefix(a, b) {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/** Ids of the prompt that a result had. */
const promptOf = ({ padded_ids, usage }) => padded_ids[0].slice(0, usage.prompt_tokens);

/** What the cache holds after a result: all but the last token, which nothing was computed from. */
const heldAfter = ({ padded_ids }) => padded_ids[0].slice(0, -1);

/** The next result read what its prompt does not share with what was held, and at least its last token. */
function checkCached(next, held, what) {
  const prompt = promptOf(next);
  const shared = Math.min(commonPrefix(held, prompt), prompt.length - 1);
  assert.equal(next.usage.cached_tokens, shared, what);
  return shared;
}

const chat = (messages, settings) => engine.chat(messages, { max_new_tokens: 8, ...settings }).result;

const STORY = [system('You tell of country life.'), user('Who is Emma, and where does she live?')];

test('after an answer, an edited turn or another conversation, what is common is not read again', async () => {
  const first = await chat(STORY);
  const answer = first.sequences[0].text;
  const second = await chat([...STORY, assistant(answer), user('And her sister?')]);
  assert.ok(checkCached(second, heldAfter(first), 'next turn') >= first.usage.prompt_tokens);
  const edited = await chat([...STORY, assistant(answer), user('And her father, is he well?')]);
  assert.ok(checkCached(edited, heldAfter(second), 'edited turn') > first.usage.prompt_tokens);
  const other = await chat([STORY[0], user('Where is Bath?')]);
  assert.ok(checkCached(other, heldAfter(edited), 'another question') > 5);
  const back = await chat([user('Quite another thing')]);
  checkCached(back, heldAfter(other), 'another conversation');
  const again = await chat([user('Quite another thing')]);
  assert.equal(again.usage.cached_tokens, again.usage.prompt_tokens - 1, 'the same prompt again');
  assert.deepEqual(again.sequences, back.sequences);
});

test('after a stop string the tokens up to it are kept', async () => {
  const free = await chat(STORY, { max_new_tokens: 20, eos_token_id: [] });
  const stop = free.sequences[0].text.slice(9, 14);
  const stopped = await chat(STORY, { max_new_tokens: 20, eos_token_id: [], stop_strings: stop });
  assert.equal(stopped.sequences[0].finish_reason, 'stop_string');
  const ids = [...stopped.padded_ids[0], 5, 6];
  const next = await engine.generate(ids, { max_new_tokens: 1 }).result;
  assert.equal(next.usage.cached_tokens, stopped.padded_ids[0].length - 1);
});

test('after leaving the loop, and after a signal, what was computed is kept', async () => {
  const prompt = [...(await engine.tokenize('The family of Dashwood had long been settled in Sussex.'))];
  const run = engine.generate(prompt, { eos_token_id: [], max_new_tokens: 300 });
  let seen = 0;
  for await (const { token_ids } of run) if ((seen += token_ids.length) === 5) break;
  const left = await run.result;
  assert.equal(left.sequences[0].finish_reason, 'aborted');
  const next = await engine.generate([...left.padded_ids[0], 7], { max_new_tokens: 1 }).result;
  assert.equal(next.usage.cached_tokens, left.padded_ids[0].length - 1);

  const control = new AbortController();
  const tokens = [];
  const aborted = engine.generate(prompt, { eos_token_id: [], max_new_tokens: 300, signal: control.signal });
  await assert.rejects(
    async () => {
      for await (const { token_ids } of aborted) if (tokens.push(...token_ids) === 5) control.abort();
    },
    { code: 'aborted' },
  );
  // Whether the worker had read the last one when it heard of the signal is open; all before it, it must have.
  const read = [...prompt, ...tokens.slice(0, -1)];
  const after = await engine.generate([...read, tokens.at(-1) === 7 ? 8 : 7], { max_new_tokens: 1 }).result;
  assert.equal(after.usage.cached_tokens, read.length);

  const text = 'Mr. Bennet was so odd a mixture of quick parts. '.repeat(30);
  const early = new AbortController();
  const onProgress = ({ loaded }) => loaded > 0 && early.abort();
  await assert.rejects(engine.generate(text, { signal: early.signal, onProgress }).result, { code: 'aborted' });
  const whole = await engine.generate(text, { max_new_tokens: 1 }).result;
  assert.ok(whole.usage.cached_tokens > 0 && whole.usage.cached_tokens < whole.usage.prompt_tokens);
});

test('reading ahead serves the turn that begins with it, whatever was typed in between', async () => {
  const messages = [...STORY, assistant('In Highbury.'), user('Thank you.')];
  const { tokens } = await engine.prefill(messages);
  const { usage } = await chat(messages, { max_new_tokens: 1 });
  assert.equal(usage.cached_tokens, tokens);
  assert.ok(usage.prompt_tokens > tokens, 'the generation prompt comes on top');
  const half = await engine.prefill([...STORY, assistant('In Hartfield.')]);
  assert.ok(half.tokens > 0);
  const other = await chat([...STORY, assistant('In Hartfield.'), user('Thank you.')], { max_new_tokens: 1 });
  assert.equal(other.usage.cached_tokens, half.tokens);
});

test("truncate 'oldest-turns' keeps the system prompt and tells how many messages went; usage is of what was sent", async () => {
  const turns = Array.from({ length: 12 }, (_, n) => [
    user(`Question ${n}: ${'tell me of the ball '.repeat(8)}`),
    assistant(`Answer ${n}.`),
  ]).flat();
  const messages = [system('Be brief.'), ...turns, user('The last one?')];
  const settings = { max_new_tokens: 30, truncate: 'oldest-turns' };
  const first = await chat(messages, settings);
  const text = await engine.detokenize(promptOf(first));
  const kept = (text.match(/<\|im_start\|>(user|assistant)\n(?=.)/g) ?? []).length;
  const gone = messages.length - 1 - kept;
  assert.ok(gone > 0 && gone % 2 === 0, `${gone} messages went`);
  assert.deepEqual(first.notes, [
    `the ${gone} oldest messages were left out to make room in the context of 512 tokens`,
  ]);
  assert.ok(text.startsWith('<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nQuestion '));
  assert.ok(text.endsWith('user\nThe last one?<|im_end|>\n<|im_start|>assistant\n'));
  assert.ok(text.includes(`Question ${gone / 2}:`) && !text.includes(`Question ${gone / 2 - 1}:`));
  assert.ok(first.usage.prompt_tokens <= 512 - 30);
  const withOneMore = await engine.countTokens([messages[0], ...messages.slice(gone - 1)]);
  assert.ok(withOneMore > 512 - 30, 'no more than needed was dropped');
  const again = await chat(messages, settings);
  assert.deepEqual(again.sequences, first.sequences);
  assert.equal(again.usage.cached_tokens, again.usage.prompt_tokens - 1);
});

// ---- reuse is exact

/** The first token's log-probabilities, raw, with the five best: they are the logits' own. */
async function firstToken(run) {
  const started = performance.now();
  for await (const { logprobs } of run) {
    const ms = performance.now() - started;
    const result = await run.result;
    return { ms, usage: result.usage, prompt: promptOf(result), logprobs };
  }
  return assert.fail('no token came');
}

/**
 * A second turn after a history of at least so many tokens, on the engine that answered the first one and on a fresh one.
 * @param {string} model
 * @param {object} options
 * @param {{ text: string, tokens: number }} history
 */
async function secondTurn(model, options, { text, tokens }) {
  const settings = { max_new_tokens: 1, logprobs: 5, eos_token_id: [] };
  const messages = [system('Be brief.'), user(text)];
  const warm = await Engine.load(model, options);
  const first = await warm.chat(messages, { max_new_tokens: 8, eos_token_id: [] }).result;
  assert.ok(first.usage.prompt_tokens + 8 >= tokens, `a history of ${first.usage.prompt_tokens} tokens`);
  const turn = [...messages, assistant(first.sequences[0].text), user('Say that in one word.')];
  const again = await firstToken(warm.chat(turn, settings));
  await warm.close();
  const cold = await Engine.load(model, options);
  const fresh = await firstToken(cold.chat(turn, settings));
  await cold.close();

  assert.equal(fresh.usage.cached_tokens, 0);
  assert.deepEqual(again.prompt, fresh.prompt);
  assert.equal(again.usage.cached_tokens, commonPrefix(heldAfter(first), again.prompt), 'all of the history is reused');
  assert.deepEqual(again.logprobs, fresh.logprobs, 'the logits are those of a fresh reading, bit for bit');
  assert.equal(again.logprobs[0].top_raw.length, 5);
  const read = again.usage.prompt_tokens - again.usage.cached_tokens;
  return { read, all: fresh.usage.prompt_tokens, ms: again.ms, freshMs: fresh.ms };
}

const sentence = 'She had been a friend and companion such as few possessed. ';

for (const options of [{ kvType: 'f16' }, { kvType: 'q8_0' }, { kvType: 'f32', threads: 2 }])
  test(`a second turn after 900 tokens reads only what is new, ${JSON.stringify(options)}`, async () => {
    const all = { threads: 1, contextLength: 1024, ...options };
    const turn = await secondTurn(TINY, all, { text: sentence.repeat(72), tokens: 900 });
    assert.ok(turn.read * 10 <= turn.all, `${turn.read} of ${turn.all} tokens were read`);
  });

const long = process.env.QW_LONG ? false : 'QW_LONG=1 runs it (npm run test:long)';
test(
  'the real model: a second turn after 1,000 tokens begins ten times sooner, with the same logits',
  { skip: long },
  async (t) => {
    if (!existsSync(REAL)) return t.skip('the real model is not here: npm run fetch-model');
    const turn = await secondTurn(REAL, { contextLength: 2048 }, { text: sentence.repeat(95), tokens: 1000 });
    const { read, all, ms, freshMs } = turn;
    t.diagnostic(
      `${read} of ${all} tokens read; first token after ${ms.toFixed(0)} ms against ${freshMs.toFixed(0)} ms`,
    );
    assert.ok(read * 10 <= all);
    assert.ok(ms * 10 <= freshMs, `${ms} ms against ${freshMs} ms`);
    return undefined;
  },
);
