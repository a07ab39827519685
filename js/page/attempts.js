// plan() and load() as requests to a worker that may hang: it is ended, with its memory, and another one is asked, at last on
// one thread. The worker of a plan stays for the load that mostly follows.
import { Connection } from './connection.js';
import { cancellable, qwenError, toQwenError } from '../errors.js';
import { buildName, ENGINE_WORKER } from '../protocol.js';

/**
 * @typedef {import('../protocol.js').Requests} Requests
 *
 * @typedef {object} Begun what load() and plan() were given, checked
 * @property {import('../host.js').Host} host
 * @property {import('../protocol.js').LoadRequest} request
 * @property {import('../types.js').ModelFile[]} pageFiles
 * @property {import('../host.js').ScriptUrl | undefined} workerUrl
 * @property {string[]} notes
 */

/** So often a worker that fails is replaced by another one that does the same; after that the load has one thread, and all the time it takes. */
const SAME_AGAIN = 1;
const PARKED_MS = 30_000;

/** @type {{ host: Begun['host'], workerUrl: import('../host.js').ScriptUrl | undefined, connection: Connection, timer: any } | null} */
let parked = null;

/** @param {Begun} begun */
function connect({ host, workerUrl, pageFiles }) {
  if (parked?.host !== host || parked.workerUrl !== workerUrl || parked.connection.ended)
    return new Connection(host, ENGINE_WORKER, { url: workerUrl, pageFiles });
  const { connection, timer } = parked;
  parked = null;
  clearTimeout(timer);
  connection.pageFiles = pageFiles;
  return connection;
}

/**
 * Keeps a worker without a model for the next request.
 * @param {Begun} begun
 * @param {Connection} connection
 */
export function park({ host, workerUrl }, connection) {
  clearTimeout(parked?.timer);
  parked?.connection.close(qwenError('closed', 'the plan has ended'));
  const timer = setTimeout(() => connection.close(qwenError('closed', 'the plan has ended')), PARKED_MS);
  /** @type {any} */ (timer).unref?.(); // in Node no reason to stay
  parked = { host, workerUrl, connection, timer };
}

/**
 * The answer, the connection that brought it, and a note for each worker that failed.
 * @template {'load' | 'plan' | 'fetch'} T
 * @param {T} type
 * @param {Begun} begun
 * @param {import('./connection.js').Listeners} [listeners]
 * @param {AbortSignal} [signal]
 * @returns {Promise<{ connection: Connection, answer: Requests[T][1], notes: string[] }>}
 */
export async function attempt(type, begun, listeners, signal) {
  const notes = [...begun.notes];
  let { wasm } = begun.request;
  for (let failures = 0; ; failures++) {
    const connection = connect(begun);
    const { done } = connection.request(type, /** @type {any} */ ({ ...begun.request, wasm }), listeners);
    try {
      const answer = await cancellable(failures > SAME_AGAIN ? done : connection.watch(done), signal);
      return { connection, answer, notes };
    } catch (error) {
      connection.close(toQwenError(error));
      if (!connection.failed || failures > SAME_AGAIN) throw error;
      if (failures === SAME_AGAIN) wasm = onOneThread(wasm);
      notes.push(`${connection.ended?.message}: another one was started, with ${wasm.threads} thread(s)`);
    }
  }
}

/** @param {import('../protocol.js').WasmChoice} wasm */
function onOneThread(wasm) {
  const alone = { ...wasm, threads: 1, shared: false };
  return wasm.urls[buildName(alone)] ? alone : { ...wasm, threads: 1 };
}
