// What every browser test needs: Debian's Chromium, the site as `npm run site` lays it out, and a page that reports
// whatever it should not do.
import assert from 'node:assert/strict';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { startServer } from '../../../js/cli/static-server.js';
import { chromiumOptions } from '../../../scripts/lib/browsers.mjs';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const at = (...parts) => path.join(root, ...parts);

export const TINY = at('models/austen-tiny-q8_0.gguf');

/** The machine's own name: a host that the server answers to and that, unlike localhost, is no secure context. */
export const PLAIN_HOST = os.hostname();
const HOSTS = `--host-resolver-rules=MAP ${PLAIN_HOST} 127.0.0.1`;

/** A Chromium that several processes share: its address, for launch() in each of them by way of QW_BROWSER. */
export const launchShared = () => chromium.launchServer(chromiumOptions(HOSTS));

/** The Chromium of QW_BROWSER, of which close() ends only what was opened here; else one of one's own. */
export const launch = () =>
  process.env.QW_BROWSER ? chromium.connect(process.env.QW_BROWSER) : chromium.launch(chromiumOptions(HOSTS));

/** The page and dist/ laid over each other as in build/site, and the pages of these tests. */
export const serveSite = (options = {}) =>
  startServer({ folders: [at('web'), at('tests/browser/pages'), at('.'), at('dist')], ...options });

/**
 * A tab that notes what must not happen: script errors, violations of the content policy, requests to other hosts.
 * @returns {Promise<{ page: import('playwright-core').Page, context: import('playwright-core').BrowserContext,
 *   expectClean(): void, close(): Promise<void> }>}
 */
export async function openTab(browser, url, { prepare, expectErrors = false, ...options } = {}) {
  const context = await browser.newContext(options);
  const faults = [];
  context.on('request', (request) => {
    const target = new URL(request.url());
    if (target.protocol.startsWith('http') && target.origin !== new URL(url).origin) faults.push(`request: ${target}`);
  });
  context.on('weberror', (error) => faults.push(`script error: ${error.error().message}`));
  context.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  if (prepare) await page.addInitScript(prepare);
  await page.goto(url);
  return {
    page,
    context,
    expectClean: () =>
      assert.deepEqual(expectErrors ? faults.filter((fault) => fault.startsWith('request')) : faults, []),
    close: () => context.close(),
  };
}

/** Resolves when the demo page has its model. */
export const modelReady = (page) => page.waitForSelector('#send:not(:disabled)');

/** Sends the text and resolves to what stands in the new entry when the answer is complete. */
export async function ask(page, text) {
  await page.fill('#prompt', text);
  await page.press('#prompt', 'Enter');
  return answered(page);
}

/** Resolves to the (first) text of the last entry when it has its remarks (or its error). */
export async function answered(page, timeout = 60_000) {
  await page.waitForSelector('#log li:last-child :is(.meta, .error)', { timeout });
  await page.waitForSelector('#stop', { state: 'hidden' });
  return page.locator('#log li:last-child .text').first().innerText();
}

/** Fills fields of the settings, which are opened for it. */
export async function set(page, values) {
  await page.evaluate(() => (document.getElementById('settings').open = true));
  for (const [name, value] of Object.entries(values)) await page.fill(`#setting-${name}`, String(value));
}

/** Picks a file for the page to load. */
export const pick = (page, ...files) => page.setInputFiles('#files', files);
