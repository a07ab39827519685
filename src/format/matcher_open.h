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
    qw_buf name; /* of a key, while it is looked up */
    bool
        walking; /* over a vocabulary: traces are dropped where no name in use begins so, as all that follows is alike */
    bool unsure; /* some state since has a trace that is */
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

/* What was read of a text above `below` (a key's body or an item that is kept), with that byte. */
uint32_t qw_opening_trace(qw_opening *m, const qw_frame *below, uint32_t trace, uint8_t byte);
/* The undeclared names that were written in the object, as an expression. */
qw_expr qw_used_names(qw_opening *m, const qw_frame *object);
/* Whether the name of those bytes is declared in the object or was written in it. */
bool qw_opening_name_is_taken(qw_opening *m, const qw_frame *object, uint32_t trace);

/* Whether the body of a key, of which trace was read and `body` is left, can end in a name that was not written. */
bool qw_opening_name_can_end(qw_opening *m, const qw_frame *key, qw_expr body, uint32_t trace);

#endif
