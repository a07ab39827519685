// The package where something is missing: each time an error (or fewer threads) that says what and how to mend it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { strictPolicy } from '../../js/cli/static-server.js';
import { at, launch, modelReady, modelState, openTab, serveSite } from './support/browser.js';

let browser;
let server;
before(async () => {
  [browser, server] = await Promise.all([launch(), serveSite()]);
});
after(() => Promise.all([browser?.close(), server?.close()]));

/** What the page says when it cannot load its model. */
async function failure(url, options) {
  const tab = await openTab(browser, url, { expectErrors: true, ...options });
  const requests = [];
  tab.context.on('request', (request) => requests.push(new URL(request.url()).pathname));
  await tab.page.waitForSelector('.load.error');
  const message = await tab.page.innerText('.load-text');
  assert.equal(await tab.page.isVisible('#loading'), false);
  assert.equal(await tab.page.getAttribute('.send', 'aria-disabled'), 'true');
  await tab.close();
  return { message, requests };
}

test("a policy without 'wasm-unsafe-eval' is named, with the word that is missing", async () => {
  const strict = await serveSite({ policy: strictPolicy().replace(" 'wasm-unsafe-eval'", '') });
  const { message } = await failure(strict.url);
  assert.match(message, /wasm-unsafe-eval/);
  await strict.close();
});

test('without wasm SIMD the page says so before anything is downloaded', async () => {
  const prepare = () => (WebAssembly.validate = () => false);
  const { message, requests } = await failure(server.url, { prepare });
  assert.match(message, /needs WebAssembly SIMD \(Safari 16\.4\+\)/);
  assert.ok(!requests.some((name) => name.endsWith('.gguf') || name.endsWith('.wasm')), requests.join(' '));
});

for (const [name, path] of [
  ['a wasm file that is not there', '.wasm'],
  ['a worker that is not there', 'worker.js'],
]) {
  test(`${name} gives an error that names it`, async () => {
    const lacking = await serveSite({
      intercept(request, response) {
        if (!request.url.endsWith(path)) return false;
        response.writeHead(404, { 'Content-Type': 'text/html' }).end('<!doctype html><p>not found');
        return true;
      },
    });
    const { message } = await failure(lacking.url);
    assert.ok(message.includes(path), message);
    await lacking.close();
  });
}

test('wasm files of the wrong type are compiled all the same', async () => {
  const plain = await serveSite({
    intercept(request, response) {
      const { setHeader } = response;
      if (request.url.endsWith('.wasm')) {
        response.setHeader = (key, value) =>
          setHeader.call(response, key, key === 'Content-Type' ? 'text/plain' : value);
      }
      return false;
    },
  });
  const tab = await openTab(browser, plain.url);
  await modelReady(tab.page);
  tab.expectClean();
  await tab.close();
  await plain.close();
});

for (const [cores, threads] of /** @type {[number, string][]} */ ([
  [undefined, 'one thread'],
  [0, 'one thread'],
  [3, '3 threads'],
  [128, '8 threads'],
])) {
  test(`a browser that tells of ${cores} cores gets ${threads}`, async () => {
    const prepare = `Object.defineProperty(navigator, 'hardwareConcurrency', { value: ${cores} })`;
    const tab = await openTab(browser, server.url, { prepare });
    await modelReady(tab.page);
    assert.ok((await modelState(tab.page)).includes(threads));
    tab.expectClean();
    await tab.close();
  });
}

test('opened straight from a disk the page says that it needs a web server', async () => {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(pathToFileURL(at('web/index.html')).href);
  assert.match(await page.innerText('#boot'), /web server.*opened straight from a disk/);
  for (const part of ['#talk', '#models']) assert.equal(await page.isVisible(part), false, part);
  await context.close();
});

test('imported from another origin the package says that it wants to be hosted with the page', async () => {
  const elsewhere = await serveSite({
    intercept(_request, response) {
      response.setHeader('Access-Control-Allow-Origin', '*');
      response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
      return false;
    },
  });
  const open = await serveSite({ policy: null });
  const tab = await openTab(browser, `${open.url}blank.html`, { expectErrors: true });
  const error = await tab.page.evaluate(async (origin) => {
    const { Engine } = await import(`${origin}dist/index.js`);
    return Engine.load('models/austen-tiny-q8_0.gguf').then(
      () => null,
      ({ name, code, message }) => ({ name, code, message }),
    );
  }, elsewhere.url);
  assert.deepEqual([error?.name, error?.code], ['QwenError', 'environment']);
  assert.match(error.message, /your own host|workerUrl/);
  await tab.close();
  await Promise.all([elsewhere.close(), open.close()]);
});
