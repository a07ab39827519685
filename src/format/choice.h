/* SPDX-License-Identifier: MIT
 * One of some given texts: a trie of them whose equal tails are shared, so that 10,000 take milliseconds. */
#ifndef QW_CHOICE_H
#define QW_CHOICE_H

#include "format/expression.h"

/* The texts (valid UTF-8, also empty or twice the same), none changed. Errors: usage (no choice, or bytes that are no
 * UTF-8, by index), memory, of the pool. */
qw_status qw_choice_expr(qw_expr_pool *pool, const qw_text *texts, size_t n, qw_spelling spelling, qw_expr *out,
                         qw_error *err);

#endif
