/* SPDX-License-Identifier: MIT
 * The texts that JSON Schema's format names: ten are enforced by languages never wider than their RFCs, the other names of
 * the specification are refused, and names of no specification are unknown. */
#ifndef QW_TEXT_FORMATS_H
#define QW_TEXT_FORMATS_H

#include "format/expression.h"

typedef enum qw_format_kind { QW_FORMAT_UNKNOWN, QW_FORMAT_ENFORCED, QW_FORMAT_REFUSED } qw_format_kind;

qw_format_kind qw_text_format_kind(qw_text name);

/* The language of an enforced format in that spelling; made once a pool and spelling, by id, where asked again. */
qw_status qw_text_format(qw_expr_pool *pool, qw_text name, qw_spelling spelling, qw_expr *out, qw_error *err);

#endif
