// Makes this checkout buildable: native tools, Emscripten, cJSON, npm packages. Every step looks first whether its work
// is done, so that a second run takes a second.
import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { nodeWithRelaxedSimd } from './lib/node-relaxed.mjs';
import { at, quietly, say, script } from './lib/run.mjs';
import { setUpCjson } from './setup/cjson.mjs';
import { setUpEmscripten } from './setup/emscripten.mjs';
import { setUpPackages } from './setup/packages.mjs';

const OLDEST_NODE = [20, 16];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new Error(`Node ${OLDEST_NODE.join('.')} or later is needed, this is ${process.versions.node}`);
}

/** npm writes node_modules/.package-lock.json when it is done: older than the lockfile means not up to date. */
function setUpNpm() {
  const done = at('node_modules/.package-lock.json');
  if (existsSync(done) && statSync(done).mtimeMs >= statSync(at('package-lock.json')).mtimeMs) return;
  say('  npm ci');
  quietly('npm', ['ci', '--no-audit', '--no-fund']);
}

/** Tests of the relaxed builds need a newer Node than the oldest that the package supports. */
function setUpNodeWithRelaxedSimd() {
  if (nodeWithRelaxedSimd()) return;
  say('  fetching a Node with relaxed SIMD to build/node24');
  const folder = at('build/node24');
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(at('scripts/setup/node24', name), `${folder}/${name}`);
  quietly('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund']);
  if (!nodeWithRelaxedSimd())
    say('  none for this platform: run the tests with Node 22 or later to test the relaxed builds');
}

await script(async () => {
  say('set-up');
  checkNode();
  setUpNpm();
  setUpNodeWithRelaxedSimd();
  setUpPackages(true);
  setUpEmscripten();
  await setUpCjson();
});
