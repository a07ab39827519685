/* SPDX-License-Identifier: MIT
 * Keywords that say what a value is by itself: type, enum, const, and those of strings and numbers. Each reads the
 * keyword at node into the branch: that it is kept, or that it is broken. */
#ifndef QW_SCHEMA_SCALARS_H
#define QW_SCHEMA_SCALARS_H

#include "format/schema_branch.h"

void qw_read_type(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_enum(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_const(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

/* minLength and maxLength. */
void qw_read_length(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_pattern(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_format(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

/* minimum, maximum, exclusiveMinimum, exclusiveMaximum; multipleOf. */
void qw_read_bound(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_multiple(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

/* The literal QW_ENUM_SCALARS; and equality with one value that is neither object nor array. */
void qw_read_enum_scalars(qw_compiler *c, qw_branch *b, const qw_dom *list);
void qw_read_scalar(qw_compiler *c, qw_branch *b, const qw_dom *value, bool equals);

/* The language of the pattern at node (search, JSON spelling), cached; false where it is a doubt of the branch. */
bool qw_pattern_expr(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_text pattern, qw_expr *out);

#endif
