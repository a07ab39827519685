// Chromium and Node give the same numbers, to the last bit, on every build and thread count.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { at, launch, openTab, serveSite, TINY } from './support/browser.js';

const TEXT =
  'She was not much deceived as to her own skill either as an artist or a musician, but she was not unwilling to have ' +
  'others deceived, or sorry to know her reputation for accomplishment often higher than it deserved.';

/** Runs in Node and, as text, in the page: so both do the same. */
async function measure(Engine, source, options, text) {
  const engine = await Engine.load(source, { ...options, cache: false });
  try {
    const ids = [...(await engine.tokenize(text))];
    const { logits, shape } = await engine.forward({ input_ids: [ids], logits_to_keep: 0 });
    const settings = { do_sample: true, temperature: 0.9, top_p: 0.95, seed: 11, max_new_tokens: 48 };
    const { sequences } = await engine.generate(text.slice(0, 60), settings).result;
    const { simd, threads } = engine.info;
    return { logits, shape, simd, threads, tokens: sequences[0].token_ids };
  } finally {
    await engine.close();
  }
}

let browser;
let server;
let expected;

before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
  const { Engine } = await import(at('dist/node.js'));
  const { logits, ...rest } = await measure(Engine, TINY, { threads: 1, simd: 'base' }, TEXT);
  expected = { ...rest, hash: createHash('sha256').update(new Uint8Array(logits.buffer)).digest('hex') };
  assert.equal(logits.length, expected.shape[1] * expected.shape[2]);
  assert.ok(logits.every(Number.isFinite) && new Set(logits.subarray(0, 100)).size > 50);
});
after(() => Promise.all([browser?.close(), server?.close()]));

for (const simd of ['base', 'relaxed']) {
  for (const threads of [1, 2]) {
    test(`logits and sampled tokens in Chromium equal Node's: ${simd}, threads ${threads}`, async () => {
      const tab = await openTab(browser, `${server.url}blank.html`, { prepare: `window.measure = ${measure}` });
      const got = await tab.page.evaluate(
        async ([options, text]) => {
          const { Engine } = await import('/dist/index.js');
          const run = await window.measure(Engine, '/models/austen-tiny-q8_0.gguf', options, text);
          const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', run.logits));
          const { logits, ...rest } = run;
          return { ...rest, hash: [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('') };
        },
        [{ simd, threads }, TEXT],
      );
      assert.deepEqual(got, { ...expected, simd, threads });
      tab.expectClean();
      await tab.close();
    });
  }
}
