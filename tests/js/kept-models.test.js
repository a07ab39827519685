// The life of what is kept: one writer, replaced after success, damage found and mended, and room made for what comes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { folderStore, openPath } from '../../js/node/files.js';
import { tryLock } from '../../js/node/lock-file.js';
import { makeRoom } from '../../js/weights/evict.js';
import { Files } from '../../js/weights/files.js';
import { copiesOf, keyOf } from '../../js/weights/kept-copy.js';
import { parseManifest } from '../../js/weights/manifest.js';
import { modelCacheOver } from '../../js/weights/model-cache.js';
import { plainSource } from '../../js/weights/source.js';
import { someBytes, startStub } from './support/stub-server.js';

const BYTES = someBytes(5_000_000);
const CHUNK = 1 << 20;
const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

let stub;
let folder = '';
before(async () => (stub = await startStub()));
after(() => stub.close());
beforeEach((/** @type {any} */ t) => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'qw-kept-'));
  t.after?.(() => rmSync(folder, { recursive: true, force: true }));
  stub.asked.length = 0;
});

const store = () => folderStore(folder);

/** @param {any} source @param {{ notes?: string[], [option: string]: any }} [options] */
async function filesOf(source, { notes = [], ...more } = {}) {
  return new Files({
    source: typeof source === 'string' ? plainSource(source, String).source : source,
    signal: new AbortController().signal,
    note: (note) => notes.push(note),
    headersOnly: false,
    store: await store(),
    openPath,
    retryMs: 5,
    readPage: () => Promise.reject(new Error('no page')),
    ...more,
  });
}

/** Reads a file up to a byte; to its end, as a load does, unless told otherwise. */
async function read(files, { name = 'm.gguf', to = Infinity } = {}) {
  try {
    const file = await files.open(name, false);
    files.stream();
    const all = Buffer.alloc(Math.min(to, file.size));
    for (let at = 0; at < all.length;) at += await file.fill(all.subarray(at, at + 70_000), at);
    if (to === Infinity) await files.finish();
    return all;
  } finally {
    files.close();
  }
}

const load = async (source, more) => read(await filesOf(source, more));

const code =
  (expected, text = /./) =>
  (error) => {
    assert.equal(error.code, expected, error.stack);
    assert.match(error.message, text);
    return true;
  };

const kept = async (url, sha256) => copiesOf(await store(), keyOf({ url, sha256 }));
const data = ({ id }) => path.join(folder, `${id}.bin`);

/** A plain source of a manifest of version 2 with these sources. */
function listed(sources, bytes = BYTES) {
  const sums = [];
  for (let at = 0; at < bytes.length; at += CHUNK) sums.push(hashOf(bytes.subarray(at, at + CHUNK)));
  const chunks = { bytes: CHUNK, sha256: sums };
  const file = { name: 'm.gguf', bytes: bytes.length, sha256: hashOf(bytes), chunks, sources };
  const text = JSON.stringify({ format: 'qwen2-wasm-manifest', version: 2, files: [file] });
  return { main: 'm.gguf', files: parseManifest(text, stub.url), siblings: null, origin: null };
}

test('two loads of one URL on a cold cache do one download, and both have the right bytes', async () => {
  const url = stub.serve('/m.gguf', BYTES, { dripMs: 0 });
  const both = await Promise.all([load(url), load(url)]);
  for (const bytes of both) assert.ok(bytes.equals(BYTES));
  assert.deepEqual(
    stub.asked.map((one) => one.range),
    ['bytes=0-'],
  );
  assert.equal((await kept(url)).length, 1);
});

test('a writer that went leaves what it kept; only the chunk on its way is fetched again', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  await read(await filesOf(url), { to: 4_500_000 });
  stub.asked.length = 0;
  assert.ok((await load(url)).equals(BYTES));
  assert.deepEqual(stub.asked.map((one) => one.range).slice(0, 1), ['bytes=0-1023']);
  assert.ok(Number(/\d+/.exec(stub.asked[1]?.range ?? 'bytes=4194304')[0]) >= 2 << 20);
});

test('a lock of a process that is gone, or began at another time, counts for nothing; one that lives holds', () => {
  const file = path.join(folder, 'x.lock');
  const holder = { host: os.hostname(), thread: 0, token: 't' };
  writeFileSync(file, JSON.stringify({ ...holder, pid: 2 ** 22 + 1, began: '1' }));
  const release = tryLock(file);
  assert.ok(release, 'the pid is nobody');
  assert.equal(tryLock(file), null);
  release();
  writeFileSync(file, JSON.stringify({ ...holder, pid: process.pid, began: '1' }));
  const again = tryLock(file);
  assert.ok(again || process.platform !== 'linux', 'this process began later');
  again?.();
  rmSync(file, { force: true });
  assert.deepEqual(readdirSync(folder), [], 'nothing is left beside it');
});

test('a copy is replaced after the new one has come, and not before', async () => {
  const url = stub.serve('/m.gguf', BYTES, { etag: '"1"' });
  await load(url);
  const [{ id }] = await kept(url);
  const other = Buffer.from(BYTES).fill(9, 500);
  stub.serve('/m.gguf', other, { etag: '"2"' });
  const planning = await filesOf(url, { headersOnly: true });
  await planning.open('m.gguf', false);
  assert.equal(planning.cachedBytes, 0);
  planning.close();
  assert.deepEqual(
    (await kept(url)).map((one) => one.id),
    [id],
    'plan() changes nothing',
  );
  await read(await filesOf(url), { to: 3_000_000 });
  assert.deepEqual(
    (await kept(url)).map((one) => one.complete),
    [false, true],
    'being replaced',
  );
  assert.ok(readFileSync(data({ id })).equals(BYTES));
  stub.remove('/m.gguf');
  assert.ok((await load(url)).equals(BYTES), 'the old one serves until the new one is there');
  stub.serve('/m.gguf', other, { etag: '"2"' });
  assert.ok((await load(url)).equals(other));
  const now = await kept(url);
  assert.deepEqual(
    now.map((one) => one.complete),
    [true],
  );
  assert.notEqual(now[0].id, id);
});

test('with a known hash the copy is that hash, whatever its URL, date and signature', async () => {
  const sha256 = hashOf(BYTES);
  await load(stub.serve('/m.gguf', BYTES, { etag: '"1"' }), { sha256 });
  stub.serve('/m.gguf', BYTES, { etag: '"2"' });
  stub.serve('/b/m.gguf', BYTES);
  stub.asked.length = 0;
  for (const url of ['m.gguf', 'b/m.gguf', 'm.gguf?signature=2'])
    assert.ok((await load(stub.url + url, { sha256 })).equals(BYTES));
  assert.ok((await load(listed(['nowhere']))).equals(BYTES), 'and a manifest with this hash has it too');
  assert.equal(stub.asked.length, 0);
  assert.equal(keyOf({ url: 'https://h/m?X-Amz-Date=1&a=2' }), keyOf({ url: 'https://h/m?X-Amz-Date=3&a=2' }));
});

test('a copy that was brought before its hash was known is taken where the hash is right', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  await load(url);
  stub.asked.length = 0;
  assert.ok((await load(url, { sha256: hashOf(BYTES) })).equals(BYTES));
  assert.equal(stub.asked.length, 0);
});

test('one flipped bit, a zeroed tail and a cut copy are found, and what is damaged is fetched again, alone', async () => {
  const damages = {
    bit: (bytes) => (bytes[3_000_000] ^= 1),
    tail: (bytes) => bytes.fill(0, 4_900_000),
    cut: null,
  };
  for (const [what, damage] of Object.entries(damages)) {
    for (const source of [stub.serve('/m.gguf', BYTES), listed(['m.gguf'])]) {
      const sha256 = typeof source === 'string' ? undefined : hashOf(BYTES);
      await load(source);
      const [copy] = await kept(stub.url + 'm.gguf', sha256);
      const bytes = readFileSync(data(copy));
      damage?.(bytes);
      writeFileSync(data(copy), damage ? bytes : bytes.subarray(0, 4_800_000));
      stub.asked.length = 0;
      const notes = [];
      assert.ok((await load(source, { notes })).equals(BYTES), what);
      assert.match(notes.join(), /was damaged/);
      const ranges = stub.asked.map((one) => one.range).filter((range) => !/^bytes=0-(0|1023)$/.test(range));
      assert.equal(ranges.length, 1, `${what}: ${ranges}`);
      assert.ok(readFileSync(data(copy)).equals(BYTES), `${what} is mended`);
    }
  }
});

test('a bit that flips on the wire is found, and that chunk comes from the next mirror', async () => {
  const wrong = Buffer.from(BYTES);
  wrong[2_500_000] ^= 4;
  stub.serve('/wrong/m.gguf', wrong);
  stub.serve('/m.gguf', BYTES);
  for (const place of [store, async () => null]) {
    stub.asked.length = 0;
    assert.ok((await load(listed(['wrong/m.gguf', 'm.gguf']), { store: await place() })).equals(BYTES));
    const again = stub.asked.filter((one) => one.range === `bytes=${2 * CHUNK}-${3 * CHUNK - 1}`);
    assert.deepEqual(
      again.map((one) => one.path),
      ['/wrong/m.gguf', '/m.gguf'],
    );
    rmSync(folder, { recursive: true });
  }
  await assert.rejects(load(listed(['wrong/m.gguf'])), code('integrity', /bytes from 2097152 on/));
});

test('chunks of a manifest come in ranges some at a time; parts, caps and servers without ranges make no difference', async () => {
  stub.serve('/m.gguf', BYTES);
  assert.ok((await load(listed(['m.gguf']))).equals(BYTES));
  assert.equal(stub.asked.length, Math.ceil(BYTES.length / CHUNK));
  rmSync(folder, { recursive: true });
  stub.serve('/p0', BYTES.subarray(0, 1_500_000));
  stub.serve('/p1', BYTES.subarray(1_500_000));
  const parts = { parts: [{ bytes: 1_500_000, urls: ['p0'] }, { bytes: 3_500_000, urls: ['gone', 'p1'] }] }; // prettier-ignore
  assert.ok((await load(listed([parts]))).equals(BYTES));
  rmSync(folder, { recursive: true });
  for (const switches of [{ noRanges: true }, { cap: 300_000 }, { cuts: [500_000, 10_000, 70_000] }]) {
    stub.serve('/m.gguf', BYTES, switches);
    assert.ok((await load(listed(['m.gguf']))).equals(BYTES), JSON.stringify(switches));
    rmSync(folder, { recursive: true });
  }
});

test('several files are read one at a time: never do two answers stand open', async () => {
  const names = Array.from({ length: 8 }, (_, i) => `m-0000${i + 1}-of-00008.gguf`);
  let open = 0;
  let most = 0;
  let endless = 0;
  const server = http.createServer((request, response) => {
    const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? ['', '0', ''];
    const last = Math.min(end ? Number(end) : Infinity, BYTES.length - 1);
    if (!end) endless++;
    most = Math.max(most, ++open);
    response.on('close', () => open--);
    const head = {
      'Content-Range': `bytes ${start}-${last}/${BYTES.length}`,
      'Content-Length': last + 1 - Number(start),
    };
    response.writeHead(206, head).end(BYTES.subarray(Number(start), last + 1));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const base = `http://127.0.0.1:${/** @type {any} */ (server.address()).port}/`;
  const files = await filesOf(
    plainSource(
      names.map((name) => base + name),
      String,
    ).source,
  );
  try {
    for (const name of names) {
      const file = await files.open(name, false);
      await file.fill(Buffer.alloc(1000), 0);
      await file.pause();
    }
    assert.equal(endless, 0, 'headers come in bounded ranges');
    files.stream();
    for (const name of names) {
      const file = await files.open(name, false);
      const all = Buffer.alloc(file.size);
      for (let at = 0; at < all.length;) at += await file.fill(all.subarray(at), at);
      await file.pause();
      assert.ok(all.equals(BYTES), name);
    }
    await files.finish();
    assert.equal(most, 1);
  } finally {
    files.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

test('room is made of what was used the longest ago, and of nothing where that would not help', async () => {
  const place = await store();
  for (const n of [1, 2, 3]) {
    await load(stub.serve(`/${n}/m.gguf`, BYTES));
    const [{ id }] = await kept(`${stub.url}${n}/m.gguf`);
    await place.write(`${id}.used`, String(1000 * (n === 2 ? 1 : n + 5)));
  }
  const cache = modelCacheOver(
    async () => place,
    async () => true,
  );
  const left = async () => (await cache.list()).length;
  const crowded = { ...place, free: async () => 1_000_000 };
  await assert.rejects(makeRoom(crowded, 90_000_000, 'x'), { name: 'QuotaExceededError' });
  assert.equal(await left(), 3);
  await makeRoom(crowded, 6_000_000, 'x');
  assert.deepEqual([await left(), await kept(`${stub.url}2/m.gguf`)], [2, []]);
  assert.equal(await cache.evict(1), BYTES.length);
  assert.deepEqual([await left(), await kept(`${stub.url}1/m.gguf`)], [1, []]);
  const full = { ...place, free: async () => 10 };
  const notes = [];
  assert.ok((await load(stub.serve('/4/m.gguf', someBytes(20_000_000)), { store: full, notes })).length === 20_000_000);
  assert.match(notes.join(), /not kept on this device: 20000000 bytes are wanted/);
});

test('what a store fails with is an error of code storage', async () => {
  const broken = async () => ({
    ...(await store()),
    names: () => Promise.reject(new DOMException('gone', 'UnknownError')),
  });
  const cache = modelCacheOver(broken, async () => true);
  for (const call of [cache.list(), cache.clear(), cache.delete('a'.repeat(32)), cache.evict(1)])
    await assert.rejects(call, code('storage', /gone/));
  const url = stub.serve('/m.gguf', BYTES);
  await load(url);
  const [{ id }] = await kept(url);
  const release = await (await store()).lock(id.split('-')[0], { wait: false });
  await assert.rejects(modelCacheOver(store, async () => true).delete(id), code('storage', /being written/));
  release();
});
