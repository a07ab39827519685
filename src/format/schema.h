/* SPDX-License-Identifier: MIT
 * JSON Schema (draft 2020-12, or by $schema 2019-09, 7, 6 and 4) into a grammar of the texts that meet it, in our one
 * spelling of each value. What cannot be held exactly is refused by place and reason, never ignored unless asked to. */
#ifndef QW_SCHEMA_H
#define QW_SCHEMA_H

#include "format/grammar.h"

typedef struct qw_schema_options {
    bool lenient;        /* what cannot be held is ignored and becomes a note */
    bool ignore_formats; /* format is an annotation */
    qw_buf *notes;       /* where given: what was passed over, a line each */
} qw_schema_options;

/* Compiles the schema (JSON text) into the grammar, whose pool it fills; *start is the whole document. report, where given,
 * gets {"ok":..,"notes":[..],"unsupported":[{"pointer":..,"keyword":..,"why":..}]}, also of a schema that is refused.
 * Errors: usage (not JSON, not held, met by nothing, too large), memory. */
qw_status qw_schema_compile(qw_grammar *grammar, qw_expr_pool *pool, qw_text schema, const qw_schema_options *options,
                            qw_node *start, qw_buf *report, qw_error *err);

#endif
