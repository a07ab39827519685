/* SPDX-License-Identifier: MIT
 * Rows are independent, so they are what the pool splits; a single row is too little work to be shared, except
 * SwiGLU's. */
#include "kernels/ops.h"

#include "base/exact_math.h"
#include "base/float_exp.h"

#include <math.h>
#include <stddef.h>

enum { ROWS_PER_CLAIM = 4, VALUES_PER_CLAIM = 1024 };

typedef struct job {
    float *y;
    const float *x, *w;
    float eps;
    int32_t n, dim, n_heads;
} job;

/* The sum of squares in 4 lanes: element i in lane i mod 4. */
static float sum_of_squares(const float *x, int32_t n)
{
    qw_v128 acc = qw_zero();
    float lanes[4];
    int32_t i = 0;

    for (; i + 4 <= n; i += 4) {
        qw_v128 v = qw_load(x + i);
        acc = qw_f32x4_add(acc, qw_f32x4_mul(v, v));
    }
    qw_store(lanes, acc);
    for (; i < n; i++) lanes[i % 4] += x[i] * x[i];
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}

static void rmsnorm_rows(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const job *j = arg;

    (void)thread;
    for (int32_t r = first; r < last; r++) {
        const float *x = j->x + (size_t)r * (size_t)j->dim;
        float *y = j->y + (size_t)r * (size_t)j->dim;
        float scale = 1.0f / sqrtf(sum_of_squares(x, j->dim) / (float)j->dim + j->eps);
        qw_v128 s = qw_f32x4_splat(scale);
        int32_t i = 0;
        for (; i + 4 <= j->dim; i += 4)
            qw_store(y + i, qw_f32x4_mul(qw_f32x4_mul(qw_load(x + i), s), qw_load(j->w + i)));
        for (; i < j->dim; i++) y[i] = x[i] * scale * j->w[i];
    }
}

void qw_rmsnorm(qw_pool *pool, float *y, const float *x, const float *w, float eps, int32_t n, int32_t dim)
{
    job j = {.y = y, .x = x, .w = w, .eps = eps, .dim = dim};

    qw_pool_run(pool, n, ROWS_PER_CLAIM, rmsnorm_rows, &j);
}

/* One head: (a, b) becomes (a cos - b sin, b cos + a sin). */
static void rotate(float *x, const float *cos_sin, int32_t half)
{
    int32_t i = 0;

    for (; i + 4 <= half; i += 4) {
        qw_v128 p = qw_load(cos_sin + 2 * i), q = qw_load(cos_sin + 2 * i + 4);
        qw_v128 c = qw_i32x4_even(p, q), s = qw_i32x4_odd(p, q), a = qw_load(x + i), b = qw_load(x + half + i);
        qw_store(x + i, qw_f32x4_sub(qw_f32x4_mul(a, c), qw_f32x4_mul(b, s)));
        qw_store(x + half + i, qw_f32x4_add(qw_f32x4_mul(b, c), qw_f32x4_mul(a, s)));
    }
    for (; i < half; i++) {
        float a = x[i], b = x[half + i], c = cos_sin[2 * i], s = cos_sin[2 * i + 1];
        x[i] = a * c - b * s;
        x[half + i] = b * c + a * s;
    }
}

static void rope_rows(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const job *j = arg;

    (void)thread;
    for (int32_t r = first; r < last; r++)
        for (int32_t h = 0; h < j->n_heads; h++)
            rotate(j->y + ((size_t)r * (size_t)j->n_heads + (size_t)h) * (size_t)j->dim,
                   j->x + (size_t)r * (size_t)j->dim, j->dim / 2);
}

void qw_rope(qw_pool *pool, float *x, const float *cos_sin, int32_t n, int32_t n_heads, int32_t head_dim)
{
    job j = {.y = x, .x = cos_sin, .dim = head_dim, .n_heads = n_heads};

    qw_pool_run(pool, n, ROWS_PER_CLAIM, rope_rows, &j);
}

void qw_rope_angles(float *cos_sin, const int32_t *pos, int32_t n, const float *inv_freq, int32_t half, float scale)
{
    for (int32_t r = 0; r < n; r++)
        for (int32_t i = 0; i < half; i++, cos_sin += 2) {
            double angle = (double)((float)pos[r] * inv_freq[i]);
            cos_sin[0] = (float)qw_cos(angle) * scale;
            cos_sin[1] = (float)qw_sin(angle) * scale;
        }
}

QW_SIMD_INLINE qw_v128 silu_mul(qw_v128 x, qw_v128 up, const qw_exp_constants *k)
{
    return qw_f32x4_mul(qw_f32x4_div(x, qw_f32x4_add(k->one, qw_f32x4_exp(qw_f32x4_neg(x), k))), up);
}

static void silu_mul_range(float *gate, const float *up, int64_t n)
{
    qw_exp_constants k = qw_exp_full();
    int64_t i = 0;

    QW_NO_UNROLL
    for (; i + 4 <= n; i += 4) qw_store(gate + i, silu_mul(qw_load(gate + i), qw_load(up + i), &k));
    for (; i < n; i++) gate[i] = qw_f32x4_lane(silu_mul(qw_f32x4_splat(gate[i]), qw_f32x4_splat(up[i]), &k), 0);
}

/* Items are pieces of the whole array, row ends or not. */
static void silu_mul_items(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const job *j = arg;
    int64_t from = (int64_t)first * VALUES_PER_CLAIM, to = (int64_t)last * VALUES_PER_CLAIM;
    int64_t total = (int64_t)j->n * j->dim;

    (void)thread;
    if (to > total) to = total;
    silu_mul_range(j->y + from, j->x + from, to - from);
}

void qw_silu_mul(qw_pool *pool, float *gate, const float *up, int32_t n, int32_t dim)
{
    job j = {.y = gate, .x = up, .n = n, .dim = dim};

    qw_pool_run(pool, (int32_t)(((int64_t)n * dim + VALUES_PER_CLAIM - 1) / VALUES_PER_CLAIM), 1, silu_mul_items, &j);
}

static void add_rows(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const job *j = arg;
    int64_t i = (int64_t)first * j->dim, n = (int64_t)last * j->dim;

    (void)thread;
    for (; i + 4 <= n; i += 4) qw_store(j->y + i, qw_f32x4_add(qw_load(j->y + i), qw_load(j->x + i)));
    for (; i < n; i++) j->y[i] += j->x[i];
}

void qw_add(qw_pool *pool, float *x, const float *y, int32_t n, int32_t dim)
{
    job j = {.y = x, .x = y, .dim = dim};

    qw_pool_run(pool, n, ROWS_PER_CLAIM, add_rows, &j);
}
