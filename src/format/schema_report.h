/* SPDX-License-Identifier: MIT
 * What a schema asks that cannot be held exactly, and what was passed over: each with the place and the reason. */
#ifndef QW_SCHEMA_REPORT_H
#define QW_SCHEMA_REPORT_H

#include "format/schema_dom.h"

typedef struct qw_schema_remark {
    const struct qw_schema_remark *next;
    const qw_dom *node; /* the keyword's value, or the schema itself */
    const char *why;
} qw_schema_remark;

typedef struct qw_schema_report {
    qw_schema_remark *refusals, *last_refusal;
    qw_schema_remark *notes, *last_note;
    int32_t n_refusals, n_notes; /* kept: at most 100 each */
} qw_schema_report;

/* Adds a remark about node; the same place and reason twice is one. why is copied into the arena. */
qw_status qw_schema_remark_add(qw_schema_report *report, qw_arena *arena, bool refusal, const qw_dom *node,
                               const char *why, qw_error *err);

/* Appends {"ok":..,"notes":[..],"unsupported":[{"pointer":..,"keyword":..,"why":..}]}. */
qw_status qw_schema_report_json(const qw_schema_report *report, qw_buf *out, qw_error *err);

/* Appends the notes, a line each: "response_format: the schema at POINTER: WHY". */
qw_status qw_schema_report_notes(const qw_schema_report *report, qw_buf *out, qw_error *err);

/* Fills err with the first refusal and how many there are; usage. */
qw_status qw_schema_report_fail(const qw_schema_report *report, qw_error *err);

#endif
