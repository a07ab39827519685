/* SPDX-License-Identifier: MIT
 * Memory of a session, and the start and end of a job: which rows of the cache serve which prompts. */
#include "generation/session.h"

#include "base/alloc.h"
#include "base/arithmetic.h"

#include <string.h>

static int32_t max_tokens(const qw_session_options *o)
{
    return qw_max(qw_min(QW_PASS_MAX, o->n_ctx), o->max_rows);
}

double qw_session_kv_bytes(const qw_config *c, const qw_session_options *o)
{
    return qw_kv_bytes(c, o->kv_type, o->n_ctx, o->max_rows);
}

/* Ids and text of the rows, JSON of a step and of the result, and what a small run needs beside. */
static double bookkeeping_bytes(const qw_session_options *o)
{
    double tokens = 2.0 * o->n_ctx + 32.0 * o->max_rows;

    return 2 * 1048576.0 + tokens * 96;
}

double qw_session_scratch_bytes(const qw_config *c, const qw_session_options *o, int32_t threads)
{
    return qw_scratch_bytes(c, max_tokens(o), o->max_rows, threads) + (double)qw_logits_scratch_bytes(c->n_vocab) +
           4.0 * c->n_vocab * o->max_rows + bookkeeping_bytes(o);
}

static qw_status allocate(qw_session *s, qw_error *err)
{
    size_t n = (size_t)max_tokens(&s->options), rows = (size_t)s->options.max_rows;

    s->raw = qw_alloc_aligned(rows, (size_t)s->model->config.n_vocab * sizeof(float));
    s->held = qw_calloc(rows, sizeof *s->held);
    s->job.rows = qw_calloc(rows, sizeof *s->job.rows);
    s->ids = qw_calloc(n, sizeof(int32_t));
    s->pass_row = qw_calloc(n, sizeof(int32_t));
    s->pass_pos = qw_calloc(n, sizeof(int32_t));
    s->wanted = qw_calloc(n, sizeof(int32_t));
    if (!s->raw || !s->held || !s->job.rows || !s->ids || !s->pass_row || !s->pass_pos || !s->wanted)
        return qw_fail_memory(err, "the session", 4.0 * s->model->config.n_vocab * s->options.max_rows);
    return QW_OK;
}

qw_status qw_session_init(qw_session *s, const qw_model *model, qw_pool *pool, const qw_session_options *o,
                          qw_error *err)
{
    const qw_config *c = &model->config;

    *s = (qw_session){.model = model, .pool = pool, .options = *o};
    QW_TRY(qw_kv_init(&s->kv, c, o->kv_type, o->n_ctx, o->max_rows, err));
    QW_TRY(qw_scratch_init(&s->scratch, c, max_tokens(o), o->max_rows, qw_pool_threads(pool), err));
    QW_TRY(qw_logits_scratch_init(&s->logits, c->n_vocab, err));
    return allocate(s, err);
}

void qw_session_free(qw_session *s)
{
    if (s->job.rows && s->held) qw_session_end(s);
    for (int32_t r = 0; s->held && r < s->options.max_rows; r++) qw_ids_free(&s->held[r]);
    qw_free(s->wanted);
    qw_free(s->pass_pos);
    qw_free(s->pass_row);
    qw_free(s->ids);
    qw_free(s->job.rows);
    qw_free(s->held);
    qw_free(s->raw);
    qw_logits_scratch_free(&s->logits);
    qw_scratch_free(&s->scratch);
    qw_kv_free(&s->kv);
    *s = (qw_session){0};
}

static qw_status check_ids(const qw_session *s, const int32_t *ids, int32_t n, int32_t prompt, qw_error *err)
{
    int32_t n_vocab = s->model->config.n_vocab;

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

static qw_status check_start(const qw_session *s, const qw_start *start, qw_error *err)
{
    const int32_t *ids = start->ids;
    int32_t n_ctx = s->options.n_ctx;
    double total = 0;

    if (start->n_prompts < 1) return qw_fail(err, QW_ERR_USAGE, "no prompt was given: pass at least one");
    if ((double)start->n_prompts * start->copies > s->options.max_rows)
        return qw_fail(
            err, QW_ERR_USAGE,
            "%d prompts x num_return_sequences %d are more rows than the engine was loaded for: load it with maxRows "
            "of at least %.0f (now %d)",
            start->n_prompts, start->copies, (double)start->n_prompts * start->copies, s->options.max_rows);
    for (int32_t p = 0; p < start->n_prompts; p++) {
        int32_t n = start->lengths[p];

        QW_TRY(check_ids(s, ids, n, p, err));
        if (n > n_ctx)
            return qw_fail(err, QW_ERR_CONTEXT,
                           "prompt %d has %d tokens, the context holds %d: shorten it, or load the model with a larger "
                           "contextLength",
                           p, n, n_ctx);
        total += n + (double)(start->copies - 1) * (n % QW_KV_PAGE);
        ids += n;
    }
    if (total > n_ctx)
        return qw_fail(err, QW_ERR_CONTEXT,
                       "the rows of this batch need %.0f tokens together, the context holds %d: run fewer at a time, "
                       "or load the model with a "
                       "larger contextLength",
                       total, n_ctx);
    return QW_OK;
}

static int32_t common_prefix(const int32_t *a, size_t n_a, const int32_t *b, size_t n_b)
{
    size_t n = n_a < n_b ? n_a : n_b, i = 0;

    while (i < n && a[i] == b[i]) i++;
    return (int32_t)i;
}

/* The free row of the cache that begins most like the prompt; *n: how many tokens of it. */
static int32_t best_row(const qw_session *s, const bool *taken, const int32_t *ids, int32_t n_ids, int32_t *n)
{
    int32_t best = -1;

    *n = -1;
    for (int32_t r = 0; r < s->options.max_rows; r++) {
        int32_t same;

        if (taken[r]) continue;
        same = common_prefix(ids, (size_t)n_ids, s->held[r].v, s->held[r].n);
        if (same > *n) best = r, *n = same;
    }
    return best;
}

/* Gives every row of the job a row of the cache, best matches first come first; kept[r]: tokens of it to keep. */
static void assign_cache(qw_session *s, const qw_start *start, int32_t *kept, bool *taken)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];
        int32_t prompt = r / start->copies, limit = row->n_prompt - 1, same;

        if (row->leader != r) continue;
        row->kv = best_row(s, taken, row->ids.v, row->n_prompt, &same);
        taken[row->kv] = true;
        if (start->reuse && start->reuse[prompt] < limit) limit = start->reuse[prompt];
        kept[row->kv] = row->n_cached = qw_min(same, limit);
    }
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];

        if (row->leader == r) continue;
        row->kv = 0;
        while (taken[row->kv]) row->kv++;
        taken[row->kv] = true;
    }
}

static qw_status make_rows(qw_session *s, const qw_start *start, qw_error *err)
{
    const int32_t *ids = start->ids;

    for (int32_t p = 0; p < start->n_prompts; p++) {
        for (int32_t c = 0; c < start->copies; c++) {
            qw_row *row = &s->job.rows[s->job.n_rows++];

            *row = (qw_row){.n_prompt = start->lengths[p], .leader = p * start->copies};
            QW_TRY(qw_ids_append(&row->ids, ids, (size_t)start->lengths[p], err));
        }
        s->job.width = qw_max(s->job.width, start->lengths[p]);
        ids += start->lengths[p];
    }
    return QW_OK;
}

static void free_rows(qw_session *s)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];

        qw_row_text_free(&row->text);
        qw_buf_free(&row->shown);
        qw_ids_free(&row->ids);
    }
    s->job.n_rows = 0;
}

qw_status qw_session_start(qw_session *s, qw_job_kind kind, const qw_start *start, qw_error *err)
{
    int32_t *kept;
    bool *taken;
    size_t rows = (size_t)s->options.max_rows;
    qw_status status;

    if (s->job.kind != QW_JOB_NONE)
        return qw_fail(err, QW_ERR_USAGE, "a job is under way: end it before the next begins");
    QW_TRY(check_start(s, start, err));
    kept = qw_calloc(rows, sizeof *kept);
    taken = qw_calloc(rows, sizeof *taken);
    status = kept && taken ? make_rows(s, start, err) : qw_fail_memory(err, "the rows of a job", (double)rows * 5);
    if (status == QW_OK) {
        assign_cache(s, start, kept, taken);
        for (int32_t r = 0; r < s->options.max_rows; r++)
            if (!kept[r]) qw_kv_truncate(&s->kv, r, 0);
        for (int32_t r = 0; r < s->options.max_rows; r++) {
            if (kept[r]) qw_kv_truncate(&s->kv, r, kept[r]);
            qw_ids_free(&s->held[r]);
        }
        s->job.kind = kind;
    } else {
        free_rows(s);
    }
    qw_free(taken);
    qw_free(kept);
    return status;
}

/* A pass that was not finished leaves no keys and values behind. */
static void drop_pass(qw_session *s)
{
    for (int32_t i = s->job.pass.n - 1; i >= 0; i--) qw_kv_truncate(&s->kv, s->pass_row[i], s->pass_pos[i]);
    s->job.pass.n = 0;
}

void qw_session_end(qw_session *s)
{
    qw_job *j = &s->job;
    qw_row *rows = j->rows;

    drop_pass(s);
    for (int32_t r = 0; r < j->n_rows; r++) {
        qw_row *row = &rows[r];
        qw_ids *held = &s->held[row->kv];

        qw_ids_free(held);
        *held = row->ids;
        held->n = (size_t)s->kv.row[row->kv].n;
        row->ids = (qw_ids){0};
    }
    free_rows(s);
    qw_settings_free(&j->settings);
    qw_stops_free(j->stops);
    qw_free(j->keep);
    qw_free(j->hidden_states);
    qw_buf_free(&j->chunks);
    qw_buf_free(&j->finished);
    *j = (qw_job){.rows = rows};
}

void qw_session_forget(qw_session *s)
{
    qw_session_end(s);
    s->kv.overflow = false;
    for (int32_t r = 0; r < s->options.max_rows; r++) {
        qw_kv_truncate(&s->kv, r, 0);
        qw_ids_free(&s->held[r]);
    }
}

bool qw_session_release_finished(qw_session *s)
{
    bool released = false;

    for (int32_t r = 0; r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];

        if (row->finish == QW_FINISH_NONE || s->kv.row[row->kv].n == 0) continue;
        qw_kv_truncate(&s->kv, row->kv, 0);
        released = true;
    }
    return released;
}
