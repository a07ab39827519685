/* SPDX-License-Identifier: MIT
 * qw.h's calls about jobs, handed to the session. */
#include "engine/engine.h"

#include "base/alloc.h"
#include "generation/session_json.h"
#include "generation/settings_parse.h"
#include "generation/step.h"

#include <string.h>

static qw_status start_row_texts(qw_session *s, qw_error *err)
{
    for (int32_t r = 0; s->model->tokenizer && r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];
        QW_TRY(
            qw_row_text_start(&row->text, s->job.stops, s->model->tokenizer, row->ids.v, (size_t)row->n_prompt, err));
    }
    return QW_OK;
}

static qw_status seed_rows(qw_session *s, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    qw_rng *rng;
    qw_status status;

    for (int32_t r = 0; r < s->job.n_rows; r++) qw_rng_seed(&s->job.rows[r].rng, g->seed + (uint32_t)r);
    if (!g->rng_state.n) return QW_OK;
    rng = qw_calloc((size_t)s->job.n_rows, sizeof *rng);
    if (!rng) return qw_fail_memory(err, "the generators", (double)s->job.n_rows * sizeof *rng);
    status = qw_rng_read(rng, s->job.n_rows, (qw_text){g->rng_state.bytes, g->rng_state.n}, err);
    for (int32_t r = 0; status == QW_OK && r < s->job.n_rows; r++) s->job.rows[r].rng = rng[r];
    qw_free(rng);
    return status;
}

/* A prompt that fills max_length leaves nothing to generate: Transformers refuses it too. */
static qw_status check_lengths(const qw_session *s, qw_error *err)
{
    const qw_settings *g = &s->job.settings;

    if (g->max_new_tokens >= 0 || g->max_length < 0 || s->job.width < g->max_length) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE,
                   "the prompt has %d tokens and max_length is %d: raise max_length or use max_new_tokens",
                   s->job.width, g->max_length);
}

static qw_status fill_generation(qw_session *s, qw_text stops, int32_t padding_width, qw_error *err)
{
    if (stops.n) {
        QW_TRY(qw_stops_new(&s->job.stops, stops, err));
        if (!s->model->tokenizer)
            return qw_fail(err, QW_ERR_USAGE,
                           "stop_strings need a tokenizer, and this model came without one: use eos_token_id");
    }
    if (padding_width > s->job.width) s->job.width = padding_width;
    for (int32_t r = 0; r < s->job.n_rows; r++) s->job.rows[r].n_pad = s->job.width - s->job.rows[r].n_prompt;
    QW_TRY(check_lengths(s, err));
    QW_TRY(seed_rows(s, err));
    return start_row_texts(s, err);
}

qw_status qw_generate_begin(qw_engine *e, const qw_prompts *prompts, qw_text settings, qw_text stops,
                            int32_t padding_width, qw_error *err)
{
    qw_session *s = &e->session;
    qw_settings parsed = {0};
    qw_start start = {prompts->ids, prompts->lengths, NULL, prompts->n_rows, 1};
    qw_status status = qw_engine_ready(e, err);

    if (status == QW_OK) status = qw_settings_parse(&parsed, settings, &e->model, err);
    if (status == QW_OK) {
        start.copies = parsed.num_return_sequences;
        status = qw_session_start(s, QW_JOB_GENERATE, &start, err);
    }
    if (status) {
        qw_settings_free(&parsed);
        return status;
    }
    s->job.settings = parsed;
    status = fill_generation(s, stops, padding_width, err);
    if (status) qw_session_end(s);
    return status;
}

qw_status qw_prefill_begin(qw_engine *e, const int32_t *ids, int32_t n, qw_error *err)
{
    int32_t all = n;
    qw_start start = {ids, &n, &all, 1, 1};

    QW_TRY(qw_engine_ready(e, err));
    return qw_session_start(&e->session, QW_JOB_PREFILL, &start, err);
}

/* Tokens before the first one whose logits (or hidden states) are wanted may come from the cache. */
static int32_t reusable(const uint8_t *keep, int32_t n, bool hidden)
{
    int32_t i = 0;

    while (!hidden && i < n && !keep[i]) i++;
    return i;
}

static qw_status fill_forward(qw_session *s, const uint8_t *keep, int32_t total, bool hidden, qw_error *err)
{
    const qw_config *c = &s->model->config;
    size_t per_token = ((size_t)c->n_layer + 2) * (size_t)c->dim;
    int32_t at = 0;

    s->job.keep = qw_calloc((size_t)total, 1);
    if (!s->job.keep) return qw_fail_memory(err, "the positions kept", total);
    memcpy(s->job.keep, keep, (size_t)total);
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        s->job.rows[r].keep_at = at;
        at += s->job.rows[r].n_prompt;
    }
    if (!hidden) return QW_OK;
    s->job.hidden = true;
    s->job.hidden_tokens = (int32_t)(262144 / per_token);
    if (s->job.hidden_tokens < 1) s->job.hidden_tokens = 1;
    s->job.hidden_states = qw_alloc_aligned((size_t)s->job.hidden_tokens, per_token * sizeof(float));
    if (!s->job.hidden_states)
        return qw_fail_memory(err, "hidden states", 4.0 * (double)per_token * s->job.hidden_tokens);
    return QW_OK;
}

qw_status qw_forward_begin(qw_engine *e, const qw_prompts *prompts, const uint8_t *keep, bool hidden, qw_error *err)
{
    int32_t *reuse, at = 0;
    qw_start start = {prompts->ids, prompts->lengths, NULL, prompts->n_rows, 1};
    qw_status status;

    QW_TRY(qw_engine_ready(e, err));
    if (prompts->n_rows < 1 || prompts->n_rows > e->options.max_rows)
        return qw_fail(err, QW_ERR_USAGE, "%d rows were given: the engine was loaded for 1 to %d (maxRows)",
                       prompts->n_rows, e->options.max_rows);
    reuse = qw_calloc((size_t)prompts->n_rows, sizeof *reuse);
    if (!reuse) return qw_fail_memory(err, "the rows of a job", 4.0 * prompts->n_rows);
    for (int32_t r = 0; r < prompts->n_rows; r++) {
        reuse[r] = prompts->lengths[r] > 0 ? reusable(keep + at, prompts->lengths[r], hidden) : 0;
        at += prompts->lengths[r] > 0 ? prompts->lengths[r] : 0;
    }
    start.reuse = reuse;
    status = qw_session_start(&e->session, QW_JOB_FORWARD, &start, err);
    qw_free(reuse);
    QW_TRY(status);
    status = fill_forward(&e->session, keep, at, hidden, err);
    if (status) qw_session_end(&e->session);
    return status;
}

qw_status qw_step(qw_engine *e, int32_t max_tokens, qw_step_result *result, qw_error *err)
{
    qw_progress progress = QW_PROGRESS_DONE;
    qw_status status = qw_engine_ready(e, err);

    if (status == QW_OK) status = qw_session_step(&e->session, max_tokens, &progress, err);
    *result = (qw_step_result)progress;
    return status;
}

qw_status qw_job_events(qw_engine *e, qw_text *json, qw_error *err)
{
    e->out.n = 0;
    QW_TRY(qw_session_write_events(&e->session, &e->out, err));
    *json = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

void qw_forward_output(const qw_engine *e, qw_forward_out *out)
{
    const qw_job *j = &e->session.job;

    *out = (qw_forward_out){e->session.scratch.logits,
                            j->hidden ? j->hidden_states : NULL,
                            j->out_row,
                            j->out_n,
                            j->out_pos,
                            j->out_tokens};
}

bool qw_job_scores(qw_engine *e, int32_t i, qw_scores *out)
{
    const qw_job *j = &e->session.job;

    for (int32_t r = 0; r < j->n_rows; r++) {
        const qw_row *row = &j->rows[r];

        if (!row->scores || i-- > 0) continue;
        *out = (qw_scores){row->scores, row->ids.v, r, (int32_t)row->ids.n};
        return true;
    }
    return false;
}

qw_status qw_job_end_row(qw_engine *e, int32_t index, const char *finish_reason, qw_error *err)
{
    static const qw_finish allowed[] = {QW_FINISH_TIME, QW_FINISH_STOPPING, QW_FINISH_ABORTED};
    qw_session *s = &e->session;
    qw_finish finish = QW_FINISH_NONE;

    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(finish_reason, qw_finish_name(allowed[i]))) finish = allowed[i];
    if (!finish || index < -1 || index >= s->job.n_rows)
        return qw_fail(
            err, QW_ERR_USAGE,
            "row %d cannot be ended for \"%.20s\": the job has %d rows; time, stopping and aborted are reasons", index,
            finish_reason, s->job.n_rows);
    qw_session_clear_events(s);
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (index < 0 || r == index) QW_TRY(qw_session_end_row(s, r, finish, err));
    return QW_OK;
}

qw_status qw_job_result(qw_engine *e, qw_text *json, qw_error *err)
{
    e->out.n = 0;
    QW_TRY(qw_session_write_result(&e->session, &e->out, err));
    *json = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

void qw_job_end(qw_engine *e)
{
    if (e->state == QW_ENGINE_READY) qw_session_end(&e->session);
}

void qw_engine_forget(qw_engine *e)
{
    if (e->state == QW_ENGINE_READY) qw_session_forget(&e->session);
}
