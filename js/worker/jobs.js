// Jobs of the loaded engine in the worker: begin, then one bounded step after the other; between steps the event loop turns, so
// that a cancellation or a verdict is seen. How much of a prompt goes into a step follows from the measured speed.
import { abortedError, messageOf, qwenError } from '../errors.js';
import { importProcessor } from './processor.js';
import { turn } from './turn.js';

/** A step should end within this time, and be no shorter than it need be: small chunks cost more for each token. */
const STEP_MS = { most: 100, least: 70 };
/** Tokens of a step. Fewer than the tile of the kernels would save hardly any time. */
const CHUNK = { first: 16, least: 4, most: 128, unit: 4 };
/** Text is tokenised in pieces of about this size where it can be cut. */
const PIECE_CHARS = 1 << 16;

const encoder = new TextEncoder();

/**
 * @typedef {object} JobPort what a job says while it runs
 * @property {(progress: import('../types.js').Progress) => void} progress
 * @property {(chunks: import('../types.js').Chunk[], ask: boolean) => void} chunks
 * @property {() => Promise<number[]>} verdict rows that the caller's predicate ends
 * @property {() => 'none' | 'soft' | 'hard'} cancelled
 * @property {Promise<void>} cancellation resolves when it is no longer 'none'
 */

export class Jobs {
  #wasm;
  #vocabSize;
  /** Tokens of a step: of a prompt, and of forward(), where each may cost its logits. */
  #chunk = { prompt: CHUNK.first, forward: CHUNK.first };

  /**
   * @param {import('./wasm.js').Wasm} wasm
   * @param {number} vocabSize
   */
  constructor(wasm, vocabSize) {
    this.#wasm = wasm;
    this.#vocabSize = vocabSize;
  }

  /**
   * @param {import('../protocol.js').Prompt} prompt
   * @param {boolean} parseSpecial
   * @returns {Int32Array}
   */
  tokenize(prompt, parseSpecial) {
    if ('ids' in prompt) return prompt.ids;
    const blocked = prompt.blocked ?? [];
    const pieces = [];
    let offset = 0;
    let seen = 0;
    for (const piece of cut(prompt.text)) {
      const bytes = encoder.encode(piece);
      const from = seen;
      while (seen < blocked.length && blocked[seen] < offset + bytes.length) seen++;
      const here = Int32Array.from(blocked.slice(from, seen), (at) => at - offset);
      pieces.push(this.#wasm.tokenize(bytes, parseSpecial, here));
      offset += bytes.length;
    }
    return pieces.length === 1 ? pieces[0] : joined(pieces);
  }

  /**
   * @param {Int32Array} ids
   * @param {boolean} skipSpecial
   */
  detokenize(ids, skipSpecial) {
    return this.#wasm.detokenize(ids, skipSpecial);
  }

  /** @param {string} format */
  checkFormat(format) {
    return this.#wasm.checkFormat(format);
  }

  /**
   * @param {import('../protocol.js').GenerateRequest} request
   * @param {JobPort} port
   */
  async generate(request, port) {
    const started = performance.now();
    const wasm = this.#wasm;
    const processor = request.processor === null ? null : await importProcessor(request.processor, port.cancellation);
    const rows = request.prompts.map((prompt) => this.tokenize(prompt, true));
    const lengths = Int32Array.from(rows, (row) => row.length);
    wasm.generate({ ids: joined(rows), lengths, settings: request.settings, stops: request.stops });
    let read = started; // when the last prompt was read
    try {
      for (;;) {
        if (port.cancelled() === 'hard') throw abortedError();
        if (port.cancelled() === 'soft') {
          wasm.endRow(-1, 'aborted');
          port.chunks(wasm.events().chunks, false);
          break;
        }
        const { status, ms } = this.#step('prompt');
        if (status === 'scores' && processor) {
          processor(wasm, this.#vocabSize);
          continue;
        }
        const events = wasm.events();
        if (events.phase === 'prefill') {
          read = performance.now();
          this.#prefilled(events, ms, port);
        }
        await this.#after(events, request, port, started);
        if (status === 'done') break;
        await turn();
      }
      const ended = performance.now();
      const { pad_token_id: pad, ...result } = wasm.result();
      const padded_ids = paddedRows(rows, result.sequences, pad);
      return { ...result, padded_ids, timings: { queue: 0, prefill: read - started, decode: ended - read } };
    } finally {
      wasm.end();
    }
  }

  /**
   * Sends a step's chunks; rows that are to end, by verdict or by time, end.
   * @param {ReturnType<import('./wasm.js').Wasm['events']>} events
   * @param {import('../protocol.js').GenerateRequest} request
   * @param {JobPort} port
   * @param {number} started
   */
  async #after(events, request, port, started) {
    if (events.chunks.length === 0) return;
    const wasm = this.#wasm;
    port.chunks(events.chunks, request.ask);
    const verdict = request.ask ? await port.verdict() : [];
    for (const index of verdict) this.#endRow(index, 'stopping', port);
    if (performance.now() - started > request.maxTime * 1000 && port.cancelled() === 'none') {
      wasm.endRow(-1, 'time');
      port.chunks(wasm.events().chunks, false);
    }
  }

  /**
   * @param {number} index
   * @param {'stopping'} reason
   * @param {JobPort} port
   */
  #endRow(index, reason, port) {
    this.#wasm.endRow(index, reason);
    port.chunks(this.#wasm.events().chunks, false);
  }

  /**
   * @param {Int32Array} ids
   * @param {JobPort} port
   */
  async prefill(ids, port) {
    this.#wasm.prefill(ids);
    try {
      for (;;) {
        if (port.cancelled() !== 'none') throw abortedError();
        const { status, ms } = this.#step('prompt');
        this.#prefilled(this.#wasm.events(), ms, port);
        if (status === 'done') return { tokens: ids.length };
        await turn();
      }
    } finally {
      this.#wasm.end();
    }
  }

  /**
   * @param {import('../protocol.js').ForwardRequest} request
   * @param {JobPort} port
   */
  async forward(request, port) {
    const { ids, lengths, keep, hidden } = request;
    const out = new ForwardResult(request);
    this.#wasm.forward({ ids, lengths, keep, hidden });
    try {
      for (;;) {
        if (port.cancelled() !== 'none') throw abortedError();
        const { status, ms } = this.#step('forward');
        const output = this.#wasm.forwardOutput();
        if (output.n === 0 || output.nHidden > 0) this.#adapt('forward', ms, status === 'done'); // else logits alone
        out.add(output);
        if (status === 'done') return { logits: out.logits, hidden: out.hidden };
        await turn();
      }
    } finally {
      this.#wasm.end();
    }
  }

  /** @param {'prompt' | 'forward'} kind */
  #step(kind) {
    const started = performance.now();
    const status = this.#wasm.step(this.#chunk[kind]);
    return { status, ms: performance.now() - started };
  }

  /**
   * @param {{ loaded: number, total: number }} events
   * @param {number} ms
   * @param {JobPort} port
   */
  #prefilled({ loaded, total }, ms, port) {
    port.progress({ phase: 'prefill', loaded, total });
    this.#adapt('prompt', ms, loaded >= total);
  }

  /**
   * The size of the next step, from the time of this one. The last step of a job may have held less than a whole one, so it
   * says nothing about speed, unless even so it took too long.
   * @param {'prompt' | 'forward'} kind
   * @param {number} ms
   * @param {boolean} last
   */
  #adapt(kind, ms, last) {
    const now = this.#chunk[kind];
    let next = now;
    if (ms > STEP_MS.most) next = Math.min((now * STEP_MS.most) / ms, now - CHUNK.unit);
    else if (ms < STEP_MS.least && !last) next = now + Math.max(CHUNK.unit, now / 2);
    const whole = Math.floor(next / CHUNK.unit) * CHUNK.unit;
    this.#chunk[kind] = Math.max(CHUNK.least, Math.min(whole, CHUNK.most));
  }
}

/** Where a forward job's logits and hidden states go in the padded result. */
class ForwardResult {
  logits;
  /** @type {Float32Array[]} */
  hidden = [];
  #request;
  /** @type {Map<number, number[]>} indices among the K kept positions, by padded position */
  #slots = new Map();
  /** Of each row: the kept positions of its tokens that are still to come. */
  #waiting;

  /** @param {import('../protocol.js').ForwardRequest} request */
  constructor(request) {
    const { lengths, width, positions, shape } = request;
    this.#request = request;
    positions.forEach((position, k) => this.#slots.set(position, [...(this.#slots.get(position) ?? []), k]));
    const sorted = [...this.#slots.keys()].sort((a, b) => a - b);
    this.#waiting = Array.from(lengths, (length) => sorted.filter((position) => position >= width - length));
    try {
      this.logits = new Float32Array(lengths.length * positions.length * shape.vocabSize);
      if (request.hidden) {
        const values = lengths.length * width * shape.hiddenSize;
        for (let i = 0; i < shape.layers + 2; i++) this.hidden.push(new Float32Array(values));
      }
    } catch (error) {
      throw qwenError(
        'memory',
        `the result of forward() does not fit: ${messageOf(error)}; keep fewer positions`,
        error,
      );
    }
  }

  /** @param {ReturnType<import('./wasm.js').Wasm['forwardOutput']>} output */
  add(output) {
    const { row, n, pos, nHidden } = output;
    const { width, lengths, positions, shape } = this.#request;
    const logits = output.logits(shape.vocabSize);
    for (let i = 0; i < n; i++) {
      const position = /** @type {number} */ (this.#waiting[row].shift());
      const values = logits.subarray(i * shape.vocabSize, (i + 1) * shape.vocabSize);
      for (const k of this.#slots.get(position) ?? []) {
        this.logits.set(values, (row * positions.length + k) * shape.vocabSize);
      }
    }
    if (!this.#request.hidden || nHidden === 0) return;
    const block = nHidden * shape.hiddenSize;
    const states = output.hidden(this.hidden.length * block);
    const first = row * width + width - lengths[row] + pos;
    this.hidden.forEach((layer, l) => layer.set(states.subarray(l * block, (l + 1) * block), first * shape.hiddenSize));
  }
}

/**
 * Sequences with their prompts as Transformers gives them: prompts padded on the left to the longest, new tokens on the right.
 * @param {Int32Array[]} prompts
 * @param {{ token_ids: number[] }[]} sequences prompt-major
 * @param {number} pad
 */
function paddedRows(prompts, sequences, pad) {
  const copies = sequences.length / prompts.length;
  const width = Math.max(...prompts.map((prompt) => prompt.length));
  const longest = Math.max(...sequences.map(({ token_ids }) => token_ids.length));
  return sequences.map(({ token_ids }, i) => {
    const prompt = prompts[Math.floor(i / copies)];
    const before = new Array(width - prompt.length).fill(pad);
    return [...before, ...prompt, ...token_ids, ...new Array(longest - token_ids.length).fill(pad)];
  });
}

/** @param {Int32Array[]} parts */
function joined(parts) {
  const all = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/**
 * Where the tokenizer's split rule and its normal form always have a boundary, and no added token goes across: between a line
 * end and a letter or digit, between a letter or digit and a blank with a letter behind it, and between a letter or digit
 * (ASCII, kana, ideograph, hangul) and a comma or the like.
 */
const BOUNDARY = new RegExp(
  '\\n(?=[0-9A-Za-z])|[0-9A-Za-z](?= [A-Za-z])|' +
    '[0-9A-Za-z\\u3041-\\u3096\\u30a1-\\u30fa\\u4e00-\\u9fef\\uac00-\\ud7a3](?=[",;\\u3001\\u3002\\uff01\\uff0c\\uff1a\\uff1b\\uff1f])',
  'g',
);

/**
 * Cuts a long text at boundaries; text without one stays whole.
 * @param {string} text
 */
function cut(text) {
  const pieces = [];
  let from = 0;
  while (text.length - from > PIECE_CHARS) {
    BOUNDARY.lastIndex = from + PIECE_CHARS;
    if (!BOUNDARY.test(text)) break;
    pieces.push(text.slice(from, BOUNDARY.lastIndex));
    from = BOUNDARY.lastIndex;
  }
  pieces.push(text.slice(from));
  return pieces;
}
