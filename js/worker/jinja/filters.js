// Jinja2's filters. Those that Jinja2 makes generators of are generators here: gone through item by item, and once.
import { fixed, formatPercent } from './format.js';
import { toJson } from './json.js';
import { attribute, attributeOnly, calculate, item, signed } from './operators.js';
import { testOf } from './tests.js';
import { capitalize, center, replace, reversed, rsplit, splitLines, strip, textOf } from './text.js';
import {
  Dict,
  Group,
  Lazy,
  Markup,
  REQUIRED,
  Tuple,
  Undefined,
  WHITE,
  bind,
  charsOf,
  compare,
  equal,
  fail,
  hashOf,
  isInt,
  isNumber,
  isText,
  itemsOf,
  iterate,
  lengthOf,
  listOf,
  str,
  truthy,
  typeName,
  unsupported,
} from './values.js';

/** @typedef {import('./values.js').Value} Value */
/** @typedef {import('./values.js').Named} Named */
/** @typedef {Record<string, Value>} Bound */
/** @typedef {(value: Value, args: Value[], named: Named) => Value} Filter */

/** @param {Value} value a text, or whatever as text */
const soft = (value) =>
  value instanceof Markup ? unsupported('a filter of what went through safe or escape') : str(value);

/**
 * What 'a.b.0' takes out of an item.
 * @param {Value} path null: the item itself
 * @param {Value} [usual] in place of what is undefined
 * @returns {(value: Value) => Value}
 */
function getter(path, usual) {
  const parts = isText(path) ? str(path).split('.') : path === null ? [] : [path];
  return (value) => {
    for (const part of parts) {
      value = item(value, typeof part === 'string' && /^\d+$/u.test(part) ? BigInt(part) : part);
      if (value instanceof Undefined && usual !== undefined && usual !== null) value = usual;
    }
    return value;
  };
}

/**
 * What things are sorted and told apart by.
 * @param {Value} path
 * @param {Value} caseSensitive
 * @returns {(value: Value) => Value}
 */
function keyOf(path, caseSensitive) {
  const get = getter(path);
  const fold = (/** @type {Value} */ value) =>
    isText(value) && !truthy(caseSensitive) ? str(value).toLowerCase() : value;
  return (value) => fold(get(value));
}

/**
 * @param {Value[]} list
 * @param {(value: Value) => Value} key
 * @param {boolean} [backwards] equal ones keep their order all the same
 */
function sorted(list, key, backwards = false) {
  const keyed = list.map((value) => ({ value, key: key(value) }));
  const order = backwards ? -1 : 1;
  return keyed.sort((a, b) => order * compare(a.key, b.key)).map(({ value }) => value);
}

/** @param {Value} value @param {Bound} bound @param {number} sign */
function extreme(value, { case_sensitive, attribute: path }, sign) {
  const key = keyOf(path, case_sensitive);
  const list = listOf(value);
  if (list.length === 0) return new Undefined('no items, so none is the least or greatest');
  return list.reduce((best, one) => (sign * compare(key(one), key(best)) > 0 ? one : best));
}

/** @param {Value} value @param {Bound} bound */
function grouped(value, { attribute: path, default: usual, case_sensitive }) {
  const [get, key] = [getter(path, usual), keyOf(null, case_sensitive)];
  const by = (/** @type {Value} */ one) => key(get(one));
  /** @type {Value[]} */
  const groups = [];
  let last;
  for (const one of sorted(listOf(value), by)) {
    if (groups.length === 0 || !equal(last, by(one))) groups.push(Group.of(get(one), []));
    last = by(one);
    groups.at(-1)[1].push(one);
  }
  return groups;
}

/**
 * @param {Value} value none, false and the like have no items
 */
const itemsIn = (value) => (truthy(value) ? iterate(value) : []);

/** @param {Iterable<Value>} items @param {(value: Value) => Value} keep */
function* kept(items, keep) {
  for (const one of items) if (truthy(keep(one))) yield one;
}

/** @param {Iterable<Value>} items @param {(value: Value) => Value} change */
function* mapped(items, change) {
  for (const one of items) yield change(one);
}

/**
 * @param {string} name
 * @param {boolean} wanted what the test is to say
 * @param {boolean} ofAttribute whether the first argument is an attribute
 * @returns {Filter}
 */
const selecting = (name, wanted, ofAttribute) => (value, args, named) => {
  const [path, ...rest] = ofAttribute ? args : [null, ...args];
  if (ofAttribute && args.length === 0) fail(`${name}() lacks the attribute`);
  const [test, ...given] = rest;
  const get = getter(path);
  const run = rest.length ? testOf(textOf(test, 'the name of a test')) : truthy;
  return new Lazy(kept(itemsIn(value), (one) => truthy(run(get(one), given, named)) === wanted));
};

/** @type {Filter} */
function map(value, args, named) {
  if (args.length === 0 && named.has('attribute')) {
    const { attribute: path, default: usual } = bind('map', { attribute: null, default: null }, args, named);
    return new Lazy(mapped(itemsIn(value), getter(path, usual)));
  }
  const [name = fail('map() lacks the name of a filter'), ...rest] = args;
  const filter = filterOf(textOf(name, 'the name of a filter'));
  return new Lazy(mapped(itemsIn(value), (one) => filter(one, rest, named)));
}

/** @param {Value} value @param {Bound} bound */
function indented(value, { width, first, blank }) {
  const inset = isText(width) ? str(width) : ' '.repeat(Math.max(0, Number(width)));
  const lines = splitLines(`${textOf(value, 'what is indented')}\n`);
  const rest = lines.slice(1).map((line) => (line || truthy(blank) ? inset + line : line));
  return (truthy(first) ? inset : '') + [lines[0], ...rest].join('\n');
}

/** @param {Value} value @param {Bound} bound */
function truncated(value, { length, killwords, end, leeway }) {
  const text = value instanceof Undefined ? '' : textOf(value, 'what is truncated');
  const chars = charsOf(text);
  if (chars.length <= Number(length) + Number(leeway ?? 5)) return text;
  const cut = chars.slice(0, Math.max(0, Number(length) - charsOf(str(end)).length)).join('');
  return (truthy(killwords) ? cut : rsplit(cut, ' ', 1n)[0]) + str(end);
}

/**
 * Python's int() of a text, or null.
 * @param {string} text
 * @param {Value} base
 */
function parsedInt(text, base) {
  const match = /^([-+]?)(0[xob])?([\da-z]+(?:_[\da-z]+)*)$/iu.exec(strip(text, null));
  const prefix = { '0x': 16, '0o': 8, '0b': 2 }[match?.[2]?.toLowerCase() ?? ''];
  const radix = Number(base);
  if (!match || (prefix && prefix !== radix)) return null;
  let value = 0n;
  for (const char of match[3].replaceAll('_', '').toLowerCase()) {
    const digit = parseInt(char, 36);
    if (digit >= radix) return null;
    value = value * BigInt(radix) + BigInt(digit);
  }
  return match[1] === '-' ? -value : value;
}

/**
 * Python's float() of a text; NaN where it is none.
 * @param {string} text
 */
function parsedFloat(text) {
  const plain = strip(text, null).replace(/(?<=\d)_(?=\d)/gu, '');
  const infinite = /^([-+]?)inf(?:inity)?$/iu.exec(plain);
  if (infinite) return infinite[1] === '-' ? -Infinity : Infinity;
  return /^[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?$/iu.test(plain) ? Number(plain) : NaN;
}

/** @param {Value} value @param {Bound} bound */
function toInt(value, { default: usual, base }) {
  if (value instanceof Undefined) fail(value.reason, value.kind);
  if (isInt(value)) return BigInt(value);
  const whole = isText(value) ? parsedInt(str(value), base) : null;
  if (whole !== null) return whole;
  const float = isText(value) ? parsedFloat(str(value)) : value;
  return typeof float === 'number' && Number.isFinite(float) ? BigInt(Math.trunc(float)) : usual;
}

/** @param {Value} value @param {Bound} bound */
function toFloat(value, { default: usual }) {
  if (value instanceof Undefined) fail(value.reason, value.kind);
  if (isNumber(value)) return Number(value);
  const float = isText(value) ? parsedFloat(str(value)) : NaN;
  return Number.isNaN(float) && !(isText(value) && /^\s*[-+]?nan\s*$/iu.test(str(value))) ? usual : float;
}

/** @param {Value} value @param {Bound} bound */
function round(value, { precision, method }) {
  if (!isNumber(value)) fail(`round of a ${typeName(value)}`);
  if (!['common', 'ceil', 'floor'].includes(method)) fail('method must be common, ceil or floor');
  const [number, digits] = [Number(value), Number(precision)];
  if (method === 'common') {
    if (digits < 0) return unsupported('round with a negative precision');
    if (isInt(value)) return BigInt(value);
    return Number.isFinite(number) ? Number(fixed(number, digits)) : number;
  }
  const scale = 10 ** digits;
  return ((method === 'ceil' ? Math.ceil : Math.floor)(number * scale) + 0) / scale;
}

/** @param {Value} value @param {Bound} bound */
function fileSize(value, { binary }) {
  const bytes = toFloat(value, { default: null }) ?? fail('the size of a file is a number');
  const base = truthy(binary) ? 1024 : 1000;
  const names = ['k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'].map((one) =>
    base === 1024 ? `${one.toUpperCase()}iB` : `${one}B`,
  );
  if (bytes === 1) return '1 Byte';
  if (bytes < base) return `${Math.trunc(bytes)} Bytes`;
  const at = names.findIndex((_, i) => bytes < base ** (i + 2));
  const power = at < 0 ? names.length - 1 : at;
  return `${fixed((base * bytes) / base ** (power + 2), 1)} ${names[power]}`;
}

/** @type {Record<string, string>} */
const HTML = { '&': '&amp;', '<': '&lt;', '>': '&gt;', "'": '&#39;', '"': '&#34;' };
const escapeHtml = (/** @type {string} */ text) => text.replace(/[&<>'"]/gu, (char) => HTML[char]);
const escape = (/** @type {Value} */ value) => (value instanceof Markup ? value : new Markup(escapeHtml(str(value))));

/** @param {Value} value @param {Bound} bound */
function htmlAttributes(value, { autospace }) {
  const items = value instanceof Dict ? value.items() : fail('xmlattr wants a dict');
  const set = items.filter(([, one]) => one !== null && !(one instanceof Undefined));
  if (set.some(([key]) => /[\s/>=]/u.test(str(key)))) fail('a name of xmlattr with blanks, / or =');
  const text = set.map(([key, one]) => `${escapeHtml(str(key))}="${escape(one).text}"`).join(' ');
  return text && truthy(autospace) ? ` ${text}` : text;
}

/** @param {Value} value */
function withoutTags(value) {
  const text = str(value);
  if (text.includes('&')) return unsupported('striptags of a text with &');
  const plain = text.replace(/<!--.*?-->/gsu, '').replace(/<.*?>/gsu, '');
  return plain
    .split(new RegExp(`${WHITE}+`, 'u'))
    .filter(Boolean)
    .join(' ');
}

/** @param {Value} value */
function urlEncoded(value) {
  const quote = (/** @type {string} */ text, /** @type {string} */ safe) =>
    encodeURIComponent(text)
      .replace(/[!'()*]/gu, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
      .replaceAll('%2F', safe);
  const items = isText(value) ? null : itemsOf(value);
  if (!items) return quote(str(value), '/');
  const pairs = value instanceof Dict ? value.items() : [...items];
  const plus = (/** @type {Value} */ one) => quote(str(one), '%2F').replaceAll('%20', '+');
  if (!pairs.every((pair) => Array.isArray(pair) && pair.length === 2)) fail('urlencode wants pairs');
  return pairs.map(([key, one]) => `${plus(key)}=${plus(one)}`).join('&');
}

/** @param {Iterable<Value>} items @param {number} size @param {Value} fill */
function* batches(items, size, fill) {
  let batch = [];
  for (const one of items) {
    if (batch.length === size) {
      yield batch;
      batch = [];
    }
    batch.push(one);
  }
  if (batch.length === 0) return;
  while (fill !== null && batch.length < size) batch.push(fill);
  yield batch;
}

/** @param {Value[]} list @param {number} count @param {Value} fill */
function* slices(list, count, fill) {
  const [size, longer] = [Math.floor(list.length / count), list.length % count];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const part = list.slice(at, at + size + (i < longer ? 1 : 0));
    at += part.length;
    yield fill !== null && i >= longer ? [...part, fill] : part;
  }
}

/** @param {Value} value @param {Bound} bound */
function sortedDict(value, { case_sensitive, by, reverse }) {
  if (by !== 'key' && by !== 'value') fail("dictsort is by 'key' or 'value'");
  const pairs = called(value, 'items').map((pair) => Tuple.from(pair));
  return sorted(pairs, keyOf(by === 'key' ? 0n : 1n, case_sensitive), truthy(reverse));
}

/** @param {Value} value @param {string} what */
const called = (value, what) => {
  if (value instanceof Undefined) fail(value.reason, value.kind);
  return value instanceof Dict ? value.items() : fail(`a ${typeName(value)} has no ${what}`);
};

/** @param {Value} value */
function pairsOf(value) {
  const pairs = value instanceof Undefined ? [] : called(value, 'items').map((pair) => Tuple.from(pair));
  return new Lazy(pairs.values());
}

/** @param {Value} value */
const last = (value) =>
  value instanceof Lazy
    ? fail('a generator has no last item')
    : (listOf(value).at(-1) ?? new Undefined('no last item'));

/** @param {Value} value */
function first(value) {
  for (const one of iterate(value)) return one;
  return new Undefined('no first item');
}

/** @param {Value} value @param {Bound} bound */
function joined(value, { d, attribute: path }) {
  return listOf(value)
    .map(path === null ? (one) => one : getter(path))
    .map(str)
    .join(str(d));
}

/** @param {Value} value @param {Bound} bound */
function unique(value, { case_sensitive, attribute: path }) {
  const key = keyOf(path, case_sensitive);
  const seen = new Set();
  const isNew = (/** @type {Value} */ one) => !seen.has(hashOf(key(one))) && Boolean(seen.add(hashOf(key(one))));
  return new Lazy(kept(iterate(value), isNew));
}

/** @param {Value} value @param {Bound} bound */
function sortedBy(value, { reverse, case_sensitive, attribute: path }) {
  const parts = isText(path) ? str(path).split(',') : [path];
  const keys = parts.map((part) => keyOf(part, case_sensitive));
  return sorted(listOf(value), (one) => keys.map((get) => get(one)), truthy(reverse));
}

/** @type {(value: Value, bound: Bound) => Value} */
const defaulted = (value, { default_value: usual, boolean }) =>
  value instanceof Undefined || (truthy(boolean) && !truthy(value)) ? usual : value;

/** @param {Value} value */
const titled = (value) =>
  soft(value)
    .split(new RegExp(`([-({[<]+|${WHITE}+)`, 'u'))
    .map(capitalize)
    .join('');

/** @type {(value: Value, bound: Bound) => Value} */
const replaced = (value, { old, new: fresh, count }) => replace(soft(value), old, fresh, count ?? -1n);

const DEFAULT = { default_value: '', boolean: false };
const EXTREME = { case_sensitive: false, attribute: null };

/** By name: parameters with their defaults, and what it does. @type {Record<string, [Bound, (value: Value, bound: Bound) => Value]>} */
const BOUND = {
  abs: [{}, (value) => (compare(value, 0n) <= 0 ? signed('-', value) : signed('+', value))],
  attr: [
    { name: REQUIRED },
    (value, { name }) => (value instanceof Dict ? attributeOnly : attribute)(value, str(name)),
  ],
  batch: [
    { linecount: REQUIRED, fill_with: null },
    (value, { linecount, fill_with }) => new Lazy(batches(iterate(value), Number(linecount), fill_with)),
  ],
  capitalize: [{}, (value) => capitalize(soft(value))],
  center: [{ width: 80n }, (value, { width }) => center(soft(value), width)],
  count: [{}, lengthOf],
  d: [DEFAULT, defaulted],
  default: [DEFAULT, defaulted],
  dictsort: [{ case_sensitive: false, by: 'key', reverse: false }, sortedDict],
  e: [{}, escape],
  escape: [{}, escape],
  filesizeformat: [{ binary: false }, fileSize],
  first: [{}, first],
  float: [{ default: 0 }, toFloat],
  forceescape: [{}, (value) => new Markup(escapeHtml(str(value)))],
  groupby: [{ attribute: REQUIRED, default: null, case_sensitive: false }, grouped],
  indent: [{ width: 4n, first: false, blank: false }, indented],
  int: [{ default: 0n, base: 10n }, toInt],
  items: [{}, pairsOf],
  join: [{ d: '', attribute: null }, joined],
  last: [{}, last],
  length: [{}, lengthOf],
  list: [{}, listOf],
  lower: [{}, (value) => soft(value).toLowerCase()],
  max: [EXTREME, (value, bound) => extreme(value, bound, 1)],
  min: [EXTREME, (value, bound) => extreme(value, bound, -1)],
  pprint: [{ verbose: false }, () => unsupported('the filter pprint')],
  random: [{}, () => unsupported('the filter random')],
  replace: [{ old: REQUIRED, new: REQUIRED, count: null }, replaced],
  reverse: [
    {},
    (value) => {
      if (isText(value)) return reversed(str(value));
      return new Lazy(listOf(value).reverse().values());
    },
  ],
  round: [{ precision: 0n, method: 'common' }, round],
  safe: [{}, (value) => new Markup(str(value))],
  slice: [
    { slices: REQUIRED, fill_with: null },
    (value, { slices: count, fill_with }) => new Lazy(slices(listOf(value), Number(count), fill_with)),
  ],
  sort: [{ reverse: false, case_sensitive: false, attribute: null }, sortedBy],
  string: [{}, (value) => (value instanceof Markup ? value : str(value))],
  striptags: [{}, withoutTags],
  sum: [
    { attribute: null, start: 0n },
    (value, { attribute: path, start }) =>
      listOf(value)
        .map(getter(path))
        .reduce((total, one) => calculate('+', total, one), start),
  ],
  title: [{}, titled],
  trim: [{ chars: null }, (value, { chars }) => strip(soft(value), chars)],
  truncate: [{ length: 255n, killwords: false, end: '...', leeway: null }, truncated],
  unique: [EXTREME, unique],
  upper: [{}, (value) => soft(value).toUpperCase()],
  urlencode: [{}, urlEncoded],
  urlize: [{}, () => unsupported('the filter urlize')],
  wordcount: [{}, (value) => BigInt(soft(value).match(/[\p{L}\p{N}_]+/gu)?.length ?? 0)],
  wordwrap: [{}, () => unsupported('the filter wordwrap')],
  xmlattr: [{ autospace: true }, htmlAttributes],
};

/** @type {Record<string, Filter>} */
export const FILTERS = {
  format: (value, args, named) => {
    if (args.length && named.size) fail('format takes values by position or by name, not both');
    return formatPercent(soft(value), named.size ? new Dict(named) : Tuple.from(args));
  },
  map,
  reject: selecting('reject', false, false),
  rejectattr: selecting('rejectattr', false, true),
  select: selecting('select', true, false),
  selectattr: selecting('selectattr', true, true),
  tojson: toJson,
};
for (const [name, [wanted, run]] of Object.entries(BOUND)) {
  FILTERS[name] = (value, args, named) => run(value, bind(name, wanted, args, named));
}

/**
 * @param {string} name
 * @returns {Filter}
 */
export const filterOf = (name) => (Object.hasOwn(FILTERS, name) ? FILTERS[name] : fail(`there is no filter: ${name}`));
