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
    QW_FRAME_OBJECT,   /* object node: declared keys from pos on, count keys written, names from trace on used */
    QW_FRAME_KEY,      /* a part of a key of class pos of the object below comes next: which one is in count */
    QW_FRAME_ARRAY,    /* array node: count items written, texts in expr used, and one that trace tells no more of */
    QW_FRAME_ITEM,     /* expr comes next, an item of the array below whose text is to be kept */
    QW_FRAME_TRACE,    /* byte pos, after those of parent */
    QW_FRAME_NAME,     /* the undeclared key whose bytes are trace, after the names of parent */
} qw_frame_kind;

/* Frames that are there from the beginning: the end, and two traces of which only so much is known: that it is of no name
 * that was written, or not even that. */
enum { QW_FRAME_THE_END, QW_TRACE_LOST, QW_TRACE_UNSURE };

/* What of an undeclared key comes next. */
typedef enum qw_key_part { QW_KEY_BODY, QW_KEY_QUOTE, QW_KEY_VALUE } qw_key_part;

typedef struct qw_frame {
    uint32_t kind, node, pos, count, expr, trace, depth, parent;
    uint64_t counts; /* of an array's counters, a byte each */
} qw_frame;

typedef struct qw_frames {
    qw_frame *v;
    uint32_t *least; /* of each, the bytes that end all from it down (matcher_end.h) + 1; 0: not told yet */
    uint32_t *table;
    size_t n, cap, cap_table;
    bool failed; /* memory */
} qw_frames;

/* The frame of that content; 0 where memory fails. The first frame made is END, 0. */
uint32_t qw_frames_intern(qw_frames *frames, const qw_frame *frame);
/* Forgets the frames from n on. */
void qw_frames_cut(qw_frames *frames, size_t n);
void qw_frames_free(qw_frames *frames);

#endif
