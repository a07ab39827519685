// Figures of one engine through the public API alone, so that the same file measures in Node and in a page. Rates are
// tokens per second, times milliseconds; the best of `runs`, since other work on the machine only ever adds time.

const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'river', 'stone', 'cloud', 'light'];

/** A text of about n tokens that begins like no other seed's, so that nothing comes from the cache. */
function text(n, seed) {
  return `${seed} ${Array.from({ length: n - 2 }, (_, i) => WORDS[(i * 7 + seed * 3 + (i >> 3)) % 8]).join(' ')}`;
}

let seed = 1000;

/** One generation of exactly n tokens a row: tokens per second of prompt and of decoding, and the first chunk's time. */
async function run(engine, prompt, n, settings = {}) {
  const start = performance.now();
  let first = 0;
  const generation = engine.generate(prompt, { max_new_tokens: n, min_new_tokens: n, ...settings });
  for await (const chunk of generation) if (chunk.token_ids.length) first ||= performance.now() - start;
  const { usage, timings } = await generation.result;
  const rows = Array.isArray(prompt) && typeof prompt[0] === 'string' ? prompt.length : 1;
  return {
    first,
    prefill: (1000 * (usage.prompt_tokens - usage.cached_tokens)) / timings.prefill,
    decode: (1000 * (usage.completion_tokens - rows)) / timings.decode,
  };
}

/** The best of several runs, figure by figure. */
async function best(runs, once) {
  const all = [];
  for (let i = 0; i < runs; i++) all.push(await once());
  return {
    first: Math.min(...all.map((r) => r.first)),
    prefill: Math.max(...all.map((r) => r.prefill)),
    decode: Math.max(...all.map((r) => r.decode)),
  };
}

/**
 * @param {typeof import('../../js/index.js').Engine} Engine
 * @param {string} source
 * @param {{ threads: number, simd: 'auto' | 'base' | 'relaxed', long?: boolean, runs?: number }} options long: the figures
 *   beside decode and prefill too (a context of 4,000 tokens, batch, sampling).
 */
export async function measure(Engine, source, { threads, simd, long = false, runs = 3 }) {
  const start = performance.now();
  const engine = await Engine.load(source, { threads, simd, contextLength: 4352, cache: false });
  const figures = { simd: engine.info.simd, threads: engine.info.threads, load: performance.now() - start };
  await run(engine, text(24, seed++), 8);
  const short = await best(runs, () => run(engine, text(16, seed++), 32));
  Object.assign(figures, {
    decode: short.decode,
    prefill: (await best(runs, () => run(engine, text(256, seed++), 2))).prefill,
  });
  if (long) {
    figures.firstToken = (await best(runs, () => run(engine, text(20, seed++), 2))).first;
    figures.sampled = (
      await best(runs, () => run(engine, text(16, seed++), 32, { do_sample: true, top_k: 50, top_p: 0.9, seed: 1 }))
    ).decode;
    figures.batch8 = (
      await best(runs, () =>
        run(
          engine,
          Array.from({ length: 8 }, () => text(16, seed++)),
          16,
        ),
      )
    ).decode;
    figures.decodeAt4000 = (await run(engine, text(4000, seed++), 24)).decode;
  }
  figures.memoryBytes = engine.info.memoryBytes;
  figures.wasmBytes = engine.info.wasmBytes;
  await engine.close();
  return figures;
}
