// What never ends, what breaks, and what is no engine: each is told, and the queue goes on or says that it cannot.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Engine, greedy, TINY, withCode } from './support/package.js';

const PROMPT = 'It is a truth';
const support = (name) => new URL(`./support/${name}`, import.meta.url);
const ENDLESS = support('processor-endless.mjs');

let engine;
let expected;
before(async () => {
  engine = await Engine.load(TINY, { threads: 1, contextLength: 512 });
  expected = await greedy(engine, PROMPT, 12);
});
after(() => engine.close());

test('a logits_processor whose import never ends: an abort rejects, and the queue goes on', async () => {
  const control = new AbortController();
  const run = engine.generate(PROMPT, { logits_processor: ENDLESS, signal: control.signal });
  const next = greedy(engine, PROMPT, 12);
  await engine.applyChatTemplate([{ role: 'user', content: '' }]); // so long that the import has begun
  control.abort();
  await assert.rejects(run.result, withCode('aborted'));
  assert.deepEqual(await next, expected);
});

test('a logits_processor whose import never ends: leaving the loop gives what there is', async () => {
  const run = engine.generate(PROMPT, { logits_processor: ENDLESS });
  const next = greedy(engine, PROMPT, 12);
  await engine.applyChatTemplate([{ role: 'user', content: '' }]);
  await run[Symbol.asyncIterator]().return();
  const [{ finish_reason, token_ids }] = (await run.result).sequences;
  assert.deepEqual([finish_reason, token_ids], ['aborted', []]);
  assert.deepEqual(await next, expected);
});

test('a logits_processor whose import never ends is given up by itself', async () => {
  const hasty = await Engine.load(TINY, { threads: 1, workerUrl: support('hasty-worker.mjs') });
  const run = hasty.generate(PROMPT, { logits_processor: ENDLESS });
  await assert.rejects(run.result, withCode('usage', /not imported within 30 s/));
  assert.deepEqual(await greedy(hasty, PROMPT, 12), expected);
  await hasty.close();
});

test('an engine that hangs is lost some time after its call was stopped, and says so', async (t) => {
  const hanging = await Engine.load(TINY, { threads: 1, workerUrl: support('hanging-worker.mjs') });
  t.mock.timers.enable({ apis: ['setInterval'] });
  const run = hanging.generate(PROMPT, { eos_token_id: [] });
  const later = hanging.tokenize('x');
  for await (const { token_ids } of run) if (token_ids.length) break;
  t.mock.timers.tick(20_000);
  await assert.rejects(run.result, withCode('closed', /did not come to rest within 20 s/));
  await assert.rejects(later, withCode('closed', /it is lost/));
  await assert.rejects(hanging.generate(PROMPT).result, withCode('closed', /load the model again/));
  await hanging.close();
});

test("an internal error carries the worker's stack, and the cause with its own", async () => {
  const broken = await Engine.load(TINY, { threads: 1, workerUrl: support('trapping-worker.mjs') });
  const error = await broken.generate(PROMPT, { eos_token_id: [] }).result.catch((fault) => fault);
  assert.equal(error.code, 'internal');
  assert.match(error.stack, /node-worker\.mjs|worker\.js/);
  assert.deepEqual([error.cause.name, error.cause.message], ['RuntimeError', 'unreachable']);
  assert.match(error.cause.stack, /trapping-worker\.mjs/);
  await broken.close();
});

test('new Engine() says what gives an engine', () => {
  assert.throws(() => new Engine(), withCode('usage', /Engine\.load/));
  assert.throws(() => new Engine({}), withCode('usage', /Engine\.load/));
});
