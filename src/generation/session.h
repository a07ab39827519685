/* SPDX-License-Identifier: MIT
 * A session: the timelines, scratch for passes, and at most one job, which is begun and then stepped. The timelines keep the
 * ids of the last job's rows, so that the next prompt computes only what lies beyond the longest common prefix. */
#ifndef QW_SESSION_H
#define QW_SESSION_H

#include "generation/job.h"
#include "generation/logits.h"
#include "generation/timeline.h"
#include "model/forward.h"

typedef struct qw_session_options {
    qw_kv_type kv_type;
    int32_t n_ctx, max_rows;
} qw_session_options;

/* Scores of what may follow a row's id at `offset` of its timeline. A row may have several of a pass. */
typedef struct qw_score {
    int32_t row, offset;
} qw_score;

/* The pass under way: tokens whose positions are reserved, taken through the layers slice by slice. n = 0: there is none. */
typedef struct qw_begun {
    int32_t n, n_wanted, layer; /* tokens; logits wanted of them; the next layer */
    int32_t *ids, *row, *pos;   /* [max_tokens] */
    int32_t *wanted;            /* [max_tokens] tokens whose logits are wanted, ascending */
    int32_t n_told;             /* FORWARD: of the wanted, those whose logits have been handed out */
    qw_score *scores; /* [max_logits] GENERATE: i-th scores are those of the i-th logits; they stay until chosen from */
    int32_t n_scores;
} qw_begun;

typedef struct qw_session {
    const qw_model *model;
    qw_pool *pool;
    qw_session_options options;
    qw_timelines timelines;
    qw_scratch scratch;
    qw_logits_scratch logits;
    qw_begun pass;
    qw_masks masks; /* zero until a job has a form */
    qw_job job;
} qw_session;

/* Bytes beside weights that a session takes: the cache, and all else. */
double qw_session_kv_bytes(const qw_config *c, const qw_session_options *o);
double qw_session_scratch_bytes(const qw_config *c, const qw_session_options *o, int32_t threads);

/* model needs its config only until the first pass. The caller's s is zero before and may be freed after any outcome.
 * Errors: memory. */
qw_status qw_session_init(qw_session *s, const qw_model *model, qw_pool *pool, const qw_session_options *o,
                          qw_error *err);
void qw_session_free(qw_session *s);

/* Begins a job, in place of one that has ended. After an error nothing has changed. Errors: those of qw_job_make; usage where
 * a job is running. */
qw_status qw_session_begin(qw_session *s, const qw_start *start, qw_error *err);

/* Ends the job and drops what is left of it; timelines keep what the cache holds. A no-op without a job. */
void qw_session_end(qw_session *s);

/* That, and empties the timelines. */
void qw_session_forget(qw_session *s);

/* Ids of a row, and how many of them the cache holds. */
static inline const qw_timeline *qw_row_ids(const qw_session *s, const qw_row *row)
{
    return &s->timelines.v[row->timeline];
}

static inline int32_t qw_row_cached(const qw_session *s, const qw_row *row)
{
    return qw_timeline_cached(&s->timelines, row->timeline);
}

/* Logits of a slot, [n_vocab]. */
static inline float *qw_session_logits(const qw_session *s, int32_t slot)
{
    return s->scratch.logits + (size_t)slot * (size_t)s->model->config.n_vocab;
}

#endif
