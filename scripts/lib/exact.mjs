// Bits that must not depend on build and host: the same rows and the same hash as tests/c/conformance_exact.c, through the public
// API. No Node module is imported, so that a page can use this file too.

const SHORT_ROW = 20;
const SHORTER_ROW = 11;
export const TINY_ROW = 48;
export const REAL_ROW = 80;

/** What is run of each kind of model: quantize and kvType. */
export const VARIANTS = {
  checkpoint: [
    ['none', 'f32'],
    ['q8_0', 'f16'],
    ['q4_0', 'q8_0'],
  ],
  gguf: [
    ['q8_0', 'f16'],
    ['q8_0', 'f32'],
    ['q8_0', 'q8_0'],
  ],
  real: [['q8_0', 'f16']],
};

export const TINY_TEXT =
  'It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in ' +
  'want of a wife. However little known the feelings or views of such a man may be on his first ' +
  'entering a neighbourhood, this truth is so well fixed in the minds of the surrounding families.';

/** Three rows cut from ids, none of them the beginning of another. */
export function exactRows(ids, longest) {
  const cuts = [
    [0, longest],
    [3, SHORT_ROW],
    [1, SHORTER_ROW],
  ];
  return cuts.map(([start, length]) => Array.from(ids.slice(start, start + length)));
}

/** Two lanes of multiply and shift over the bits of each float. */
export class LogitsHash {
  #a = 0x811c9dc5;
  #b = 0x2545f491;

  /** @param {Float32Array} logits */
  add(logits) {
    const words = new Uint32Array(logits.buffer, logits.byteOffset, logits.length);
    let [a, b] = [this.#a, this.#b];
    for (let i = 0; i < words.length; i++) {
      a = Math.imul(a ^ words[i], 0x9e3779b1);
      a ^= a >>> 15;
      b = Math.imul(b + words[i], 0x85ebca77);
      b ^= b >>> 13;
    }
    [this.#a, this.#b] = [a, b];
  }

  toString() {
    return [this.#a, this.#b].map((lane) => (lane >>> 0).toString(16).padStart(8, '0')).join('');
  }
}

/** The hash of all logits of the rows, each run alone. */
export async function logitsHash(engine, rows) {
  const hash = new LogitsHash();
  for (const row of rows) hash.add((await engine.forward({ input_ids: [row], logits_to_keep: 0 })).logits);
  return hash.toString();
}

/** The hashes of a model's variants, as pairs of the runner's name and hash. ids: null for those of the tiny text. */
export async function exactHashes(Engine, { model, source, ids, longest, variants }) {
  const hashes = [];
  for (const [quantize, kvType] of variants) {
    const engine = await Engine.load(source, { quantize, kvType, contextLength: 512, cache: false });
    try {
      const tokens = ids ?? (await engine.tokenize(TINY_TEXT, { parse_special: false }));
      const hash = await logitsHash(engine, exactRows(tokens, longest));
      hashes.push([`exact/${model}, ${quantize}, ${kvType} cache`, hash]);
    } finally {
      await engine.close();
    }
  }
  return hashes;
}
