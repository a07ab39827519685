/* SPDX-License-Identifier: MIT
 * Memory of many small parts that are freed together: what a compiler makes of a text. A part never moves. */
#ifndef QW_ARENA_H
#define QW_ARENA_H

#include "base/buf.h"

/* Zero-initialise to make an empty one; the owner calls qw_arena_free. limit is in bytes, 0 for none. */
typedef struct qw_arena {
    struct qw_arena_block *last;
    size_t at, cap; /* used and whole bytes of the last block */
    size_t bytes;   /* of all blocks */
    size_t limit;
} qw_arena;

/* n * size bytes, zeroed and aligned to 8; NULL where memory is refused or the limit would be passed. */
void *qw_arena_take(qw_arena *a, size_t n, size_t size);

/* A copy of the text, followed by a NUL that n does not count; bytes is NULL where memory is refused. */
qw_text qw_arena_text(qw_arena *a, qw_text text);

void qw_arena_free(qw_arena *a);

#endif
