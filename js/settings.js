/**
 * What can be set for an answer, by the names of the API: the one table behind the form of the demo page and the options of
 * the command line. Ranges are not here: the engine knows them, and its errors name the setting.
 */

/**
 * integer, number, boolean: one such value. ids: a token id or several; json: another value written as JSON. strings: a text
 * or several. choice: one of `choices`.
 * @typedef {'integer' | 'number' | 'boolean' | 'ids' | 'json' | 'text' | 'strings' | 'choice'} SettingKind
 * @typedef {'length' | 'choice' | 'scores' | 'end' | 'run' | 'chat'} SettingGroup
 * @typedef {object} Setting
 * @property {SettingKind} kind
 * @property {SettingGroup} group
 * @property {string} hint a few words
 * @property {string[]} [choices]
 */

/** @type {Record<SettingGroup, string>} */
export const GROUPS = {
  length: 'Length',
  choice: 'Choice of a token',
  scores: 'Penalties, biases and bans',
  end: 'Where it ends',
  run: 'Randomness and output',
  chat: 'Conversations only',
};

/** @type {Record<string, Setting>} */
export const SETTINGS = {
  max_new_tokens: { kind: 'integer', group: 'length', hint: 'most tokens of an answer' },
  max_length: { kind: 'integer', group: 'length', hint: 'most tokens, prompt included' },
  min_new_tokens: { kind: 'integer', group: 'length', hint: 'no end before so many tokens' },
  min_length: { kind: 'integer', group: 'length', hint: 'the same, prompt included' },
  exponential_decay_length_penalty: { kind: 'json', group: 'length', hint: 'pulls to an end: [start, factor]' },

  do_sample: { kind: 'boolean', group: 'choice', hint: 'draw; else the likeliest token' },
  temperature: { kind: 'number', group: 'choice', hint: '0 takes the likeliest token' },
  top_p: { kind: 'number', group: 'choice', hint: 'likeliest tokens up to this sum' },
  top_k: { kind: 'integer', group: 'choice', hint: 'as many likeliest tokens; 0: all' },
  min_p: { kind: 'number', group: 'choice', hint: 'least part of the likeliest one' },
  typical_p: { kind: 'number', group: 'choice', hint: 'most typical tokens up to this sum' },
  epsilon_cutoff: { kind: 'number', group: 'choice', hint: 'least probability; 0: off' },
  eta_cutoff: { kind: 'number', group: 'choice', hint: 'least probability, by entropy; 0: off' },
  renormalize_logits: { kind: 'boolean', group: 'choice', hint: 'log-softmax after all else' },

  repetition_penalty: { kind: 'number', group: 'scores', hint: '1 is none' },
  presence_penalty: { kind: 'number', group: 'scores', hint: '-2 to 2, for tokens that came' },
  frequency_penalty: { kind: 'number', group: 'scores', hint: '-2 to 2, for each time they came' },
  no_repeat_ngram_size: { kind: 'integer', group: 'scores', hint: 'no run of so many tokens twice' },
  logit_bias: { kind: 'json', group: 'scores', hint: 'added to scores: {"5": 2, "6": -100}' },
  sequence_bias: { kind: 'json', group: 'scores', hint: 'the same for sequences: [[[5, 6], -2]]' },
  bad_words_ids: { kind: 'json', group: 'scores', hint: 'sequences that are barred: [[5], [6, 7]]' },
  suppress_tokens: { kind: 'json', group: 'scores', hint: 'tokens that are barred: [5, 6]' },
  begin_suppress_tokens: { kind: 'json', group: 'scores', hint: 'barred as the first one: [5, 6]' },
  remove_invalid_values: { kind: 'boolean', group: 'scores', hint: 'go on where a score is no number' },

  stop_strings: { kind: 'strings', group: 'end', hint: 'texts that end it' },
  eos_token_id: { kind: 'ids', group: 'end', hint: 'tokens that end it; []: none' },
  forced_eos_token_id: { kind: 'ids', group: 'end', hint: 'the last token that length or context allows' },
  pad_token_id: { kind: 'integer', group: 'end', hint: 'fills short rows of padded_ids' },
  max_time: { kind: 'number', group: 'end', hint: 'seconds' },
  response_format: { kind: 'json', group: 'end', hint: 'its form: {"type": "choice", "choices": ["yes", "no"]}' },
  whitespace: {
    kind: 'choice',
    group: 'end',
    hint: 'between the parts of JSON',
    choices: ['bounded', 'compact', 'any'],
  },
  finish_in_budget: { kind: 'boolean', group: 'end', hint: 'near the limit, only what completes the form' },

  seed: { kind: 'integer', group: 'run', hint: 'the same seed, the same answer' },
  rng_state: { kind: 'text', group: 'run', hint: 'goes on from a result that had it' },
  num_return_sequences: { kind: 'integer', group: 'run', hint: 'answers to one prompt' },
  logprobs: { kind: 'integer', group: 'run', hint: 'tells so many likeliest tokens' },
  skip_special_tokens: { kind: 'boolean', group: 'run', hint: 'markers are not shown' },
  logits_processor: { kind: 'text', group: 'run', hint: 'address of a module that edits scores' },

  truncate: { kind: 'choice', group: 'chat', hint: 'if it is too long', choices: ['error', 'oldest-turns'] },
};
