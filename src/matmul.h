/* SPDX-License-Identifier: MIT
 * y = x W^T + b for n rows of activations: quantise the activations once per input, then panels of W over the pool. One
 * token and a tile of tokens run the same arithmetic: for each row of W, float32 sums over blocks of 32 columns in
 * ascending order (integer layouts: exact int32 within a block), so results are equal bit for bit for any n, thread
 * count and build. */
#ifndef QW_MATMUL_H
#define QW_MATMUL_H

#include "panel.h"
#include "pool.h"

#include <stdbool.h>

/* Activations of n rows, prepared for every layout that will meet them. Storage is planned once for a number of rows and
 * columns; all arrays are views of one block. Per 32 columns: scale = amax / 127, q = nearest even of x * (127 / amax);
 * a block with a value that is not finite gets a NaN scale, so that the fault reaches the logits. */
typedef struct qw_acts {
    int32_t n, cols, blocks; /* blocks = ceil(cols / 32), padded up to a multiple of 8 when cols > 0 */
    const float *x;          /* [n][cols], borrowed: float layouts read it */
    void *q;                 /* the int8 values in the form the build's kernels want */
    float *scale;            /* [n][blocks] */
    int32_t *sum;            /* [n][blocks][2]: sums of q over each half block of 16 */
    void *storage;
    int32_t max_rows, max_cols;
} qw_acts;

/* Bytes that acts of that size take; init allocates them (errors: memory). */
size_t qw_acts_bytes(int32_t max_rows, int32_t max_cols);
qw_status qw_acts_init(qw_acts *a, int32_t max_rows, int32_t max_cols, qw_error *err);
void qw_acts_free(qw_acts *a);

/* Prepares x [n][cols]; x must stay until the products are done. integer: some layout that will meet it is an integer one. */
void qw_acts_set(qw_acts *a, qw_pool *pool, const float *x, int32_t n, int32_t cols, bool integer);

/* One product of a group that shares its input: y [n][w->rows], bias [w->rows] or NULL. */
typedef struct qw_product {
    float *y;
    const qw_mat *w;
    const float *bias;
} qw_product;

/* All products in one parallel region. scratch of the pool's threads is inside `a`. */
void qw_matmul(qw_pool *pool, const qw_acts *a, const qw_product *products, int32_t n_products);

/* The specification: the same result from plain scalar loops, one thread. For tests and the self-test. */
void qw_matmul_scalar(const qw_acts *a, const qw_product *product);

bool qw_layout_is_integer(qw_layout layout);

#endif
