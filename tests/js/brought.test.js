// What people bring from elsewhere: ids and names of other libraries, objects that are not what they seem.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, before, test } from 'node:test';
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
