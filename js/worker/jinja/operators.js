// Operators, attributes, items and slices as Python has them, and as Jinja2's sandbox allows.
import { formatPercent } from './format.js';
import { textMethod } from './text.js';
import {
  Callable,
  Dict,
  Group,
  Markup,
  Namespace,
  REQUIRED,
  Range,
  Tuple,
  Undefined,
  View,
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
  listOf,
  str,
  typeName,
  unsupported,
} from './values.js';

/** @typedef {import('./values.js').Value} Value */

/** @param {Value[]} values of which none may be undefined */
function defined(...values) {
  for (const value of values) if (value instanceof Undefined) fail(value.reason, value.kind);
}

/**
 * Python's quotient and rest of floats: the quotient goes towards minus infinity, the rest has the divisor's sign.
 * @param {number} a
 * @param {number} b
 */
function divideFloats(a, b) {
  const rest = a % b;
  const lower = rest !== 0 && rest < 0 !== b < 0;
  const exact = (a - rest) / b - (lower ? 1 : 0);
  const floor = Math.floor(exact);
  const quotient = exact === 0 ? 0 * (a / b) : exact - floor > 0.5 ? floor + 1 : floor;
  return { quotient, rest: rest === 0 ? 0 * b : lower ? rest + b : rest };
}

/**
 * The same of ints.
 * @param {bigint} a
 * @param {bigint} b
 */
function divideInts(a, b) {
  const lower = a % b !== 0n && a < 0n !== b < 0n;
  return { quotient: a / b - (lower ? 1n : 0n), rest: (a % b) + (lower ? b : 0n) };
}

/**
 * @param {Value} a
 * @param {Value} b
 * @returns {{ quotient: Value, rest: Value }}
 */
const divide = (a, b) => (typeof a === 'number' ? divideFloats(a, b) : divideInts(a, b));

/**
 * Powers of floats are refused where they may not be exact: JavaScript rounds them in its own way.
 * @param {Value} a
 * @param {Value} b
 */
function power(a, b) {
  if (typeof a === 'bigint') return b < 0n ? 1 / Number(a ** -(/** @type {bigint} */ (b))) : a ** b;
  const exact = Number.isInteger(a) && Number.isInteger(b) && b >= 0 && Math.abs(a ** b) <= Number.MAX_SAFE_INTEGER;
  return exact ? a ** b : unsupported('a power of floats');
}

/** @type {Record<string, (a: Value, b: Value) => Value>} of numbers */
const ARITHMETIC = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => Number(a) / Number(b),
  '//': (a, b) => divide(a, b).quotient,
  '%': (a, b) => divide(a, b).rest,
  '**': power,
};

/**
 * A text or a list so many times.
 * @param {Value} value
 * @param {Value} times
 */
function repeated(value, times) {
  const n = Math.max(0, Number(times));
  if (n * Math.max(1, value.length) > 1e7) fail(`${n} times a ${typeName(value)} is too much`);
  if (typeof value === 'string') return value.repeat(n);
  return value.constructor.from(Array.from({ length: n }, () => [...value]).flat());
}

/**
 * @param {string} operator
 * @param {Value} a
 * @param {Value} b
 * @returns {Value}
 */
export function calculate(operator, a, b) {
  if (operator === '%' && typeof a === 'string') return formatPercent(a, b);
  defined(a, b);
  if (isNumber(a) && isNumber(b)) {
    if (/[/%]/u.test(operator) && Number(b) === 0) fail('division by zero');
    const float = typeof a === 'number' || typeof b === 'number';
    const [left, right] = float ? [Number(a), Number(b)] : [BigInt(a), BigInt(b)];
    if (operator === '**' && Number(a) === 0 && Number(b) < 0) fail('0 to a negative power');
    return ARITHMETIC[operator](left, right);
  }
  if (a instanceof Markup || b instanceof Markup)
    unsupported(`'${operator}' of a text that went through safe or escape`);
  const lists = Array.isArray(a) && Array.isArray(b) && a instanceof Tuple === b instanceof Tuple;
  if (operator === '+' && typeof a === 'string' && typeof b === 'string') return a + b;
  if (operator === '+' && lists) return a.concat(b);
  if (operator === '*') {
    const many = (/** @type {Value} */ value) => typeof value === 'string' || Array.isArray(value);
    if (many(a) && isInt(b)) return repeated(a, b);
    if (many(b) && isInt(a)) return repeated(b, a);
  }
  return fail(`unsupported operand types for ${operator}: ${typeName(a)} and ${typeName(b)}`);
}

/**
 * @param {string} sign
 * @param {Value} value
 */
export function signed(sign, value) {
  defined(value);
  if (!isNumber(value)) return fail(`a ${typeName(value)} behind ${sign}`);
  const number = typeof value === 'number' ? value : BigInt(value);
  return sign === '-' ? -number : number;
}

/**
 * @param {Value} item
 * @param {Value} container
 */
export function contains(container, item) {
  if (isText(container)) {
    if (!isText(item)) return fail(`'in <str>' wants a str, not a ${typeName(item)}`);
    return str(container).includes(str(item));
  }
  if (container instanceof Dict || (container instanceof View && container.kind === 'dict_keys')) hashOf(item);
  if (container instanceof Dict) return container.has(item);
  if (itemsOf(container) === null) return fail(`'in' of a ${typeName(container)}`);
  return listOf(container).some((one) => equal(one, item));
}

/** @type {Record<string, (a: Value, b: Value) => boolean>} */
const COMPARISONS = {
  '==': equal,
  '!=': (a, b) => !equal(a, b),
  '<': (a, b) => compare(a, b) < 0,
  '<=': (a, b) => compare(a, b) <= 0,
  '>': (a, b) => compare(a, b) > 0,
  '>=': (a, b) => compare(a, b) >= 0,
  in: (a, b) => contains(b, a),
  'not in': (a, b) => !contains(b, a),
};

/**
 * @param {string} operator
 * @param {Value} a
 * @param {Value} b
 */
export const compared = (operator, a, b) => COMPARISONS[operator](a, b);

/** @type {Record<string, [Record<string, Value>, (dict: Dict, bound: Record<string, Value>) => Value]>} */
const DICT_METHODS = {
  get: [{ key: REQUIRED, default: null }, (dict, { key, default: usual }) => (dict.has(key) ? dict.get(key) : usual)],
  keys: [{}, (dict) => new View('dict_keys', dict.keys())],
  values: [
    {},
    (dict) =>
      new View(
        'dict_values',
        dict.items().map(([, value]) => value),
      ),
  ],
  items: [
    {},
    (dict) =>
      new View(
        'dict_items',
        dict.items().map((pair) => Tuple.from(pair)),
      ),
  ],
  copy: [{}, (dict) => new Dict(dict.items())],
};

/** @type {Record<string, [Record<string, Value>, (list: Value[], bound: Record<string, Value>) => Value]>} */
const LIST_METHODS = {
  count: [{ value: REQUIRED }, (list, { value }) => BigInt(list.filter((one) => equal(one, value)).length)],
  index: [
    { value: REQUIRED },
    (list, { value }) => {
      const at = list.findIndex((one) => equal(one, value));
      return at < 0 ? fail('the value is not in the list') : BigInt(at);
    },
  ],
  copy: [{}, (list) => [...list]],
};

/** What would change a value: the sandbox forbids it. */
const FORBIDDEN = {
  dict: ['clear', 'pop', 'popitem', 'setdefault', 'update'],
  list: ['append', 'clear', 'extend', 'insert', 'pop', 'remove', 'reverse', 'sort'],
};

/** What Python's numbers have and these have not. */
const OF_NUMBERS = [
  ...[
    'as_integer_ratio',
    'bit_count',
    'bit_length',
    'conjugate',
    'denominator',
    'from_bytes',
    'fromhex',
    'hex',
    'imag',
  ],
  ...['is_integer', 'numerator', 'real', 'to_bytes'],
];

/**
 * @param {Record<string, [Record<string, Value>, (self: any, bound: Record<string, Value>) => Value]>} methods
 * @param {Value} self
 * @param {string} name
 */
function methodOf(methods, self, name) {
  if (!Object.hasOwn(methods, name)) return undefined;
  const [wanted, run] = methods[name];
  return new Callable(name, (args, named) => {
    if (named.size) fail(`${name}() takes no arguments by name`);
    return run(self, bind(name, wanted, args, named));
  });
}

/**
 * What Python's getattr() finds, or undefined.
 * @param {Value} self
 * @param {string} name
 * @returns {Value}
 */
function pythonAttribute(self, name) {
  if (typeof self === 'string') {
    const method = textMethod(name);
    return method && new Callable(name, (args, named) => method(self, args, named));
  }
  if (self instanceof Markup)
    return textMethod(name) && unsupported(`${name}() of a text that went through safe or escape`);
  const type = typeName(self);
  if (/** @type {Record<string, string[]>} */ (FORBIDDEN)[type]?.includes(name)) {
    return new Undefined(`the method ${name}() of a ${type} changes it: templates may not`, 'runtime');
  }
  if (self instanceof Dict) {
    return name === 'fromkeys' ? unsupported('the method fromkeys() of a dict') : methodOf(DICT_METHODS, self, name);
  }
  if (self instanceof Group && (name === 'grouper' || name === 'list')) return self[name === 'list' ? 1 : 0];
  if (Array.isArray(self)) {
    return type === 'tuple' && name === 'copy' ? undefined : methodOf(LIST_METHODS, self, name);
  }
  if (self instanceof Namespace) return self.values.get(name);
  if (self instanceof Callable && Object.hasOwn(self.attributes, name)) {
    const value = self.attributes[name];
    return typeof value === 'function' ? value() : value;
  }
  if (isNumber(self) && OF_NUMBERS.includes(name)) return unsupported(`the attribute '${name}' of a ${type}`);
  return undefined;
}

/**
 * value.name: Python's attribute first, then the key.
 * @param {Value} self
 * @param {string} name
 * @returns {Value}
 */
export function attribute(self, name) {
  defined(self);
  const found = pythonAttribute(self, name);
  if (found !== undefined) return found;
  if (self instanceof Dict && self.has(name)) return self.get(name);
  return new Undefined(`${typeName(self)} has no attribute '${name}'`);
}

/**
 * @param {Value} self
 * @param {string} name
 * @returns {Value} without the keys of a dict
 */
export const attributeOnly = (self, name) =>
  pythonAttribute(self, name) ?? new Undefined(`${typeName(self)} has no attribute '${name}'`);

/**
 * value[key]: the item first, then Python's attribute.
 * @param {Value} self
 * @param {Value} key
 * @returns {Value}
 */
export function item(self, key) {
  defined(self);
  const missing = () => {
    const found = typeof key === 'string' ? pythonAttribute(self, key) : undefined;
    return (
      found ?? new Undefined(`${typeName(self)} has no element ${typeof key === 'string' ? `'${key}'` : str(key)}`)
    );
  };
  if (self instanceof Dict) {
    if (key === null || typeof key !== 'object' || key instanceof Tuple || key instanceof Markup) {
      return self.has(key) ? self.get(key) : missing();
    }
    return missing();
  }
  const list = isText(self)
    ? charsOf(str(self))
    : Array.isArray(self)
      ? self
      : self instanceof Range
        ? self.items
        : null;
  if (!list || !isInt(key)) return missing();
  const at = Number(key) < 0 ? Number(key) + list.length : Number(key);
  return at >= 0 && at < list.length ? list[at] : missing();
}

/**
 * value[start:stop:step].
 * @param {Value} self
 * @param {Value} start
 * @param {Value} stop
 * @param {Value} step
 * @returns {Value}
 */
export function slice(self, start, stop, step) {
  defined(self);
  if (self instanceof Range) return unsupported('a slice of a range');
  const text = isText(self);
  if (!text && !Array.isArray(self)) return fail(`a ${typeName(self)} has no slices`);
  const whole = [start, stop, step].every((bound) => bound === null || isInt(bound));
  if (!whole) fail('the bounds of a slice are whole numbers');
  const list = text ? charsOf(str(self)) : self;
  const by = step === null ? 1 : Number(step);
  if (by === 0) fail('slice step cannot be zero');
  const [least, most] = by > 0 ? [0, list.length] : [-1, list.length - 1];
  const place = (/** @type {Value} */ at, /** @type {number} */ usual) =>
    at === null ? usual : Math.max(least, Math.min(most, Number(at) < 0 ? Number(at) + list.length : Number(at)));
  const taken = text || !(self instanceof Tuple) ? [] : new Tuple();
  const to = place(stop, by > 0 ? most : least);
  for (let at = place(start, by > 0 ? least : most); by > 0 ? at < to : at > to; at += by) taken.push(list[at]);
  return text ? taken.join('') : taken;
}

/**
 * value(...).
 * @param {Value} self
 * @param {Value[]} args
 * @param {import('./values.js').Named} named
 */
export function called(self, args, named) {
  if (self instanceof Undefined) fail(`${self.reason}: it is not a function`);
  return self instanceof Callable ? self.call(args, named) : fail(`a ${typeName(self)} is not a function`);
}
