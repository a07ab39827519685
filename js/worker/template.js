// Renders chat templates as Transformers does: Jinja2 with trim_blocks, lstrip_blocks and loop controls, tojson as Python's
// json.dumps. It runs in a worker of its own: a template out of a file is code that may not end.
import { qwenError } from '../errors.js';
import { compile, render } from './jinja/interpreter.js';
import { Fault } from './jinja/values.js';

/** The last template that was compiled: a conversation uses the same one again and again. */
let last = { source: '', program: /** @type {import('./jinja/expressions.js').Node[] | null} */ (null) };

/** @param {string} source */
function compiled(source) {
  const program = last.source === source && last.program ? last.program : compile(source);
  last = { source, program };
  return program;
}

/** @param {Fault} fault */
function errorOf(fault) {
  const { kind, message, line } = fault;
  if (kind === 'raised') return qwenError('usage', `the chat template refuses these messages: ${message}`, fault);
  const where = `line ${line}: ${message}`;
  // A message without a key that the template reads, as Jinja2's UndefinedError.
  if (kind === 'undefined')
    return qwenError('usage', `the chat template needs a key that a message lacks (${where})`, fault);
  const what = kind === 'syntax' ? 'cannot be read' : 'failed';
  return qwenError(
    'model',
    `the chat template ${what}: ${where}; template: 'chatml' takes the built-in one instead`,
    fault,
  );
}

/**
 * @param {string} template
 * @param {Record<string, unknown>} variables
 * @param {() => Date} [now]
 * @returns {string}
 */
export function renderTemplate(template, variables, now = () => new Date()) {
  try {
    return render(compiled(template), variables, now);
  } catch (error) {
    throw error instanceof Fault ? errorOf(error) : error;
  }
}
