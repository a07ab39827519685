// Calls of one engine run one after the other, in the order in which they were made.

export class Queue {
  /** @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * Runs a job when those before it have ended, however they ended.
   * @template T
   * @param {() => Promise<T>} job its promise settles when the worker is free again
   * @returns {Promise<T>}
   */
  run(job) {
    const done = this.#last.then(job);
    this.#last = done.catch(() => {});
    return done;
  }
}
