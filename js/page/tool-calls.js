// Calls of tools in a model's text, read while it comes in pieces: `<tool_call>`, a JSON object with name and arguments,
// `</tool_call>`. Whatever the pieces, the deltas joined are the same; what may yet turn out otherwise waits.
import { settledLength, withoutLeadingBlanks, withoutTrailingBlanks } from './held.js';
import { BracketScan, partsOf, valueEnd } from './json-text.js';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';
const USUAL = /^\s*\{\s*"name"\s*:\s*("(?:[^"\\]|\\.)*")\s*,\s*"arguments"\s*:\s*(?=\{)/;
const FENCED = /^```(?:json|tool_call)?[ \t]*\r?\n([^]*?)\s*```$/;
/** A beginning of a whole answer that may become a call, bare or in a fence. */
const MAYBE_WHOLE = /^(?:$|[{[]|`{1,2}$|```(?:$|[a-z_]*$|(?:json|tool_call)?[ \t]*\r?(?:$|\n\s*(?:$|[{[]))))/;

/** @typedef {import('../types.js').ToolCallDelta} ToolCallDelta */
/** @typedef {{ text: string, tool_calls: ToolCallDelta[] }} Read what is new */
/** @typedef {{ name: string, arguments: string }} Called */
/** @typedef {'whole' | 'text' | 'block' | 'arguments' | 'after'} State whole: all of the answer may be one call */

const newId = () => `call_${crypto.randomUUID().replaceAll('-', '').slice(0, 24)}`;

export class ToolCallReader {
  #names;
  #lenient;
  /** @type {State} */
  #state;
  #held = '';
  /** White space before the tag, which comes back where no call follows. */
  #lead = '';
  #scan = new BracketScan();
  #calls = 0;
  #written = false;
  #touchesBlock = false;
  /** Whether the call that was read last began in the usual form, so that a brace of its object is still to come. */
  #isOpenForm = false;
  /** @type {Read} */
  #new = { text: '', tool_calls: [] };
  /** Whether a call was cut off. */
  incomplete = false;
  /** @type {string[]} what was not read as a call, in words */
  notes = [];

  /**
   * @param {string[]} names of the given tools
   * @param {boolean} lenient
   */
  constructor(names, lenient) {
    this.#names = new Set(names);
    this.#lenient = lenient;
    this.#state = lenient ? 'whole' : 'text';
  }

  /** How many calls there are. */
  get calls() {
    return this.#calls;
  }

  /**
   * @param {string} text
   * @returns {Read}
   */
  push(text) {
    this.#held += text;
    while (this.#step());
    return this.#taken();
  }

  /**
   * The rest, when no more comes.
   * @returns {Read}
   */
  end() {
    while (this.#state !== 'text' || this.#held) {
      if (this.#step()) continue;
      if (!this.#lastStep()) break;
    }
    return this.#taken();
  }

  #taken() {
    const read = this.#new;
    this.#new = { text: '', tool_calls: [] };
    return read;
  }

  /** Goes on by one part; false where more text is needed. */
  #step() {
    if (this.#state === 'whole') return this.#whole();
    if (this.#state === 'text') return this.#text();
    if (this.#state === 'block') return this.#block();
    if (this.#state === 'arguments') return this.#arguments();
    return this.#after();
  }

  /** What stays when no more text comes; false at the end. */
  #lastStep() {
    if (this.#state === 'whole') {
      const calls = this.#wholeCalls();
      if (!calls) return this.#goTo('text');
      this.#held = '';
      calls.forEach((call) => this.#call(call));
      return false;
    }
    if (this.#state === 'block') return this.#noCall();
    if (this.#state === 'after') {
      const rest = this.#isOpenForm ? this.#held.replace(/^\s*\}?/, '') : this.#held;
      this.#held = CLOSE.startsWith(rest.trim()) ? '' : rest;
      return this.#goTo('text');
    }
    if (this.#state === 'arguments') this.incomplete = true;
    else this.#write(this.#held);
    this.#held = '';
    return false;
  }

  /** @param {State} state */
  #goTo(state) {
    this.#state = state;
    return true;
  }

  // ---- an answer that is nothing but a call

  #whole() {
    const text = this.#held.trimStart();
    if (!MAYBE_WHOLE.test(text)) return this.#goTo('text');
    const start = text.search(/[{[]/);
    const end = start < 0 ? -1 : valueEnd(text, start);
    if (end < 0 || /^\s*`{0,3}\s*$/.test(text.slice(end))) return false;
    return this.#goTo('text');
  }

  #wholeCalls() {
    const text = this.#held.trim();
    const fenced = FENCED.exec(text);
    return this.#callsOf(fenced ? fenced[1] : text);
  }

  // ---- text and tags

  #text() {
    const at = this.#held.indexOf(OPEN);
    const length = at < 0 ? settledLength(this.#held, OPEN) : at;
    const before = this.#held.slice(0, length);
    const settled = withoutTrailingBlanks(before);
    this.#write(settled);
    if (at < 0) {
      this.#held = this.#held.slice(settled.length);
      return false;
    }
    this.#lead = before.slice(settled.length);
    this.#held = this.#held.slice(at + OPEN.length);
    return this.#goTo('block');
  }

  /** @param {string} text that belongs to the answer */
  #write(text) {
    const rest = this.#touchesBlock ? withoutLeadingBlanks(text) : text;
    if (!rest) return;
    this.#new.text += (this.#touchesBlock && this.#written ? '\n' : '') + rest;
    this.#touchesBlock = false;
    this.#written = true;
  }

  /** The tag was text; reading goes on behind it. */
  #noCall() {
    this.notes.push(`the text behind ${OPEN} is no call of a given tool: it was left in the answer as it is`);
    this.#write(this.#lead + OPEN);
    return this.#goTo('text');
  }

  // ---- calls

  #block() {
    const text = this.#held.trimStart();
    if (!text) return false;
    if (text[0] !== '{' && !(this.#lenient && text[0] === '[')) return this.#noCall();
    const usual = USUAL.exec(this.#held);
    if (usual) return this.#open(usual);
    const start = this.#held.length - text.length;
    const end = valueEnd(this.#held, start);
    if (end < 0) return false;
    const calls = this.#callsOf(this.#held.slice(start, end));
    if (!calls || (!this.#lenient && calls.length !== 1)) return this.#noCall();
    this.#held = this.#held.slice(end);
    calls.forEach((call) => this.#call(call));
    this.#isOpenForm = false;
    return this.#goTo('after');
  }

  /** @param {RegExpExecArray} usual the call's text up to its arguments */
  #open(usual) {
    const name = parsed(usual[1]);
    if (typeof name !== 'string' || !this.#names.has(name)) return this.#noCall();
    this.#held = this.#held.slice(usual[0].length);
    this.#begin(name, '');
    this.#scan = new BracketScan();
    this.#isOpenForm = true;
    return this.#goTo('arguments');
  }

  #arguments() {
    let end = 0;
    let done = false;
    while (end < this.#held.length && !done) done = this.#scan.step(this.#held[end++]);
    if (end) this.#new.tool_calls.push({ index: this.#calls - 1, function: { arguments: this.#held.slice(0, end) } });
    this.#held = this.#held.slice(end);
    return done && this.#goTo('after');
  }

  /** What stands between a call and the end of its block is nobody's. */
  #after() {
    this.#touchesBlock = true;
    const close = this.#held.indexOf(CLOSE);
    const open = this.#held.indexOf(OPEN);
    if (close < 0 && open < 0) return false;
    const isClosed = close >= 0 && (open < 0 || close < open);
    this.#held = this.#held.slice(isClosed ? close + CLOSE.length : open);
    return this.#goTo('text');
  }

  /** @param {Called} call */
  #call(call) {
    this.#begin(call.name, call.arguments);
  }

  /**
   * @param {string} name
   * @param {string} text of its arguments, as far as there are any
   */
  #begin(name, text) {
    const index = this.#calls++;
    this.#new.tool_calls.push({ index, id: newId(), type: 'function', function: { name, arguments: text } });
  }

  /**
   * The calls that a JSON text is: one object, or (lenient) a list of them.
   * @param {string} text
   * @returns {Called[] | null} null: it is none, or not of given tools alone
   */
  #callsOf(text) {
    const value = parsed(text);
    if (typeof value !== 'object' || value === null) return null;
    const texts = Array.isArray(value) ? partsOf(text) : [text];
    const calls = texts.map((one) => this.#callOf(one));
    return calls.length && calls.every((call) => call !== null) ? /** @type {Called[]} */ (calls) : null;
  }

  /**
   * @param {string} text valid JSON
   * @returns {Called | null}
   */
  #callOf(text) {
    const value = parsed(text);
    if (typeof value !== 'object' || value === null || !this.#names.has(value.name)) return null;
    const parts = partsOf(text);
    const at = parts.findLastIndex((part, i) => i % 2 === 0 && parsed(part) === 'arguments');
    if (at < 0) return { name: value.name, arguments: '{}' };
    const given = this.#lenient && typeof value.arguments === 'string' ? value.arguments : parts[at + 1];
    if (this.#lenient && value.arguments === null) return { name: value.name, arguments: '{}' };
    const inner = parsed(given);
    const isObject = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    return isObject ? { name: value.name, arguments: given } : null;
  }
}

/**
 * @param {string} text
 * @returns {any} undefined where it is no JSON
 */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
