/* SPDX-License-Identifier: MIT
 * The pool: every item exactly once, for any number of threads and chunks, over many regions in a row and after
 * sleeps. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "base/alloc.h"
#include "check.h"
#include "base/pool.h"

#include <stdatomic.h>
#include <time.h>

enum { MOST_ITEMS = 5000 };

typedef struct tally {
    _Atomic uint8_t seen[MOST_ITEMS];
    _Atomic int32_t bad_range, calls;
    int32_t n, chunk, threads;
} tally;

static tally t;

static void count(void *arg, int32_t first, int32_t last, int32_t thread)
{
    tally *c = arg;

    if (first < 0 || first >= last || last > c->n || thread < 0 || thread >= c->threads)
        atomic_fetch_add(&c->bad_range, 1);
    else
        for (int32_t i = first; i < last; i++) atomic_fetch_add(&c->seen[i], 1);
    atomic_fetch_add(&c->calls, 1);
}

static int32_t run(qw_pool *pool, int32_t n, int32_t chunk)
{
    int32_t wrong = 0;

    for (int32_t i = 0; i < MOST_ITEMS; i++) atomic_store(&t.seen[i], 0);
    t.n = n, t.chunk = chunk, t.threads = qw_pool_threads(pool);
    qw_pool_run(pool, n, chunk, count, &t);
    for (int32_t i = 0; i < MOST_ITEMS; i++) wrong += atomic_load(&t.seen[i]) != (i < n);
    return wrong + atomic_exchange(&t.bad_range, 0);
}

static void sleep_ms(long ms)
{
    struct timespec time = {0, ms * 1000000};

    nanosleep(&time, NULL);
}

static void test_every_item_runs_once(void)
{
    static const int32_t sizes[] = {0, 1, 2, 3, 5, 64, 1000, MOST_ITEMS}, chunks[] = {1, 2, 3, 7, 100, MOST_ITEMS};

    for (int32_t threads = 1; threads <= 4; threads++) {
        qw_pool *pool = NULL;
        CHECK_EQ(qw_pool_new(&pool, threads, NULL), QW_OK);
        CHECK(qw_pool_threads(pool) == threads || qw_pool_threads(pool) == 1);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) CHECK_EQ(run(pool, sizes[s], chunks[c]), 0);
        qw_pool_free(pool);
    }
}

static void test_regions_follow_each_other_and_sleeping_threads_wake(void)
{
    qw_pool *pool = NULL;
    int32_t wrong = 0;

    CHECK_EQ(qw_pool_new(&pool, 3, NULL), QW_OK);
    for (int32_t i = 0; i < 300; i++) wrong += run(pool, 1 + i % 50, 1 + i % 3);
    for (int32_t i = 0; i < 20; i++) {
        sleep_ms(1);
        wrong += run(pool, 40, 1);
    }
    CHECK_EQ(wrong, 0);
    qw_pool_free(pool);
}

/* What one region writes the next one reads, without atomics of its own: the sanitizer's target. */
static int32_t plain[MOST_ITEMS];

static void add_neighbour(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const int32_t *from = arg;
    int32_t *to = plain + (from == plain ? MOST_ITEMS / 2 : 0);

    (void)thread;
    for (int32_t i = first; i < last; i++) to[i] = from[(i + 1) % (MOST_ITEMS / 2)] + 1;
}

static void test_a_region_sees_what_the_one_before_wrote(void)
{
    qw_pool *pool = NULL;
    int32_t wrong = 0;

    CHECK_EQ(qw_pool_new(&pool, 4, NULL), QW_OK);
    for (int32_t i = 0; i < 200; i++)
        qw_pool_run(pool, MOST_ITEMS / 2, 10, add_neighbour, plain + (i % 2 ? MOST_ITEMS / 2 : 0));
    for (int32_t i = 0; i < MOST_ITEMS / 2; i++) wrong += plain[i] != 200;
    CHECK_EQ(wrong, 0);
    qw_pool_free(pool);
}

/* Items long enough for everyone to get one, until everyone has had one; each finds its own index. */
static _Atomic int32_t taken[QW_POOL_MAX];

static void take_slowly(void *arg, int32_t first, int32_t last, int32_t thread)
{
    (void)arg, (void)first, (void)last;
    atomic_fetch_add(&taken[thread], 1);
    sleep_ms(1);
}

static void test_all_threads_take_part_once_they_are_up(void)
{
    qw_pool *pool = NULL;
    int32_t up = 0, rounds = 0;

    CHECK_EQ(qw_pool_new(&pool, 3, NULL), QW_OK);
    for (; up < qw_pool_threads(pool) && rounds < 1000; rounds++) {
        qw_pool_run(pool, 6, 1, take_slowly, NULL);
        up = 0;
        for (int32_t i = 0; i < qw_pool_threads(pool); i++) up += atomic_load(&taken[i]) > 0;
    }
    CHECK_EQ(up, qw_pool_threads(pool));
    for (int32_t i = qw_pool_threads(pool); i < QW_POOL_MAX; i++) CHECK_EQ(atomic_load(&taken[i]), 0);
    CHECK_EQ(run(pool, 1000, 3), 0);
    qw_pool_free(pool);
}

static void test_pools_end_at_any_moment(void)
{
    for (int32_t i = 0; i < 50; i++) {
        qw_pool *pool = NULL;
        CHECK_EQ(qw_pool_new(&pool, 2 + i % 3, NULL), QW_OK);
        if (i % 2) CHECK_EQ(run(pool, 10, 1), 0);
        if (i % 5 == 0) sleep_ms(1);
        qw_pool_free(pool);
    }
    qw_pool_free(NULL);
}

static void test_wrong_numbers_of_threads_are_refused_by_name(void)
{
    static const int32_t wrong[] = {0, -1, QW_POOL_MAX + 1, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        qw_pool *pool = NULL;
        qw_error err;
        CHECK_EQ(qw_pool_new(&pool, wrong[i], &err), QW_ERR_USAGE);
        CHECK(pool == NULL);
        CHECK_HAS(err.text, "64");
    }
}

/* A thread that has not come up yet when its pool ends, as happens in wasm, frees what it holds when it does. */
#ifdef __wasm__
enum { LATE = 2 };
#else
enum { LATE = 0 };
#endif

static void test_a_refused_allocation_is_a_memory_error(void)
{
#ifdef QW_TEST_ALLOC
    for (int64_t n = 0; n < 3; n++) {
        qw_pool *pool = NULL;
        qw_error err;
        int64_t live = qw_alloc_test_live();
        qw_alloc_test_fail(n);
        qw_status status = qw_pool_new(&pool, 3, &err);
        qw_alloc_test_fail(-1);
        /* Without threads there is one allocation only. */
        CHECK(status == QW_ERR_MEMORY || (n > 0 && pool && qw_pool_threads(pool) == 1));
        qw_pool_free(pool);
        CHECK(qw_alloc_test_live() - live <= LATE);
        CHECK(qw_alloc_test_live() >= live);
    }
#endif
}

/* An empty region costs microseconds at most; the bound is loose because test machines are busy. */
static void nothing(void *arg, int32_t first, int32_t last, int32_t thread)
{
    (void)arg, (void)first, (void)last, (void)thread;
}

static void test_an_empty_region_is_cheap(void)
{
    enum { ROUNDS = 2000 };
    qw_pool *pool = NULL;
    struct timespec from, to;
    double microseconds;

    CHECK_EQ(qw_pool_new(&pool, 2, NULL), QW_OK);
    timespec_get(&from, TIME_UTC);
    for (int i = 0; i < ROUNDS; i++) qw_pool_run(pool, 2, 1, nothing, NULL);
    timespec_get(&to, TIME_UTC);
    microseconds =
        ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) * 1e-3) / (double)ROUNDS;
    printf("an empty region: %.2f us\n", microseconds);
    CHECK_NEAR(microseconds, 0, 300);
    qw_pool_free(pool);
}

int main(void)
{
    test_a_refused_allocation_is_a_memory_error();
    test_every_item_runs_once();
    test_regions_follow_each_other_and_sleeping_threads_wake();
    test_a_region_sees_what_the_one_before_wrote();
    test_all_threads_take_part_once_they_are_up();
    test_pools_end_at_any_moment();
    test_wrong_numbers_of_threads_are_refused_by_name();
    test_an_empty_region_is_cheap();
    return check_done();
}
