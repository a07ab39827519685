/* SPDX-License-Identifier: MIT
 * Generation settings: Hugging Face's generation_config.json names and meaning, merged from three sources (the call,
 * the model's generation_config.json, Transformers' defaults), range-checked once. api.d.ts is the contract. */
#ifndef QW_SETTINGS_H
#define QW_SETTINGS_H

#include "base/buf.h"
#include "model/model.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct qw_id_list {
    int32_t *v;
    int32_t n;
} qw_id_list;

typedef struct qw_bias {
    qw_id_list ids; /* the last is biased when the history ends with the others */
    float bias;
} qw_bias;

typedef struct qw_settings {
    int32_t max_new_tokens, max_length, min_length, min_new_tokens; /* -1: not set */
    double max_time;                                                /* seconds; < 0: none */
    /* do_sample is what is done: false too where a temperature of 0 asks for it. */
    bool do_sample, remove_invalid_values, renormalize_logits, skip_special_tokens;
    double temperature, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff; /* min_p < 0: not set */
    int32_t top_k;                                                           /* 0: off */
    double repetition_penalty, presence_penalty, frequency_penalty;
    int32_t no_repeat_ngram_size; /* 0: off */
    qw_id_list *bad_words;
    int32_t n_bad_words;
    qw_bias *sequence_bias; /* logit_bias entries are not among them */
    int32_t n_sequence_bias;
    qw_bias *logit_bias; /* one id each */
    int32_t n_logit_bias;
    qw_id_list suppress, begin_suppress, forced_eos, eos;
    int32_t pad; /* the EOS (first) where none is set; 0 where there is neither */
    bool has_decay;
    int32_t decay_start;
    double decay_factor;
    int32_t num_return_sequences;
    uint32_t seed;
    bool has_seed;
    qw_buf rng_state;      /* empty: none */
    int32_t logprobs;      /* -1: none; else how many of the most probable are told beside the chosen one */
    bool custom_processor; /* a caller's module edits the scores between the processors and the warpers */
    bool chat;             /* called through chat(): do_sample follows a temperature > 0 that is given */
    int32_t n_ids;         /* ids from here on are never chosen: in chat the tokenizer's, else the vocabulary's size */
    qw_buf notes;          /* one remark a line */
} qw_settings;

/* Parses the call's settings (a JSON object: GenerationSettings and the RunOptions seed, rng_state, logprobs,
 * skip_special_tokens; plus "custom_processor" and "chat", set by our own JavaScript; stop_strings stand elsewhere, as
 * bytes, and are refused here). Numbers are JSON numbers; "inf", "-inf", "nan" as strings where a number is wanted are
 * errors that name key and value, but for "-inf" as a bias, which forbids. Keys left out (or null) take the model's
 * generation_config, then Transformers' default; in a file, what is unknown, unsupported or out of range is a note. In
 * the call, unknown keys are a usage error naming the key, Hub metadata (_from_model_config, transformers_version ...)
 * is ignored, unsupported ones (num_beams > 1 ...) are refused. Ids are checked against n_vocab. *out is the caller's:
 * qw_settings_free, also on error. */
qw_status qw_settings_parse(qw_settings *out, qw_text json, const qw_model *model, qw_error *err);
void qw_settings_free(qw_settings *s);

/* The model's generation_config.json as JSON of GenerationSettings keys that it sets (for ModelInfo.generationConfig);
 * its stop_strings too, which are the caller's to pass on as bytes. */
qw_status qw_settings_write_file_defaults(const qw_model *model, qw_buf *out, qw_error *err);

#endif
