/* SPDX-License-Identifier: MIT
 * Kernels of float layouts. */
#ifndef QW_KERNEL_FLOAT_H
#define QW_KERNEL_FLOAT_H

#include "kernels/kernel.h"

/* acc = rows of two panels times 2 or 4 tokens, at once over all columns. */
typedef void qw_kernel_pair(const qw_tile_tokens *to, const uint8_t *const panels[QW_TILE_PANELS]);

typedef struct qw_float_kernels {
    qw_kernel_one *one;
    qw_kernel_pair *two, *four;
} qw_float_kernels;

qw_float_kernels qw_float_kernels_for(qw_layout layout);

#endif
