// The real model in the demo page, where `npm run fetch-model` has brought it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answered, ask, at, launch, look, modelReady, openTab, remark, serveSite, set } from './support/browser.js';

const FILE = 'build/models/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf';
const skip = existsSync(at(FILE)) ? false : 'the real model is not here (npm run fetch-model)';

const QUESTION = 'Write a Python function fib(n) that returns the n-th Fibonacci number. Code only.';

/** Its answer; on the way, what a model says that has lost its rotary positions or its biases is ruled out. */
async function answerInNode() {
  const { Engine } = await import(at('dist/node.js'));
  const engine = await Engine.load(at(FILE), { threads: 1, simd: 'base', contextLength: 256, cache: false });
  const settings = { do_sample: false, max_new_tokens: 120 };
  const { sequences } = await engine.chat([{ role: 'user', content: QUESTION }], settings).result;
  const capital = await engine.generate('The capital of France is', { do_sample: false, max_new_tokens: 1 }).result;
  assert.equal(capital.sequences[0].text, ' Paris');
  await engine.close();
  return sequences[0].text;
}

let browser;
let server;
before(async () => {
  if (!skip) [browser, server] = await Promise.all([launch(), serveSite()]);
});
after(() => Promise.all([browser?.close(), server?.close()]));

test(
  'the real model loads by its address, answers a coding question, and Stop works',
  { skip, timeout: 150_000 },
  async () => {
    const tab = await openTab(browser, server.url);
    const { page } = tab;
    await modelReady(page);
    await look(page, FILE, { contextLength: 1024 });
    await page.waitForSelector('#found .accept', { timeout: 30_000 });
    assert.match(await page.innerText('#found'), /491 MB to download/);
    await page.click('#found .accept');
    await page.waitForFunction(
      () => /^Qwen2.5 Coder .* 630 million parameters/.test(document.getElementById('model-state').textContent),
      null,
      { timeout: 60_000 },
    );
    await set(page, { temperature: 0, max_new_tokens: 120 });
    const answer = await ask(page, QUESTION);
    assert.match(answer, /def fib\w*\(n\)/);
    assert.match(answer, /return/);
    assert.equal(answer, await answerInNode(), 'Node, on one thread and base SIMD, gives the same answer');

    await set(page, { max_new_tokens: 400 });
    await page.fill('.input', 'Now explain it at length.');
    await page.press('.input', 'Enter');
    await page.waitForFunction(() => document.querySelector('qwen-chat').messages[3]?.content.length > 40);
    await page.press('.input', 'Escape');
    await answered(page, 5000);
    assert.match(await remark(page), /Stopped/);
    tab.expectClean();
    await tab.close();
  },
);
