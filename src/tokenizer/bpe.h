/* SPDX-License-Identifier: MIT
 * Byte-level BPE over token ids: a table of merges, and the merging of one piece in O(n log n). */
#ifndef QW_BPE_H
#define QW_BPE_H

#include "base/buf.h"

#include <stdbool.h>

/* A slot of the table; free where rank is QW_BPE_NONE. */
typedef struct qw_merge {
    uint32_t left, right; /* ids of the two tokens          */
    uint32_t rank;        /* the lower, the earlier         */
    uint32_t result;      /* id of the token they turn into */
} qw_merge;

#define QW_BPE_NONE UINT32_MAX

/* A hash table with open addressing. */
typedef struct qw_bpe {
    qw_merge *slots;
    uint32_t n_slots;      /* a power of two */
    int32_t byte_ids[256]; /* the token of each single byte */
} qw_bpe;

/* Makes room for n_merges merges (at most 2^28). byte_ids are left to the caller. */
qw_status qw_bpe_init(qw_bpe *bpe, size_t n_merges, qw_error *err);
void qw_bpe_free(qw_bpe *bpe);

/* Adds a merge; of twins the last one counts, as in the reference. False where it collides with so many others that chance
 * cannot have made them. */
bool qw_bpe_put(qw_bpe *bpe, const qw_merge *merge);

/* Room for the largest piece yet: 16 bytes and seldom up to 24 for each of its bytes. Zero-initialise; qw_bpe_work_free. */
typedef struct qw_bpe_work {
    int32_t *ids;
    uint32_t *spans;
    size_t cap;
    uint64_t *heap;
    size_t n_heap, heap_cap;
} qw_bpe_work;

void qw_bpe_work_free(qw_bpe_work *work);

/* Appends the ids of one piece (below 2^31 bytes). Only memory can fail. */
qw_status qw_bpe_encode(const qw_bpe *bpe, qw_text piece, qw_bpe_work *work, qw_ids *ids, qw_error *err);

#endif
