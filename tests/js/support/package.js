// The built package, and models for tests.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const at = (place) => new URL(place, import.meta.url);

export const { Engine, QwenError, capabilities, modelCache, selfTest } = await import(at('../../../dist/node.js').href);

/** Path of austen-tiny, 1024 positions of context, 4096 ids. */
export const TINY = fileURLToPath(at('../../../models/austen-tiny-q8_0.gguf'));
export const TINY_BYTES = 5765792;

/** Path of a checkpoint of tests/fixtures, with its / at the end. They ship with the project: one that is missing is a fault. */
export function checkpoint(name) {
  const place = fileURLToPath(at(`../../fixtures/checkpoints/${name}/`));
  if (!existsSync(place)) throw new Error(`${place} is missing: tests/fixtures is part of the project`);
  return place;
}

/** For assert.rejects and assert.throws: a QwenError with this code whose message matches. */
export const withCode =
  (code, text = /./) =>
  (error) => {
    if (error.code !== code || error.name !== 'QwenError') throw error;
    if (!text.test(error.message)) throw new Error(`${text} is not in: ${error.message}`);
    return true;
  };

/** Greedy ids after a text, or after ids. @param {any} engine @param {string | number[]} text */
export async function greedy(engine, text = 'It is a truth', n = 8) {
  const { sequences } = await engine.generate(text, { max_new_tokens: n }).result;
  return sequences[0].token_ids;
}
