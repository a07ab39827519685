// What may be given as a model's source, and how files of the network come, are kept, and are trusted.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { copiesOf, keyOf, lookAt } from '../../js/weights/kept-copy.js';
import { modelCacheOver } from '../../js/weights/model-cache.js';
import { Files, siblingUrl } from '../../js/weights/files.js';
import { hubUrl } from '../../js/weights/hub.js';
import { parseManifest } from '../../js/weights/manifest.js';
import * as nodeFiles from '../../js/node/files.js';
import { Sha256, sha256OfText } from '../../js/weights/sha256.js';
import { mainOf, plainSource } from '../../js/weights/source.js';
import { someBytes, startStub } from './support/stub-server.js';

const BYTES = someBytes(600_000);
const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

/** @type {Awaited<ReturnType<typeof startStub>>} */
let stub;
let folder = '';
before(async () => (stub = await startStub()));
after(() => stub.close());
beforeEach((/** @type {any} */ t) => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'qw-cache-'));
  t.after?.(() => rmSync(folder, { recursive: true, force: true }));
  stub.asked.length = 0;
});

const resolveUrl = (text) => new URL(text, 'https://site.example/app/page.html').href;
const plain = (source) => plainSource(source, resolveUrl).source;
const code =
  (expected, text = /./) =>
  (error) => {
    assert.equal(error.code, expected, error.stack);
    assert.match(error.message, text);
    return true;
  };

test('SHA-256 of pieces is that of the whole', () => {
  for (const n of [0, 1, 55, 56, 63, 64, 65, 119, 120, 128, 1000]) {
    const bytes = someBytes(n);
    const hash = new Sha256();
    for (let at = 0; at < n; at += 37) hash.update(bytes.subarray(at, at + 37));
    assert.equal(hash.digest(), hashOf(bytes), `${n} bytes`);
  }
  assert.equal(sha256OfText('é'), hashOf('é'));
});

test('a URL names its file and its folder; a folder is a checkpoint', () => {
  assert.deepEqual(plain('../m/a%20b.gguf?x=1#frag'), {
    main: 'a b.gguf',
    files: { 'a b.gguf': { kind: 'url', url: 'https://site.example/m/a%20b.gguf?x=1' } },
    siblings: 'https://site.example/m/a%20b.gguf?x=1',
    origin: 'https://site.example',
  });
  assert.equal(plain('model/').main, 'config.json');
  assert.equal(siblingUrl('https://h.example/m/a.gguf?x=1', 'b c.gguf'), 'https://h.example/m/b%20c.gguf?x=1');
  assert.deepEqual(plain({ repo: 'Qwen/M', file: 'm.gguf', revision: 'abc' }).files['m.gguf'], {
    kind: 'url',
    url: hubUrl({ repo: 'Qwen/M', file: 'm.gguf', revision: 'abc' }),
  });
  assert.equal(hubUrl({ repo: 'Qwen/M' }), 'https://huggingface.co/Qwen/M/resolve/main/');
});

test('Blobs, Files and ModelFiles are told apart by name, in any order', () => {
  const named = (name) => Object.assign(new Blob(['x']), { name });
  const source = plain([named('b-00002-of-00002.gguf'), named('b-00001-of-00002.gguf')]);
  assert.equal(source.main, 'b-00001-of-00002.gguf');
  assert.equal(plain([named('model.safetensors'), named('config.json'), named('tokenizer.json')]).main, 'config.json');
  const file = { name: 'm.gguf', size: 3, read: async () => new Uint8Array(3) };
  assert.deepEqual(plain(file).files['m.gguf'], { kind: 'page', file: 0, size: 3 });
  assert.equal(plain(new Blob(['x'])).main, 'model');
});

test('a source that is none, or is two models, is a usage error', () => {
  for (const bad of [null, 7, {}, [], [[]], 'ftp://x/y', { repo: 'x' }, { name: 'a', size: -1, read() {} }]) {
    assert.throws(() => plain(bad), code('usage'), JSON.stringify(bad));
  }
  assert.throws(() => mainOf(['a.gguf', 'b.gguf']), code('usage', /several models/));
  assert.throws(() => mainOf(['a.txt', 'b.txt']), code('usage'));
  const twice = Object.assign(new Blob(['x']), { name: 'a.gguf' });
  assert.throws(() => plain([twice, twice]), code('usage', /two files/));
});

/**
 * A Files over the stub, with a cache folder unless told otherwise.
 * @param {any} url
 * @param {{ notes?: string[], [option: string]: any }} [options]
 */
async function filesOf(url, { notes = [], ...more } = {}) {
  const { source } = plainSource(url, resolveUrl);
  return new Files({
    source,
    signal: new AbortController().signal,
    note: (note) => notes.push(note),
    headersOnly: false,
    store: await nodeFiles.folderStore(folder),
    openPath: nodeFiles.openPath,
    retryMs: 5,
    readPage: () => Promise.reject(new Error('no page')),
    ...more,
  });
}

/** The one copy of a file. */
async function copyOf(url, sha256) {
  const copies = await copiesOf(await nodeFiles.folderStore(folder), keyOf({ url, sha256 }));
  assert.equal(copies.length, 1);
  return copies[0];
}

/** Reads a range of the main file as the loader does, finishes, and closes. */
async function load(files, { from = 0, to = Infinity, name = 'm.gguf' } = {}) {
  const file = await files.open(name, false);
  const phases = new Set();
  const end = Math.min(to, file.size);
  const all = Buffer.alloc(end - from);
  try {
    for (let at = from; at < end;) {
      const n = await file.fill(all.subarray(at - from, at - from + 70_000), at);
      phases.add(file.phase);
      at += n;
    }
    await files.finish();
  } finally {
    files.close();
  }
  return { bytes: all, phases: [...phases] };
}

test('a second load comes from the cache and asks the server only whether the file changed', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  const first = await load(await filesOf(url), { from: 1000, to: 400_000 });
  assert.deepEqual(first.bytes, BYTES.subarray(1000, 400_000));
  assert.deepEqual(first.phases, ['download']);
  stub.asked.length = 0;
  const second = await load(await filesOf(url));
  assert.deepEqual(second.bytes, BYTES);
  assert.deepEqual(second.phases, ['cache']);
  assert.deepEqual(
    stub.asked.map((one) => one.range),
    ['bytes=0-0'],
  );
});

test('a file that changed at the same URL is fetched anew', async () => {
  const url = stub.serve('/m.gguf', BYTES, { etag: '"1"' });
  await load(await filesOf(url));
  const other = Buffer.from(BYTES).fill(9, 500);
  stub.serve('/m.gguf', other, { etag: '"2"' });
  assert.deepEqual((await load(await filesOf(url))).bytes, other);
});

test('without a network, behind a captive portal or a black hole, a kept file loads with a note', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  await load(await filesOf(url));
  for (const fault of [
    () => stub.remove('/m.gguf'),
    () => stub.serve('/m.gguf', '<html>log in</html>', { noRanges: true, headers: { 'Content-Type': 'text/html' } }),
    () => stub.serve('/m.gguf', BYTES, { hang: true }),
  ]) {
    fault();
    const notes = [];
    const asked = stub.asked.length;
    assert.deepEqual((await load(await filesOf(url, { notes }))).bytes, BYTES);
    assert.equal(stub.asked.length - asked, 1, 'one question, which nothing waits for twice');
    assert.match(notes.join(), /copy on this device is used/);
  }
});

test('a page of HTML in the place of a file is not kept, and the file loads once it is there', async () => {
  for (const [text, errorCode] of [
    ['\n<!DOCTYPE html><p>no such file', 'network'],
    ['version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n', 'format'],
  ]) {
    const url = stub.serve('/m.gguf', text);
    await assert.rejects(load(await filesOf(url)), code(errorCode, /\/m\.gguf: got/));
    assert.deepEqual(readdirSync(folder), []);
    stub.serve('/m.gguf', BYTES);
    assert.deepEqual((await load(await filesOf(url))).bytes, BYTES);
    rmSync(folder, { recursive: true });
  }
});

test('where the server of a folder is gone, one wait serves all its files, and those that were never there are absent', async () => {
  for (const name of ['config.json', 'tokenizer.json', 'model.safetensors']) stub.serve(`/c/${name}`, BYTES);
  /** @type {[string, boolean][]} */
  const names = [
    ['config.json', false],
    ['tokenizer.json', true],
    ['chat_template.jinja', true],
    ['model.safetensors', false],
  ];
  const all = async (url, notes = []) => {
    const files = await filesOf(url, { notes });
    const sizes = [];
    for (const [name, optional] of names) sizes.push((await files.open(name, optional))?.size ?? null);
    await files.finish();
    files.close();
    return sizes;
  };
  const sizes = [BYTES.length, BYTES.length, null, BYTES.length];
  const url = `${stub.url}c/`;
  assert.deepEqual(await all(url), sizes);
  const hang = () => names.forEach(([name]) => stub.serve(`/c/${name}`, BYTES, { hang: true }));
  const busy = () =>
    names.forEach(([name]) => stub.serve(`/c/${name}`, BYTES, { failures: [{ status: 503 }, { status: 503 }] }));
  for (const fault of [hang, busy]) {
    fault();
    const notes = [];
    const asked = stub.asked.length;
    assert.deepEqual(await all(url, notes), sizes);
    assert.equal(stub.asked.length - asked, 1, 'one question, which nothing waits for twice');
    assert.match(notes.join('\n'), /^[^\n]*config\.json could not be asked.*\n[^\n]*chat_template\.jinja.*absent$/);
  }
});

test('an interrupted load goes on from what was kept, and ends with the right bytes', async () => {
  const large = someBytes(3_000_000);
  const url = stub.serve('/m.gguf', large);
  const files = await filesOf(url);
  const file = await files.open('m.gguf', false);
  for (let at = 0; at < 2_000_000;) at += await file.fill(new Uint8Array(50_000), at);
  files.close();
  stub.asked.length = 0;
  const { bytes, phases } = await load(await filesOf(url));
  assert.deepEqual(bytes, large);
  assert.deepEqual(phases, ['cache', 'download']);
  assert.equal(stub.asked.length, 2);
  assert.equal(stub.asked[0].range, 'bytes=0-1023');
  assert.ok(Number(/\d+/.exec(stub.asked[1].range)[0]) >= 2_000_000, stub.asked[1].range);
});

test('29 stale bytes and a server without ranges give the file, not a mixture', async () => {
  const url = stub.serve('/m.gguf', BYTES, { noRanges: true });
  await load(await filesOf(url));
  const data = path.join(folder, `${(await copyOf(url)).id}.bin`);
  truncateSync(data, 29);
  writeFileSync(data, Buffer.alloc(29, 1));
  assert.deepEqual((await load(await filesOf(url))).bytes, BYTES);
  assert.deepEqual(readFileSync(data), BYTES);
});

test('a wrong hash is an integrity error and nothing is kept; the right one needs no network afterwards', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  await assert.rejects(load(await filesOf(url, { sha256: '0'.repeat(64) })), code('integrity', /SHA-256/));
  assert.deepEqual(readdirSync(folder), []);
  await load(await filesOf(url, { sha256: hashOf(BYTES) }));
  stub.asked.length = 0;
  const again = await load(await filesOf(url, { sha256: hashOf(BYTES) }));
  assert.deepEqual(again.bytes, BYTES);
  assert.equal(stub.asked.length, 0);
});

test('a hash for a file that the model does not have is a usage error', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  await assert.rejects(load(await filesOf(url, { sha256: { 'n.gguf': hashOf(BYTES) } })), code('usage', /n\.gguf/));
});

test('a cache that fails at the start, in the middle or at the end leaves the load working, with a note', async () => {
  const large = someBytes(5_000_000);
  for (const failAt of [0, 3_000_000, Infinity]) {
    const url = stub.serve('/m.gguf', large);
    const store = await nodeFiles.folderStore(folder);
    const quota = () => {
      throw new DOMException('full', 'QuotaExceededError');
    };
    const faulty = {
      ...store,
      write: (name, text) => (failAt === Infinity && name.endsWith('.done') ? quota() : store.write(name, text)),
      open: async (name, write) => {
        if (write && failAt === 0) quota();
        const file = await store.open(name, write);
        const room = (at, length) => at + length <= failAt;
        return file && { ...file, write: (bytes, at) => (room(at, bytes.length) ? file.write(bytes, at) : quota()) };
      },
    };
    const notes = [];
    const { bytes } = await load(await filesOf(url, { store: faulty, notes }));
    assert.deepEqual(bytes, large);
    assert.match(notes.join(), /not kept on this device: full/, `failing at ${failAt}`);
    const kept = (
      await modelCacheOver(
        async () => store,
        async () => true,
      ).list()
    ).filter((one) => one.complete);
    assert.deepEqual(kept, []);
    rmSync(folder, { recursive: true });
  }
});

test('modelCache lists, deletes and clears', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  const before = Date.now();
  await load(await filesOf(url));
  const after = Date.now();
  const cache = modelCacheOver(
    () => nodeFiles.folderStore(folder),
    async () => true,
  );
  const [entry, ...rest] = await cache.list();
  assert.equal(rest.length, 0);
  assert.equal(entry.name, 'm.gguf');
  assert.equal(entry.bytes, BYTES.length);
  assert.equal(entry.complete, true);
  const used = entry.lastUsed.getTime();
  assert.ok(used >= before && used <= after, `used at ${used}, wanted ${before} to ${after}`);
  await cache.delete(entry.key);
  assert.deepEqual(await cache.list(), []);
  await load(await filesOf(url));
  writeFileSync(path.join(folder, 'mine.txt'), '');
  await cache.clear();
  assert.deepEqual(readdirSync(folder), ['mine.txt']);
});

test('plan() keeps nothing and knows what is kept already', async () => {
  const url = stub.serve('/m.gguf', BYTES);
  const planning = async () => {
    const files = await filesOf(url, { headersOnly: true });
    const file = await files.open('m.gguf', false);
    await file.fill(new Uint8Array(100), 0);
    files.close();
    return files.cachedBytes;
  };
  assert.equal(await planning(), 0);
  assert.deepEqual(readdirSync(folder), []);
  await load(await filesOf(url));
  assert.equal(await planning(), BYTES.length);
});

test('an optional file that is HTML or not there counts as absent; a name with a folder is refused', async () => {
  stub.serve('/c/config.json', '{}');
  stub.serve('/c/tokenizer.json', '<!doctype html>');
  const files = await filesOf(`${stub.url}c/`);
  assert.equal(await files.open('tokenizer.json', true), null);
  assert.equal(await files.open('none.json', true), null);
  assert.equal((await files.open('config.json', false)).size, 2);
  await assert.rejects(files.open('../m.gguf', false), code('format', /not the name of a file/));
  files.close();
});

test('files on disk: read, absent, a folder, a Git LFS pointer, one that shrank', async () => {
  const at = (name, bytes) => {
    writeFileSync(path.join(folder, name), bytes);
    return pathToFileURL(path.join(folder, name)).href;
  };
  const file = at('a b é%20#.gguf', BYTES);
  const { bytes } = await load(await filesOf(file, { store: null }), { name: 'a b é%20#.gguf' });
  assert.deepEqual(bytes, BYTES);
  const absent = await filesOf(pathToFileURL(path.join(folder, 'none.gguf')).href);
  await assert.rejects(absent.open('none.gguf', false), code('storage', /none\.gguf: no such file/));
  assert.equal(await (await filesOf(pathToFileURL(`${folder}/`).href)).open('config.json', true), null);
  const directory = await filesOf(pathToFileURL(folder).href);
  await assert.rejects(directory.open(path.basename(folder), false), code('storage', /is a folder/));
  const pointer = await filesOf(at('p.gguf', 'version https://git-lfs.github.com/spec/v1\n'));
  await assert.rejects(pointer.open('p.gguf', false), code('format', /Git LFS pointer/));
  const shrinking = await (await filesOf(at('s.gguf', BYTES))).open('s.gguf', false);
  truncateSync(path.join(folder, 's.gguf'), 100);
  assert.throws(() => shrinking.fill(new Uint8Array(10), 200), code('format', /became shorter/));
  shrinking.close();
});

test("a page's own file is read in blocks, ahead of what is wanted; a short answer is a usage error", async () => {
  const reads = [];
  const source = {
    main: 'm.gguf',
    files: { 'm.gguf': { kind: 'page', file: 0, size: BYTES.length } },
    siblings: null,
    origin: null,
  };
  const readPage = async (_, offset, length) => {
    reads.push([offset, length]);
    return BYTES.subarray(offset, offset + length);
  };
  assert.deepEqual((await load(await filesOf('x', { source, readPage }))).bytes, BYTES);
  assert.deepEqual(reads, [[0, BYTES.length]]);
  const short = await filesOf('x', { source, readPage: async () => new Uint8Array(5) });
  await assert.rejects(short.open('m.gguf', false), code('usage', /600000 bytes asked at 0, 5 given/));
});

const manifest = (file) => JSON.stringify({ format: 'qwen2-wasm-manifest', version: 1, files: [file] });

/** Files of a manifest with these sources. */
async function listed(sources, more = {}) {
  const file = { name: 'm.gguf', bytes: BYTES.length, sha256: hashOf(BYTES), sources, ...more };
  const files = parseManifest(manifest(file), stub.url);
  return filesOf('x', { source: { main: 'm.gguf', files, siblings: null, origin: null } });
}

test('a manifest gives a file from its parts, from the next source where one fails, and trusts the hash', async () => {
  stub.serve('/p0', BYTES.subarray(0, 250_000));
  stub.serve('/p1', BYTES.subarray(250_000));
  stub.serve('/whole', BYTES);
  stub.serve('/breaks', BYTES, { cuts: [100_000] });
  const parts = {
    parts: [
      { bytes: 250_000, urls: ['none', 'p0'] },
      { bytes: 350_000, urls: ['p1'] },
    ],
  };
  const fromParts = await load(await listed([{ unknown: 1 }, parts]));
  assert.deepEqual(fromParts.bytes, BYTES);
  stub.asked.length = 0;
  assert.deepEqual((await load(await listed(['whole']))).phases, ['cache']);
  assert.equal(stub.asked.length, 0);
  rmSync(folder, { recursive: true });
  assert.deepEqual((await load(await listed(['missing', 'whole']))).bytes, BYTES);
  rmSync(folder, { recursive: true });
  stub.asked.length = 0;
  assert.deepEqual((await load(await listed(['breaks', 'whole']))).bytes, BYTES);
  assert.deepEqual(
    stub.asked.map((one) => [one.path, one.range]),
    [
      ['/breaks', 'bytes=0-'],
      ['/breaks', 'bytes=100000-'],
    ],
    'a lost connection goes on where it stopped, at the same source',
  );
  rmSync(folder, { recursive: true });
  await assert.rejects(load(await listed(['whole'], { sha256: 'a'.repeat(64) })), code('integrity'));
  await assert.rejects(load(await listed(['missing'])), code('network', /no source gave it.*404/));
});

test('what is no manifest is a format error that says what was found', () => {
  const good = { name: 'm', bytes: 1, sha256: 'a'.repeat(64), sources: ['x'] };
  /** @type {[string, RegExp][]} */
  const bad = [
    ['nonsense', /not JSON/],
    ['{"format": "x"}', /format "x"/],
    [JSON.stringify({ format: 'qwen2-wasm-manifest', version: 1, files: [] }), /no files/],
    [manifest({ ...good, name: '../m' }), /not a file's name/],
    [manifest({ ...good, bytes: 1.5 }), /bytes is 1.5/],
    [manifest({ ...good, sha256: 'zz' }), /64 hexadecimal/],
    [manifest({ ...good, sources: [{ pypi: 1 }] }), /no source of a known kind/],
    [manifest({ ...good, sources: [{ parts: [{ bytes: 2, urls: ['x'] }] }] }), /add up to 2/],
  ];
  for (const [text, words] of bad)
    assert.throws(() => parseManifest(text, 'https://h.example/m.json'), code('format', words));
});

test('a copy whose description cannot be read counts as none, is listed, and goes with the others', async () => {
  const store = await nodeFiles.folderStore(folder);
  const id = `${'a'.repeat(32)}-1`;
  const cache = modelCacheOver(
    async () => store,
    async () => true,
  );
  for (const text of ['', '{', 'null', '{"url": 1}']) {
    await store.write(`${id}.json`, text);
    await store.write(`${id}.bin`, 'bytes');
    await store.write(`${id}.done`, '');
    const { entry, complete } = await lookAt(store, id);
    assert.deepEqual([entry, complete], [null, false]);
    const [listed] = await cache.list();
    assert.deepEqual([listed.key, listed.bytes, listed.complete], [id, 5, false]);
    await cache.delete(id);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('a manifest of the web may name neither files of this disk nor hosts that only this machine reaches', () => {
  const named = (base, url) =>
    parseManifest(manifest({ name: 'm', bytes: 1, sha256: 'a'.repeat(64), sources: [url] }), base);
  const web = 'https://site.example/m.json';
  for (const url of ['file:///etc/passwd', 'data:,x', 'ftp://h.example/x'])
    assert.throws(() => named(web, url), code('format', /http\(s\) only/));
  const numbers = ['127.1', '10.0.0.1', '172.20.1.1', '192.168.0.9', '169.254.169.254', '100.64.0.1', '0x7f000001'];
  const others = [
    'localhost',
    'a.localhost',
    '[::1]',
    '[fd00::1]',
    '[fe80::1]',
    '[::ffff:10.0.0.1]',
    'printer',
    'nas.local',
  ];
  for (const host of [...numbers, ...others])
    assert.throws(() => named(web, `http://${host}/x`), code('format', /private network/), host);
  for (const url of ['x', 'https://other.example/x', 'http://172.32.0.1/x', '//site.example/y'])
    assert.ok(named(web, url), url);
  assert.ok(named('http://localhost:8000/m.json', 'http://127.0.0.1:9/x'));
  assert.ok(named('file:///a/m.json', 'file:///b/x'));
});

test('sums of chunks that do not fit the file are a format error', () => {
  const sum = 'b'.repeat(64);
  const chunked = (chunks) => {
    const file = { name: 'm', bytes: 200_000, sha256: sum, sources: ['x'], chunks };
    return parseManifest(manifest(file).replace('"version":1', '"version":2'), 'https://h.example/').m.chunks;
  };
  assert.throws(() => chunked(null), code('format', /chunks.bytes is undefined/));
  assert.throws(() => chunked({ bytes: 5, sha256: [] }), code('format', /chunks.bytes is 5/));
  const bytes = 1 << 17;
  assert.throws(
    () => chunked({ bytes, sha256: [sum] }),
    code('format', /1 sums, 200000 bytes in chunks of 131072 have 2/),
  );
  assert.throws(() => chunked({ bytes, sha256: [sum, 'x'] }), code('format', /has "x"/));
  assert.equal(chunked({ bytes, sha256: [sum, sum] }).sha256, sum + sum);
});

test('a source of the right size with wrong bytes is followed by the next one', { timeout: 60_000 }, async () => {
  const { Engine } = await import('../../dist/node.js');
  const tiny = readFileSync(new URL('../../models/austen-tiny-q8_0.gguf', import.meta.url));
  const wrong = Buffer.from(tiny);
  wrong[3_000_000] ^= 1;
  stub.serve('/wrong', wrong);
  stub.serve('/right', tiny);
  const file = { name: 'm.gguf', bytes: tiny.length, sha256: hashOf(tiny), sources: ['wrong', 'right'] };
  const url = stub.serve('/m.json', manifest(file));
  const engine = await Engine.load(url, { threads: 1, cache: folder });
  assert.match(engine.info.notes.join(), /SHA-256.*fetched again/);
  await engine.close();
  const kept = readdirSync(folder).filter((name) => name.endsWith('.bin'));
  assert.ok(kept.some((name) => readFileSync(path.join(folder, name)).equals(tiny)));
});
