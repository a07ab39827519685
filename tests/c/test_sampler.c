/* SPDX-License-Identifier: MIT
 * The generator against published values, its state as text, the softmax pieces, and draws against the exact
 * distribution: 20,000 for each of 12 settings, by chi-squared with fixed seeds. */
#include "generation/logits.h"
#include "generation/sampler.h"
#include "generation/settings_parse.h"
#include "kernels/softmax.h"
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static double uniform_of(uint64_t output)
{
    return (double)(output >> 11) * 0x1p-53;
}

static void test_generator(void)
{
    /* First outputs of xoshiro256** from the state 1 2 3 4, and of splitmix64 from 1234567, as their authors' code
     * gives. */
    static const uint64_t outputs[] = {11520u,
                                       0u,
                                       1509978240u,
                                       1215971899390074240u,
                                       1216172134540287360u,
                                       607988272756665600u,
                                       16172922978634559625u,
                                       8476171486693032832u};
    static const uint64_t seeded[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                      4593380528125082431u};
    qw_rng rng;

    CHECK_EQ(qw_rng_read(&rng, 1, qw_text_of("0000000000000001000000000000000200000000000000030000000000000004"), NULL),
             QW_OK);
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        CHECK_NEAR(qw_rng_uniform(&rng), uniform_of(outputs[i]), 0);
    qw_rng_seed(&rng, 1234567);
    for (int i = 0; i < 4; i++) CHECK(rng.state[i] == seeded[i]);
}

static void test_state(void)
{
    qw_rng rng[3], back[3];
    qw_buf text = {0};
    qw_error err;
    const char *broken[] = {"", "12", "0000000000000000000000000000000000000000000000000000000000000000",
                            "000000000000000100000000000000020000000000000003000000000000000g"};

    for (uint32_t i = 0; i < 3; i++) qw_rng_seed(&rng[i], i);
    qw_rng_uniform(&rng[1]);
    CHECK_EQ(qw_rng_write(rng, 3, &text, NULL), QW_OK);
    CHECK_EQ(text.n, 3 * 64 + 2);
    CHECK_EQ(qw_rng_read(back, 3, (qw_text){text.bytes, text.n}, NULL), QW_OK);
    CHECK(memcmp(rng, back, sizeof rng) == 0);
    for (int i = 0; i < 9; i++) CHECK_NEAR(qw_rng_uniform(&rng[i % 3]), qw_rng_uniform(&back[i % 3]), 0);
    CHECK_EQ(qw_rng_read(back, 2, (qw_text){text.bytes, text.n}, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "2 rows");
    text.bytes[64] = ';';
    CHECK_EQ(qw_rng_read(back, 3, (qw_text){text.bytes, text.n}, &err), QW_ERR_USAGE);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        CHECK_EQ(qw_rng_read(back, 1, qw_text_of(broken[i]), &err), QW_ERR_USAGE);
        CHECK_HAS(err.text, "rng_state");
    }
    CHECK_EQ(qw_rng_read(back, 0, (qw_text){0}, NULL), QW_OK);
    qw_buf_free(&text);
}

static void test_sums(void)
{
    enum { N = 1000 };
    float scores[N], weights[N];
    qw_rng rng;

    qw_rng_seed(&rng, 3);
    for (int32_t n = 1; n <= N; n += n < 140 ? 1 : 97) {
        double wanted = 0;
        float max = -INFINITY;

        for (int32_t i = 0; i < n; i++) {
            scores[i] = (float)(qw_rng_uniform(&rng) * 3 - 12 * (i / 64 % 9));
            if (i % 7 == 3) scores[i] = -INFINITY;
            max = scores[i] > max ? scores[i] : max;
        }
        for (int32_t i = 0; i < n; i++) wanted += exp((double)scores[i] - (double)max);
        CHECK_NEAR(qw_scores_max(scores, n), max, 0);
        CHECK_NEAR(qw_scores_sum_exp(scores, n, max), wanted, 1e-6 * wanted);
        qw_scores_weigh(weights, scores, n, max);
        CHECK_NEAR(qw_weights_sum(weights, n), qw_scores_sum_exp(scores, n, max), 0); /* to the bit */
    }
    for (int32_t i = 0; i < N; i++) scores[i] = -INFINITY;
    CHECK_NEAR(qw_scores_max(scores, N), -INFINITY, 0);
    CHECK_NEAR(qw_scores_sum_exp(scores, N, -INFINITY), 0, 0);
}

static void test_maxima(void)
{
    enum { N = 3 * QW_MAXIMA_BLOCK };
    static const int32_t lengths[] = {0, 127, 128, 255, 256, 257, 383, 384};
    float scores[N], maxima[N / 32];
    qw_rng rng;

    qw_rng_seed(&rng, 5);
    for (int32_t i = 0; i < N; i++)
        scores[i] = i % 5 == 2 ? NAN : i % 128 % 4 == 1 ? -INFINITY : (float)qw_rng_uniform(&rng);
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        int32_t n = lengths[k], n_maxima = qw_scores_maxima(maxima, scores, n);

        CHECK_EQ(n_maxima, n / QW_MAXIMA_BLOCK * 4);
        for (int32_t m = 0; m < n_maxima; m++) {
            float max = -INFINITY;

            for (int32_t i = m % 4; i < QW_MAXIMA_BLOCK; i += 4)
                max = scores[m / 4 * QW_MAXIMA_BLOCK + i] > max ? scores[m / 4 * QW_MAXIMA_BLOCK + i] : max;
            CHECK_NEAR(maxima[m], max, 0);
        }
    }
}

static void test_greedy(void)
{
    float scores[200];
    int32_t id = -1;
    qw_error err;

    for (int32_t n = 1; n <= 200; n += 13) {
        for (int32_t best = 0; best < n; best += 7) {
            for (int32_t i = 0; i < n; i++) scores[i] = i >= best && i % 3 == best % 3 ? 2.0f : -(float)i;
            CHECK_EQ(qw_choose_greedy(scores, n, 0, &id, NULL), QW_OK); /* the lowest id among equals */
            CHECK_EQ(id, best);
        }
    }
    for (int32_t i = 0; i < 200; i++) scores[i] = -INFINITY;
    CHECK_EQ(qw_choose_greedy(scores, 200, 9, &id, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "step 9");
    scores[150] = -FLT_MAX;
    CHECK_EQ(qw_choose_greedy(scores, 200, 9, &id, &err), QW_OK);
    CHECK_EQ(id, 150);
}

static void test_not_finite(void)
{
    static const int32_t places[] = {0, 50, 129};
    float scores[130];
    qw_rng rng;
    int32_t id;
    qw_error err;

    qw_rng_seed(&rng, 0);
    for (int i = 0; i < 6; i++) {
        for (int32_t j = 0; j < 130; j++) scores[j] = (float)j;
        scores[places[i / 2]] = i % 2 ? INFINITY : NAN;
        CHECK_EQ(qw_choose_greedy(scores, 130, 3, &id, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "step 3");
        CHECK_EQ(qw_choose_sample(scores, 130, 3, &rng, &id, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "step 3");
    }
    for (int32_t j = 0; j < 130; j++) scores[j] = -INFINITY;
    CHECK_EQ(qw_choose_sample(scores, 130, 3, &rng, &id, &err), QW_ERR_USAGE);
}

/* A generator whose next number is 0, or the largest there is: 1 - 2^-53. */
static qw_rng forced(bool largest)
{
    /* s1 with rotl(s1 * 5, 7) * 9 = 2^64 - 1 */
    return (qw_rng){{1, largest ? 0x4fc71c71c71c71c7u : 0, 1, 1}};
}

static void test_extreme_numbers(void)
{
    enum { N = 151936 };
    float *scores = malloc(N * sizeof *scores);
    qw_rng rng = forced(true);
    int32_t id = -1;

    CHECK_NEAR(qw_rng_uniform(&rng), 1 - 0x1p-53, 0);
    for (int32_t i = 0; scores && i < N; i++) scores[i] = 0.1f;
    rng = forced(false);
    CHECK_EQ(qw_choose_sample(scores, N, 0, &rng, &id, NULL), QW_OK);
    CHECK_EQ(id, 0);
    rng = forced(true);
    CHECK_EQ(qw_choose_sample(scores, N, 0, &rng, &id, NULL), QW_OK);
    CHECK_EQ(id, N - 1);
    /* Ids of probability 0 are never drawn, wherever they are. */
    for (int32_t i = 0; i < N; i++) scores[i] = i >= 1000 && i < 100000 ? 1.0f + (float)(i % 7) : -INFINITY;
    rng = forced(false);
    CHECK_EQ(qw_choose_sample(scores, N, 0, &rng, &id, NULL), QW_OK);
    CHECK_EQ(id, 1000);
    rng = forced(true);
    CHECK_EQ(qw_choose_sample(scores, N, 0, &rng, &id, NULL), QW_OK);
    CHECK_EQ(id, 99999);
    /* Sums that round below the target end at the last id that is possible. */
    for (uint32_t seed = 0; seed < 300; seed++) {
        qw_rng other;

        qw_rng_seed(&other, seed);
        for (int32_t i = 0; i < 200; i++) scores[i] = i < 180 ? (float)(60 * qw_rng_uniform(&other)) : -INFINITY;
        rng = forced(true);
        CHECK_EQ(qw_choose_sample(scores, 200, 0, &rng, &id, NULL), QW_OK);
        CHECK(id >= 0 && id < 180);
    }
    free(scores);
}

/* Probabilities 1/55 ... 10/55: the draws follow from the generator's numbers alone; computed apart, in exact
 * arithmetic. */
static void test_known_draws(void)
{
    static const int32_t wanted[] = {2, 5, 8, 9, 9, 8, 8, 9, 8, 7, 8, 5, 8, 5, 8, 9, 7, 9, 8, 8, 2, 3, 6, 7};
    float scores[10];
    qw_rng rng;

    qw_rng_seed(&rng, 42);
    for (int32_t i = 0; i < 10; i++) scores[i] = (float)log(i + 1);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        int32_t id = -1;

        CHECK_EQ(qw_choose_sample(scores, 10, 0, &rng, &id, NULL), QW_OK);
        CHECK_EQ(id, wanted[i]);
    }
}

enum { N_TOKENS = 700, DRAWS = 20000 };

/* Pearson's statistic over cells of at least 5 expected draws (rarer ids share one), and its degrees of freedom. */
static double chi_squared(const int32_t *count, const double *p, int32_t *freedom)
{
    double sum = 0, rest = 0, rest_seen = 0;

    *freedom = -1;
    for (int32_t i = 0; i < N_TOKENS; i++) {
        double expected = p[i] * (double)DRAWS;

        if (expected < 5) {
            rest += expected;
            rest_seen += count[i];
            continue;
        }
        sum += (count[i] - expected) * (count[i] - expected) / expected;
        ++*freedom;
    }
    if (rest > 0) {
        sum += (rest_seen - rest) * (rest_seen - rest) / rest;
        ++*freedom;
    }
    return sum;
}

/* Whether the statistic is below the 99.9 % quantile (Wilson and Hilferty's approximation). */
static bool is_likely(double statistic, int32_t freedom)
{
    double k = freedom, z = 3.0902, root = 1 - 2 / (9 * k) + z * sqrt(2 / (9 * k));

    return freedom == 0 ? statistic < 1e-3 : statistic < k * root * root * root;
}

static void row_of(float *scores, uint32_t seed)
{
    qw_rng rng;

    qw_rng_seed(&rng, seed);
    for (int32_t i = 0; i < N_TOKENS; i++) scores[i] = (float)(6 * qw_rng_uniform(&rng) + 6 * qw_rng_uniform(&rng) - 6);
}

/* p: softmax of raw scores over temperature, of the ids that the warpers left alone. */
static void exact(double *p, const float *raw, const float *warped, double temperature)
{
    double sum = 0;

    for (int32_t i = 0; i < N_TOKENS; i++) sum += p[i] = warped[i] > -INFINITY ? exp((double)raw[i] / temperature) : 0;
    for (int32_t i = 0; i < N_TOKENS; i++) p[i] /= sum;
}

static void draw(const float *scores, uint32_t seed, int32_t *count)
{
    qw_rng rng;

    qw_rng_seed(&rng, seed);
    memset(count, 0, N_TOKENS * sizeof *count);
    for (int32_t i = 0; i < DRAWS; i++) {
        int32_t id = -1;

        if (qw_choose_sample(scores, N_TOKENS, i, &rng, &id, NULL) == QW_OK && id >= 0 && id < N_TOKENS) count[id]++;
    }
}

static void test_distribution(const char *json, double temperature, uint32_t seed)
{
    static float raw[N_TOKENS], scores[N_TOKENS];
    static int32_t count[N_TOKENS];
    static double p[N_TOKENS];
    qw_model model = {.pad = -1};
    qw_history h = {0};
    qw_logits_scratch scratch;
    qw_settings s;
    int32_t freedom, drawn = 0;
    double statistic;

    model.config.n_vocab = N_TOKENS;
    row_of(raw, seed + 100);
    memcpy(scores, raw, sizeof raw);
    CHECK_EQ(qw_settings_parse(&s, qw_text_of(json), &model, NULL), QW_OK);
    CHECK_EQ(qw_logits_scratch_init(&scratch, N_TOKENS, NULL), QW_OK);
    CHECK_EQ(qw_logits_process(&s, &h, &scratch, scores, NULL), QW_OK);
    CHECK_EQ(qw_logits_warp(&s, &h, &scratch, scores, NULL), QW_OK);
    draw(scores, seed, count);
    exact(p, raw, scores, temperature);
    for (int32_t i = 0; i < N_TOKENS; i++) {
        drawn += count[i];
        CHECK(p[i] > 0 || count[i] == 0);
    }
    CHECK_EQ(drawn, DRAWS);
    statistic = chi_squared(count, p, &freedom);
    CHECK(is_likely(statistic, freedom));
    if (!is_likely(statistic, freedom)) printf("  %s: chi squared %.1f, %d\n", json, statistic, (int)freedom);
    /* The test can tell: a temperature that is half as high again would show. */
    exact(p, raw, scores, temperature * 1.5);
    statistic = chi_squared(count, p, &freedom);
    if (freedom > 0) CHECK(!is_likely(statistic, freedom));
    qw_settings_free(&s);
    qw_logits_scratch_free(&scratch);
}

static void test_distributions(void)
{
    test_distribution("{\"do_sample\":true,\"top_k\":0}", 1, 1);
    test_distribution("{\"do_sample\":true}", 1, 2);
    test_distribution("{\"do_sample\":true,\"top_k\":1}", 1, 3);
    test_distribution("{\"do_sample\":true,\"top_k\":5,\"temperature\":0.25}", 0.25, 4);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"temperature\":0.5}", 0.5, 5);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"top_p\":0.9}", 1, 6);
    test_distribution("{\"do_sample\":true,\"top_k\":20,\"top_p\":0.8,\"temperature\":0.7}", 0.7, 7);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"min_p\":0.05}", 1, 8);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"typical_p\":0.7}", 1, 9);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"epsilon_cutoff\":0.004}", 1, 10);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"eta_cutoff\":0.01}", 1, 11);
    test_distribution("{\"do_sample\":true,\"top_k\":0,\"temperature\":3,\"renormalize_logits\":true}", 3, 12);
}

int main(void)
{
    test_generator();
    test_state();
    test_sums();
    test_maxima();
    test_greedy();
    test_not_finite();
    test_extreme_numbers();
    test_known_draws();
    test_distributions();
    return check_done();
}
