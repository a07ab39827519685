/* SPDX-License-Identifier: MIT
 * Positions are reserved when a token is added, so a pass that has begun can only go through or be dropped. */
#include "generation/pass.h"

#include "base/arithmetic.h"
#include "base/assert.h"

#include <string.h>

bool qw_pass_add(qw_session *s, int32_t r, int32_t n)
{
    qw_begun *pass = &s->pass;
    const qw_row *row = &s->job.rows[r];
    const qw_timeline *line = qw_row_ids(s, row);
    int32_t first = qw_row_cached(s, row);

    QW_ASSERT(n <= s->scratch.max_tokens - pass->n && first + n <= line->n);
    if (!qw_kv_reserve(&s->timelines.kv, row->timeline, n)) return false;
    for (int32_t i = 0; i < n; i++, pass->n++) {
        pass->ids[pass->n] = line->ids[first + i];
        pass->row[pass->n] = row->timeline;
        pass->pos[pass->n] = first + i;
    }
    return true;
}

void qw_pass_score_last(qw_session *s, int32_t r)
{
    qw_begun *pass = &s->pass;

    QW_ASSERT(pass->n > 0 && pass->n_scores < s->scratch.max_logits);
    pass->wanted[pass->n_wanted++] = pass->n - 1;
    pass->scores[pass->n_scores++] = (qw_score){r, pass->pos[pass->n - 1]};
}

bool qw_pass_run(qw_session *s, int32_t budget, float *hidden)
{
    qw_begun *begun = &s->pass;
    qw_pass pass = {begun->ids, {begun->row, begun->pos, begun->n}, begun->wanted, begun->n_wanted, hidden};
    int32_t n_layer = s->model->config.n_layer, layers = (int32_t)((int64_t)budget * n_layer / begun->n);
    int32_t last = qw_min(n_layer, begun->layer + qw_max(layers, 1));

    qw_forward(s->model, &s->scratch, &s->timelines.kv, s->pool, &pass, begun->layer, last);
    begun->layer = last;
    return last == n_layer;
}

int32_t qw_pass_tokens(const qw_session *s, int32_t budget)
{
    int64_t most = (int64_t)budget * s->model->config.n_layer;

    return most < s->scratch.max_tokens ? (int32_t)most : s->scratch.max_tokens;
}

bool qw_pass_waits(const qw_session *s, const qw_row *row)
{
    const qw_row *leader = &s->job.rows[row->leader];

    return leader != row && !leader->finish;
}

void qw_pass_share(qw_session *s)
{
    qw_begun *pass = &s->pass;
    int32_t computed = pass->n_scores;
    size_t bytes = (size_t)s->model->config.n_vocab * sizeof(float);

    for (int32_t i = 0; i < computed; i++)
        for (int32_t r = 0; r < s->job.n_rows; r++) {
            qw_row *row = &s->job.rows[r];
            int32_t leader = pass->scores[i].row;

            if (r == leader || row->leader != leader || qw_row_cached(s, row) || row->finish) continue;
            QW_ASSERT(pass->n_scores < s->scratch.max_logits);
            qw_kv_fork(&s->timelines.kv, row->timeline, s->job.rows[leader].timeline, row->n_prompt);
            memcpy(qw_session_logits(s, pass->n_scores), qw_session_logits(s, i), bytes);
            pass->scores[pass->n_scores++] = (qw_score){r, pass->scores[i].offset};
        }
}

/* Row `to` computes what row `from`, which has ended, was to compute for all that follow it. */
static void lead(qw_session *s, int32_t to, int32_t from)
{
    qw_row *rows = s->job.rows;

    qw_kv_fork(&s->timelines.kv, rows[to].timeline, rows[from].timeline, qw_row_cached(s, &rows[from]));
    qw_kv_truncate(&s->timelines.kv, rows[from].timeline, 0); /* a page that two hold would be copied */
    rows[to].n_cached = rows[from].n_cached;
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (rows[r].leader == from) rows[r].leader = to;
}

void qw_pass_hand_on(qw_session *s)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r], *leader = &s->job.rows[row->leader];

        if (row == leader || row->finish || qw_row_cached(s, row) || !leader->finish) continue;
        lead(s, r, row->leader);
    }
}

/* Tokens due but not in the cache yet, of rows that go on. A row that shares its leader's prompt computes none of it, but gets
 * the last page of it as its own with its first token. */
static int32_t pending_tokens(const qw_session *s)
{
    int32_t n = 0;

    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];
        int32_t cached = qw_row_cached(s, row);

        if (row->finish) continue;
        if (row->leader != r && cached <= row->n_prompt) n += row->n_prompt % QW_KV_PAGE;
        if (cached || !qw_pass_waits(s, row)) n += qw_row_ids(s, row)->n - cached;
    }
    return n;
}

/* Drops the cache of rows that have ended, for those that go on; true where something was dropped. */
static bool release_finished(qw_session *s)
{
    bool released = false;

    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];

        if (row->finish == QW_FINISH_NONE || qw_row_cached(s, row) == 0) continue;
        qw_kv_truncate(&s->timelines.kv, row->timeline, 0);
        released = true;
    }
    return released;
}

bool qw_pass_has_room(qw_session *s, int32_t more)
{
    const qw_kv *kv = &s->timelines.kv;

    if (kv->used + pending_tokens(s) + more < s->options.n_ctx) return true;
    return release_finished(s) && kv->used + pending_tokens(s) + more < s->options.n_ctx;
}

qw_status qw_pass_no_room(const qw_session *s, qw_error *err)
{
    return qw_fail(err, QW_ERR_CONTEXT,
                   "the context of %d tokens has no room left: load the model with a larger contextLength",
                   s->options.n_ctx);
}
