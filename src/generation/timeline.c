/* SPDX-License-Identifier: MIT
 * The ids' memory is planned with the cache: a step appends without asking for any. */
#include "generation/timeline.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "base/assert.h"

#include <string.h>

double qw_timelines_bytes(int32_t capacity, int32_t max_rows)
{
    return (double)max_rows * (4.0 * capacity + sizeof(qw_timeline)) + 128;
}

qw_status qw_timelines_init(qw_timelines *t, const qw_config *c, qw_kv_type type, int32_t capacity, int32_t max_rows,
                            qw_error *err)
{
    QW_TRY(qw_kv_init(&t->kv, c, type, capacity, max_rows, err));
    t->v = qw_calloc((size_t)max_rows, sizeof *t->v);
    t->ids = qw_alloc_aligned((size_t)max_rows, (size_t)capacity * sizeof *t->ids);
    if (!t->v || !t->ids) return qw_fail_memory(err, "the ids of the KV cache", qw_timelines_bytes(capacity, max_rows));
    for (int32_t i = 0; i < max_rows; i++) t->v[i].ids = t->ids + (size_t)i * (size_t)capacity;
    return QW_OK;
}

void qw_timelines_free(qw_timelines *t)
{
    qw_free(t->ids);
    qw_free(t->v);
    qw_kv_free(&t->kv);
    *t = (qw_timelines){0};
}

int32_t qw_timeline_cached(const qw_timelines *t, int32_t i)
{
    return t->kv.row[i].n;
}

int32_t qw_timeline_match(const qw_timelines *t, int32_t i, const int32_t *ids, int32_t n)
{
    int32_t most = qw_min(n, qw_timeline_cached(t, i)), same = 0;

    while (same < most && ids[same] == t->v[i].ids[same]) same++;
    return same;
}

void qw_timeline_append(qw_timelines *t, int32_t i, const int32_t *ids, int32_t n)
{
    qw_timeline *line = &t->v[i];

    QW_ASSERT(n <= t->kv.capacity - line->n);
    memcpy(line->ids + line->n, ids, (size_t)n * sizeof *ids);
    line->n += n;
}

void qw_timeline_rewind(qw_timelines *t, int32_t i, int32_t n)
{
    if (qw_timeline_cached(t, i) > n) qw_kv_truncate(&t->kv, i, n);
    t->v[i].n = qw_min(t->v[i].n, n);
}
