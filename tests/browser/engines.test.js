// The flows of page and cache in three engines: Chromium, Firefox and WebKitGTK, which has no shared memory and keeps no models.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { at, serveSite, TINY } from './support/browser.js';
import { BROWSERS, until } from './support/drivers.js';

const MODEL = 'models/austen-tiny-q8_0.gguf';
const REAL = 'build/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf';
/** Loads one after the other: one of some hundred was seen to hang. The real model is for `npm run test:long`. */
const LOADS = [
  { model: MODEL, times: 5, missing: '' },
  {
    model: REAL,
    times: 30,
    missing: existsSync(at(REAL)) && process.env.QW_LONG ? '' : 'npm run test:long, with the model',
  },
];

let expected;
before(async () => {
  const { Engine } = await import(at('dist/node.js'));
  const engine = await Engine.load(TINY, { threads: 1 });
  expected = (await engine.generate('It is a truth', { max_new_tokens: 8 }).result).sequences[0].token_ids;
  await engine.close();
});

/** In the page: loads, generates, closes; plan: looks at the headers first. */
async function load(model, options = {}, plan = false) {
  const { Engine } = await import('./dist/index.js');
  const phases = new Set();
  try {
    if (plan) await Engine.plan(model, options);
    const engine = await Engine.load(model, { ...options, onProgress: ({ phase }) => phases.add(phase) });
    const { sequences } = await engine.generate('It is a truth', { max_new_tokens: 8 }).result;
    const { threads, notes } = engine.info;
    await engine.close();
    return { ids: sequences[0].token_ids, phases: [...phases], threads, notes: notes.join('\n') };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

/** In the page: stops after three chunks, and a load before its end; then answers. */
async function abort(model) {
  const { Engine } = await import('./dist/index.js');
  const early = AbortSignal.timeout(1);
  const ended = await Engine.load(model, { cache: false, signal: early }).catch((error) => error.code);
  const engine = await Engine.load(model);
  const control = new AbortController();
  let seen = 0;
  let stopped;
  try {
    for await (const _ of engine.generate('It is', { eos_token_id: [], max_new_tokens: 900, signal: control.signal }))
      if (++seen === 3) control.abort();
  } catch (error) {
    stopped = error.code;
  }
  const { sequences } = await engine.generate('It is a truth', { max_new_tokens: 8 }).result;
  await engine.close();
  return { ended, stopped, ids: sequences[0].token_ids };
}

const modelReady = () => document.querySelector('qwen-chat')?.phase === 'ready';
const modelFailed = () => document.querySelector('qwen-chat')?.phase === 'failed';

/** In the demo page: asks, and resolves to the answer. */
async function ask(text) {
  for (const [name, value] of [
    ['temperature', '0'],
    ['max_new_tokens', '8'],
  ]) {
    const field = document.querySelector(`#setting-${name}`);
    field.value = value;
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }
  const chat = document.querySelector('qwen-chat');
  chat.send(text);
  while (chat.phase === 'answering') await new Promise((resolve) => setTimeout(resolve, 50));
  return chat.messages.at(-1).content;
}

for (const { name, launch, threads, keeps, missing } of BROWSERS) {
  describe(name, { skip: missing || false }, () => {
    /** @type {import('./support/drivers.js').Driven} */
    let browser;
    let server;
    before(async () => {
      [browser, server] = await Promise.all([launch(), serveSite()]);
    });
    after(() => Promise.all([browser?.close(), server?.close()]));

    const open = () => browser.open(`${server.url}blank.html`);

    test('loads, answers, and after a reload answers from the kept copy where one can be kept', async () => {
      const tab = await open();
      const options = threads ? { threads: 2 } : {};
      const first = await tab.evaluate(load, MODEL, options);
      assert.deepEqual(first.ids, expected, first.message);
      assert.deepEqual([first.threads, first.phases], [threads ? 2 : 1, ['download']]);
      assert.equal(/nothing is kept/.test(first.notes), !keeps, first.notes);
      await tab.reload();
      const second = await tab.evaluate(load, MODEL, options);
      assert.deepEqual([second.ids, second.phases], [expected, [keeps ? 'cache' : 'download']]);
      await tab.close();
    });

    test('what is missing is told once, and nothing that is there is asked for', async () => {
      const tab = await open();
      const capabilities = await tab.evaluate(async () => (await import('./dist/index.js')).capabilities());
      assert.deepEqual([capabilities.crossOriginIsolated, capabilities.threads], [true, threads]);
      const notes = capabilities.notes.join('\n');
      assert.doesNotMatch(notes, /not cross-origin isolated|Send Cross-Origin/);
      assert.equal(/no SharedArrayBuffer/.test(notes), !threads, notes);
      await tab.close();
    });

    test('an aborted load and an aborted answer leave an engine that answers', async () => {
      const tab = await open();
      const { ended, stopped, ids } = await tab.evaluate(abort, MODEL);
      assert.deepEqual([ended, stopped], ['aborted', 'aborted']);
      assert.deepEqual(ids, expected);
      await tab.close();
    });

    test('two tabs load at once', async () => {
      const tabs = [await open(), await open()];
      // WebKit's driver does one thing at a time: the loads are begun, then waited for.
      const begin = `(model) => { (${load})(model).then((result) => (window.result = result)); }`;
      for (const tab of tabs) await tab.evaluate(/** @type {any} */ (begin), MODEL);
      for (const tab of tabs) {
        await until(tab, () => window.result);
        const { ids, message } = await tab.evaluate(() => window.result);
        assert.deepEqual(ids, expected, message);
      }
      for (const tab of tabs) await tab.close();
    });

    test('the demo page answers on its second visit, with the network off where workers and models can be kept', async () => {
      const own = await serveSite();
      const tab = await browser.open(own.url);
      await until(tab, modelReady);
      const first = await tab.evaluate(ask, 'The daughter of');
      assert.ok(first.length > 4, first);
      const { files } = await tab.evaluate(() => window.qwen2Isolation.keep());
      assert.ok(files >= 15, `${files} files are kept`);
      await own.close();
      await tab.reload();
      if (keeps) {
        await until(tab, modelReady);
        const again = await tab.evaluate(ask, 'The daughter of');
        assert.ok(again.length > 4, again);
      } else {
        await until(tab, modelFailed);
        assert.match(
          await tab.evaluate(
            () => document.querySelector('qwen-chat').shadowRoot.querySelector('.load-text').innerText,
          ),
          /gguf/,
        );
      }
      await tab.close();
    });

    for (const { model, times, missing: lacking } of LOADS) {
      const skip = (threads ? lacking : 'it has no threads') || false;
      test(`plan and load ${model} with two threads, ${times} times`, { skip }, async () => {
        const tab = await open();
        const first = await tab.evaluate(load, model, { threads: 2 }, true);
        for (let i = 1; i < times; i++) {
          const { ids, threads: used, notes, message } = await tab.evaluate(load, model, { threads: 2 }, true);
          assert.deepEqual([ids, used, notes], [first.ids, 2, ''], message);
        }
        await tab.close();
      });
    }
  });
}
