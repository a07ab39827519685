// The keys of a request: what each may be, and the settings of the engine that it stands for.
import { refuse } from './refusal.js';

/**
 * @typedef {Record<string, any>} Body a request, keys whose value is null left out
 * @typedef {import('../types.js').ModelInfo} ModelInfo
 * @typedef {import('../types.js').GenerationSettings & import('../types.js').RunOptions} Settings
 */

/** Taken, without effect here; a note says so. */
const NOTED = [
  'prediction',
  'reasoning_effort',
  'verbosity',
  'user',
  'safety_identifier',
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'service_tier',
];

/** Why a key cannot be done; a function tells the values that ask for nothing. */
const REFUSED = {
  store: { why: 'nothing is stored here', fine: (/** @type {any} */ v) => v === false },
  modalities: {
    why: 'text is all that comes out: ["text"]',
    fine: (/** @type {any} */ v) => Array.isArray(v) && v.every((one) => one === 'text'),
  },
  audio: { why: 'text is all that comes out' },
  web_search_options: { why: 'no request leaves this place' },
  moderation: { why: 'there is no moderation here' },
  functions: { why: 'deprecated: give tools' },
  function_call: { why: 'deprecated: give tool_choice' },
};

const REFUSED_COMPLETION = {
  suffix: { why: 'to fill in before a suffix is not offered yet' },
  echo: { why: 'the prompt is not given back', fine: (/** @type {any} */ v) => v === false },
  best_of: {
    why: 'all n answers are given: leave it out',
    fine: (/** @type {any} */ v, /** @type {Body} */ body) => v === (body.n ?? 1),
  },
};

const SHARED = [
  'model',
  'temperature',
  'top_p',
  'n',
  'stop',
  'max_tokens',
  'seed',
  'logit_bias',
  'stream',
  'stream_options',
];
const PENALTIES = ['frequency_penalty', 'presence_penalty'];
const CHAT = [
  'messages',
  'max_completion_tokens',
  'logprobs',
  'top_logprobs',
  'response_format',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
];
const COMPLETION = ['prompt', 'logprobs'];

/**
 * Refuses what is not known or cannot be done.
 * @param {Body} body
 * @param {boolean} chat
 * @returns {string[]} notes of keys without effect
 */
export function checkKeys(body, chat) {
  const refused = /** @type {Record<string, { why: string, fine?: (value: any, body: Body) => boolean }>} */ (
    chat ? REFUSED : REFUSED_COMPLETION
  );
  const noted = chat ? NOTED : ['user'];
  const known = [...SHARED, ...PENALTIES, ...(chat ? CHAT : COMPLETION), ...noted];
  for (const [key, value] of Object.entries(body)) {
    const why = refused[key];
    if (why && !why.fine?.(value, body)) refuse(key, why.why);
    if (!why && !known.includes(key)) refuse(key, 'this request has no such key');
  }
  return noted.filter((key) => key in body).map((key) => `${key} has no effect here`);
}

/**
 * @param {Body} body
 * @param {string} key
 * @param {number} low
 * @param {number} high
 * @param {boolean} [whole]
 * @returns {number | undefined}
 */
export function numberOf(body, key, low, high, whole = false) {
  const value = body[key];
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || value < low || value > high || (whole && !Number.isInteger(value)))
    refuse(key, `${JSON.stringify(value)}: ${whole ? 'an integer' : 'a number'} from ${low} to ${high} is wanted`);
  return value;
}

/**
 * @param {Body} body
 * @param {string} key
 */
export function flagOf(body, key) {
  const value = body[key] ?? false;
  if (typeof value !== 'boolean') refuse(key, `${JSON.stringify(value)}: true or false is wanted`);
  return value;
}

/** @param {Body} body */
function limitOf(body) {
  const old = numberOf(body, 'max_tokens', 1, 2 ** 31 - 1, true);
  const limit = numberOf(body, 'max_completion_tokens', 1, 2 ** 31 - 1, true);
  if (old !== undefined && limit !== undefined && old !== limit)
    refuse('max_tokens', `${old}, and max_completion_tokens is ${limit}: it is the older name of the same`);
  return limit ?? old;
}

/** @param {Body} body */
function stopsOf({ stop }) {
  const stops = [stop ?? []].flat();
  if (stops.length > 4) refuse('stop', `${stops.length} texts: at most 4`);
  if (!stops.every((one) => typeof one === 'string' && one)) refuse('stop', 'texts that are not empty are wanted');
  return stops;
}

/**
 * @param {Body} body
 * @param {ModelInfo} info
 */
function biasOf({ logit_bias }, { vocabSize }) {
  if (logit_bias === undefined) return undefined;
  if (typeof logit_bias !== 'object' || Array.isArray(logit_bias))
    refuse('logit_bias', 'an object by token id is wanted');
  for (const [id, bias] of Object.entries(logit_bias)) {
    if (!/^\d+$/.test(id) || Number(id) >= vocabSize)
      refuse('logit_bias', `${JSON.stringify(id)} is no token id of this model, which has ${vocabSize}`);
    if (typeof bias !== 'number' || Math.abs(bias) > 100)
      refuse('logit_bias', `${bias} for ${id}: -100 to 100 is wanted`);
  }
  return logit_bias;
}

/**
 * As OpenAI counts it, 0 takes the likeliest token; without one the model's own file says, else it is 1.
 * @param {Body} body
 * @param {ModelInfo} info
 * @returns {Settings}
 */
function choiceOf(body, { generationConfig }) {
  const temperature = numberOf(body, 'temperature', 0, 2);
  const top_p = numberOf(body, 'top_p', 0, 1);
  if (temperature === 0 || top_p === 0) return { do_sample: false };
  const own = temperature ?? generationConfig.temperature ?? 1;
  const top_k = generationConfig.top_k ?? 0;
  return { do_sample: true, temperature: own, top_k, ...(top_p === undefined ? {} : { top_p }) };
}

/**
 * The settings that both kinds of request share.
 * @param {Body} body
 * @param {ModelInfo} info
 * @returns {Settings}
 */
export function settingsOf(body, info) {
  const seed = numberOf(body, 'seed', -(2 ** 63), 2 ** 63, true);
  const stops = stopsOf(body);
  /** @type {Settings} */
  const settings = {
    ...choiceOf(body, info),
    num_return_sequences: numberOf(body, 'n', 1, 128, true),
    max_new_tokens: limitOf(body),
    frequency_penalty: numberOf(body, 'frequency_penalty', -2, 2),
    presence_penalty: numberOf(body, 'presence_penalty', -2, 2),
    logit_bias: biasOf(body, info),
    stop_strings: stops.length ? stops : undefined,
    seed: seed === undefined ? undefined : ((seed % 2 ** 32) + 2 ** 32) % 2 ** 32,
  };
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
}

/**
 * @param {Body} body
 * @returns {{ stream: boolean, usage: boolean }}
 */
export function streamOf(body) {
  const stream = flagOf(body, 'stream');
  const options = body.stream_options;
  if (options !== undefined && !stream) refuse('stream_options', 'only with stream: true');
  if (options !== undefined && typeof options !== 'object') refuse('stream_options', 'an object is wanted');
  return { stream, usage: Boolean(options?.include_usage) };
}
