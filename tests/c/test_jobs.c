/* SPDX-License-Identifier: MIT
 * What begins, steps and ends a job: states, limits of rows, what a refused job leaves as it was, rows that wait for another
 * one's prompt, and that a step asks for no memory. */
#include "check.h"
#include "run_engine.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { WIDE = 256, LONG_PROMPT = 100 };

static const char small_context[] = "{\"quantize\": \"none\", \"contextLength\": 128, \"maxRows\": 3}";
static const qw_text no_stops = {"", 0};

static int32_t ids[1024];

static void make_ids(void)
{
    uint32_t state = 11;

    for (int32_t i = 0; i < 1024; i++) {
        state = state * 1664525u + 1013904223u;
        ids[i] = (int32_t)(state >> 16) % 500;
    }
}

static qw_engine *load(const char *path, const char *options)
{
    qw_error err = {0};
    qw_engine *e;

    CHECK_EQ(run_load(&e, path, options, 0, &err), QW_OK);
    CHECK_STR(err.text, "");
    return e;
}

/* The result of the job at hand; the caller's. */
static qw_json *result_of(qw_engine *e)
{
    qw_error err = {0};
    qw_json *result = NULL;
    qw_text json;

    CHECK_EQ(qw_job_result(e, &json, &err), QW_OK);
    CHECK_EQ(qw_json_parse(&result, json, "result", &err), QW_OK);
    return result;
}

static int32_t usage(const qw_json *result, const char *key)
{
    return (int32_t)qw_json_number(qw_json_get(qw_json_get(result, "usage"), key));
}

/* The token ids of a row as text; the caller's. */
static qw_buf row_text(const qw_json *result, int32_t r)
{
    const qw_json *row = qw_json_first(qw_json_get(result, "sequences"));
    qw_buf text = {0};

    while (row && r-- > 0) row = qw_json_next(row);
    for (const qw_json *id = qw_json_first(qw_json_get(row, "token_ids")); id; id = qw_json_next(id))
        CHECK_EQ(qw_buf_printf(&text, NULL, "%.0f ", qw_json_number(id)), QW_OK);
    CHECK_EQ(qw_buf_append(&text, "", 1, NULL), QW_OK);
    return text;
}

static void check_row(const qw_json *result, int32_t r, const qw_json *want, int32_t want_row)
{
    qw_buf got = row_text(result, r), wanted = row_text(want, want_row);

    CHECK(wanted.n > 1);
    CHECK_STR(got.bytes, wanted.bytes);
    qw_buf_free(&got);
    qw_buf_free(&wanted);
}

/* Runs a generation to its end; the result is the caller's. */
static qw_json *run(qw_engine *e, const qw_prompts *prompts, const char *settings)
{
    qw_error err = {0};
    qw_json *result;

    CHECK_EQ(qw_generate_begin(e, prompts, qw_text_of(settings), no_stops, 0, &err), QW_OK);
    CHECK_EQ(run_steps(e, 64, &err), QW_OK);
    CHECK_STR(err.text, "");
    result = result_of(e);
    qw_job_end(e);
    return result;
}

static const char sampled[] = "{\"max_new_tokens\":3,\"do_sample\":true,\"eos_token_id\":[],\"seed\":%d%s}";

/* Arrays of 128 rows and 129 tiles were overwritten: "divide by zero" from JavaScript. Copies of a prompt, and prompts of their
 * own, which also go through attention as that many tiles. */
static void there_may_be_as_many_rows_as_were_asked_for(int32_t rows)
{
    char options[120], settings[200], copies[60];
    int32_t lengths[WIDE], five = 5;
    qw_prompts one = {ids, &five, 1}, many = {ids, lengths, rows};
    qw_engine *e;

    snprintf(options, sizeof options, "{\"contextLength\": 2048, \"maxRows\": %d, \"threads\": 1}", rows);
    if (!(e = load(TINY_GGUF, options))) return;
    for (int32_t r = 0; r < rows; r++) lengths[r] = 1 + r % 3;
    for (int32_t own = 0; own < 2; own++) {
        qw_json *together, *alone;
        int32_t at = 0;

        snprintf(copies, sizeof copies, ",\"num_return_sequences\":%d", rows);
        snprintf(settings, sizeof settings, sampled, 7, own ? "" : copies);
        together = run(e, own ? &many : &one, settings);
        CHECK_EQ(qw_json_size(qw_json_get(together, "sequences")), rows);
        for (int32_t r = 0; r < rows; r++) {
            qw_prompts single = {ids + (own ? at : 0), own ? &lengths[r] : &five, 1};

            at += lengths[r];
            if (r % 32 != 0 && r != 127 && r < rows - 2) continue;
            snprintf(settings, sizeof settings, sampled, 7 + r, "");
            alone = run(e, &single, settings);
            check_row(together, r, alone, 0);
            qw_json_free(alone);
        }
        qw_json_free(together);
    }
    qw_engine_free(e);
}

/* Stepping on read one id past the end; ending a row of it never came to an end. */
static void a_prefill_that_is_done_stays_done(void)
{
    int32_t n = 24;
    qw_prompts prompts = {ids, &n, 1};
    qw_step_result more = QW_STEP_MORE;
    qw_error err = {0};
    qw_json *result;
    qw_text json;
    qw_engine *e = load(TINY_CHECKPOINT, small_context);

    if (!e) return;
    CHECK_EQ(qw_prefill_begin(e, ids, n, &err), QW_OK);
    CHECK_EQ(qw_step(e, 1, &more, &err), QW_OK);
    CHECK_EQ(more, QW_STEP_MORE);
    CHECK_EQ(qw_job_end_row(e, -1, "aborted", &err), QW_ERR_USAGE);
    CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of("{}"), no_stops, 0, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "under way");
    CHECK_EQ(run_steps(e, 16, &err), QW_OK);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(qw_step(e, 16, &more, &err), QW_OK);
        CHECK_EQ(more, QW_STEP_DONE);
    }
    CHECK_EQ(qw_job_events(e, &json, &err), QW_OK);
    CHECK_HAS(json.bytes, "\"loaded\":24,\"total\":24,\"chunks\":[],\"finished\":[]");
    /* One that has ended makes way for the next. */
    result = run(e, &prompts, "{\"max_new_tokens\":2,\"eos_token_id\":[]}");
    CHECK_EQ(usage(result, "cached_tokens"), n - 1);
    CHECK_EQ(usage(result, "completion_tokens"), 2);
    CHECK_EQ(qw_job_end_row(e, 0, "aborted", &err), QW_ERR_USAGE);
    qw_json_free(result);
    qw_engine_free(e);
}

/* Its followers failed with "context". */
static void a_leader_that_ends_hands_its_prompt_on(int steps, bool two)
{
    char settings[200];
    int32_t n = LONG_PROMPT;
    qw_prompts prompts = {ids, &n, 1};
    qw_error err = {0};
    qw_step_result more;
    qw_json *result, *alone;
    qw_engine *e = load(TINY_GGUF, "{\"contextLength\": 128, \"maxRows\": 4}");

    if (!e) return;
    snprintf(settings, sizeof settings, sampled, 5, ",\"num_return_sequences\":4");
    CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(settings), no_stops, 0, &err), QW_OK);
    for (int i = 0; i < steps; i++) CHECK_EQ(qw_step(e, 1, &more, &err), QW_OK);
    CHECK_EQ(qw_job_end_row(e, 0, "stopping", &err), QW_OK);
    if (two) CHECK_EQ(qw_job_end_row(e, 1, "stopping", &err), QW_OK);
    CHECK_EQ(run_steps(e, 3, &err), QW_OK);
    CHECK_STR(err.text, "");
    result = result_of(e);
    CHECK_EQ(usage(result, "prompt_tokens"), n);
    qw_job_end(e);
    for (int32_t r = 1 + two; r < 4; r++) {
        snprintf(settings, sizeof settings, sampled, 5 + r, "");
        alone = run(e, &prompts, settings);
        check_row(result, r, alone, 0);
        qw_json_free(alone);
    }
    qw_json_free(result);
    qw_engine_free(e);
}

/* A bad rng_state or max_length had already cut the conversation's keys and values. */
static void a_refused_job_leaves_the_cache_as_it_was(void)
{
    static const char bad_stop[] = "\x05\0\0\0a";
    static const struct {
        const char *settings, *part;
        int32_t padding, stops;
    } cases[] = {
        {"{\"rng_state\":\"12\"}", "rng_state", 0, 0},
        {"{\"max_length\":3}", "max_length", 0, 0},
        {"{\"top_k\":-1}", "top_k", 0, 0},
        {"{\"num_return_sequences\":4,\"do_sample\":true}", "maxRows", 0, 0},
        {"{}", "stop strings", 0, sizeof bad_stop - 1},
        {"{}", "padding_width is -1", -1, 0},
        {"{}", "padding_width is 129", 129, 0},
    };
    int32_t n = 24, other = 30;
    qw_prompts prompts = {ids, &n, 1}, others = {ids + 300, &other, 1};
    qw_engine *e = load(TINY_CHECKPOINT, small_context);

    if (!e) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_text stops = {bad_stop, (size_t)cases[i].stops};
        qw_json *result = run(e, &prompts, "{\"max_new_tokens\":2,\"eos_token_id\":[]}");
        qw_error err = {0};

        qw_json_free(result);
        CHECK_EQ(qw_generate_begin(e, &others, qw_text_of(cases[i].settings), stops, cases[i].padding, &err),
                 QW_ERR_USAGE);
        CHECK_HAS(err.text, cases[i].part);
        result = run(e, &prompts, "{\"max_new_tokens\":2,\"eos_token_id\":[]}");
        CHECK_EQ(usage(result, "cached_tokens"), n - 1);
        qw_json_free(result);
    }
    qw_engine_free(e);
}

/* Such a prompt was read in full, and answered '' with "length". */
static void a_prompt_that_leaves_no_room_is_refused_before_it_is_read(void)
{
    static const struct {
        const char *settings;
        int32_t lengths[3], n;
        qw_status status;
    } cases[] = {
        {"{\"eos_token_id\":[]}", {128}, 1, QW_ERR_CONTEXT},
        {"{\"eos_token_id\":[],\"max_new_tokens\":5}", {128}, 1, QW_ERR_CONTEXT},
        {"{\"eos_token_id\":[]}", {64, 64}, 2, QW_ERR_CONTEXT},
        {"{\"max_new_tokens\":0}", {128}, 1, QW_OK},
        {"{\"eos_token_id\":[]}", {127}, 1, QW_OK},
        {"{\"eos_token_id\":[]}", {64, 63}, 2, QW_OK},
    };
    qw_engine *e = load(TINY_CHECKPOINT, small_context);

    for (size_t i = 0; e && i < sizeof cases / sizeof *cases; i++) {
        qw_prompts prompts = {ids, cases[i].lengths, cases[i].n};
        qw_error err = {0};
        qw_json *result;

        CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(cases[i].settings), no_stops, 0, &err), cases[i].status);
        if (cases[i].status) CHECK_HAS(err.text, "none is left for an answer");
        if (cases[i].status) continue;
        CHECK_EQ(run_steps(e, 64, &err), QW_OK);
        result = result_of(e);
        CHECK_EQ(usage(result, "completion_tokens") > 0, strstr(cases[i].settings, "max_new_tokens") == NULL);
        qw_json_free(result);
        qw_job_end(e);
    }
    qw_engine_free(e);
}

/* What a checkpoint's own file asks for cost every call an error about a setting that nobody gave. */
static void a_files_settings_never_cost_the_call(void)
{
    static const struct {
        const char *file, *call, *note;
        int32_t n, n_rows;
    } cases[] = {
        {"{\"num_return_sequences\": 2}", "{}", "num_return_sequences", 9, 1},
        {"{\"num_return_sequences\": 9, \"do_sample\": true}", "{}", "num_return_sequences", 9, 1},
        {"{\"num_return_sequences\": 3, \"do_sample\": true}", "{}", "num_return_sequences", 126, 1},
        {"{\"num_return_sequences\": 3, \"do_sample\": true}", "{}", "", 9, 3},
        {"{\"max_length\": 20}", "{}", "max_length 20", 20, 1},
        {"{\"forced_eos_token_id\": 3, \"suppress_tokens\": [3]}", "{}", "forced_eos_token_id is ignored", 9, 1},
        {"{\"forced_eos_token_id\": 3}", "{\"suppress_tokens\": [3]}", "forced_eos_token_id is ignored", 9, 1},
        {"{\"suppress_tokens\": [3]}", "{\"forced_eos_token_id\": 3}", "suppress_tokens is ignored", 9, 1},
    };
    qw_engine *e = load(TINY_CHECKPOINT, small_context);

    for (size_t i = 0; e && i < sizeof cases / sizeof *cases; i++) {
        qw_prompts prompts = {ids, &cases[i].n, 1};
        qw_error err = {0};
        qw_json *result;
        qw_text json;

        e->model.generation_config.n = 0;
        CHECK_EQ(qw_buf_append(&e->model.generation_config, cases[i].file, strlen(cases[i].file), NULL), QW_OK);
        CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(cases[i].call), no_stops, 0, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_EQ(run_steps(e, 64, &err), QW_OK);
        CHECK_EQ(qw_job_result(e, &json, &err), QW_OK);
        CHECK_HAS(json.bytes, cases[i].note);
        result = result_of(e);
        CHECK_EQ(qw_json_size(qw_json_get(result, "sequences")), cases[i].n_rows);
        qw_json_free(result);
        qw_job_end(e);
    }
    qw_engine_free(e);
}

/* Rows that sample, with stop strings, penalties and log-probabilities: once they are under way, nothing is asked for. */
static void a_step_allocates_nothing(void)
{
    static const char settings[] =
        "{\"max_new_tokens\":60,\"do_sample\":true,\"top_p\":0.9,\"repetition_penalty\":1.1,\"logprobs\":5,"
        "\"eos_token_id\":[],\"seed\":3,\"num_return_sequences\":4}";
    static const char stops[] = "\x05\0\0\0Xyzzy";
    int32_t n = 40;
    qw_prompts prompts = {ids, &n, 1};
    qw_error err = {0};
    qw_step_result more = QW_STEP_MORE;
    int32_t steps = 0;
    qw_engine *e = load(TINY_GGUF, "{\"contextLength\": 512, \"threads\": 1}");

    if (!e) return;
    CHECK_EQ(qw_generate_begin(e, &prompts, qw_text_of(settings), (qw_text){stops, sizeof stops - 1}, 0, &err), QW_OK);
    for (; more == QW_STEP_MORE; steps++) {
        if (steps >= 8) qw_alloc_test_forbid(true);
        CHECK_EQ(qw_step(e, 64, &more, &err), QW_OK);
        if (steps < 8) continue;
        qw_alloc_test_forbid(false);
        CHECK_EQ(qw_alloc_test_forbidden(), 0);
    }
    CHECK(steps > 50);
    qw_engine_free(e);
}

static void forward_gives_all_logits_in_few_passes(void)
{
    uint8_t keep[LONG_PROMPT];
    int32_t n = LONG_PROMPT, taken = 0, passes = 0;
    qw_prompts prompts = {ids, &n, 1};
    qw_step_result more = QW_STEP_MORE;
    qw_error err = {0};
    qw_engine *e = load(TINY_CHECKPOINT, small_context);

    if (!e) return;
    memset(keep, 1, sizeof keep);
    CHECK_EQ(qw_forward_begin(e, &prompts, keep, false, &err), QW_OK);
    while (more == QW_STEP_MORE && !err.status) {
        qw_forward_out out;

        CHECK_EQ(qw_step(e, LONG_PROMPT, &more, &err), QW_OK);
        qw_forward_output(e, &out);
        taken += out.n;
        passes += out.n_hidden > 0;
    }
    CHECK_EQ(taken, n);
    CHECK_EQ(passes, 1); /* of as many tokens as rows may be: 34 */
    qw_engine_free(e);
}

/* Longer than what a formatted text once held: an internal error. */
static void a_path_may_be_long(void)
{
    char path[1200] = "";
    qw_error err = {0};
    qw_engine *e;

    while (strlen(path) < 600) strcat(path, "./");
    strcat(path, TINY_CHECKPOINT);
    e = load(path, small_context);
    qw_engine_free(e);
    strcat(path, "/nothing.gguf");
    CHECK_EQ(run_load(&e, path, "{}", 0, &err), QW_ERR_USAGE);
}

int main(void)
{
    make_ids();
    there_may_be_as_many_rows_as_were_asked_for(129);
    there_may_be_as_many_rows_as_were_asked_for(200);
    there_may_be_as_many_rows_as_were_asked_for(256);
    a_prefill_that_is_done_stays_done();
    for (int steps = 0; steps < 40; steps += 13) {
        a_leader_that_ends_hands_its_prompt_on(steps, false);
        a_leader_that_ends_hands_its_prompt_on(steps, true);
    }
    a_refused_job_leaves_the_cache_as_it_was();
    a_prompt_that_leaves_no_room_is_refused_before_it_is_read();
    a_files_settings_never_cost_the_call();
    a_step_allocates_nothing();
    forward_gives_all_logits_in_few_passes();
    a_path_may_be_long();
    return check_done();
}
