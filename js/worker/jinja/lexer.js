// Cuts a template into text and the tokens of its tags, as Jinja2 does with trim_blocks and lstrip_blocks: a line break
// behind a block tag or a comment is dropped, and so are the blanks before one at the start of a line. '-' at a tag's edge
// takes all white space there, '+' keeps it.
import { WHITE, fail } from './values.js';

/**
 * type: 'data', 'name', 'string', 'integer', 'float', 'operator', or 'begin' and 'end' of a tag with '{{', '}}', '{%' or '%}'.
 * @typedef {{ type: string, value: any, line: number }} Token
 */

const OPEN = new RegExp(`\\{%[-+]?${WHITE}*raw${WHITE}*(?:-%\\}${WHITE}*|%\\})|\\{[%{#][-+]?`, 'gu');
const COMMENT_END = new RegExp(`\\+#\\}|-#\\}${WHITE}*|#\\}\\n?`, 'gu');
const RAW_END = new RegExp(`\\{%([-+]?)${WHITE}*endraw${WHITE}*(?:\\+%\\}|-%\\}${WHITE}*|%\\}\\n?)`, 'gu');
const BLOCK_END = new RegExp(`\\+%\\}|-%\\}${WHITE}*|%\\}\\n?`, 'uy');
const PRINT_END = new RegExp(`-\\}\\}${WHITE}*|\\}\\}`, 'uy');
const BLANK = new RegExp(`${WHITE}+`, 'uy');
const BLANKS_AT_END = new RegExp(`${WHITE}+$`, 'u');
const ONLY_BLANKS = new RegExp(`^${WHITE}+$`, 'u');

/** @type {[string, RegExp][]} */
const RULES = [
  ['float', /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iuy],
  ['integer', /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iuy],
  ['name', /[\p{ID_Continue}]+/uy],
  ['string', /'[^'\\]*(?:\\[^][^'\\]*)*'|"[^"\\]*(?:\\[^][^"\\]*)*"/uy],
  ['operator', /\/\/|\*\*|[=!<>]=|[-+/*%~[\](){}<>=.:|,;]/uy],
];

/** @type {Record<string, string>} */
const CLOSING = { '(': ')', '[': ']', '{': '}' };
/** @type {Record<string, string>} */
const ESCAPES = { n: '\n', r: '\r', t: '\t', a: '\x07', b: '\b', f: '\f', v: '\v', '\n': '' };

/**
 * The text that a string literal stands for, by Python's escapes; an unknown one stays as it is.
 * @param {string} literal without its quotes
 * @param {number} at its line
 */
function unescaped(literal, at) {
  const form = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([xuUN])|([^]))/gu;
  return literal.replace(form, (all, x, u, long, octal, broken, char) => {
    if (char !== undefined) return ESCAPES[char] ?? (/['"\\]/.test(char) ? char : all);
    if (broken) return fail(`the escape ${all} in a text`, 'syntax', at);
    return String.fromCodePoint(octal ? parseInt(octal, 8) : parseInt(x ?? u ?? long, 16));
  });
}

/**
 * @param {string} type
 * @param {string} text
 * @param {number} at its line
 */
function tokenValue(type, text, at) {
  if (type === 'integer')
    return BigInt(
      text
        .replaceAll('_', '')
        .replace(/^0+(?=\d)/u, '')
        .toLowerCase(),
    );
  if (type === 'float') return Number(text.replaceAll('_', ''));
  return type === 'string' ? unescaped(text.slice(1, -1), at) : text;
}

/** Goes through one template. */
class Lexer {
  #source;
  #at = 0;
  #line = 1;
  /** Whether the last tag ended with its line: what follows stands at the start of one. */
  #lineStarts = true;
  /** @type {Token[]} */
  tokens = [];

  /** @param {string} source */
  constructor(source) {
    this.#source = source;
  }

  /**
   * @param {string} type
   * @param {any} value
   */
  #push(type, value) {
    this.tokens.push({ type, value, line: this.#line });
  }

  /** @param {string} text that comes next */
  #skip(text) {
    this.#at += text.length;
    this.#line += text.split('\n').length - 1;
  }

  /** @param {string} text */
  #data(text) {
    if (text) this.#push('data', text);
  }

  /** @param {string} message */
  #fail(message) {
    return fail(message, 'syntax', this.#line);
  }

  /**
   * Text before a tag without the blanks that the tag takes.
   * @param {string} text
   * @param {string} sign the tag's '-', '+' or ''
   * @param {boolean} lstrip whether the tag takes the blanks of its line
   */
  #before(text, sign, lstrip) {
    if (sign === '-') return text.replace(BLANKS_AT_END, '');
    const lineAt = text.lastIndexOf('\n') + 1;
    if (!lstrip || sign === '+' || !(lineAt > 0 || this.#lineStarts)) return text;
    return ONLY_BLANKS.test(text.slice(lineAt)) ? text.slice(0, lineAt) : text;
  }

  /**
   * What a pattern finds from here on.
   * @param {RegExp} pattern
   */
  #find(pattern) {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#source);
  }

  run() {
    while (this.#at < this.#source.length) {
      const open = this.#find(OPEN);
      const text = this.#source.slice(this.#at, open?.index);
      if (!open) this.#data(text);
      else this.#data(this.#before(text, /[-+]/u.exec(open[0].slice(0, 3))?.[0] ?? '', open[0][1] !== '{'));
      this.#skip(text);
      if (!open) break;
      this.#skip(open[0]);
      this.#lineStarts = false;
      if (open[0][1] === '#') this.#comment();
      else if (open[0].includes('raw')) this.#raw();
      else this.#tag(open[0].slice(0, 2));
      this.#lineStarts = this.#source[this.#at - 1] === '\n';
    }
    return this.tokens;
  }

  #comment() {
    const end = this.#find(COMMENT_END) ?? this.#fail('a comment that does not end: it ends within a block or a tag');
    this.#skip(this.#source.slice(this.#at, end.index) + end[0]);
  }

  #raw() {
    const end = this.#find(RAW_END) ?? this.#fail('a raw block without its endraw: it ends within a block or a tag');
    const text = this.#source.slice(this.#at, end.index);
    this.#data(this.#before(text, end[1], true));
    this.#skip(text + end[0]);
  }

  /** @param {string} open '{{' or '{%' */
  #tag(open) {
    this.#push('begin', open);
    const ending = open === '{{' ? PRINT_END : BLOCK_END;
    /** @type {string[]} */
    const closing = [];
    for (;;) {
      const end = closing.length === 0 && this.#find(ending);
      if (end) {
        this.#push('end', open === '{{' ? '}}' : '%}');
        return this.#skip(end[0]);
      }
      const blank = this.#find(BLANK);
      if (blank) this.#skip(blank[0]);
      else this.#token(closing);
    }
  }

  /** @param {string[]} closing brackets that are still to come */
  #token(closing) {
    if (this.#at >= this.#source.length) this.#fail('it ends within a block or a tag');
    for (const [type, pattern] of RULES) {
      const match = this.#find(pattern);
      if (!match) continue;
      const [text] = match;
      if (type === 'operator') {
        if (CLOSING[text]) closing.push(CLOSING[text]);
        else if (/[)\]}]/u.test(text) && closing.pop() !== text) this.#fail(`'${text}' closes nothing`);
      }
      this.#push(type, tokenValue(type, text, this.#line));
      return this.#skip(text);
    }
    this.#fail(`unexpected character ${JSON.stringify(this.#source[this.#at])}`);
  }
}

/**
 * @param {string} template line breaks of any kind; one at its end is not part of it
 * @returns {Token[]}
 */
export const tokenize = (template) => new Lexer(template.replace(/\r\n?/gu, '\n').replace(/\n$/u, '')).run();
