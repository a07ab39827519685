/* SPDX-License-Identifier: MIT
 * A session's step and result as the JSON that crosses to JavaScript. */
#ifndef QW_SESSION_JSON_H
#define QW_SESSION_JSON_H

#include "generation/session.h"

/* The step as the JSON of qw_job_events, the job as that of qw_job_result, appended to out. */
qw_status qw_session_write_events(const qw_session *s, qw_buf *out, qw_error *err);
qw_status qw_session_write_result(const qw_session *s, qw_buf *out, qw_error *err);

/* Text with one remark a line as a JSON array of the remarks, appended to out. */
qw_status qw_write_lines(qw_buf *out, const qw_buf *lines, qw_error *err);

#endif
