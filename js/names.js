// The name that may have been meant where one is not known: another program's word for the same, or one that looks like it.

/** Names of llama.cpp, Ollama, OpenAI, vLLM and their kin. */
const OF_OTHERS = /** @type {Record<string, string>} */ ({
  temp: 'temperature',
  npredict: 'max_new_tokens',
  numpredict: 'max_new_tokens',
  predict: 'max_new_tokens',
  maxtokens: 'max_new_tokens',
  maxcompletiontokens: 'max_new_tokens',
  maxoutputtokens: 'max_new_tokens',
  mintokens: 'min_new_tokens',
  stop: 'stop_strings',
  stopsequences: 'stop_strings',
  stoptokenids: 'eos_token_id',
  repeatpenalty: 'repetition_penalty',
  typical: 'typical_p',
  toplogprobs: 'logprobs',
  nprobs: 'logprobs',
  n: 'num_return_sequences',
  abortsignal: 'signal',
  ctxsize: 'contextLength',
  nctx: 'contextLength',
  numctx: 'contextLength',
  maxmodellen: 'contextLength',
  cachetypek: 'kvType',
  cachetypev: 'kvType',
  dtype: 'quantize',
  nthreads: 'threads',
  numthread: 'threads',
  nparallel: 'maxRows',
  parallel: 'maxRows',
  progresscallback: 'onProgress',
  progress: 'onProgress',
  systemprompt: 'system',
  sys: 'system',
  chattemplate: 'template',
});

/** A name that shares less of its beginning and end with another stands for something else. */
const LIKE = 0.6;

/** Case and marks do not count. */
const plain = (/** @type {string} */ name) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/**
 * The one of `known` that `name` may have meant, or null.
 * @param {string} name
 * @param {string[]} known
 * @returns {string | null}
 */
export function nearName(name, known) {
  const other = OF_OTHERS[plain(name)];
  if (other && known.includes(other)) return other;
  const [best] = [...known].sort((a, b) => likeness(name, b) - likeness(name, a));
  return best !== undefined && likeness(name, best) >= LIKE ? best : null;
}

/**
 * How much of the longer name the beginning and the end that both share make up.
 * @param {string} one
 * @param {string} other
 */
function likeness(one, other) {
  const [a, b] = [plain(one), plain(other)];
  const shorter = Math.min(a.length, b.length);
  let head = 0;
  let tail = 0;
  while (head < shorter && a[head] === b[head]) head++;
  while (head + tail < shorter && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  return (head + tail) / Math.max(a.length, b.length, 1);
}
