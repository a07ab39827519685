// build/site as a host without headers would serve it, below a path as GitHub Pages does.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startServer } from '../../js/cli/static-server.js';
import { ask, at, launch, modelReady, modelState, openTab, set } from './support/browser.js';

test('the built site works below a path of a host that sets no headers', async () => {
  const made = spawnSync(process.execPath, [at('scripts/site.mjs'), '--no-build'], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-site-'));
  mkdirSync(path.join(folder, 'user'));
  symlinkSync(at('build/site'), path.join(folder, 'user/demo'));
  const [browser, server] = await Promise.all([
    launch(),
    startServer({ folders: folder, isolation: false, policy: null }),
  ]);
  const tab = await openTab(browser, `${server.url}user/demo/`);
  await modelReady(tab.page);
  await set(tab.page, { temperature: 0, max_new_tokens: 8 });
  assert.ok((await ask(tab.page, 'The daughter of')).length > 4);
  await tab.page.click('#open-browser');
  await tab.page.click('#threads-enable');
  await tab.page.waitForFunction(() => window.crossOriginIsolated);
  await modelReady(tab.page);
  assert.match(await modelState(tab.page), /[2-8] threads/);
  tab.expectClean();
  await Promise.all([browser.close(), server.close()]);
  rmSync(folder, { recursive: true });
});
