// One call of an engine: its turn in the queue, its request, and what ends it early at whichever stage it is.
import { abortedError, cancellable, throwIfAborted } from '../errors.js';

/** @typedef {import('../protocol.js').Requests} Requests */

export class Call {
  #queue;
  #connection;
  #signal;
  /** @type {number | null} of the request, once it is sent */
  #id = null;
  /** @type {'none' | 'soft' | 'hard'} */
  #cancelled = 'none';

  /**
   * @param {import('./queue.js').Queue} queue
   * @param {import('./connection.js').Connection} connection
   * @param {AbortSignal | undefined} signal the caller's
   */
  constructor(queue, connection, signal) {
    throwIfAborted(signal);
    this.#queue = queue;
    this.#connection = connection;
    this.#signal = signal;
  }

  /**
   * Runs a job when its turn has come. The caller's signal rejects at once; the queue goes on when the worker has come to rest.
   * @template T
   * @param {() => Promise<T>} job
   * @returns {Promise<T>}
   */
  run(job) {
    const done = this.#queue.run(async () => {
      throwIfAborted(this.#signal);
      return job();
    });
    done.catch(() => {}); // an aborted call's late end is nobody's
    return cancellable(done, this.#signal, () => this.cancel('hard'));
  }

  /**
   * Sends the call's request; one whose consumer left meanwhile is begun all the same, for its result.
   * @template {keyof Requests} T
   * @param {T} type
   * @param {Requests[T][0]} payload
   * @param {import('./connection.js').Listeners} [listeners]
   * @returns {Promise<Requests[T][1]>}
   */
  async send(type, payload, listeners) {
    if (this.#cancelled === 'hard') throw abortedError(this.#signal);
    const { id, done } = this.#connection.request(type, payload, listeners);
    this.#id = id;
    if (this.#cancelled === 'soft') this.cancel('soft');
    return done;
  }

  /** @param {'soft' | 'hard'} how soft: the rows end and the answer is what there is; hard: it is 'aborted' */
  cancel(how) {
    this.#cancelled = how;
    if (this.#id !== null) this.#connection.cancel(this.#id, how === 'soft');
  }

  /** @param {number[]} end rows that the caller's predicate ends */
  decide(end) {
    this.#connection.notify({ type: 'verdict', end });
  }
}
