/* SPDX-License-Identifier: MIT
 * Rows that run together are the rows that run alone: same ids whatever the others' lengths, greedy and sampled, with every row's
 * own seed; and sequences that share a prompt share its cache. */
#include "check.h"
#include "qw.h"
#include "run_engine.h"

enum { ROWS = 7, WIDEST = 300, TOTAL = 1 + 3 + 17 + 40 + 77 + 150 + WIDEST };

static const int32_t lengths[ROWS] = {17, 1, WIDEST, 3, 150, 40, 77};
static int32_t ids[TOTAL];

static void make_prompts(void)
{
    uint32_t state = 5;

    for (int32_t i = 0; i < TOTAL; i++) {
        state = state * 1664525u + 1013904223u;
        ids[i] = (int32_t)(state >> 16) % 4000;
    }
}

/* The result's "token_ids" of row r as text; owned by the caller. */
static qw_buf ids_of_row(const qw_buf *result, int32_t r)
{
    qw_json *root = NULL;
    const qw_json *row;
    qw_buf text = {0};

    CHECK_EQ(qw_json_parse(&root, (qw_text){result->bytes, result->n}, "result", NULL), QW_OK);
    row = qw_json_first(qw_json_get(root, "sequences"));
    while (row && r-- > 0) row = qw_json_next(row);
    for (const qw_json *id = qw_json_first(qw_json_get(row, "token_ids")); id; id = qw_json_next(id))
        CHECK_EQ(qw_buf_printf(&text, NULL, "%.0f ", qw_json_number(id)), QW_OK);
    CHECK_EQ(qw_buf_append(&text, "", 1, NULL), QW_OK);
    qw_json_free(root);
    return text;
}

static void run(qw_engine *e, const qw_prompts *prompts, const char *settings, qw_buf *result)
{
    qw_error err = {0};
    qw_text json = {"", 0};

    result->n = 0;
    CHECK_EQ(qw_generate_begin(e, prompts, qw_text_of(settings), (qw_text){"", 0}, 0, &err), QW_OK);
    CHECK_EQ(run_steps(e, 40, &err), QW_OK);
    CHECK_EQ(qw_job_result(e, &json, &err), QW_OK);
    CHECK_EQ(qw_buf_append(result, json.bytes, json.n, &err), QW_OK);
    qw_job_end(e);
    CHECK_STR(err.text, "");
}

static void check_same_row(const qw_buf *together, int32_t r, const qw_buf *alone)
{
    qw_buf got = ids_of_row(together, r), wanted = ids_of_row(alone, 0);

    CHECK_STR(got.bytes, wanted.bytes);
    qw_buf_free(&got);
    qw_buf_free(&wanted);
}

static void rows_together_are_rows_alone(qw_engine *e, const char *format)
{
    qw_prompts all = {ids, lengths, ROWS};
    qw_buf together = {0}, alone = {0};
    char settings[200];
    int32_t at = 0;

    snprintf(settings, sizeof settings, format, 90u);
    qw_engine_forget(e);
    run(e, &all, settings, &together);
    for (int32_t r = 0; r < ROWS; r++) {
        qw_prompts one = {ids + at, lengths + r, 1};

        snprintf(settings, sizeof settings, format, 90u + (unsigned)r);
        qw_engine_forget(e);
        run(e, &one, settings, &alone);
        check_same_row(&together, r, &alone);
        at += lengths[r];
    }
    qw_buf_free(&together);
    qw_buf_free(&alone);
}

static void sequences_of_a_prompt_are_runs_with_their_seeds(qw_engine *e)
{
    static const char format[] =
        "{\"max_new_tokens\":9,\"do_sample\":true,\"top_k\":0,\"eos_token_id\":[],\"seed\":%u%s}";
    int32_t n = 45;
    qw_prompts prompt = {ids, &n, 1};
    qw_buf together = {0}, alone = {0};
    char settings[200];

    snprintf(settings, sizeof settings, format, 4294967295u, ",\"num_return_sequences\":3");
    qw_engine_forget(e);
    run(e, &prompt, settings, &together);
    for (int32_t r = 0; r < 3; r++) {
        snprintf(settings, sizeof settings, format, 4294967295u + (unsigned)r, "");
        run(e, &prompt, settings, &alone);
        check_same_row(&together, r, &alone);
    }
    qw_buf_free(&together);
    qw_buf_free(&alone);
}

/* Eight prompts of 100 tokens would need 800: the sequences share one, and end where the context is full. */
static void a_shared_prompt_is_held_once(void)
{
    static const char settings[] =
        "{\"max_new_tokens\":60,\"do_sample\":true,\"eos_token_id\":[],\"seed\":1,\"num_return_sequences\":8}";
    int32_t n = 100;
    qw_prompts prompt = {ids, &n, 1};
    qw_buf result = {0}, row;
    qw_engine *e;
    qw_error err = {0};
    int32_t new_tokens = 0;

    CHECK_EQ(run_load(&e, TINY_GGUF, "{\"contextLength\":256}", 0, &err), QW_OK);
    if (!e) return;
    run(e, &prompt, settings, &result);
    for (int32_t r = 0; r < 8; r++) {
        row = ids_of_row(&result, r);
        for (size_t i = 0; i < row.n; i++) new_tokens += row.bytes[i] == ' ';
        qw_buf_free(&row);
    }
    /* 96 of the 100 are shared; rows that end leave their room to the others: 16 + 18 + 22 + 28 + 36 + 49 + 60 + 60. */
    CHECK(new_tokens >= 289 && new_tokens < 8 * 60);
    qw_buf_append(&result, "", 1, NULL);
    CHECK_HAS(result.bytes, "\"finish_reason\":\"length\"");
    qw_buf_free(&result);
    qw_engine_free(e);
}

/* While the first prompt's rows choose already, the second's are still to come: they count as what they will take. */
static void prompts_that_are_shared_leave_room_for_all(void)
{
    static const char format[] = "{\"max_new_tokens\":10,\"do_sample\":true,\"eos_token_id\":[],\"seed\":%u%s}";
    static const int32_t two[] = {150, 150};
    qw_prompts prompts = {ids, two, 2};
    qw_buf together = {0}, alone = {0};
    char settings[200];
    qw_engine *e;
    qw_error err = {0};

    CHECK_EQ(run_load(&e, TINY_GGUF, "{\"contextLength\":512}", 0, &err), QW_OK);
    if (!e) return;
    snprintf(settings, sizeof settings, format, 3u, ",\"num_return_sequences\":4");
    run(e, &prompts, settings, &together);
    for (int32_t r = 0; r < 8; r++) {
        qw_prompts one = {ids + r / 4 * 150, two, 1};

        snprintf(settings, sizeof settings, format, 3u + (unsigned)r, "");
        run(e, &one, settings, &alone);
        check_same_row(&together, r, &alone);
    }
    qw_buf_free(&together);
    qw_buf_free(&alone);
    qw_engine_free(e);
}

int main(void)
{
    qw_engine *e;
    qw_error err = {0};

    make_prompts();
    CHECK_EQ(run_load(&e, TINY_GGUF, "{\"contextLength\":1024,\"threads\":2}", 0, &err), QW_OK);
    if (e) {
        rows_together_are_rows_alone(e, "{\"max_new_tokens\":12,\"eos_token_id\":[],\"seed\":%u}");
        rows_together_are_rows_alone(e, "{\"max_new_tokens\":12,\"do_sample\":true,\"temperature\":1.3,\"top_p\":0.95,"
                                        "\"eos_token_id\":[],\"seed\":%u}");
        sequences_of_a_prompt_are_runs_with_their_seeds(e);
    }
    qw_engine_free(e);
    a_shared_prompt_is_held_once();
    prompts_that_are_shared_leave_room_for_all();
    return check_done();
}
