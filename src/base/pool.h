/* SPDX-License-Identifier: MIT
 * A persistent thread pool. Work is n items claimed in order from an atomic counter; results never depend on who does
 * what. The calling thread works too and does not need the others: a pool whose threads have not come up yet (in a
 * browser they start only after the caller returned to its event loop) is merely slower. */
#ifndef QW_POOL_H
#define QW_POOL_H

#include "base/status.h"

#include <stdint.h>

typedef struct qw_pool qw_pool;

/* Does items first..last-1. thread: 0..n_threads-1, to index scratch of its own. */
typedef void qw_pool_fn(void *arg, int32_t first, int32_t last, int32_t thread);

/* n_threads 1..QW_POOL_MAX, the caller included; where the build has no threads only 1 is made. Errors: memory,
 * usage. */
enum { QW_POOL_MAX = 64 };
qw_status qw_pool_new(qw_pool **out, int32_t n_threads, qw_error *err);

/* Ends and joins the threads; NULL is a no-op. Never while a run is under way. */
void qw_pool_free(qw_pool *pool);

int32_t qw_pool_threads(const qw_pool *pool);

/* Runs fn over items 0..n-1, at least `chunk` (>= 1) at a time and at first many more, and returns when all are done. Costs <= 3 us. Waiting
 * threads spin for at most 50 us, then sleep; with more threads than cores they do not spin. n <= chunk runs on the
 * caller alone. */
void qw_pool_run(qw_pool *pool, int32_t n, int32_t chunk, qw_pool_fn *fn, void *arg);

#endif
