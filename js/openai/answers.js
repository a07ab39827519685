// Results in OpenAI's shapes, whole and as chunks.

/**
 * @typedef {import('../types.js').Result} Result
 * @typedef {import('../types.js').Chunk} Chunk
 * @typedef {import('../types.js').TokenLogprobs} TokenLogprobs
 * @typedef {(id: number) => Promise<string>} TextOf of a token
 * @typedef {{ chat: boolean, id: string, created: number, model: string, tops: number | null, textOf: TextOf }} Form
 *   tops: how many likeliest tokens are told; null: no log-probabilities
 */

/** JSON has no -Infinity; what OpenAI writes for it. */
const LEAST = -9999;
const FINISH = { eos: 'stop', stop_string: 'stop', stopping: 'stop', aborted: 'stop', tool_calls: 'tool_calls' };

/** @param {string} reason */
const finishOf = (reason) => FINISH[/** @type {keyof typeof FINISH} */ (reason)] ?? 'length';

/** @param {Result['usage']} usage */
export const usageOf = ({ prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens = 0 }) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  prompt_tokens_details: { cached_tokens },
  completion_tokens_details: { reasoning_tokens },
});

/**
 * @param {Form} form
 * @param {'whole' | 'chunk'} part
 */
const frame = ({ chat, id, created, model }, part) => ({
  id,
  object: chat ? (part === 'whole' ? 'chat.completion' : 'chat.completion.chunk') : 'text_completion',
  created,
  model,
});

/**
 * @param {TokenLogprobs[]} list
 * @param {Form} form
 */
async function chatLogprobs(list, { tops, textOf }) {
  const told = async (/** @type {number} */ id, /** @type {number} */ logprob) => {
    const token = await textOf(id);
    const bytes = token.includes('\ufffd') ? null : [...new TextEncoder().encode(token)];
    return { token, logprob: Math.max(logprob, LEAST), bytes };
  };
  const content = [];
  for (const { token_id, raw, top_raw } of list) {
    const top_logprobs = [];
    for (const [id, logprob] of top_raw.slice(0, tops ?? 0)) top_logprobs.push(await told(id, logprob));
    content.push({ ...(await told(token_id, raw)), top_logprobs });
  }
  return { content, refusal: null };
}

/**
 * Offsets count UTF-16 units of the answer.
 * @param {TokenLogprobs[]} list
 * @param {Form} form
 * @param {number} offset of the first token
 */
async function textLogprobs(list, { tops, textOf }, offset) {
  /** @type {{ tokens: string[], token_logprobs: number[], top_logprobs: Record<string, number>[], text_offset: number[] }} */
  const all = { tokens: [], token_logprobs: [], top_logprobs: [], text_offset: [] };
  for (const { token_id, raw, top_raw } of list) {
    const token = await textOf(token_id);
    all.tokens.push(token);
    all.token_logprobs.push(Math.max(raw, LEAST));
    all.text_offset.push(offset);
    offset += token.length;
    const tops_ = top_raw
      .slice(0, tops ?? 0)
      .map(async ([id, logprob]) => [await textOf(id), Math.max(logprob, LEAST)]);
    all.top_logprobs.push(Object.fromEntries(await Promise.all(tops_)));
  }
  return all;
}

/**
 * @param {TokenLogprobs[]} list
 * @param {Form} form
 * @param {number} [offset]
 */
async function logprobsOf(list, form, offset = 0) {
  if (form.tops === null) return null;
  return form.chat ? chatLogprobs(list, form) : textLogprobs(list, form, offset);
}

/**
 * @param {Form} form
 * @param {Result} result
 * @param {Map<number, TokenLogprobs[]>} logprobs by row
 */
export async function wholeAnswer(form, result, logprobs) {
  const choices = [];
  for (const { index, text, reasoning, tool_calls, finish_reason } of result.sequences) {
    const content = tool_calls && !text ? null : text;
    const message = {
      role: 'assistant',
      content,
      refusal: null,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(tool_calls ? { tool_calls } : {}),
    };
    const told = await logprobsOf(logprobs.get(index) ?? [], form);
    const said = form.chat ? { message } : { text };
    choices.push({ index, ...said, logprobs: told, finish_reason: finishOf(finish_reason) });
  }
  return { ...frame(form, 'whole'), choices, usage: usageOf(result.usage) };
}

/** Chunks of a stream, one row's offset after the other. */
export class ChunkWriter {
  #form;
  #usage;
  /** @type {Map<number, number>} length of the tokens' texts by row */
  #offsets = new Map();

  /**
   * @param {Form} form
   * @param {boolean} usage whether a last chunk tells it
   */
  constructor(form, usage) {
    this.#form = form;
    this.#usage = usage;
  }

  /** @param {object[]} choices */
  #framed(choices) {
    return { ...frame(this.#form, 'chunk'), choices, ...(this.#usage ? { usage: null } : {}) };
  }

  /** @param {number} index */
  begin(index) {
    if (!this.#form.chat) return null;
    return this.#framed([{ index, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }]);
  }

  /** @param {Chunk} chunk */
  async part({ index, text, reasoning, tool_calls, logprobs }) {
    const offset = this.#offsets.get(index) ?? 0;
    const told = logprobs?.length ? await logprobsOf(logprobs, this.#form, offset) : null;
    if (told && 'tokens' in told) this.#offsets.set(index, offset + told.tokens.join('').length);
    if (!text && !reasoning && !tool_calls && !told) return null;
    const delta = {
      ...(text || told ? { content: text } : {}),
      ...(reasoning ? { reasoning_content: reasoning } : {}),
      ...(tool_calls ? { tool_calls } : {}),
    };
    return this.#framed([{ index, ...(this.#form.chat ? { delta } : { text }), logprobs: told, finish_reason: null }]);
  }

  /** @param {Result} result */
  end({ sequences, usage }) {
    const ends = sequences.map(({ index, finish_reason }) => {
      const said = this.#form.chat ? { delta: {} } : { text: '' };
      return this.#framed([{ index, ...said, logprobs: null, finish_reason: finishOf(finish_reason) }]);
    });
    if (!this.#usage) return ends;
    return [...ends, { ...this.#framed([]), usage: usageOf(usage) }];
  }
}
