/* SPDX-License-Identifier: MIT
 * A part of a regular expression with ^ and $ in it: which texts it matches anywhere, which only where the text begins,
 * only where it ends, and only as all of it. Each is a plain language, and so are all ways to put parts together. */
#ifndef QW_ANCHORED_H
#define QW_ANCHORED_H

#include "format/expression.h"

typedef struct qw_anchored {
    qw_expr anywhere, at_start, at_end, as_all;
} qw_anchored;

qw_anchored qw_anchored_plain(qw_expr id);
qw_anchored qw_anchored_concat(qw_expr_pool *pool, qw_anchored a, qw_anchored b);
/* The union of n parts. */
qw_anchored qw_anchored_or(qw_expr_pool *pool, const qw_anchored *parts, size_t n, qw_expr *room);
/* min to max times; counts with anchors inside are written out: above QW_ANCHORED_COUNT the pool fails. */
enum { QW_ANCHORED_COUNT = 16 };
qw_anchored qw_anchored_repeat(qw_expr_pool *pool, qw_anchored a, uint32_t min, uint32_t max);

/* The texts in which it matches somewhere, or as a whole. any: all text. */
qw_expr qw_anchored_search(qw_expr_pool *pool, qw_anchored a, qw_expr any);
qw_expr qw_anchored_whole(qw_expr_pool *pool, qw_anchored a);

#endif
