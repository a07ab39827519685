/* SPDX-License-Identifier: MIT
 * Every allocation of a load and of each kind of job is made to fail in turn, cJSON's among them: each time the call must end
 * with a memory error, nothing may be leaked, and the engine must give the same results afterwards. */
#include "check.h"
#include "run_engine.h"

#include "base/alloc.h"

#include <stdlib.h>

enum { PROMPT = 12 };

static const char job_options[] = "{\"contextLength\": 64, \"maxRows\": 2}";

typedef qw_status task(void *arg, qw_error *err);

/* Runs the task with its n-th and all later allocations failing, for n = 0, 1, ... until it no longer makes that many. after is run
 * with allocation restored. Returns how many allocations the task makes. */
static int64_t fail_each_allocation(task *run, task *after, void *arg)
{
    for (int64_t n = 0;; n++) {
        qw_error err = {0};
        qw_status status;
        bool reached;

        qw_alloc_test_fail(n);
        status = run(arg, &err);
        reached = qw_alloc_test_count() > n;
        qw_alloc_test_fail(-1);
        CHECK_EQ(status, reached ? QW_ERR_MEMORY : QW_OK);
        if (reached) CHECK(strlen(err.text) > 10);
        if (reached && status != QW_ERR_MEMORY) printf("  at allocation %" PRId64 ": %s\n", n, err.text);
        CHECK_EQ(after(arg, &err), QW_OK);
        if (!reached) return n;
    }
}

typedef struct load_task {
    const char *path, *options;
    int64_t live;
} load_task;

static qw_status load_and_free(void *arg, qw_error *err)
{
    const load_task *t = arg;
    qw_engine *e;
    qw_status status = run_load(&e, t->path, t->options, 0, err);

    qw_engine_free(e);
    return status;
}

static qw_status nothing_is_left(void *arg, qw_error *err)
{
    const load_task *t = arg;

    (void)err;
    CHECK_EQ(qw_alloc_test_live(), t->live);
    return QW_OK;
}

static void loading_fails_cleanly(const char *path, const char *options)
{
    load_task t = {path, options, qw_alloc_test_live()};
    int64_t n = fail_each_allocation(load_and_free, nothing_is_left, &t);

    printf("%s: %" PRId64 " allocations to load\n", path, n);
    CHECK(n > 100);
}

/* A job on a loaded engine, and what it gave when all went well. */
typedef struct job_task {
    const char *path;
    qw_engine *engine;
    qw_ids prompt;
    qw_buf want;
} job_task;

static qw_status generate(job_task *t, qw_buf *result, qw_error *err)
{
    static const char settings[] =
        "{\"max_new_tokens\": 4, \"do_sample\": true, \"seed\": 7, \"repetition_penalty\": 1.2, \"top_p\": 0.9,"
        " \"bad_words_ids\": [[1, 2]], \"logprobs\": 2, \"eos_token_id\": []}";
    static const char stops[] = "\x03\0\0\0abc\x02\0\0\0zz";
    int32_t length = (int32_t)t->prompt.n;
    qw_prompts prompts = {t->prompt.v, &length, 1};
    qw_step_result more = QW_STEP_MORE;
    qw_text json;
    qw_status status =
        qw_generate_begin(t->engine, &prompts, qw_text_of(settings), (qw_text){stops, sizeof stops - 1}, 0, err);

    while (!status && more == QW_STEP_MORE) {
        status = qw_step(t->engine, 5, &more, err);
        if (!status) status = qw_job_events(t->engine, &json, err);
    }
    if (!status) status = qw_job_result(t->engine, &json, err);
    if (!status) status = qw_buf_append(result, json.bytes, json.n, err);
    if (!status) status = qw_buf_append(result, "", 1, err);
    qw_job_end(t->engine);
    return status;
}

static qw_status generate_anew(void *arg, qw_error *err)
{
    job_task *t = arg;
    qw_buf result = {0};
    qw_status status;

    qw_engine_forget(t->engine);
    status = generate(t, &result, err);
    qw_buf_free(&result);
    return status;
}

/* The same generation, and the same result as before any failure. */
static qw_status generate_as_ever(void *arg, qw_error *err)
{
    job_task *t = arg;
    qw_buf result = {0};
    qw_status status;

    qw_engine_forget(t->engine);
    status = generate(t, &result, err);
    if (!status) CHECK_STR(result.bytes, t->want.bytes);
    qw_buf_free(&result);
    return status;
}

/* Logits and hidden states of two rows. */
static qw_status forward(void *arg, qw_error *err)
{
    job_task *t = arg;
    int32_t lengths[2] = {PROMPT - 4, 4};
    qw_prompts prompts = {t->prompt.v, lengths, 2};
    uint8_t keep[PROMPT];
    qw_status status;

    memset(keep, 1, sizeof keep);
    status = qw_forward_begin(t->engine, &prompts, keep, true, err);
    if (!status) status = run_steps(t->engine, 5, err);
    qw_job_end(t->engine);
    return status;
}

static qw_status prefill(void *arg, qw_error *err)
{
    job_task *t = arg;
    qw_status status = qw_prefill_begin(t->engine, t->prompt.v, (int32_t)t->prompt.n, err);

    if (!status) status = run_steps(t->engine, 5, err);
    qw_job_end(t->engine);
    return status;
}

static qw_status tokenize_back_and_forth(void *arg, qw_error *err)
{
    job_task *t = arg;
    qw_tokenize_options options = {.parse_special = true};
    const int32_t *ids;
    qw_buf text = {0};
    qw_text back, info;
    size_t n;
    qw_status status = QW_OK;

    for (int i = 0; i < 400 && !status; i++) status = qw_buf_append(&text, "word <|im_start|> ", 18, err);
    if (!status) status = qw_engine_tokenize(t->engine, (qw_text){text.bytes, text.n}, &options, &ids, &n, err);
    if (!status) status = qw_engine_detokenize(t->engine, ids, n, false, &back, err);
    if (!status) CHECK(back.n == text.n && memcmp(back.bytes, text.bytes, text.n) == 0);
    if (!status) status = qw_engine_info(t->engine, &info, err);
    qw_buf_free(&text);
    return status;
}

/* Texts go into arrays that the engine keeps: only a new engine allocates all of them again. */
static qw_status renew(void *arg, qw_error *err)
{
    job_task *t = arg;

    qw_engine_free(t->engine);
    return run_load(&t->engine, t->path, job_options, 0, err);
}

static void jobs_fail_cleanly(const char *path)
{
    int64_t live = qw_alloc_test_live(), n;
    job_task t = {.path = path};
    qw_error err = {0};

    CHECK_EQ(renew(&t, &err), QW_OK);
    if (!t.engine) return;
    for (int32_t i = 0; i < PROMPT; i++)
        if (qw_ids_push(&t.prompt, 40 + 3 * i, NULL)) abort();
    CHECK_EQ(generate(&t, &t.want, &err), QW_OK);

    n = fail_each_allocation(tokenize_back_and_forth, renew, &t);
    CHECK(n > 5);
    n = fail_each_allocation(generate_anew, generate_as_ever, &t);
    CHECK(n > 20);
    n = fail_each_allocation(forward, generate_as_ever, &t);
    CHECK(n > 3);
    n = fail_each_allocation(prefill, generate_as_ever, &t);
    CHECK(n > 1);

    qw_engine_free(t.engine);
    qw_ids_free(&t.prompt);
    qw_buf_free(&t.want);
    CHECK_EQ(qw_alloc_test_live(), live);
}

int main(void)
{
    loading_fails_cleanly(TINY_CHECKPOINT, job_options);
    loading_fails_cleanly(TINY_GGUF, job_options);
    jobs_fail_cleanly(TINY_CHECKPOINT);
    jobs_fail_cleanly(TINY_GGUF);
    return check_done();
}
