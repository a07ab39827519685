/* SPDX-License-Identifier: MIT
 * Making a job: everything that can be wrong with it is found, and every byte that it needs beside the session's is asked for,
 * before the cache is touched. */
#include "generation/job.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "generation/settings_parse.h"

#include <string.h>

/* Bytes of text that a token brings without the buffer having to grow, and for how many of them. */
enum { TEXT_OF_TOKEN = 8, TEXT_TOKENS = 4096 };

/* Floats of hidden states of a pass. */
enum { HIDDEN_FLOATS = 262144 };

/* JSON of a log-probability of the most probable, [id,value] at its longest, and of all else that is told of a token. */
enum { JSON_OF_TOP = 36, JSON_OF_TOKEN = 512 };

/* A job in the making. */
typedef struct making {
    qw_job *job;
    const qw_model *model;
    const qw_limits *limits;
    const qw_start *start;
    int32_t copies;
} making;

const char *qw_finish_name(qw_finish finish)
{
    static const char *const names[] = {"", "eos", "stop_string", "length", "time", "stopping", "aborted"};

    return names[finish];
}

bool qw_job_goes_on(const qw_job *job)
{
    for (int32_t r = 0; r < job->n_rows; r++)
        if (!job->rows[r].finish) return true;
    return false;
}

static qw_status check_ids(const making *m, const int32_t *ids, int32_t n, int32_t prompt, qw_error *err)
{
    int32_t n_vocab = m->model->config.n_vocab;

    if (n < 1)
        return qw_fail(err, QW_ERR_USAGE,
                       "prompt %d is empty: give at least one token (this model adds none by itself)", prompt);
    for (int32_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= n_vocab)
            return qw_fail(err, QW_ERR_USAGE,
                           "token id %d at position %d of prompt %d is out of range: the model has ids 0 to %d", ids[i],
                           i, prompt, n_vocab - 1);
    return QW_OK;
}

/* A generation that may choose a token needs room for one. */
static int32_t room_for_prompts(const making *m)
{
    bool answers = m->start->kind == QW_JOB_GENERATE && m->job->settings.max_new_tokens != 0;

    return m->limits->n_ctx - answers;
}

/* What all rows take of the context: copies of a prompt share its whole pages. */
static double context_of(const making *m)
{
    double total = 0;

    for (int32_t p = 0; p < m->start->n_prompts; p++) {
        int32_t n = m->start->lengths[p];

        total += n + (double)(m->copies - 1) * (n % QW_KV_PAGE);
    }
    return total;
}

static qw_status check_prompts(const making *m, qw_error *err)
{
    const int32_t *ids = m->start->ids;
    int32_t n_ctx = m->limits->n_ctx, room = room_for_prompts(m);

    for (int32_t p = 0; p < m->start->n_prompts; p++) {
        int32_t n = m->start->lengths[p];

        QW_TRY(check_ids(m, ids, n, p, err));
        if (n > room)
            return qw_fail(
                err, QW_ERR_CONTEXT,
                "prompt %d has %d tokens, the context holds %d%s: shorten it, or load the model with a larger "
                "contextLength",
                p, n, n_ctx, n > n_ctx ? "" : " and none is left for an answer");
        ids += n;
    }
    return QW_OK;
}

static qw_status check_rows(const making *m, qw_error *err)
{
    int32_t n_ctx = m->limits->n_ctx, room = room_for_prompts(m);
    double rows = (double)m->start->n_prompts * m->copies, total = context_of(m);

    if (rows > m->limits->max_rows)
        return qw_fail(
            err, QW_ERR_USAGE,
            "%d prompts x num_return_sequences %d are more rows than the engine was loaded for: load it with maxRows "
            "of at least %.0f (now %d)",
            m->start->n_prompts, m->copies, rows, m->limits->max_rows);
    if (total > room)
        return qw_fail(err, QW_ERR_CONTEXT,
                       "the rows of this batch need %.0f tokens together, the context holds %d%s: run fewer at a time, "
                       "or load the model with a larger contextLength",
                       total, n_ctx, total > n_ctx ? "" : " and none is left for an answer");
    return QW_OK;
}

/* What the model's file asks for gives way where the rows do not fit; what the call asks for is an error. */
static qw_status settle_copies(making *m, qw_error *err)
{
    qw_settings *g = &m->job->settings;

    m->copies = m->start->kind == QW_JOB_GENERATE ? g->num_return_sequences : 1;
    if (m->copies == 1 || !g->sequences_of_file || check_rows(m, NULL) == QW_OK) return QW_OK;
    m->copies = g->num_return_sequences = 1;
    return qw_buf_printf(&g->notes, err,
                         "generation_config.json: num_return_sequences is ignored: so many rows do not fit\n");
}

/* A prompt that fills max_length leaves nothing to generate: Transformers refuses it too, unless the model's file alone
 * asks for it. */
static qw_status check_lengths(const making *m, qw_error *err)
{
    qw_settings *g = &m->job->settings;
    int32_t width = m->job->width;

    if (g->max_new_tokens >= 0 || g->max_length < 0 || width < g->max_length) return QW_OK;
    if (!g->max_length_of_file)
        return qw_fail(err, QW_ERR_USAGE,
                       "the prompt has %d tokens and max_length is %d: raise max_length or use max_new_tokens", width,
                       g->max_length);
    QW_TRY(qw_buf_printf(&g->notes, err, "generation_config.json: max_length %d is ignored: the prompt has %d tokens\n",
                         g->max_length, width));
    g->max_length = -1;
    return QW_OK;
}

static qw_status make_rows(const making *m, qw_error *err)
{
    qw_job *job = m->job;
    int32_t n = m->start->n_prompts * m->copies, at = 0;

    job->rows = qw_calloc((size_t)n, sizeof *job->rows);
    job->events = qw_calloc((size_t)n, sizeof *job->events);
    if (!job->rows || !job->events) return qw_fail_memory(err, "the rows of a job", (double)n * sizeof *job->rows);
    job->n_rows = n;
    for (int32_t r = 0; r < n; r++) {
        int32_t p = r / m->copies, length = m->start->lengths[p];

        job->rows[r] = (qw_row){.leader = p * m->copies, .prompt_at = at, .n_prompt = length};
        job->width = qw_max(job->width, length);
        if ((r + 1) % m->copies == 0) at += length;
    }
    return QW_OK;
}

static qw_status seed_rows(const making *m, qw_error *err)
{
    const qw_settings *g = &m->job->settings;
    qw_row *rows = m->job->rows;
    int32_t n = m->job->n_rows;
    qw_rng *rng;
    qw_status status;

    for (int32_t r = 0; r < n; r++) qw_rng_seed(&rows[r].rng, g->seed + (uint32_t)r);
    if (!g->rng_state.n) return QW_OK;
    rng = qw_calloc((size_t)n, sizeof *rng);
    if (!rng) return qw_fail_memory(err, "the generators", (double)n * sizeof *rng);
    status = qw_rng_read(rng, n, (qw_text){g->rng_state.bytes, g->rng_state.n}, err);
    for (int32_t r = 0; status == QW_OK && r < n; r++) rows[r].rng = rng[r];
    qw_free(rng);
    return status;
}

/* Prompts through the matcher of stop strings, and room for the text of an answer. */
static qw_status start_texts(const making *m, qw_error *err)
{
    const qw_settings *g = &m->job->settings;

    for (int32_t r = 0; m->model->tokenizer && r < m->job->n_rows; r++) {
        qw_row *row = &m->job->rows[r];
        int32_t tokens = qw_min(m->limits->n_ctx - row->n_prompt, TEXT_TOKENS);

        if (g->max_new_tokens >= 0) tokens = qw_min(tokens, g->max_new_tokens);
        QW_TRY(qw_row_text_start(&row->text, m->job->stops, m->model->tokenizer, m->start->ids + row->prompt_at,
                                 (size_t)row->n_prompt, err));
        QW_TRY(qw_buf_reserve(&row->shown, (size_t)tokens * TEXT_OF_TOKEN, err));
    }
    return QW_OK;
}

/* Log-probabilities are told from the scores before processing and after: the former are kept. */
static qw_status reserve_logprobs(const making *m, qw_error *err)
{
    qw_job *job = m->job;
    size_t rows = (size_t)job->n_rows, n_vocab = (size_t)m->model->config.n_vocab;
    size_t json, n = job->settings.logprobs < 0 ? 0 : (size_t)job->settings.logprobs;

    if (job->settings.logprobs < 0) return QW_OK;
    job->raw = qw_alloc_aligned(rows, n_vocab * sizeof *job->raw);
    if (!qw_mul(rows, 2 * n * JSON_OF_TOP + JSON_OF_TOKEN, &json)) json = SIZE_MAX;
    if (job->raw && qw_buf_reserve(&job->json, json, NULL) == QW_OK) return QW_OK;
    return qw_fail(
        err, QW_ERR_MEMORY,
        "logprobs %d of %d rows need %.0f bytes at each step, and there is no memory for them: ask for fewer",
        job->settings.logprobs, job->n_rows, (double)json);
}

/* The form that the answers must have, and every row at its beginning. */
static qw_status make_format(const making *m, qw_error *err)
{
    qw_job *job = m->job;
    const qw_buf *json = &job->settings.response_format, *space = &job->settings.whitespace;

    if (!json->n) return QW_OK;
    if (!m->model->tokenizer)
        return qw_fail(err, QW_ERR_USAGE, "response_format needs a tokenizer, and this model came without one");
    if (!m->limits->masks->n_words) QW_TRY(qw_masks_new(m->limits->masks, m->model->tokenizer, err));
    QW_TRY(qw_format_new(&job->format, (qw_text){json->bytes, json->n}, (qw_text){space->bytes, space->n},
                         m->limits->masks, &job->settings.notes, err));
    for (int32_t r = 0; job->format && r < job->n_rows; r++) job->rows[r].form = qw_format_start(job->format);
    return QW_OK;
}

static qw_status make_generation(making *m, qw_error *err)
{
    qw_job *job = m->job;
    int32_t padding = m->start->padding_width;

    if (padding < 0 || padding > m->limits->n_ctx)
        return qw_fail(err, QW_ERR_USAGE, "padding_width is %d: from 0 to the %d tokens of the context", padding,
                       m->limits->n_ctx);
    if (m->start->stops.n) {
        QW_TRY(qw_stops_new(&job->stops, m->start->stops, err));
        if (!m->model->tokenizer)
            return qw_fail(err, QW_ERR_USAGE,
                           "stop_strings need a tokenizer, and this model came without one: use eos_token_id");
    }
    QW_TRY(make_format(m, err));
    job->width = qw_max(job->width, padding);
    for (int32_t r = 0; r < job->n_rows; r++) job->rows[r].n_pad = job->width - job->rows[r].n_prompt;
    QW_TRY(check_lengths(m, err));
    QW_TRY(seed_rows(m, err));
    QW_TRY(start_texts(m, err));
    return reserve_logprobs(m, err);
}

static qw_status make_forward(const making *m, qw_error *err)
{
    const qw_config *c = &m->model->config;
    const qw_row *last = &m->job->rows[m->job->n_rows - 1];
    size_t total = (size_t)last->prompt_at + (size_t)last->n_prompt;
    size_t per_token = ((size_t)c->n_layer + 2) * (size_t)c->dim;
    qw_job *job = m->job;

    job->keep = qw_calloc(total, 1);
    if (!job->keep) return qw_fail_memory(err, "the positions kept", (double)total);
    memcpy(job->keep, m->start->keep, total);
    if (!m->start->hidden) return QW_OK;
    job->hidden_tokens = qw_max(1, (int32_t)(HIDDEN_FLOATS / per_token));
    job->hidden_states = qw_alloc_aligned((size_t)job->hidden_tokens, per_token * sizeof(float));
    if (!job->hidden_states) return qw_fail_memory(err, "hidden states", 4.0 * (double)per_token * job->hidden_tokens);
    return QW_OK;
}

qw_status qw_job_make(qw_job *job, const qw_model *model, const qw_limits *limits, const qw_start *start, qw_error *err)
{
    making m = {job, model, limits, start, 1};

    *job = (qw_job){.kind = start->kind, .state = QW_JOB_RUNNING};
    if (start->n_prompts < 1) return qw_fail(err, QW_ERR_USAGE, "no prompt was given: pass at least one");
    if (start->kind == QW_JOB_GENERATE) QW_TRY(qw_settings_parse(&job->settings, start->settings, model, err));
    QW_TRY(check_prompts(&m, err));
    QW_TRY(settle_copies(&m, err));
    QW_TRY(check_rows(&m, err));
    QW_TRY(make_rows(&m, err));
    if (start->kind == QW_JOB_GENERATE) return make_generation(&m, err);
    return start->kind == QW_JOB_FORWARD ? make_forward(&m, err) : QW_OK;
}

void qw_job_free(qw_job *job)
{
    for (int32_t r = 0; r < job->n_rows; r++) {
        qw_row_text_free(&job->rows[r].text);
        qw_buf_free(&job->rows[r].shown);
    }
    qw_free(job->rows);
    qw_free(job->events);
    qw_free(job->raw);
    qw_free(job->keep);
    qw_free(job->hidden_states);
    qw_buf_free(&job->json);
    qw_stops_free(job->stops);
    qw_format_free(job->format);
    qw_settings_free(&job->settings);
    *job = (qw_job){0};
}
