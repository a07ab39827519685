/* SPDX-License-Identifier: MIT
 * Generation settings: Hugging Face's generation_config.json names and meaning. api.d.ts is the contract; settings_parse.h
 * makes them. */
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

static inline bool qw_id_list_has(const qw_id_list *list, int32_t id)
{
    for (int32_t i = 0; i < list->n; i++)
        if (list->v[i] == id) return true;
    return false;
}

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
    bool sequences_of_file, max_length_of_file; /* the model's file alone asks for it: what does not fit is a note */
    uint32_t seed;
    bool has_seed;
    qw_buf rng_state;       /* empty: none */
    qw_buf response_format; /* api.d.ts' object as JSON text (format/format.h); empty: any text */
    qw_buf whitespace;      /* of JSON in it: bounded, compact or any; empty: bounded */
    bool finish_in_budget;  /* near the limit only what can still be completed */
    int32_t logprobs;       /* -1: none; else how many of the most probable are told beside the chosen one */
    bool custom_processor;  /* a caller's module edits the scores between the processors and the warpers */
    bool chat;              /* called through chat(): do_sample follows a temperature > 0 that is given */
    int32_t n_ids;          /* ids from here on are never chosen: in chat the tokenizer's, else the vocabulary's size */
    qw_buf notes;           /* one remark a line */
} qw_settings;

/* Transformers' defaults, with the pad and the ids of the model. */
void qw_settings_init(qw_settings *s, const qw_model *model);
void qw_settings_free(qw_settings *s);

#endif
