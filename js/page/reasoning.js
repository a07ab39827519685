// The thought of a model that thinks in <think> tags, told apart from its answer while the text comes in pieces. What has been
// handed out is never taken back: a piece that may yet be part of a tag, or white space at an end, waits.
import { settledLength, withoutLeadingBlanks, withoutTrailingBlanks } from './held.js';

const OPEN = '<think>';
const CLOSE = '</think>';

/** @typedef {{ reasoning: string, text: string }} Parts what is new of both */

/**
 * Whether a prompt ends inside a thought, which its template has opened.
 * @param {string} prompt
 */
export const opensThought = (prompt) => withoutTrailingBlanks(prompt).endsWith(OPEN);

export class ThoughtSplitter {
  #opened;
  /** @type {'start' | 'thought' | 'gap' | 'answer'} gap: between the closing tag and the answer */
  #state = 'start';
  #held = '';
  #begun = false;

  /** @param {boolean} opened whether the prompt ends inside a thought */
  constructor(opened) {
    this.#opened = opened;
  }

  /** Whether there was a thought at all, be it empty. */
  get thought() {
    return this.#state === 'thought' || this.#state === 'gap' || (this.#state === 'answer' && this.#opened);
  }

  /** Whether what comes now may belong to the thought. */
  get thinking() {
    return this.#state === 'thought' || this.#state === 'start';
  }

  /**
   * @param {string} text
   * @returns {Parts}
   */
  push(text) {
    this.#held += text;
    if (this.#state === 'start') this.#start(false);
    const reasoning = this.#state === 'thought' ? this.#think() : '';
    return { reasoning, text: this.#answer() };
  }

  /**
   * The rest, when no more comes.
   * @returns {Parts}
   */
  end() {
    if (this.#state === 'start') this.#start(true);
    const reasoning = this.#state === 'thought' ? this.#told(withoutTrailingBlanks(this.#taken())) : '';
    return { reasoning, text: this.#answer() };
  }

  /** @param {boolean} last whether no more comes */
  #start(last) {
    const text = withoutLeadingBlanks(this.#held);
    if (text.startsWith(OPEN)) {
      this.#opened = true;
      this.#held = text.slice(OPEN.length);
    } else if (OPEN.startsWith(text) && !last) {
      return;
    }
    this.#state = this.#opened ? 'thought' : 'answer';
  }

  /** What is settled of the thought. */
  #think() {
    const end = this.#held.indexOf(CLOSE);
    if (end >= 0) {
      const rest = withoutTrailingBlanks(this.#held.slice(0, end));
      this.#held = this.#held.slice(end + CLOSE.length);
      this.#state = 'gap';
      return this.#told(rest);
    }
    const length = settledLength(this.#held, CLOSE);
    const settled = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return this.#told(settled);
  }

  /** @param {string} text of the thought, whose first white space goes */
  #told(text) {
    const told = this.#begun ? text : withoutLeadingBlanks(text);
    this.#begun ||= told !== '';
    return told;
  }

  #answer() {
    if (this.#state === 'gap') {
      this.#held = withoutLeadingBlanks(this.#held);
      if (this.#held) this.#state = 'answer';
    }
    return this.#state === 'answer' ? this.#taken() : '';
  }

  #taken() {
    const text = this.#held;
    this.#held = '';
    return text;
  }
}
