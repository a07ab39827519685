/* SPDX-License-Identifier: MIT
 * y = x W^T + b for n rows of activations: quantise the activations once per input, then panels of W over the pool. One
 * token and a tile of tokens run the same arithmetic, so results are equal bit for bit for any n, thread count and
 * build.
 *
 * Integer layouts, for each row of W, from acc = 0 over blocks of 32 columns in ascending order:
 *     isum = sum of (code - offset) * q, exact;   acc = acc + (float)isum * (scale * xscale)
 *     with a minimum then also                    acc = acc + minimum * (xscale * (float)sum of q)
 * where scale = d * subscale and minimum = dmin * submin are exact. Layouts with a scale per 16 columns (K6, K4, K2M):
 *     isum = s0 * (sum of the first 16) + s1 * (sum of the last 16), exact below 2^24
 *                                                 acc = acc + (float)isum * (d * xscale)
 *     and with minima                             acc = acc + (float)(m0 * sum0 + m1 * sum1) * (dmin * xscale)
 * Float layouts: acc[j mod 4] = acc[j mod 4] + w[j] * x[j], then (acc[0] + acc[1]) + (acc[2] + acc[3]).
 * A bias is added last. */
#ifndef QW_MATMUL_H
#define QW_MATMUL_H

#include "kernels/panel.h"
#include "base/pool.h"

#include <stdbool.h>

/* The kernels for integer layouts, equal bit for bit. Builds with relaxed SIMD have DOT16 and DOT32, others BASE:
 * DOT16 sums in int16 and is fast everywhere, DOT32 where the CPU has AVX-VNNI or sdot. Codes of 8 bits run in DOT32
 * where a trial shows that the machine's dot takes them, in BASE elsewhere. */
typedef enum qw_kernel { QW_KERNEL_BASE, QW_KERNEL_DOT16, QW_KERNEL_DOT32 } qw_kernel;

/* 32 activations of a token, and what they have in common: a cache line. */
typedef struct qw_act {
    int8_t q[32];
    float scale;
    float scaled_sum;        /* scale * sum */
    int32_t sum;             /* of q */
    int32_t minus8, minus16; /* -8 and -16 times the sum: what unsigned codes of 4 and 5 bits are off by */
    int32_t minus32[2];      /* -32 times the sums of the halves of 16: the same for 6 bits */
    int32_t minus128;        /* -128 times the sum where qw_activations.flip is set, else 0 */
} qw_act;

enum { QW_ACT_GROUP = 4 };

/* Activations of n rows, prepared for every layout that will meet them. Storage is planned once for a number of rows
 * and columns; all arrays are views of one block. Four rows go side by side: block b of all four, then block b + 1; a
 * single row has no neighbours. Per 32 columns: scale = amax / 127, q = nearest even of x * (127 / amax); a block with
 * a value that is not finite gets a NaN scale, so that the fault reaches the logits; one whose amax is below 2^-120
 * (127 / amax would be infinite, or nearly) counts as zeros. */
typedef struct qw_activations {
    int32_t n, cols, blocks; /* blocks = ceil(cols / 32), padded up to a multiple of 8 with zeros */
    int32_t group;           /* rows side by side: 1 or QW_ACT_GROUP */
    const float *x;          /* [n][cols], borrowed: float layouts read it */
    qw_act *act;             /* [ceil(n / group)][blocks][group] */
    uint8_t *wide;           /* for BASE the same as int16, 64 bytes each: of 4 columns 0, 2, 1, 3 */
    void *storage;
    int32_t max_rows, max_cols;
    qw_kernel kernel, signed_kernel; /* of unsigned codes, of those of 8 bits */
    int8_t flip;                     /* what makes these fit qw_i32x4_relaxed_dot_add by xor: 0 or -128 */
} qw_activations;

enum { QW_ACT_WIDE = 64 };

/* Where block `block` of a token stands in act, and 64 times that far in wide. */
static inline size_t qw_act_index(const qw_activations *a, int32_t token, int32_t block)
{
    return ((size_t)(token / a->group) * (size_t)a->blocks + (size_t)block) * (size_t)a->group +
           (size_t)(token % a->group);
}

/* Bytes that acts of that size take; init allocates them (errors: memory) and chooses the kernel that is safe to be
 * fast. */
size_t qw_activations_bytes(int32_t max_rows, int32_t max_cols);
qw_status qw_activations_init(qw_activations *a, int32_t max_rows, int32_t max_cols, qw_error *err);
void qw_activations_free(qw_activations *a);

/* Another kernel, before qw_activations_set; false where the build does not have it. */
bool qw_activations_use(qw_activations *a, qw_kernel kernel);

/* The kernel that is fastest on this machine, found by running all that the build has for about 10 ms together. For
 * qw_activations_use, once per engine. seconds_per_product: of that kernel, comparable between builds; NULL: not wanted, and a
 * build with one kernel runs nothing. Errors: memory. */
qw_status qw_kernel_fastest(qw_kernel *fastest, double *seconds_per_product, qw_error *err);

/* Prepares x [n][cols]; x must stay until the products are done. integer: some layout that will meet it is an integer
 * one. */
void qw_activations_set(qw_activations *a, qw_pool *pool, const float *x, int32_t n, int32_t cols, bool integer);

/* One product of a group that shares its input: y [n][w->rows], bias [w->rows] or NULL. */
typedef struct qw_product {
    float *y;
    const qw_mat *w;
    const float *bias;
} qw_product;

/* All products in one parallel region. No memory beyond about 24 KB of each thread's stack. */
void qw_matmul(qw_pool *pool, const qw_activations *a, const qw_product *products, int32_t n_products);

/* The specification: the same result from plain scalar loops, one thread. For tests and the self-test. */
void qw_matmul_scalar(const qw_activations *a, const qw_product *product);

bool qw_layout_is_integer(qw_layout layout);

#endif
