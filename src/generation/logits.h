/* SPDX-License-Identifier: MIT
 * Logits processing as Transformers' generate() does it (5.24; order and fine print in its _get_logits_processor), one
 * function a rule. -inf is a real value; NaN and +inf are errors unless remove_invalid_values is set. A rule that is
 * off costs nothing. */
#ifndef QW_LOGITS_H
#define QW_LOGITS_H

#include "generation/settings.h"

/* One row's history. Transformers sees left padding as tokens of the prompt, which the repetition penalty alone passes
 * over: n_masked says how many of ids are such pads. A generation leaves them out, so that a row of a batch is what it is
 * alone; there n_pad counts them, in lengths only. */
typedef struct qw_history {
    const int32_t *ids;  /* prompt, then new tokens */
    int32_t n, n_prompt; /* lengths of all, and of the prompt */
    int32_t n_pad;       /* pads before the prompt that are not in ids */
    int32_t n_masked;    /* pads that ids begins with */
    bool at_end;         /* the next token is the last that the context has room for */
} qw_history;

/* Scratch for one row's processing, planned once for a vocabulary; owned by the caller. */
typedef struct qw_logits_scratch {
    float *values;  /* [n_vocab] */
    int32_t *order; /* [n_vocab] */
    uint32_t *seen; /* [(n_vocab + 31) / 32] bits, all zero between calls */
    int32_t n_vocab;
} qw_logits_scratch;

size_t qw_logits_scratch_bytes(int32_t n_vocab);
qw_status qw_logits_scratch_init(qw_logits_scratch *s, int32_t n_vocab, qw_error *err);
void qw_logits_scratch_free(qw_logits_scratch *s);

/* Processors that act in greedy decoding and in sampling alike: sequence_bias ... begin_suppress_tokens, with OpenAI's
 * logit_bias and presence/frequency penalties beside their kin. scores [n_vocab], edited in place; afterwards none is
 * NaN or +inf (what overflows is the largest float). Errors: model (NaN or +inf, naming step and id); that no token is
 * left is told by the choice. */
qw_status qw_logits_process(const qw_settings *s, const qw_history *h, qw_logits_scratch *scratch, float *scores,
                            qw_error *err);

/* Scores that a custom_processor has edited: usage error where one is NaN or +inf. qw_logits_warp calls it. */
qw_status qw_logits_check_custom(const qw_settings *s, const qw_history *h, float *scores, int32_t n_vocab,
                                 qw_error *err);

/* The warpers, only when do_sample is true: temperature, top_k, top_p, min_p, typical_p, epsilon_cutoff, eta_cutoff;
 * and renormalize_logits in either mode. After a custom_processor the scores are checked again. Errors: usage (no token
 * left to choose; a custom_processor's NaN or +inf). */
qw_status qw_logits_warp(const qw_settings *s, const qw_history *h, qw_logits_scratch *scratch, float *scores,
                         qw_error *err);

#endif
