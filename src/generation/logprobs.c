/* SPDX-License-Identifier: MIT
 * Log-probabilities of scores, and the n largest by a heap whose root is the worst that is kept. */
#include "generation/logprobs.h"

#include "base/exact_math.h"
#include "kernels/softmax.h"

#include <float.h>
#include <math.h>

static float clipped(float score)
{
    if (!(score >= -FLT_MAX)) return -INFINITY;
    return score > FLT_MAX ? FLT_MAX : score;
}

/* What is taken from a clipped score to make it a log-probability, in two parts as the reference does. */
static void log_norm(const float *scores, int32_t n_vocab, float *max, float *log_sum)
{
    double sum;

    *max = clipped(qw_scores_max(scores, n_vocab));
    sum = qw_scores_sum_exp(scores, n_vocab, *max);
    *log_sum = sum > 0 ? (float)qw_log(sum) : 0.0f;
}

static float log_prob(float score, float max, float log_sum)
{
    float s = clipped(score);

    return s >= -FLT_MAX ? s - max - log_sum : -INFINITY;
}

float qw_logprob(const float *scores, int32_t n_vocab, int32_t id)
{
    float max, log_sum;

    log_norm(scores, n_vocab, &max, &log_sum);
    return log_prob(scores[id], max, log_sum);
}

/* a comes after b: a lower score, or the higher id of equals. */
static bool is_worse(float score_a, int32_t a, float score_b, int32_t b)
{
    return score_a < score_b || (!(score_a > score_b) && a > b);
}

/* Sinks the entry at i in a heap whose root is the worst of its n. */
static void sink(int32_t *id, float *score, int32_t n, int32_t i)
{
    int32_t moved = id[i];
    float moved_score = score[i];

    for (int32_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && is_worse(score[child + 1], id[child + 1], score[child], id[child])) child++;
        if (!is_worse(score[child], id[child], moved_score, moved)) break;
        id[i] = id[child];
        score[i] = score[child];
        i = child;
    }
    id[i] = moved;
    score[i] = moved_score;
}

void qw_logprobs_top(const float *scores, int32_t n_vocab, int32_t n, int32_t *top, float *value)
{
    float max, log_sum;

    if (n <= 0) return;
    log_norm(scores, n_vocab, &max, &log_sum);
    for (int32_t i = 0; i < n; i++) {
        top[i] = i;
        value[i] = clipped(scores[i]);
    }
    for (int32_t i = n / 2 - 1; i >= 0; i--) sink(top, value, n, i);
    for (int32_t i = n; i < n_vocab; i++) {
        if (!(scores[i] > value[0])) continue; /* of equals the lower id is in already */
        top[0] = i;
        value[0] = clipped(scores[i]);
        sink(top, value, n, 0);
    }
    for (int32_t end = n - 1; end > 0; end--) {
        int32_t id = top[0];
        float score = value[0];

        top[0] = top[end];
        value[0] = value[end];
        sink(top, value, end, 0);
        top[end] = id;
        value[end] = score;
    }
    for (int32_t i = 0; i < n; i++) value[i] = log_prob(value[i], max, log_sum);
}
