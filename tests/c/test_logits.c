/* SPDX-License-Identifier: MIT
 * Logits processing where Transformers has no cases: OpenAI's penalties, padding, errors, log-probabilities, any settings
 * on any row. test_processors.c has Transformers' cases, test_warpers.c the warpers' twin. */
#include "generation/logits.h"
#include "generation/logprobs.h"
#include "generation/sampler.h"
#include "generation/settings_parse.h"
#include "check.h"

#include <float.h>
#include <math.h>

static qw_rng dice;

static int32_t roll(int32_t n)
{
    return (int32_t)(qw_rng_uniform(&dice) * n);
}

static float gauss(void)
{
    return (float)(sqrt(-2 * log(qw_rng_uniform(&dice) + 1e-300)) * cos(6.283185307179586 * qw_rng_uniform(&dice)));
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

static void test_penalties_of_openai(void)
{
    int32_t ids[] = {1, 2, 3, 4, 4, 4, 5};
    qw_history h = {ids, 7, 3, 0, 0, false};
    float scores[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    /* Of the prompt's 1 2 3 nothing is counted. */
    CHECK_EQ(apply("{\"presence_penalty\":0.5,\"frequency_penalty\":0.25}", &h, scores, 8, NULL), QW_OK);
    CHECK_NEAR(scores[3], 1, 0);
    CHECK_NEAR(scores[4], 1 - 0.5 - 3 * 0.25, 0);
    CHECK_NEAR(scores[5], 1 - 0.5 - 0.25, 0);
    CHECK_EQ(apply("{\"frequency_penalty\":-2}", &h, scores, 8, NULL), QW_OK);
    CHECK_NEAR(scores[4], 1 - 0.5 - 3 * 0.25 + 6, 0);
    /* logit_bias comes before repetition_penalty, as sequence_bias does: (1 - 2) * 2. */
    scores[3] = 1;
    CHECK_EQ(apply("{\"logit_bias\":{\"3\":-2,\"6\":\"-inf\"},\"repetition_penalty\":2}", &h, scores, 8, NULL), QW_OK);
    CHECK_NEAR(scores[3], -2, 0);
    CHECK_NEAR(scores[6], -INFINITY, 0);
}

static void test_padding(void)
{
    int32_t ids[] = {4, 2};
    qw_history h = {ids, 2, 1, 3, 0, false}; /* three pads, one prompt token, one new one: 5 long */
    float scores[6] = {0, 1, 2, 3, 4, 5};

    CHECK_EQ(apply("{\"min_length\":5,\"eos_token_id\":1}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[1], 1, 0);
    CHECK_EQ(apply("{\"no_repeat_ngram_size\":5,\"forced_eos_token_id\":3,\"max_length\":7}", &h, scores, 6, NULL),
             QW_OK);
    CHECK_NEAR(scores[5], 5, 0);
    CHECK_EQ(apply("{\"min_length\":6,\"eos_token_id\":1}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[1], -INFINITY, 0);
    CHECK_EQ(apply("{\"forced_eos_token_id\":3,\"max_length\":6}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[3], 0, 0);
    CHECK_NEAR(scores[5], -INFINITY, 0);
}

/* Pads among the ids are tokens to every rule, as in Transformers, but to the repetition penalty. */
static void test_masked_padding(void)
{
    int32_t ids[] = {0, 0, 0, 4, 2, 4};
    qw_history h = {ids, 6, 4, 0, 3, false};
    float scores[6] = {1, 1, 1, 1, 1, 1};

    CHECK_EQ(apply("{\"repetition_penalty\":2}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[0], 1, 0);
    CHECK_NEAR(scores[2], 0.5, 0);
    CHECK_NEAR(scores[4], 0.5, 0);
    CHECK_EQ(apply("{\"no_repeat_ngram_size\":1}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[0], -INFINITY, 0);
    CHECK_NEAR(scores[1], 1, 0);

    h.n = 4; /* the prompt alone: pad pad pad 4 */
    scores[0] = scores[2] = scores[4] = 1;
    CHECK_EQ(
        apply("{\"bad_words_ids\":[[0,4,5],[0,5]],\"sequence_bias\":[[[0,0,4,3],7],[[4,0,2],9]]}", &h, scores, 6, NULL),
        QW_OK);
    CHECK_NEAR(scores[5], -INFINITY, 0);
    CHECK_NEAR(scores[3], 8, 0);
    CHECK_NEAR(scores[2], 1, 0);
    CHECK_EQ(apply("{\"min_length\":4,\"eos_token_id\":1}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[1], 1, 0);
    CHECK_EQ(apply("{\"min_length\":5,\"eos_token_id\":1}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[1], -INFINITY, 0);

    h.n = 3; /* ends with pads: pad pad has come, so a third pad is barred */
    h.n_prompt = 3;
    CHECK_EQ(apply("{\"no_repeat_ngram_size\":2}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[0], -INFINITY, 0);
    CHECK_NEAR(scores[4], 1, 0);
    CHECK_EQ(apply("{\"forced_eos_token_id\":2,\"max_length\":4}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[2], 0, 0);
    CHECK_NEAR(scores[3], -INFINITY, 0);
}

static void test_length_keys(void)
{
    int32_t ids[] = {4, 2};
    qw_history h = {ids, 2, 1, 0, 0, false};
    float scores[6] = {0, 1, 2, 3, 4, 5};

    /* min_new_tokens replaces min_length, also where it asks for less; max_new_tokens replaces max_length. */
    CHECK_EQ(apply("{\"min_length\":9,\"min_new_tokens\":0,\"eos_token_id\":1}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[1], 1, 0);
    CHECK_EQ(apply("{\"forced_eos_token_id\":3,\"max_length\":3,\"max_new_tokens\":9}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[5], 5, 0);
    CHECK_EQ(apply("{\"forced_eos_token_id\":3,\"max_length\":9,\"max_new_tokens\":2}", &h, scores, 6, NULL), QW_OK);
    CHECK_NEAR(scores[5], -INFINITY, 0);
}

static void test_invalid_scores(void)
{
    static const int32_t places[] = {0, 77, 199};
    int32_t ids[] = {1, 2, 3};
    qw_history h = {ids, 3, 1, 0, 0, false};
    float scores[200];
    qw_error err;

    for (int i = 0; i < 6; i++) {
        int32_t at = places[i / 2];

        for (int32_t j = 0; j < 200; j++) scores[j] = (float)j - 300;
        scores[at] = i % 2 ? INFINITY : NAN;
        CHECK_EQ(apply("{}", &h, scores, 200, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "step 2");
        CHECK_HAS(err.text, i % 2 ? "+inf" : "NaN");
        CHECK_EQ(apply("{\"remove_invalid_values\":true}", &h, scores, 200, &err), QW_OK);
        CHECK_NEAR(scores[at], i % 2 ? FLT_MAX : 0, 0);
    }
    /* A NaN that bad_words_ids touches is still a NaN when remove_invalid_values comes. */
    scores[5] = NAN;
    CHECK_EQ(apply("{\"remove_invalid_values\":true,\"bad_words_ids\":[[5]]}", &h, scores, 200, &err), QW_OK);
    CHECK_NEAR(scores[5], 0, 0);
}

static void test_nothing_left(void)
{
    qw_history h = {0};
    float scores[70];
    qw_error err;
    int32_t id;

    for (int32_t j = 0; j < 70; j++) scores[j] = -INFINITY;
    CHECK_EQ(apply("{\"do_sample\":true,\"top_p\":0.5}", &h, scores, 70, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "leave no token to choose");
    CHECK_EQ(apply("{\"do_sample\":true,\"top_k\":0,\"min_p\":0.5}", &h, scores, 70, &err), QW_ERR_USAGE);
    CHECK_EQ(apply("{\"renormalize_logits\":true}", &h, scores, 70, &err), QW_ERR_USAGE);
    CHECK_EQ(apply("{}", &h, scores, 70, &err), QW_OK);
    CHECK_EQ(qw_choose_greedy(scores, 70, 4, &id, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "step 4");
}

static void test_overflow_stays_finite(void)
{
    int32_t ids[] = {1, 2, 3, 0};
    qw_history h = {ids, 4, 1, 0, 0, false};
    float scores[4] = {3e38f, 2e38f, 1, -3e38f};

    CHECK_EQ(apply("{\"repetition_penalty\":0.1,\"eos_token_id\":2,\"exponential_decay_length_penalty\":[0,1e30],"
                   "\"do_sample\":true,\"temperature\":0.5}",
                   &h, scores, 4, NULL),
             QW_OK);
    for (int i = 0; i < 4; i++) CHECK(scores[i] <= FLT_MAX);
    CHECK_NEAR(scores[2], FLT_MAX, 0);
}

static void test_ids_beyond(void)
{
    qw_logits_scratch scratch;
    qw_settings s = parse("{\"custom_processor\":true}", 8);
    qw_history h = {0};
    float scores[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    qw_error err;

    CHECK_EQ(qw_logits_scratch_init(&scratch, 8, NULL), QW_OK);
    s.n_ids = 6;
    CHECK_EQ(qw_logits_process(&s, &h, &scratch, scores, NULL), QW_OK);
    CHECK_NEAR(scores[5], 5, 0);
    CHECK_NEAR(scores[6], -INFINITY, 0);
    scores[7] = 9; /* a caller's module does not bring them back */
    CHECK_EQ(qw_logits_warp(&s, &h, &scratch, scores, &err), QW_OK);
    CHECK_NEAR(scores[7], -INFINITY, 0);
    scores[1] = NAN;
    CHECK_EQ(qw_logits_warp(&s, &h, &scratch, scores, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "token 1");
    qw_settings_free(&s);
    qw_logits_scratch_free(&scratch);
}

static void test_logprobs(void)
{
    enum { N = 300 };
    float scores[N], value[N];
    int32_t top[N];
    double sum = 0;

    qw_rng_seed(&dice, 8);
    for (int32_t i = 0; i < N; i++) scores[i] = (float)roll(40) / 4; /* many equals */
    scores[7] = -INFINITY;
    for (int32_t i = 0; i < N; i++) sum += exp((double)scores[i]);
    CHECK_NEAR(qw_logprob(scores, N, 7), -INFINITY, 0);
    for (int32_t i = 0; i < 20; i++) CHECK_NEAR(qw_logprob(scores, N, i * 11), (double)scores[i * 11] - log(sum), 1e-5);
    for (int32_t n = 1; n <= N; n += n < 4 ? 1 : 37) {
        qw_logprobs_top(scores, N, n, top, value);
        for (int32_t i = 0; i < n; i++) {
            int32_t better = 0;

            /* Exactly i tokens are better than the i-th. */
            for (int32_t j = 0; j < N; j++)
                better += scores[j] > scores[top[i]] || (scores[j] >= scores[top[i]] && j < top[i]);
            CHECK_EQ(better, i);
            CHECK_NEAR(value[i], qw_logprob(scores, N, top[i]), 0);
        }
    }
    scores[0] = NAN; /* what a model's damage brings does not spread */
    scores[1] = INFINITY;
    CHECK_NEAR(qw_logprob(scores, N, 0), -INFINITY, 0);
    CHECK_NEAR(qw_logprob(scores, N, 1), 0, 0);
    CHECK_NEAR(qw_logprob(scores, N, 2), -FLT_MAX, 0);
}

static void roll_processors(qw_buf *json)
{
    CHECK_EQ(qw_buf_printf(json, NULL, "{\"do_sample\":%s", roll(2) ? "true" : "false"), QW_OK);
    if (roll(2))
        CHECK_EQ(qw_buf_printf(json, NULL, ",\"temperature\":%g", roll(9) ? 0.1 + roll(30) / 10.0 : 0.0), QW_OK);
    if (roll(2)) CHECK_EQ(qw_buf_printf(json, NULL, ",\"top_k\":%d", (int)roll(60)), QW_OK);
    if (roll(2)) CHECK_EQ(qw_buf_printf(json, NULL, ",\"top_p\":%g", roll(11) / 10.0), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"min_p\":%g", roll(11) / 10.0), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"typical_p\":%g", (1 + roll(10)) / 10.0), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"epsilon_cutoff\":%g", roll(11) / 10.0), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"eta_cutoff\":%g", roll(11) / 10.0), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"repetition_penalty\":%g", (1 + roll(30)) / 10.0), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"presence_penalty\":%g", roll(40) / 10.0 - 2), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"no_repeat_ngram_size\":%d", (int)roll(5)), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"bad_words_ids\":[[1],[2,3],[5,5,5]]"), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"sequence_bias\":[[[3],-4],[[0,3],\"-inf\"]]"), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"suppress_tokens\":[0,4]"), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"min_new_tokens\":%d", (int)roll(9)), QW_OK);
    if (roll(3) == 0)
        CHECK_EQ(qw_buf_printf(json, NULL, ",\"forced_eos_token_id\":2,\"max_length\":%d", (int)roll(9)), QW_OK);
    if (roll(3) == 0)
        CHECK_EQ(qw_buf_printf(json, NULL, ",\"exponential_decay_length_penalty\":[%d,1.5]", (int)roll(4)), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"remove_invalid_values\":true"), QW_OK);
    if (roll(3) == 0) CHECK_EQ(qw_buf_printf(json, NULL, ",\"renormalize_logits\":true"), QW_OK);
    CHECK_EQ(qw_buf_printf(json, NULL, ",\"eos_token_id\":2}"), QW_OK);
}

static void check_choice(const qw_settings *s, const float *scores, int32_t n)
{
    bool any = false;
    int32_t id = -1;
    qw_status status;

    for (int32_t i = 0; i < n; i++) {
        CHECK(scores[i] <= FLT_MAX); /* neither NaN nor +inf */
        any = any || scores[i] > -INFINITY;
    }
    status =
        s->do_sample ? qw_choose_sample(scores, n, 0, &dice, &id, NULL) : qw_choose_greedy(scores, n, 0, &id, NULL);
    CHECK_EQ(status, any ? QW_OK : QW_ERR_USAGE);
    if (any) CHECK(id >= 0 && id < n && scores[id] > -INFINITY);
}

/* Any settings, any row: what comes out can be chosen from. */
static void test_any_settings(void)
{
    qw_rng_seed(&dice, 11);
    for (int32_t round = 0; round < 2000; round++) {
        int32_t n = 6 + roll(200), ids[8];
        qw_history h = {ids, 1 + roll(7), 1, roll(3), 0, false};
        qw_logits_scratch scratch;
        float scores[256];
        qw_buf json = {0};
        qw_settings s;
        qw_status status;

        for (int i = 0; i < 8; i++) ids[i] = roll(6);
        h.n_prompt = 1 + roll(h.n);
        h.n_masked = roll(h.n_prompt);
        roll_scores(scores, n);
        roll_processors(&json);
        CHECK_EQ(qw_buf_append(&json, "", 1, NULL), QW_OK);
        s = parse(json.bytes, n);
        CHECK_EQ(qw_logits_scratch_init(&scratch, n, NULL), QW_OK);
        status = qw_logits_process(&s, &h, &scratch, scores, NULL);
        CHECK_EQ(status, QW_OK);
        status = qw_logits_warp(&s, &h, &scratch, scores, NULL);
        if (status == QW_OK) check_choice(&s, scores, n);
        else CHECK_EQ(status, QW_ERR_USAGE);
        qw_logits_scratch_free(&scratch);
        qw_settings_free(&s);
        qw_buf_free(&json);
    }
}

int main(void)
{
    test_penalties_of_openai();
    test_padding();
    test_masked_padding();
    test_length_keys();
    test_invalid_scores();
    test_nothing_left();
    test_overflow_stays_finite();
    test_ids_beyond();
    test_logprobs();
    test_any_settings();
    return check_done();
}
