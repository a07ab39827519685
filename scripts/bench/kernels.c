/* Multiply-adds per second of each weight layout's kernels: one token from memory, one from cache, eight rows of a batch
 * from memory, and a tile of tokens. And what a parallel region that does nothing costs. usage: kernels THREADS */
#include "base/alloc.h"
#include "kernels/matmul.h"

#include <emscripten.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = 1024, MANY_ROWS = 131072, FEW_ROWS = 512, BATCH = 8, TOKENS = 64 };

typedef struct bench {
    qw_pool *pool;
    qw_activations acts;
    float *x, *y;
} bench;

static double seconds_of(bench *b, const qw_mat *m, int32_t n, int32_t repeat)
{
    qw_product p = {b->y, m, NULL};
    double best = 1e9;

    qw_activations_set(&b->acts, b->pool, b->x, n, COLS, qw_layout_is_integer(m->layout));
    for (int i = 0; i < 4; i++) {
        double start = emscripten_get_now(), t;
        for (int32_t k = 0; k < repeat; k++) qw_matmul(b->pool, &b->acts, &p, 1);
        t = (emscripten_get_now() - start) / 1e3 / repeat;
        if (t < best) best = t;
    }
    return best;
}

static void nothing(void *arg, int32_t first, int32_t last, int32_t thread)
{
    (void)arg;
    (void)first;
    (void)last;
    (void)thread;
}

static double region_us(bench *b)
{
    int32_t threads = qw_pool_threads(b->pool);
    double start;

    for (int i = 0; i < 1000; i++) qw_pool_run(b->pool, threads, 1, nothing, NULL);
    start = emscripten_get_now();
    for (int i = 0; i < 20000; i++) qw_pool_run(b->pool, threads, 1, nothing, NULL);
    return (emscripten_get_now() - start) / 20;
}

static void measure(bench *b, qw_layout layout, const char *kernel)
{
    size_t bytes = qw_mat_bytes(layout, MANY_ROWS, COLS);
    qw_mat many = {layout, MANY_ROWS, COLS, qw_alloc_aligned(1, bytes)}, few = {layout, FEW_ROWS, COLS, many.data};
    double macs = (double)MANY_ROWS * COLS, memory, cache, batch, tile;

    memset(many.data, 0x11, bytes);
    memory = seconds_of(b, &many, 1, 1);
    cache = seconds_of(b, &few, 1, 400);
    batch = seconds_of(b, &many, BATCH, 1);
    tile = seconds_of(b, &few, TOKENS, 20);
    printf("{\"layout\":\"%s\",\"kernel\":\"%s\",\"threads\":%d,\"memory\":%.1f,\"gb\":%.1f,\"cache\":%.1f,\"batch8\":%"
           ".1f,\"tile\":%.1f}\n",
           qw_layout_name(layout), kernel, qw_pool_threads(b->pool), macs / memory / 1e9, (double)bytes / memory / 1e9,
           (double)FEW_ROWS * COLS / cache / 1e9, macs * BATCH / batch / 1e9,
           (double)FEW_ROWS * COLS * TOKENS / tile / 1e9);
    qw_free(many.data);
}

static bench made;

/* Threads come up once main has returned to the event loop, so the measuring waits for a later turn. */
static void measure_all(void *arg)
{
    static const char *const names[] = {"base", "dot16", "dot32"};
    bench *b = arg;

    printf("{\"threads\":%d,\"region_us\":%.2f}\n", qw_pool_threads(b->pool), region_us(b));
    for (int kernel = 0; kernel <= QW_KERNEL_DOT32; kernel++)
        for (int layout = QW_LAYOUT_I8; layout < QW_LAYOUT_COUNT; layout++) {
            if (!qw_activations_use(&b->acts, (qw_kernel)kernel)) continue;
            measure(b, (qw_layout)layout, names[kernel]);
        }
    emscripten_force_exit(0);
}

int main(int argc, char **argv)
{
    qw_error err;

    if (qw_pool_new(&made.pool, argc > 1 ? atoi(argv[1]) : 1, &err) ||
        qw_activations_init(&made.acts, TOKENS, COLS, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    made.x = qw_calloc(TOKENS * COLS, sizeof(float));
    made.y = qw_calloc((size_t)TOKENS * MANY_ROWS, sizeof(float));
    for (int i = 0; i < TOKENS * COLS; i++) made.x[i] = (float)(i % 255 - 127) / 64.0f;
    emscripten_async_call(measure_all, &made, 100);
    emscripten_exit_with_live_runtime();
}
