/* SPDX-License-Identifier: MIT
 * The small operations between the products, in float32. Vector sums run in 4 fixed lanes (element i in lane i mod 4),
 * added as (0 + 1) + (2 + 3). Each function splits its n rows over the pool where that pays. */
#ifndef QW_OPS_H
#define QW_OPS_H

#include "base/pool.h"

#include <stdint.h>

/* y[r] = x[r] / sqrt(mean(x[r]^2) + eps) * w for n rows of dim values. y may be x. */
void qw_rmsnorm(qw_pool *pool, float *y, const float *x, const float *w, float eps, int32_t n, int32_t dim);

/* Rotates pairs (j, j + head_dim / 2) of each head by the row's angles. x [n][n_heads][head_dim];
 * cos_sin [n][head_dim / 2][2]. */
void qw_rope(qw_pool *pool, float *x, const float *cos_sin, int32_t n, int32_t n_heads, int32_t head_dim);

/* cos_sin [n][half][2] for n positions: angle = float32(position * inv_freq), cosine and sine of it in double, times
 * scale. */
void qw_rope_angles(float *cos_sin, const int32_t *pos, int32_t n, const float *inv_freq, int32_t half, float scale);

/* gate = silu(gate) * up, silu(x) = x / (1 + exp(-x)). [n][dim] */
void qw_silu_mul(qw_pool *pool, float *gate, const float *up, int32_t n, int32_t dim);

/* x += y, count values. */
void qw_add(qw_pool *pool, float *x, const float *y, int32_t n, int32_t dim);

#endif
