/* SPDX-License-Identifier: MIT
 * How matrices are kept: panels of four rows, interleaved so that a 32-bit lane of a vector is a row and no sum crosses
 * lanes. Packing is exact: a kept weight is the same real number that the file's format defines. Rows are padded with
 * zero rows to a multiple of 4; columns of integer layouts with zero weights to a multiple of 32 (of 256 for K-quants,
 * which files never split), those of float layouts not at all. layout.h has the bytes. */
#ifndef QW_PANEL_H
#define QW_PANEL_H

#include "kernels/dtype.h"

enum { QW_PANEL_ROWS = 4, QW_BLOCK = 32 };

/* The layouts, with what a row's block takes. Integer layouts meet activations quantised to int8 per 32. */
typedef enum qw_layout {
    QW_LAYOUT_F32,  /* float32                                                                     (f32)        */
    QW_LAYOUT_F16,  /* float16 bits, widened in the kernel                                         (f16)        */
    QW_LAYOUT_BF16, /* bfloat16 bits, widened in the kernel                                        (bf16)       */
    QW_LAYOUT_I8,   /* int8, f32 scale per 32: 36 bytes per 32                                     (q8_0)       */
    QW_LAYOUT_U4,   /* 4 bits - 8, f32 scale per 32: 20                                            (q4_0)       */
    QW_LAYOUT_U5,   /* 5 bits - 16, f32 scale per 32: 24                                           (q5_0)       */
    QW_LAYOUT_U4M,  /* 4 bits, f32 scale and minimum per 32: 24                                    (q4_1)       */
    QW_LAYOUT_U5M,  /* 5 bits, f32 scale and minimum per 32: 28                                    (q5_1)       */
    QW_LAYOUT_K4M,  /* 4 bits, u8 scale and minimum per 32, f32 d and dmin per 256: 152 per 256    (q4_k)       */
    QW_LAYOUT_K5M,  /* 5 bits, the same: 184                                                       (q5_k)       */
    QW_LAYOUT_K6,   /* 6 bits - 32, int8 scale per 16, f32 d per 256: 212                          (q6_k)       */
    QW_LAYOUT_K4,   /* 3 bits - 4 kept in 4, int8 scale per 16, f32 d per 256: 148                 (q3_k)       */
    QW_LAYOUT_K2M,  /* 2 bits kept in 4, 4-bit scale and minimum per 16, f32 d and dmin per 256: 152 (q2_k)      */
} qw_layout;

/* To which type F32, F16 and BF16 matrices are brought while they stream in. F32 is for tests: it brings every matrix
 * to float32, the quantised ones too, which makes the reference that quantised paths are held to. */
typedef enum qw_quantize { QW_QUANTIZE_NONE, QW_QUANTIZE_Q8_0, QW_QUANTIZE_Q4_0, QW_QUANTIZE_F32 } qw_quantize;

typedef struct qw_mat {
    qw_layout layout;
    int32_t rows, cols;
    uint8_t *data; /* panels in row order, 64-byte aligned; owned by the weights */
} qw_mat;

/* The layout in which a matrix that the file holds as `type` is kept. */
qw_layout qw_layout_for(qw_dtype type, qw_quantize quantize);

/* "q8_0", "q4_0", "f16", "q4_k" ...: the stored type's name for people. */
const char *qw_layout_name(qw_layout layout);

/* Bytes of one panel of four rows of that many columns; a matrix takes ceil(rows / 4) of them. */
size_t qw_panel_bytes(qw_layout layout, int32_t cols);
/* SIZE_MAX where it does not fit a size_t. */
size_t qw_mat_bytes(qw_layout layout, int32_t rows, int32_t cols);

/* Packs n_rows (1..4; the missing ones become zero rows) consecutive rows of the file into the panel. src holds whole
 * rows in the file's type; a float type is quantised here where the layout is an integer one (round to nearest even,
 * scale = amax / 127 for q8_0; q4_0: scale = value of largest magnitude / -8, both with a scale rounded to float16 as
 * the file format has it). Columns count the file's, unpadded; float types allow any, others whole blocks. */
void qw_panel_pack(uint8_t *panel, qw_layout layout, const uint8_t *src, qw_dtype type, int32_t n_rows, int32_t cols);

/* Row r as float32, out[cols]: the embedding look-up, and the tests' view of the kept weights. */
void qw_mat_row(float *out, const qw_mat *m, int32_t r);

#endif
