/* SPDX-License-Identifier: MIT
 * The thread pool. A region's unclaimed items and its number share one 64-bit word, so that a claim is one
 * compare-and-swap which a thread that comes late, with an older region in mind, cannot get wrong: whoever holds
 * items keeps the region from ending, and only then is the region's description read. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, sysconf */

#include "base/pool.h"

#include "base/alloc.h"

#if defined(__wasm__) && !defined(__EMSCRIPTEN_PTHREADS__)
#define POOL_THREADS 0
#else
#define POOL_THREADS 1
#endif

#if !POOL_THREADS

struct qw_pool {
    int32_t n_threads;
};

qw_status qw_pool_new(qw_pool **out, int32_t n_threads, qw_error *err)
{
    *out = NULL;
    if (n_threads < 1 || n_threads > QW_POOL_MAX)
        return qw_fail(err, QW_ERR_USAGE, "%d threads asked for, 1 to %d are possible", n_threads, QW_POOL_MAX);
    *out = qw_calloc(1, sizeof **out);
    if (!*out) return qw_fail_memory(err, "the thread pool", sizeof **out);
    (*out)->n_threads = 1;
    return QW_OK;
}

void qw_pool_free(qw_pool *pool)
{
    qw_free(pool);
}

void qw_pool_run(qw_pool *pool, int32_t n, int32_t chunk, qw_pool_fn *fn, void *arg)
{
    (void)pool;
    (void)chunk;
    if (n > 0) fn(arg, 0, n, 0);
}

#else

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

/* With the rounds before the first look at the clock and after the last one 50 us in all. */
enum { SPIN_NANOSECONDS = 25000, SPIN_ROUNDS = 100000, ROUNDS_PER_LOOK = 128 };

/* A thread's own block, because in a browser it may come up after its pool is gone: whoever finds that the other has
 * been there first cleans up. */
enum { WORKER_MADE, WORKER_UP, WORKER_LEFT };

typedef struct worker {
    qw_pool *pool;
    pthread_t thread;
    int32_t index;
    _Atomic int32_t state;
} worker;

/* A 32-bit word that threads wait on. */
typedef struct event {
    _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
#ifndef __wasm__
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
} event;

struct qw_pool {
    int32_t n_threads;
    bool spin;
    _Alignas(64) _Atomic uint64_t claims; /* region number << 32 | items not yet claimed */
    _Alignas(64) _Atomic uint32_t left;   /* items not yet finished */
    event begun;                          /* region number; changes when there is work, or the end */
    event ended;                          /* number of the last finished region that someone may wait for */
    atomic_bool quit;
    /* The region. Written before its claims, read by holders of items of it. */
    qw_pool_fn *fn;
    void *arg;
    int32_t n;
    /* Least items of a claim. Read before the claim, which fails where it was meant for another region. */
    _Atomic int32_t chunk;
    worker *workers[QW_POOL_MAX];
};

#ifdef __wasm__

static void event_init(event *e)
{
    atomic_init(&e->value, 0);
    atomic_init(&e->sleepers, 0);
}

static void event_destroy(event *e)
{
    (void)e;
}

static void event_sleep(event *e, uint32_t seen)
{
    __builtin_wasm_memory_atomic_wait32((int *)(uintptr_t)&e->value, (int)seen, -1);
}

static void event_wake(event *e)
{
    __builtin_wasm_memory_atomic_notify((int *)(uintptr_t)&e->value, UINT32_MAX);
}

/* A created thread starts when its creator returns to the event loop, which may never happen: not waited for. */
#define STARTS_FOR_SURE false

#else

static void event_init(event *e)
{
    atomic_init(&e->value, 0);
    atomic_init(&e->sleepers, 0);
    pthread_mutex_init(&e->mutex, NULL);
    pthread_cond_init(&e->changed, NULL);
}

static void event_destroy(event *e)
{
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->mutex);
}

static void event_sleep(event *e, uint32_t seen)
{
    pthread_mutex_lock(&e->mutex);
    while (atomic_load(&e->value) == seen) pthread_cond_wait(&e->changed, &e->mutex);
    pthread_mutex_unlock(&e->mutex);
}

static void event_wake(event *e)
{
    pthread_mutex_lock(&e->mutex);
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->mutex);
}

#define STARTS_FOR_SURE true

#endif

/* The sleeper counts itself before it looks at the value a last time, the waker changes the value before it looks at
 * the count: one of them sees the other. */
static void event_set(event *e, uint32_t value)
{
    atomic_store(&e->value, value);
    if (atomic_load(&e->sleepers)) event_wake(e);
}

static int64_t nanoseconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* True when the value is no longer `seen`. The rounds bound the time where the clock is coarse. */
static bool event_spin(event *e, uint32_t seen)
{
    int64_t end = 0;

    for (int32_t i = 0; i < SPIN_ROUNDS; i++) {
        if (atomic_load_explicit(&e->value, memory_order_acquire) != seen) return true;
        if (i % ROUNDS_PER_LOOK == ROUNDS_PER_LOOK - 1) {
            int64_t now = nanoseconds();
            if (end && now >= end) return false;
            if (!end) end = now + SPIN_NANOSECONDS;
        }
    }
    return false;
}

static void event_wait(event *e, uint32_t seen, bool spin)
{
    if (spin && event_spin(e, seen)) return;
    atomic_fetch_add(&e->sleepers, 1);
    while (atomic_load(&e->value) == seen) event_sleep(e, seen);
    atomic_fetch_sub(&e->sleepers, 1);
}

/* A claim takes half of a fair share of what is left: long runs of memory first, short ones for an even end. */
static uint32_t share_of(const qw_pool *p, uint32_t left)
{
    uint32_t share = left / (2 * (uint32_t)p->n_threads),
             least = (uint32_t)atomic_load_explicit(&p->chunk, memory_order_relaxed);

    if (share < least) share = least;
    return share < left ? share : left;
}

/* Works until nothing of the current region is left to claim. */
static void work(qw_pool *p, int32_t thread)
{
    uint64_t old = atomic_load(&p->claims);
    uint32_t done = 0, region = 0;

    while ((uint32_t)old) {
        uint32_t left = (uint32_t)old, share = share_of(p, left);
        if (!atomic_compare_exchange_weak(&p->claims, &old, old - share)) continue;
        region = (uint32_t)(old >> 32);
        int32_t first = p->n - (int32_t)left;
        p->fn(p->arg, first, first + (int32_t)share, thread);
        done += share;
        old = atomic_load(&p->claims);
        /* Items of one region are reported together; the next region cannot begin before that. */
    }
    if (done && atomic_fetch_sub(&p->left, done) == done) event_set(&p->ended, region);
}

static void *worker_main(void *arg)
{
    worker *w = arg;
    qw_pool *p = w->pool;
    int32_t made = WORKER_MADE;
    uint32_t seen;

    if (!atomic_compare_exchange_strong(&w->state, &made, WORKER_UP)) {
        qw_free(w);
        return NULL;
    }
    for (;;) {
        seen = atomic_load(&p->begun.value);
        if (atomic_load(&p->quit)) return NULL;
        work(p, w->index);
        event_wait(&p->begun, seen, p->spin);
    }
}

/* False where the platform gives no more threads. */
static bool start(qw_pool *p, int32_t index)
{
    worker *w = qw_calloc(1, sizeof *w);

    if (!w) return false;
    w->pool = p;
    w->index = index;
    atomic_init(&w->state, WORKER_MADE);
    if (pthread_create(&w->thread, NULL, worker_main, w)) {
        qw_free(w);
        return false;
    }
    p->workers[index] = w;
    return true;
}

qw_status qw_pool_new(qw_pool **out, int32_t n_threads, qw_error *err)
{
    qw_pool *p;

    *out = NULL;
    if (n_threads < 1 || n_threads > QW_POOL_MAX)
        return qw_fail(err, QW_ERR_USAGE, "%d threads asked for, 1 to %d are possible", n_threads, QW_POOL_MAX);
    p = qw_alloc_aligned(1, sizeof *p);
    if (!p) return qw_fail_memory(err, "the thread pool", sizeof *p);
    *p = (qw_pool){.n_threads = 1, .spin = n_threads <= sysconf(_SC_NPROCESSORS_ONLN)};
    event_init(&p->begun);
    event_init(&p->ended);
    while (p->n_threads < n_threads && start(p, p->n_threads)) p->n_threads++;
    if (p->n_threads < n_threads) {
        int32_t made = p->n_threads;
        qw_pool_free(p);
        return qw_fail(err, QW_ERR_MEMORY, "%d threads asked for, the system gives %d: ask for fewer", n_threads, made);
    }
    *out = p;
    return QW_OK;
}

void qw_pool_free(qw_pool *pool)
{
    if (!pool) return;
    atomic_store(&pool->quit, true);
    event_set(&pool->begun, atomic_load(&pool->begun.value) + 1);
    for (int32_t i = 1; i < pool->n_threads; i++) {
        worker *w = pool->workers[i];
        if (STARTS_FOR_SURE || atomic_exchange(&w->state, WORKER_LEFT) == WORKER_UP) {
            pthread_join(w->thread, NULL);
            qw_free(w);
        } else {
            pthread_detach(w->thread);
        }
    }
    event_destroy(&pool->begun);
    event_destroy(&pool->ended);
    qw_free(pool);
}

void qw_pool_run(qw_pool *pool, int32_t n, int32_t chunk, qw_pool_fn *fn, void *arg)
{
    uint32_t region;

    if (n <= 0) return;
    if (n <= chunk || pool->n_threads == 1) {
        fn(arg, 0, n, 0);
        return;
    }
    region = atomic_load(&pool->begun.value) + 1;
    pool->fn = fn;
    pool->arg = arg;
    pool->n = n;
    atomic_store_explicit(&pool->chunk, chunk, memory_order_relaxed);
    atomic_store(&pool->left, (uint32_t)n);
    atomic_store(&pool->claims, (uint64_t)region << 32 | (uint32_t)n);
    event_set(&pool->begun, region);
    work(pool, 0);
    if (atomic_load(&pool->ended.value) != region) event_wait(&pool->ended, region - 1, pool->spin);
}

#endif

int32_t qw_pool_threads(const qw_pool *pool)
{
    return pool->n_threads;
}
