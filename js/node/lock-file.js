// Locks between processes, as files: whoever makes the file holds the lock. A file outlives a holder that was killed, so it says
// who made it (process, when that process began, thread), and one whose maker is gone counts for nothing.
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import { hostname } from 'node:os';
import { threadId } from 'node:worker_threads';

const POLL_MS = 100;
/** A lock is broken in microseconds: whoever seems to take longer has died over it. */
const BREAKING_MS = 5000;

/** @typedef {{ pid: number, began: string, host: string, thread: number, token: string }} Holder */

/**
 * When a process began, as far as the system tells; '' where it does not. It tells a process from a later one of the same number.
 * @param {number} pid
 */
function beganAt(pid) {
  try {
    // After the name in brackets, which may hold anything, the 20th word is the time of the start.
    return fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

/** @param {Holder} holder */
function isAlive({ pid, began, host }) {
  if (host !== hostname()) return true; // a folder on the network: nobody can tell
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ESRCH') return false;
  }
  const now = beganAt(pid);
  return !now || !began || now === began;
}

/**
 * @param {string} file
 * @returns {Holder | null}
 */
function holderOf(file) {
  try {
    const holder = JSON.parse(fs.readFileSync(file, 'utf8'));
    return Number.isInteger(holder?.pid) ? holder : null;
  } catch {
    return null;
  }
}

/**
 * Makes a file that has its text from the first moment on; false where there is one already.
 * @param {string} file
 * @param {string} text
 */
function makeWhole(file, text) {
  const beside = `${file}.${randomUUID()}`;
  fs.writeFileSync(beside, text);
  try {
    fs.linkSync(beside, file);
    return true;
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error);
    if (code === 'EEXIST') return false;
    return makeFirst(file, text); // a file system without links
  } finally {
    fs.rmSync(beside, { force: true });
  }
}

/**
 * @param {string} file
 * @param {string} text
 */
function makeFirst(file, text) {
  try {
    fs.writeFileSync(file, text, { flag: 'wx' });
    return true;
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a lock of the dead. Of several that see it one does so, and looks again before it does.
 * @param {string} file
 */
function breakStale(file) {
  const breaking = `${file}.breaking`;
  if (!makeFirst(breaking, '')) {
    const since = fs.statSync(breaking, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (Date.now() - since > BREAKING_MS) fs.rmSync(breaking, { force: true });
    return;
  }
  const holder = holderOf(file);
  if (!holder || !isAlive(holder)) fs.rmSync(file, { force: true });
  fs.rmSync(breaking, { force: true });
}

/**
 * @param {string} file
 * @param {(file: string) => void} [onHold] told before it is tried, so that somebody can clean up after this thread
 * @returns {(() => void) | null} null where another one holds it
 */
export function tryLock(file, onHold) {
  const token = randomUUID();
  onHold?.(file);
  const mine = { pid: process.pid, began: beganAt(process.pid), host: hostname(), thread: threadId, token };
  for (let tries = 0; tries < 2; tries++) {
    if (makeWhole(file, JSON.stringify(mine))) {
      return () => {
        if (holderOf(file)?.token === token) fs.rmSync(file, { force: true });
      };
    }
    const holder = holderOf(file);
    if (holder && isAlive(holder)) return null;
    breakStale(file);
  }
  return null;
}

/**
 * @param {string} file
 * @param {{ signal?: AbortSignal, onHold?: (file: string) => void }} options
 * @returns {Promise<() => void>}
 */
export async function waitForLock(file, { signal, onHold }) {
  for (;;) {
    const release = tryLock(file, onHold);
    if (release) return release;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    signal?.throwIfAborted();
  }
}

/**
 * Removes the locks that a thread of this process held when it ended.
 * @param {Iterable<string>} files
 * @param {number} thread
 */
export function releaseOf(files, thread) {
  for (const file of files) {
    const holder = holderOf(file);
    if (holder?.pid === process.pid && holder.thread === thread) fs.rmSync(file, { force: true });
  }
}
