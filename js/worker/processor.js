// A caller's logits_processor: a module out of the caller's hands, which may be missing, wrong, or never come to an end.
import { messageOf, qwenError } from '../errors.js';

/** How long its import may take. */
const IMPORT_SECONDS = 30;

/**
 * A caller's logits_processor, as a function that edits all waiting rows; null where the call is cancelled before it is there.
 * @param {string} url
 * @param {Promise<void>} cancellation
 * @returns {Promise<((wasm: import('./wasm.js').Wasm, vocabSize: number) => void) | null>}
 */
export async function importProcessor(url, cancellation) {
  const module = await Promise.race([importInTime(url), cancellation]);
  if (!module) return null;
  const edit = module.default;
  if (typeof edit !== 'function')
    throw qwenError('usage', `logits_processor ${url} has no function as its default export`);
  return (wasm, vocabSize) => {
    for (let i = 0; ; i++) {
      const row = wasm.scores(i, vocabSize);
      if (!row) return;
      editRow(edit, row, url);
      row.put(row.scores);
    }
  };
}

/**
 * @param {string} url
 * @returns {Promise<{ default?: unknown }>}
 */
async function importInTime(url) {
  let timer;
  const late = new Promise((_, reject) => {
    const text = `logits_processor ${url} was not imported within ${IMPORT_SECONDS} s (its top level may await what never comes)`;
    timer = setTimeout(() => reject(qwenError('usage', text)), IMPORT_SECONDS * 1000);
  });
  const imported = import(/* webpackIgnore: true */ /* @vite-ignore */ url).catch((error) => {
    throw qwenError('usage', `logits_processor ${url} cannot be imported: ${messageOf(error)}`, error);
  });
  try {
    return await Promise.race([imported, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {Function} edit
 * @param {{ ids: Int32Array, scores: Float32Array }} row
 * @param {string} url
 */
function editRow(edit, { ids, scores }, url) {
  let answer;
  try {
    answer = edit(ids, scores);
  } catch (error) {
    throw qwenError('usage', `logits_processor ${url} threw: ${messageOf(error)}`, error);
  }
  if (typeof answer?.then === 'function')
    throw qwenError('usage', `logits_processor ${url} gives a promise: it must edit the scores at once`);
}
