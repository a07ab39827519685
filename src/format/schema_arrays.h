/* SPDX-License-Identifier: MIT
 * Keywords of arrays: each reads the keyword at node into the branch, as kept or as broken. */
#ifndef QW_SCHEMA_ARRAYS_H
#define QW_SCHEMA_ARRAYS_H

#include "format/schema_branch.h"

/* What the items, prefixItems and additionalItems of a schema say, by its draft: prefix is a list of schemas or NULL,
 * rest the schema of the items behind it or NULL. */
typedef struct qw_array_layer {
    const qw_dom *prefix, *rest;
} qw_array_layer;
qw_array_layer qw_array_layer_of(const qw_compiler *c, const qw_dom *schema);

/* items, prefixItems, additionalItems. */
void qw_read_items(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
/* minItems and maxItems. */
void qw_read_item_count(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_unique(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
/* With minContains and maxContains beside it. */
void qw_read_contains(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

/* The literals of arrays; and equality with the array at node. */
void qw_read_array_literal(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *node);
void qw_read_array_value(qw_compiler *c, qw_branch *b, const qw_dom *node, bool equals);

#endif
