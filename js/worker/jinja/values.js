// Python's values in JavaScript. A text is a string (its length counted in code points), an int a BigInt, a float a number,
// a list an Array; for the rest there are the classes here. What Jinja2 would not do, or this does not do, is a Fault.

/** @typedef {any} Value */
/** @typedef {Map<string, Value>} Named arguments given by name */

/** Python's white space, which is not JavaScript's, as a class of a pattern. */
export const WHITE = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';

/** kind: 'syntax', 'raised' (by the template), 'undefined' (a key that is missing), 'runtime', 'unsupported' (by us). */
export class Fault extends Error {
  /**
   * @param {string} kind
   * @param {string} message
   * @param {number} line of the template; 0: not known yet
   */
  constructor(kind, message, line = 0) {
    super(message);
    this.kind = kind;
    this.line = line;
  }
}

/**
 * @param {string} message
 * @param {string} [kind]
 * @param {number} [line]
 * @returns {never}
 */
export function fail(message, kind = 'runtime', line = 0) {
  throw new Fault(kind, message, line);
}

/**
 * @param {string} what
 * @returns {never}
 */
export const unsupported = (what) => fail(`${what} is not supported`, 'unsupported');

export class Tuple extends Array {}

/** An item of groupby. */
export class Group extends Tuple {}

/** What a name or key stands for that is not there: empty text, false, no items; all else fails. */
export class Undefined {
  /**
   * @param {string} reason
   * @param {string} [kind] of the fault
   */
  constructor(reason, kind = 'undefined') {
    this.reason = reason;
    this.kind = kind;
  }
}

/** Text of safe and escape, which escapes what is added to it: that is left to those who need it. */
export class Markup {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

/** A dict. Keys that are equal in Python (1, 1.0, True) are one key. */
export class Dict {
  /** @type {Map<string, [Value, Value]>} */
  #items = new Map();

  /** @param {Iterable<[Value, Value]>} [items] */
  constructor(items = []) {
    for (const [key, value] of items) this.set(key, value);
  }

  /**
   * @param {Value} key
   * @param {Value} value
   */
  set(key, value) {
    const hash = hashOf(key);
    this.#items.set(hash, [this.#items.get(hash)?.[0] ?? key, value]);
  }

  /** @param {Value} key */
  get(key) {
    return this.#items.get(hashOf(key))?.[1];
  }

  /** @param {Value} key */
  has(key) {
    return this.#items.has(hashOf(key));
  }

  get size() {
    return this.#items.size;
  }

  /** @returns {Value[]} */
  keys() {
    return this.items().map(([key]) => key);
  }

  items() {
    return [...this.#items.values()];
  }
}

/** What keys(), values() and items() give: kind is dict_keys and so on. */
export class View {
  /**
   * @param {string} kind
   * @param {Value[]} items
   */
  constructor(kind, items) {
    this.kind = kind;
    this.items = items;
  }
}

export class Range {
  /**
   * @param {bigint} start
   * @param {bigint} stop
   * @param {bigint} step
   */
  constructor(start, stop, step) {
    this.text = `range(${start}, ${stop}${step === 1n ? '' : `, ${step}`})`;
    /** @type {bigint[]} */
    this.items = [];
    for (let i = start; step > 0n ? i < stop : i > stop; i += step) {
      this.items.push(i);
      if (this.items.length > 100_000) fail(`${this.text}: a range of more than 100000 items`);
    }
  }
}

/** A generator: it is gone through once, and item by item. */
export class Lazy {
  /** @param {Iterator<Value> & Iterable<Value>} items */
  constructor(items) {
    this.items = items;
  }
}

/** namespace(): the only value that a template changes. */
export class Namespace {
  /** @param {Dict} values */
  constructor(values) {
    this.values = values;
  }
}

/** Functions, methods, macros: what can be called. */
export class Callable {
  /**
   * @param {string} name
   * @param {(args: Value[], named: Named) => Value} call
   * @param {Record<string, Value>} [attributes]
   */
  constructor(name, call, attributes = {}) {
    this.name = name;
    this.call = call;
    this.attributes = attributes;
  }
}

export const isText = (/** @type {Value} */ value) => typeof value === 'string' || value instanceof Markup;
export const isInt = (/** @type {Value} */ value) => typeof value === 'bigint' || typeof value === 'boolean';
export const isNumber = (/** @type {Value} */ value) => isInt(value) || typeof value === 'number';
/** @param {string} text */
export const charsOf = (text) => Array.from(text);

/**
 * @param {Value} key
 * @returns {string} the same for equal keys only
 */
export function hashOf(key) {
  if (isText(key)) return `s${str(key)}`;
  if (isInt(key)) return `n${BigInt(key)}`;
  if (typeof key === 'number') return `n${Number.isInteger(key) ? BigInt(key) : key}`;
  if (key === null) return 'N';
  if (key instanceof Undefined) return 'u';
  if (key instanceof Tuple) return `t${JSON.stringify(Array.from(key, hashOf))}`;
  return fail(`a ${typeName(key)} as a key`);
}

/** @param {Value} value */
export function typeName(value) {
  if (value === null) return 'None';
  if (isText(value)) return 'str';
  const type = { bigint: 'int', number: 'float', boolean: 'bool' }[/** @type {string} */ (typeof value)];
  if (type) return type;
  if (value instanceof Tuple) return 'tuple';
  if (Array.isArray(value)) return 'list';
  return value instanceof View ? value.kind : value.constructor.name.toLowerCase();
}

/**
 * What JSON or a structured clone holds, as values. A number without a fraction is an int: JavaScript knows no 1.0, which
 * comes as a Number object.
 * @param {unknown} value
 * @returns {Value}
 */
export function fromJs(value) {
  if (typeof value === 'number') return Number.isInteger(value) && Math.abs(value) < 1e21 ? BigInt(value) : value;
  if (value instanceof Number) return Number(value);
  if (value === undefined) return null;
  if (Array.isArray(value)) return value.map(fromJs);
  if (typeof value !== 'object' || value === null) return value;
  return new Dict(Object.entries(value).map(([key, item]) => [key, fromJs(item)]));
}

/** @param {Value} value */
export function truthy(value) {
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Undefined) return false;
  if (value instanceof Dict) return value.size > 0;
  if (value instanceof Markup) return value.text !== '';
  if (value instanceof View || value instanceof Range) return value.items.length > 0;
  return Boolean(value);
}

/**
 * The items of a value, or null where it has none.
 * @param {Value} value
 * @returns {Iterable<Value> | null}
 */
export function itemsOf(value) {
  if (Array.isArray(value)) return value;
  if (isText(value)) return charsOf(str(value));
  if (value instanceof Dict) return value.keys();
  if (value instanceof Undefined) return [];
  if (value instanceof Lazy || value instanceof View || value instanceof Range) return value.items;
  return null;
}

/**
 * @param {Value} value
 * @returns {Iterable<Value>}
 */
export const iterate = (value) => itemsOf(value) ?? fail(`'${typeName(value)}' object is not iterable`);

/** @param {Value} value */
export const listOf = (value) => Array.from(iterate(value));

/** @param {Value} value */
export function lengthOf(value) {
  if (value instanceof Lazy || itemsOf(value) === null) return fail(`a ${typeName(value)} has no length`);
  return BigInt(listOf(value).length);
}

/**
 * @param {Value} a
 * @param {Value} b
 * @returns {boolean}
 */
export function equal(a, b) {
  if (isNumber(a) && isNumber(b)) return compare(a, b) === 0;
  if (isText(a) && isText(b)) return str(a) === str(b);
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Range && b instanceof Range) return equal(a.items, b.items);
  if (Array.isArray(a) && Array.isArray(b)) {
    const same = a instanceof Tuple === b instanceof Tuple && a.length === b.length;
    return same && a.every((item, i) => equal(item, b[i]));
  }
  if (a instanceof Dict && b instanceof Dict) {
    return a.size === b.size && a.items().every(([key, item]) => b.has(key) && equal(item, b.get(key)));
  }
  if (a instanceof View && b instanceof View) unsupported('a comparison of views');
  return a === b;
}

/**
 * @param {Value} a
 * @param {Value} b
 * @returns {number} below, at or above 0; NaN where a NaN is compared
 */
export function compare(a, b) {
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : a <= b ? 0 : NaN;
  if (isText(a) && isText(b)) return compareTexts(str(a), str(b));
  if (Array.isArray(a) && Array.isArray(b) && a instanceof Tuple === b instanceof Tuple) {
    const at = a.findIndex((item, i) => i >= b.length || !equal(item, b[i]));
    if (at < 0) return a.length - b.length;
    return at < b.length ? compare(a[at], b[at]) : 1;
  }
  for (const one of [a, b]) if (one instanceof Undefined) fail(one.reason, one.kind);
  return fail(`'<' of a ${typeName(a)} and a ${typeName(b)}`);
}

/**
 * By code points: JavaScript's own order is that of UTF-16.
 * @param {string} a
 * @param {string} b
 */
function compareTexts(a, b) {
  const [left, right] = [charsOf(a), charsOf(b)];
  const at = left.findIndex((char, i) => char !== right[i]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? Number(left[at].codePointAt(0)) - Number(right[at].codePointAt(0)) : 1;
}

/**
 * Python's repr of a float.
 * @param {number} value
 */
export function floatText(value) {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const [digits, power] = value.toExponential().split('e');
  const exponent = Number(power);
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return text.includes('.') ? text : `${text}.0`;
}

/** @type {Record<string, string>} */
const SHORT = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' };

/** @param {string} text */
function quoted(text) {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text.replace(/[\\'"]|(?! )[\p{C}\p{Z}]/gu, (char) => {
    if (char === "'" || char === '"') return char === quote ? `\\${char}` : char;
    const code = /** @type {number} */ (char.codePointAt(0)).toString(16);
    const form = code.length < 3 ? `x${code.padStart(2, '0')}` : code.length < 5 ? `u${code.padStart(4, '0')}` : '';
    return SHORT[char] ?? `\\${form || `U${code.padStart(8, '0')}`}`;
  });
  return quote + body + quote;
}

/**
 * Python's repr().
 * @param {Value} value
 * @returns {string}
 */
export function repr(value) {
  if (typeof value === 'string') return quoted(value);
  if (value instanceof Markup) return `Markup(${quoted(value.text)})`;
  if (value === null) return 'None';
  if (value === true || value === false) return value ? 'True' : 'False';
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return floatText(value);
  if (value instanceof Tuple) return `(${Array.from(value, repr).join(', ')}${value.length === 1 ? ',' : ''})`;
  if (Array.isArray(value)) return `[${value.map(repr).join(', ')}]`;
  if (value instanceof Dict)
    return `{${value
      .items()
      .map((pair) => pair.map(repr).join(': '))
      .join(', ')}}`;
  if (value instanceof View) return `${value.kind}(${repr(value.items)})`;
  if (value instanceof Range) return value.text;
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Namespace) return `<Namespace ${repr(value.values)}>`;
  const name = value instanceof Callable ? `${value.name}() without its call` : `a ${typeName(value)}`;
  return unsupported(`${name} as text`);
}

/**
 * Python's str(): what {{ }} writes.
 * @param {Value} value
 */
export function str(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Markup) return value.text;
  return value instanceof Undefined ? '' : repr(value);
}

/** In place of a default: the argument must be given. */
export const REQUIRED = Symbol('required');

/**
 * Arguments by position and by name, as one object with the defaults put in.
 * @param {string} name of what is called
 * @param {Record<string, Value>} wanted parameters in their order, with their defaults
 * @param {Value[]} args
 * @param {Named} named
 * @returns {Record<string, Value>}
 */
export function bind(name, wanted, args, named) {
  const names = Object.keys(wanted);
  if (args.length > names.length) fail(`${name}() takes ${names.length} arguments, got ${args.length}`);
  const bound = { ...wanted };
  args.forEach((value, i) => (bound[names[i]] = value));
  for (const [key, value] of named) {
    if (!names.includes(key) || names.indexOf(key) < args.length)
      fail(`${name}() got an argument '${key}' that it cannot take`);
    bound[key] = value;
  }
  for (const key of names) if (bound[key] === REQUIRED) fail(`${name}() lacks its argument '${key}'`);
  return bound;
}
