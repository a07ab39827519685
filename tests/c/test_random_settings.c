/* SPDX-License-Identifier: MIT
 * Two thousand generations with settings at random: ids stay in the allowed set, the finish reason is right, the text is
 * there, and the engine goes on whatever was refused. */
#include "check.h"
#include "qw.h"
#include "run_engine.h"

enum { DRAWS = 2000, SUPPRESSED = 11 };

static uint32_t state = 20261130;

static uint32_t draw(uint32_t n)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % n;
}

typedef struct run {
    char json[900];
    int32_t max_new, eos; /* eos -1: none */
    bool suppress;
} run;

static void add(run *r, const char *text)
{
    size_t n = strlen(r->json);

    snprintf(r->json + n, sizeof r->json - n, "%s", text);
}

static void maybe(run *r, const char *text)
{
    if (draw(3) == 0) add(r, text);
}

static run random_run(void)
{
    run r = {.max_new = (int32_t)draw(9), .eos = draw(2) ? (int32_t)draw(500) : -1, .suppress = draw(3) == 0};

    snprintf(r.json, sizeof r.json, "{\"seed\":%u,\"max_new_tokens\":%d", draw(1u << 20), r.max_new);
    if (r.eos >= 0) snprintf(r.json + strlen(r.json), 60, ",\"eos_token_id\":%d", r.eos);
    else add(&r, ",\"eos_token_id\":[]");
    if (r.suppress) snprintf(r.json + strlen(r.json), 60, ",\"suppress_tokens\":[%d,3,4]", SUPPRESSED);
    if (draw(2)) add(&r, ",\"do_sample\":true");
    maybe(&r, ",\"temperature\":0.3");
    maybe(&r, ",\"top_k\":7");
    maybe(&r, ",\"top_p\":0.5");
    maybe(&r, ",\"min_p\":0.1");
    maybe(&r, ",\"typical_p\":0.6");
    maybe(&r, ",\"epsilon_cutoff\":0.001");
    maybe(&r, ",\"eta_cutoff\":0.002");
    maybe(&r, ",\"repetition_penalty\":1.4");
    maybe(&r, ",\"presence_penalty\":0.7");
    maybe(&r, ",\"frequency_penalty\":-0.4");
    maybe(&r, ",\"no_repeat_ngram_size\":2");
    maybe(&r, ",\"bad_words_ids\":[[5],[6,7]]");
    maybe(&r, ",\"sequence_bias\":[[[8],2.5],[[9,10],-3]]");
    maybe(&r, ",\"logit_bias\":{\"12\":4,\"13\":-100}");
    maybe(&r, ",\"begin_suppress_tokens\":[20,21]");
    maybe(&r, ",\"exponential_decay_length_penalty\":[2,1.5]");
    maybe(&r, ",\"renormalize_logits\":true");
    maybe(&r, ",\"remove_invalid_values\":true");
    maybe(&r, ",\"logprobs\":2");
    add(&r, "}");
    return r;
}

/* The one sequence of a result against what was asked for. */
static void check_sequence(const run *r, const qw_json *sequence, int32_t n_vocab)
{
    const char *reason = qw_json_string(qw_json_get(sequence, "finish_reason"));
    const qw_json *ids = qw_json_get(sequence, "token_ids");
    int32_t n = qw_json_size(ids), last = -1, outside = 0, eos_before = 0;

    for (const qw_json *id = qw_json_first(ids); id; id = qw_json_next(id)) {
        eos_before += last >= 0 && last == r->eos;
        last = (int32_t)qw_json_number(id);
        outside += last < 0 || last >= n_vocab || (r->suppress && last == SUPPRESSED);
    }
    CHECK_EQ(outside, 0);
    CHECK_EQ(eos_before, 0);
    CHECK(n <= r->max_new);
    if (n && last == r->eos) CHECK_STR(reason, "eos");
    else CHECK_STR(reason, "length");
    if (strcmp(reason, "length") == 0) CHECK_EQ(n, r->max_new);
}

static void check_run(qw_engine *e, const qw_ids *prompt, qw_buf *result)
{
    run r = random_run();
    qw_json *root = NULL;
    qw_error err = {0};
    qw_status status = run_generate(e, prompt, r.json, result, &err);

    if (status) { /* settings that leave no token to choose */
        CHECK_EQ(status, QW_ERR_USAGE);
        CHECK(err.text[0] != 0);
        return;
    }
    CHECK_EQ(qw_json_parse(&root, (qw_text){result->bytes, result->n - 1}, "result", NULL), QW_OK);
    check_sequence(&r, qw_json_first(qw_json_get(root, "sequences")), qw_engine_model(e)->config.n_vocab);
    qw_json_free(root);
}

int main(void)
{
    qw_engine *e;
    qw_error err = {0};
    qw_buf result = {0};
    qw_ids prompt = {0};

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, "{\"quantize\":\"none\",\"contextLength\":64}", 0, &err), QW_OK);
    for (int i = 0; e && i < DRAWS; i++) {
        prompt.n = 0;
        for (uint32_t k = 0, n = 1 + draw(12); k < n; k++)
            CHECK_EQ(qw_ids_push(&prompt, (int32_t)draw(500), &err), QW_OK);
        check_run(e, &prompt, &result);
    }
    qw_engine_free(e);
    qw_buf_free(&result);
    qw_ids_free(&prompt);
    return check_done();
}
