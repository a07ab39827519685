/* SPDX-License-Identifier: MIT
 * Matrices as they are kept: rows of a file packed into panels (layout.h), and read back. Packing is exact: a kept
 * weight is the same real number that the file's format defines. */
#ifndef QW_PANEL_H
#define QW_PANEL_H

#include "kernels/layout.h"

typedef struct qw_mat {
    qw_layout layout;
    int32_t rows, cols;
    uint8_t *data; /* panels in row order, 64-byte aligned; owned by the weights */
} qw_mat;

/* Bytes of a matrix: ceil(rows / 4) panels; SIZE_MAX where that does not fit a size_t. */
size_t qw_mat_bytes(qw_layout layout, int32_t rows, int32_t cols);

/* Packs n_rows (1..4; the missing ones become zero rows) consecutive rows of the file into the panel. src holds whole
 * rows in the file's type; a float type is quantised here where the layout is an integer one (round to nearest even,
 * scale = amax / 127 for q8_0; q4_0: scale = value of largest magnitude / -8, both with a scale rounded to float16 as
 * the file format has it). Columns count the file's, unpadded; float types allow any, others whole blocks. */
void qw_panel_pack(uint8_t *panel, qw_layout layout, const uint8_t *src, qw_dtype type, int32_t n_rows, int32_t cols);

/* Row r as float32, out[cols]: the embedding look-up, and the tests' view of the kept weights. */
void qw_mat_row(float *out, const qw_mat *m, int32_t r);

/* What a row's 32 columns hold, taken apart without vectors: the specification's view. */
typedef struct qw_row_block {
    float d, dmin;
    int32_t scale[2], min[2]; /* of the halves of 16; equal, and 1 where the layout has no sub-scales */
    int32_t q[32];            /* code - offset */
} qw_row_block;

/* Block b of row r (0..3) of a panel of an integer layout. */
void qw_panel_block(qw_row_block *out, qw_layout layout, const uint8_t *panel, int32_t b, int32_t r);

/* Element `col` of row r of a panel of a float layout. */
float qw_panel_float(qw_layout layout, const uint8_t *panel, int32_t col, int32_t r);

#endif
