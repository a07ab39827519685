/* SPDX-License-Identifier: MIT
 * Keywords of objects: each reads the keyword at node into the branch, as kept or as broken. */
#ifndef QW_SCHEMA_OBJECTS_H
#define QW_SCHEMA_OBJECTS_H

#include "format/schema_branch.h"

/* The keyword unevaluatedProperties or unevaluatedItems (name) of a schema in which it means what additionalProperties or items
 * behind a prefix does: nothing beside it but its own kind of keyword looks at parts of the value. Else NULL. */
const qw_dom *qw_plain_unevaluated(const qw_compiler *c, const qw_dom *schema, const char *name);
/* What holds for keys that properties and patternProperties do not name; NULL: nothing. */
const qw_dom *qw_additional_of(const qw_compiler *c, const qw_dom *schema);

/* properties, patternProperties and additionalProperties are one layer of the form. */
void qw_read_properties(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_required(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
void qw_read_names(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
/* minProperties and maxProperties. */
void qw_read_key_count(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);
/* dependencies, dependentRequired and dependentSchemas. */
void qw_read_dependencies(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

/* The literals of objects; and equality with the object at node. */
void qw_read_object_literal(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *node);
void qw_read_object_value(qw_compiler *c, qw_branch *b, const qw_dom *node, bool equals);

#endif
