/* SPDX-License-Identifier: MIT
 * Activations as the kernels of integer layouts read them: int8 with a scale per 32, quantised once for all products
 * that share an input. And which kernel that will be. */
#ifndef QW_ACTIVATIONS_H
#define QW_ACTIVATIONS_H

#include "kernels/layout.h"
#include "base/assert.h"
#include "base/pool.h"

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
    QW_ASSERT(token >= 0 && token < a->n && block >= 0 && block < a->blocks);
    return ((size_t)(token / a->group) * (size_t)a->blocks + (size_t)block) * (size_t)a->group +
           (size_t)(token % a->group);
}

/* The kernel that products with a matrix of an integer layout take. */
static inline qw_kernel qw_activations_kernel(const qw_activations *a, qw_layout layout)
{
    return qw_layout_traits_of(layout).is_signed ? a->signed_kernel : a->kernel;
}

/* Bytes that acts of that size take; init allocates them (errors: memory) and chooses the kernel that is safe to be
 * fast. */
size_t qw_activations_bytes(int32_t max_rows, int32_t max_cols);
qw_status qw_activations_init(qw_activations *a, int32_t max_rows, int32_t max_cols, qw_error *err);
void qw_activations_free(qw_activations *a);

/* Another kernel, before qw_activations_set; false where the build does not have it. */
bool qw_activations_use(qw_activations *a, qw_kernel kernel);

/* Prepares x [n][cols]; x must stay until the products are done. integer: some layout that will meet it is an integer
 * one. */
void qw_activations_set(qw_activations *a, qw_pool *pool, const float *x, int32_t n, int32_t cols, bool integer);

#endif
