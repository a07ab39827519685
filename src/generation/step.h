/* SPDX-License-Identifier: MIT
 * One bounded step of a session's job: a pass over some tokens, then for every row with fresh logits the processors, the
 * choice, the stop rules and the text that may be shown. */
#ifndef QW_STEP_H
#define QW_STEP_H

#include "generation/session.h"

typedef enum qw_progress { QW_PROGRESS_DONE, QW_PROGRESS_MORE, QW_PROGRESS_SCORES } qw_progress;

/* Of prompts as much work as max_tokens tokens are. On an error the job has ended. Errors: model (logits not finite), usage, memory. */
qw_status qw_session_step(qw_session *s, int32_t max_tokens, qw_progress *progress, qw_error *err);

/* Ends a row that goes on; its held-back text goes into the step's chunks. */
qw_status qw_session_end_row(qw_session *s, int32_t index, qw_finish finish, qw_error *err);

/* "eos", "stop_string", "length", "time", "stopping", "aborted"; "" for none. */
const char *qw_finish_name(qw_finish finish);

/* Clears the step's chunks and finished rows. */
void qw_session_clear_events(qw_session *s);

#endif
