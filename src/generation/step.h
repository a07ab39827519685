/* SPDX-License-Identifier: MIT
 * One bounded step of a session's job: a pass over some tokens, or a slice of one, then for every row with fresh scores the
 * processors, the choice, the stop rules and the text that may be shown. What came of it stands in the job's events. */
#ifndef QW_STEP_H
#define QW_STEP_H

#include "generation/session.h"

typedef enum qw_progress { QW_PROGRESS_DONE, QW_PROGRESS_MORE, QW_PROGRESS_SCORES } qw_progress;

/* Of prompts as much work as max_tokens tokens are. DONE, and nothing happens, where no job is running. On an error the job
 * is gone. Errors: model (logits not finite), usage, memory. */
qw_status qw_session_step(qw_session *s, int32_t max_tokens, qw_progress *progress, qw_error *err);

/* The i-th scores that wait for a caller's processor; NULL where there are none. */
const qw_score *qw_session_waiting(const qw_session *s, int32_t i, float **logits);

/* Ends row `index` of a generation, or all for -1; the text that was held back is the step's only event of it. */
qw_status qw_session_end_rows(qw_session *s, int32_t index, qw_finish finish, qw_error *err);

#endif
