/* SPDX-License-Identifier: MIT
 * What may be on top once a text ends: what lies below goes on, through rules, keys and items, until texts are on top
 * again. Nothing is opened that cannot be closed. */
#ifndef QW_MATCHER_OPEN_H
#define QW_MATCHER_OPEN_H

#include "format/matcher_frames.h"

typedef struct qw_opening {
    qw_grammar *g;
    qw_expr_pool *pool;
    qw_frames frames;
    uint32_t *open; /* tops that were found: texts, or 0 where all may end */
    uint64_t *seen; /* rule and frame below, opened since the last byte */
    size_t n_open, cap_open, n_seen, cap_seen;
    int depth;
    qw_status status;
    const char *why;
} qw_opening;

void qw_opening_fail(qw_opening *m, qw_status status, const char *why);
/* Makes room for one more of n; false where it fails. */
bool qw_opening_grow(qw_opening *m, void *array, size_t n, size_t *cap, size_t size);
uint32_t qw_opening_frame(qw_opening *m, const qw_frame *f);

/* Opens the node over the frame parent. */
void qw_opening_expand(qw_opening *m, qw_node at, uint32_t parent);
/* Puts the text on top of parent, and goes on below where it may end. trace: what was read of it, where that is kept. */
void qw_opening_text(qw_opening *m, qw_expr expr, uint32_t parent, uint32_t trace);

#endif
