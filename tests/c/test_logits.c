/* SPDX-License-Identifier: MIT
 * Logits processing against what Transformers' processors left (fixtures/processors), and what the fixtures cannot
 * hold: OpenAI's penalties, padding, errors, log-probabilities, any settings on any row. test_warpers.c has the
 * warpers' twin. Usage: test_logits [FIXTURES]; else $QW_FIXTURES, else tests/fixtures. */
#include "base/json.h"
#include "generation/logits.h"
#include "generation/sampler.h"
#include "generation/settings_parse.h"
#include "check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

static const char *fixtures = "tests/fixtures";

static char *read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    *n = 0;
    if (!file) return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = malloc((size_t)size + 1);
        if (text) *n = fread(text, 1, (size_t)size, file);
    }
    fclose(file);
    return text;
}

/* A number, or one of the words that JSON lacks. */
static float score_of(const qw_json *node)
{
    const char *word = qw_json_string(node);

    if (!strcmp(word, "-inf")) return -INFINITY;
    if (!strcmp(word, "inf")) return INFINITY;
    return !strcmp(word, "nan") ? NAN : (float)qw_json_number(node);
}

static void read_scores(const qw_json *array, float *out)
{
    for (const qw_json *item = qw_json_first(array); item; item = qw_json_next(item)) *out++ = score_of(item);
}

/* JSON text of a node that is an object of numbers, bools, strings and arrays of them: what a case's config is. */
static void write_json(qw_buf *out, const qw_json *node)
{
    qw_json_kind kind = qw_json_kind_of(node);

    if (kind == QW_JSON_NUMBER) CHECK_EQ(qw_json_write_number(out, qw_json_number(node), NULL), QW_OK);
    else if (kind == QW_JSON_STRING) CHECK_EQ(qw_json_write_string(out, qw_text_of(qw_json_string(node)), NULL), QW_OK);
    else if (kind == QW_JSON_BOOL)
        CHECK_EQ(qw_buf_printf(out, NULL, "%s", qw_json_bool(node) ? "true" : "false"), QW_OK);
    if (kind != QW_JSON_ARRAY && kind != QW_JSON_OBJECT) return;
    CHECK_EQ(qw_buf_append(out, kind == QW_JSON_ARRAY ? "[" : "{", 1, NULL), QW_OK);
    for (const qw_json *item = qw_json_first(node); item; item = qw_json_next(item)) {
        if (item != qw_json_first(node)) CHECK_EQ(qw_buf_append(out, ",", 1, NULL), QW_OK);
        if (kind == QW_JSON_OBJECT) CHECK_EQ(qw_buf_printf(out, NULL, "\"%s\":", qw_json_key(item)), QW_OK);
        write_json(out, item);
    }
    CHECK_EQ(qw_buf_append(out, kind == QW_JSON_ARRAY ? "]" : "}", 1, NULL), QW_OK);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Absolute up to 1, relative above. */
static void check_scores(const char *name, const char *what, const float *got, const float *wanted, int32_t n)
{
    int32_t bad = 0;

    for (int32_t i = 0; i < n; i++) {
        double scale = fabsf(wanted[i]) > 1 ? (double)fabsf(wanted[i]) : 1.0;
        bool same = got[i] <= wanted[i] && got[i] >= wanted[i];

        if (same || fabs((double)got[i] - (double)wanted[i]) <= 1e-5 * scale) continue;
        if (bad++ == 0)
            printf("  %s: %s[%d]: got %.9g, wanted %.9g\n", name, what, (int)i, (double)got[i], (double)wanted[i]);
    }
    CHECK_EQ(bad, 0);
}

static void softmax(const float *scores, float *probs, int32_t n)
{
    double sum = 0, max = -INFINITY;

    for (int32_t i = 0; i < n; i++) max = (double)scores[i] > max ? (double)scores[i] : max;
    for (int32_t i = 0; i < n; i++) sum += exp((double)scores[i] - max);
    for (int32_t i = 0; i < n; i++) probs[i] = (float)(exp((double)scores[i] - max) / sum);
}

typedef struct fixture {
    const char *name;
    int32_t n, n_ids, n_prompt, n_pad;
    int32_t ids[256];
    float scores[4096], after[4096], probs[4096];
    bool ties;
} fixture;

static void load_case(fixture *f, const qw_json *c)
{
    int32_t n_real = 0;

    f->name = qw_json_string(qw_json_get(c, "name"));
    f->n = (int32_t)qw_json_number(qw_json_get(c, "vocab"));
    f->n_prompt = (int32_t)qw_json_number(qw_json_get(c, "prompt_len"));
    f->ties = qw_json_bool(qw_json_get(c, "ties"));
    f->n_pad = 0;
    for (const qw_json *m = qw_json_first(qw_json_get(c, "attention_mask")); m; m = qw_json_next(m))
        f->n_pad += qw_json_number(m) < 1;
    for (const qw_json *id = qw_json_first(qw_json_get(c, "input_ids")); id && n_real < 256; id = qw_json_next(id))
        f->ids[n_real++] = (int32_t)qw_json_number(id);
    f->n_ids = n_real;
    if (f->n > 4096) f->n = 0;
    read_scores(qw_json_get(c, "scores"), f->scores);
    read_scores(qw_json_get(c, "after"), f->after);
    read_scores(qw_json_get(c, "probs"), f->probs);
}

static void run_case(const qw_json *c)
{
    static fixture f;
    static float got_probs[4096];
    qw_model model = {.pad = -1};
    qw_logits_scratch scratch = {0};
    qw_settings s;
    qw_buf config = {0};
    qw_error err = {0};
    qw_status status;

    load_case(&f, c);
    CHECK(f.n > 0);
    model.config.n_vocab = f.n;
    write_json(&config, qw_json_get(c, "config"));
    status = qw_settings_parse(&s, (qw_text){config.bytes, config.n}, &model, &err);
    if (!status) status = qw_logits_scratch_init(&scratch, f.n, &err);
    if (!status) {
        qw_history h = {f.ids, f.n_ids, f.n_prompt, 0, f.n_pad, false};

        status = qw_logits_process(&s, &h, &scratch, f.scores, &err);
        if (!status) status = qw_logits_warp(&s, &h, &scratch, f.scores, &err);
    }
    CHECK_EQ(status, QW_OK);
    if (status) printf("  %s: %s\n", f.name, err.text);
    for (int32_t i = 0; scratch.seen && i < (f.n + 31) / 32; i++) CHECK_EQ(scratch.seen[i], 0);
    softmax(f.scores, got_probs, f.n);
    if (f.ties) {
        qsort(f.scores, (size_t)f.n, sizeof(float), by_value);
        qsort(f.after, (size_t)f.n, sizeof(float), by_value);
        qsort(got_probs, (size_t)f.n, sizeof(float), by_value);
        qsort(f.probs, (size_t)f.n, sizeof(float), by_value);
    }
    check_scores(f.name, "after", f.scores, f.after, f.n);
    check_scores(f.name, "probs", got_probs, f.probs, f.n);
    qw_settings_free(&s);
    qw_logits_scratch_free(&scratch);
    qw_buf_free(&config);
}

static void test_fixtures(void)
{
    char path[1024];
    size_t n;
    char *text;
    int32_t n_cases = 0;

    snprintf(path, sizeof path, "%s/processors/cases.jsonl", fixtures);
    text = read_all(path, &n);
    CHECK(text != NULL);
    for (char *line = text, *end; text && line < text + n; line = end + 1) {
        qw_json *c = NULL;

        end = memchr(line, '\n', (size_t)(text + n - line));
        if (!end) end = text + n;
        if (end == line) continue;
        CHECK_EQ(qw_json_parse(&c, (qw_text){line, (size_t)(end - line)}, path, NULL), QW_OK);
        if (c) run_case(c);
        qw_json_free(c);
        n_cases++;
    }
    CHECK(n_cases > 100);
    free(text);
}

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

/* ---- rules on rows made by hand */

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

/* ---- any settings, any row: what comes out can be chosen from */

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

int main(int argc, char **argv)
{
    if (argc > 1) fixtures = argv[1];
    else if (getenv("QW_FIXTURES")) fixtures = getenv("QW_FIXTURES");
    test_fixtures();
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
