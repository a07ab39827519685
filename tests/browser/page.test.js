// The demo page in Chromium, under COOP, COEP and the strict content policy.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { answered, ask, at, launch, modelReady, openTab, pick, serveSite, set, TINY } from './support/browser.js';

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
  assert.match(await tab.page.innerText('#model-state'), /5\.3 million parameters.*[2-8] threads/);
  assert.equal(await tab.page.isVisible('#model-error'), false);
  assert.equal(await tab.page.isVisible('#threads-notice'), false);
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy);
  assert.match(await tab.page.innerText('#log .meta'), /^24 tokens · [\d.]+ tokens\/s · .*cut off at max_new_tokens/);
  tab.expectClean();
  await tab.close();
});

test('going on from an answer continues it, and a new conversation empties the page', async () => {
  const tab = await openDemo();
  await set(tab.page, GREEDY);
  const first = await ask(tab.page, PROMPT);
  await tab.page.getByRole('button', { name: 'Go on from here' }).click();
  const both = await answered(tab.page);
  assert.ok(both.startsWith(first) && both.length > first.length + 20, both);
  assert.equal(await tab.page.locator('#log li').count(), 1);
  await tab.page.click('#fresh');
  assert.equal(await tab.page.locator('#log li').count(), 0);
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

test('Stop ends an answer, keeps its text, and the next one works', async () => {
  const tab = await openDemo();
  await set(tab.page, { temperature: 1, max_new_tokens: 900 });
  await tab.page.fill('#prompt', PROMPT);
  await tab.page.click('#send');
  await tab.page.waitForFunction(
    (n) => document.querySelector('#log .text')?.textContent.length > n,
    PROMPT.length + 20,
  );
  await tab.page.click('#stop');
  const text = await answered(tab.page, 3000);
  assert.ok(text.length > PROMPT.length + 20);
  assert.match(await tab.page.innerText('#log .meta'), / stopped · /);
  await tab.page.waitForTimeout(300);
  assert.equal(await tab.page.locator('#log .text').innerText(), text, 'nothing comes after Stop');
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy);
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
    await tab.page.waitForSelector('#model-error', { state: 'visible' });
    const message = await tab.page.innerText('#model-error-text');
    assert.ok(message.includes(file.name), `${file.name}: ${message}`);
    assert.equal(await tab.page.isVisible('#loading'), false);
    assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy, file.name);
  }
  tab.expectClean();
  await tab.close();
});

test('an address that leads nowhere or to a page gives a clear error and nothing is loaded', async () => {
  const tab = await openDemo({ expectErrors: true });
  await tab.page.click('#choice-title');
  for (const [address, words] of [
    ['models/none.gguf', /404/],
    ['index.html', /HTML/i],
    ['', /not an address/],
  ]) {
    await tab.page.fill('#url', address);
    await tab.page.press('#url', 'Enter');
    await tab.page.waitForFunction(
      (source) => new RegExp(source, 'i').test(document.getElementById('model-error-text').textContent),
      words.source,
    );
  }
  assert.match(await tab.page.innerText('#model-state'), /^Austen Tiny/);
  await tab.close();
});

test('a model by its address shows its size first and loads when that is accepted', async () => {
  const tab = await openDemo();
  await tab.page.click('#choice-title');
  await tab.page.fill('#url', '/models/austen-tiny-q8_0.gguf?another');
  await tab.page.fill('#contextLength', '256');
  await tab.page.press('#url', 'Enter');
  await tab.page.waitForSelector('#offer', { state: 'visible' });
  assert.match(await tab.page.innerText('#offer-text'), /5\.8 MB to download, [\d.]+ MB of memory/);
  assert.match(await tab.page.innerText('#model-state'), /context of 1024 tokens/);
  await tab.page.click('#offer-accept');
  await tab.page.waitForFunction(() =>
    /context of 256 tokens/.test(document.getElementById('model-state').textContent),
  );
  assert.equal(await tab.page.isVisible('#offer'), false);
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy);
  tab.expectClean();
  await tab.close();
});

test('a file that is dropped is loaded', async () => {
  const tab = await openDemo();
  const before = await tab.page.innerText('#model-state');
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
  assert.notEqual(await tab.page.innerText('#model-state'), before);
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
  const load = async (context) => {
    await tab.page.evaluate(() => (document.getElementById('choice').open = true));
    await tab.page.fill('#url', '/models/austen-tiny-q8_0.gguf?kept');
    await tab.page.fill('#contextLength', String(context));
    await tab.page.press('#url', 'Enter');
  };
  const loaded = (context) =>
    tab.page.waitForFunction(
      (state) => document.getElementById('model-state').textContent.includes(state),
      `context of ${context} tokens`,
      { timeout: 10_000 },
    );
  await modelReady(tab.page);
  await load(256);
  await tab.page.click('#offer-accept');
  await loaded(256);
  for (const [next, context] of [
    ['gone', 128],
    ['a portal', 64],
  ]) {
    state = next;
    await tab.page.reload();
    await modelReady(tab.page);
    await load(context);
    await loaded(context);
    assert.equal(await tab.page.isVisible('#offer'), false, next);
    await set(tab.page, { temperature: 0, max_new_tokens: 24 });
    assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy, next);
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
    await page.evaluate(() => (document.getElementById('choice').open = true));
    await page.fill('#url', '/models/austen-tiny-q8_0.gguf?large');
    await page.fill('#contextLength', '160000'); // 290 MB of memory
    await page.press('#url', 'Enter');
    await page.waitForSelector('#offer', { state: 'visible' });
    await page.click('#offer-accept');
  };
  const marker = (page) => page.evaluate(() => localStorage.getItem('qwen2-demo-unfinished-load'));

  await modelReady(tab.page);
  await load(tab.page);
  await tab.page.waitForFunction(() => /^Downloading.* of /.test(document.getElementById('loading-text').textContent));
  assert.equal(await marker(tab.page), 'austen-tiny-q8_0.gguf');
  await tab.page.close(); // as a phone does that runs out of memory

  const next = await visit();
  await next.waitForSelector('#model-error', { state: 'visible' });
  assert.match(
    await next.innerText('#model-error-text'),
    /^Loading austen-tiny-q8_0\.gguf did not come to an end.*smaller model/,
  );
  assert.match(await next.innerText('#model-state'), /context of 1024 tokens/, 'the small model is there');
  stuck = false;
  await load(next);
  await next.waitForFunction(() => /context of 160000/.test(document.getElementById('model-state').textContent));
  assert.equal(await marker(next), null);
  await next.close();

  const last = await visit();
  await last.waitForTimeout(200);
  assert.equal(await last.isVisible('#model-error'), false);
  tab.expectClean();
  await tab.close();
  await stalling.close();
});

test('with the network cut after the load the page goes on answering', async () => {
  const tab = await openDemo();
  await set(tab.page, GREEDY);
  await tab.context.setOffline(true);
  assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy);
  tab.expectClean();
  await tab.close();
});

test('a dead worker ends the answer with an error within a second, and the model can be loaded again', async () => {
  const tab = await openDemo({ expectErrors: true });
  await set(tab.page, { temperature: 1, max_new_tokens: 900 });
  await tab.page.fill('#prompt', PROMPT);
  await tab.page.click('#send');
  await tab.page.waitForFunction(
    (n) => document.querySelector('#log .text')?.textContent.length > n,
    PROMPT.length + 20,
  );
  const workers = tab.page.workers().filter((worker) => worker.url().includes('worker.js'));
  assert.ok(workers.length > 0);
  await workers[0].evaluate(() => void setTimeout(() => { throw new Error('the worker was killed by a test'); })); // prettier-ignore
  await tab.page.waitForSelector('#log .error', { timeout: 1500 });
  await tab.page.waitForSelector('#model-again', { state: 'visible' });
  assert.equal(await tab.page.isDisabled('#send'), true);
  await tab.page.click('#model-again');
  await modelReady(tab.page);
  await set(tab.page, GREEDY);
  assert.equal(await ask(tab.page, PROMPT), PROMPT + greedy);
  await tab.close();
});

test('the page stays responsive while the model works', async () => {
  const tab = await openDemo();
  await set(tab.page, { temperature: 1, max_new_tokens: 600 });
  await tab.page.evaluate(() => {
    const gaps = (window.gaps = []);
    let last = performance.now();
    setInterval(() => {
      const now = performance.now();
      gaps.push(now - last);
      last = now;
    }, 10);
  });
  await ask(tab.page, PROMPT);
  const { ticks, longest } = await tab.page.evaluate(() => ({
    ticks: window.gaps.length,
    longest: Math.max(...window.gaps),
  }));
  assert.ok(ticks > 5, `${ticks} ticks`);
  assert.ok(longest < 300, `the page stood still for ${longest.toFixed(0)} ms`);
  await tab.close();
});

test('nothing is cut off at phone width and the text of a model is never markup', async () => {
  const tab = await openDemo({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true });
  await tab.page.evaluate(() => (document.getElementById('choice').open = true));
  await set(tab.page, { temperature: 0, max_new_tokens: 4 });
  await tab.page.fill('#prompt', '<img src=x onerror="document.title=1"><b>bold</b> & unbroken'.repeat(3));
  await tab.page.press('#prompt', 'Enter');
  assert.equal(await tab.page.locator('#log li').count(), 0, 'Enter of an on-screen keyboard starts a new line');
  await tab.page.tap('#send');
  const text = await answered(tab.page);
  assert.ok(text.startsWith('<img src=x'));
  assert.equal(await tab.page.locator('#log img, #log b').count(), 0);
  const width = await tab.page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 360, `the page is ${width} wide`);
  tab.expectClean();
  await tab.close();
});
