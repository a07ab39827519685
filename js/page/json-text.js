// Values of JSON as they are written: a call's arguments are handed on letter by letter, never written anew.

/**
 * Where the value that begins at `start` ends, by brackets and strings alone; -1 where it has not ended yet.
 * @param {string} text
 * @param {number} start
 */
export function valueEnd(text, start) {
  const scan = new BracketScan();
  if (!'{["'.includes(text[start])) {
    const [scalar] = /^[^\s,\]}]*/.exec(text.slice(start)) ?? [''];
    return start + scalar.length;
  }
  for (let i = start; i < text.length; i++) if (scan.step(text[i])) return i + 1;
  return -1;
}

/** Brackets and strings of a value that comes letter by letter. */
export class BracketScan {
  #depth = 0;
  #inString = false;
  #escaped = false;

  /**
   * @param {string} letter
   * @returns {boolean} whether the value ends with it
   */
  step(letter) {
    if (this.#inString) {
      if (this.#escaped) this.#escaped = false;
      else if (letter === '\\') this.#escaped = true;
      else if (letter === '"') {
        this.#inString = false;
        return this.#depth === 0;
      }
      return false;
    }
    if (letter === '"') this.#inString = true;
    else if (letter === '{' || letter === '[') this.#depth++;
    else if (letter === '}' || letter === ']') this.#depth--;
    return this.#depth <= 0 && (letter === '}' || letter === ']');
  }
}

/**
 * Texts of a list's items, or of an object's keys and values one after the other.
 * @param {string} text valid JSON
 * @returns {string[]}
 */
export function partsOf(text) {
  const parts = [];
  for (let i = text.search(/[{[]/) + 1; ;) {
    i += /** @type {RegExpExecArray} */ (/^[\s,:]*/.exec(text.slice(i)))[0].length;
    if (i >= text.length || text[i] === '}' || text[i] === ']') return parts;
    const end = valueEnd(text, i);
    parts.push(text.slice(i, end));
    i = end;
  }
}
