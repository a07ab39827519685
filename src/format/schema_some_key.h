/* SPDX-License-Identifier: MIT
 * "Some key breaks this": settled when a form's names are all known, by one branch for each name that may be the one. */
#ifndef QW_SCHEMA_SOME_KEY_H
#define QW_SCHEMA_SOME_KEY_H

#include "format/schema_plan.h"

/* A fact of the form that is not settled, or NULL. */
const qw_fact *qw_some_key_open(const qw_form *form);

/* The branches in which fact is settled, into out (plan->n + 1 of them at most); how many. plan is the form's, names the
 * language of the schema where fact is about propertyNames. A key that is not declared cannot be asked for: where one
 * might be the one, a branch has that doubt. */
uint32_t qw_some_key_settle(qw_compiler *c, const qw_branch *b, const qw_fact *fact, const qw_object_plan *plan,
                            qw_expr names, qw_branch *out);

#endif
