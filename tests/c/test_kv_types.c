/* SPDX-License-Identifier: MIT
 * What a narrower cache costs: the divergence of each position's distribution from that of a float32 cache, on a float checkpoint
 * computed in float32, and the memory that it saves. */
#include "check.h"
#include "base/exact_math.h"
#include "qw.h"
#include "run_engine.h"

#include <math.h>
#include <stdlib.h>

enum { TOKENS = 96 };

/* Mean KL divergence in nats that a cache of the type may bring. */
static const struct {
    const char *options;
    double most;
} types[] = {{"{\"quantize\":\"none\",\"kvType\":\"f16\",\"contextLength\":512}", 0.0001},
             {"{\"quantize\":\"none\",\"kvType\":\"q8_0\",\"contextLength\":512}", 0.005}};

static const char float_cache[] = "{\"quantize\":\"none\",\"kvType\":\"f32\",\"contextLength\":512}";

/* Logits [TOKENS][n_vocab] of one row; the caller's. */
static float *logits_of(const char *path, const char *options, int32_t *n_vocab)
{
    int32_t ids[TOKENS], n = TOKENS, done = 0;
    uint8_t keep[TOKENS];
    qw_prompts prompts = {ids, &n, 1};
    qw_step_result more = QW_STEP_MORE;
    qw_forward_out out;
    float *logits = NULL;
    qw_error err = {0};
    qw_engine *e;

    CHECK_EQ(run_load(&e, path, options, 0, &err), QW_OK);
    if (!e) return NULL;
    *n_vocab = qw_engine_model(e)->config.n_vocab;
    for (int32_t i = 0; i < TOKENS; i++) ids[i] = (i * 37 + i * i) % 500;
    memset(keep, 1, sizeof keep);
    logits = malloc((size_t)TOKENS * (size_t)*n_vocab * sizeof *logits);
    CHECK_EQ(qw_forward_begin(e, &prompts, keep, false, &err), QW_OK);
    while (more == QW_STEP_MORE && qw_step(e, 16, &more, &err) == QW_OK) {
        qw_forward_output(e, &out);
        memcpy(logits + (size_t)done * (size_t)*n_vocab, out.logits, (size_t)out.n * (size_t)*n_vocab * sizeof *logits);
        done += out.n;
    }
    CHECK_EQ(done, TOKENS);
    qw_engine_free(e);
    return logits;
}

static double log_sum(const float *x, int32_t n)
{
    double max = (double)x[0], sum = 0;

    for (int32_t i = 1; i < n; i++) max = (double)x[i] > max ? (double)x[i] : max;
    for (int32_t i = 0; i < n; i++) sum += qw_exp((double)x[i] - max);
    return max + qw_log(sum);
}

static double mean_divergence(const float *wanted, const float *got, int32_t n_vocab)
{
    double sum = 0;

    for (int32_t t = 0; t < TOKENS; t++, wanted += n_vocab, got += n_vocab) {
        double a = log_sum(wanted, n_vocab), b = log_sum(got, n_vocab);

        for (int32_t i = 0; i < n_vocab; i++) {
            double p = (double)wanted[i] - a;
            sum += qw_exp(p) * (p - ((double)got[i] - b));
        }
    }
    return sum / (double)TOKENS;
}

static void narrower_caches_stay_near(const char *path)
{
    int32_t n_vocab = 0;
    float *wanted = logits_of(path, float_cache, &n_vocab);

    for (size_t i = 0; wanted && i < sizeof types / sizeof *types; i++) {
        float *got = logits_of(path, types[i].options, &n_vocab);
        double divergence = got ? mean_divergence(wanted, got, n_vocab) : INFINITY;

        printf("%s, %s: mean KL %.2e\n", path, types[i].options, divergence);
        CHECK(divergence > 0 && divergence <= types[i].most);
        free(got);
    }
    free(wanted);
}

static double planned(const char *options, const char *key)
{
    qw_engine *e = NULL;
    qw_json *root = NULL;
    qw_text plan;
    double bytes = 0;
    qw_error err = {0};
    char text[200];

    snprintf(text, sizeof text, "%.*s,\"headersOnly\":true}", (int)strlen(options) - 1, options);
    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, text, 0, &err), QW_OK);
    if (!e) return 0;
    CHECK_EQ(qw_engine_plan(e, &plan, &err), QW_OK);
    CHECK_EQ(qw_json_parse(&root, plan, "plan", &err), QW_OK);
    bytes = qw_json_number(qw_json_get(root, key));
    qw_json_free(root);
    qw_engine_free(e);
    return bytes;
}

static void narrower_caches_take_less(void)
{
    double wide = planned(float_cache, "kvBytes");

    CHECK(planned(types[0].options, "kvBytes") < wide * 0.55);
    CHECK(planned(types[1].options, "kvBytes") < wide * 0.35);
}

int main(void)
{
    narrower_caches_stay_near("tests/fixtures/checkpoints/untied-gqa4-2-f32");
    narrower_caches_stay_near("tests/fixtures/checkpoints/mha");
    narrower_caches_take_less();
    return check_done();
}
