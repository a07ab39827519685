// The methods of Python's str.
import { formatBraces } from './format.js';
import {
  REQUIRED,
  Tuple,
  WHITE,
  bind,
  charsOf,
  fail,
  isText,
  listOf,
  str,
  truthy,
  typeName,
  unsupported,
} from './values.js';

/** @typedef {import('./values.js').Value} Value */

/**
 * @param {Value} value
 * @param {string} what
 */
export const textOf = (value, what) =>
  isText(value) ? str(value) : fail(`${what} must be str, not ${typeName(value)}`);

const LEFT = new RegExp(`^${WHITE}+`, 'u');
const RIGHT = new RegExp(`${WHITE}+$`, 'u');

/**
 * @param {string} text
 * @param {Value} chars which to take from the ends; null: white space
 * @param {string} sides 'l', 'r' or both
 */
export function strip(text, chars, sides = 'lr') {
  if (chars === null) {
    const left = sides.includes('l') ? text.replace(LEFT, '') : text;
    return sides.includes('r') ? left.replace(RIGHT, '') : left;
  }
  const [all, taken] = [charsOf(text), charsOf(textOf(chars, 'what strip() takes'))];
  let [from, to] = [0, all.length];
  while (sides.includes('l') && from < to && taken.includes(all[from])) from++;
  while (sides.includes('r') && to > from && taken.includes(all[to - 1])) to--;
  return all.slice(from, to).join('');
}

/**
 * @param {string} text
 * @param {bigint} most how many cuts; -1: all
 */
function splitWhite(text, most) {
  const parts = [];
  let rest = strip(text, null, 'l');
  const gap = new RegExp(`${WHITE}+`, 'u');
  for (let match; (match = gap.exec(rest)) && (most < 0n || BigInt(parts.length) < most);) {
    if (match.index + match[0].length === rest.length) break;
    parts.push(rest.slice(0, match.index));
    rest = rest.slice(match.index + match[0].length);
  }
  if (most < 0n || BigInt(parts.length) < most) rest = strip(rest, null, 'r');
  return rest === '' ? parts : [...parts, rest];
}

/**
 * @param {string} text
 * @param {Value} sep
 * @param {bigint} most
 */
export function split(text, sep, most) {
  if (sep === null) return splitWhite(text, most);
  const cut = textOf(sep, 'a separator');
  if (cut === '') fail('empty separator');
  const parts = text.split(cut);
  if (most < 0n || BigInt(parts.length) <= most + 1n) return parts;
  const n = Number(most);
  return [...parts.slice(0, n), parts.slice(n).join(cut)];
}

/** @type {typeof split} */
export function rsplit(text, sep, most) {
  if (sep === null) return splitWhite(reversed(text), most).map(reversed).reverse();
  const parts = split(text, sep, -1n);
  const n = parts.length - Number(most);
  return most < 0n || n <= 1 ? parts : [parts.slice(0, n).join(str(sep)), ...parts.slice(n)];
}

/** @param {string} text */
export const reversed = (text) => charsOf(text).reverse().join('');

/** What ends a line for Python. */
const BREAK = '\\r\\n|[\\n\\v\\f\\r\\x1c-\\x1e\\x85\\u2028\\u2029]';
const LINE = new RegExp(`.*?(?:${BREAK})|.+$`, 'gsu');
const LINE_END = new RegExp(`(?:${BREAK})$`, 'u');

/**
 * @param {string} text
 * @param {boolean} keep whether the line breaks stay
 * @returns {string[]}
 */
export const splitLines = (text, keep = false) =>
  (text.match(LINE) ?? []).map((line) => (keep ? line : line.replace(LINE_END, '')));

/** @param {string} text */
export function capitalize(text) {
  const [first = '', ...rest] = charsOf(text);
  return first.toUpperCase() + rest.join('').toLowerCase();
}

/**
 * @param {string} text
 * @param {Value} old
 * @param {Value} fresh
 * @param {bigint} most
 */
export function replace(text, old, fresh, most) {
  const [from, to] = [textOf(old, 'what replace() takes'), textOf(fresh, 'what replace() takes')];
  const parts = from === '' ? ['', ...charsOf(text), ''] : text.split(from);
  const n = most < 0n ? parts.length - 1 : Math.min(Number(most), parts.length - 1);
  return parts.slice(0, n).concat('').join(to) + parts.slice(n).join(from);
}

/**
 * @param {string} text
 * @param {Value} width
 * @param {Value} fill
 * @param {(missing: number) => number} left how much of what is missing goes to the left
 */
function padded(text, width, fill, left) {
  const missing = Math.max(0, Number(width) - charsOf(text).length);
  return textOf(fill, 'the fill').repeat(left(missing)) + text + str(fill).repeat(missing - left(missing));
}

/**
 * Python's own rule of where the odd blank goes.
 * @param {string} text
 * @param {Value} width
 * @param {Value} [fill]
 */
export function center(text, width, fill = ' ') {
  return padded(text, width, fill, (missing) => Math.floor(missing / 2) + (missing & Number(width) & 1));
}

/**
 * The part of a text that find(), count() and others look at.
 * @param {string} text
 * @param {Value} start
 * @param {Value} end
 */
function part(text, start, end) {
  const chars = charsOf(text);
  const clamp = (/** @type {Value} */ at, /** @type {number} */ usual) =>
    at === null ? usual : Math.max(0, Math.min(chars.length, Number(at) < 0 ? Number(at) + chars.length : Number(at)));
  const [from, to] = [clamp(start, 0), clamp(end, chars.length)];
  return { text: chars.slice(from, to).join(''), from, empty: from > to || Number(start) > chars.length };
}

/**
 * @param {string} where
 * @param {string} what
 * @param {boolean} last
 */
function indexIn(where, what, last) {
  const at = last ? where.lastIndexOf(what) : where.indexOf(what);
  return at < 0 ? -1 : charsOf(where.slice(0, at)).length;
}

const EDGE = { prefix: REQUIRED, start: null, end: null };
const SUB = { sub: REQUIRED, start: null, end: null };
const SPLIT = { sep: null, maxsplit: -1n };
const PAD = { width: REQUIRED, fillchar: ' ' };

/**
 * @param {boolean} last
 * @param {boolean} strict
 * @returns {[Record<string, Value>, (text: string, bound: Record<string, Value>) => Value]}
 */
const finder = (last, strict) => [
  SUB,
  (text, { sub, start, end }) => {
    const { text: inside, from, empty } = part(text, start, end);
    const at = empty ? -1 : indexIn(inside, textOf(sub, 'what find() takes'), last);
    if (at < 0 && strict) fail('substring not found');
    return at < 0 ? -1n : BigInt(at + from);
  },
];

/**
 * @param {'startsWith' | 'endsWith'} which
 * @returns {[Record<string, Value>, (text: string, bound: Record<string, Value>) => Value]}
 */
const edge = (which) => [
  EDGE,
  (text, { prefix, start, end }) => {
    const { text: inside, empty } = part(text, start, end);
    const list = prefix instanceof Tuple ? prefix : [prefix];
    return list.some((one) => inside[which](textOf(one, `what ${which.toLowerCase()}() takes`)) && !empty);
  },
];

/**
 * @param {string} text
 * @param {Value} sep
 * @param {boolean} last
 */
function partition(text, sep, last) {
  const cut = textOf(sep, 'a separator');
  if (cut === '') fail('empty separator');
  const at = last ? text.lastIndexOf(cut) : text.indexOf(cut);
  if (at < 0) return last ? Tuple.of('', '', text) : Tuple.of(text, '', '');
  return Tuple.of(text.slice(0, at), cut, text.slice(at + cut.length));
}

/**
 * Python's title(): a letter after what is no letter is a capital.
 * @param {string} text
 */
const title = (text) => text.replace(/(\p{Cased}+)/gu, (word) => capitalize(word));

/** @param {string} text */
const swapCase = (text) =>
  Array.from(text, (char) => (/\p{Lu}/u.test(char) ? char.toLowerCase() : char.toUpperCase())).join('');

const isLower = (/** @type {string} */ text) => /\p{Lowercase}/u.test(text) && !/\p{Lu}|\p{Lt}/u.test(text);
const isUpper = (/** @type {string} */ text) => /\p{Uppercase}/u.test(text) && !/\p{Ll}|\p{Lt}/u.test(text);

/** @param {RegExp} form */
const all = (form) => /** @type {[{}, (text: string) => boolean]} */ ([{}, (text) => form.test(text)]);

/**
 * By name: parameters with their defaults, and what the method does.
 * @type {Record<string, [Record<string, Value>, (text: string, bound: Record<string, Value>) => Value]>}
 */
const METHODS = {
  capitalize: [{}, capitalize],
  casefold: [{}, (text) => (/^[\0-\x7f]*$/u.test(text) ? text.toLowerCase() : unsupported('casefold() outside ASCII'))],
  center: [PAD, (text, { width, fillchar }) => center(text, width, fillchar)],
  count: [
    SUB,
    (text, { sub, start, end }) => {
      const { text: inside, empty } = part(text, start, end);
      if (empty) return 0n;
      return sub === '' ? BigInt(charsOf(inside).length + 1) : BigInt(inside.split(textOf(sub, 'sub')).length - 1);
    },
  ],
  endswith: edge('endsWith'),
  find: finder(false, false),
  index: finder(false, true),
  isalnum: all(/^[\p{L}\p{N}]+$/u),
  isalpha: all(/^\p{L}+$/u),
  isascii: all(/^[\0-\x7f]*$/u),
  isdecimal: all(/^\p{Nd}+$/u),
  isdigit: all(/^[\p{Nd}\u00b2\u00b3\u00b9\u2070\u2074-\u2079\u2080-\u2089]+$/u),
  isidentifier: all(/^[\p{ID_Start}_]\p{ID_Continue}*$/u),
  islower: [{}, isLower],
  isnumeric: all(/^\p{N}+$/u),
  isspace: all(new RegExp(`^${WHITE}+$`, 'u')),
  istitle: [{}, (text) => /\p{Lu}/u.test(text) && title(text) === text],
  isupper: [{}, isUpper],
  join: [
    { iterable: REQUIRED },
    (text, { iterable }) =>
      listOf(iterable)
        .map((item) => textOf(item, 'what join() takes'))
        .join(text),
  ],
  ljust: [PAD, (text, { width, fillchar }) => padded(text, width, fillchar, () => 0)],
  lower: [{}, (text) => text.toLowerCase()],
  lstrip: [{ chars: null }, (text, { chars }) => strip(text, chars, 'l')],
  partition: [{ sep: REQUIRED }, (text, { sep }) => partition(text, sep, false)],
  removeprefix: [
    { prefix: REQUIRED },
    (text, { prefix }) => (text.startsWith(textOf(prefix, 'a prefix')) ? text.slice(str(prefix).length) : text),
  ],
  removesuffix: [
    { suffix: REQUIRED },
    (text, { suffix }) =>
      text.endsWith(textOf(suffix, 'a suffix')) ? text.slice(0, text.length - str(suffix).length) : text,
  ],
  replace: [
    { old: REQUIRED, new: REQUIRED, count: -1n },
    (text, { old, new: fresh, count }) => replace(text, old, fresh, count),
  ],
  rfind: finder(true, false),
  rindex: finder(true, true),
  rjust: [PAD, (text, { width, fillchar }) => padded(text, width, fillchar, (missing) => missing)],
  rpartition: [{ sep: REQUIRED }, (text, { sep }) => partition(text, sep, true)],
  rsplit: [SPLIT, (text, { sep, maxsplit }) => rsplit(text, sep, maxsplit)],
  rstrip: [{ chars: null }, (text, { chars }) => strip(text, chars, 'r')],
  split: [SPLIT, (text, { sep, maxsplit }) => split(text, sep, maxsplit)],
  splitlines: [{ keepends: false }, (text, { keepends }) => splitLines(text, truthy(keepends))],
  startswith: edge('startsWith'),
  strip: [{ chars: null }, (text, { chars }) => strip(text, chars)],
  swapcase: [{}, swapCase],
  title: [{}, title],
  upper: [{}, (text) => text.toUpperCase()],
  zfill: [
    { width: REQUIRED },
    (text, { width }) => {
      const sign = /^[-+]?/u.exec(text)?.[0] ?? '';
      return sign + padded(text.slice(sign.length), Number(width) - sign.length, '0', (missing) => missing);
    },
  ],
};

/** Methods that Python has and this has not. */
const MISSING = ['encode', 'expandtabs', 'format_map', 'isprintable', 'maketrans', 'translate'];

/**
 * The method of a text, or undefined where Python has none of that name.
 * @param {string} name
 * @returns {((text: string, args: Value[], named: import('./values.js').Named) => Value) | undefined}
 */
export function textMethod(name) {
  if (name === 'format') return formatBraces;
  if (MISSING.includes(name)) return () => unsupported(`the method ${name}() of a text`);
  if (!Object.hasOwn(METHODS, name)) return undefined;
  const [wanted, run] = METHODS[name];
  return (text, args, named) => {
    if (named.size && !name.includes('split')) fail(`${name}() takes no arguments by name`);
    return run(text, bind(name, wanted, args, named));
  };
}
