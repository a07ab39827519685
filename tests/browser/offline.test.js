// What isolation-sw.js keeps of a site, and how it lets go: whole versions, one for each page that is open.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, openTab, serveSite } from './support/browser.js';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

/** A site of a page, two modules and a style, all of which tell the version; faults: paths that answer with 503. */
async function deployable() {
  const site = { version: 1, faults: [], asked: [] };
  const texts = {
    '/': (v) =>
      `<!doctype html><title>${v}</title><link rel="icon" href="icon.svg"><link rel="stylesheet" href="a.css">` +
      '<script src="isolation-sw.js"></script><script type="module" src="a.js"></script>',
    '/a.js': (v) =>
      `import { b } from './b.js'; window.versions = () => [document.title, '${v}', b];\n` +
      "window.later = () => import('./late.js').then(({ late }) => late);",
    '/b.js': (v) => `export const b = '${v}';`,
    '/late.js': (v) => `export const late = '${v}';`,
    '/a.css': (v) => `/* ${v} */`,
  };
  const types = { js: 'text/javascript', css: 'text/css' };
  const server = await serveSite({
    isolation: false,
    policy: null,
    intercept(request, response) {
      const path = request.url.split('?')[0];
      site.asked.push(path);
      if (site.faults.includes(path)) return (response.writeHead(503).end(), true);
      if (!texts[path]) return false;
      response.writeHead(200, { 'Content-Type': types[path.split('.')[1]] ?? 'text/html' });
      response.end(texts[path](site.version));
      return true;
    },
  });
  return { site, server };
}

const isolated = (page) => page.waitForFunction(() => window.crossOriginIsolated && window.versions);
const keep = (page) => page.evaluate(() => window.qwen2Isolation.keep().catch((error) => error.message));
const versions = (page) => page.evaluate(() => window.versions());

test('a page has one version, though the site changes under it; the next visit has the new one', async () => {
  const { site, server } = await deployable();
  const tab = await openTab(browser, server.url);
  await isolated(tab.page);
  await keep(tab.page);
  site.version = 2;
  const second = await tab.context.newPage();
  await second.goto(server.url);
  await isolated(second);
  await keep(second);
  assert.deepEqual(await versions(second), ['1', '1', '1'], 'the kept version, at once');
  assert.equal(await second.evaluate(() => window.later()), '1', 'with its files that are asked for late');
  const third = await tab.context.newPage();
  await third.goto(server.url);
  await isolated(third);
  assert.deepEqual(await versions(third), ['2', '2', '2']);
  assert.equal(await second.evaluate(() => fetch('b.js').then((r) => r.text())), "export const b = '1';");
  await server.close();
  await third.reload();
  await isolated(third);
  assert.deepEqual(await versions(third), ['2', '2', '2'], 'without the network too');
  assert.equal(await third.evaluate(() => window.later()), '2');
  tab.expectClean();
  await tab.close();
});

test('a deployment that is only half there changes nothing that is kept', async () => {
  const { site, server } = await deployable();
  const tab = await openTab(browser, server.url, { expectErrors: true });
  await isolated(tab.page);
  await keep(tab.page);
  site.version = 2;
  site.faults = ['/b.js'];
  assert.match(await keep(tab.page), /b\.js: status 503/);
  await tab.page.reload();
  await isolated(tab.page);
  assert.deepEqual(await versions(tab.page), ['1', '1', '1']);
  await tab.close();
  await server.close();
});

test('after a hard reload the page is isolated again, by one more reload', async () => {
  const { server } = await deployable();
  const tab = await openTab(browser, server.url);
  await isolated(tab.page);
  await keep(tab.page);
  let loads = 0;
  tab.page.on('load', () => loads++);
  const devtools = await tab.context.newCDPSession(tab.page);
  await devtools.send('Page.reload', { ignoreCache: true }); // as Shift and the button: past the service worker
  await isolated(tab.page);
  assert.equal(await tab.page.evaluate(() => window.qwen2Isolation.unavailable), 'this page is isolated already');
  assert.ok(loads <= 2, `${loads} loads`);
  await tab.close();
  await server.close();
});

test('disable() takes the worker and what it keeps away, for good', async () => {
  const { server } = await deployable();
  const tab = await openTab(browser, server.url);
  await isolated(tab.page);
  await keep(tab.page);
  await tab.page.evaluate(() => window.qwen2Isolation.disable());
  const left = () =>
    tab.page.evaluate(async () => [
      (await navigator.serviceWorker.getRegistrations()).length,
      (await caches.keys()).filter((name) => name.startsWith('qwen2-site')).length,
    ]);
  assert.deepEqual(await left(), [0, 0]);
  await tab.page.goto(`${server.url}blank.html`);
  await tab.page.goto(server.url);
  await tab.page.waitForFunction(() => window.versions);
  assert.equal(await tab.page.evaluate(() => window.crossOriginIsolated), false);
  assert.match(await keep(tab.page), /turned off/);
  assert.deepEqual(await left(), [0, 0]);
  tab.expectClean();
  await tab.close();
  await server.close();
});

test('with data-coep="credentialless" the page is isolated and shows images of other sites', async () => {
  const [plain, other] = await Promise.all([
    serveSite({ isolation: false, policy: null }),
    serveSite({ isolation: false, policy: null }),
  ]);
  const image = `${other.url.replace('localhost', '127.0.0.1')}icon.svg`;
  const shows = (page) =>
    page.evaluate(
      (src) =>
        new Promise((resolve) => {
          const element = new Image();
          element.onload = () => resolve(true);
          element.onerror = () => resolve(false);
          element.src = src;
        }),
      image,
    );
  for (const [name, shown] of /** @type {[string, boolean][]} */ ([
    ['credentialless.html', true],
    ['auto.html', false],
  ])) {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(plain.url + name);
    await page.waitForFunction(() => window.crossOriginIsolated);
    assert.equal(await shows(page), shown, name);
    await context.close();
  }
  await Promise.all([plain.close(), other.close()]);
});

test('a page that is open while its server goes says that the network is off, not that worker.js is misplaced', async () => {
  const server = await serveSite();
  const tab = await openTab(browser, `${server.url}blank.html`, { expectErrors: true });
  const load = () =>
    tab.page.evaluate(async () => {
      const { Engine } = await import('./dist/index.js');
      return Engine.load('models/austen-tiny-q8_0.gguf').then(
        async (engine) => (await engine.close(), 'loaded'),
        ({ code, message }) => `${code}: ${message}`,
      );
    });
  assert.equal(await load(), 'loaded');
  await server.close();
  await tab.page.evaluate(() => caches.keys()); // a turn
  const message = await load();
  assert.match(message, /^environment: .*network is off or its server is gone.*isolation-sw\.js/s);
  assert.doesNotMatch(message, /must come from the origin/);
  await tab.close();
});
