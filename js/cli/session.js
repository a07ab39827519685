/**
 * What the commands that run a model share: loading with a line of progress, Ctrl-C, and an answer as it comes.
 */
import { Engine } from '../node.js';
import { LOAD, MODEL, UsageError, modelSource, pick } from './options.js';

export const INTERRUPTED = 130;

/** Ctrl-C ends what is going on first; where nothing is, or it is pressed again, the program. */
export class Interrupt {
  /** @type {(() => void) | null} */
  #action = null;

  constructor() {
    process.on('SIGINT', () => this.hit());
  }

  hit() {
    const action = this.#action;
    this.#action = null;
    if (!action) process.exit(INTERRUPTED);
    action();
  }

  /**
   * @template T
   * @param {() => void} action What Ctrl-C does until the task is done.
   * @param {() => Promise<T>} task
   * @returns {Promise<T>}
   */
  async during(action, task) {
    this.#action = action;
    try {
      return await task();
    } finally {
      this.#action = null;
    }
  }
}

/** A line on stderr that is written over, for people only. */
export function progressLine() {
  const { stderr } = process;
  let shown = '';
  return {
    /** @param {import('../node.js').Progress} progress */
    show({ phase, loaded, total, bytesPerSecond, secondsLeft }) {
      const amount = total ? `${Math.floor((100 * loaded) / total)} %` : `${Math.round(loaded / 1e6)} MB`;
      const rate = bytesPerSecond ? `, ${(bytesPerSecond / 1e6).toFixed(1)} MB/s` : '';
      const left = secondsLeft && secondsLeft > 1 ? `, ${Math.ceil(secondsLeft)} s left` : '';
      const text = `${phase === 'download' ? 'loading' : 'reading'} ${amount}${rate}${left}`;
      if (!stderr.isTTY || text === shown) return;
      shown = text;
      stderr.write(`\r\x1b[K${text}`);
    },
    clear() {
      if (shown) stderr.write('\r\x1b[K');
    },
  };
}

/**
 * Loads the model that the options name, runs a task with it and closes it.
 * @template T
 * @param {Record<string, any>} values Parsed options.
 * @param {Interrupt} interrupt
 * @param {(engine: Engine) => Promise<T>} task
 */
export async function withEngine(values, interrupt, task) {
  const source = modelSource(values.model);
  const controller = new AbortController();
  const line = progressLine();
  const options = { ...pick(values, MODEL, LOAD), signal: controller.signal, onProgress: line.show };
  const engine = await interrupt.during(
    () => controller.abort(),
    () => Engine.load(source, options).finally(line.clear),
  );
  try {
    return await task(engine);
  } finally {
    await engine.close();
  }
}

/**
 * Runs a generation to its end, or until Ctrl-C: then its result is what there is. Where log-probabilities were asked for,
 * which come with the chunks, those are kept.
 * @param {import('../node.js').Generation} generation
 * @param {(text: string) => void} onText Text of the first sequence.
 * @param {Interrupt} interrupt
 * @returns {Promise<{ result: import('../node.js').Result, chunks?: import('../node.js').Chunk[], stopped: boolean }>}
 */
export async function streamAnswer(generation, onText, interrupt) {
  const chunks = generation[Symbol.asyncIterator]();
  /** @type {import('../node.js').Chunk[]} */
  const kept = [];
  let stopped = false;
  const stop = () => {
    stopped = true;
    void chunks.return?.();
  };
  return interrupt.during(stop, async () => {
    for (;;) {
      const { done, value } = await chunks.next();
      if (done) break;
      if (value.logprobs) kept.push(value);
      if (value.index === 0) onText(value.text);
    }
    return { result: await generation.result, ...(kept.length ? { chunks: kept } : {}), stopped };
  });
}

/**
 * A line of JSON; what it has no number for (the log-probability of a barred token) is "-inf".
 * @param {object} value
 */
export const jsonLine = (value) => `${JSON.stringify(value, (_, one) => (one === -Infinity ? '-inf' : one))}\n`;

/**
 * Sequences after the first, each on a line of its own.
 * @param {import('../node.js').Sequence[]} sequences
 */
export const further = (sequences) =>
  sequences
    .slice(1)
    .map((row) => `[${row.index}]${row.text}\n`)
    .join('');

/** @param {import('../node.js').Result} result */
export function statistics({ usage, timings, sequences, seed }) {
  const rate = (/** @type {number} */ n, /** @type {number} */ ms) =>
    ms > 0 ? `${((1000 * n) / ms).toFixed(1)}/s` : '-';
  const { prompt_tokens: prompt, cached_tokens: cached, completion_tokens: made } = usage;
  return (
    `prompt ${prompt} tokens (${cached} known), ${rate(prompt - cached, timings.prefill)}; ` +
    `new ${made} tokens, ${rate(Math.max(0, made - sequences.length), timings.decode)}; ` +
    `${sequences.map((row) => row.finish_reason).join(' ')}; seed ${seed}`
  );
}

/** @param {Uint8Array} bytes */
function utf8(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UsageError('stdin is not UTF-8: bring it to UTF-8 first, with iconv or the like');
  }
}

/**
 * The prompts given as options; without them all of stdin, without the line end that a shell adds.
 * @param {string[] | undefined} given
 */
export async function promptsOrStdin(given) {
  if (given) return given;
  if (process.stdin.isTTY) throw new UsageError('--prompt TEXT is needed, or a text on stdin');
  const pieces = [];
  for await (const piece of process.stdin) pieces.push(piece);
  return [utf8(Buffer.concat(pieces)).replace(/\r?\n$/, '')];
}
