// Room for a copy: those that were used the longest ago go first.
import { bytesOf, discard, idsIn, keyIn, lastUse, lookAt } from './kept-copy.js';

/** @typedef {import('../host.js').Store} Store */

/**
 * The copies in a store, the least recently used first.
 * @param {Store} store
 * @param {string} [spare] a key whose copies are left out
 */
async function byUse(store, spare) {
  const ids = (await idsIn(store)).filter((id) => keyIn(id) !== spare);
  const copies = ids.map(async (id) => ({
    id,
    used: await lastUse(store, id),
    bytes: await bytesOf(store, await lookAt(store, id)),
  }));
  return (await Promise.all(copies)).sort((a, b) => a.used - b.used);
}

/**
 * Removes copies, the least recently used first, until so many bytes have gone; returns how many did. A copy that somebody is
 * writing, or (in browsers) reading, stays.
 * @param {Store} store
 * @param {number} bytes
 * @param {string} [spare] a key whose copies stay
 */
export async function evict(store, bytes, spare) {
  let gone = 0;
  for (const copy of await byUse(store, spare)) {
    if (gone >= bytes) break;
    if (await removeFree(store, copy.id)) gone += copy.bytes;
  }
  return gone;
}

/**
 * @param {Store} store
 * @param {string} id
 */
async function removeFree(store, id) {
  const release = await store.lock(keyIn(id), { wait: false });
  if (!release) return false;
  try {
    await discard(store, id);
    return true;
  } catch {
    return false;
  } finally {
    release();
  }
}

/**
 * Asks the quota before the first byte. Rejects where there is not enough room for a file, and then removes nothing that would not
 * have helped.
 * @param {Store} store
 * @param {number} bytes
 * @param {string} key of the file: its copies stay
 */
export async function makeRoom(store, bytes, key) {
  const free = await store.free();
  if (free >= bytes) return;
  const others = (await byUse(store, key)).reduce((sum, copy) => sum + copy.bytes, 0);
  if (free + others >= bytes && free + (await evict(store, bytes - free, key)) >= bytes) return;
  throw new DOMException(`${bytes} bytes are wanted, ${free} are free`, 'QuotaExceededError');
}
