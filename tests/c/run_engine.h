/* SPDX-License-Identifier: MIT
 * What the tests of whole engines share: loading from the fixtures and running a generation. Needs check.h before it. */
#ifndef QW_RUN_ENGINE_H
#define QW_RUN_ENGINE_H

#include "engine/engine.h"
#include "hosts/file_source.h"
#include "base/json.h"

#define TINY_CHECKPOINT "tests/fixtures/checkpoints/tied-head-only"
#define TINY_GGUF "models/austen-tiny-q8_0.gguf"

/* *out is NULL after an error. */
static inline qw_status run_load(qw_engine **out, const char *path, const char *options, size_t max_read, qw_error *err)
{
    qw_status status = qw_engine_new(out, qw_text_of(options), err);

    if (!status) status = qw_file_load(*out, path, max_read, err);
    if (!status) return QW_OK;
    qw_engine_free(*out);
    *out = NULL;
    return status;
}

/* Steps the job that has begun to its end. */
static inline qw_status run_steps(qw_engine *e, int32_t max_tokens, qw_error *err)
{
    qw_step_result result = QW_STEP_MORE;

    while (result != QW_STEP_DONE) QW_TRY(qw_step(e, max_tokens, &result, err));
    return QW_OK;
}

/* One prompt to the end of its generation; the JSON of the result goes into *result (the caller's) and the job is ended. */
static inline qw_status run_generate(qw_engine *e, const qw_ids *prompt, const char *settings, qw_buf *result,
                                     qw_error *err)
{
    int32_t length = (int32_t)prompt->n;
    qw_prompts prompts = {prompt->v, &length, 1};
    qw_text json = {"", 0};
    qw_status status = qw_generate_begin(e, &prompts, qw_text_of(settings), (qw_text){"", 0}, 0, err);

    result->n = 0;
    if (!status) status = run_steps(e, 16, err);
    if (!status) status = qw_job_result(e, &json, err);
    if (!status) status = qw_buf_append(result, json.bytes, json.n, err);
    if (!status) status = qw_buf_append(result, "", 1, err); /* a C string for the checks */
    qw_job_end(e);
    return status;
}

#endif
