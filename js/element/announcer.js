// What a screen reader is told. The transcript itself is no live region: every token would be read. Streamed text is said in
// whole sentences instead.
import { make } from './dom.js';

/** Shorter pieces wait for more, so that a reader is not interrupted for each word. */
const SHORTEST_PIECE = 60;
/** Text without an end of a sentence is said in pieces of this length. */
const LONGEST_PIECE = 600;

export class Announcer {
  #held = '';

  /** @param {string} label */
  constructor(label) {
    this.element = make('div', 'visually-hidden');
    this.element.setAttribute('role', 'log');
    this.element.setAttribute('aria-live', 'polite');
    this.element.setAttribute('aria-label', label);
  }

  /** @param {string} text */
  say(text) {
    if (!text.trim()) return;
    this.element.append(make('p', '', text));
    while (this.element.childElementCount > 2) this.element.firstElementChild?.remove();
  }

  /** @param {string} text a piece of a stream */
  stream(text) {
    this.#held += text;
    if (this.#held.length < SHORTEST_PIECE) return;
    const ends = [...this.#held.matchAll(/[.!?…:]["')\]]?\s|[。！？]|\n/g)];
    const last = ends[ends.length - 1];
    const end = last ? last.index + last[0].length : this.#held.length;
    if (last ? end < SHORTEST_PIECE : end < LONGEST_PIECE) return;
    this.say(this.#held.slice(0, end));
    this.#held = this.#held.slice(end);
  }

  /** Says what stream() still holds. */
  flush() {
    this.say(this.#held);
    this.#held = '';
  }
}
