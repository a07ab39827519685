/* SPDX-License-Identifier: MIT
 * The kernels behind matmul.h: one panel of four rows against one token, read as it is kept, or against tiles of four
 * tokens, unpacked once for all of them. Which function fits is looked up once per product. */
#ifndef QW_KERNEL_H
#define QW_KERNEL_H

#include "matmul.h"

enum {
    QW_TILE_TOKENS = 4,
    QW_TILE_BLOCKS = 16, /* blocks of 32 columns that are unpacked at a time: they stay in the L1 cache */
};

/* out[4] = the panel's rows times one token. */
typedef void qw_kernel_one(float *out, const uint8_t *panel, const qw_acts *a, int32_t token);

/* Codes of up to QW_TILE_BLOCKS blocks, a vector per chunk (bytes) or two (int16, offset taken away), and their scales. */
typedef struct qw_tile {
    int16_t codes[QW_TILE_BLOCKS][2 * 64];
    float scale[QW_TILE_BLOCKS][4], min[QW_TILE_BLOCKS][4];
    int32_t sub[QW_TILE_BLOCKS][2][4], submin[QW_TILE_BLOCKS][2][4];
} qw_tile;

/* Unpacks n blocks from block `first` on (a multiple of QW_TILE_BLOCKS). */
typedef void qw_kernel_unpack(qw_tile *tile, const uint8_t *panel, int32_t first, int32_t n);

/* acc[t * stride + r] += rows times tokens token..token + 3 over the tile's blocks. */
typedef void qw_kernel_tile(float *acc, size_t stride, const qw_tile *tile, const qw_acts *a, int32_t token,
                            int32_t first, int32_t n);

typedef struct qw_kernels {
    qw_kernel_one *one;
    qw_kernel_unpack *unpack; /* NULL for float layouts, whose `one` serves any n */
    qw_kernel_tile *tile;
} qw_kernels;

/* kernel: one that the build has. */
qw_kernels qw_kernels_for(qw_layout layout, qw_kernel kernel);

qw_kernel_one *qw_kernel_one_for(qw_layout layout, qw_kernel kernel);
qw_kernel_unpack *qw_kernel_unpack_for(qw_layout layout, qw_kernel kernel);
qw_kernel_tile *qw_kernel_tile_for(qw_layout layout, qw_kernel kernel);
qw_kernel_one *qw_kernel_float_for(qw_layout layout);

#endif
