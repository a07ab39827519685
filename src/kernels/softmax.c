/* SPDX-License-Identifier: MIT
 * Loops over whole rows. They run in blocks of a constant length, which compilers turn into vectors without being told
 * to; the order of every sum is by index alone. */
#include "kernels/softmax.h"

#include "base/float_exp.h"

#include <float.h>
#include <math.h>

enum { BLOCK = 64, LONG_BLOCK = 256, SUM_LANES = 4 };

float qw_scores_max(const float *scores, int32_t n)
{
    qw_v128 most[4];
    float max;
    int32_t i = 0;

    for (int v = 0; v < 4; v++) most[v] = qw_f32x4_splat(-INFINITY);
    for (; i + 16 <= n; i += 16)
        for (int v = 0; v < 4; v++) most[v] = qw_f32x4_max(most[v], qw_load(scores + i + 4 * v));
    max = qw_f32x4_hmax(qw_f32x4_max(qw_f32x4_max(most[0], most[1]), qw_f32x4_max(most[2], most[3])));
    for (; i < n; i++) max = scores[i] > max ? scores[i] : max;
    return max;
}

int32_t qw_scores_maxima(float *maxima, const float *scores, int32_t n)
{
    float *at = maxima;

    for (; n >= QW_MAXIMA_BLOCK; n -= QW_MAXIMA_BLOCK, scores += QW_MAXIMA_BLOCK, at += 4) {
        qw_v128 most = qw_f32x4_splat(-INFINITY);

        for (int32_t i = 0; i < QW_MAXIMA_BLOCK; i += 4) most = qw_f32x4_max(most, qw_load(scores + i));
        qw_store(at, most);
    }
    return (int32_t)(at - maxima);
}

int32_t qw_scores_invalid(const float *scores, int32_t n)
{
    int32_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK) {
        uint32_t bad = 0;

        for (int j = 0; j < BLOCK; j++) bad |= !(scores[i + j] <= FLT_MAX);
        if (bad) break;
    }
    while (i < n && scores[i] <= FLT_MAX) i++;
    return i;
}

static float divided(float score, float t)
{
    return score / t > FLT_MAX ? FLT_MAX : score / t;
}

void qw_scores_divide(float *scores, int32_t n, float t)
{
    int32_t i = 0;

    for (; i + BLOCK <= n; i += BLOCK)
        for (int j = 0; j < BLOCK; j++) scores[i + j] = divided(scores[i + j], t);
    for (; i < n; i++) scores[i] = divided(scores[i], t);
}

void qw_scores_bar(float *scores, int32_t n)
{
    for (int32_t i = 0; i < n; i++) scores[i] = -INFINITY;
}

void qw_scores_weigh(float *weights, const float *scores, int32_t n, float max)
{
    qw_exp_constants k = qw_exp_weight();
    qw_v128 most = qw_f32x4_splat(max);
    int32_t i = 0;

    for (; i + 4 <= n; i += 4) qw_store(weights + i, qw_f32x4_exp_weight(qw_f32x4_sub(qw_load(scores + i), most), &k));
    for (; i < n; i++)
        weights[i] = qw_f32x4_lane(qw_f32x4_exp_weight(qw_f32x4_sub(qw_f32x4_splat(scores[i]), most), &k), 0);
}

/* Lane l takes the weights whose index is l modulo SUM_LANES. */
static void add_block(double lane[SUM_LANES], const float *weights, int32_t n)
{
    int32_t i = 0;

    for (; i + SUM_LANES <= n; i += SUM_LANES)
        for (int l = 0; l < SUM_LANES; l++) lane[l] += (double)weights[i + l];
    for (int l = 0; i < n; i++, l++) lane[l] += (double)weights[i];
}

double qw_weights_sum(const float *weights, int32_t n)
{
    double lane[SUM_LANES] = {0};

    for (int32_t i = 0; i < n; i += BLOCK) add_block(lane, weights + i, n - i < BLOCK ? n - i : BLOCK);
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

double qw_scores_sum_exp(const float *scores, int32_t n, float max)
{
    double lane[SUM_LANES] = {0};
    float weights[LONG_BLOCK];

    for (int32_t i = 0; i < n; i += LONG_BLOCK) {
        int32_t m = n - i < LONG_BLOCK ? n - i : LONG_BLOCK;

        /* After a top_k nearly every block is -inf throughout. */
        if (qw_scores_max(scores + i, m) < max - 87.0f) continue;
        qw_scores_weigh(weights, scores + i, m, max);
        add_block(lane, weights, m);
    }
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}
