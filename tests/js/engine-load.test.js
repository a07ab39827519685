// Loading through the built package in Node: every kind of source, what is told of it, and what is refused.
import assert from 'node:assert/strict';
import { readFileSync, mkdtempSync, rmSync, writeFileSync, cpSync, readdirSync, symlinkSync } from 'node:fs';
import { createHash } from 'node:crypto';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { checkpoint, Engine, greedy, TINY, TINY_BYTES, withCode } from './support/package.js';
import { startStub } from './support/stub-server.js';

const bytes = readFileSync(TINY);
const OPTIONS = { threads: 1, cache: /** @type {const} */ (false) };

/** @type {Awaited<ReturnType<typeof startStub>>} */
let stub;
let expected = [];
const folder = mkdtempSync(path.join(os.tmpdir(), 'qw-load-'));
before(async () => {
  stub = await startStub();
  const engine = await Engine.load(TINY, OPTIONS);
  expected = await greedy(engine);
  await engine.close();
});
after(async () => {
  await stub.close();
  rmSync(folder, { recursive: true });
});

/** Loads, generates, closes. */
async function idsOf(source, options = {}) {
  const engine = await Engine.load(source, { ...OPTIONS, ...options });
  try {
    return await greedy(engine);
  } finally {
    await engine.close();
  }
}

const named = (name, content = bytes) => Object.assign(new Blob([content]), { name });
const fileOf = (content, name = 'tiny.gguf') => ({
  name,
  size: content.length,
  read: async (offset, length) => new Uint8Array(content.subarray(offset, offset + length)),
});

test('a path, a file: URL, an http URL, a Blob, a ModelFile and an array give the same model', async () => {
  assert.equal(expected.length, 8);
  assert.deepEqual(await idsOf(path.relative(process.cwd(), TINY)), expected);
  assert.deepEqual(await idsOf(pathToFileURL(TINY)), expected);
  assert.deepEqual(await idsOf(stub.serve('/tiny.gguf', bytes)), expected);
  assert.deepEqual(await idsOf(new Blob([bytes])), expected);
  assert.deepEqual(await idsOf(fileOf(bytes)), expected);
  assert.deepEqual(await idsOf([named('tiny.gguf')]), expected);
});

test('a path with blanks, signs and letters beyond ASCII is read', async () => {
  const odd = path.join(folder, 'a b é%20#?.gguf');
  writeFileSync(odd, bytes);
  assert.deepEqual(await idsOf(odd), expected);
});

test('the package runs from a folder with such a name', async () => {
  const home = path.join(folder, 'a b é%20#');
  cpSync(fileURLToPath(new URL('../../dist/', import.meta.url)), home, { recursive: true });
  const { Engine: Moved } = await import(pathToFileURL(path.join(home, 'node.js')).href);
  const engine = await Moved.load(TINY, OPTIONS);
  assert.deepEqual(await greedy(engine), expected);
  await engine.close();
});

test('a server without ranges, one that compresses, and one that loses connections give the same model', async () => {
  for (const switches of /** @type {import('./support/stub-server.js').Switches[]} */ ([
    { noRanges: true },
    { encoding: 'gzip' },
    { noLength: true, noRanges: true },
    { cuts: [2_000_000, 900_000] },
  ])) {
    const progress = [];
    const url = stub.serve('/faulty.gguf', bytes, switches);
    assert.deepEqual(await idsOf(url, { onProgress: (one) => progress.push(one) }), expected);
    assert.ok(
      progress.every(({ loaded, total }) => total === null || loaded <= total),
      JSON.stringify(switches),
    );
  }
});

test('a checkpoint folder loads by path, by URL and as dropped files', async () => {
  const place = checkpoint('mha');
  const names = readdirSync(place).filter((name) => /\.(json|safetensors)$/.test(name));
  for (const name of names) stub.serve(`/mha/${name}`, readFileSync(path.join(place, name)));
  const sources = [place, `${stub.url}mha/`, names.map((name) => named(name, readFileSync(path.join(place, name))))];
  const forward = { input_ids: [[1, 2, 3, 4]], logits_to_keep: 1 };
  const rows = [];
  for (const source of sources) {
    const engine = await Engine.load(source, { ...OPTIONS, quantize: 'none' });
    rows.push((await engine.forward(forward)).logits);
    await engine.close();
  }
  assert.deepEqual(rows[1], rows[0]);
  assert.deepEqual(rows[2], rows[0]);
});

test('an optional file of a checkpoint that a server answers with HTML counts as absent, with a note', async () => {
  const place = checkpoint('mha');
  for (const name of readdirSync(place)) stub.serve(`/spa/${name}`, readFileSync(path.join(place, name)));
  for (const name of ['chat_template.jinja', 'generation_config.json']) stub.serve(`/spa/${name}`, '<!doctype html>');
  const engine = await Engine.load(`${stub.url}spa/`, OPTIONS);
  assert.match(engine.info.notes.join('\n'), /chat_template\.jinja: got HTML/);
  assert.match(engine.info.notes.join('\n'), /generation_config\.json: got HTML/);
  assert.doesNotMatch(engine.info.chatTemplate, /doctype/);
  await engine.close();
});

test('a manifest stands for what it lists, by path and by URL', async () => {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  stub.serve('/m/tiny.gguf.0', bytes.subarray(0, 3_000_000));
  stub.serve('/m/tiny.gguf.1', bytes.subarray(3_000_000));
  const parts = [
    { bytes: 3_000_000, urls: ['tiny.gguf.0'] },
    { bytes: TINY_BYTES - 3_000_000, urls: ['tiny.gguf.1'] },
  ];
  const file = { name: 'tiny.gguf', bytes: TINY_BYTES, sha256, sources: [{ parts }] };
  const text = JSON.stringify({ format: 'qwen2-wasm-manifest', version: 1, files: [file] });
  assert.deepEqual(await idsOf(stub.serve('/m/manifest.json', text)), expected);
  symlinkSync(TINY, path.join(folder, 'tiny.gguf'));
  const local = JSON.stringify({
    format: 'qwen2-wasm-manifest',
    version: 1,
    files: [{ ...file, sources: ['tiny.gguf'] }],
  });
  writeFileSync(path.join(folder, 'manifest.json'), local);
  assert.deepEqual(await idsOf(path.join(folder, 'manifest.json')), expected);
});

test('the second load of a URL comes from the folder that cache names', async () => {
  const url = stub.serve('/cached.gguf', bytes);
  const cache = path.join(folder, 'cache');
  const phases = async () => {
    const seen = new Set();
    const ids = await idsOf(url, { cache, onProgress: ({ phase }) => seen.add(phase) });
    assert.deepEqual(ids, expected);
    return [...seen];
  };
  assert.deepEqual(await phases(), ['download']);
  assert.deepEqual(await phases(), ['cache']);
  const plan = await Engine.plan(url, { cache });
  assert.equal(plan.cachedBytes, TINY_BYTES);
  assert.equal(plan.downloadBytes, 0);
});

test('kept models of every kind load with the server gone', async () => {
  const place = checkpoint('mha');
  const other = await startStub();
  const cache = path.join(folder, 'offline');
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const file = { name: 'tiny.gguf', bytes: TINY_BYTES, sha256, sources: ['tiny.gguf'] };
  const manifest = JSON.stringify({ format: 'qwen2-wasm-manifest', version: 1, files: [file] });
  for (const name of readdirSync(place).filter((one) => /^[^.]*\.json$|safetensors$/.test(one)))
    other.serve(`/mha/${name}`, readFileSync(path.join(place, name)));
  const sources = [other.serve('/tiny.gguf', bytes), other.serve('/manifest.json', manifest), `${other.url}mha/`];
  const logits = async (source) => {
    const engine = await Engine.load(source, { ...OPTIONS, cache });
    const output = await engine.forward({ input_ids: [[1, 2, 3]], logits_to_keep: 1 });
    await engine.close();
    return { logits: output.logits, notes: engine.info.notes, template: engine.info.chatTemplate };
  };
  const online = [];
  for (const source of sources) online.push(await logits(source));
  await other.close();
  for (const [i, source] of sources.entries()) {
    const offline = await logits(source);
    assert.deepEqual([offline.logits, offline.template], [online[i].logits, online[i].template], source);
    assert.match(offline.notes.join(), /copy on this device is used/);
    assert.equal(
      (await Engine.plan(source, { ...OPTIONS, cache })).downloadBytes,
      0,
      'nor is there anything to download',
    );
  }
});

test('where one shard changed at its URL, it alone is fetched anew', async () => {
  const place = checkpoint('sharded');
  const names = readdirSync(place).filter((one) => /^[^.]*\.json$|safetensors/.test(one));
  const serve = (name, content, etag) => stub.serve(`/shards/${name}`, content, { etag });
  for (const name of names) serve(name, readFileSync(path.join(place, name)), '"1"');
  const cache = path.join(folder, 'shards');
  const logits = async (more) => {
    const engine = await Engine.load(`${stub.url}shards/`, { ...OPTIONS, ...more });
    const output = await engine.forward({ input_ids: [[1, 2, 3]], logits_to_keep: 1 });
    await engine.close();
    return output.logits;
  };
  const before = await logits({ cache });
  const second = names.filter((name) => name.endsWith('.safetensors'))[1];
  const changed = readFileSync(path.join(place, second));
  changed.copyWithin(changed.length - 64, changed.length - 512, changed.length - 448);
  serve(second, changed, '"2"');
  stub.asked.length = 0;
  const after = await logits({ cache });
  const read = stub.asked.filter((one) => one.range !== 'bytes=0-0' && /safetensors$/.test(one.path));
  assert.deepEqual([...new Set(read.map((one) => path.basename(one.path)))], [second]);
  assert.notDeepEqual(after, before);
  assert.deepEqual(after, await logits({ cache: false }));
});

test('a header that is larger than the memory which reads it at first gives the same model', async () => {
  const note = Buffer.alloc((24 << 20) - 28, 'x'); // with its key and lengths a multiple of the alignment
  const entry = Buffer.alloc(28);
  entry.writeBigUInt64LE(8n, 0);
  entry.write('x.a_note', 8);
  entry.writeUInt32LE(8, 16);
  entry.writeBigUInt64LE(BigInt(note.length), 20);
  const start = Buffer.from(bytes.subarray(0, 24));
  start.writeBigUInt64LE(start.readBigUInt64LE(16) + 1n, 16);
  const large = Buffer.concat([start, entry, note, bytes.subarray(24)]);
  assert.deepEqual(await idsOf(new Blob([large])), expected);
  assert.deepEqual(await idsOf(new Blob([large]), { threads: 2 }), expected);
});

test('a wrong hash is an integrity error; a malformed one is a usage error', async () => {
  await assert.rejects(
    Engine.load(TINY, { ...OPTIONS, sha256: 'a'.repeat(64) }),
    withCode('integrity', /expected aaaa/),
  );
  await assert.rejects(Engine.load(TINY, { ...OPTIONS, sha256: 'abc' }), withCode('usage', /64 hexadecimal/));
  const sha256 = createHash('sha256').update(bytes).digest('hex').toUpperCase();
  assert.deepEqual(await idsOf(TINY, { sha256 }), expected);
});

test('progress only grows, its total is known before the first weight byte, and it ends there', async () => {
  const progress = [];
  await idsOf(fileOf(bytes), { onProgress: (one) => progress.push(one) });
  const loaded = progress.map((one) => one.loaded);
  assert.deepEqual(
    loaded,
    [...loaded].sort((a, b) => a - b),
  );
  const { phase, loaded: end, total } = progress.at(-1);
  assert.deepEqual([phase, end, total], ['download', TINY_BYTES, TINY_BYTES]);
  assert.ok(progress.every((one) => one.total === TINY_BYTES));
});

test('plan() reads only headers, and its peak is the memory that load() makes', async () => {
  let read = 0;
  const file = fileOf(bytes);
  const counting = { ...file, read: (offset, length) => ((read += length), file.read(offset, length)) };
  for (const options of [{ threads: 1 }, { threads: 2, contextLength: 300 }, { kvType: 'q8_0', maxRows: 2 }]) {
    read = 0;
    const plan = await Engine.plan(counting, options);
    assert.ok(read <= 2 << 20, `${read} bytes read`);
    assert.equal(plan.downloadBytes, TINY_BYTES);
    assert.equal(plan.fits, true);
    assert.deepEqual(plan.advice, []);
    assert.ok(plan.weightBytes >= 5_000_000 && plan.weightBytes <= 1.2 * TINY_BYTES);
    const engine = await Engine.load(TINY, options);
    await greedy(engine, 'Emma', 4);
    assert.equal(engine.info.memoryBytes, plan.peakBytes, JSON.stringify(options));
    assert.ok(plan.peakBytes <= plan.weightBytes + plan.kvBytes + (16 << 20));
    await engine.close();
  }
});

test('info tells the model and the build', async () => {
  const engine = await Engine.load(TINY, { threads: 2, contextLength: 200, simd: 'base' });
  const { info } = engine;
  assert.equal(info.architecture, 'qwen2');
  assert.equal(info.layers, 6);
  assert.equal(info.hiddenSize, 256);
  assert.equal(info.vocabSize, 4096);
  assert.equal(info.contextLength, 200);
  assert.equal(info.trainedContextLength, 1024);
  assert.equal(info.threads, 2);
  assert.equal(info.simd, 'base');
  assert.ok(info.wasmBytes > 100_000);
  assert.equal('specialTokens' in info, false);
  await engine.close();
});

test('a context is never reserved beyond what was asked for, or the training, and may be one token', async () => {
  const plan = await Engine.plan(TINY, OPTIONS);
  const full = await Engine.plan(TINY, { ...OPTIONS, contextLength: 1024 });
  assert.equal(plan.kvBytes, full.kvBytes);
  const engine = await Engine.load(TINY, { ...OPTIONS, contextLength: 1 });
  assert.equal(engine.info.contextLength, 1);
  await assert.rejects(engine.generate([34], { eos_token_id: [] }).result, withCode('context', /none is left/));
  const { shape } = await engine.forward({ input_ids: [[34]] });
  assert.deepEqual(shape.slice(0, 2), [1, 1]);
  await assert.rejects(engine.generate([34, 35]).result, withCode('context', /2.*1/));
  await engine.close();
});

test('a context beyond what the model was trained on is used, with a note', async () => {
  const engine = await Engine.load(TINY, { ...OPTIONS, contextLength: 2000 });
  assert.match(engine.info.notes.join(), /2000.*1024/);
  await engine.close();
});

const cut = (n) => new Blob([bytes.subarray(0, n)]);
const patched = (at, data) => {
  const copy = Buffer.from(bytes);
  copy.set(data, at);
  return new Blob([copy]);
};
const architecture = bytes.indexOf('qwen2');

test('text is split as Qwen2 does whatever a file says of its splitter, with a note that it says something else', async () => {
  const key = bytes.indexOf('tokenizer.ggml.pre');
  const value = bytes.indexOf('qwen2', key);
  const text = "DON'T don’t (x):\n  a->b 1234 ５６½ 你好，世界！\r\n\r\n\t\tx";
  const tokens = async (source) => {
    const engine = await Engine.load(source, OPTIONS);
    const ids = await engine.tokenize(text);
    await engine.close();
    return { ids, notes: engine.info.notes.join() };
  };
  const right = await tokens(TINY);
  assert.equal(right.notes, '');
  for (const [at, other, note] of /** @type {[number, string, RegExp][]} */ ([
    [value, 'gpt-2', /"gpt-2", not qwen2/],
    [key, 'tokenizer.ggml.prx', /no tokenizer\.ggml\.pre/],
  ])) {
    const { ids, notes } = await tokens(patched(at, Buffer.from(other)));
    assert.deepEqual(ids, right.ids);
    assert.match(notes, note);
  }
});

test('files that are no model, or not whole, or of another model, are refused by name', async () => {
  /** @type {[Blob, string, RegExp][]} */
  const cases = [
    [new Blob(['GGGG, this is not a model at all, and long enough to be read']), 'format', /./],
    [new Blob([]), 'format', /./],
    [cut(3), 'format', /./],
    [cut(1000), 'format', /./],
    [cut(Math.floor(TINY_BYTES / 2)), 'format', /./],
    [cut(TINY_BYTES - 1), 'format', /./],
    [patched(architecture, Buffer.from('llama')), 'model', /llama/],
    [new Blob(['version https://git-lfs.github.com/spec/v1\noid sha256:00\n']), 'format', /Git LFS pointer/],
    [new Blob(['<!DOCTYPE html><html></html>']), 'format', /got HTML/],
  ];
  for (const [source, code, text] of cases) await assert.rejects(Engine.load(source, OPTIONS), withCode(code, text));
});

test('what cannot be reached is an error that names it', async () => {
  await assert.rejects(
    Engine.load(path.join(folder, 'none.gguf'), OPTIONS),
    withCode('storage', /none\.gguf: no such file/),
  );
  await assert.rejects(Engine.load(folder, OPTIONS), withCode('storage', /is a folder/));
  await assert.rejects(Engine.load(`${stub.url}none.gguf`, OPTIONS), withCode('network', /none\.gguf: status 404/));
  stub.serve('/page.gguf', '<!DOCTYPE html>');
  await assert.rejects(Engine.load(`${stub.url}page.gguf`, OPTIONS), withCode('network', /got HTML/));
  const failing = { ...fileOf(bytes), read: () => Promise.reject(new Error('no such disk')) };
  await assert.rejects(Engine.load(failing, OPTIONS), withCode('network', /no such disk/));
  const short = { ...fileOf(bytes), read: async () => new Uint8Array(1) };
  await assert.rejects(Engine.load(short, OPTIONS), withCode('usage', /gave 1 bytes/));
  await assert.rejects(Engine.load('http://127.0.0.1:9/x.gguf', { ...OPTIONS }), withCode('network'));
});

test('options that mean nothing are usage errors that name them', async () => {
  /** @type {[object, RegExp][]} */
  const bad = [
    [{ contextLenght: 1 }, /contextLenght/],
    [{ threads: 0 }, /threads/],
    [{ threads: NaN }, /threads/],
    [{ threads: 65 }, /threads/],
    [{ simd: 'fast' }, /simd/],
    [{ kvType: 'f64' }, /kvType/],
    [{ quantize: 'q9' }, /quantize/],
    [{ quantize: 'f32' }, /quantize/],
    [{ contextLength: 0 }, /contextLength/],
    [{ contextLength: 1.5 }, /contextLength/],
    [{ maxRows: -1 }, /maxRows/],
    [{ wasmUrl: 'other.wasm' }, /wasmUrl/],
  ];
  for (const [options, text] of bad) {
    await assert.rejects(
      Engine.load(TINY, { ...OPTIONS, ...options }),
      withCode('usage', text),
      JSON.stringify(options),
    );
    await assert.rejects(Engine.plan(TINY, { ...OPTIONS, ...options }), withCode('usage', text));
  }
});

test('wasmUrl takes a folder, or one file that forces its build; a wrong one is told', async () => {
  const dist = fileURLToPath(new URL('../../dist/', import.meta.url));
  assert.deepEqual(await idsOf(TINY, { wasmUrl: dist }), expected);
  const engine = await Engine.load(TINY, { wasmUrl: path.join(dist, 'qwen2.wasm'), threads: 4 });
  assert.equal(engine.info.threads, 1);
  assert.deepEqual(await greedy(engine), expected);
  await engine.close();
  await assert.rejects(idsOf(TINY, { wasmUrl: `${folder}/`, simd: 'base' }), withCode('environment', /qwen2\.wasm/));
  writeFileSync(path.join(folder, 'qwen2.wasm'), '<!DOCTYPE html>');
  await assert.rejects(
    idsOf(TINY, { wasmUrl: `${folder}/`, simd: 'base' }),
    withCode('environment', /not a wasm file/),
  );
});

test('a wasm file that is not whole, or of another version, is told; one that a cache kept is asked for anew', async () => {
  const whole = readFileSync(new URL('../../dist/qwen2.wasm', import.meta.url));
  const other = Buffer.concat([whole, Buffer.from([0, 2, 1, 0x78])]); // with a section of a name, as valid as before
  assert.ok(WebAssembly.validate(other));
  const load = async () => idsOf(TINY, { wasmUrl: `${stub.url}w/`, simd: 'base' });
  for (const bad of [whole.subarray(0, 5000), other]) {
    stub.serve('/w/qwen2.wasm', bad);
    stub.asked.length = 0;
    await assert.rejects(load(), withCode('environment', /w\/qwen2\.wasm: not the file that belongs to this worker/));
    assert.deepEqual(
      stub.asked.map((one) => one.headers['cache-control'] ?? ''),
      ['', 'no-cache'],
    );
  }
  stub.serve('/w/qwen2.wasm', whole);
  stub.asked.length = 0;
  assert.deepEqual(await load(), expected);
  assert.deepEqual(
    stub.asked.map((one) => [one.path, one.headers['cache-control'] ?? '']),
    [['/w/qwen2.wasm', '']],
  );
});

test('any number of threads gives the same ids, more than there are cores too', async () => {
  for (const threads of [2, 3, 16]) assert.deepEqual(await idsOf(TINY, { threads }), expected);
});

test('a context that no memory holds is a memory error with the numbers and what would help', async () => {
  const plan = await Engine.plan(TINY, { contextLength: 4_000_000 });
  assert.equal(plan.fits, false);
  assert.match(plan.advice.join(), /contextLength 2000000/);
  const load = Engine.load(TINY, { ...OPTIONS, contextLength: 4_000_000 });
  await assert.rejects(load, withCode('memory', /\d+ MiB are needed.*contextLength 2000000/));
});

test('advice about memory speaks of the type that the cache has, and of smaller ones only', async () => {
  const advice = async (kvType) => (await Engine.plan(TINY, { contextLength: 8_000_000, kvType })).advice;
  const [f32, f16, q8] = [await advice('f32'), await advice('f16'), await advice('q8_0')];
  const types = (lines) =>
    lines.flatMap((line) => line.match(/kvType '\w+' takes \d+ MiB instead of the \d+ MiB of '\w+'/g) ?? []);
  const names = (lines) => types(lines).map((line) => line.match(/'\w+'/g)?.join(' for '));
  assert.deepEqual(names(f32), ["'f16' for 'f32'", "'q8_0' for 'f32'"]);
  assert.deepEqual(names(f16), ["'q8_0' for 'f16'"]);
  assert.deepEqual(names(q8), []);
  const [takes, of] = (types(f32)[1].match(/\d+(?= MiB)/g) ?? []).map(Number);
  assert.ok(Math.abs(takes / of - 5 / 16) < 0.001, `${takes} of ${of} MiB`);
});

/** Loads with a worker that meets a refused memory. */
async function loadPoor(refuse, options) {
  process.env.QW_REFUSE = refuse;
  try {
    return await Engine.load(TINY, { workerUrl: new URL('./support/poor-worker.mjs', import.meta.url), ...options });
  } finally {
    delete process.env.QW_REFUSE;
  }
}

test('where shared memory is refused one thread does it, with a note', async () => {
  const engine = await loadPoor('shared', { threads: 2 });
  assert.equal(engine.info.threads, 1);
  assert.match(engine.info.notes.join(), /refused.*1 thread/);
  assert.deepEqual(await greedy(engine), expected);
  await engine.close();
});

test('where a large memory is refused a smaller context does it, unless one was asked for', async () => {
  const small = await Engine.plan(TINY, { ...OPTIONS, contextLength: 512 });
  const pages = String(small.peakBytes / 65536);
  const engine = await loadPoor(pages, { threads: 1 });
  assert.equal(engine.info.contextLength, 512);
  assert.match(engine.info.notes.join(), /a context of 512 tokens/);
  assert.deepEqual(await greedy(engine), expected);
  await engine.close();
  const pair = await Engine.plan(TINY, { ...OPTIONS, threads: 2, contextLength: 512 });
  const shared = await loadPoor(`shared>${pair.peakBytes / 65536}`, { threads: 2 });
  assert.deepEqual([shared.info.contextLength, shared.info.threads], [512, 2]);
  assert.deepEqual(await greedy(shared), expected);
  await shared.close();
  await assert.rejects(loadPoor(pages, { threads: 1, contextLength: 1024 }), withCode('memory', /refused/));
  await assert.rejects(loadPoor('all', { threads: 2 }), withCode('memory', /MiB/));
});

test('a load that is aborted before, at once, or in the middle rejects with the reason, and the next one works', async () => {
  const gone = AbortSignal.abort('no more');
  await assert.rejects(
    Engine.load(TINY, { signal: gone }),
    (/** @type {any} */ error) => error.code === 'aborted' && error.cause === 'no more',
  );
  for (const ms of [0, 5, 50, 150]) {
    const url = stub.serve('/slow.gguf', bytes, { dripMs: 1 });
    const signal = AbortSignal.timeout(ms);
    await assert.rejects(Engine.load(url, { ...OPTIONS, signal }), withCode('aborted'));
  }
  await assert.rejects(Engine.plan(stub.url + 'slow.gguf', { signal: AbortSignal.timeout(1) }), withCode('aborted'));
  assert.deepEqual(await idsOf(TINY), expected);
});

test('a worker script that is not there, or dies while loading, is an error that says so', async () => {
  const none = pathToFileURL(path.join(folder, 'none.mjs'));
  await assert.rejects(Engine.load(TINY, { workerUrl: none }), withCode('environment', /worker/));
  const url = stub.serve('/dies.gguf', bytes, { dripMs: 5 });
  const dying = new URL('./support/dying-worker.mjs', import.meta.url);
  await assert.rejects(Engine.load(url, { ...OPTIONS, workerUrl: dying }), withCode('internal', /died by itself/));
});
