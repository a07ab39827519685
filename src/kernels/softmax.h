/* SPDX-License-Identifier: MIT
 * Whole rows of scores: what has to look at all of them, so that it is compiled into vectors here. The pieces of a
 * softmax are the largest score, weights e^(score - largest), and their sum in double in a fixed order of four lanes,
 * so that every build gets the same bits. Scores may be -inf (weight 0); a NaN counts as -inf. */
#ifndef QW_SOFTMAX_H
#define QW_SOFTMAX_H

#include <stdint.h>
#include <string.h>

/* e^x for x <= 0 within 1.4 * 2^-24, 0 below -87 (and for NaN). x = k ln 2 + r with |r| <= ln 2 / 2; the polynomial is
 * a least-squares fit of (e^r - 1 - r) / r^2 at Chebyshev nodes, weighted by r^2. No branch, so that loops vectorise.
 * */
static inline float qw_exp_weight(float x)
{
    const float round = 12582912.0f; /* 1.5 * 2^23: adding it leaves the nearest integer in the low bits */
    float safe = x >= -87.0f ? x : -87.0f;
    float shifted = safe * 1.44269504f + round;
    float k = shifted - round;
    float r = (safe - k * 0.693145752f) - k * 1.42860677e-6f;
    float p =
        ((((0.00139464682f * r + 0.00836917944f) * r + 0.0416662619f) * r + 0.166665152f) * r + 0.5f) * (r * r) + r;
    float scale;
    uint32_t bits;

    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127u) << 23; /* the low bits of `shifted` are k, of either sign: what is above falls off */
    memcpy(&scale, &bits, sizeof scale);
    return x >= -87.0f ? (p + 1.0f) * scale : 0.0f;
}

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
