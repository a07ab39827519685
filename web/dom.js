/**
 * What every part of the page needs of the document: its elements by id, new elements made of text only, words for
 * sizes, and announcements for people who listen to the page.
 */

/**
 * @template {HTMLElement} [T=HTMLElement]
 * @param {string} id
 * @param {new () => T} [type]
 * @returns {T}
 */
export function byId(id, type) {
  const element = document.getElementById(id);
  if (!element || (type && !(element instanceof type))) throw new Error(`the page has no such element: #${id}`);
  return /** @type {T} */ (element);
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {string} className
 * @param {...(string | Node)} children Strings become text, never markup.
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, className, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
}

/** @param {number} bytes In decimal units, as download pages give them: 491 MB. */
export function sizeOf(bytes) {
  const units = ['bytes', 'kB', 'MB', 'GB'];
  let unit = 0;
  let value = bytes;
  for (; value >= 999.5 && unit < units.length - 1; unit++) value /= 1000;
  const digits = unit > 0 && value < 10 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** @param {number} count 494000000 is '494 million'. */
export function countOf(count) {
  if (count >= 1e9) return `${(count / 1e9).toFixed(1)} billion`;
  if (count >= 1e7) return `${Math.round(count / 1e6)} million`;
  if (count >= 1e6) return `${(count / 1e6).toFixed(1)} million`;
  return String(count);
}

/**
 * localStorage and sessionStorage may be missing or throw (private windows, sandboxed frames): then nothing is kept.
 * @param {'localStorage' | 'sessionStorage'} kind
 */
export function storage(kind) {
  return {
    /** @param {string} key */
    get(key) {
      try {
        return window[kind].getItem(key);
      } catch {
        return null;
      }
    },
    /**
     * @param {string} key
     * @param {string | null} value null removes it.
     */
    set(key, value) {
      try {
        if (value === null) window[kind].removeItem(key);
        else window[kind].setItem(key, value);
      } catch {
        // Kept for comfort only.
      }
    },
  };
}

/**
 * Says things through a live region. The conversation itself is not one: a screen reader would read every token.
 * What is streamed is said in whole sentences instead.
 */
export class Announcer {
  #region;
  #held = '';

  /** @param {HTMLElement} region */
  constructor(region) {
    this.#region = region;
  }

  /** @param {string} text */
  say(text) {
    if (!text.trim()) return;
    this.#region.append(make('p', '', text));
    while (this.#region.childElementCount > 2) this.#region.firstElementChild?.remove();
  }

  /** @param {string} text Piece of a stream: said when it makes a sentence or a line of some length. */
  stream(text) {
    this.#held += text;
    const end = Math.max(this.#held.lastIndexOf('. '), this.#held.lastIndexOf('\n'));
    if (end < 120) return;
    this.say(this.#held.slice(0, end + 1));
    this.#held = this.#held.slice(end + 1);
  }

  /** Says what stream() still holds. */
  flush() {
    this.say(this.#held);
    this.#held = '';
  }
}
