/* SPDX-License-Identifier: MIT
 * The warpers, one function a rule, in Transformers' order. They work on a list of the tokens that are still possible,
 * ascending by id, which shrinks with each rule: the row's own array holds the list's scores meanwhile. No rule sorts.
 * What the reference finds in a sorted row, the place where a running sum of probabilities passes a limit, is found by
 * histograms over the scores' bits, which narrow down to one score: O(n), and exact. */
#include "generation/logits.h"
#include "base/exact_math.h"
#include "kernels/softmax.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct list {
    float *score;  /* [n]; the front of the row */
    int32_t *id;   /* [n], ascending */
    float *weight; /* [n], e^(score - max), once weighed; before, room for the row's maxima */
    int32_t n;
    float max;   /* the largest score, once weighed */
    double sum;  /* of the weights, and of base */
    double base; /* weights of tokens that are not listed, for the first rule is sure to drop them */
} list;

enum { BIN_BITS = 10, BINS = 1 << BIN_BITS };

/* Unsigned integers in the order of the floats; the two zeros are one. */
static uint32_t ordered(float v)
{
    uint32_t bits;

    v += 0.0f; /* -0 becomes +0 */
    memcpy(&bits, &v, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static float from_ordered(uint32_t key)
{
    uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

/* A running sum over tokens in ascending order of a value, and the value at which it first passes the limit. The value
 * is the score, or its distance from a typical one: |(-log p) - entropy|, computed as the reference does. */
typedef struct climb {
    const float *score;
    const float *weight; /* NULL: each counts 1 */
    int32_t n;
    double base; /* summed already, of what comes before all values */
    double unit; /* sums are divided by it, and rounded to float32, before they are compared */
    float limit;
    bool reach; /* passing is >= limit, else > limit */
    bool by_distance;
    float max, log_sum, entropy; /* by_distance: -log p is (max - score) + log_sum */
} climb;

static float value_at(const climb *c, int32_t i)
{
    return c->by_distance ? fabsf(((c->max - c->score[i]) + c->log_sum) - c->entropy) : c->score[i];
}

static bool passes(const climb *c, double sum)
{
    float share = (float)(sum / c->unit);

    return c->reach ? share >= c->limit : share > c->limit;
}

/* Fills the bins of keys lo .. hi and walks them up from *base; the bin where the limit is passed, or the last that is
 * not empty where rounding kept the sum below the limit. *base becomes the sum before that bin. */
static uint32_t walk_bins(const climb *c, uint32_t lo, uint32_t hi, uint32_t shift, double *base)
{
    double bin[BINS] = {0}, below = *base;
    uint32_t last = 0;

    for (int32_t i = 0; i < c->n; i++) {
        uint32_t key = ordered(value_at(c, i)) - lo;

        if (key <= hi - lo) bin[key >> shift] += c->weight ? (double)c->weight[i] : 1.0;
    }
    for (uint32_t b = 0; b <= (hi - lo) >> shift; b++) {
        if (!(bin[b] > 0)) continue;
        last = b;
        *base = below;
        below += bin[b];
        if (passes(c, below)) break;
    }
    return last;
}

/* The value at which the sum passes; *below: the sum of what is less than it. n > 0. */
static float climb_to_limit(const climb *c, double *below)
{
    uint32_t lo = UINT32_MAX, hi = 0, shift;

    for (int32_t i = 0; i < c->n; i++) {
        uint32_t key = ordered(value_at(c, i));

        lo = key < lo ? key : lo;
        hi = key > hi ? key : hi;
    }
    *below = c->base;
    do {
        uint32_t b;

        for (shift = 0; (hi - lo) >> shift >= BINS;) shift++;
        b = walk_bins(c, lo, hi, shift, below);
        lo += b << shift;
        if (((uint32_t)1 << shift) - 1 < hi - lo) hi = lo + (((uint32_t)1 << shift) - 1);
    } while (shift > 0);
    return from_ordered(lo);
}

static qw_status nothing_left(const qw_history *h, qw_error *err)
{
    return qw_fail(err, QW_ERR_USAGE, "step %d: the settings leave no token to choose: loosen what forbids tokens",
                   (int)(h->n - h->n_prompt));
}

static bool all_below(const float maxima[4], float floor)
{
    return maxima[0] < floor && maxima[1] < floor && maxima[2] < floor && maxima[3] < floor;
}

/* All tokens whose score is not below floor, nor -inf. maxima: the row's. */
static void list_from_row(list *l, const float *scores, int32_t n, float floor, const float *maxima)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < n; i += QW_MAXIMA_BLOCK, maxima += 4) {
        int32_t end = i + QW_MAXIMA_BLOCK;

        if (end > n) end = n; /* too short for maxima */
        else if (all_below(maxima, floor)) continue;
        for (int32_t j = i; j < end; j++) {
            float score = scores[j];

            l->score[kept] = score;
            l->id[kept] = j;
            kept += score >= floor;
        }
    }
    l->n = kept;
}

/* The list's scores back in their places, -inf in all others. From the end, for the list stands in the row's front. */
static void list_to_row(const list *l, float *scores, int32_t n)
{
    int32_t end = n;

    for (int32_t i = l->n - 1; i >= 0; i--) {
        float score = l->score[i];

        qw_scores_bar(scores + l->id[i] + 1, end - l->id[i] - 1);
        scores[l->id[i]] = score;
        end = l->id[i];
    }
    qw_scores_bar(scores, end);
}

static void weigh(list *l)
{
    l->max = qw_scores_max(l->score, l->n);
    qw_scores_weigh(l->weight, l->score, l->n, l->max);
    l->sum = qw_weights_sum(l->weight, l->n);
    l->base = 0;
}

/* Keeps tokens of at least that score and that weight; the best ones always. */
static void keep_from(list *l, float score, float weight)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < l->n; i++) {
        float s = l->score[i], w = l->weight[i];
        bool keeps = (s >= score && w >= weight) || s >= l->max;

        l->score[kept] = s;
        l->weight[kept] = w;
        l->id[kept] = l->id[i];
        kept += keeps;
    }
    l->n = kept;
}

static void resum(list *l)
{
    l->sum = qw_weights_sum(l->weight, l->n);
    l->base = 0;
}

/* The k-th largest of n values (k <= n). */
static float kth_largest(const float *values, int32_t n, int32_t k)
{
    climb c = {.score = values, .n = n, .unit = 1, .limit = (float)(n - k)};
    double below;

    return climb_to_limit(&c, &below);
}

/* A score that at least k tokens reach, close to the k-th best: each of the k best of n maxima stands for a token. */
static float floor_of_top_k(const float *maxima, int32_t n, int32_t k)
{
    float floor = k > n / 2 ? -FLT_MAX : kth_largest(maxima, n, k);

    return floor >= -FLT_MAX ? floor : -FLT_MAX;
}

/* Lists every token whose score is not less than the k-th best. */
static void list_top_k(list *l, const float *scores, int32_t n, int32_t k)
{
    float score, *maxima = l->weight;
    int32_t kept = 0, n_maxima = qw_scores_maxima(maxima, scores, n);

    list_from_row(l, scores, n, floor_of_top_k(maxima, n_maxima, k), maxima);
    if (k >= l->n) return;
    score = kth_largest(l->score, l->n, k);
    for (int32_t i = 0; i < l->n; i++) {
        float s = l->score[i];

        l->score[kept] = s;
        l->id[kept] = l->id[i];
        kept += s >= score;
    }
    l->n = kept;
}

/* Lists what the first rule, top_p or min_p, is not sure to drop, and weighs it: tokens so light that n of their kind
 * stay below the limit of top_p go without a look at their order, and count in the sum only. */
static void list_by_weight(list *l, const float *scores, int32_t n, const qw_settings *s)
{
    float max = qw_scores_max(scores, n), floor, *maxima = l->weight;
    double sum = s->top_p < 1 ? qw_scores_sum_exp(scores, n, max) : 0;
    double light = s->top_p < 1 ? (1 - s->top_p) * sum / n : s->min_p;

    floor = light > 0 ? max + (float)qw_log(0.99 * light) : -FLT_MAX;
    qw_scores_maxima(maxima, scores, n);
    list_from_row(l, scores, n, floor >= -FLT_MAX ? floor : -FLT_MAX, maxima);
    weigh(l);
    l->base = sum > l->sum ? sum - l->sum : 0;
    l->sum += l->base;
}

/* Keeps the n_equal lowest ids of those with exactly that score. */
static void keep_lowest_ids(list *l, float score, int32_t n_equal)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < l->n; i++) {
        bool equal = l->score[i] <= score && l->score[i] >= score;

        l->score[kept] = l->score[i];
        l->weight[kept] = l->weight[i];
        l->id[kept] = l->id[i];
        kept += !equal || n_equal-- > 0;
    }
    l->n = kept;
}

/* Drops from below while the running sum of probabilities is <= 1 - top_p. */
static void top_p(list *l, float p_left)
{
    climb c = {.score = l->score, .weight = l->weight, .n = l->n, .base = l->base, .unit = l->sum, .limit = p_left};
    double below, weight = 0;
    float score;
    int32_t n_equal = 0, n_dropped = 0;

    score = climb_to_limit(&c, &below);
    for (int32_t i = 0; i < l->n; i++) {
        if (l->score[i] < score || l->score[i] > score) continue;
        n_equal++;
        weight = (double)l->weight[i];
    }
    while (n_dropped < n_equal - 1 && !passes(&c, below + weight)) {
        below += weight;
        n_dropped++;
    }
    keep_from(l, score, 0);
    if (n_dropped > 0) keep_lowest_ids(l, score, n_equal - n_dropped);
    resum(l);
}

/* Of a weighed list: entropy of its distribution, from the same logarithms as the reference. */
static double entropy(const list *l, double log_sum)
{
    double sum = 0;

    for (int32_t i = 0; i < l->n; i++)
        if (l->weight[i] > 0) sum += (double)l->weight[i] * ((double)l->score[i] - (double)l->max - log_sum);
    return -sum / l->sum;
}

/* Keeps what lies nearest to the entropy until the mass is reached, and its equals. The best token may go. */
static void typical_p(list *l, float mass)
{
    double log_sum = qw_log(l->sum), below;
    climb c = {.score = l->score, .weight = l->weight, .n = l->n, .unit = l->sum, .limit = mass, .reach = true};
    int32_t kept = 0;
    float shift;

    c.by_distance = true;
    c.max = l->max;
    c.log_sum = (float)log_sum;
    c.entropy = (float)entropy(l, log_sum);
    shift = climb_to_limit(&c, &below);
    for (int32_t i = 0; i < l->n; i++) {
        bool keeps = value_at(&c, i) <= shift;

        l->score[kept] = l->score[i];
        l->id[kept] = l->id[i];
        kept += keeps;
    }
    l->n = kept;
    weigh(l);
}

/* Drops probabilities < epsilon; the best stay. */
static void epsilon_cutoff(list *l, float epsilon)
{
    keep_from(l, -FLT_MAX, (float)((double)epsilon * l->sum));
    resum(l);
}

/* As epsilon_cutoff, with a threshold that sinks where the distribution is flat. */
static void eta_cutoff(list *l, float epsilon)
{
    float h = (float)entropy(l, qw_log(l->sum));
    float eta = sqrtf(epsilon) * (float)qw_exp(-(double)h);

    epsilon_cutoff(l, eta < epsilon ? eta : epsilon);
}

/* Drops probabilities < min_p * the best; the weight of the best is 1. */
static void min_p(list *l, float share)
{
    keep_from(l, -FLT_MAX, share);
    resum(l);
}

static bool cuts_by_probability(const qw_settings *s)
{
    return s->top_p < 1 || s->min_p > 0 || s->typical_p < 1 || (s->epsilon_cutoff > 0 && s->epsilon_cutoff < 1) ||
           (s->eta_cutoff > 0 && s->eta_cutoff < 1);
}

static qw_status sample_rules(const qw_settings *s, const qw_history *h, qw_logits_scratch *scratch, float *scores,
                              qw_error *err)
{
    list l = {.score = scores, .id = scratch->order, .weight = scratch->values};
    int32_t n = scratch->n_vocab;

    if (s->temperature < 1 || s->temperature > 1) qw_scores_divide(scores, n, (float)s->temperature);
    if ((s->top_k <= 0 || s->top_k >= n) && !cuts_by_probability(s)) return QW_OK;
    if (s->top_k > 0) list_top_k(&l, scores, n, s->top_k);
    else list_by_weight(&l, scores, n, s);
    if (l.n == 0) return nothing_left(h, err);
    if (s->top_k > 0 && cuts_by_probability(s)) weigh(&l);
    if (s->top_p < 1) top_p(&l, (float)(1 - s->top_p));
    if (s->min_p > 0) min_p(&l, (float)s->min_p);
    if (s->typical_p < 1) typical_p(&l, (float)s->typical_p);
    if (s->epsilon_cutoff > 0 && s->epsilon_cutoff < 1) epsilon_cutoff(&l, (float)s->epsilon_cutoff);
    if (s->eta_cutoff > 0 && s->eta_cutoff < 1) eta_cutoff(&l, (float)s->eta_cutoff);
    list_to_row(&l, scores, n);
    return QW_OK;
}

static qw_status renormalize(const qw_history *h, float *scores, int32_t n, qw_error *err)
{
    float max = qw_scores_max(scores, n);
    double sum = qw_scores_sum_exp(scores, n, max);
    float log_sum;

    if (!(sum > 0)) return nothing_left(h, err);
    log_sum = (float)qw_log(sum);
    for (int32_t i = 0; i < n; i++) scores[i] = (scores[i] - max) - log_sum;
    return QW_OK;
}

qw_status qw_logits_warp(const qw_settings *s, const qw_history *h, qw_logits_scratch *scratch, float *scores,
                         qw_error *err)
{
    if (s->custom_processor) QW_TRY(qw_logits_check_custom(s, h, scores, scratch->n_vocab, err));
    if (s->do_sample) QW_TRY(sample_rules(s, h, scratch, scores, err));
    return s->renormalize_logits ? renormalize(h, scores, scratch->n_vocab, err) : QW_OK;
}
