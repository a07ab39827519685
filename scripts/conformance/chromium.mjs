// The hashes of the exactness part from a page in Chromium, by way of dist/ as a site would serve it.
import path from 'node:path';
import { chromium } from 'playwright-core';
import { startServer } from '../../js/cli/static-server.js';
import { chromiumOptions, findChromium } from '../lib/browsers.mjs';
import { at } from '../lib/run.mjs';
import { exactModels } from './api.mjs';

const MINUTES = 10;

export const hasChromium = () => findChromium() !== null;

/** In the page; modules: the addresses of dist/index.js and lib/exact.mjs. */
async function measure({ modules, model }) {
  const [{ Engine }, { exactHashes }] = await Promise.all(modules.map((module) => import(module)));
  return exactHashes(Engine, model);
}

/** Runs the exactness part of a folder in one page. */
export async function runChromium({ counter, folder, model, tiny }) {
  const files = { model: model && path.dirname(model), tiny: path.dirname(tiny) };
  const server = await startServer({
    folders: [at('tests/browser/pages'), at('.'), folder, files.model ?? folder, files.tiny],
  });
  const browser = await chromium.launch(chromiumOptions());
  try {
    const page = await browser.newPage();
    page.setDefaultTimeout(MINUTES * 60_000);
    await page.goto(`${server.url}blank.html`);
    for (const one of exactModels({ folder, model, tiny })) {
      const source = one.source.startsWith(folder) ? path.relative(folder, one.source) : path.basename(one.source);
      const url = new URL(one.source.endsWith('/') ? `${source}/` : source, server.url).href;
      await counter.try(`chromium exact/${one.model}`, async () => {
        const modules = ['/dist/index.js', '/scripts/lib/exact.mjs'];
        const hashes = await page.evaluate(measure, { modules, model: { ...one, source: url } });
        for (const [name, hash] of hashes) counter.hashes.set(name, hash);
      });
    }
  } finally {
    await browser.close();
    await server.close();
  }
}
