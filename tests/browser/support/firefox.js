// Debian's Firefox, driven over WebDriver BiDi.
import puppeteer from 'puppeteer-core';
import { findFirefox } from '../../../scripts/lib/browsers.mjs';

/** The browser's own services are not asked for. */
const PREFERENCES = {
  'app.normandy.enabled': false,
  'browser.safebrowsing.update.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
};

/** @returns {Promise<import('./drivers.js').Driven>} */
export async function launchFirefox() {
  const browser = await puppeteer.launch({
    browser: 'firefox',
    executablePath: findFirefox(),
    headless: true,
    extraPrefsFirefox: PREFERENCES,
    protocolTimeout: 120_000,
  });
  return {
    async open(url) {
      const page = await browser.newPage();
      await page.goto(url, { waitUntil: 'load' });
      return {
        goto: (next) => page.goto(next, { waitUntil: 'load' }),
        reload: () => page.reload({ waitUntil: 'load' }),
        evaluate: (script, ...args) => page.evaluate(`(${script})(...${JSON.stringify(args)})`),
        close: () => page.close(),
      };
    },
    close: () => browser.close(),
  };
}
