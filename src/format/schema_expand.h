/* SPDX-License-Identifier: MIT
 * From a conjunction to the forms of its branches. */
#ifndef QW_SCHEMA_EXPAND_H
#define QW_SCHEMA_EXPAND_H

#include "format/schema_plan.h"

/* A form with the plans of what it says about objects and arrays, where it allows them. */
typedef struct qw_forms {
    struct qw_forms *next;
    qw_form form;
    qw_object_plan object;
    qw_array_plan array;
} qw_forms;

/* The forms whose union the conjunction is; NULL: nothing meets it. Kept with the conjunction. */
const qw_forms *qw_conj_forms(qw_compiler *c, qw_conj *conj);

/* False where nothing meets it. May be true of a recursive conjunction that nothing finite meets. */
bool qw_conj_alive(qw_compiler *c, qw_conj *conj);

#endif
