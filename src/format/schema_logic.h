/* SPDX-License-Identifier: MIT
 * Keywords that join schemas: each reads the keyword at node into the branch, as kept or as broken. */
#ifndef QW_SCHEMA_LOGIC_H
#define QW_SCHEMA_LOGIC_H

#include "format/schema_branch.h"

void qw_read_all_of(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_any_of(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_one_of(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_not(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

/* With then and else beside it. */
void qw_read_if(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

void qw_read_reference(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

#endif
