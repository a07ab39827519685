// Places that lack something: each says what, and the way out.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { capabilities, Engine, selfTest, TINY, withCode } from './support/package.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const RUN = [CLI, 'generate', '--model', TINY, '--prompt', 'It is', '--max_new_tokens', '1', '--cache', 'false'];

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const { stdout, stderr, status } = spawnSync(command, args, { encoding: 'utf8', timeout: 60_000 });
  return { stdout, stderr: stderr.replace(/^(\(|Warning).*\n/gm, ''), status };
}

test('a Node that is too old is told, with its version and the one that is needed', async (t) => {
  const { versions } = process;
  t.after(() => Object.defineProperty(process, 'versions', { value: versions }));
  for (const node of ['18.20.4', '20.15.1', '16.0.0']) {
    Object.defineProperty(process, 'versions', { value: { ...versions, node }, configurable: true });
    const refused = withCode('environment', new RegExp(`Node ${node} is too old: 20\\.16 or a later`));
    await assert.rejects(Engine.load(TINY), refused);
    await assert.rejects(selfTest(), refused);
  }
  Object.defineProperty(process, 'versions', { value: { ...versions, node: '20.16.0' }, configurable: true });
  assert.ok(await Engine.plan(TINY));
});

test('no WebAssembly at all is told as such', async (t) => {
  const { status, stderr } = run(process.execPath, ['--jitless', ...RUN]);
  assert.equal(status, 1);
  assert.match(stderr, /There is no WebAssembly here: it is switched off \(Lockdown Mode/);
  assert.doesNotMatch(stderr, /16\.4/);
  const { WebAssembly } = globalThis;
  t.after(() => (globalThis.WebAssembly = WebAssembly));
  delete (/** @type {any} */ (globalThis).WebAssembly);
  assert.match((await capabilities()).notes[0], /no WebAssembly here/);
});

const PERMISSION = Number(process.versions.node.split('.')[0]) >= 24 ? '--permission' : '--experimental-permission';

test("Node's permission model: the flag that is missing is named", () => {
  const folder = `${path.dirname(CLI)}/*`;
  const noWorker = run(process.execPath, [PERMISSION, '--allow-fs-read=*', ...RUN]);
  assert.match(noWorker.stderr, /permission model it needs --allow-worker/);
  const noModel = run(process.execPath, [PERMISSION, '--allow-worker', `--allow-fs-read=${folder}`, ...RUN]);
  assert.ok(noModel.stderr.includes('--allow-fs-read'), noModel.stderr);
  const enough = run(process.execPath, [PERMISSION, '--allow-worker', '--allow-fs-read=*', ...RUN]);
  assert.deepEqual([enough.status, noWorker.status, noModel.status], [0, 1, 1], enough.stderr);
});

test('an address space that is too small is a memory error that names the limit', () => {
  for (const kib of [3_000_000, 12_000_000]) {
    const { stderr, status } = run('bash', ['-c', `ulimit -v ${kib}; exec "$0" "$@"`, process.execPath, ...RUN]);
    assert.equal(status, 1);
    const mib = Math.floor(kib / 1024);
    assert.match(
      stderr,
      new RegExp(`^qwen2-wasm: .*address space of this process is limited to ${mib} MiB \\(ulimit -v\\)`),
    );
  }
});
