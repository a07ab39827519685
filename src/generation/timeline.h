/* SPDX-License-Identifier: MIT
 * Timelines: each is a run of token ids of which the first stand in the KV cache too, as keys and values. A kept key or
 * value is the same bits that computing it again would give, so what two prompts have in common is computed once. */
#ifndef QW_TIMELINE_H
#define QW_TIMELINE_H

#include "model/kv.h"

typedef struct qw_timeline {
    int32_t *ids; /* [capacity of the cache] */
    int32_t n;    /* how many there are; of these, the cache holds qw_timeline_cached */
    int32_t keep; /* while a job begins: ids that stay, -1 where no row has taken it */
} qw_timeline;

/* Timeline i is row i of the cache. */
typedef struct qw_timelines {
    qw_kv kv;
    qw_timeline *v; /* [kv.max_rows] */
    int32_t *ids;   /* [kv.max_rows][kv.capacity] of all */
} qw_timelines;

/* Bytes beside the cache's own. */
double qw_timelines_bytes(int32_t capacity, int32_t max_rows);

/* Errors: memory. The caller's t is zero before and may be freed after any outcome. */
qw_status qw_timelines_init(qw_timelines *t, const qw_config *c, qw_kv_type type, int32_t capacity, int32_t max_rows,
                            qw_error *err);
void qw_timelines_free(qw_timelines *t);

/* Ids of timeline i that the cache holds: the first so many. */
int32_t qw_timeline_cached(const qw_timelines *t, int32_t i);

/* How many of ids, from the first on, are what the cache holds of timeline i. */
int32_t qw_timeline_match(const qw_timelines *t, int32_t i, const int32_t *ids, int32_t n);

/* Appends ids that are yet to be computed. There is room. */
void qw_timeline_append(qw_timelines *t, int32_t i, const int32_t *ids, int32_t n);

/* Keeps the first n ids, in the cache as far as they are there. */
void qw_timeline_rewind(qw_timelines *t, int32_t i, int32_t n);

#endif
