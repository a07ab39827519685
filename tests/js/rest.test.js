// What an engine takes when it has nothing to do, and after many generations. Run by `npm run test:long` alone: other work on
// the machine would disturb it, and it takes a while.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import v8 from 'node:v8';
import vm from 'node:vm';
import { Engine, TINY } from './support/package.js';

const skip = process.env.QW_LONG ? false : 'npm run test:long';
const OPTIONS = { cache: /** @type {const} */ (false), contextLength: 256, threads: 2 };

v8.setFlagsFromString('--expose-gc');
const collect = vm.runInNewContext('gc');

const generate = (engine) => engine.generate('It is a truth', { max_new_tokens: 4, do_sample: true }).result;

/** MB of this thread's objects, and of the process with its workers. */
async function megabytes() {
  for (let i = 0; i < 3; i++) {
    collect();
    await wait(50);
  }
  const { heapUsed, arrayBuffers, rss } = process.memoryUsage();
  return { heap: (heapUsed + arrayBuffers) / 1e6, process: rss / 1e6 };
}

test('a thousand generations leave memory as it was', { skip }, async () => {
  const engine = await Engine.load(TINY, OPTIONS);
  for (let i = 0; i < 500; i++) await generate(engine);
  const before = await megabytes();
  for (let i = 0; i < 1000; i++) await generate(engine);
  const after = await megabytes();
  await engine.close();
  const grown = `before ${JSON.stringify(before)}, after ${JSON.stringify(after)}`;
  assert.ok(after.heap - before.heap < 1, grown);
  assert.ok(after.process - before.process < 10, grown); // the worker's heap is among it, garbage included
});

test('an engine that waits takes no CPU', { skip }, async () => {
  const engine = await Engine.load(TINY, OPTIONS);
  await generate(engine);
  await wait(1000);
  const start = process.cpuUsage();
  await wait(3000);
  const { user, system } = process.cpuUsage(start);
  await engine.close();
  assert.ok((user + system) / 3e6 < 0.01, `${user + system} microseconds in 3 s`);
});
