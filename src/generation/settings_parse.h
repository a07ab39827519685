/* SPDX-License-Identifier: MIT
 * Settings from three sources, merged and range-checked once: the call, the model's generation_config.json, Transformers'
 * defaults. */
#ifndef QW_SETTINGS_PARSE_H
#define QW_SETTINGS_PARSE_H

#include "generation/settings.h"

/* Parses the call's settings (a JSON object: GenerationSettings and the RunOptions seed, rng_state, logprobs,
 * skip_special_tokens; plus "custom_processor" and "chat", set by our own JavaScript; stop_strings stand elsewhere, as
 * bytes, and are refused here). Numbers are JSON numbers; "inf", "-inf", "nan" as strings where a number is wanted are
 * errors that name key and value, but for "-inf" as a bias, which forbids. Keys left out (or null) take the model's
 * generation_config, then Transformers' default; in a file, what is unknown, unsupported or out of range is a note. In
 * the call, unknown keys are a usage error naming the key, Hub metadata (_from_model_config, transformers_version ...)
 * is ignored, unsupported ones (num_beams > 1 ...) are refused. Ids are checked against n_vocab. *out is the caller's:
 * qw_settings_free, also on error. */
qw_status qw_settings_parse(qw_settings *out, qw_text json, const qw_model *model, qw_error *err);

/* The model's generation_config.json as JSON of GenerationSettings keys that it sets (for ModelInfo.generationConfig);
 * its stop_strings too, which are the caller's to pass on as bytes, unless there is no tokenizer. */
qw_status qw_settings_write_file_defaults(const qw_model *model, qw_buf *out, qw_error *err);

#endif
