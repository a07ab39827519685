// The chat of <qwen-chat> apart from how it looks: a model on its way, consent, and the turns, over an engine that a test
// dictates.
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { ChatSession } from '../../js/element/session.js';

const PLAN = { downloadBytes: 100, peakBytes: 200, storageBytes: null, fits: true, advice: [] };

let phases = [];
let loads = [];
let plans = [];
/** What the next calls of plan() and load() give: a value, or an Error. */
let answers = { plan: PLAN, load: /** @type {any} */ (null) };
/** @type {ChatSession} */
let session;

const given = (/** @type {any} */ answer) =>
  answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);

function engineOf(text) {
  const result = {
    sequences: [{ finish_reason: 'eos' }],
    usage: { prompt_tokens: 3, completion_tokens: 1 },
    timings: { decode: 1 },
    notes: [],
  };
  return {
    info: { chatTemplate: 'chatml', contextLength: 100 },
    closed: 0,
    calls: [],
    chat(messages, settings) {
      this.calls.push({ messages, settings });
      return {
        result: Promise.resolve(result),
        async *[Symbol.asyncIterator]() {
          yield { index: 0, text, token_ids: [1] };
        },
      };
    },
    async close() {
      this.closed++;
    },
  };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 5));

beforeEach(() => {
  [phases, loads, plans] = [[], [], []];
  answers = { plan: PLAN, load: engineOf('fine') };
  const Engine = {
    plan: (source, options) => (plans.push({ source, options }), given(answers.plan)),
    load: (source, options) => (loads.push({ source, options }), given(answers.load)),
  };
  const nothing = () => {};
  session = new ChatSession(/** @type {any} */ (Engine), {
    onPhase: (phase) => phases.push(phase),
    onProgress: nothing,
    onReading: nothing,
    onTurn: nothing,
    onChunk: nothing,
    onEnd: nothing,
  });
});

test('a download waits for consent, whether the model fits or not', async () => {
  for (const fits of [true, false]) {
    answers.plan = { ...PLAN, fits };
    await session.open('a.gguf', {}, true);
    assert.equal(session.phase, 'offered');
    assert.equal(loads.length, 0);
  }
  await session.accept();
  assert.equal(session.phase, 'ready');
});

test('what is on the device, and what was asked for without a question, is loaded at once', async () => {
  answers.plan = { ...PLAN, downloadBytes: 0 };
  await session.open('a.gguf', {}, true);
  assert.equal(session.phase, 'ready');
  answers.plan = PLAN;
  await session.open('b.gguf', {}, false);
  assert.deepEqual([session.phase, loads.length], ['ready', 2]);
});

test('after a plan that failed, another try looks and asks again; after a load that failed, it loads', async () => {
  answers.plan = /** @type {any} */ (new Error('offline'));
  await session.open('a.gguf', {}, true);
  assert.deepEqual([session.phase, session.error?.message], ['failed', 'offline']);
  answers.plan = PLAN;
  await session.retry();
  assert.deepEqual([session.phase, plans.length, loads.length], ['offered', 2, 0]);
  answers.load = new Error('cut');
  await session.accept();
  assert.deepEqual([session.phase, session.error?.message], ['failed', 'cut']);
  answers.load = engineOf('fine');
  await session.retry();
  assert.deepEqual([session.phase, plans.length, loads.length], ['ready', 2, 2]);
});

test('a pause ends the load and goes on from there; an engine that comes all the same is closed', async () => {
  const late = engineOf('late');
  let arrive = (/** @type {any} */ _engine) => {};
  answers.load = new Promise((resolve) => (arrive = resolve));
  await session.open('a.gguf', {}, true);
  const loading = session.accept();
  session.pause();
  assert.equal(session.phase, 'paused');
  assert.equal(loads[0].options.signal.aborted, true);
  arrive(late);
  await loading;
  assert.deepEqual([session.phase, late.closed], ['paused', 1]);
  answers.load = engineOf('fine');
  await session.accept();
  assert.equal(session.phase, 'ready');
});

test('a message that is sent while the model comes is answered when it is there', async () => {
  const opened = session.open('a.gguf', {}, false);
  assert.equal(session.phase, 'looking');
  assert.equal(session.send('hello'), true);
  assert.equal(session.send('twice'), false, 'one at a time');
  await opened;
  await settled();
  assert.deepEqual(
    session.turns.map(({ role, content }) => [role, content]),
    [
      ['user', 'hello'],
      ['assistant', 'fine'],
    ],
  );
});

test('of two models that are named one after the other, the last one stays; engines of the page are not closed', async () => {
  const own = engineOf('own');
  await session.use(/** @type {any} */ (own));
  const [first, second] = [session.open('a.gguf', {}, false), session.open('b.gguf', {}, false)];
  await Promise.all([first, second]);
  assert.deepEqual(
    loads.map(({ source }) => source),
    ['b.gguf'],
  );
  assert.deepEqual([session.phase, own.closed], ['ready', 0]);
  const loaded = /** @type {any} */ (session.engine);
  await session.close();
  assert.equal(loaded.closed, 1);
});
