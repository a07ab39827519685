// One small way to drive each of the three engines: a page that loads, reloads and evaluates. What is to be seen is evaluated in
// the page, and the network is cut by ending the server.
import { chromium } from 'playwright-core';
import { chromiumOptions, findChromium, findFirefox, findWebKitDriver } from '../../../scripts/lib/browsers.mjs';
import { which } from '../../../scripts/lib/run.mjs';
import { launchFirefox } from './firefox.js';
import { launchWebKit } from './webkit.js';

/**
 * evaluate: as playwright's, with arguments that are JSON; what the function returns is awaited.
 * @typedef {object} Tab
 * @property {(url: string) => Promise<unknown>} goto
 * @property {() => Promise<unknown>} reload
 * @property {(script: (...args: any[]) => any, ...args: any[]) => Promise<any>} evaluate
 * @property {() => Promise<unknown>} close
 *
 * Tabs of one browser share its storage.
 * @typedef {object} Driven
 * @property {(url: string) => Promise<Tab>} open
 * @property {() => Promise<unknown>} close
 */

/** @returns {Promise<Driven>} */
async function launchChromium() {
  const browser = await chromium.launch(chromiumOptions());
  const context = await browser.newContext();
  return {
    async open(url) {
      const page = await context.newPage();
      await page.goto(url);
      return {
        goto: (next) => page.goto(next),
        reload: () => page.reload(),
        evaluate: (script, ...args) => page.evaluate(`(${script})(...${JSON.stringify(args)})`),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}

/**
 * missing: why it cannot be had here, or ''. threads and keeps: what the engine has there.
 */
export const BROWSERS = [
  {
    name: 'Chromium',
    launch: launchChromium,
    threads: true,
    keeps: true,
    missing: findChromium() ? '' : 'no Chromium',
  },
  { name: 'Firefox', launch: launchFirefox, threads: true, keeps: true, missing: findFirefox() ? '' : 'no Firefox' },
  {
    name: 'WebKitGTK',
    launch: launchWebKit,
    threads: false,
    keeps: false,
    missing: findWebKitDriver() && which('xvfb-run') ? '' : 'no WebKitWebDriver, or no xvfb-run',
  },
];

/**
 * Waits in the page until a condition holds.
 * @param {Tab} tab
 * @param {(...args: any[]) => any} condition
 * @param {...any} args
 */
export async function until(tab, condition, ...args) {
  for (let tries = 0; tries < 300; tries++) {
    // A page that is being replaced has no answer.
    if (await tab.evaluate(condition, ...args).catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within 30 s: ${condition}`);
}
