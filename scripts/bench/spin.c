/* How long the pool's threads spin when there is nothing to do: CPU time of this process (Node) for each gap between two
 * parallel regions, microseconds per gap. Gaps are many times longer than a thread may spin. usage: spin THREADS */
#include "pool.h"

#include <emscripten.h>
#include <stdio.h>
#include <stdlib.h>

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

static double per_gap(qw_pool *pool)
{
    double start;

    rest(50);
    start = cpu_time();
    for (int i = 0; i < GAPS; i++) {
        qw_pool_run(pool, 64, 1, nothing, NULL);
        rest(2);
    }
    return (cpu_time() - start) / GAPS;
}

/* Threads come up once main has returned to the event loop. */
static void measure(void *pool)
{
    printf("{\"threads\":%d,\"us\":%.1f}\n", qw_pool_threads(pool), per_gap(pool));
    emscripten_force_exit(0);
}

int main(int argc, char **argv)
{
    qw_pool *pool;
    qw_error err;

    if (qw_pool_new(&pool, argc > 1 ? atoi(argv[1]) : 1, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    emscripten_async_call(measure, pool, 100);
    emscripten_exit_with_live_runtime();
}
