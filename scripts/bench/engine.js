// Figures of engines through the public API alone, so that the same file measures in Node and in a page. Rates are tokens per
// second, times milliseconds. The best of several rounds counts, since other work on the machine only ever adds time; engines
// that are compared take turns.

const WORDS = ['alpha', 'beta', 'gamma', 'delta', 'river', 'stone', 'cloud', 'light'];
const WARM_UP = { tokens: 24, generate: 8 };

let seed = 1000;

/** A text of n tokens that begins like no other one, so that nothing comes from the cache: a number of four digits, words. */
function text(n) {
  seed++;
  return `${seed} ${Array.from({ length: n - 4 }, (_, i) => WORDS[(i * 7 + seed * 3 + (i >> 3)) % 8]).join(' ')}`;
}

/** One generation of exactly n tokens a row: tokens per second of prompt and of decoding, and the first chunk's time. */
async function run(engine, prompt, n, settings = {}) {
  const start = performance.now();
  let first = 0;
  const generation = engine.generate(prompt, { max_new_tokens: n, min_new_tokens: n, ...settings });
  for await (const chunk of generation) if (chunk.token_ids.length) first ||= performance.now() - start;
  const { usage, timings } = await generation.result;
  const rows = Array.isArray(prompt) ? prompt.length : 1;
  return {
    first,
    prefill: (1000 * (usage.prompt_tokens - usage.cached_tokens)) / timings.prefill,
    decode: (1000 * (usage.completion_tokens - rows)) / timings.decode,
  };
}

/** Keeps the best under a name; a time is better when it is less. */
function keep(figures, name, value, isTime = false) {
  figures[name] = isTime ? Math.min(figures[name] ?? Infinity, value) : Math.max(figures[name] ?? 0, value);
}

/** What is compared with decoding one row greedily: sampling, the first token, a batch, and a context of 4,000 tokens. */
async function measureMore(engine, figures, rounds) {
  const sampling = { do_sample: true, top_k: 50, top_p: 0.9, seed: 1 };
  // Sampling differs by a tenth of a millisecond, and both sides of a ratio take as many turns.
  const many = 6 * rounds;
  for (let round = 0; round < many; round++) {
    keep(figures, 'greedy', (await run(engine, text(16), 32)).decode);
    keep(figures, 'sampled', (await run(engine, text(16), 32, sampling)).decode);
  }
  for (let round = 0; round < 2 * rounds; round++) {
    const rows = Array.from({ length: 8 }, () => text(16));
    keep(figures, 'firstToken', (await run(engine, text(20), 2)).first, true);
    keep(figures, 'batch8', (await run(engine, rows, 16)).decode);
  }
  const long = text(4000); // read once: later rounds find it in the cache
  for (let round = 0; round < many; round++) keep(figures, 'decodeAt4000', (await run(engine, long, 32)).decode);
}

/**
 * Loads one engine for each of the runs; those of a group take turns.
 * @param {typeof import('../../js/index.js').Engine} Engine
 * @param {string} source
 * @param {Record<string, { threads: number, simd: 'auto' | 'base', threaded?: boolean, more?: boolean }>[]} groups
 *   by name. threaded: the build with threads, whatever their number; more: all figures, not those of the turns alone.
 * @param {{ dist: string, rounds: number }} options dist: folder of the wasm files
 */
export async function measure(Engine, source, groups, { dist, rounds }) {
  const all = {};
  for (const group of groups) {
    const engines = [];
    for (const [name, { threads, simd, threaded, more }] of Object.entries(group)) {
      const relaxed = Object.values(all).some((figures) => figures.simd === 'relaxed') ? '-relaxed' : '';
      const wasmUrl = threaded ? `${dist}qwen2-threads${relaxed}.wasm` : undefined;
      const start = performance.now();
      const engine = await Engine.load(source, {
        threads,
        simd,
        wasmUrl,
        contextLength: more ? 4352 : 512,
        cache: false,
      });
      const { info } = engine;
      const figures = { simd: info.simd, threads: info.threads, load: performance.now() - start };
      all[name] = Object.assign(figures, { memoryBytes: info.memoryBytes, wasmBytes: info.wasmBytes });
      engines.push({ engine, figures, more });
      await run(engine, text(WARM_UP.tokens), WARM_UP.generate);
    }
    for (let round = 0; round < rounds; round++) {
      for (const { engine, figures } of engines) {
        keep(figures, 'decode', (await run(engine, text(16), 32)).decode);
        keep(figures, 'prefill', (await run(engine, text(256), 2)).prefill);
      }
    }
    for (const { engine, figures, more } of engines) {
      if (more) await measureMore(engine, figures, rounds);
      await engine.close();
    }
  }
  return all;
}
