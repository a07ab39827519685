// The measurements in Chromium. Files are served by the package's own server; the profile is a real one, for a private window
// would keep the weights in memory.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { startServer } from '../../js/cli/static-server.js';
import { chromiumOptions } from '../lib/browsers.mjs';
import { at } from '../lib/run.mjs';

const IDLE_SECONDS = 5;
const TICKS_PER_SECOND = 100;

/** A browser with a profile of its own, and what is measured in its pages. */
export class Browser {
  #server;
  #context;
  #profile;
  #model;

  /** @param {string} model a file that pages can load */
  static async start(model) {
    const browser = new Browser();
    browser.#model = model;
    browser.#server = await startServer({ folders: [at('web'), at('.'), path.dirname(model)], policy: null });
    browser.#profile = mkdtempSync(at('build/tmp/bench-'));
    const options = chromiumOptions('--enable-blink-features=ForceEagerMeasureMemory');
    browser.#context = await chromium.launchPersistentContext(browser.#profile, options);
    browser.#context.setDefaultTimeout(120_000);
    return browser;
  }

  /** The address of the model. */
  get url() {
    return new URL(path.basename(this.#model), this.#server.url).href;
  }

  /** The address of a file of the project. */
  urlOf(file) {
    return new URL(path.relative(at('.'), file), this.#server.url).href;
  }

  async close() {
    await this.#context.close();
    await this.#server.close();
    rmSync(this.#profile, { recursive: true });
  }

  async #tab(place, use) {
    const page = await this.#context.newPage();
    try {
      await page.goto(new URL(place, this.#server.url).href);
      return await use(page);
    } finally {
      await page.close();
    }
  }

  /** Calls a function of page.js. */
  call(name, ...args) {
    return this.#tab('scripts/bench/engine.html', async (page) => {
      await page.waitForFunction('window.ready');
      return page.evaluate(([f, a]) => window[f](...a), [name, args]);
    });
  }

  /** What a compiled benchmark prints. */
  run(file, args) {
    const query = new URLSearchParams({ file: `/${path.relative(at('.'), file)}`, args: JSON.stringify(args) });
    const script = `/scripts/bench/kernels-worker.js?${query}`;
    return this.#tab('scripts/bench/engine.html', (page) =>
      page.evaluate(
        (url) =>
          new Promise((resolve, reject) => {
            const worker = new Worker(url, { type: 'module' });
            worker.onmessage = ({ data }) => resolve(data);
            worker.onerror = ({ message }) => reject(new Error(message));
          }),
        script,
      ),
    );
  }

  /** Milliseconds of the demo page's longest task, 0 below 50: it loads a file that is picked, and answers. */
  longestTask() {
    return this.#tab('icon.svg', async (page) => {
      await page.addInitScript(() => {
        window.longest = 0;
        const see = ({ duration }) => (window.longest = Math.max(window.longest, duration));
        new PerformanceObserver((list) => list.getEntries().forEach(see)).observe({ type: 'longtask', buffered: true });
      });
      await page.goto(this.#server.url);
      const inPhase = (...phases) =>
        page.waitForFunction((names) => names.includes(document.querySelector('qwen-chat')?.phase), phases);
      await inPhase('ready');
      const bundled = await page.textContent('#model-state');
      await page.setInputFiles('#files', this.#model);
      await page.waitForFunction(
        (old) => ![old, 'No model is loaded.'].includes(document.getElementById('model-state').textContent),
        bundled,
      );
      await inPhase('ready');
      await page.evaluate(() => (document.querySelector('qwen-chat').settings = { max_new_tokens: 64 }));
      await page.fill('.input', 'Tell me about the sea.');
      await page.press('.input', 'Enter');
      await inPhase('answering');
      await inPhase('ready', 'failed');
      return page.evaluate(() => window.longest);
    });
  }

  /** Percent of one core that all of Chromium's processes take while an engine that has generated waits. */
  idle() {
    return this.#tab('scripts/bench/engine.html', async (page) => {
      await page.waitForFunction('window.ready');
      await page.evaluate((url) => window.rest(url), this.url);
      await wait(2000);
      const before = childSeconds();
      await wait(1000 * IDLE_SECONDS);
      const seconds = childSeconds() - before;
      await page.evaluate(() => window.done());
      return (100 * seconds) / IDLE_SECONDS;
    });
  }
}

/** Seconds of CPU of all processes that this one has started, and theirs. */
function childSeconds() {
  const processes = readdirSync('/proc').flatMap((id) => {
    try {
      const fields = readFileSync(`/proc/${Number(id)}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ');
      return [{ id: Number(id), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
    } catch {
      return [];
    }
  });
  const family = new Set([process.pid]);
  for (let size = 0; size !== family.size;) {
    size = family.size;
    for (const { id, parent } of processes) if (family.has(parent)) family.add(id);
  }
  const ours = processes.filter(({ id }) => id !== process.pid && family.has(id));
  return ours.reduce((sum, { ticks }) => sum + ticks, 0) / TICKS_PER_SECOND;
}
