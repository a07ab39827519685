// The download of a manifest's files: sources in order, parts, resuming, and trust in the hash alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startServer } from '../../js/cli/static-server.js';

const SCRIPT = fileURLToPath(new URL('../../scripts/fetch-model.mjs', import.meta.url));
const BYTES = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7) % 251));

const site = mkdtempSync(path.join(os.tmpdir(), 'qw-site-'));
/** @type {string[]} What was asked for: path and range. */
let asked = [];
/** @type {Awaited<ReturnType<typeof startServer>>} */
let server;

before(async () => {
  writeFileSync(path.join(site, 'whole.bin'), BYTES);
  writeFileSync(path.join(site, 'wrong.bin'), Buffer.alloc(BYTES.length, 1));
  writeFileSync(path.join(site, 'long.bin'), Buffer.concat([BYTES, BYTES]));
  writeFileSync(path.join(site, 'short.bin'), BYTES.subarray(0, 700));
  writeFileSync(path.join(site, 'part0'), BYTES.subarray(0, 1000));
  writeFileSync(path.join(site, 'part1'), BYTES.subarray(1000, 2500));
  writeFileSync(path.join(site, 'part2'), BYTES.subarray(2500));
  server = await startServer({
    folders: site,
    intercept(request) {
      asked.push(`${request.url} ${request.headers.range ?? ''}`.trim());
      return false;
    },
  });
});
after(async () => {
  await server.close();
  rmSync(site, { recursive: true });
});

/**
 * Runs the script on a manifest whose one file has these sources; partial is what an earlier run left.
 * @param {object[]} sources
 * @param {{ partial?: any, change?: object }} [options]
 */
async function run(sources, { partial, change = {} } = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-fetch-'));
  try {
    const sha256 = createHash('sha256').update(BYTES).digest('hex');
    const file = { name: 'model.bin', bytes: BYTES.length, sha256, sources };
    const manifest = { format: 'qwen2-wasm-manifest', version: 1, files: [file], ...change };
    writeFileSync(path.join(site, 'manifest.json'), JSON.stringify(manifest));
    if (partial) writeFileSync(path.join(folder, 'model.bin.partial'), partial);
    asked = [];
    const child = spawn(process.execPath, [SCRIPT, `${server.url}manifest.json`, folder]);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (text += data));
    const code = await new Promise((resolve) => child.on('close', resolve));
    const target = path.join(folder, 'model.bin');
    return { code, text, got: existsSync(target) ? readFileSync(target) : null, asked: asked.slice(1) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const PARTS = {
  parts: [
    { bytes: 1000, urls: ['part0'] },
    { bytes: 1500, urls: ['missing', 'part1'] },
    { bytes: 500, urls: ['part2'] },
  ],
};

test('a whole file comes from a URL relative to the manifest', async () => {
  const { code, got, asked } = await run(['whole.bin']);
  assert.equal(code, 0);
  assert.deepEqual(got, BYTES);
  assert.deepEqual(asked, ['/whole.bin']);
});

test('parts are joined in order, each from the first of its places that has it', async () => {
  const { code, got, asked } = await run([PARTS]);
  assert.equal(code, 0);
  assert.deepEqual(got, BYTES);
  assert.deepEqual(asked, ['/part0', '/missing', '/part1', '/part2']);
});

test('a source that is missing, or of an unknown kind, is passed over', async () => {
  const { code, got, text } = await run(['missing.bin', { torrent: 'x' }, PARTS]);
  assert.equal(code, 0);
  assert.deepEqual(got, BYTES);
  assert.match(text, /status 404/);
});

test('an interrupted file goes on with a range request', async () => {
  const { code, got, asked } = await run(['whole.bin'], { partial: BYTES.subarray(0, 1200) });
  assert.equal(code, 0);
  assert.deepEqual(got, BYTES);
  assert.deepEqual(asked, ['/whole.bin bytes=1200-']);
});

test('parts go on inside the part that was interrupted', async () => {
  const { code, got, asked } = await run([PARTS], { partial: BYTES.subarray(0, 1200) });
  assert.equal(code, 0);
  assert.deepEqual(got, BYTES);
  assert.deepEqual(asked, ['/missing bytes=200-', '/part1 bytes=200-', '/part2']);
});

test('wrong bytes are thrown away and the next source begins anew', async () => {
  const { code, got, text, asked } = await run(['wrong.bin', 'whole.bin']);
  assert.equal(code, 0);
  assert.deepEqual(got, BYTES);
  assert.match(text, /wrong bytes/);
  assert.deepEqual(asked, ['/wrong.bin', '/whole.bin']);
});

test('a file that is longer or shorter than the manifest says is not taken', async () => {
  for (const name of ['long.bin', 'short.bin']) {
    const { code, got, text } = await run([name]);
    assert.equal(code, 1, name);
    assert.equal(got, null, name);
    assert.match(text, /model\.bin: no source gave it/, name);
  }
});

test('a manifest of another version, and parts that do not add up, are refused with both values', async () => {
  const other = await run(['whole.bin'], { change: { version: 3 } });
  assert.equal(other.code, 1);
  assert.match(other.text, /version 3/);
  const { code, text } = await run([{ parts: [{ bytes: 10, urls: ['part0'] }] }]);
  assert.equal(code, 1);
  assert.match(text, /3000 bytes named, but the parts of a source add up to 10/);
});
