// strftime_now(): Python's strftime of the local time, in English, with the flags of the C library ('%-d').
import { unsupported } from './values.js';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

/** @param {Date} date */
function dayOfYear(date) {
  const day = (/** @type {Date} */ one) => Date.UTC(one.getFullYear(), one.getMonth(), one.getDate()) / 86_400_000;
  return day(date) - day(new Date(date.getFullYear(), 0, 1));
}

/**
 * ISO 8601's year and week: those of the week's Thursday.
 * @param {Date} date
 */
function isoWeek(date) {
  const thursday = new Date(date.getFullYear(), date.getMonth(), date.getDate() + 4 - (date.getDay() || 7));
  return { year: thursday.getFullYear(), week: Math.floor(dayOfYear(thursday) / 7) + 1 };
}

/**
 * Numbers: value, digits, and what fills them.
 * @type {Record<string, (date: Date) => [number, number, string?]>}
 */
const NUMBERS = {
  C: (date) => [Math.floor(date.getFullYear() / 100), 2],
  d: (date) => [date.getDate(), 2],
  e: (date) => [date.getDate(), 2, ' '],
  f: (date) => [date.getMilliseconds() * 1000, 6],
  g: (date) => [isoWeek(date).year % 100, 2],
  G: (date) => [isoWeek(date).year, 1],
  H: (date) => [date.getHours(), 2],
  I: (date) => [date.getHours() % 12 || 12, 2],
  j: (date) => [dayOfYear(date) + 1, 3],
  k: (date) => [date.getHours(), 2, ' '],
  l: (date) => [date.getHours() % 12 || 12, 2, ' '],
  m: (date) => [date.getMonth() + 1, 2],
  M: (date) => [date.getMinutes(), 2],
  s: (date) => [Math.floor(date.getTime() / 1000), 1],
  S: (date) => [date.getSeconds(), 2],
  u: (date) => [date.getDay() || 7, 1],
  U: (date) => [Math.floor((dayOfYear(date) + 7 - date.getDay()) / 7), 2],
  V: (date) => [isoWeek(date).week, 2],
  w: (date) => [date.getDay(), 1],
  W: (date) => [Math.floor((dayOfYear(date) + 7 - ((date.getDay() + 6) % 7)) / 7), 2],
  y: (date) => [date.getFullYear() % 100, 2],
  Y: (date) => [date.getFullYear(), 1],
};

const half = (/** @type {Date} */ date) => (date.getHours() < 12 ? 'AM' : 'PM');

/** @type {Record<string, (date: Date) => string>} */
const TEXTS = {
  a: (date) => DAYS[date.getDay()].slice(0, 3),
  A: (date) => DAYS[date.getDay()],
  b: (date) => MONTHS[date.getMonth()].slice(0, 3),
  h: (date) => MONTHS[date.getMonth()].slice(0, 3),
  B: (date) => MONTHS[date.getMonth()],
  n: () => '\n',
  p: half,
  P: (date) => half(date).toLowerCase(),
  t: () => '\t',
  z: () => '', // a time without a zone, as datetime.now() gives it
  Z: () => '',
  '%': () => '%',
};

/** @type {Record<string, string>} */
const WHOLE = {
  c: '%a %b %e %H:%M:%S %Y',
  D: '%m/%d/%y',
  F: '%Y-%m-%d',
  r: '%I:%M:%S %p',
  R: '%H:%M',
  T: '%H:%M:%S',
  x: '%m/%d/%y',
  X: '%H:%M:%S',
};

/**
 * @param {Date} date
 * @param {string} format
 * @returns {string}
 */
export function strftime(date, format) {
  return format.replace(/%([-_0^#]?)([^]?)/gu, (all, flag, letter) => {
    if (WHOLE[letter] && !flag) return strftime(date, WHOLE[letter]);
    const text = TEXTS[letter]?.(date);
    if (text !== undefined && (flag === '' || flag === '^')) return flag ? text.toUpperCase() : text;
    const number = NUMBERS[letter]?.(date);
    if (!number || flag === '#' || (letter === 'f' && flag)) return unsupported(`'${all}' of strftime_now`);
    const [value, digits, fill = '0'] = number;
    const filling = flag === '-' ? '' : flag === '_' ? ' ' : flag === '0' ? '0' : fill;
    return filling ? String(value).padStart(digits, filling) : String(value);
  });
}
