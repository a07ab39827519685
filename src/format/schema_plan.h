/* SPDX-License-Identifier: MIT
 * A form's facts about an object or array put together: which keys there may be and what each value must be, which items.
 * A plan is exact; what of it has no value, its reader finds out by the conjunctions. */
#ifndef QW_SCHEMA_PLAN_H
#define QW_SCHEMA_PLAN_H

#include "format/schema_branch.h"

typedef struct qw_plan_key {
    qw_text name;
    qw_conj *value;
    bool required;
} qw_plan_key;

/* Keys that no name is declared for, by what their values must be. */
typedef struct qw_plan_class {
    struct qw_plan_class *next;
    qw_expr keys; /* bodies of strings; declared names may be among them */
    qw_conj *value;
} qw_plan_class;

typedef struct qw_object_plan {
    qw_plan_key *keys; /* in the order in which they are written */
    uint32_t n;
    qw_plan_class *classes; /* disjoint */
    int64_t min, max;
    bool none; /* no object is such */
} qw_object_plan;

typedef struct qw_array_plan {
    qw_conj **prefix;
    uint32_t n;
    qw_conj *rest; /* NULL: no item behind the prefix */
    const qw_fact **contains;
    uint32_t n_contains;
    int64_t min, max;
    bool unique, none;
} qw_array_plan;

/* names: the language that all keys must be in (bodies of strings). What cannot be made becomes a doubt of b. */
void qw_object_plan_make(qw_compiler *c, qw_branch *b, qw_expr names, qw_object_plan *plan);
void qw_array_plan_make(qw_compiler *c, qw_branch *b, qw_array_plan *plan);

/* Whether the name, as the body of a string, is in the language. */
bool qw_name_in(qw_compiler *c, qw_text name, qw_expr language);

#endif
