/* SPDX-License-Identifier: MIT
 * Kernels of integer layouts for tiles of tokens: blocks of two panels are unpacked once for all of them. */
#ifndef QW_KERNEL_TILE_H
#define QW_KERNEL_TILE_H

#include "kernels/kernel.h"

enum {
    QW_TILE_BLOCKS = 32, /* blocks of 32 columns that are unpacked at a time: they stay in the L1 cache */
    QW_TILE_TOKENS = 4,
};

/* Up to QW_TILE_BLOCKS blocks of two panels: where they begin, and unpacked what does not stand there as a kernel
 * wants it. codes: a vector of each panel for every step through the block's columns: for the relaxed dots 8 steps of 4
 * bytes a row; for BASE 16 steps of 2 int16, columns 0 and 2, then 1 and 3 of each four. */
typedef struct qw_tile {
    const uint8_t *panel[QW_TILE_PANELS];
    int16_t codes[QW_TILE_BLOCKS][16 * QW_TILE_PANELS * 8];
    float scale[QW_TILE_BLOCKS][QW_TILE_PANELS][4], min[QW_TILE_BLOCKS][QW_TILE_PANELS][4];
    /* Where in a qw_act is what unsigned codes are off by, of the first half where there are two, and how far
     * that is shifted down. */
    size_t correction;
    int32_t shift;
    int8_t flip; /* the activations', set by who has the tile unpacked */
    int32_t sub[QW_TILE_BLOCKS][2][QW_TILE_PANELS][4], submin[QW_TILE_BLOCKS][2][QW_TILE_PANELS][4];
} qw_tile;

/* Unpacks n blocks from block `first` on (a multiple of QW_TILE_BLOCKS) as panel `index` of the tile. */
typedef void qw_kernel_unpack(qw_tile *tile, int32_t index, const uint8_t *panel, int32_t first, int32_t n);

/* acc += rows times QW_TILE_TOKENS tokens over the tile's n blocks, the first of which is block `first` of the row. */
typedef void qw_kernel_tile(const qw_tile_tokens *to, const qw_tile *tile, int32_t first, int32_t n);

typedef struct qw_tile_kernels {
    qw_kernel_unpack *unpack;
    qw_kernel_tile *multiply;
} qw_tile_kernels;

/* The build has `kernel`, and it takes the layout's codes: qw_activations_kernel. */
qw_tile_kernels qw_tile_kernels_for(qw_layout layout, qw_kernel kernel);

#endif
