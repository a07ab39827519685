// How a file of the network is opened: from its kept copy where that is there and current, else from its source and into a copy.
// One tab (or process) brings a file, those that want it too wait and then read what was kept.
import { qwenError } from '../errors.js';
import { ChunkedFile } from './chunked-file.js';
import { Sums, bytesOfHex } from './digest.js';
import { makeRoom } from './evict.js';
import { bytesOf, CHUNK_BYTES, copiesOf, discard, KeptCopy, keyIn, keyOf, touch } from './kept-copy.js';
import { storageMessage } from './store.js';

const WAITING_MS = 300;

/**
 * @typedef {import('./open-file.js').OpenFile} OpenFile
 * @typedef {import('./open-file.js').RemoteFile} RemoteFile
 * @typedef {import('./chunked-file.js').ChunkSource} ChunkSource
 * @typedef {import('./kept-copy.js').Found & { entry: import('./kept-copy.js').Entry }} Copy
 *
 * @typedef {object} Remote
 * @property {string} url what the copy says it came from
 * @property {string} name
 * @property {string} [sha256]
 * @property {{ bytes: number, sha256: string }} [chunks] sums that are known beforehand
 * @property {boolean} optional
 * @property {(probe: boolean) => Promise<RemoteFile | null>} open probe: a part of it is kept already
 * @property {(file: RemoteFile) => ChunkSource} source
 * @property {(known: { etag: string, modified: string, bytes: number }) => Promise<'same' | 'changed' | 'unknown' | 'unreachable'>} compare
 *
 * @typedef {object} KeeperOptions
 * @property {import('../host.js').Store | null} store
 * @property {AbortSignal} signal
 * @property {boolean} headersOnly plan(): nothing is kept, nothing is changed
 * @property {boolean} eager
 * @property {(note: string) => void} note
 * @property {() => void} moved
 * @property {(bytes: number) => void} waiting told how much another one has brought that is waited for
 */

export class Keeper {
  #o;
  /** Bytes of the opened files that are on this device already. */
  cachedBytes = 0;
  /** A kept file's server did not answer: the others of this load are not asked for, so that one wait is all. */
  #unreachable = false;
  /** Locks that are held: who holds one waits for no other. */
  #held = 0;
  /** Copies that were found wrong. */
  #distrusted = new Set();

  /** @param {KeeperOptions} options */
  constructor(options) {
    this.#o = options;
  }

  /** How often what was kept, or came, was wrong; and of these, how often it came so. */
  get faults() {
    return this.#distrusted.size;
  }

  sourceFaults = 0;

  /**
   * @param {Remote} remote
   * @returns {Promise<OpenFile | null>}
   */
  async open(remote) {
    const { store, headersOnly } = this.#o;
    if (!store) return this.#unkept(remote, await remote.open(false));
    /** @type {Set<string>} */
    const seen = new Set();
    const kept = await this.#kept(store, remote, seen, false);
    if (kept) return kept;
    const partial = await this.#partial(store, remote);
    if (remote.optional && !partial && this.#unreachable) {
      this.#o.note(`${remote.url} cannot be asked for now and is not on this device: it counts as absent`);
      return null;
    }
    if (headersOnly) return this.#planned(store, remote, partial);
    const release = await this.#lock(store, keyOf(remote));
    if (!release) {
      const file = await remote.open(false);
      if (file) this.#o.note(`${remote.name} is not kept on this device: it is being kept by another tab or process`);
      return this.#unkept(remote, file);
    }
    try {
      const brought = await this.#kept(store, remote, seen, true);
      if (brought) release();
      return brought ?? (await this.#bring(store, remote, release));
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   * @param {import('./kept-copy.js').Found | null} partial
   */
  async #planned(store, remote, partial) {
    const file = await remote.open(false);
    const known = file && partial?.entry && (remote.sha256 || sameFile(partial.entry, file));
    if (known) this.cachedBytes += await bytesOf(store, partial);
    return file;
  }

  /**
   * Waits for the lock of a key and tells meanwhile how far its holder is; null where it is taken and another lock is held here.
   * @param {import('../host.js').Store} store
   * @param {string} key
   */
  async #lock(store, key) {
    const { signal, waiting } = this.#o;
    let release = await store.lock(key, { wait: false, signal });
    if (!release && this.#held > 0) return null;
    if (!release) {
      const look = async () => {
        const copy = (await copiesOf(store, key)).find(({ complete }) => !complete);
        if (copy) waiting(await store.bytes(`${copy.id}.bin`));
      };
      const timer = setInterval(() => look().catch(() => {}), WAITING_MS);
      release = await store.lock(key, { wait: true, signal }).finally(() => clearInterval(timer));
    }
    const give = release;
    if (!give) return null;
    this.#held++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#held--;
      give();
    };
  }

  /**
   * A copy that is complete and, as far as one can tell, current.
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   * @param {Set<string>} seen ids of complete copies that were looked at before
   * @param {boolean} fresh what was not seen before has just been brought
   * @returns {Promise<OpenFile | null>}
   */
  async #kept(store, remote, seen, fresh) {
    const { url, sha256 } = remote;
    const own = await copiesOf(store, keyOf(remote));
    // A copy that was brought before its hash was known may be the file, too.
    const others = sha256 && /^http/.test(url) ? await copiesOf(store, keyOf({ url })) : [];
    for (const copy of [...own, ...others]) {
      if (!copy.complete || seen.has(copy.id) || this.#distrusted.has(copy.id)) continue;
      seen.add(copy.id);
      const sure = own.includes(copy) ? Boolean(sha256) : copy.sha256 === sha256;
      const file = await this.#openKept(store, remote, /** @type {Copy} */ (copy), sure, fresh);
      if (file) return file;
    }
    return null;
  }

  /**
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   * @param {Copy} copy
   * @param {boolean} sure it is the file with the hash that is wanted
   * @param {boolean} fresh
   */
  async #openKept(store, remote, copy, sure, fresh) {
    const { note, headersOnly } = this.#o;
    const ask = async () => (this.#unreachable ? 'unreachable' : await remote.compare(copy.entry));
    const state = sure || fresh || remote.sha256 ? 'same' : await ask();
    if (state === 'changed') return null;
    const open = await KeptCopy.open(store, copy).catch(() => null);
    if (!open) return null;
    if (state === 'unknown' || (state === 'unreachable' && !this.#unreachable))
      note(`${remote.url} could not be asked whether it changed: the copy on this device is used`);
    this.#unreachable ||= state === 'unreachable';
    this.cachedBytes += copy.entry.bytes;
    if (!headersOnly) await touch(store, copy.id);
    const file = new ChunkedFile({
      ...this.#common(remote, copy.entry),
      copy: open,
      sums: sumsFor(remote, copy.entry),
      sha256: sure || headersOnly ? undefined : remote.sha256,
      source: () => this.#sourceFor(remote, copy),
      failed: async () => void this.#distrusted.add(copy.id),
    });
    return this.#mending(store, file, open, sure ? undefined : remote.sha256);
  }

  /**
   * A kept file: when it is finished, what was damaged is written anew.
   * @param {import('../host.js').Store} store
   * @param {ChunkedFile} file
   * @param {KeptCopy} copy
   * @param {string | undefined} sha256 found right by then
   */
  #mending(store, file, copy, sha256) {
    return wrapped(file, async () => {
      await file.finish();
      if (this.#o.headersOnly) return;
      if (sha256) await copy.vouch(sha256);
      if (file.mended.size === 0) return;
      file.close();
      const release = await store.lock(keyIn(copy.id), { wait: false }).catch(() => null);
      if (!release) return; // mended at the next load
      await copy.mend(file.mended).catch(() => {});
      release();
    });
  }

  /**
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   */
  async #partial(store, remote) {
    const copies = await copiesOf(store, keyOf(remote));
    return copies.find(({ id, entry, complete }) => entry && !complete && !this.#distrusted.has(id)) ?? null;
  }

  /**
   * From the source and into a copy, going on where an earlier one ended.
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   * @param {() => void} release
   */
  async #bring(store, remote, release) {
    const partial = await this.#partial(store, remote);
    const file = await remote.open(partial !== null);
    if (!file) {
      release();
      return null;
    }
    let copy = null;
    try {
      copy = await this.#beginCopy(store, remote, file, /** @type {Copy | null} */ (partial));
    } catch (error) {
      release();
      this.#o.note(`${remote.name} is not kept on this device: ${await storageMessage(error)}`);
      return this.#unkept(remote, file);
    }
    this.cachedBytes += copy.sums.count * copy.entry.chunk;
    const chunked = new ChunkedFile({
      ...this.#common(remote, copy.entry),
      copy,
      sums: sumsFor(remote, copy.entry),
      sha256: remote.chunks ? undefined : remote.sha256,
      source: async () => remote.source(file),
      failed: (problem, error) => this.#failed(store, remote, copy.id, problem, error),
    });
    return wrapped(
      chunked,
      async () => {
        await chunked.finish();
        chunked.close();
        await this.#complete(remote, copy);
        release();
      },
      release,
    );
  }

  /**
   * @param {Remote} remote
   * @param {KeptCopy} copy
   */
  async #complete(remote, copy) {
    if (this.#distrusted.has(copy.id)) return;
    try {
      await copy.finish(remote.sha256 ?? '');
    } catch (error) {
      this.#o.note(`${remote.name} is not kept on this device: ${await storageMessage(error)}`);
    }
  }

  /**
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   * @param {string} id
   * @param {'wrong' | 'changed' | 'storage'} problem
   * @param {unknown} error
   */
  async #failed(store, remote, id, problem, error) {
    this.#distrusted.add(id);
    if (problem === 'wrong') this.sourceFaults++;
    await discard(store, id).catch(() => {});
    if (problem === 'storage')
      this.#o.note(`${remote.name} is not kept on this device: ${await storageMessage(error)}`);
  }

  /**
   * @param {import('../host.js').Store} store
   * @param {Remote} remote
   * @param {RemoteFile} file
   * @param {Copy | null} partial
   */
  async #beginCopy(store, remote, file, partial) {
    const chunk = remote.chunks?.bytes ?? CHUNK_BYTES;
    const same = partial && partial.entry.chunk === chunk && partial.entry.bytes === file.size;
    if (same && (remote.sha256 || sameFile(partial.entry, file))) {
      const copy = await KeptCopy.open(store, partial);
      if (copy) return copy;
    }
    if (partial) await discard(store, partial.id);
    await makeRoom(store, file.size, keyOf(remote));
    const { etag, modified, size: bytes } = file;
    return KeptCopy.begin(store, keyOf(remote), { url: remote.url, name: remote.name, bytes, etag, modified, chunk });
  }

  /**
   * The source for a chunk of a complete copy that is damaged: the file must still be the one that was kept.
   * @param {Remote} remote
   * @param {Copy} copy
   */
  async #sourceFor(remote, { id, entry }) {
    const file = await remote.open(true);
    if (!file || file.size !== entry.bytes) {
      file?.close();
      this.#distrusted.add(id);
      throw qwenError(
        'integrity',
        `${remote.name}: the copy on this device is damaged, and ${remote.url} has another file now`,
      );
    }
    return remote.source(file);
  }

  /**
   * A file that is not kept: as it comes, or checked where its sums or its hash are known.
   * @param {Remote} remote
   * @param {RemoteFile | null} file
   */
  #unkept(remote, file) {
    if (!file || this.#o.headersOnly || !(remote.sha256 || remote.chunks)) return file;
    const entry = { bytes: file.size, chunk: remote.chunks?.bytes ?? CHUNK_BYTES };
    return new ChunkedFile({
      ...this.#common(remote, entry),
      copy: null,
      sums: sumsFor(remote, entry),
      sha256: remote.chunks ? undefined : remote.sha256,
      source: async () => remote.source(file),
      failed: async (problem) => {
        this.#distrusted.add(file);
        if (problem === 'wrong') this.sourceFaults++;
      },
    });
  }

  /**
   * @param {Remote} remote
   * @param {{ bytes: number, chunk: number }} entry
   */
  #common(remote, { bytes, chunk }) {
    const { note, moved, eager } = this.#o;
    return { name: remote.name, size: bytes, chunk, eager, note, moved };
  }
}

/**
 * The sums that a manifest names, where they are of the chunks that are read.
 * @param {Remote} remote
 * @param {{ bytes: number, chunk: number }} entry
 */
function sumsFor({ chunks }, { bytes, chunk }) {
  return chunks?.bytes === chunk ? new Sums(Math.ceil(bytes / chunk), bytesOfHex(chunks.sha256)) : null;
}

/**
 * @param {{ bytes: number, etag: string, modified: string }} entry
 * @param {RemoteFile} file
 */
function sameFile(entry, file) {
  if (entry.bytes !== file.size) return false;
  return entry.etag || file.etag
    ? entry.etag === file.etag
    : Boolean(entry.modified) && entry.modified === file.modified;
}

/**
 * A file with another end.
 * @param {ChunkedFile} file
 * @param {() => Promise<void>} finish
 * @param {() => void} [closed]
 * @returns {OpenFile}
 */
function wrapped(file, finish, closed) {
  return {
    name: file.name,
    size: file.size,
    get phase() {
      return file.phase;
    },
    get here() {
      return file.here;
    },
    fill: (view, offset) => file.fill(view, offset),
    stream: () => file.stream(),
    pause: () => file.pause(),
    finish,
    close() {
      file.close();
      closed?.();
    },
  };
}
