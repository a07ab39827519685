// What chat() makes of the model's text: thought, answer and calls of tools, for each row, as chunks and in the result.
import { qwenError } from '../errors.js';
import { opensThought, ThoughtSplitter } from './reasoning.js';
import { ToolCallReader } from './tool-calls.js';

/**
 * @typedef {import('../types.js').Chunk} Chunk
 * @typedef {import('../types.js').Result} Result
 * @typedef {import('../types.js').Sequence} Sequence
 * @typedef {import('../types.js').ToolCall} ToolCall
 * @typedef {import('../types.js').ToolCallDelta} ToolCallDelta
 * @typedef {import('../types.js').ChatOptions} ChatOptions
 * @typedef {object} Reading how an answer is read
 * @property {boolean} splits whether thoughts are told apart
 * @property {string[]} names of the tools whose calls are read; none: no calls
 * @property {boolean} lenient
 * @property {boolean} parallel whether more than one call counts
 */

/** One row's text, and what it has come to. */
class Row {
  #thought;
  #calls;
  #parallel;
  #tokens = 0;
  text = '';
  reasoning = '';
  /** Up to and with the token that completes the closing tag. */
  reasoningTokens = 0;
  /** @type {ToolCall[]} */
  tool_calls = [];

  /**
   * @param {Reading} reading
   * @param {boolean} opened
   */
  constructor({ splits, names, lenient, parallel }, opened) {
    this.#thought = splits ? new ThoughtSplitter(opened) : null;
    this.#calls = names.length ? new ToolCallReader(names, lenient) : null;
    this.#parallel = parallel;
  }

  /**
   * @param {Chunk} chunk
   * @param {boolean} [last] whether no more comes
   * @returns {Chunk}
   */
  take(chunk, last = false) {
    const wasOver = this.#thought?.thought && !this.#thought.thinking;
    const parts = this.#parts(chunk.text, last);
    this.#tokens += chunk.token_ids.length;
    if (this.#thought?.thought && !wasOver) this.reasoningTokens = this.#tokens;
    const read = this.#read(parts.text, last);
    this.text += read.text;
    this.reasoning += parts.reasoning;
    return {
      ...chunk,
      text: read.text,
      ...(parts.reasoning ? { reasoning: parts.reasoning } : {}),
      ...(read.tool_calls.length ? { tool_calls: read.tool_calls } : {}),
    };
  }

  /**
   * @param {string} text
   * @param {boolean} last
   */
  #parts(text, last) {
    if (!this.#thought) return { reasoning: '', text };
    const parts = this.#thought.push(text);
    if (!last) return parts;
    const rest = this.#thought.end();
    return { reasoning: parts.reasoning + rest.reasoning, text: parts.text + rest.text };
  }

  /**
   * @param {string} text
   * @param {boolean} last
   */
  #read(text, last) {
    if (!this.#calls) return { text, tool_calls: [] };
    const read = this.#calls.push(text);
    const rest = last ? this.#calls.end() : { text: '', tool_calls: [] };
    const all = [...read.tool_calls, ...rest.tool_calls];
    const tool_calls = this.#parallel ? all : all.filter(({ index }) => index === 0);
    tool_calls.forEach((delta) => this.#add(delta));
    return { text: read.text + rest.text, tool_calls };
  }

  /** @param {ToolCallDelta} delta */
  #add({ index, id, function: { name, arguments: text = '' } }) {
    if (id !== undefined && name !== undefined)
      this.tool_calls.push({ id, type: 'function', function: { name, arguments: '' } });
    this.tool_calls[index].function.arguments += text;
  }

  get notes() {
    const dropped = this.#calls && !this.#parallel && this.#calls.calls > 1;
    return [
      ...(this.#calls?.notes ?? []),
      ...(dropped ? ['parallel_tool_calls is false: the calls after the first were left out'] : []),
    ];
  }

  /**
   * @param {Sequence} sequence
   * @returns {Sequence}
   */
  finished(sequence) {
    const called = this.tool_calls.length > 0;
    const whole = called && !this.#calls?.incomplete && ['eos', 'stop_string'].includes(sequence.finish_reason);
    return {
      ...sequence,
      text: this.text,
      ...(this.#thought?.thought ? { reasoning: this.reasoning } : {}),
      ...(called ? { tool_calls: this.tool_calls } : {}),
      ...(whole ? { finish_reason: 'tool_calls' } : {}),
    };
  }
}

/** The rows of one chat(). */
export class AnswerParts {
  #reading;
  #opened;
  /** @type {Map<number, Row>} */
  #rows = new Map();

  /**
   * @param {Reading} reading
   * @param {string} prompt
   */
  constructor(reading, prompt) {
    this.#reading = reading;
    this.#opened = opensThought(prompt);
  }

  /** @param {number} index */
  #row(index) {
    const row = this.#rows.get(index) ?? new Row(this.#reading, this.#opened);
    this.#rows.set(index, row);
    return row;
  }

  /**
   * @param {Chunk[]} chunks with the model's text
   * @returns {Chunk[]}
   */
  take(chunks) {
    return chunks.map((chunk) => this.#row(chunk.index).take(chunk));
  }

  /**
   * @param {Result} result with the model's text
   * @returns {{ result: Result, rest: Chunk[] }} rest: what had waited for more text
   */
  finish(result) {
    const rest = result.sequences
      .map(({ index }) => this.#row(index).take({ index, text: '', token_ids: [] }, true))
      .filter(({ text, reasoning, tool_calls }) => text || reasoning || tool_calls);
    const sequences = result.sequences.map((sequence) => this.#row(sequence.index).finished(sequence));
    const rows = [...this.#rows.values()];
    const thoughts = sequences.some(({ reasoning }) => reasoning !== undefined);
    const reasoning_tokens = rows.reduce((sum, row) => sum + row.reasoningTokens, 0);
    const usage = thoughts ? { ...result.usage, reasoning_tokens } : result.usage;
    return { result: { ...result, sequences, usage, notes: [...result.notes, ...rows.flatMap((r) => r.notes)] }, rest };
  }
}

/**
 * @param {Pick<ChatOptions, 'tool_choice' | 'parallel_tool_calls' | 'tool_parsing' | 'thinking'>} options
 * @param {any[] | null} tools plain
 * @returns {Reading}
 */
export function readingOf({ tool_choice, parallel_tool_calls, tool_parsing = 'lenient', thinking = 'auto' }, tools) {
  if (tool_parsing !== 'strict' && tool_parsing !== 'lenient')
    throw qwenError('usage', `tool_parsing is ${JSON.stringify(tool_parsing)}: 'strict' or 'lenient' is wanted`);
  if (thinking !== 'auto' && thinking !== 'raw')
    throw qwenError('usage', `thinking is ${JSON.stringify(thinking)}: 'auto' or 'raw' is wanted`);
  return {
    splits: thinking === 'auto',
    names: chosenNames(tool_choice ?? 'auto', namesOf(tools ?? [])),
    lenient: tool_parsing === 'lenient',
    parallel: parallel_tool_calls ?? true,
  };
}

/**
 * The form of an answer that must be a call (response_format of type "tools", src/format/format_tools.h); undefined where
 * tool_choice leaves it to the model. Parameters are an object, whatever they say.
 * @param {Pick<ChatOptions, 'tool_choice' | 'parallel_tool_calls'>} options
 * @param {any[] | null} tools plain
 * @param {Reading} reading
 * @param {unknown} format the call's own response_format
 * @returns {any}
 */
export function formOfCalls({ tool_choice: choice = 'auto', parallel_tool_calls }, tools, { names }, format) {
  if (choice === 'auto' || choice === 'none') return undefined;
  if (format !== undefined && format !== null)
    throw qwenError(
      'usage',
      `response_format does not go with tool_choice ${JSON.stringify(choice)}: calls have a form already`,
    );
  const chosen = (tools ?? []).map((tool) => tool.function ?? tool).filter(({ name }) => names.includes(name));
  return {
    type: 'tools',
    tools: chosen.map(({ name, parameters }) => ({ name, parameters: objectSchema(name, parameters ?? {}) })),
    parallel: parallel_tool_calls ?? false, // a small model that may go on calling does, to the end of its budget
  };
}

/** @param {string} name @param {any} parameters */
function objectSchema(name, parameters) {
  if (parameters.type !== undefined && parameters.type !== 'object')
    throw qwenError(
      'usage',
      `tool ${JSON.stringify(name)}: the type of its parameters is ${JSON.stringify(parameters.type)}, wanted "object"`,
    );
  return { ...parameters, type: 'object' };
}

/** @param {any[]} tools */
function namesOf(tools) {
  const names = tools.map((tool) => tool.function?.name ?? tool.name).filter((name) => typeof name === 'string');
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw qwenError('usage', `two tools are named ${JSON.stringify(twice)}`);
  return names;
}

/**
 * The tools that may be called.
 * @param {import('../types.js').ToolChoice} choice
 * @param {string[]} names
 */
function chosenNames(choice, names) {
  if (choice === 'none') return [];
  if (choice === 'auto') return names;
  const name = typeof choice === 'object' ? choice?.function?.name : undefined;
  if (choice !== 'required' && typeof name !== 'string')
    throw qwenError(
      'usage',
      `tool_choice is ${JSON.stringify(choice)}: 'auto', 'none', 'required' or { type: 'function', function: { name } } is wanted`,
    );
  if (name !== undefined && !names.includes(name))
    throw qwenError('usage', `tool_choice names ${JSON.stringify(name)}; the tools are ${names.join(', ') || 'none'}`);
  if (!names.length) throw qwenError('usage', `tool_choice is ${JSON.stringify(choice)}, and there are no tools`);
  return name === undefined ? names : [name];
}
