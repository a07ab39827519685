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
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {import('playwright-core').BrowserContextOptions & { prepare?: any, expectErrors?: boolean }} [options] prepare: a script
 *   that runs in the page before its own
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
export const modelReady = (page) =>
  page.waitForFunction(() => document.querySelector('qwen-chat')?.phase === 'ready', null, { polling: 50 });

/** Sends the text and resolves to the answer when it is complete. */
export async function ask(page, text) {
  await page.fill('qwen-chat .input', text);
  await page.click('qwen-chat .send');
  return answered(page);
}

/** Resolves to the last answer when it is complete, also one that failed. */
export async function answered(page, timeout = 60_000) {
  await page.waitForFunction(() => ['ready', 'failed'].includes(document.querySelector('qwen-chat').phase), null, {
    timeout,
    polling: 50,
  });
  return page.evaluate(() => document.querySelector('qwen-chat').messages.at(-1).content);
}

/** The remark or error below the last answer. */
export const remark = (page) => page.locator('qwen-chat .turns > .turn .note').last().innerText();

/** Opens one of the panels (models, settings, browser), which stays open for the task. */
export async function inPanel(page, name, task) {
  if (!(await page.isVisible(`#${name}`))) await page.click(`#open-${name}`);
  const value = await task();
  if (await page.isVisible(`#${name}`)) await page.click(`#${name} .close`);
  return value;
}

/** Fills fields of the settings, wherever they stand. */
export const set = (page, values) =>
  inPanel(page, 'settings', async () => {
    await page.evaluate(() => (document.getElementById('settings-all').open = true));
    for (const [name, value] of Object.entries(values)) await page.fill(`#setting-${name}`, String(value));
  });

/** What the page says of the model at hand; the words stand in a panel that may be closed. */
export const modelState = (page) => page.textContent('#model-state');

/** Whether something would be seen in its panel. */
export const offered = (page, selector) => page.$eval(selector, (element) => !element.closest('[hidden]'));

/** Picks files for the page to load. */
export const pick = (page, ...files) => page.setInputFiles('#files', files);

/** Sees an error of the models' panel, which opens for it. */
export async function modelError(page, timeout) {
  await page.waitForSelector('#model-error', { state: 'visible', timeout });
  const text = await page.innerText('#model-error');
  await page.click('#models .close');
  return text;
}

/**
 * Asks for a model by its address; what it costs is told before it is accepted.
 * @param {import('playwright-core').Page} page
 * @param {string} address
 * @param {{ contextLength?: number | string }} [options]
 */
export async function look(page, address, { contextLength = '' } = {}) {
  await page.click('#open-models');
  await page.fill('#url', address);
  await page.fill('#contextLength', String(contextLength));
  await page.press('#url', 'Enter');
}
