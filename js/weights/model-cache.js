// The public modelCache: what is kept on this device, listed, removed, and asked to stay.
import { qwenError } from '../errors.js';
import { evict } from './evict.js';
import { bytesOf, discard, idsIn, keyIn, lastUse, lookAt } from './kept-copy.js';
import { SIMD_FILE, storageError } from './store.js';

/**
 * @typedef {import('../host.js').Store} Store
 * @typedef {import('../types.js').ModelCache} ModelCache
 */

/**
 * What a step brings, or a QwenError of code 'storage'.
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} step
 * @returns {Promise<T>}
 */
async function stored(what, step) {
  try {
    return await step();
  } catch (error) {
    throw await storageError(what, error);
  }
}

/**
 * Over a store that is found when it is needed.
 * @param {() => Promise<Store | null>} find
 * @param {() => Promise<boolean>} persist
 * @returns {Omit<ModelCache, 'fetch'>}
 */
export function modelCacheOver(find, persist) {
  return {
    list: () =>
      stored('the list of kept models', async () => {
        const store = await find();
        const list = (store ? await idsIn(store) : []).map(async (id) => describe(/** @type {Store} */ (store), id));
        return (await Promise.all(list)).sort((a, b) => b.lastUsed.getTime() - a.lastUsed.getTime());
      }),

    delete: (key) =>
      stored(`the kept model ${key}`, async () => {
        const store = await find();
        if (store && (await idsIn(store)).includes(key)) await remove(store, key);
      }),

    clear: () =>
      stored('the kept models', async () => {
        const store = await find();
        if (!store) return;
        for (const id of await idsIn(store)) await remove(store, id);
        await store.remove(SIMD_FILE);
      }),

    evict: (bytes) =>
      stored('the kept models', async () => {
        if (!(bytes >= 0)) throw qwenError('usage', `evict(${bytes}): a number of bytes is wanted`);
        const store = await find();
        return store ? evict(store, bytes) : 0;
      }),

    persist: () => stored('the wish to keep models', persist),
  };
}

/**
 * @param {Store} store
 * @param {string} id
 */
async function describe(store, id) {
  const copy = await lookAt(store, id);
  return {
    key: id,
    name: copy.entry?.name ?? '(unreadable)',
    bytes: await bytesOf(store, copy),
    complete: copy.complete,
    lastUsed: new Date(await lastUse(store, id)),
  };
}

/**
 * @param {Store} store
 * @param {string} id
 */
async function remove(store, id) {
  const release = await store.lock(keyIn(id), { wait: false });
  if (!release)
    throw qwenError('storage', `the kept model ${id} is being written by another tab or process: try again later`);
  try {
    await discard(store, id);
  } finally {
    release();
  }
}
