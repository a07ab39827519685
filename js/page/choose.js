// choose(): how probable each of some texts is as the whole answer. Nothing is sampled; all are scored, the prompt is read once.
import { qwenError } from '../errors.js';

/**
 * @typedef {object} Scored
 * @property {number} sum of the natural log-probabilities of its tokens, the end of the answer with them
 * @property {number} tokens
 */

/**
 * The choices as texts, or an error that names the odd one.
 * @param {unknown} choices
 * @param {unknown} per
 * @returns {string[]}
 */
export function checkedChoices(choices, per) {
  if (!Array.isArray(choices) || choices.length === 0)
    throw qwenError('usage', `choices is ${JSON.stringify(choices)}: an array of at least one text is wanted`);
  choices.forEach((choice, i) => {
    if (typeof choice !== 'string') throw qwenError('usage', `choices[${i}] is ${typeof choice}, wanted a text`);
    if (choices.indexOf(choice) !== i)
      throw qwenError('usage', `choices[${i}] is ${JSON.stringify(choice)} again: each may be there once`);
  });
  if (per !== 'text' && per !== 'token')
    throw qwenError('usage', `per is ${JSON.stringify(per)}: 'text' or 'token' is wanted`);
  return choices;
}

/**
 * log(e^x / sum of e^scores) of the score at `id`, in double precision.
 * @param {Float32Array} scores
 * @param {number} id
 */
function logProbability(scores, id) {
  let most = -Infinity;
  for (const score of scores) if (score > most) most = score;
  let sum = 0;
  for (const score of scores) sum += Math.exp(score - most);
  return scores[id] - most - Math.log(sum);
}

/**
 * @param {Float32Array} logits [n][vocabSize], row i before the i-th of ids
 * @param {Int32Array} ids
 * @param {number} vocabSize
 * @returns {Scored}
 */
export function scoreOf(logits, ids, vocabSize) {
  let sum = 0;
  ids.forEach((id, i) => (sum += logProbability(logits.subarray(i * vocabSize, (i + 1) * vocabSize), id)));
  return { sum, tokens: ids.length };
}

/**
 * @param {string[]} choices
 * @param {Scored[]} scored
 * @param {'text' | 'token'} per
 * @returns {import('../types.js').Choice}
 */
export function mostProbable(choices, scored, per) {
  const logprobs = scored.map(({ sum }) => sum);
  const weighed = scored.map(({ sum, tokens }) => (per === 'token' ? sum / tokens : sum));
  const most = Math.max(...weighed);
  const weights = weighed.map((value) => Math.exp(value - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const index = weighed.indexOf(most);
  return { index, text: choices[index], logprobs, probabilities: weights.map((weight) => weight / total) };
}
