/* SPDX-License-Identifier: MIT
 * What is open in a text, as frames that are kept once each and know the one below. */
#ifndef QW_MATCHER_FRAMES_H
#define QW_MATCHER_FRAMES_H

#include "format/grammar_nodes.h"

typedef enum qw_frame_kind {
    QW_FRAME_END,      /* the text may end */
    QW_FRAME_TEXT,     /* expr is being read; where trace is not 0, what of it was read */
    QW_FRAME_EXPAND,   /* node comes next */
    QW_FRAME_SEQUENCE, /* part pos of node comes next */
    QW_FRAME_OBJECT,   /* object node: declared keys from pos on, count keys written, names in expr used */
    QW_FRAME_KEY,      /* the body of a key of class pos of the object below comes next */
    QW_FRAME_ARRAY,    /* array node: count items written, texts in expr used */
    QW_FRAME_TRACE,    /* byte pos, after those of parent */
} qw_frame_kind;

typedef struct qw_frame {
    uint32_t kind, node, pos, count, expr, trace, depth, parent;
    uint64_t counts; /* of an array's counters, a byte each */
} qw_frame;

typedef struct qw_frames {
    qw_frame *v;
    uint32_t *table;
    size_t n, cap, cap_table;
    bool failed; /* memory */
} qw_frames;

/* The frame of that content; 0 where memory fails. The first frame made is END, 0. */
uint32_t qw_frames_intern(qw_frames *frames, const qw_frame *frame);
void qw_frames_free(qw_frames *frames);

#endif
