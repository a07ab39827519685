// The engine's threads, as Emscripten's glue sees them: workers that it sends messages to and hears. The page makes and keeps
// them, because a worker that makes a worker of its own in the midst of a call may wait for ever (Firefox 153, 1 to 4 loads of
// 100 on a busy machine); a message leaves at once.

/** @type {Thread[]} */
const threads = [];

export class Thread {
  /** @type {((event: { data: any }) => void) | null} set by the glue */
  onmessage = null;
  #number = threads.push(this) - 1;

  /** @param {any} message */
  postMessage(message) {
    self.postMessage({ type: 'thread', thread: this.#number, message });
  }
}

/**
 * What a thread says.
 * @param {{ thread: number, message: any }} said
 */
export const hearThread = ({ thread, message }) => threads[thread].onmessage?.({ data: message });
