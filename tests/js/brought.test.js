// What people bring from elsewhere: ids and names of other libraries, objects that are not what they seem.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { openAsBlob } from 'node:fs';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Engine, TINY, withCode } from './support/package.js';

const PROMPT = 'It is a truth';
let engine;
before(async () => (engine = await Engine.load(TINY, { threads: 1, contextLength: 256 })));
after(() => engine.close());

test('ids as BigInts, as tensors of other libraries have them, are ids', async () => {
  const ids = await engine.tokenize(PROMPT);
  const big = BigInt64Array.from(ids, BigInt);
  assert.equal(await engine.detokenize(big), PROMPT);
  const settings = { max_new_tokens: 4 };
  const [plain, bigger] = [await engine.generate(ids, settings).result, await engine.generate(big, settings).result];
  assert.deepEqual(bigger.sequences, plain.sequences);
  const input = (row) => ({ input_ids: [row], logits_to_keep: 1 });
  assert.deepEqual(await engine.forward(input([...big])), await engine.forward(input([...ids])));
  await assert.rejects(
    engine.detokenize([2n ** 40n]),
    withCode('usage', /1099511627776 at position 0 is not a token id/),
  );
});

test("load options under other programs' names are told the near one", async () => {
  for (const [given, meant] of [
    ['n_ctx', 'contextLength'],
    ['numThreads', 'threads'],
    ['progress_callback', 'onProgress'],
    ['contextlength', 'contextLength'],
  ])
    await assert.rejects(
      Engine.load(TINY, { [given]: 1 }),
      withCode('usage', new RegExp(`${given} is no load option: did you mean ${meant}\\?`)),
    );
  await assert.rejects(
    Engine.load(TINY, { zzz: 1 }),
    withCode('usage', /zzz is no load option: there are contextLength/),
  );
});

test('a cache folder that cannot be made is no end of the load, and no endless one', async () => {
  const script = `
    import { Engine, modelCache, capabilities } from ${JSON.stringify(new URL('../../dist/node.js', import.meta.url).href)};
    await (await Engine.load(${JSON.stringify(TINY)}, { threads: 1 })).close();
    console.log((await modelCache.list()).length, (await capabilities()).notes.some((note) => /cannot keep models/.test(note)));`;
  for (const place of ['/proc', '/dev/null', '/proc/self/nowhere']) {
    const env = { ...process.env, HOME: place, XDG_CACHE_HOME: '' };
    const options = /** @type {const} */ ({ env, encoding: 'utf8', timeout: 20_000 });
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], options);
    assert.deepEqual([stdout, status], ['0 true\n', 0], `${place}: ${stderr}`);
  }
});

/** As Vue's reactive(): every plain object that is read out of it is a proxy again; structuredClone refuses such. */
const reactive = (value) =>
  new Proxy(value, {
    get(target, key, self) {
      const found = Reflect.get(target, key, self);
      return [Object, Array].includes(found?.constructor) ? reactive(found) : found;
    },
  });

test('messages and tools as reactive proxies, getters and objects with toJSON() are what they show', async () => {
  const messages = [
    { role: 'user', content: [{ type: 'text', text: 'What day?' }] },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ function: { name: 'day', arguments: { after: '2026-11-30' } } }],
    },
  ];
  const template =
    '{% for m in messages %}{{ m.role }}:{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %};{% endfor %}{{ tools | tojson }}';
  const tools = [{ type: 'function', function: { name: 'day', parameters: { since: '1970-01-01T00:00:00.000Z' } } }];
  const plain = await engine.applyChatTemplate(messages, { tools, template });
  assert.match(plain, /What day\?.*2026-11-30.*1970/);

  const live = {
    get role() {
      return 'user';
    },
    get content() {
      return messages[0].content;
    },
  };
  const dated = [{ type: 'function', function: { name: 'day', parameters: { since: new Date(0), never: undefined } } }];
  const odd = [reactive(live), reactive(messages[1])];
  assert.equal(await engine.applyChatTemplate(reactive(odd), { tools: reactive(dated), template }), plain);
  const settings = { template, max_new_tokens: 2, seed: 1 };
  const [a, b] = [
    await engine.chat(messages, { ...settings, tools }).result,
    await engine.chat(reactive(odd), { ...settings, tools: reactive(dated) }).result,
  ];
  assert.deepEqual(b.sequences, a.sequences);
  const [first] = messages;
  assert.equal(await engine.countTokens(reactive([first])), await engine.countTokens([first]));
});

test('messages that are no JSON are a usage error', async () => {
  const round = { role: 'user', content: 'x', self: null };
  round.self = /** @type {any} */ (round);
  await assert.rejects(engine.applyChatTemplate([round]), withCode('usage', /messages cannot be written as JSON/));
  await assert.rejects(
    engine.applyChatTemplate([{ role: 'user', content: 'x' }], { tools: [{ n: 1n }] }),
    withCode('usage', /tools cannot be written as JSON/),
  );
});

/** An object of that class of browsers, as far as its users can tell. */
const ofClass = (name, properties) => Object.assign(Object.create({ [Symbol.toStringTag]: name }), properties);

test('a Blob of fs.openAsBlob() is a source, alone, as a File and in a FileList', async () => {
  const blob = await openAsBlob(TINY);
  const file = new File([blob], 'tiny.gguf');
  for (const source of [blob, file, [file], ofClass('FileList', { 0: file, length: 1 })]) {
    const other = await Engine.load(source, { threads: 1, contextLength: 64 });
    assert.equal(other.info.parameters, engine.info.parameters);
    await other.close();
  }
});

test('handles of files and folders are sources', async () => {
  const handle = (name, place) =>
    ofClass('FileSystemFileHandle', {
      kind: 'file',
      name,
      getFile: async () => new File([await openAsBlob(place)], name),
    });
  const folder = (...files) =>
    ofClass('FileSystemDirectoryHandle', {
      kind: 'directory',
      async *values() {
        yield* [ofClass('FileSystemDirectoryHandle', { kind: 'directory', name: 'x' }), ...files];
      },
    });
  const tiny = handle('tiny.gguf', TINY);
  for (const source of [tiny, [tiny], folder(tiny, handle('README.md', fileURLToPath(import.meta.url)))]) {
    const { weightBytes } = await Engine.plan(source);
    assert.ok(weightBytes > 5e6);
  }
  await assert.rejects(Engine.load(folder()), withCode('usage', /names no file/));
  const gone = (name) =>
    ofClass('FileSystemFileHandle', { name: 'a.gguf', getFile: () => Promise.reject(ofClass('x', { name })) });
  await assert.rejects(Engine.load(gone('NotFoundError')), withCode('storage', /a\.gguf.*pick the file again/));
  await assert.rejects(Engine.load(gone('NotAllowedError')), withCode('storage', /a\.gguf.*requestPermission/));
});
