/* SPDX-License-Identifier: MIT
 * The kernels behind matmul.h: one panel of four rows against one token, read as it is kept, or two panels against
 * tiles of tokens, unpacked once for all of them. Which function fits is looked up once per product. */
#ifndef QW_KERNEL_H
#define QW_KERNEL_H

#include "kernels/matmul.h"

enum {
    QW_TILE_PANELS = 2,
    QW_TILE_ROWS = QW_TILE_PANELS * QW_PANEL_ROWS,
    QW_TILE_BLOCKS = 32, /* blocks of 32 columns that are unpacked at a time: they stay in the L1 cache */
};

/* out[4] = the panel's rows times one token. */
typedef void qw_kernel_one(float *out, const uint8_t *panel, const qw_activations *a, int32_t token);

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
    int32_t sub[QW_TILE_BLOCKS][2][QW_TILE_PANELS][4], submin[QW_TILE_BLOCKS][2][QW_TILE_PANELS][4];
} qw_tile;

/* Unpacks n blocks from block `first` on (a multiple of QW_TILE_BLOCKS) as panel `index` of the tile. */
typedef void qw_kernel_unpack(qw_tile *tile, int32_t index, const uint8_t *panel, int32_t first, int32_t n);

/* Consecutive tokens and their sums: acc[t * stride + r], 8 rows, belongs to token `token + t`. */
typedef struct qw_tile_tokens {
    float *acc;
    size_t stride;
    const qw_activations *a;
    int32_t token;
} qw_tile_tokens;

/* acc += rows times 2 or 4 tokens over the tile's n blocks, the first of which is block `first` of the row. */
typedef void qw_kernel_tile(const qw_tile_tokens *to, const qw_tile *tile, int32_t first, int32_t n);

/* The same for float layouts, at once over all columns: acc = rows of two panels times tokens. */
typedef void qw_kernel_pair(const qw_tile_tokens *to, const uint8_t *const panels[QW_TILE_PANELS]);

typedef struct qw_kernels {
    qw_kernel_one *one;
    qw_kernel_unpack *unpack; /* of integer layouts */
    qw_kernel_tile *tile_two, *tile_four;
    qw_kernel_pair *pair_two, *pair_four; /* of float layouts */
} qw_kernels;

/* The build has `kernel`. */
void qw_kernel_integer(qw_kernels *out, qw_layout layout, qw_kernel kernel);
void qw_kernel_float(qw_kernels *out, qw_layout layout);

/* For qw_kernel_integer. */
qw_kernel_one *qw_kernel_one_for(qw_layout layout, qw_kernel kernel);

#endif
