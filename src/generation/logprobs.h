/* SPDX-License-Identifier: MIT
 * Log-probabilities of a row of scores: of one token, and of the best n. */
#ifndef QW_LOGPROBS_H
#define QW_LOGPROBS_H

#include <stdbool.h>
#include <stdint.h>

/* log softmax of scores at id, and of the n <= n_vocab largest: top[i] id, value[i] log-probability, descending, ties
 * by lower id. NaN counts as -inf, +inf as the largest float. */
float qw_logprob(const float *scores, int32_t n_vocab, int32_t id);
void qw_logprobs_top(const float *scores, int32_t n_vocab, int32_t n, int32_t *top, float *value);

#endif
