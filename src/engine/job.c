/* SPDX-License-Identifier: MIT
 * qw.h's calls about jobs, handed to the session. */
#include "engine/engine.h"

#include "generation/session_json.h"
#include "generation/step.h"

#include <string.h>

static qw_status begin(qw_engine *e, const qw_start *start, qw_error *err)
{
    QW_TRY(qw_engine_ready(e, err));
    return qw_session_begin(&e->session, start, err);
}

qw_status qw_generate_begin(qw_engine *e, const qw_prompts *prompts, qw_text settings, qw_text stops,
                            int32_t padding_width, qw_error *err)
{
    qw_start start = {.kind = QW_JOB_GENERATE,
                      .ids = prompts->ids,
                      .lengths = prompts->lengths,
                      .n_prompts = prompts->n_rows,
                      .settings = settings,
                      .stops = stops,
                      .padding_width = padding_width};

    return begin(e, &start, err);
}

qw_status qw_prefill_begin(qw_engine *e, const int32_t *ids, int32_t n, qw_error *err)
{
    qw_start start = {.kind = QW_JOB_PREFILL, .ids = ids, .lengths = &n, .n_prompts = 1};

    return begin(e, &start, err);
}

qw_status qw_forward_begin(qw_engine *e, const qw_prompts *prompts, const uint8_t *keep, bool hidden, qw_error *err)
{
    qw_start start = {.kind = QW_JOB_FORWARD,
                      .ids = prompts->ids,
                      .lengths = prompts->lengths,
                      .n_prompts = prompts->n_rows,
                      .keep = keep,
                      .hidden = hidden};

    return begin(e, &start, err);
}

qw_status qw_step(qw_engine *e, int32_t max_tokens, qw_step_result *result, qw_error *err)
{
    qw_progress progress = QW_PROGRESS_DONE;
    qw_status status = qw_engine_ready(e, err);

    if (status == QW_OK) status = qw_session_step(&e->session, max_tokens, &progress, err);
    *result = (qw_step_result)progress;
    return status;
}

/* What a writer of session_json.h says of the job. */
static qw_status tell(qw_engine *e, qw_status (*write)(const qw_session *, qw_buf *, qw_error *), qw_text *json,
                      qw_error *err)
{
    qw_buf *out = &e->session.job.json;

    out->n = 0;
    QW_TRY(write(&e->session, out, err));
    *json = (qw_text){out->bytes, out->n};
    return QW_OK;
}

qw_status qw_job_events(qw_engine *e, qw_text *json, qw_error *err)
{
    return tell(e, qw_session_write_events, json, err);
}

qw_status qw_job_result(qw_engine *e, qw_text *json, qw_error *err)
{
    return tell(e, qw_session_write_result, json, err);
}

void qw_forward_output(const qw_engine *e, qw_forward_out *out)
{
    const qw_job *j = &e->session.job;

    *out = (qw_forward_out){
        e->session.scratch.logits, j->hidden_states, j->out_row, j->out_logits, j->out_pos, j->out_hidden};
}

bool qw_job_scores(qw_engine *e, int32_t i, qw_scores *out)
{
    const qw_session *s = &e->session;
    float *logits;
    const qw_score *score = qw_session_waiting(s, i, &logits);

    if (!score) return false;
    *out = (qw_scores){logits, qw_row_ids(s, &s->job.rows[score->row])->ids, score->row, score->offset + 1};
    return true;
}

qw_status qw_job_end_row(qw_engine *e, int32_t index, const char *finish_reason, qw_error *err)
{
    static const qw_finish allowed[] = {QW_FINISH_TIME, QW_FINISH_STOPPING, QW_FINISH_ABORTED};

    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(finish_reason, qw_finish_name(allowed[i])))
            return qw_session_end_rows(&e->session, index, allowed[i], err);
    return qw_fail(err, QW_ERR_USAGE, "row %d cannot be ended for \"%.20s\": time, stopping and aborted are reasons",
                   index, finish_reason);
}

void qw_job_end(qw_engine *e)
{
    if (e->state == QW_ENGINE_READY) qw_session_end(&e->session);
}

void qw_engine_forget(qw_engine *e)
{
    if (e->state == QW_ENGINE_READY) qw_session_forget(&e->session);
}
