/* SPDX-License-Identifier: MIT
 * What the kernels of kernel_token.h, kernel_tile.h and kernel_float.h have in common: one panel of four rows against
 * one token, read as it is kept, or two panels against a tile of tokens. */
#ifndef QW_KERNEL_H
#define QW_KERNEL_H

#include "kernels/activations.h"

enum { QW_TILE_PANELS = 2, QW_TILE_ROWS = QW_TILE_PANELS * QW_PANEL_ROWS };

/* out[4] = the panel's rows times one token. */
typedef void qw_kernel_one(float *out, const uint8_t *panel, const qw_activations *a, int32_t token);

/* Consecutive tokens and their sums: acc[t * stride + r], 8 rows, belongs to token `token + t`. */
typedef struct qw_tile_tokens {
    float *acc;
    size_t stride;
    const qw_activations *a;
    int32_t token;
} qw_tile_tokens;

#endif
