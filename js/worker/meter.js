// Progress of a load: the bytes of all files as one number that only grows, how fast it grows and how long the rest will take.

const PROGRESS_MS = 50;
/** The rate is that of the last seconds. */
const RATE_MS = 5000;
/** Before this much time there is no saying how fast it goes. */
const RATE_LEAST_MS = 500;

/** @typedef {import('../types.js').Progress} Progress */

export class Meter {
  total = /** @type {number | null} */ (null);
  #report;
  #now;
  #last = -Infinity;
  #shown = 0;
  /** @type {Map<number, number>} */
  #reached = new Map();
  /** @type {{ at: number, loaded: number }[]} of the last seconds, the oldest first */
  #marks = [];

  /**
   * @param {(progress: Progress) => void} report
   * @param {() => number} [now] milliseconds
   */
  constructor(report, now = () => performance.now()) {
    this.#report = report;
    this.#now = now;
  }

  /**
   * @param {number} file
   * @param {number} end bytes before it are in
   * @param {'download' | 'cache'} phase
   */
  reach(file, end, phase) {
    if (end <= (this.#reached.get(file) ?? 0)) return;
    this.#reached.set(file, end);
    let loaded = 0;
    for (const bytes of this.#reached.values()) loaded += bytes;
    this.#show(loaded, phase);
  }

  /**
   * Somebody else brings the file; so much of it is here.
   * @param {number} bytes
   */
  wait(bytes) {
    this.#show(bytes, 'download');
  }

  /** @param {'download' | 'cache'} phase */
  finish(phase) {
    if (this.total === null) return;
    this.#last = -Infinity;
    this.#shown = Math.min(this.#shown, this.total - 1);
    this.#show(this.total, phase);
  }

  /**
   * @param {number} loaded
   * @param {'download' | 'cache'} phase
   */
  #show(loaded, phase) {
    const now = this.#now();
    if (loaded <= this.#shown || now - this.#last < PROGRESS_MS) return;
    this.#last = now;
    this.#shown = this.total === null ? loaded : Math.min(loaded, this.total);
    this.#report({ phase, loaded: this.#shown, total: this.total, ...this.#speed(now) });
  }

  /** @param {number} now */
  #speed(now) {
    this.#marks.push({ at: now, loaded: this.#shown });
    while (this.#marks.length > 2 && now - this.#marks[1].at >= RATE_MS) this.#marks.shift();
    const [first] = this.#marks;
    if (now - first.at < RATE_LEAST_MS) return { bytesPerSecond: null, secondsLeft: null };
    const bytesPerSecond = (1000 * (this.#shown - first.loaded)) / (now - first.at);
    const left = this.total === null || bytesPerSecond === 0 ? null : (this.total - this.#shown) / bytesPerSecond;
    return { bytesPerSecond, secondsLeft: left };
  }
}
