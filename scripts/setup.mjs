// Makes this checkout buildable and testable: native tools, Emscripten, cJSON, npm packages. Every step looks first whether
// its work is done, so that a second run takes a second.
//   node scripts/setup.mjs [--build]      --build: only what a build of dist/ needs, as npm start does
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { nodeWithRelaxedSimd } from './lib/node-relaxed.mjs';
import { at, quietlyAside, say, script } from './lib/run.mjs';
import { setUpCjson } from './setup/cjson.mjs';
import { setUpEmscripten } from './setup/emscripten.mjs';
import { setUpPackages } from './setup/packages.mjs';

const OLDEST_NODE = [20, 16];

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return;
  throw new Error(`Node ${OLDEST_NODE.join('.')} or later is needed, this is ${process.versions.node}`);
}

/**
 * Packages of the build stand in package.json, those of the tests in tests/package.json, a workspace. npm writes
 * node_modules/.package-lock.json when it is done: older than the lockfile means not up to date.
 */
async function setUpNpm(tests) {
  const done = at('node_modules/.package-lock.json');
  const isNew = existsSync(done) && statSync(done).mtimeMs >= statSync(at('package-lock.json')).mtimeMs;
  const { devDependencies } = JSON.parse(readFileSync(at('tests/package.json'), 'utf8'));
  const isWhole = Object.keys(devDependencies).every((name) => existsSync(at('node_modules', name)));
  if (isNew && (isWhole || !tests)) return;
  say(tests ? '  npm ci' : '  npm ci, without the packages of the tests');
  await quietlyAside('npm', ['ci', '--no-audit', '--no-fund', ...(tests ? [] : ['--workspaces=false'])]);
}

/** Tests of the relaxed builds need a newer Node than the oldest that the package supports. */
async function setUpNodeWithRelaxedSimd() {
  if (nodeWithRelaxedSimd()) return;
  say('  fetching a Node with relaxed SIMD to build/node24');
  const folder = at('build/node24');
  mkdirSync(folder, { recursive: true });
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(at('scripts/setup/node24', name), `${folder}/${name}`);
  await quietlyAside('npm', ['ci', '--prefix', folder, '--no-audit', '--no-fund']);
  if (!nodeWithRelaxedSimd())
    say('  none for this platform: run the tests with Node 22 or later to test the relaxed builds');
}

/** What uses the machine's apt, one after the other. */
async function setUpTools(tests) {
  await setUpPackages(tests);
  await setUpEmscripten();
}

/** One after the other too: two npm processes fetch what both need twice. */
async function setUpPackagesOfNode(tests) {
  await setUpNpm(tests);
  if (tests) await setUpNodeWithRelaxedSimd();
}

await script(async (args) => {
  const tests = !args.includes('--build');
  say('set-up');
  checkNode();
  await Promise.all([setUpPackagesOfNode(tests), setUpTools(tests), setUpCjson()]);
});
