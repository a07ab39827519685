/* How long the pool's second thread spins when there is nothing to do: CPU time of this process (Node) for each gap
 * between two parallel regions, less that of a thread which is woken as often and never spins. Microseconds per gap;
 * gaps are many times longer than a thread may spin. */
#include "base/pool.h"

#include <emscripten.h>
#include <emscripten/atomic.h>
#include <pthread.h>
#include <stdio.h>

enum { GAPS = 500 };

/* Of all threads, in microseconds. */
EM_JS(double, cpu_time, (void), {
    const usage = process.cpuUsage();
    return usage.user + usage.system;
});
EM_JS(void, rest, (double ms), { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms); });

static void nothing(void *arg, int32_t first, int32_t last, int32_t thread)
{
    (void)arg;
    (void)first;
    (void)last;
    (void)thread;
}

static uint32_t word;

static void *sleeper(void *arg)
{
    (void)arg;
    for (uint32_t seen = 0;; seen = __atomic_load_n(&word, __ATOMIC_SEQ_CST))
        emscripten_atomic_wait_u32(&word, seen, -1);
    return NULL;
}

static void wake(void *arg)
{
    (void)arg;
    __atomic_add_fetch(&word, 1, __ATOMIC_SEQ_CST);
    emscripten_atomic_notify(&word, 1);
}

static void run_region(void *pool)
{
    qw_pool_run(pool, 64, 1, nothing, NULL);
}

static double per_gap(void (*act)(void *), void *arg)
{
    double start;

    rest(50);
    start = cpu_time();
    for (int i = 0; i < GAPS; i++) {
        act(arg);
        rest(2);
    }
    return (cpu_time() - start) / GAPS;
}

/* Threads come up once main has returned to the event loop. */
static void measure(void *pool)
{
    double regions = per_gap(run_region, pool), wakes = per_gap(wake, NULL);

    printf("{\"us\":%.1f,\"wakes\":%.1f}\n", regions - wakes, wakes);
    emscripten_force_exit(0);
}

int main(void)
{
    qw_pool *pool;
    qw_error err;
    pthread_t thread;

    if (qw_pool_new(&pool, 2, &err) || pthread_create(&thread, NULL, sleeper, NULL)) {
        fprintf(stderr, "no threads\n");
        return 1;
    }
    emscripten_async_call(measure, pool, 100);
    emscripten_exit_with_live_runtime();
}
