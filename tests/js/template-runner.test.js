// Renderings share one worker: what happens to one is no matter of the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { qwenError } from '../../js/errors.js';
import { nodeHost } from '../../js/node/host.js';
import { TemplateRunner } from '../../js/page/template-runner.js';
import { withCode } from './support/package.js';

const WORKER = new URL('../../dist/node-worker.mjs', import.meta.url).href;
const ENDLESS =
  '{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}';
const closed = qwenError('closed', 'closed');

/** @param {import('node:test').TestContext} t */
function newRunner(t) {
  const runner = new TemplateRunner(nodeHost, WORKER);
  t.after(() => runner.close(closed));
  return runner;
}

test('a rendering that takes too long rejects alone, and the time of the next begins with its turn', async (t) => {
  const runner = newRunner(t);
  assert.equal(await runner.render('a{{ x }}', { x: 1 }), 'a1');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const first = assert.rejects(runner.render(ENDLESS, {}), withCode('model', /did not end within 2 s/));
  const second = runner.render('b{{ x }}', { x: 2 });
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(2000);
  await first;
  assert.equal(await second, 'b2');
});

test('an aborted rendering rejects alone', async (t) => {
  const runner = newRunner(t);
  const control = new AbortController();
  const first = assert.rejects(runner.render(ENDLESS, {}, control.signal), withCode('aborted'));
  const second = runner.render('b{{ x }}', { x: 2 });
  const waiting = new AbortController();
  const third = assert.rejects(runner.render('c', {}, waiting.signal), withCode('aborted'));
  waiting.abort();
  await third;
  control.abort();
  await first;
  assert.equal(await second, 'b2');
});

test('closing rejects what renders and what waits, and starts nothing anew', async (t) => {
  const runner = newRunner(t);
  const both = [runner.render(ENDLESS, {}), runner.render('b', {})].map((one) =>
    assert.rejects(one, withCode('closed')),
  );
  runner.close(closed);
  await Promise.all(both);
  await assert.rejects(runner.render('c', {}), withCode('closed'));
});
