/* SPDX-License-Identifier: MIT
 * What can be told of the rules of a grammar before it is made: which are expressions, and that none is missing, begins
 * with itself or has no end. */
#ifndef QW_GBNF_RULES_H
#define QW_GBNF_RULES_H

#include "format/gbnf_syntax.h"

enum { QW_GBNF_NESTED = -1 }; /* of a rule: it leads back to itself, or to one that does */

/* Checks the rules; root is an index. exprs[rule] (n_rules of them, the caller's) is the expression of each rule that is
 * one, else QW_GBNF_NESTED. Errors: usage with line and column, memory, of the pool. */
qw_status qw_gbnf_check(qw_gbnf_syntax *syntax, uint32_t root, int64_t *exprs, qw_error *err);

#endif
