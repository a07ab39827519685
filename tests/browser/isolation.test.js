// Pages without COOP and COEP: one thread and a word why, and the service worker that brings the headers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  ask,
  launch,
  modelReady,
  modelState,
  offered,
  openTab,
  PLAIN_HOST,
  serveSite,
  set,
} from './support/browser.js';

let browser;
let plain;

before(async () => {
  [browser, plain] = await Promise.all([launch(), serveSite({ isolation: false })]);
});
after(() => Promise.all([browser?.close(), plain?.close()]));

/** A browser that takes the headers and still does not isolate the page. */
function ignoreHeaders() {
  Object.defineProperty(window, 'crossOriginIsolated', { get: () => false });
}

function countLoads(page) {
  const loads = { count: 0 };
  page.on('load', () => loads.count++);
  return loads;
}

test('without the headers the page runs on one thread and says why', async () => {
  const tab = await openTab(browser, plain.url);
  await modelReady(tab.page);
  assert.match(await modelState(tab.page), /one thread/);
  assert.match(await tab.page.textContent('#threads-notes'), /thread.*isolated|isolated.*thread/is);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  assert.ok((await ask(tab.page, 'The daughter of')).length > 4);
  tab.expectClean();
  await tab.close();
});

test('the offered service worker brings threads with one reload, and half-typed text survives it', async () => {
  const tab = await openTab(browser, plain.url);
  const loads = countLoads(tab.page);
  await modelReady(tab.page);
  await tab.page.fill('.input', 'half a sent');
  await tab.page.click('#open-browser');
  await tab.page.click('#threads-enable');
  await tab.page.waitForFunction(() => window.crossOriginIsolated);
  await modelReady(tab.page);
  assert.match(await modelState(tab.page), /[2-8] threads/);
  assert.equal(await tab.page.inputValue('.input'), 'half a sent');
  assert.equal(await offered(tab.page, '#threads-notice'), false);
  assert.equal(loads.count, 1);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  assert.ok((await ask(tab.page, 'The daughter of')).length > 4);

  const second = await tab.context.newPage();
  await second.goto(plain.url);
  assert.equal(await second.evaluate(() => window.crossOriginIsolated), true, 'the next visit is isolated at once');
  tab.expectClean();
  await tab.close();
});

test('where the browser ignores the headers, the tab is reloaded once and no more', async () => {
  const tab = await openTab(browser, plain.url, { prepare: ignoreHeaders });
  const loads = countLoads(tab.page);
  await modelReady(tab.page);
  await tab.page.click('#open-browser');
  await tab.page.click('#threads-enable');
  await tab.page.waitForFunction(() => /reloaded once/.test(document.getElementById('threads-notes').textContent));
  await modelReady(tab.page);
  assert.equal(await offered(tab.page, '#threads-enable'), false);
  assert.match(await modelState(tab.page), /one thread/);
  await tab.page.waitForTimeout(500);
  assert.equal(loads.count, 1);
  await tab.close();
});

test('the script by itself isolates a page, and does not reload for ever where that fails', async () => {
  const tab = await openTab(browser, `${plain.url}auto.html`);
  await tab.page.waitForFunction(() => window.crossOriginIsolated);
  tab.expectClean();
  await tab.close();

  const stubborn = await openTab(browser, `${plain.url}auto.html`, { prepare: ignoreHeaders });
  const loads = countLoads(stubborn.page);
  await stubborn.page.waitForFunction(() => /reloaded once/.test(window.qwen2Isolation?.unavailable));
  await stubborn.page.waitForTimeout(700);
  assert.ok(loads.count <= 1, `${loads.count} reloads`);
  await stubborn.close();
});

test('without service workers and with storage denied the page works on one thread', async () => {
  const prepare = () => {
    Reflect.deleteProperty(Navigator.prototype, 'serviceWorker');
    for (const name of ['sessionStorage', 'localStorage']) {
      Object.defineProperty(window, name, {
        get() {
          throw new DOMException('denied', 'SecurityError');
        },
      });
    }
  };
  const tab = await openTab(browser, plain.url, { prepare });
  await modelReady(tab.page);
  assert.equal(await offered(tab.page, '#threads-enable'), false);
  assert.match(await tab.page.textContent('#threads-notes'), /no service workers/);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  assert.ok((await ask(tab.page, 'The daughter of')).length > 4);
  tab.expectClean();
  await tab.close();
});

/** Another origin than the page around it, which lets it be embedded anywhere. */
const embeddable = (options = {}) =>
  serveSite({
    intercept(_request, response) {
      response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
      response.setHeader('Access-Control-Allow-Origin', '*');
      return false;
    },
    ...options,
  });

/** @typedef {{ around?: boolean, policy?: string | null, [attribute: string]: any }} FrameTrial */

const GRANT = { allow: 'cross-origin-isolated' };
/* An origin of its own, no storage, no worker but those that the page makes itself: a policy must let it make them. */
const SANDBOX = { sandbox: 'allow-scripts allow-forms' };

for (const [name, { around = true, policy, ...attributes }, threads] of /** @type {[string, FrameTrial, RegExp][]} */ ([
  ['a frame that an isolated page grants it', GRANT, /[2-8] threads/],
  ['a frame that an isolated page does not grant it', {}, /one thread/],
  ['a frame of a page without the headers', { around: false, ...GRANT }, /one thread/],
  ['a sandboxed frame without an origin', { policy: null, ...SANDBOX }, /one thread/],
  ['such a frame of a page without the headers', { around: false, policy: null, ...SANDBOX }, /one thread/],
])) {
  test(`in ${name} the page works on ${threads.source}`, async () => {
    const [outside, inside] = await Promise.all([
      serveSite({ isolation: around, policy: null }),
      embeddable({ policy }),
    ]);
    const tab = await openTab(browser, `${outside.url}blank.html`);
    const src = inside.url.replace('localhost', '127.0.0.1');
    await tab.page.evaluate(
      (all) => {
        const frame = document.createElement('iframe');
        for (const [key, value] of Object.entries(all)) frame.setAttribute(key, value);
        document.body.append(frame);
      },
      { ...attributes, src },
    );
    const frame = await (await tab.page.waitForSelector('iframe')).contentFrame();
    await modelReady(frame);
    assert.match(await modelState(frame), threads);
    assert.equal(await offered(frame, '#threads-enable'), false);
    if (/one/.test(threads.source)) assert.match(await frame.textContent('#threads-notes'), /frame/);
    await set(frame, { temperature: 0, max_new_tokens: 8 });
    assert.ok((await ask(frame, 'The daughter of')).length > 4);
    await tab.close();
    await Promise.all([outside.close(), inside.close()]);
  });
}

test('in a sandboxed frame under the strict policy it says what the frame needs', async () => {
  const [outside, inside] = await Promise.all([serveSite({ policy: null }), embeddable()]);
  const tab = await openTab(browser, `${outside.url}blank.html`);
  await tab.page.evaluate((all) => document.body.append(Object.assign(document.createElement('iframe'), all)), {
    ...SANDBOX,
    src: inside.url.replace('localhost', '127.0.0.1'),
  });
  const frame = await (await tab.page.waitForSelector('iframe')).contentFrame();
  await frame.waitForSelector('.load.error');
  assert.match(await frame.innerText('.load-text'), /sandboxed frame needs allow-same-origin/);
  await Promise.all([tab.close(), outside.close(), inside.close()]);
});

test('over plain http from another machine it works on one thread and says so', async () => {
  const [elsewhere, server] = await Promise.all([launch(), serveSite()]);
  const tab = await openTab(elsewhere, `http://${PLAIN_HOST}:${server.port}/`, { expectErrors: true });
  await modelReady(tab.page);
  assert.equal(await tab.page.evaluate(() => window.isSecureContext), false);
  assert.match(await modelState(tab.page), /one thread/);
  assert.match(await tab.page.textContent('#threads-notes'), /https/);
  assert.equal(await offered(tab.page, '#threads-enable'), false);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  assert.ok((await ask(tab.page, 'The daughter of')).length > 4);
  await Promise.all([elsewhere.close(), server.close()]);
});
