/* SPDX-License-Identifier: MIT
 * Which kernel is fastest depends on the CPU (AVX-VNNI and sdot make DOT32 so) and on what the WebAssembly engine
 * makes of them, neither of which can be asked for: a trial on a small tile of tokens decides. Results do not depend
 * on it. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */

#include "kernels/kernel_choice.h"

#include "kernels/matmul.h"
#include "base/alloc.h"
#include "base/simd.h"

#include <time.h>

#if QW_RELAXED
enum { FIRST = QW_KERNEL_DOT16, KERNELS = 2 };
#else
enum { FIRST = QW_KERNEL_BASE, KERNELS = 1 };
#endif
enum { ROWS = 64, COLS = 512, TOKENS = 4, ROUNDS = 12 };
#define ROUND_SECONDS 0.0004

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds per product; a round lasts long enough for a clock of 0.1 ms, and ends after so many products with any
 * clock. */
static double time_round(qw_pool *pool, const qw_activations *a, const qw_product *product)
{
    double start = seconds(), now = start;
    int32_t n = 0;

    while (now - start < ROUND_SECONDS && n < 1000) {
        for (int32_t i = 0; i < 4; i++) qw_matmul(pool, a, product, 1);
        n += 4;
        now = seconds();
    }
    return (now - start) / n;
}

/* Rounds alternate, so that a change of the CPU's clock rate or other work hits all kernels; the best round of each
 * counts. The first few run code that the engine has yet to optimise. Returns its seconds per product. */
static double fastest_of(qw_kernel *fastest, qw_pool *pool, qw_activations *a, const float *x,
                         const qw_product *product)
{
    double best = 1e9;

    for (int32_t round = 0; round < KERNELS * ROUNDS; round++) {
        qw_kernel kernel = FIRST + (qw_kernel)(round % KERNELS);
        double t;
        qw_activations_use(a, kernel);
        qw_activations_set(a, pool, x, TOKENS, COLS, true);
        t = time_round(pool, a, product);
        if (t >= best) continue;
        best = t;
        *fastest = kernel;
    }
    return best;
}

static qw_status run_trial(qw_kernel *fastest, double *seconds_per_product, qw_error *err)
{
    /* 5 bits: no kernel is at its best there, and it is what mixed 4-bit files hold most. */
    size_t bytes = qw_mat_bytes(QW_LAYOUT_U5, ROWS, COLS);
    float *x = qw_calloc(TOKENS * (COLS + ROWS), sizeof *x);
    qw_mat w = {QW_LAYOUT_U5, ROWS, COLS, qw_calloc(1, bytes)};
    qw_status status = x && w.data ? QW_OK : qw_fail_memory(err, "the trial of kernels", (double)bytes);
    qw_pool *pool = NULL;
    qw_activations a = {0};

    if (status == QW_OK) status = qw_activations_init(&a, TOKENS, COLS, err);
    if (status == QW_OK) status = qw_pool_new(&pool, 1, err);
    if (status == QW_OK) {
        qw_product product = {x + TOKENS * COLS, &w, NULL};
        *seconds_per_product = fastest_of(fastest, pool, &a, x, &product);
    }
    qw_pool_free(pool);
    qw_activations_free(&a);
    qw_free(w.data);
    qw_free(x);
    return status;
}

qw_status qw_kernel_fastest(qw_kernel *fastest, double *seconds_per_product, qw_error *err)
{
    double seconds;

    *fastest = (qw_kernel)FIRST;
    if (KERNELS == 1 && !seconds_per_product) return QW_OK;
    return run_trial(fastest, seconds_per_product ? seconds_per_product : &seconds, err);
}
