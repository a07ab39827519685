// A worker that hangs while it loads: it is ended, and another one is asked.
import assert from 'node:assert/strict';
import { afterEach, mock, test } from 'node:test';
import { attempt, park } from '../../js/page/attempts.js';

afterEach(() => mock.timers.reset());

const URLS = Object.fromEntries(['', '-threads', '-relaxed', '-threads-relaxed'].map((build) => [build, build]));

/** A host whose workers do what the list says, one after the other: 'hangs', 'answers' or 'thread dies'. */
function scripted(...behaviours) {
  const workers = [];
  const startWorker = (name) => {
    const does = name === 'em-pthread' ? 'dies' : behaviours.shift();
    const worker = { does, ended: false, requests: [] };
    workers.push(worker);
    let say;
    return {
      post(message) {
        worker.requests.push(message);
        if (message.type === 'ping') return void (does === 'works' && say({ type: 'alive' }));
        if (does === 'answers') say({ type: 'done', id: message.id, value: message.wasm });
        if (does === 'thread dies') say({ type: 'thread', thread: 0, message: { cmd: 'load' } });
        if (does === 'dies') queueMicrotask(() => worker.fail(new Error('no memory')));
      },
      listen(handle, fail) {
        worker.say = say = (message) => queueMicrotask(() => handle(message));
        worker.fail = fail;
      },
      terminate: () => (worker.ended = true),
      hold() {},
    };
  };
  return { workers, host: { startWorker } };
}

/** @returns {any} */
const begun = (host, threads = 2) => ({
  host,
  workerUrl: undefined,
  pageFiles: [],
  notes: [],
  request: { wasm: { urls: URLS, threads, shared: threads > 1, relaxed: true, trial: false } },
});

/** Lets so many seconds pass, with what they bring. */
async function pass(seconds) {
  for (let i = 0; i < seconds; i++) {
    mock.timers.tick(1000);
    for (let turns = 0; turns < 8; turns++) await null;
  }
}

test('a worker that is silent is ended, and so is the next one; the third has one thread, and notes tell of it', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  const { host, workers } = scripted('hangs', 'hangs', 'answers');
  const done = attempt('load', begun(host));
  await pass(10);
  assert.deepEqual(
    workers.map(({ ended }) => ended),
    [false],
  );
  await pass(1);
  assert.deepEqual(
    workers.map(({ ended }) => ended),
    [true, false],
  );
  await pass(11);
  const { answer, notes } = /** @type {any} */ (await done);
  assert.deepEqual(
    workers.map(({ ended }) => ended),
    [true, true, false],
  );
  assert.deepEqual([answer.threads, answer.shared], [1, false]);
  assert.match(notes.join('\n'), /no sign of life for 10 s.* 2 thread\(s\)\n.*no sign of life.* 1 thread\(s\)/);
});

test('a worker that answers, however slowly, is waited for', async () => {
  mock.timers.enable({ apis: ['setInterval'] });
  const { host, workers } = scripted('works');
  const done = attempt('load', begun(host));
  await pass(60);
  assert.equal(workers.length, 1);
  workers[0].say({ type: 'done', id: 1, value: 'loaded' });
  const { answer, notes } = /** @type {any} */ (await done);
  assert.deepEqual([answer, notes], ['loaded', []]);
});

test('a thread that dies ends the load and all its workers; on one thread it comes to its end', async () => {
  const { host, workers } = scripted('thread dies', 'thread dies', 'answers');
  const { answer, notes } = /** @type {any} */ (await attempt('load', begun(host)));
  assert.equal(answer.threads, 1);
  assert.match(notes.join('\n'), /thread of the engine failed: no memory/);
  assert.deepEqual(
    workers.map(({ ended }) => ended),
    [true, true, true, true, false],
  );
});

test('an aborted load starts no other worker', async () => {
  const { host, workers } = scripted('hangs');
  const control = new AbortController();
  const done = attempt('load', begun(host), {}, control.signal);
  control.abort();
  await assert.rejects(done, { code: 'aborted' });
  assert.deepEqual(
    workers.map(({ ended }) => ended),
    [true],
  );
});

test('the worker of a plan does the load that follows, and is ended where none follows', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const { host, workers } = scripted('answers', 'answers');
  const plan = begun(host);
  park(plan, (await attempt('plan', plan)).connection);
  const { connection } = await attempt('load', begun(host));
  assert.deepEqual(
    workers.map(({ requests }) => requests.map(({ type }) => type)),
    [['plan', 'load']],
  );
  mock.timers.tick(60_000);
  assert.equal(connection.ended, null);
  park(plan, (await attempt('plan', plan)).connection);
  assert.equal(workers[1].ended, false);
  mock.timers.tick(60_000);
  assert.equal(workers[1].ended, true);
});
