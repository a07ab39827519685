// The demo page in Chromium, under COOP, COEP and the strict content policy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import {
  answered,
  ask,
  at,
  launch,
  look,
  modelError,
  modelReady,
  modelState,
  offered,
  openTab,
  pick,
  remark,
  serveSite,
  set,
  TINY,
} from './support/browser.js';

const PROMPT = 'It is a truth universally acknowledged, that';
const GREEDY = { temperature: 0, max_new_tokens: 24 };

let browser;
let server;
let greedy;

/** What the same engine says in Node. */
async function greedyInNode() {
  const { Engine } = await import(at('dist/node.js'));
  const engine = await Engine.load(TINY, { threads: 1 });
  const { sequences } = await engine.generate(PROMPT, { do_sample: false, max_new_tokens: 24 }).result;
  await engine.close();
  return sequences[0].text;
}

before(async () => {
  [browser, server, greedy] = await Promise.all([launch(), serveSite(), greedyInNode()]);
});
after(() => Promise.all([browser?.close(), server?.close()]));

async function openDemo(options) {
  const tab = await openTab(browser, server.url, options);
  await modelReady(tab.page);
  return tab;
}

test('the bundled model loads at once and continues a text, on threads and under the strict policy', async () => {
  const tab = await openDemo();
  assert.match(await modelState(tab.page), /5\.3 million parameters.*[2-8] threads/);
  assert.equal(await offered(tab.page, '#model-error'), false);
  assert.equal(await offered(tab.page, '#threads-notice'), false);
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), greedy);
  assert.match(await tab.page.innerText('qwen-chat .foot'), /[\d.]+ tokens per second/);
  tab.expectClean();
  await tab.close();
});

test('going on from an answer continues it, and a new conversation empties the page', async () => {
  const tab = await openDemo();
  await set(tab.page, GREEDY);
  const first = await ask(tab.page, PROMPT);
  await tab.page.getByRole('button', { name: 'Go on' }).click();
  const both = await answered(tab.page);
  assert.ok(both.startsWith(first) && both.length > first.length + 20, both);
  assert.equal(await tab.page.locator('.scroll > .turns > .turn.assistant').count(), 1);
  await tab.page.getByRole('button', { name: 'New conversation' }).click();
  assert.equal(await tab.page.locator('.turns > .turn.user').count(), 0);
  tab.expectClean();
  await tab.close();
});

test('the first screen says what the bundled model is, offers one that answers with its size, and fetches nothing of it', async () => {
  const seen = [];
  const tab = await openTab(browser, server.url, {
    prepare: () => {
      window.shift = 0;
      const add = (list) => list.getEntries().forEach(({ value }) => (window.shift += value));
      new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true });
    },
  });
  tab.page.on('request', (request) => seen.push(new URL(request.url()).pathname));
  await modelReady(tab.page);
  assert.match(await tab.page.innerText('qwen-chat .greeting'), /5 million parameters.*answers no questions/s);
  assert.match(await tab.page.innerText('#upgrade'), /491 MB/);
  await tab.page.locator('.suggestion').first().click();
  assert.ok((await answered(tab.page)).length > 20);
  await tab.page.click('#upgrade-open');
  const cards = await tab.page.locator('#shelf .card').allInnerTexts();
  assert.equal(cards.length, 4);
  for (const card of cards) assert.match(card, /[MG]B to download, about .* of memory/);
  assert.deepEqual(
    seen.filter((path) => /manifest|coder/.test(path)),
    [],
  );
  assert.equal((await tab.page.evaluate(() => window.shift)).toFixed(3), '0.000', 'nothing jumped');
  tab.expectClean();
  await tab.close();
});

test('the model that was chosen and the conversation are there after a reload; what is kept can be deleted', async () => {
  const tab = await openDemo();
  await set(tab.page, GREEDY);
  const said = await ask(tab.page, PROMPT);
  await look(tab.page, '/models/austen-tiny-q8_0.gguf?chosen', { contextLength: 96 });
  await tab.page.click('#found .accept');
  await tab.page.waitForFunction(() => /of 96 tokens/.test(document.getElementById('model-state').textContent));
  await tab.page.reload();
  await modelReady(tab.page);
  assert.match(await modelState(tab.page), /context of 96 tokens/);
  assert.equal(await tab.page.inputValue('#setting-max_new_tokens'), '24', 'so are the settings');
  assert.equal(await tab.page.evaluate(() => document.querySelector('qwen-chat').messages.at(-1).content), said);
  await tab.page.click('#open-models');
  await tab.page.waitForSelector('#kept button');
  for (let left = await tab.page.locator('#kept button').count(); left > 0; left--) {
    await tab.page.locator('#kept button').first().click();
    await tab.page.waitForFunction((n) => document.querySelectorAll('#kept button').length === n, left - 1);
  }
  assert.equal(await tab.page.innerText('#kept'), 'Nothing.');
  tab.expectClean();
  await tab.close();
});

test('what this browser can do is told, and the engine tests itself with a line for a bug report', async () => {
  const tab = await openDemo();
  await tab.page.click('#open-browser');
  assert.match(await tab.page.innerText('#abilities'), /SIMD: yes.*Threads: yes, of \d+ cores/s);
  await tab.page.click('#selftest');
  await tab.page.waitForSelector('#selftest-copy', { state: 'visible' });
  assert.match(await tab.page.innerText('#selftest-report'), /^All is well\./);
  await tab.page.click('#selftest-copy');
  await tab.page.waitForFunction(() => /qwen2-wasm self-test passed \{"simd":true.*Chrom/.test(document.getElementById('selftest-report').textContent)); // prettier-ignore
  tab.expectClean();
  await tab.close();
});

test('the same seed gives the same text, another one another text', async () => {
  const tab = await openDemo();
  await set(tab.page, { temperature: 1, max_new_tokens: 32, seed: 7 });
  const one = await ask(tab.page, PROMPT);
  assert.equal(await ask(tab.page, PROMPT), one);
  await set(tab.page, { seed: 8 });
  assert.notEqual(await ask(tab.page, PROMPT), one);
  await tab.close();
});

/** Resolves when more of the answer is there than so many letters. */
const grown = (page, letters) =>
  page.waitForFunction((n) => document.querySelector('qwen-chat').messages[1]?.content.length > n, letters);

/** Clicks Stop as soon as the answer has so many letters, in the page: the small model may be through before a click from here. */
const stopWhenGrown = (page, letters) =>
  page.evaluate(async (n) => {
    const chat = document.querySelector('qwen-chat');
    while (!(chat.messages[1]?.content.length > n)) await new Promise((resolve) => setTimeout(resolve, 1));
    /** @type {any} */ (chat.shadowRoot.querySelector('.send')).click();
  }, letters);

test('Stop ends an answer, keeps its text, and the next one works', async () => {
  const tab = await openDemo();
  await set(tab.page, { temperature: 1, max_new_tokens: 900 });
  await tab.page.fill('.input', PROMPT);
  await tab.page.click('.send');
  await stopWhenGrown(tab.page, 20);
  const text = await answered(tab.page, 3000);
  assert.ok(text.length > 20);
  assert.match(await remark(tab.page), /Stopped/);
  await tab.page.waitForTimeout(300);
  assert.equal(await answered(tab.page), text, 'nothing comes after Stop');
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), greedy);
  tab.expectClean();
  await tab.close();
});

test('a wrong file gives a clear error and the page goes on with the model at hand', async () => {
  const tab = await openDemo();
  await set(tab.page, GREEDY);
  const gguf = readFileSync(TINY);
  const wrong = [
    {
      name: 'holiday.gguf',
      mimeType: '',
      buffer: Buffer.from('JFIF, not a model, but long enough to have a header'.repeat(4)),
    },
    { name: 'empty.gguf', mimeType: '', buffer: Buffer.alloc(0) },
    { name: 'cut.gguf', mimeType: '', buffer: gguf.subarray(0, 1000) },
    { name: 'half.gguf', mimeType: '', buffer: gguf.subarray(0, gguf.length >> 1) },
  ];
  for (const file of wrong) {
    await pick(tab.page, file);
    const message = await modelError(tab.page);
    assert.ok(message.includes(file.name), `${file.name}: ${message}`);
    assert.equal(await ask(tab.page, PROMPT), greedy, file.name);
  }
  tab.expectClean();
  await tab.close();
});

test('an address that leads nowhere or to a page gives a clear error and nothing is loaded', async () => {
  const tab = await openDemo({ expectErrors: true });
  await tab.page.click('#open-models');
  for (const [address, words] of /** @type {[string, RegExp][]} */ ([
    ['models/none.gguf', /404/],
    ['index.html', /HTML/i],
    ['', /not an address/],
  ])) {
    await tab.page.fill('#url', address);
    await tab.page.press('#url', 'Enter');
    await tab.page.waitForFunction(
      (source) => new RegExp(source, 'i').test(document.getElementById('model-error').textContent),
      words.source,
    );
  }
  assert.match(await modelState(tab.page), /^Austen Tiny/);
  await tab.close();
});

test('a model by its address shows its size first and loads when that is accepted', async () => {
  const tab = await openDemo();
  await look(tab.page, '/models/austen-tiny-q8_0.gguf?another', { contextLength: 256 });
  await tab.page.waitForSelector('#found .accept', { state: 'visible' });
  assert.match(await tab.page.innerText('#found'), /5\.8 MB to download, [\d.]+ MB of memory: it fits here/);
  assert.match(await modelState(tab.page), /context of 1024 tokens/);
  await tab.page.click('#found .accept');
  await tab.page.waitForFunction(() =>
    /context of 256 tokens/.test(document.getElementById('model-state').textContent),
  );
  assert.equal(await offered(tab.page, '#found'), false);
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), greedy);
  tab.expectClean();
  await tab.close();
});

test('a file that is dropped is loaded', async () => {
  const tab = await openDemo();
  const before = await modelState(tab.page);
  await tab.page.evaluate(async () => {
    document.getElementById('contextLength').value = '128';
    const bytes = await (await fetch('models/austen-tiny-q8_0.gguf')).arrayBuffer();
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], 'dropped.gguf'));
    window.dispatchEvent(new DragEvent('dragover', { dataTransfer: transfer, cancelable: true }));
    window.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, cancelable: true }));
  });
  await tab.page.waitForFunction(() =>
    /context of 128 tokens/.test(document.getElementById('model-state').textContent),
  );
  assert.notEqual(await modelState(tab.page), before);
  assert.equal(await tab.page.evaluate(() => document.body.className), '');
  tab.expectClean();
  await tab.close();
});

test('a model that was loaded before comes from this device where its server cannot be reached or is not itself', async () => {
  let state = 'as it is';
  const changing = await serveSite({
    intercept(request, response) {
      if (state === 'as it is' || !request.url.includes('?kept')) return false;
      if (state === 'gone') request.socket.destroy();
      else response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html><p>Please log in');
      return true;
    },
  });
  const tab = await openTab(browser, changing.url, { expectErrors: true });
  const load = (contextLength) => look(tab.page, '/models/austen-tiny-q8_0.gguf?kept', { contextLength });
  const loaded = (context) =>
    tab.page.waitForFunction(
      (state) => document.getElementById('model-state').textContent.includes(state),
      `context of ${context} tokens`,
      { timeout: 10_000 },
    );
  await modelReady(tab.page);
  await load(256);
  await tab.page.click('#found .accept');
  await loaded(256);
  for (const [next, context] of /** @type {[string, number][]} */ ([
    ['gone', 128],
    ['a portal', 64],
  ])) {
    state = next;
    await tab.page.reload();
    await modelReady(tab.page);
    await load(context);
    await loaded(context);
    assert.equal(await offered(tab.page, '#found'), false, next);
    await set(tab.page, { temperature: 0, max_new_tokens: 24 });
    assert.equal(await ask(tab.page, PROMPT), greedy, next);
  }
  await tab.close();
  await changing.close();
});

test('a load that the browser did not survive is spoken of at the next visit, once', async () => {
  let stuck = true;
  const stalling = await serveSite({
    intercept(request, response) {
      const { write } = response;
      if (!stuck || !request.url.includes('?large')) return false;
      let sent = 0; // the header arrives, and a part of the weights
      response.write = (chunk, ...rest) => (sent += chunk.length) > 3e6 || write.call(response, chunk, ...rest);
      return false;
    },
  });
  const tab = await openTab(browser, stalling.url);
  const visit = async () => {
    const page = await tab.context.newPage();
    await page.goto(stalling.url);
    await modelReady(page);
    return page;
  };
  const load = async (page) => {
    await look(page, '/models/austen-tiny-q8_0.gguf?large', { contextLength: 160000 }); // 290 MB of memory
    await page.click('#found .accept');
  };
  const marker = (page) => page.evaluate(() => JSON.parse(localStorage.getItem('qwen2-demo-unfinished-load')));

  await modelReady(tab.page);
  await load(tab.page);
  await tab.page.locator('.load-text', { hasText: /^Downloading/ }).waitFor();
  assert.equal(await marker(tab.page), 'austen-tiny-q8_0.gguf');
  await tab.page.close(); // as a phone does that runs out of memory

  const next = await visit();
  assert.match(await modelError(next), /^Loading austen-tiny-q8_0\.gguf did not come to an end.*smaller model/);
  assert.match(await modelState(next), /context of 1024 tokens/, 'the small model is there');
  stuck = false;
  await load(next);
  await next.waitForFunction(() => /context of 160000/.test(document.getElementById('model-state').textContent));
  assert.equal(await marker(next), null);
  await next.close();

  const last = await visit();
  await last.waitForTimeout(200);
  assert.equal(await offered(last, '#model-error'), false);
  tab.expectClean();
  await tab.close();
  await stalling.close();
});

test('with the network cut after the load the page goes on answering', async () => {
  const tab = await openDemo();
  await set(tab.page, GREEDY);
  await tab.context.setOffline(true);
  assert.equal(await ask(tab.page, PROMPT), greedy);
  tab.expectClean();
  await tab.close();
});

test('a dead worker ends the answer with an error within a second, and the model can be loaded again', async () => {
  const tab = await openDemo({ expectErrors: true });
  await set(tab.page, { temperature: 1, max_new_tokens: 900 });
  await tab.page.fill('.input', PROMPT);
  await tab.page.click('.send');
  await grown(tab.page, 20);
  const workers = tab.page.workers().filter((worker) => worker.url().includes('worker.js'));
  assert.ok(workers.length > 0);
  await workers[0].evaluate(() => void setTimeout(() => { throw new Error('the worker was killed by a test'); })); // prettier-ignore
  await tab.page.waitForSelector('.turn .error', { timeout: 1500 });
  await tab.page.waitForSelector('.load-retry');
  assert.equal(await tab.page.getAttribute('.send', 'aria-disabled'), 'true');
  await tab.page.click('.load-retry');
  await modelReady(tab.page);
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), greedy);
  await tab.close();
});

test('what the model computes is not computed by the thread of the page', async () => {
  const tab = await openDemo();
  await set(tab.page, { temperature: 1, max_new_tokens: 600 });
  const session = await tab.context.newCDPSession(tab.page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const seconds = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    const of = (wanted) => metrics.find(({ name }) => name === wanted).value;
    return { thread: of('TaskDuration'), process: of('ProcessTime') };
  };
  const before = await seconds();
  await ask(tab.page, PROMPT);
  const after = await seconds();
  const [thread, all] = [after.thread - before.thread, after.process - before.process];
  assert.ok(thread > 0 && thread < all / 2, `the page's thread computed ${thread} s of ${all} s`);
  await tab.close();
});

test('nothing is cut off at phone width and the text of a model is never markup', async () => {
  const tab = await openDemo({ viewport: { width: 320, height: 640 }, isMobile: true, hasTouch: true });
  await set(tab.page, { temperature: 0, max_new_tokens: 4 });
  await tab.page.fill('.input', '<img src=x onerror="document.title=1"><b>bold</b> & unbroken'.repeat(3));
  await tab.page.press('.input', 'Enter');
  assert.equal(await tab.page.locator('.turn.user').count(), 0, 'Enter of an on-screen keyboard starts a new line');
  await tab.page.tap('.send');
  await answered(tab.page);
  assert.equal(await tab.page.locator('qwen-chat img, qwen-chat b').count(), 0);
  for (const name of ['', 'models', 'settings', 'browser']) {
    if (name) await tab.page.click(`#open-${name}`);
    const width = await tab.page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('dialog[open]')?.scrollWidth ?? 0)); // prettier-ignore
    assert.ok(width <= 320, `${name || 'the page'} is ${width} wide`);
    if (name) await tab.page.click(`#${name} .close`);
  }
  tab.expectClean();
  await tab.close();
});

test('on a wide screen lines of text have about 75 letters and no more', async () => {
  const tab = await openDemo({ viewport: { width: 1440, height: 900 } });
  await set(tab.page, { temperature: 0.7, max_new_tokens: 300, seed: 1 });
  await ask(tab.page, PROMPT);
  const longest = await tab.page
    .locator('.turn.assistant .text')
    .last()
    .evaluate((place) => {
      const range = document.createRange();
      const lengths = new Map();
      const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (let i = 0; i < node.textContent.length; i++) {
          range.setStart(node, i);
          range.setEnd(node, i + 1);
          const top = Math.round(range.getBoundingClientRect().top);
          lengths.set(top, (lengths.get(top) ?? 0) + 1);
        }
      }
      return Math.max(...lengths.values());
    });
  assert.ok(longest > 40 && longest <= 78, `a line has ${longest} letters`);
  await tab.close();
});
