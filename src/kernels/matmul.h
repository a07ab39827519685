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

#include "kernels/activations.h"
#include "kernels/panel.h"

/* One product of a group that shares its input: y [n][w->rows], bias [w->rows] or NULL. */
typedef struct qw_product {
    float *y;
    const qw_mat *w;
    const float *bias;
} qw_product;

/* All products in one parallel region. No memory beyond about 24 KB of each thread's stack. */
void qw_matmul(qw_pool *pool, const qw_activations *a, const qw_product *products, int32_t n_products);

#endif
