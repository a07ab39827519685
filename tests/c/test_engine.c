/* SPDX-License-Identifier: MIT
 * A whole engine through qw.h: the feed may come in any pieces, results do not depend on threads, chunks and what the cache
 * still holds, and after any refusal or abort the engine goes on. */
#include "check.h"
#include "run_engine.h"

#include "base/alloc.h"
#include "base/exact_math.h"

#include <stdlib.h>

static const char exact_options[] = "{\"quantize\": \"none\", \"contextLength\": 128, \"maxRows\": 3}";

enum { PROMPT = 24 };

static qw_ids make_prompt(int32_t n, int32_t seed)
{
    qw_ids ids = {0};

    for (int32_t i = 0; i < n; i++)
        if (qw_ids_push(&ids, (seed + i * 37) % 500, NULL)) abort();
    return ids;
}

/* Logits of all tokens of one row, [n][n_vocab]; the caller's. */
static float *all_logits(qw_engine *e, const qw_ids *ids, int32_t chunk)
{
    size_t n_vocab = (size_t)qw_engine_model(e)->config.n_vocab, taken = 0;
    float *logits = qw_calloc(ids->n * n_vocab, sizeof *logits);
    uint8_t *keep = qw_calloc(ids->n, 1);
    int32_t length = (int32_t)ids->n;
    qw_prompts prompts = {ids->v, &length, 1};
    qw_step_result result = QW_STEP_MORE;
    qw_error err = {0};
    qw_status status;

    if (!logits || !keep) abort();
    memset(keep, 1, ids->n);
    status = qw_forward_begin(e, &prompts, keep, false, &err);
    while (!status && result != QW_STEP_DONE) {
        qw_forward_out out;

        status = qw_step(e, chunk, &result, &err);
        if (status) break;
        qw_forward_output(e, &out);
        CHECK(taken + (size_t)out.n <= ids->n);
        memcpy(logits + taken * n_vocab, out.logits, (size_t)out.n * n_vocab * sizeof *logits);
        taken += (size_t)out.n;
    }
    CHECK_STR(err.text, "");
    CHECK_EQ(taken, ids->n);
    qw_job_end(e);
    qw_free(keep);
    return logits;
}

static void check_same(const float *a, const float *b, size_t n)
{
    CHECK(memcmp(a, b, n * sizeof *a) == 0);
}

static void feed_of_any_size_gives_the_same_engine(const char *path, const char *options, const size_t *sizes,
                                                   size_t n_sizes)
{
    qw_ids ids = make_prompt(PROMPT, 5);
    float *want = NULL;

    for (size_t i = 0; i < n_sizes; i++) {
        qw_engine *e;
        qw_error err = {0};
        float *got;

        CHECK_EQ(run_load(&e, path, options, sizes[i], &err), QW_OK);
        CHECK_STR(err.text, "");
        if (!e) continue;
        got = all_logits(e, &ids, PROMPT);
        if (want) check_same(got, want, ids.n * (size_t)qw_engine_model(e)->config.n_vocab);
        else want = got;
        if (got != want) qw_free(got);
        qw_engine_free(e);
    }
    qw_free(want);
    qw_ids_free(&ids);
}

/* "f32" keeps the same numbers that the file's own types stand for: what quantised paths are held to is no other model. */
static void f32_keeps_the_numbers_of_the_file(void)
{
    static const char *const options[2] = {"{\"contextLength\": 32}", "{\"contextLength\": 32, \"quantize\": \"f32\"}"};
    qw_engine *e[2] = {NULL, NULL};
    qw_error err = {0};
    float row[2][2048];

    for (int i = 0; i < 2; i++) CHECK_EQ(run_load(&e[i], TINY_GGUF, options[i], 0, &err), QW_OK);
    for (int32_t l = 0; e[0] && e[1] && l < qw_engine_model(e[0])->config.n_layer; l++) {
        const qw_mat *a = &qw_engine_model(e[0])->weights.layer[l].w_down,
                     *b = &qw_engine_model(e[1])->weights.layer[l].w_down;

        CHECK_EQ(a->layout, QW_LAYOUT_I8);
        CHECK_EQ(b->layout, QW_LAYOUT_F32);
        CHECK_EQ(a->rows * a->cols, b->rows * b->cols);
        for (int32_t r = 0; r < a->rows && a->cols <= 2048; r++) {
            qw_mat_row(row[0], a, r);
            qw_mat_row(row[1], b, r);
            check_same(row[0], row[1], (size_t)a->cols);
        }
    }
    CHECK(e[0] && e[1] && qw_engine_model(e[0])->weights.layer[0].w_down.cols <= 2048);
    qw_engine_free(e[0]);
    qw_engine_free(e[1]);
}

static void threads_and_chunks_do_not_change_a_bit(const char *path, const char *kv_type)
{
    qw_ids ids = make_prompt(PROMPT, 11);
    float *want = NULL;

    for (int threads = 1; threads <= 3; threads++) {
        char options[120];
        qw_engine *e;
        qw_error err = {0};

        snprintf(options, sizeof options, "{\"contextLength\": 64, \"kvType\": \"%s\", \"threads\": %d}", kv_type,
                 threads);
        if (run_load(&e, path, options, 0, &err) != QW_OK) { /* a build without threads refuses the second */
            CHECK(threads > 1);
            CHECK_HAS(err.text, "thread");
            continue;
        }
        for (int32_t chunk = 1; chunk <= PROMPT; chunk += 11) {
            float *got = all_logits(e, &ids, chunk);

            if (want) check_same(got, want, ids.n * (size_t)qw_engine_model(e)->config.n_vocab);
            if (want) qw_free(got);
            else want = got;
        }
        qw_engine_free(e);
    }
    qw_free(want);
    qw_ids_free(&ids);
}

static double usage_of(const qw_buf *result, const char *key)
{
    qw_json *json = NULL;
    double value = -1;

    CHECK_EQ(qw_json_parse(&json, qw_text_of(result->bytes), "result", NULL), QW_OK);
    value = qw_json_number(qw_json_get(qw_json_get(json, "usage"), key));
    qw_json_free(json);
    return value;
}

/* The ids of sequence 0, as text between brackets, to compare runs that differ in what was cached. */
static qw_buf ids_of(const qw_buf *result)
{
    const char *start = strstr(result->bytes, "\"token_ids\":["), *end = start ? strchr(start, ']') : NULL;
    qw_buf out = {0};

    CHECK(start && end);
    if (start && end && (qw_buf_append(&out, start, (size_t)(end - start), NULL) || qw_buf_append(&out, "", 1, NULL)))
        abort();
    return out;
}

static void a_prompt_that_was_read_is_not_read_again(void)
{
    static const char settings[] = "{\"max_new_tokens\": 12, \"do_sample\": false, \"eos_token_id\": []}";
    qw_ids prompt = make_prompt(PROMPT, 3), longer = make_prompt(PROMPT + 9, 3);
    qw_buf result = {0}, want = {0}, got;
    qw_engine *e;
    qw_error err = {0};

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, exact_options, 0, &err), QW_OK);
    if (!e) return;
    CHECK_EQ(run_generate(e, &longer, settings, &result, &err), QW_OK);
    CHECK_EQ(usage_of(&result, "cached_tokens"), 0);
    want = ids_of(&result);

    qw_engine_forget(e);
    CHECK_EQ(run_generate(e, &prompt, settings, &result, &err), QW_OK);
    CHECK_EQ(usage_of(&result, "cached_tokens"), 0);
    CHECK_EQ(run_generate(e, &longer, settings, &result, &err), QW_OK);
    CHECK_EQ(usage_of(&result, "cached_tokens"), PROMPT);
    CHECK_EQ(usage_of(&result, "prompt_tokens"), PROMPT + 9);
    got = ids_of(&result);
    CHECK_STR(got.bytes, want.bytes);
    qw_buf_free(&got);

    CHECK_EQ(run_generate(e, &longer, settings, &result, &err), QW_OK);
    CHECK_EQ(usage_of(&result, "cached_tokens"), PROMPT + 8); /* the last token is read for its logits */
    got = ids_of(&result);
    CHECK_STR(got.bytes, want.bytes);
    qw_buf_free(&got);
    qw_engine_free(e);
    qw_buf_free(&want);
    qw_buf_free(&result);
    qw_ids_free(&prompt);
    qw_ids_free(&longer);
}

/* Aborts after every number of steps; each time the same prompt must then give the same ids. */
static void an_abort_at_any_step_leaves_the_engine_sound(void)
{
    static const char settings[] = "{\"max_new_tokens\": 6, \"do_sample\": false, \"eos_token_id\": []}";
    qw_ids prompt = make_prompt(PROMPT, 17);
    int32_t length = (int32_t)prompt.n;
    qw_prompts prompts = {prompt.v, &length, 1};
    qw_buf result = {0}, want, got;
    qw_engine *e;
    qw_error err = {0};

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, exact_options, 0, &err), QW_OK);
    if (!e) return;
    CHECK_EQ(run_generate(e, &prompt, settings, &result, &err), QW_OK);
    want = ids_of(&result);
    for (int steps = 0; steps < 10; steps++) {
        qw_step_result more = QW_STEP_MORE;

        qw_engine_forget(e);
        CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(settings), (qw_text){"", 0}, 0, &err), QW_OK);
        for (int i = 0; i < steps && more == QW_STEP_MORE; i++) CHECK_EQ(qw_step(e, 7, &more, &err), QW_OK);
        if (steps % 2) CHECK_EQ(qw_job_end_row(e, -1, "aborted", &err), QW_OK);
        qw_job_end(e);
        qw_job_end(e); /* twice is a no-op */
        CHECK_EQ(run_generate(e, &prompt, settings, &result, &err), QW_OK);
        got = ids_of(&result);
        CHECK_STR(got.bytes, want.bytes);
        qw_buf_free(&got);
    }
    qw_buf_free(&want);
    qw_buf_free(&result);
    qw_engine_free(e);
    qw_ids_free(&prompt);
}

typedef struct refusal {
    const char *settings;
    int32_t first_id, n, rows;
    qw_status status;
    const char *part; /* of the message */
} refusal;

static void bad_calls_are_refused_by_name_and_harm_nothing(void)
{
    static const char settings[] = "{\"max_new_tokens\": 4, \"do_sample\": false}";
    static const refusal cases[] = {
        {settings, 1, 0, 1, QW_ERR_USAGE, "empty"},
        {settings, 512, 3, 1, QW_ERR_USAGE, "512"},
        {settings, -1, 3, 1, QW_ERR_USAGE, "-1"},
        {settings, 1, 129, 1, QW_ERR_CONTEXT, "129"},
        {settings, 1, 5, 4, QW_ERR_USAGE, "maxRows"},
        {settings, 1, 60, 3, QW_ERR_CONTEXT, "180"},
        {"{\"max_new_token\": 4}", 1, 3, 1, QW_ERR_USAGE, "max_new_token"},
        {"{\"temperature\": -1, \"do_sample\": true}", 1, 3, 1, QW_ERR_USAGE, "temperature"},
        {"{\"num_beams\": 4}", 1, 3, 1, QW_ERR_USAGE, "num_beams"},
        {"{\"max_length\": 3}", 1, 3, 1, QW_ERR_USAGE, "max_length"},
        {"[]", 1, 3, 1, QW_ERR_USAGE, ""},
        {"{", 1, 3, 1, QW_ERR_USAGE, ""},
    };
    qw_ids prompt = make_prompt(PROMPT, 2);
    qw_buf result = {0}, want, got;
    qw_engine *e;
    qw_error err = {0};

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, exact_options, 0, &err), QW_OK);
    if (!e) return;
    CHECK_EQ(run_generate(e, &prompt, settings, &result, &err), QW_OK);
    want = ids_of(&result);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t ids[300], lengths[4];
        qw_prompts prompts = {ids, lengths, cases[i].rows};

        for (int32_t j = 0; j < 300; j++) ids[j] = cases[i].first_id;
        for (int32_t r = 0; r < cases[i].rows; r++) lengths[r] = cases[i].n;
        err = (qw_error){0};
        CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(cases[i].settings), (qw_text){"", 0}, 0, &err),
                 cases[i].status);
        CHECK_EQ(err.status, cases[i].status);
        CHECK_HAS(err.text, cases[i].part);
        CHECK(strlen(err.text) > 10);
        qw_job_end(e);
        CHECK_EQ(run_generate(e, &prompt, settings, &result, &err), QW_OK);
        got = ids_of(&result);
        CHECK_STR(got.bytes, want.bytes);
        qw_buf_free(&got);
    }
    qw_buf_free(&want);
    qw_buf_free(&result);
    qw_engine_free(e);
    qw_ids_free(&prompt);
}

/* As many log-probabilities as there are ids; those of ids that are barred are "-inf" where they are processed. */
static void log_probabilities_of_the_whole_vocabulary(void)
{
    qw_ids prompt = make_prompt(5, 4);
    int32_t length = 5, ids = 0, barred = 0;
    qw_prompts prompts = {prompt.v, &length, 1};
    qw_json *events = NULL;
    const qw_json *one;
    qw_engine *e;
    qw_error err = {0};
    qw_text json;
    double sum = 0, last = 0;

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, exact_options, 0, &err), QW_OK);
    if (!e) return;
    CHECK_EQ(qw_generate_begin(e, &prompts,
                               qw_text_of("{\"max_new_tokens\": 1, \"logprobs\": 512, \"suppress_tokens\": [7, 8]}"),
                               (qw_text){"", 0}, 0, &err),
             QW_OK);
    CHECK_EQ(run_steps(e, 16, &err), QW_OK);
    CHECK_EQ(qw_job_events(e, &json, &err), QW_OK);
    CHECK_EQ(qw_json_parse(&events, json, "events", &err), QW_OK);
    one = qw_json_first(qw_json_get(qw_json_first(qw_json_get(events, "chunks")), "logprobs"));
    for (const qw_json *top = qw_json_first(qw_json_get(one, "top_raw")); top; top = qw_json_next(top), ids++) {
        double logprob = qw_json_number(qw_json_next(qw_json_first(top)));

        CHECK(logprob < 0 && (ids == 0 || logprob <= last));
        sum += qw_exp(last = logprob);
    }
    CHECK_EQ(ids, 512);
    CHECK_NEAR(sum, 1, 1e-4);
    for (const qw_json *top = qw_json_first(qw_json_get(one, "top_processed")); top; top = qw_json_next(top))
        barred += strcmp(qw_json_string(qw_json_next(qw_json_first(top))), "-inf") == 0;
    CHECK_EQ(barred, 2);
    qw_json_free(events);
    qw_engine_free(e);
    qw_ids_free(&prompt);
}

static void a_context_that_fills_ends_with_length(void)
{
    qw_ids prompt = make_prompt(120, 9);
    qw_buf result = {0};
    qw_engine *e;
    qw_error err = {0};

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, exact_options, 0, &err), QW_OK);
    if (!e) return;
    CHECK_EQ(run_generate(e, &prompt, "{\"do_sample\": false, \"eos_token_id\": []}", &result, &err), QW_OK);
    CHECK_HAS(result.bytes, "\"finish_reason\":\"length\"");
    CHECK_EQ(usage_of(&result, "completion_tokens"), 8); /* 120 and 8 fill the 128 */
    qw_buf_free(&result);
    qw_engine_free(e);
    qw_ids_free(&prompt);
}

/* Every sequence of the result: its end, and its last token. */
static void check_forced(const qw_buf *result, int32_t n_rows, const char *finish, int32_t last)
{
    qw_json *root = NULL;
    int32_t rows = 0;

    CHECK_EQ(qw_json_parse(&root, (qw_text){result->bytes, result->n - 1}, "result", NULL), QW_OK);
    for (const qw_json *s = qw_json_first(qw_json_get(root, "sequences")); s; s = qw_json_next(s), rows++) {
        const qw_json *id = qw_json_first(qw_json_get(s, "token_ids"));

        while (qw_json_next(id)) id = qw_json_next(id);
        CHECK_STR(qw_json_string(qw_json_get(s, "finish_reason")), finish);
        CHECK_EQ(qw_json_number(id), last);
    }
    CHECK_EQ(rows, n_rows);
    qw_json_free(root);
}

/* Without a length, or with one beyond the context, the context's last token is the forced one. Rows of a batch fill it
 * one after the other: each is forced when it would be the one to end. */
static void the_end_of_the_context_forces_the_token(void)
{
    static const struct {
        const char *settings, *finish;
        int32_t lengths[3], n_prompts, n_rows, n_new;
    } cases[] = {
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3]}", "eos", {120}, 1, 1, 8},
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3],\"max_new_tokens\":5}", "eos", {120}, 1, 1, 5},
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3],\"max_length\":999}", "eos", {120}, 1, 1, 8},
        {"{\"forced_eos_token_id\":[3],\"eos_token_id\":[]}", "length", {127}, 1, 1, 1},
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3]}", "eos", {20, 50, 33}, 3, 3, -1},
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3]}", "eos", {42, 42, 42}, 3, 3, -1},
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3],\"do_sample\":true,\"num_return_sequences\":3}",
         "eos",
         {45},
         1,
         3,
         -1},
        {"{\"forced_eos_token_id\":3,\"eos_token_id\":[3],\"do_sample\":true,\"num_return_sequences\":3}",
         "eos",
         {85},
         1,
         3,
         -1},
    };
    qw_ids ids = make_prompt(128, 9);
    qw_engine *e;
    qw_error err = {0};

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT, exact_options, 0, &err), QW_OK);
    for (size_t i = 0; e && i < sizeof cases / sizeof *cases; i++) {
        qw_prompts prompts = {ids.v, cases[i].lengths, cases[i].n_prompts};
        qw_buf result = {0};
        qw_text json;

        qw_engine_forget(e);
        CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(cases[i].settings), (qw_text){"", 0}, 0, &err), QW_OK);
        CHECK_EQ(run_steps(e, 16, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_EQ(qw_job_result(e, &json, &err), QW_OK);
        CHECK_EQ(qw_buf_append(&result, json.bytes, json.n, &err), QW_OK);
        CHECK_EQ(qw_buf_append(&result, "", 1, &err), QW_OK);
        check_forced(&result, cases[i].n_rows, cases[i].finish, 3);
        if (cases[i].n_new > 0) CHECK_EQ(usage_of(&result, "completion_tokens"), cases[i].n_new);
        qw_buf_free(&result);
        qw_job_end(e);
    }
    qw_engine_free(e);
    qw_ids_free(&ids);
}

static void calls_out_of_turn_are_usage_errors(void)
{
    int32_t id = 1, length = 1;
    qw_prompts prompts = {&id, &length, 1};
    qw_step_result more;
    qw_engine *e = NULL;
    qw_error err = {0};
    qw_text json;
    qw_want want;

    CHECK_EQ(qw_engine_new(&e, qw_text_of("{\"threads\": 0}"), &err), QW_ERR_USAGE);
    CHECK(e == NULL);
    CHECK_EQ(qw_engine_new(&e, qw_text_of("{\"kvType\": \"f64\"}"), &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "f64");
    CHECK_EQ(qw_engine_new(&e, qw_text_of("{}"), &err), QW_OK);
    if (!e) return;
    qw_engine_want(e, &want);
    CHECK_EQ(want.kind, QW_WANT_NOTHING);
    CHECK_EQ(qw_engine_feed(e, 1, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_engine_opened(e, 1, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_engine_info(e, &json, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_engine_plan(e, &json, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of("{}"), (qw_text){"", 0}, 0, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_prefill_begin(e, &id, 1, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_step(e, 1, &more, &err), QW_ERR_USAGE);
    qw_job_end(e);
    qw_engine_free(e);

    CHECK_EQ(run_load(&e, TINY_CHECKPOINT "/nothing.gguf", "{}", 0, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "nothing.gguf");
    CHECK_EQ(run_load(&e, "tests/fixtures/README.md", "{}", 0, &err), QW_ERR_FORMAT);
}

int main(void)
{
    static const size_t checkpoint_sizes[] = {0, 1, 7, 4096, 65537}, gguf_sizes[] = {0, 61, 8191};

    feed_of_any_size_gives_the_same_engine(TINY_CHECKPOINT, exact_options, checkpoint_sizes, 5);
    feed_of_any_size_gives_the_same_engine("tests/fixtures/checkpoints/sharded", "{\"quantize\": \"q4_0\"}",
                                           checkpoint_sizes + 2, 3);
    feed_of_any_size_gives_the_same_engine(TINY_GGUF, "{\"contextLength\": 64}", gguf_sizes, 3);
    f32_keeps_the_numbers_of_the_file();
    threads_and_chunks_do_not_change_a_bit(TINY_CHECKPOINT, "f32");
    threads_and_chunks_do_not_change_a_bit("tests/fixtures/checkpoints/sliding", "f16");
    threads_and_chunks_do_not_change_a_bit(TINY_GGUF, "q8_0");
    a_prompt_that_was_read_is_not_read_again();
    an_abort_at_any_step_leaves_the_engine_sound();
    bad_calls_are_refused_by_name_and_harm_nothing();
    log_probabilities_of_the_whole_vocabulary();
    a_context_that_fills_ends_with_length();
    the_end_of_the_context_forces_the_token();
    calls_out_of_turn_are_usage_errors();
    return check_done();
}
