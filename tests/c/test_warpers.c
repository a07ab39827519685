/* SPDX-License-Identifier: MIT
 * The warpers against a twin that sorts, as the reference does, on rows of every kind; and the edges of top_p. */
#include "generation/logits.h"
#include "generation/sampler.h"
#include "generation/settings_parse.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

static qw_rng dice;

static int32_t roll(int32_t n)
{
    return (int32_t)(qw_rng_uniform(&dice) * n);
}

static float gauss(void)
{
    return (float)(sqrt(-2 * log(qw_rng_uniform(&dice) + 1e-300)) * cos(6.283185307179586 * qw_rng_uniform(&dice)));
}

enum { TWIN_MAX = 6000 };

static const double *sort_key; /* qsort has no argument for it */

/* Ascending; of equals the higher id first, so that what is dropped from below leaves the lowest ids. */
static int by_key(const void *a, const void *b)
{
    int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    if (sort_key[i] < sort_key[j]) return -1;
    return sort_key[i] > sort_key[j] ? 1 : (i < j) - (i > j);
}

static void twin_probs(const float *scores, int32_t n, double *p)
{
    double max = -INFINITY, sum = 0;

    for (int32_t i = 0; i < n; i++) max = (double)scores[i] > max ? (double)scores[i] : max;
    for (int32_t i = 0; i < n; i++) sum += p[i] = exp((double)scores[i] - max);
    for (int32_t i = 0; i < n; i++) p[i] /= sum;
}

static void twin_order(int32_t *order, const double *key, int32_t n)
{
    for (int32_t i = 0; i < n; i++) order[i] = i;
    sort_key = key;
    qsort(order, (size_t)n, sizeof *order, by_key);
}

static double twin_max(const double *p, int32_t n)
{
    double max = 0;

    for (int32_t i = 0; i < n; i++) max = p[i] > max ? p[i] : max;
    return max;
}

static void twin_top_k(float *scores, int32_t n, int32_t k)
{
    static int32_t order[TWIN_MAX];
    static double key[TWIN_MAX];
    float least;

    for (int32_t i = 0; i < n; i++) key[i] = (double)scores[i];
    twin_order(order, key, n);
    least = scores[order[k < n ? n - k : 0]];
    for (int32_t i = 0; i < n; i++)
        if (scores[i] < least) scores[i] = -INFINITY;
}

static void twin_top_p(float *scores, int32_t n, double top_p)
{
    static int32_t order[TWIN_MAX];
    static double p[TWIN_MAX];
    double sum = 0;

    twin_probs(scores, n, p);
    twin_order(order, p, n);
    for (int32_t i = 0; i < n - 1; i++) {
        sum += p[order[i]];
        if ((float)sum <= (float)(1 - top_p)) scores[order[i]] = -INFINITY;
    }
}

static void twin_typical_p(float *scores, int32_t n, double mass)
{
    static int32_t order[TWIN_MAX];
    static double p[TWIN_MAX], far[TWIN_MAX];
    double entropy = 0, sum = 0, limit;
    int32_t last = 0;

    twin_probs(scores, n, p);
    for (int32_t i = 0; i < n; i++) entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    for (int32_t i = 0; i < n; i++) far[i] = (double)(float)fabs(-log(p[i]) - entropy);
    twin_order(order, far, n);
    for (; last < n - 1; last++) {
        sum += p[order[last]];
        if ((float)sum >= (float)mass) break;
    }
    limit = far[order[last]];
    for (int32_t i = 0; i < n; i++)
        if (far[i] > limit) scores[i] = -INFINITY;
}

static void twin_below(float *scores, int32_t n, double limit, bool of_best)
{
    static double p[TWIN_MAX];
    double best;

    twin_probs(scores, n, p);
    best = twin_max(p, n);
    for (int32_t i = 0; i < n; i++)
        if (p[i] < best && p[i] < (of_best ? limit * best : limit)) scores[i] = -INFINITY;
}

static void twin_eta(float *scores, int32_t n, double epsilon)
{
    static double p[TWIN_MAX];
    double entropy = 0;

    twin_probs(scores, n, p);
    for (int32_t i = 0; i < n; i++) entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    twin_below(scores, n, fmin(epsilon, sqrt(epsilon) * exp(-entropy)), false);
}

static void twin_warp(const qw_settings *s, float *scores, int32_t n)
{
    for (int32_t i = 0; i < n; i++) scores[i] /= (float)s->temperature;
    if (s->top_k > 0) twin_top_k(scores, n, s->top_k);
    if (s->top_p < 1) twin_top_p(scores, n, s->top_p);
    if (s->min_p > 0) twin_below(scores, n, s->min_p, true);
    if (s->typical_p < 1) twin_typical_p(scores, n, s->typical_p);
    if (s->epsilon_cutoff > 0) twin_below(scores, n, s->epsilon_cutoff, false);
    if (s->eta_cutoff > 0) twin_eta(scores, n, s->eta_cutoff);
}

/* Rows of every kind: smooth, peaked, flat, with many equals, with holes, with a far tail. */
static void roll_scores(float *scores, int32_t n)
{
    int32_t kind = roll(6);
    float width = 0.1f + 8 * (float)qw_rng_uniform(&dice);

    for (int32_t i = 0; i < n; i++) {
        float x = gauss() * width;

        if (kind == 1) x = (float)roll(5);
        if (kind == 2) x = roll(3) ? -INFINITY : x;
        if (kind == 3) x = i == n / 2 ? 30 : x;
        if (kind == 4) x = 1.5f;
        if (kind == 5) x = x < 0 ? x * 20 : x;
        scores[i] = x;
    }
    if (kind == 2) scores[roll(n)] = 0;
}

static void roll_warpers(qw_settings *s)
{
    s->do_sample = true;
    s->temperature = roll(2) ? 1 : 0.2 + 2 * qw_rng_uniform(&dice);
    s->top_k = roll(2) ? 0 : 1 + roll(roll(2) ? 20 : 3000);
    s->top_p = roll(2) ? 1 : qw_rng_uniform(&dice);
    s->min_p = roll(3) ? -1 : qw_rng_uniform(&dice) * 0.3;
    s->typical_p = roll(3) ? 1 : 0.05 + 0.9 * qw_rng_uniform(&dice);
    s->epsilon_cutoff = roll(4) ? 0 : qw_rng_uniform(&dice) * 0.05;
    s->eta_cutoff = roll(4) ? 0 : qw_rng_uniform(&dice) * 0.05;
}

static void test_warpers_against_twin(void)
{
    static float got[TWIN_MAX], wanted[TWIN_MAX];
    qw_history h = {0};

    qw_rng_seed(&dice, 5);
    for (int32_t round = 0; round < 1500; round++) {
        int32_t n = 1 + roll(round % 50 ? 400 : TWIN_MAX - 1), differ = 0;
        qw_logits_scratch scratch;
        qw_settings s = {0};

        roll_warpers(&s);
        roll_scores(got, n);
        memcpy(wanted, got, sizeof got);
        CHECK_EQ(qw_logits_scratch_init(&scratch, n, NULL), QW_OK);
        s.n_ids = n;
        CHECK_EQ(qw_logits_warp(&s, &h, &scratch, got, NULL), QW_OK);
        twin_warp(&s, wanted, n);
        for (int32_t i = 0; i < n; i++) differ += got[i] < wanted[i] || got[i] > wanted[i] || isnan(got[i]);
        CHECK_EQ(differ, 0);
        if (differ) printf("  round %d: %d of %d differ\n", (int)round, (int)differ, (int)n);
        qw_logits_scratch_free(&scratch);
    }
}

/* settings for n tokens from JSON, all of which must be good */
static qw_settings parse(const char *json, int32_t n)
{
    qw_model model = {.pad = -1};
    qw_settings s;
    qw_error err = {0};

    model.config.n_vocab = n;
    CHECK_EQ(qw_settings_parse(&s, qw_text_of(json), &model, &err), QW_OK);
    if (err.status) printf("  %s: %s\n", json, err.text);
    return s;
}

/* Processors and warpers; the status, with *err filled. */
static qw_status apply(const char *json, const qw_history *h, float *scores, int32_t n, qw_error *err)
{
    qw_settings s = parse(json, n);
    qw_logits_scratch scratch;
    qw_status status = qw_logits_scratch_init(&scratch, n, err);

    if (!status) status = qw_logits_process(&s, h, &scratch, scores, err);
    if (!status) status = qw_logits_warp(&s, h, &scratch, scores, err);
    qw_logits_scratch_free(&scratch);
    qw_settings_free(&s);
    return status;
}

/* Survivors as a set of bits. */
static uint64_t kept_by(const char *json, const float *start, int32_t n)
{
    float scores[64];
    qw_history h = {0};
    uint64_t set = 0;

    memcpy(scores, start, (size_t)n * sizeof *scores);
    CHECK_EQ(apply(json, &h, scores, n, NULL), QW_OK);
    for (int32_t i = 0; i < n; i++) set |= (uint64_t)(scores[i] > -INFINITY) << i;
    return set;
}

static void test_top_p_edges(void)
{
    float scores[4] = {logf(0.3f), logf(0.1f), logf(0.1f), logf(0.5f)}, zeros[4] = {0.0f, -0.0f, 0.0f, -0.0f};
    enum { N = 151936 };
    float *flat = malloc(N * sizeof *flat);
    int32_t left = 0;
    qw_history h = {0};

    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":0.79}", scores, 4), 9);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":0.81}", scores, 4), 11); /* the lower id of the two equals */
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":0.4}", scores, 4), 8);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":0}", scores, 4), 8);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":1}", scores, 4), 15);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":0.5,\"top_k\":0}", zeros, 4), 3);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_p\":0,\"top_k\":0}", zeros, 4), 1);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"top_k\":1}", zeros, 4), 15);
    for (int32_t i = 0; flat && i < N; i++) flat[i] = 0.25f;
    CHECK_EQ(apply("{\"do_sample\":true,\"top_k\":0,\"top_p\":0.9999999}", &h, flat, N, NULL), QW_OK);
    for (int32_t i = 0; i < N; i++) left += flat[i] > -INFINITY;
    CHECK_EQ(left, N);
    CHECK_EQ(apply("{\"do_sample\":true,\"top_k\":0,\"top_p\":0.5}", &h, flat, N, NULL), QW_OK);
    for (int32_t i = left = 0; i < N; i++) left += flat[i] > -INFINITY;
    CHECK_EQ(left, N / 2);
    CHECK(flat[N / 2 - 1] > -INFINITY && !(flat[N / 2] > -INFINITY));
    free(flat);
}

/* The place where the mass is reached exactly is the last that stays: nearest to the entropy is 1/4, then 1/2. */
static void test_typical_p_edges(void)
{
    float scores[4] = {logf(0.5f), logf(0.25f), logf(0.125f), logf(0.125f)};

    CHECK_EQ(kept_by("{\"do_sample\":true,\"typical_p\":0.25}", scores, 4), 2);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"typical_p\":0.26}", scores, 4), 3);
    CHECK_EQ(kept_by("{\"do_sample\":true,\"typical_p\":0.76}", scores, 4), 15);
}

int main(void)
{
    test_warpers_against_twin();
    test_top_p_edges();
    test_typical_p_edges();
    return check_done();
}
