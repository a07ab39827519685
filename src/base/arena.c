/* SPDX-License-Identifier: MIT
 * Blocks of doubling size in a chain; a part that is larger than the next block gets one of its own size. */
#include "base/arena.h"

#include "base/alloc.h"
#include "base/arithmetic.h"

#include <string.h>

enum { FIRST_BLOCK = 8 << 10, LARGEST_BLOCK = 1 << 20 };

struct qw_arena_block {
    struct qw_arena_block *before;
    uint64_t parts[]; /* for the alignment */
};

static bool new_block(qw_arena *a, size_t n)
{
    size_t cap = a->cap ? a->cap * 2 : FIRST_BLOCK;
    struct qw_arena_block *block;

    if (cap > LARGEST_BLOCK) cap = LARGEST_BLOCK;
    if (cap < n) cap = n;
    if (a->limit && (cap > a->limit || a->bytes > a->limit - cap)) return false;
    block = qw_calloc(1, sizeof *block + cap);
    if (!block) return false;
    block->before = a->last;
    a->last = block;
    a->at = 0;
    a->cap = cap;
    a->bytes += cap;
    return true;
}

void *qw_arena_take(qw_arena *a, size_t n, size_t size)
{
    size_t bytes;
    void *part;

    if (!qw_mul(n, size, &bytes) || bytes > PTRDIFF_MAX - 64) return NULL;
    bytes = (bytes + 7) & ~(size_t)7;
    if ((!a->last || bytes > a->cap - a->at) && !new_block(a, bytes)) return NULL;
    part = (char *)a->last->parts + a->at;
    a->at += bytes;
    return part;
}

qw_text qw_arena_text(qw_arena *a, qw_text text)
{
    char *copy = qw_arena_take(a, text.n + 1, 1);

    if (copy && text.n) memcpy(copy, text.bytes, text.n);
    return (qw_text){copy, text.n};
}

void qw_arena_free(qw_arena *a)
{
    for (struct qw_arena_block *block = a->last, *before; block; block = before) {
        before = block->before;
        qw_free(block);
    }
    *a = (qw_arena){.limit = a->limit};
}
