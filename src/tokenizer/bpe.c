/* SPDX-License-Identifier: MIT
 * A piece is a row of spans that cover its bytes, each with its token; at first every byte is one. A heap holds, for each
 * pair of neighbours that may merge, (rank, place); the least is merged, until none is left. Entries that later merges
 * made stale are seen by their rank, which the pair at their place no longer has. */
#include "tokenizer/bpe.h"

#include "base/alloc.h"
#include "base/assert.h"

#include <string.h>

/* How far a pair may stand behind its own place. Chance makes it about 160 in a full table of a million; merges that were
 * made to collide would else make every look-up a walk through all of them. */
enum { MAX_PROBES = 512 };

/* Where that pair is, or the free slot where it would stand; NULL where that is too far from its place. */
static qw_merge *slot_of(const qw_bpe *bpe, uint32_t left, uint32_t right)
{
    uint64_t key = ((uint64_t)left << 32 | right) * 0x9E3779B97F4A7C15u;
    uint32_t at = (uint32_t)(key >> 32 ^ key >> 15);

    for (int i = 0; i < MAX_PROBES; i++, at++) {
        qw_merge *slot = bpe->slots + (at & (bpe->n_slots - 1));
        if (slot->rank == QW_BPE_NONE || (slot->left == left && slot->right == right)) return slot;
    }
    return NULL;
}

qw_status qw_bpe_init(qw_bpe *bpe, size_t n_merges, qw_error *err)
{
    if (n_merges > (size_t)1 << 28) return qw_fail(err, QW_ERR_FORMAT, "%zu merges: 268435456 at most", n_merges);
    bpe->n_slots = 16;
    while (bpe->n_slots / 4 * 3 < n_merges) bpe->n_slots *= 2; /* always a free slot, and short chains */
    bpe->slots = qw_calloc(bpe->n_slots, sizeof *bpe->slots);
    if (!bpe->slots) return qw_fail_memory(err, "the merges", (double)bpe->n_slots * sizeof *bpe->slots);
    for (uint32_t i = 0; i < bpe->n_slots; i++) bpe->slots[i].rank = QW_BPE_NONE;
    return QW_OK;
}

void qw_bpe_free(qw_bpe *bpe)
{
    qw_free(bpe->slots);
    *bpe = (qw_bpe){0};
}

bool qw_bpe_put(qw_bpe *bpe, const qw_merge *merge)
{
    qw_merge *slot = slot_of(bpe, merge->left, merge->right);

    if (slot) *slot = *merge;
    return slot;
}

void qw_bpe_work_free(qw_bpe_work *work)
{
    qw_free(work->ids);
    qw_free(work->spans);
    qw_free(work->heap);
    *work = (qw_bpe_work){0};
}

static qw_status resize(void **block, size_t n, size_t size, qw_error *err)
{
    void *larger = qw_realloc(*block, n, size);

    if (!larger) return qw_fail_memory(err, "a long piece of text", (double)n * (double)size);
    *block = larger;
    return QW_OK;
}

static qw_status reserve(qw_bpe_work *work, size_t n, qw_error *err)
{
    void *ids = work->ids, *spans = work->spans;
    size_t cap = n < 256 ? 256 : n;
    qw_status status;

    if (n <= work->cap) return QW_OK;
    status = resize(&ids, cap, sizeof *work->ids, err);
    work->ids = ids;
    if (status) return status;
    status = resize(&spans, cap, sizeof *work->spans, err);
    work->spans = spans;
    if (!status) work->cap = cap;
    return status;
}

static qw_status reserve_heap(qw_bpe_work *work, size_t n, qw_error *err)
{
    void *heap = work->heap;

    if (n <= work->heap_cap) return QW_OK;
    QW_TRY(resize(&heap, n, sizeof *work->heap, err));
    work->heap = heap;
    work->heap_cap = n;
    return QW_OK;
}

/* Moves the entry at `at` down to its place among n. */
static void sift_down(uint64_t *heap, size_t n, size_t at)
{
    uint64_t entry = heap[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        child += child + 1 < n && heap[child + 1] < heap[child];
        if (heap[child] >= entry) break;
        heap[at] = heap[child];
    }
    heap[at] = entry;
}

static void sift_up(uint64_t *heap, size_t at)
{
    uint64_t entry = heap[at];

    for (size_t parent; at && heap[parent = (at - 1) / 2] > entry; at = parent) heap[at] = heap[parent];
    heap[at] = entry;
}

/* The merge of the token at byte `at` with its right neighbour, or NULL. */
static const qw_merge *merge_at(const qw_bpe *bpe, const qw_bpe_work *work, size_t at, size_t n)
{
    size_t right = at + work->spans[at];
    const qw_merge *merge;

    if (right >= n) return NULL;
    merge = slot_of(bpe, (uint32_t)work->ids[at], (uint32_t)work->ids[right]);
    return merge && merge->rank != QW_BPE_NONE ? merge : NULL;
}

static uint64_t entry_of(const qw_merge *merge, size_t at)
{
    return (uint64_t)merge->rank << 32 | at;
}

static qw_status push_merge(const qw_bpe *bpe, qw_bpe_work *work, size_t at, size_t n, qw_error *err)
{
    const qw_merge *merge = merge_at(bpe, work, at, n);

    if (!merge) return QW_OK;
    if (work->n_heap == work->heap_cap) QW_TRY(reserve_heap(work, work->heap_cap + work->heap_cap / 2, err));
    work->heap[work->n_heap] = entry_of(merge, at);
    sift_up(work->heap, work->n_heap++);
    return QW_OK;
}

static void fill(const qw_bpe *bpe, qw_bpe_work *work, qw_text piece)
{
    size_t n = piece.n;

    for (size_t i = 0; i < n; i++) {
        work->ids[i] = bpe->byte_ids[(unsigned char)piece.bytes[i]];
        work->spans[i] = 1;
    }
    work->n_heap = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        const qw_merge *merge = merge_at(bpe, work, i, n);
        if (merge) work->heap[work->n_heap++] = entry_of(merge, i);
    }
    for (size_t i = work->n_heap / 2; i-- > 0;) sift_down(work->heap, work->n_heap, i);
}

/* A span's length stands at its first and its last byte; its token at the first, and -1 where a span began that is joined
 * to the one before. */
static void join(qw_bpe_work *work, size_t at, int32_t result)
{
    size_t right = at + work->spans[at];
    uint32_t span;

    QW_ASSERT(right < work->cap && at + work->spans[at] + work->spans[right] <= work->cap);
    span = work->spans[at] + work->spans[right];
    work->spans[at] = work->spans[at + span - 1] = span;
    work->ids[right] = -1;
    work->ids[at] = result;
}

static qw_status merge_all(const qw_bpe *bpe, qw_bpe_work *work, size_t n, qw_error *err)
{
    while (work->n_heap) {
        uint64_t entry = work->heap[0];
        size_t at = (size_t)(entry & UINT32_MAX);
        const qw_merge *merge = work->ids[at] < 0 ? NULL : merge_at(bpe, work, at, n);

        work->heap[0] = work->heap[--work->n_heap];
        if (work->n_heap) sift_down(work->heap, work->n_heap, 0);
        if (!merge || entry_of(merge, at) != entry) continue;
        join(work, at, (int32_t)merge->result);
        if (at) QW_TRY(push_merge(bpe, work, at - work->spans[at - 1], n, err));
        QW_TRY(push_merge(bpe, work, at, n, err));
    }
    return QW_OK;
}

qw_status qw_bpe_encode(const qw_bpe *bpe, qw_text piece, qw_bpe_work *work, qw_ids *ids, qw_error *err)
{
    QW_TRY(reserve(work, piece.n, err));
    QW_TRY(reserve_heap(work, work->cap, err));
    fill(bpe, work, piece);
    QW_TRY(merge_all(bpe, work, piece.n, err));
    for (size_t at = 0; at < piece.n; at += work->spans[at]) QW_TRY(qw_ids_push(ids, work->ids[at], err));
    return QW_OK;
}
