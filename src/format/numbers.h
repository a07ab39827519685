/* SPDX-License-Identifier: MIT
 * Numbers of JSON in our spelling (at most 19 digits before and 17 after the point, no leading zero, never -0) as
 * languages: by bounds, by multiples, by value. Arithmetic is decimal and exact, and no state is a dead end: after "0."
 * and sixteen zeros an exclusive minimum of 0 allows 1 to 9. Texts handed in are JSON numbers of any size and spelling.
 *
 * All but any and spelling are languages without exponent and closed by value (with 1.5 also 1.50), made of one kind of
 * node: qw_expr_and of them is exact arithmetic again, qw_expr_minus costs no more than another text. */
#ifndef QW_NUMBERS_H
#define QW_NUMBERS_H

#include "format/expression.h"

/* Any number, with an exponent of at most two digits if it likes. */
qw_expr qw_number_any(qw_expr_pool *pool);
/* Without fraction; without exponent. */
qw_expr qw_number_integer(qw_expr_pool *pool);
qw_expr qw_number_decimal(qw_expr_pool *pool);

/* Values from lower to upper; bytes NULL: no such bound. */
typedef struct qw_number_bounds {
    qw_text lower, upper;
    bool exclusive_lower, exclusive_upper;
} qw_number_bounds;

/* Errors of these: usage for what is no JSON number or for a multiple that is not above 0. */
qw_status qw_number_range(qw_expr_pool *pool, const qw_number_bounds *bounds, qw_expr *out, qw_error *err);
qw_status qw_number_multiple(qw_expr_pool *pool, qw_text of, qw_expr *out, qw_error *err);
/* Every spelling without exponent of that value; NONE where it needs more digits than there may be. */
qw_status qw_number_value(qw_expr_pool *pool, qw_text value, qw_expr *out, qw_error *err);
/* The one spelling for enum and const: shortest without exponent where the digits suffice, else the shortest with one;
 * NONE where it cannot be written. */
qw_status qw_number_spelling(qw_expr_pool *pool, qw_text value, qw_expr *out, qw_error *err);

#endif
