// Renders chat templates as Transformers does (jinja2 with trim_blocks and lstrip_blocks, tojson as Python's json.dumps with
// ensure_ascii=False). It runs in a worker of its own: a template out of a file is code that may not end.
import { Environment, Interpreter, Template } from '@huggingface/jinja';
import { messageOf, qwenError } from '../errors.js';

const RANGE_MAX = 100_000;

/** What a template says itself about the messages that it was given. */
class Raised extends Error {}

/** @param {string} message */
const raise = (message) => {
  throw new Raised(message);
};

/**
 * @param {number} start
 * @param {number} [stop]
 * @param {number} [step]
 */
function range(start, stop, step = 1) {
  const [from, to] = stop === undefined ? [0, start] : [start, stop];
  if (step === 0) throw new Error('range() has a step of 0');
  const n = Math.max(0, Math.ceil((to - from) / step));
  if (n > RANGE_MAX) throw new Error(`range() of ${n} items, more than ${RANGE_MAX}`);
  return Array.from({ length: n }, (_, i) => from + i * step);
}

const two = (/** @type {number} */ n) => String(n).padStart(2, '0');

/** @type {Record<string, (now: Date) => string>} */
const DATE_PARTS = {
  Y: (now) => String(now.getFullYear()),
  m: (now) => two(now.getMonth() + 1),
  d: (now) => two(now.getDate()),
  H: (now) => two(now.getHours()),
  M: (now) => two(now.getMinutes()),
  S: (now) => two(now.getSeconds()),
  y: (now) => two(now.getFullYear() % 100),
  b: (now) => now.toLocaleDateString('en-US', { month: 'short' }),
  B: (now) => now.toLocaleDateString('en-US', { month: 'long' }),
  a: (now) => now.toLocaleDateString('en-US', { weekday: 'short' }),
  A: (now) => now.toLocaleDateString('en-US', { weekday: 'long' }),
  '%': () => '%',
};

/** @param {string} format */
function now(format) {
  const date = new Date();
  return format.replace(/%(.)/g, (all, letter) => DATE_PARTS[letter]?.(date) ?? all);
}

const GLOBALS = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  raise_exception: raise,
  range,
  strftime_now: now,
};

/** The last template that was compiled: a conversation uses the same one again and again. */
let last = { source: '', program: /** @type {Template['parsed'] | null} */ (null) };

/** @param {string} source */
function compile(source) {
  if (last.source !== source || !last.program) last = { source, program: new Template(source).parsed };
  return last.program;
}

/**
 * @param {string} template
 * @param {Record<string, unknown>} variables
 * @returns {string}
 */
export function renderTemplate(template, variables) {
  let stage = 'cannot be read';
  try {
    const program = compile(template);
    stage = 'failed';
    const environment = new Environment();
    for (const [name, value] of Object.entries({ ...GLOBALS, ...variables })) environment.set(name, value);
    return /** @type {{ value: string }} */ (new Interpreter(environment).run(/** @type {any} */ (program))).value;
  } catch (error) {
    if (error instanceof Raised)
      throw qwenError('usage', `the chat template refuses these messages: ${error.message}`, error);
    const text = messageOf(error);
    // A message without a key that the template reads, as Jinja2's UndefinedError.
    if (/undefined values|null values/.test(text)) {
      throw qwenError('usage', `the chat template needs a key that a message lacks (${text})`, error);
    }
    // The parser runs beyond the end of a template that lacks an {% endif %} or the like.
    const what = error instanceof TypeError && stage !== 'failed' ? `it ends within a block or a tag (${text})` : text;
    throw qwenError(
      'model',
      `the chat template ${stage}: ${what}; template: 'chatml' takes the built-in one instead`,
      error,
    );
  }
}
