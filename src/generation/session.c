/* SPDX-License-Identifier: MIT
 * Memory of a session, and the start and end of a job: which timelines serve which prompts. */
#include "generation/session.h"

#include "base/alloc.h"
#include "base/arithmetic.h"

/* Tokens that go through the layers together, more where there are more rows; logits that are made at once at least: they
 * cost a read of the LM head. */
enum { PASS_TOKENS = 128, LOGITS_LEAST = 8 };

static int32_t max_tokens(const qw_session_options *o)
{
    return qw_max(qw_min(PASS_TOKENS, o->n_ctx), o->max_rows);
}

static int32_t max_logits(const qw_session_options *o)
{
    return qw_max(o->max_rows, LOGITS_LEAST);
}

double qw_session_kv_bytes(const qw_config *c, const qw_session_options *o)
{
    return qw_kv_bytes(c, o->kv_type, o->n_ctx, o->max_rows);
}

/* New tokens of a generation at most: where rows fill the context together and end one after the other, each leaves its
 * room to the rest. */
static double new_tokens(const qw_session_options *o)
{
    double tokens = 0;

    for (int32_t rows = 1; rows <= o->max_rows; rows++) tokens += 1.0 + (double)o->n_ctx / rows;
    return tokens;
}

/* Text of the rows, JSON of a step and of the result, arguments of calls, and what a small run needs beside. */
static double bookkeeping_bytes(const qw_session_options *o)
{
    return 2 * 1048576.0 + 96 * new_tokens(o) + 32.0 * o->n_ctx + 1024.0 * o->max_rows;
}

double qw_session_scratch_bytes(const qw_config *c, const qw_session_options *o, int32_t threads)
{
    double pass = 16.0 * max_tokens(o) + 8.0 * max_logits(o) + 320, raw = 4.0 * c->n_vocab * o->max_rows;

    return qw_scratch_bytes(c, max_tokens(o), max_logits(o), threads) + (double)qw_logits_scratch_bytes(c->n_vocab) +
           qw_timelines_bytes(o->n_ctx, o->max_rows) + pass + raw + bookkeeping_bytes(o);
}

static qw_status init_pass(qw_session *s, qw_error *err)
{
    size_t n = (size_t)max_tokens(&s->options), slots = (size_t)max_logits(&s->options);
    qw_begun *p = &s->pass;

    p->ids = qw_calloc(n, sizeof *p->ids);
    p->row = qw_calloc(n, sizeof *p->row);
    p->pos = qw_calloc(n, sizeof *p->pos);
    p->wanted = qw_calloc(n, sizeof *p->wanted);
    p->scores = qw_calloc(slots, sizeof *p->scores);
    if (p->ids && p->row && p->pos && p->wanted && p->scores) return QW_OK;
    return qw_fail_memory(err, "the session", 16.0 * (double)n + 8.0 * (double)slots);
}

qw_status qw_session_init(qw_session *s, const qw_model *model, qw_pool *pool, const qw_session_options *o,
                          qw_error *err)
{
    const qw_config *c = &model->config;

    *s = (qw_session){.model = model, .pool = pool, .options = *o};
    QW_TRY(qw_timelines_init(&s->timelines, c, o->kv_type, o->n_ctx, o->max_rows, err));
    QW_TRY(qw_scratch_init(&s->scratch, c, max_tokens(o), max_logits(o), qw_pool_threads(pool), err));
    QW_TRY(qw_logits_scratch_init(&s->logits, c->n_vocab, err));
    return init_pass(s, err);
}

void qw_session_free(qw_session *s)
{
    qw_job_free(&s->job);
    qw_free(s->pass.scores);
    qw_free(s->pass.wanted);
    qw_free(s->pass.pos);
    qw_free(s->pass.row);
    qw_free(s->pass.ids);
    qw_logits_scratch_free(&s->logits);
    qw_masks_free(&s->masks);
    qw_scratch_free(&s->scratch);
    qw_timelines_free(&s->timelines);
    *s = (qw_session){0};
}

/* How much of the row's prompt may come from the cache: at least its last token is read, and so is what logits or hidden
 * states are wanted of. */
static int32_t reusable(const qw_row *row, const qw_start *start)
{
    int32_t n = 0;

    if (start->kind != QW_JOB_FORWARD) return row->n_prompt - 1;
    while (!start->hidden && n < row->n_prompt - 1 && !start->keep[row->prompt_at + n]) n++;
    return n;
}

/* Gives the row the free timeline that begins most like its prompt. */
static void take_best(qw_session *s, qw_row *row, const qw_start *start)
{
    int32_t best = -1, most = -1;

    for (int32_t i = 0; i < s->options.max_rows; i++) {
        int32_t same;

        if (s->timelines.v[i].keep >= 0) continue;
        same = qw_timeline_match(&s->timelines, i, start->ids + row->prompt_at, row->n_prompt);
        if (same > most) best = i, most = same;
    }
    row->timeline = best;
    row->n_cached = qw_min(most, reusable(row, start));
    s->timelines.v[best].keep = row->n_cached;
}

static void take_any(qw_session *s, qw_row *row)
{
    row->timeline = 0;
    while (s->timelines.v[row->timeline].keep >= 0) row->timeline++;
    s->timelines.v[row->timeline].keep = 0;
}

/* Gives every row a timeline, first come first; what no row keeps is dropped, whole timelines first, so that what they share
 * is free for the others. */
static void assign_timelines(qw_session *s, const qw_start *start)
{
    qw_timeline *lines = s->timelines.v;

    for (int32_t i = 0; i < s->options.max_rows; i++) lines[i].keep = -1;
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (s->job.rows[r].leader == r) take_best(s, &s->job.rows[r], start);
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (s->job.rows[r].leader != r) take_any(s, &s->job.rows[r]);
    for (int32_t i = 0; i < s->options.max_rows; i++)
        if (lines[i].keep <= 0) qw_timeline_rewind(&s->timelines, i, 0);
    for (int32_t i = 0; i < s->options.max_rows; i++)
        if (lines[i].keep > 0) qw_timeline_rewind(&s->timelines, i, lines[i].keep);
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];
        int32_t kept = row->n_cached;

        qw_timeline_append(&s->timelines, row->timeline, start->ids + row->prompt_at + kept, row->n_prompt - kept);
    }
}

qw_status qw_session_begin(qw_session *s, const qw_start *start, qw_error *err)
{
    qw_limits limits = {s->options.n_ctx, s->options.max_rows, &s->masks};
    qw_job job = {0};
    qw_status status;

    if (s->job.state == QW_JOB_RUNNING)
        return qw_fail(err, QW_ERR_USAGE, "a job is under way: end it before the next begins");
    status = qw_job_make(&job, s->model, &limits, start, err);
    if (status) {
        qw_job_free(&job);
        return status;
    }
    qw_session_end(s);
    s->job = job;
    assign_timelines(s, start);
    return QW_OK;
}

/* A pass that was not finished leaves no keys and values behind. */
static void drop_pass(qw_session *s)
{
    qw_begun *p = &s->pass;

    if (p->layer < s->model->config.n_layer)
        for (int32_t i = p->n - 1; i >= 0; i--) qw_kv_truncate(&s->timelines.kv, p->row[i], p->pos[i]);
    p->n = p->n_wanted = p->n_scores = p->n_told = p->layer = 0;
}

void qw_session_end(qw_session *s)
{
    if (s->job.state == QW_JOB_NONE) return;
    drop_pass(s);
    for (int32_t i = 0; i < s->options.max_rows; i++)
        qw_timeline_rewind(&s->timelines, i, qw_timeline_cached(&s->timelines, i));
    qw_job_free(&s->job);
}

void qw_session_forget(qw_session *s)
{
    qw_session_end(s);
    s->timelines.kv.overflow = false;
    for (int32_t i = 0; i < s->options.max_rows; i++) qw_timeline_rewind(&s->timelines, i, 0);
}
