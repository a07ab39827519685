// The package in a real page: storage, threads, policies, and what is missing in some browsers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { strictPolicy } from '../../js/cli/static-server.js';
import { at, launch, openTab, PLAIN_HOST, serveSite, TINY } from './support/browser.js';

const MODEL = '/models/austen-tiny-q8_0.gguf';

let browser;
let server;
let expected;
before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
  const { Engine } = await import(at('dist/node.js'));
  const engine = await Engine.load(TINY, { threads: 1 });
  expected = (await engine.generate('It is a truth', { max_new_tokens: 8 }).result).sequences[0].token_ids;
  await engine.close();
});
after(() => Promise.all([browser?.close(), server?.close()]));

/** In the page: loads, generates, closes; the ids, or the error's code and message. */
async function tryLoad(source, options) {
  const { Engine } = await import('/dist/index.js');
  const phases = new Set();
  try {
    const engine = await Engine.load(source, { ...options, onProgress: ({ phase }) => phases.add(phase) });
    const { sequences } = await engine.generate('It is a truth', { max_new_tokens: 8 }).result;
    const { threads, notes, simd } = engine.info;
    await engine.close();
    return { ids: sequences[0].token_ids, phases: [...phases], threads, notes: notes.join('\n'), simd };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

/** A tab whose page has tryLoad. */
const open = (base = server.url, options = {}) =>
  openTab(browser, `${base}blank.html`, {
    ...options,
    prepare: `window.tryLoad = ${tryLoad}; ${options.prepare ?? ''}`,
  });

const load = (tab, source = MODEL, options = {}) =>
  tab.page.evaluate(([a, b]) => window.tryLoad(a, b), [source, options]);

test('with threads, a second load comes from the private file system, which modelCache empties', async () => {
  const tab = await open();
  const first = await load(tab, MODEL, { threads: 2 });
  assert.deepEqual(first.ids, expected);
  assert.deepEqual([first.threads, first.phases, first.notes], [2, ['download'], '']);
  const second = await load(tab, MODEL, { threads: 2 });
  assert.deepEqual([second.ids, second.phases], [expected, ['cache']]);
  const lists = await tab.page.evaluate(async () => {
    const { modelCache } = await import('/dist/index.js');
    const before = await modelCache.list();
    await modelCache.clear();
    return [before, await modelCache.list()];
  });
  assert.equal(lists[0].length, 1);
  assert.equal(lists[0][0].name, 'austen-tiny-q8_0.gguf');
  assert.equal(lists[0][0].complete, true);
  assert.deepEqual(lists[1], []);
  tab.expectClean();
  await tab.close();
});

test('the builds are timed at the first load, and what won is remembered beside the models', async () => {
  const tab = await open();
  /** @type {string[]} */
  let files = [];
  tab.context.on('request', (request) => files.push(new URL(request.url()).pathname));
  const wasmFiles = () =>
    files
      .splice(0)
      .filter((name) => name.endsWith('.wasm'))
      .sort();
  const edit = (change) =>
    tab.page.evaluate(async (text) => {
      const folder = await (await navigator.storage.getDirectory()).getDirectoryHandle('qwen2-wasm');
      const handle = await folder.getFileHandle('simd.json');
      const known = JSON.parse(await (await handle.getFile()).text());
      const stream = await handle.createWritable();
      await stream.write(JSON.stringify({ ...known, ...JSON.parse(text) }));
      await stream.close();
      return known;
    }, JSON.stringify(change));
  const first = await load(tab, MODEL, { threads: 2 });
  const chosen = first.simd === 'relaxed' ? '-relaxed' : '';
  const trial = ['/dist/qwen2-relaxed.wasm', `/dist/qwen2-threads${chosen}.wasm`, '/dist/qwen2.wasm'];
  assert.deepEqual(wasmFiles(), trial);
  const { relaxed, seconds } = await edit({ relaxed: false });
  assert.equal(first.simd, relaxed ? 'relaxed' : 'base');
  assert.equal(relaxed, seconds.relaxed <= seconds.base);
  assert.equal((await load(tab, MODEL, { threads: 2 })).simd, 'base');
  assert.deepEqual(wasmFiles(), ['/dist/qwen2-threads.wasm', '/dist/qwen2.wasm']);
  await edit({ relaxed: true, device: 'another' });
  assert.equal((await load(tab, MODEL, { threads: 2 })).simd, first.simd);
  assert.deepEqual(wasmFiles(), trial);
  tab.expectClean();
  await tab.close();
});

test('a kept model loads with the server gone', async () => {
  const tab = await open();
  await load(tab);
  await tab.page.route('**/*.gguf', (route) => route.abort());
  const again = await load(tab);
  assert.deepEqual([again.ids, again.phases], [expected, ['cache']]);
  assert.match(again.notes, /copy on this device is used/);
  await tab.close();
});

test('two tabs load the same kept model at once', async () => {
  const tab = await open();
  await load(tab);
  const other = await tab.context.newPage();
  await other.addInitScript(`window.tryLoad = ${tryLoad}`);
  await other.goto(`${server.url}blank.html`);
  const both = await Promise.all([load(tab), load({ page: other })]);
  for (const one of both) assert.deepEqual(one.ids, expected);
  tab.expectClean();
  await tab.close();
});

test('a kept model that another tab holds for itself is read as a Blob', async () => {
  const tab = await open();
  await load(tab);
  await tab.page.route('**/*.gguf', (route) => route.abort()); // so that nothing else can give the bytes
  const again = await load(tab, MODEL, { workerUrl: '/faulty-worker.js?fault=one-reader', threads: 1 });
  assert.deepEqual([again.ids, again.phases], [expected, ['cache']]);
  await tab.close();
});

test('a full disk leaves the load working, uncached, with a note that tells the quota', async () => {
  const tab = await open();
  const { ids, notes } = await load(tab, MODEL, { workerUrl: '/faulty-worker.js?fault=quota', threads: 1 });
  assert.deepEqual(ids, expected);
  assert.match(notes, /not kept on this device: no room \(\d+ of \d+ bytes are in use\)/);
  assert.equal(
    await tab.page.evaluate(async () => (await (await import('/dist/index.js')).modelCache.list()).length),
    0,
  );
  tab.expectClean();
  await tab.close();
});

test('where shared memory is refused one thread does it, with a note', async () => {
  const tab = await open();
  const { ids, threads, notes } = await load(tab, MODEL, {
    workerUrl: '/faulty-worker.js?fault=refuse-shared',
    threads: 2,
  });
  assert.deepEqual([ids, threads], [expected, 1]);
  assert.match(notes, /refused/);
  tab.expectClean();
  await tab.close();
});

test('a Blob, a File and ranges of a page load', async () => {
  const tab = await open();
  const all = await tab.page.evaluate(async (url) => {
    const blob = await (await fetch(url)).blob();
    const file = new File([blob], 'a.gguf');
    const read = async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    const sources = [blob, file, { name: 'a.gguf', size: blob.size, read }, [file]];
    const results = [];
    for (const source of sources) results.push(await window.tryLoad(source, {}));
    return results;
  }, MODEL);
  for (const one of all) assert.deepEqual(one.ids, expected);
  tab.expectClean();
  await tab.close();
});

test('without isolation one thread does it and capabilities() says what would bring more', async () => {
  const plain = await serveSite({ isolation: false });
  const tab = await open(plain.url);
  const { ids, threads, notes } = await load(tab, MODEL, { threads: 4 });
  assert.deepEqual([ids, threads], [expected, 1]);
  assert.match(notes, /not cross-origin isolated/);
  const able = await tab.page.evaluate(async () => (await import('/dist/index.js')).capabilities());
  assert.deepEqual([able.threads, able.simd, able.crossOriginIsolated], [false, true, false]);
  assert.match(able.notes.join(), /Cross-Origin-Opener-Policy/);
  tab.expectClean();
  await Promise.all([tab.close(), plain.close()]);
});

test('on a page of plain http it runs uncached, with a note', async () => {
  const tab = await open(`http://${PLAIN_HOST}:${server.port}/`);
  assert.equal(await tab.page.evaluate(() => window.isSecureContext), false);
  const { ids, threads, notes } = await load(tab);
  assert.deepEqual([ids, threads], [expected, 1]);
  assert.match(notes, /needs https/);
  await tab.close();
});

test('a policy without wasm-unsafe-eval is an environment error that names it', async () => {
  const closed = await serveSite({ policy: strictPolicy().replace(" 'wasm-unsafe-eval'", '') });
  const tab = await open(closed.url, { expectErrors: true });
  const { code, message } = await load(tab);
  assert.equal(code, 'environment');
  assert.match(message, /wasm-unsafe-eval/);
  await Promise.all([tab.close(), closed.close()]);
});

test('a worker of another origin, or one that is not there, is an environment error that says what to do', async () => {
  const other = await serveSite();
  const tab = await open(server.url, { expectErrors: true });
  for (const workerUrl of [`${other.url}dist/worker.js`, '/dist/none.js']) {
    const { code, message } = await load(tab, MODEL, { workerUrl });
    assert.equal(code, 'environment', message);
    assert.match(message, /origin of the page/);
  }
  assert.deepEqual((await load(tab)).ids, expected);
  await Promise.all([tab.close(), other.close()]);
});

test('without SIMD nothing is downloaded and the error says which browsers have it', async () => {
  const tab = await open(server.url, { prepare: 'WebAssembly.validate = () => false;' });
  let asked = 0;
  tab.page.on('request', (request) => (asked += request.url().includes('gguf') ? 1 : 0));
  const { code, message } = await load(tab);
  assert.equal(code, 'environment');
  assert.match(message, /SIMD.*Safari 16\.4/);
  assert.equal(asked, 0);
  tab.expectClean();
  await tab.close();
});

test('odd numbers of cores give between 1 and 8 threads', async () => {
  for (const [cores, threads] of /** @type {[string, number][]} */ ([
    ['undefined', 1],
    ['0', 1],
    ['1', 1],
    ['2', 2],
    ['7', 7],
    ['128', 8],
  ])) {
    const prepare = `Object.defineProperty(navigator, 'hardwareConcurrency', { value: ${cores} });`;
    const tab = await open(server.url, { prepare });
    const result = await load(tab);
    assert.deepEqual([result.ids, result.threads], [expected, threads], cores);
    tab.expectClean();
    await tab.close();
  }
});

test('templates render under the strict policy, an endless one is ended, Stop and close work', async () => {
  const tab = await open();
  const result = await tab.page.evaluate(async (url) => {
    const { Engine } = await import('/dist/index.js');
    const engine = await Engine.load(url);
    /** @type {import('../../js/types.js').Message[]} */
    const messages = [{ role: 'user', content: 'Who is Emma?' }];
    const text = await engine.applyChatTemplate(messages);
    const endless = '{% for a in range(99999) %}{% for b in range(99999) %}{% set c = a %}{% endfor %}{% endfor %}';
    const late = await engine.chat(messages, { template: endless }).result.catch((error) => error.code);
    const control = new AbortController();
    const run = engine.chat(messages, { signal: control.signal, eos_token_id: [] });
    let seen = 0;
    let stopped;
    try {
      for await (const chunk of run) if (++seen === 3) control.abort();
    } catch (error) {
      stopped = error.code;
    }
    const left = engine.chat(messages, { eos_token_id: [] });
    for await (const chunk of left) break;
    const reason = (await left.result).sequences[0].finish_reason;
    const running = engine.chat(messages, { eos_token_id: [] }).result.catch((error) => error.code);
    await engine.close();
    return { text, late, stopped, reason, closed: await running };
  }, MODEL);
  assert.deepEqual(result, {
    text: '<|im_start|>user\nWho is Emma?<|im_end|>\n',
    late: 'model',
    stopped: 'aborted',
    reason: 'aborted',
    closed: 'closed',
  });
  // Chromium gives a worker that is busy two seconds.
  for (let i = 0; i < 50 && tab.page.workers().length > 0; i++) await tab.page.waitForTimeout(100);
  assert.equal(tab.page.workers().length, 0, 'closed in the middle of an answer, it leaves no worker');
  assert.deepEqual((await load(tab)).ids, expected);
  tab.expectClean();
  await tab.close();
});

test('a worker that hangs with threads is ended, and one thread does the load, with a note', async () => {
  const tab = await open();
  const { ids, threads, notes } = await load(tab, MODEL, {
    workerUrl: '/faulty-worker.js?fault=hang-threads',
    threads: 2,
  });
  assert.deepEqual([ids, threads], [expected, 1]);
  assert.match(notes, /no sign of life for 10 s.* 1 thread\(s\)/s);
  tab.expectClean();
  await tab.close();
});

test('loads that are aborted or closed leave no worker behind', async () => {
  const tab = await open();
  const abortedLoad = () =>
    tab.page.evaluate(async (url) => {
      const { Engine } = await import('/dist/index.js');
      const control = (window.control = new AbortController());
      const load = Engine.load(url, { signal: control.signal, cache: false, onProgress: () => control.abort() });
      return load.then(
        () => 'loaded',
        (error) => error.code,
      );
    }, MODEL);
  for (const held of ['**/*.wasm', '**/*.gguf']) {
    const asked = new Promise((resolve) => tab.page.route(held, () => resolve(undefined))); // never answered
    const load = abortedLoad();
    await asked;
    await tab.page.evaluate(() => window.control.abort());
    assert.equal(await load, 'aborted', held);
    await tab.page.unroute(held);
  }
  assert.equal(await abortedLoad(), 'aborted', 'at the first progress');
  const closed = await tab.page.evaluate(async (url) => {
    const { Engine } = await import('/dist/index.js');
    await (await Engine.load(url, { cache: false })).close();
    return 'closed';
  }, MODEL);
  assert.equal(closed, 'closed');
  // Chromium gives a worker that is busy two seconds.
  for (let i = 0; i < 50 && tab.page.workers().length > 0; i++) await tab.page.waitForTimeout(100);
  assert.equal(tab.page.workers().length, 0);
  assert.deepEqual((await load(tab)).ids, expected);
  tab.expectClean();
  await tab.close();
});

test('a logits_processor module runs in the worker; one of another origin is refused', async () => {
  const tab = await open();
  await tab.page.route('**/odd.js', (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: 'export default (ids, scores) => { for (let i = 0; i < scores.length; i += 2) scores[i] = -Infinity; };',
    }),
  );
  const [ids, code] = await tab.page.evaluate(async (url) => {
    const { Engine } = await import('/dist/index.js');
    const engine = await Engine.load(url);
    const { sequences } = await engine.generate('It is', { max_new_tokens: 5, logits_processor: 'odd.js' }).result;
    const refused = await engine
      .generate('It is', { logits_processor: 'https://x.example/a.js' })
      .result.catch((e) => e.code);
    await engine.close();
    return [sequences[0].token_ids, refused];
  }, MODEL);
  assert.equal(ids.length, 5);
  assert.ok(
    ids.every((id) => id % 2 === 1),
    String(ids),
  );
  assert.equal(code, 'usage');
  await tab.close();
});
