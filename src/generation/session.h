/* SPDX-License-Identifier: MIT
 * One timeline: the KV cache with the ids that it holds, scratch for passes, and at most one job (generation, prefill, or
 * the bare model) that is begun and then stepped. The cache keeps the ids of the last job's rows, so that the next prompt
 * computes only what lies beyond the longest common prefix; a kept key or value is the same bits that computing it again
 * would give. */
#ifndef QW_SESSION_H
#define QW_SESSION_H

#include "model/forward.h"
#include "generation/logits.h"
#include "generation/sampler.h"
#include "generation/stop.h"

typedef struct qw_session_options {
    qw_kv_type kv_type;
    int32_t n_ctx, max_rows;
} qw_session_options;

typedef enum qw_job_kind { QW_JOB_NONE, QW_JOB_GENERATE, QW_JOB_PREFILL, QW_JOB_FORWARD } qw_job_kind;

typedef enum qw_finish {
    QW_FINISH_NONE,
    QW_FINISH_EOS,
    QW_FINISH_STOP_STRING,
    QW_FINISH_LENGTH,
    QW_FINISH_TIME,
    QW_FINISH_STOPPING,
    QW_FINISH_ABORTED,
} qw_finish;

/* A row of a job. */
typedef struct qw_row {
    int32_t kv; /* its row of the cache */
    int32_t
        leader; /* the row whose prompt is the same and is computed for this one too; itself where none is before it */
    qw_ids ids; /* prompt, then new tokens; the first kv.row[kv].n of them are in the cache */
    int32_t n_prompt, n_pad, n_cached;
    int32_t keep_at; /* FORWARD: index of its first token in job.keep */
    float *scores;   /* logits that wait for a choice, or NULL */
    qw_rng rng;
    qw_row_text text;
    qw_buf shown; /* all text released so far */
    qw_finish finish;
} qw_row;

/* A pass that has been begun: its tokens stand in the session's arrays, their positions are reserved. */
typedef struct qw_begun {
    int32_t n, n_wanted;         /* tokens; logits wanted */
    int32_t layer;               /* the next one */
    qw_row *scored[QW_PASS_MAX]; /* rows of the wanted logits */
} qw_begun;

typedef struct qw_job {
    qw_job_kind kind;
    qw_begun pass; /* n = 0: none */
    qw_settings settings;
    qw_stops *stops;
    qw_row *rows; /* [max_rows of the session] */
    int32_t n_rows, width;
    bool edited;  /* the waiting scores are back from the caller's processor */
    bool prefill; /* the last step read prompts */
    uint8_t *keep;
    bool hidden;
    float *hidden_states;
    int32_t hidden_tokens;                       /* tokens of a pass that hidden_states has room for */
    int32_t out_row, out_pos, out_n, out_tokens; /* of the last FORWARD step */
    qw_buf chunks, finished;                     /* JSON items of the last step */
} qw_job;

typedef struct qw_session {
    const qw_model *model;
    qw_pool *pool;
    qw_session_options options;
    qw_kv kv;
    qw_scratch scratch;
    qw_logits_scratch logits;
    float *raw;                                  /* [max_rows][n_vocab] logits before processing, for logprobs */
    qw_ids *held;                                /* [max_rows] ids of the cache's rows while no job holds them */
    int32_t *ids, *pass_row, *pass_pos, *wanted; /* [max_tokens] a pass */
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

/* Begins a job with prompts as rows, `copies` rows each; the caller fills kind and what belongs to it afterwards. reuse[p] limits how
 * much of prompt p may come from the cache (NULL: all but its last token). Errors as in qw.h. */
typedef struct qw_start {
    const int32_t *ids, *lengths, *reuse;
    int32_t n_prompts, copies;
} qw_start;
qw_status qw_session_start(qw_session *s, qw_job_kind kind, const qw_start *start, qw_error *err);

/* Ends the job, keeps ids and cache. */
void qw_session_end(qw_session *s);
void qw_session_forget(qw_session *s);

/* Drops the cache of rows that have ended, for those that go on; true where something was dropped. */
bool qw_session_release_finished(qw_session *s);

#endif
