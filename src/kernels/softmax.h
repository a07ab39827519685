/* SPDX-License-Identifier: MIT
 * Whole rows of scores: what has to look at all of them, so that it is compiled into vectors here. The pieces of a
 * softmax are the largest score, weights e^(score - largest), and their sum in double in a fixed order of four lanes,
 * so that every build gets the same bits. Scores may be -inf (weight 0); a NaN counts as -inf. */
#ifndef QW_SOFTMAX_H
#define QW_SOFTMAX_H

#include <stdint.h>

/* The largest score; -inf where there is none. */
float qw_scores_max(const float *scores, int32_t n);

/* Maxima of a row: each is the largest of 32 scores, those of a block of 128 whose index is the same modulo 4, -inf where
 * there is none. Four for each whole block; returns how many. maxima [n / 32] */
enum { QW_MAXIMA_BLOCK = 128 };
int32_t qw_scores_maxima(float *maxima, const float *scores, int32_t n);

/* The first score that is NaN or +inf; n where there is none. */
int32_t qw_scores_invalid(const float *scores, int32_t n);

/* Divided by t > 0; at most FLT_MAX. */
void qw_scores_divide(float *scores, int32_t n, float t);

/* All -inf. */
void qw_scores_bar(float *scores, int32_t n);

/* weights[i] = e^(scores[i] - max); they may be the same array. */
void qw_scores_weigh(float *weights, const float *scores, int32_t n, float max);

/* Sum of n weights. */
double qw_weights_sum(const float *weights, int32_t n);

/* Sum of e^(score - max) over the row, as qw_weights_sum gives it for the row's weights. */
double qw_scores_sum_exp(const float *scores, int32_t n, float max);

#endif
