// What stores have in common; host.d.ts has their interface.
import { messageOf, QwenError, qwenError } from '../errors.js';

export const CACHE_FOLDER = 'qwen2-wasm';
/** What the trial of builds remembers. */
export const SIMD_FILE = 'simd.json';

/**
 * What happened to a store, as one sentence; a full disk with its numbers.
 * @param {unknown} error
 */
export async function storageMessage(error) {
  const text = messageOf(error);
  if (!(error instanceof Error) || error.name !== 'QuotaExceededError') return text;
  const { usage, quota } = (await globalThis.navigator?.storage?.estimate?.().catch(() => null)) ?? {};
  return quota === undefined ? text : `${text} (${usage} of ${quota} bytes are in use)`;
}

/**
 * Any failure of a store as a QwenError.
 * @param {string} what it was about
 * @param {unknown} error
 */
export const storageError = async (what, error) =>
  error instanceof QwenError ? error : qwenError('storage', `${what}: ${await storageMessage(error)}`, error);
