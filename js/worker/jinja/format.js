// Python's two ways to format: '%s-%d' % values and '{} {}'.format(values).
import {
  Dict,
  Markup,
  Tuple,
  View,
  charsOf,
  fail,
  floatText,
  isNumber,
  isText,
  repr,
  str,
  typeName,
  unsupported,
} from './values.js';

/** @typedef {import('./values.js').Value} Value */
/**
 * flags: '-', '+', ' ', '0', '#'; align: '<', '>', '^', '=' or ''.
 * @typedef {{ fill: string, align: string, sign: string, alternate: boolean, width: number, comma: string,
 *   precision: number | null, type: string }} Spec
 */

/**
 * A float with so many digits behind the point; what lies half-way goes to the even digit, as in Python.
 * @param {number} value
 * @param {number} digits
 */
export function fixed(value, digits) {
  if (digits > 100) unsupported(`a precision of ${digits} digits`);
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${digits ? `.${'0'.repeat(digits)}` : ''}`;
  const text = Math.abs(value).toFixed(digits);
  const exact = Math.abs(value).toFixed(Math.min(100, digits + 40));
  const half = /^50*$/u.test(exact.slice(exact.indexOf('.') + 1 + digits));
  const unit = BigInt(text.replace('.', ''));
  const even = half && unit % 2n === 1n ? String(unit - 1n).padStart(text.replace('.', '').length, '0') : null;
  const whole = even === null ? text : digits ? `${even.slice(0, -digits)}.${even.slice(-digits)}` : even;
  return (value < 0 || Object.is(value, -0) ? '-' : '') + whole;
}

/** @param {string} text as toExponential() writes it */
const exponential = (text) => text.replace(/e([+-])(\d+)/u, (_, sign, digits) => `e${sign}${digits.padStart(2, '0')}`);

/**
 * @param {number} value
 * @param {number} precision
 * @param {boolean} alternate whether zeros at the end stay
 */
function general(value, precision, alternate) {
  const wanted = Math.max(precision, 1);
  const text = value.toExponential(wanted - 1);
  const exponent = Number(text.split('e')[1]);
  const small = exponent >= -4 && exponent < wanted;
  const digits = small ? value.toFixed(wanted - 1 - exponent) : exponential(text);
  return alternate || !digits.includes('.') ? digits : digits.replace(/\.?0+(?=e|$)/u, '');
}

/**
 * @param {number} value
 * @param {Spec} spec
 */
function floatDigits(value, { type, precision, alternate }) {
  const kind = type.toLowerCase();
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const size = Math.abs(value);
  let text;
  if (!Number.isFinite(value) || (kind === '' && precision === null)) text = floatText(size);
  else if (kind === '') return unsupported('a precision without a type in a format');
  else if (kind === 'f') text = fixed(size, precision ?? 6);
  else if (kind === '%') text = `${fixed(size * 100, precision ?? 6)}%`;
  else if (kind === 'e') text = exponential(size.toExponential(precision ?? 6));
  else text = general(size, precision ?? 6, alternate);
  return sign + (type === kind ? text : text.toUpperCase());
}

/**
 * @param {bigint} value
 * @param {Spec} spec
 */
function intDigits(value, { type, alternate }) {
  if (type === 'c') return String.fromCodePoint(Number(value));
  const radix = { b: 2, o: 8, x: 16, X: 16 }[type] ?? 10;
  const digits = (value < 0n ? -value : value).toString(radix);
  const text = (alternate && radix !== 10 ? `0${type}` : '') + (type === 'X' ? digits.toUpperCase() : digits);
  return (value < 0n ? '-' : '') + text;
}

/**
 * @param {string} text
 * @param {Spec} spec
 * @param {string} usual where the spec says nothing
 */
function aligned(text, { fill, align, width }, usual) {
  const missing = Math.max(0, width - charsOf(text).length);
  const side = align || usual;
  if (side === '=') {
    const sign = /^[-+ ]?(?:0[xXbo])?/u.exec(text)?.[0] ?? '';
    return sign + fill.repeat(missing) + text.slice(sign.length);
  }
  const left = side === '>' ? missing : side === '^' ? Math.floor(missing / 2) : 0;
  return fill.repeat(left) + text + fill.repeat(missing - left);
}

/**
 * @param {Value} value
 * @param {Spec} spec
 */
function formatted(value, spec) {
  const { type, precision, comma, sign } = spec;
  if (isText(value) || (!isNumber(value) && type === 's')) {
    if ((type && type !== 's') || sign || spec.align === '=') fail(`the format '${type}' of a text`);
    return aligned(precision === null ? str(value) : charsOf(str(value)).slice(0, precision).join(''), spec, '<');
  }
  if (!isNumber(value) || /[sn]/u.test(type)) return fail(`the format '${type}' of a ${typeName(value)}`);
  const whole = typeof value !== 'number' && !/[eEfFgG%]/u.test(type);
  if (!whole && /[bcdoxX]/u.test(type)) fail(`the format '${type}' of a float`);
  let text = whole ? intDigits(BigInt(value), spec) : floatDigits(Number(value), spec);
  if (comma) text = text.replace(/^-?\d+/u, (digits) => digits.replace(/\B(?=(?:\d{3})+$)/gu, comma));
  if (comma && spec.fill === '0' && spec.width) unsupported('a format with zeros and commas');
  return aligned(/[+ ]/u.test(sign) && !text.startsWith('-') ? sign + text : text, spec, '>');
}

const SPEC = /^(?:([^])?([<>=^]))?([-+ ])?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([bcdeEfFgGnosxX%])?$/u;

/**
 * Python's format(value, spec).
 * @param {Value} value
 * @param {string} text
 */
function formatBySpec(value, text) {
  if (text === '') return str(value);
  const match = SPEC.exec(text) ?? fail(`the format '${text}'`);
  const [, fill, align, sign = '', alternate, zero, width, comma = '', precision, type = ''] = match;
  if (typeof value === 'boolean' && !type) unsupported('a format of a bool');
  return formatted(value, {
    fill: fill ?? (zero && !align ? '0' : ' '),
    align: align ?? (zero && isNumber(value) ? '=' : ''),
    sign,
    alternate: Boolean(alternate),
    width: Number(width ?? 0),
    comma,
    precision: precision === undefined ? null : Number(precision),
    type,
  });
}

/**
 * str.format().
 * @param {string} template
 * @param {Value[]} args
 * @param {import('./values.js').Named} named
 */
export function formatBraces(template, args, named) {
  let next = 0;
  return template.replace(
    /\{\{|\}\}|\{([^{}!:]*)(?:!([rsa]))?(?::([^{}]*))?\}|[{}]/gu,
    (all, field, convert, spec = '') => {
      if (all === '{{' || all === '}}') return all[0];
      if (field === undefined) return unsupported(`'${all}' in the format ${repr(template)}`);
      if (/[.[]/u.test(field)) unsupported(`the field '${field}' of a format`);
      const at = field === '' ? next++ : Number(field);
      const known = Number.isInteger(at) ? at < args.length : named.has(field);
      if (!known) fail(`format() lacks the argument '${field || at}'`);
      const value = Number.isInteger(at) ? args[at] : named.get(field);
      if (convert === 'a') unsupported('!a in a format');
      return formatBySpec(convert === 'r' ? repr(value) : convert === 's' ? str(value) : value, spec);
    },
  );
}

/**
 * '%' of a text.
 * @param {string} template
 * @param {Value} values a tuple, a dict, or one value
 */
export function formatPercent(template, values) {
  const list = values instanceof Tuple ? [...values] : [values];
  let next = 0;
  const take = () => (next < list.length ? list[next++] : fail('not enough arguments for a format'));
  const form = /%(?:\(([^)]*)\))?([-+ 0#]*)(\*|\d+)?(?:\.(\*|\d+))?([diouxXeEfFgGcrsa%])?/gu;
  const text = template.replace(form, (all, key, flags, width, precision, type) => {
    if (type === '%') return '%';
    if (!type || type === 'a') return unsupported(`'${all}' in the format ${repr(template)}`);
    const room = Number(width === '*' ? take() : (width ?? 0));
    const digits = precision === '*' ? Number(take()) : precision === undefined ? null : Number(precision);
    if (key !== undefined && !(values instanceof Dict && values.has(key))) fail(`the format has no value for '${key}'`);
    const value = key === undefined ? take() : values.get(key);
    next = key === undefined ? next : list.length;
    return percentValue(value, { flags, width: room, precision: digits, type });
  });
  const unused =
    [Tuple, Markup, View].some((kind) => values instanceof kind) || typeof values !== 'object' || values === null;
  if (next < list.length && unused) fail('not all arguments of a format were used');
  return text;
}

/**
 * @param {Value} value
 * @param {{ flags: string, width: number, precision: number | null, type: string }} form
 */
function percentValue(value, { flags, width, precision, type }) {
  const kind = /[diu]/u.test(type) ? 'd' : type === 'r' ? 's' : type;
  const text = kind === 's' || (kind === 'c' && isText(value));
  if (kind !== 's' && kind !== 'c' && !isNumber(value)) fail(`%${type} of a ${typeName(value)}`);
  if (kind === 'd' && precision !== null) unsupported(`a precision of %${type}`);
  const number = kind === 'd' && typeof value === 'number' ? BigInt(Math.trunc(value)) : value;
  const left = flags.includes('-');
  const zero = flags.includes('0') && !left && !text;
  return formatted(text ? (type === 'r' ? repr(value) : str(value)) : number, {
    fill: zero ? '0' : ' ',
    align: left ? '<' : zero ? '=' : '>',
    sign: flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : '',
    alternate: flags.includes('#'),
    width,
    comma: '',
    precision,
    type: text ? 's' : kind,
  });
}
