// The page's end of a worker: bytes of a page's file move, and a worker that hangs is given up.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection } from '../../js/page/connection.js';
import { withCode } from './support/package.js';

/** A worker that does nothing; what is posted arrives as a clone, and what is transferred has moved. */
function quietWorker() {
  /** @type {any} */
  const worker = { posted: [], terminated: false };
  const host = {
    startWorker: () => ({
      post: (message, transfer = []) => worker.posted.push(structuredClone(message, { transfer })),
      listen: (handle) => (worker.say = handle),
      terminate: () => (worker.terminated = true),
      hold() {},
    }),
  };
  return { worker, host: /** @type {any} */ (host) };
}

test("a view out of a page's file is sent as a buffer of its own, which moves; the file keeps its bytes", async () => {
  const { worker, host } = quietWorker();
  const whole = Uint8Array.from({ length: 1000 }, (_, i) => i);
  const sent = [];
  const { startWorker } = host;
  host.startWorker = () => {
    const inner = startWorker();
    return { ...inner, post: (message, transfer) => (sent.push(message), inner.post(message, transfer)) };
  };
  const file = { name: 'f', size: 1000, read: async (at, n) => new Uint8Array(whole.buffer, at, n) };
  new Connection(host, 'x', { pageFiles: [file] });
  worker.say({ type: 'read', call: 7, file: 0, offset: 100, length: 10 });
  await new Promise((resolve) => setImmediate(resolve));
  const [{ type, call, bytes }] = worker.posted;
  assert.deepEqual([type, call, [...bytes]], ['bytes', 7, [...whole.subarray(100, 110)]]);
  assert.equal(bytes.buffer.byteLength, 10);
  assert.equal(sent[0].bytes.byteLength, 0); // it moved
  assert.equal(whole.byteLength, 1000);
});

test("a page's file may answer with an array of another realm", async () => {
  const { worker, host } = quietWorker();
  const { runInNewContext } = await import('node:vm');
  const file = { name: 'f', size: 3, read: async () => runInNewContext('new Uint8Array([1, 2, 3])') };
  new Connection(host, 'x', { pageFiles: [file] });
  worker.say({ type: 'read', call: 1, file: 0, offset: 0, length: 3 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([...worker.posted[0].bytes], [1, 2, 3]);
});

test('a worker that does not come to rest after a cancellation is given up, with all that is pending', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { worker, host } = quietWorker();
  const connection = new Connection(host, 'x');
  const prefill = { prompt: { text: '' } };
  const hanging = connection.request('prefill', prefill);
  const waiting = connection.request('prefill', prefill);
  const both = [hanging, waiting].map(({ done }) => assert.rejects(done, withCode('closed', /20 s.*load the model/)));
  connection.cancel(hanging.id, true);
  t.mock.timers.tick(19_000);
  assert.equal(worker.terminated, false);
  t.mock.timers.tick(1000);
  assert.equal(worker.terminated, true);
  await Promise.all(both);
  await assert.rejects(connection.request('prefill', prefill).done, withCode('closed', /20 s/));
});

test('a worker that comes to rest in time stays', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { worker, host } = quietWorker();
  const connection = new Connection(host, 'x');
  const { id, done } = connection.request('prefill', { prompt: { text: '' } });
  connection.cancel(id, false);
  t.mock.timers.tick(19_000);
  worker.say({ type: 'error', id, error: { code: 'aborted', message: 'aborted' } });
  await assert.rejects(done, withCode('aborted'));
  t.mock.timers.tick(60_000);
  assert.equal(worker.terminated, false);
});
