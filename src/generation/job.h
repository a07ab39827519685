/* SPDX-License-Identifier: MIT
 * A job: rows that are generated, a prompt that is read, or the bare model. All that begins one is a single struct, which is
 * checked whole and made into a job before anything else is touched. */
#ifndef QW_JOB_H
#define QW_JOB_H

#include "format/format.h"
#include "generation/sampler.h"
#include "generation/settings.h"
#include "generation/stop.h"
#include "model/kv.h"

typedef enum qw_job_kind { QW_JOB_GENERATE, QW_JOB_PREFILL, QW_JOB_FORWARD } qw_job_kind;

/* An ended job still tells its last events and its result. */
typedef enum qw_job_state { QW_JOB_NONE, QW_JOB_RUNNING, QW_JOB_ENDED } qw_job_state;

typedef enum qw_finish {
    QW_FINISH_NONE,
    QW_FINISH_EOS,
    QW_FINISH_STOP_STRING,
    QW_FINISH_LENGTH,
    QW_FINISH_TIME,
    QW_FINISH_STOPPING,
    QW_FINISH_ABORTED,
} qw_finish;

/* "eos", "stop_string", "length", "time", "stopping", "aborted"; "" for none. */
const char *qw_finish_name(qw_finish finish);

/* What begins a job: n_prompts prompts, concatenated without padding, and what its kind takes (qw.h says more of each). All
 * borrowed for the call. */
typedef struct qw_start {
    qw_job_kind kind;
    const int32_t *ids, *lengths;
    int32_t n_prompts;
    qw_text settings, stops; /* GENERATE */
    int32_t padding_width;
    const uint8_t *keep; /* FORWARD: of each id, whether its logits are wanted */
    bool hidden;
} qw_start;

/* What a job must fit. */
typedef struct qw_limits {
    int32_t n_ctx, max_rows;
    qw_masks *masks; /* of the model's vocabulary, made with the first job that has a form */
} qw_limits;

/* A row of a job: one sequence. */
typedef struct qw_row {
    int32_t timeline;  /* where its ids are: the prompt, then new tokens */
    int32_t leader;    /* the row that computes the prompt for this one too; itself where it computes it alone */
    int32_t prompt_at; /* its first id among those of all prompts */
    int32_t n_prompt, n_pad, n_cached;
    qw_rng rng;
    qw_row_text text;
    qw_buf shown;  /* all text released so far */
    uint32_t form; /* the state of the job's format behind its tokens */
    qw_finish finish;
} qw_row;

/* What a step, or the caller's end of a row, brought to one row. */
typedef struct qw_event {
    int32_t row, id_at, n_ids; /* new ids, from id_at of its timeline on */
    size_t text_at, n_text;    /* text released, from text_at of what it has shown on */
    const float *raw,
        *processed;   /* [n_vocab] scores of the last new id, for logprobs; NULL where they are not asked for */
    qw_finish finish; /* why it ended with it; NONE: it goes on */
} qw_event;

typedef struct qw_job {
    qw_job_kind kind;
    qw_job_state state;
    qw_settings settings;
    qw_stops *stops;
    qw_format *format; /* NULL: any text */
    qw_row *rows;      /* [n_rows], prompt-major */
    int32_t n_rows, width;
    bool prefill;     /* the last step read prompts */
    float *raw;       /* [n_rows][n_vocab] scores before processing, where logprobs are asked for */
    qw_event *events; /* [n_rows] of the last step, at most one a row */
    int32_t n_events;
    qw_buf json; /* text that is told of it */
    uint8_t *keep;
    float *hidden_states;  /* [n_layer + 2][tokens of a pass][dim], NULL where not asked for */
    int32_t hidden_tokens; /* tokens of a pass that it has room for */
    int32_t out_row, out_pos, out_logits,
        out_hidden; /* of the last FORWARD step: row, first position; logits, tokens */
} qw_job;

/* Makes the job that start asks for, running, its rows without a timeline. *job is the caller's after any outcome: qw_job_free.
 * Errors: usage (an empty prompt, an id out of range, more rows than there may be, settings, lengths), context (a prompt,
 * or all rows together, leave no room for an answer; names both numbers), memory. */
qw_status qw_job_make(qw_job *job, const qw_model *model, const qw_limits *limits, const qw_start *start,
                      qw_error *err);
void qw_job_free(qw_job *job);

/* Rows of a generation that go on. */
bool qw_job_goes_on(const qw_job *job);

#endif
