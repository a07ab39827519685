// Jinja2's tests: what stands behind 'is'.
import { calculate, compared, contains } from './operators.js';
import {
  Callable,
  Dict,
  Markup,
  Range,
  REQUIRED,
  Undefined,
  bind,
  fail,
  isNumber,
  isText,
  itemsOf,
  str,
  unsupported,
} from './values.js';

/** @typedef {import('./values.js').Value} Value */
/** @typedef {(value: Value, args: Value[], named: import('./values.js').Named) => Value} Test */

/** @type {Record<string, string>} */
const COMPARING = {
  eq: '==',
  equalto: '==',
  '==': '==',
  ne: '!=',
  '!=': '!=',
  lt: '<',
  lessthan: '<',
  '<': '<',
  le: '<=',
  '<=': '<=',
  gt: '>',
  greaterthan: '>',
  '>': '>',
  ge: '>=',
  '>=': '>=',
};

/**
 * @param {Value} value
 * @param {Value} by
 */
const remainder = (value, by) => calculate('%', value, by);

/**
 * Whether a text has letters of one case and none of the other.
 * @param {Value} value
 * @param {RegExp} wanted
 * @param {RegExp} other
 */
const lettersOf = (value, wanted, other) => wanted.test(str(value)) && !other.test(str(value));

/** @param {Value} value */
const isSequence = (value) =>
  isText(value) || Array.isArray(value) || [Dict, Range, Undefined].some((kind) => value instanceof kind);

/** @type {Record<string, (value: Value) => boolean>} of the value alone */
const PLAIN = {
  boolean: (value) => typeof value === 'boolean',
  callable: (value) => value instanceof Callable || value instanceof Undefined,
  defined: (value) => !(value instanceof Undefined),
  escaped: (value) => value instanceof Markup,
  even: (value) => compared('==', remainder(value, 2n), 0n),
  false: (value) => value === false,
  float: (value) => typeof value === 'number',
  integer: (value) => typeof value === 'bigint',
  iterable: (value) => itemsOf(value) !== null,
  lower: (value) => lettersOf(value, /\p{Lowercase}/u, /\p{Lu}|\p{Lt}/u),
  mapping: (value) => value instanceof Dict,
  none: (value) => value === null,
  number: isNumber,
  odd: (value) => compared('==', remainder(value, 2n), 1n),
  sequence: isSequence,
  string: isText,
  true: (value) => value === true,
  undefined: (value) => value instanceof Undefined,
  upper: (value) => lettersOf(value, /\p{Uppercase}/u, /\p{Ll}|\p{Lt}/u),
};

/** @type {Record<string, [Record<string, Value>, (value: Value, bound: Record<string, Value>) => boolean]>} */
const WITH_ARGUMENTS = {
  divisibleby: [{ num: REQUIRED }, (value, { num }) => compared('==', remainder(value, num), 0n)],
  in: [{ seq: REQUIRED }, (value, { seq }) => contains(seq, value)],
  sameas: [
    { other: REQUIRED },
    (value, { other }) => {
      const plain = (/** @type {Value} */ one) => one === null || typeof one === 'boolean';
      return plain(value) || plain(other)
        ? value === other
        : unsupported('the test sameas of what is not True, False or None');
    },
  ],
};

for (const [name, operator] of Object.entries(COMPARING)) {
  WITH_ARGUMENTS[name] = [{ b: REQUIRED }, (value, { b }) => compared(operator, value, b)];
}

/** @type {Record<string, Test>} */
export const TESTS = {
  filter: () => unsupported('the test filter'),
  test: () => unsupported('the test test'),
};
for (const [name, test] of Object.entries(PLAIN)) {
  TESTS[name] = (value, args, named) => (bind(name, {}, args, named), test(value));
}
for (const [name, [wanted, test]] of Object.entries(WITH_ARGUMENTS)) {
  TESTS[name] = (value, args, named) => test(value, bind(name, wanted, args, named));
}

/**
 * @param {string} name
 * @returns {Test}
 */
export const testOf = (name) => (Object.hasOwn(TESTS, name) ? TESTS[name] : fail(`there is no test: ${name}`));
