/* SPDX-License-Identifier: MIT
 * The quantised blocks of files, taken apart into integer codes and scales. One decoder serves qw_dequantize and the
 * packing of panels. Formats: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. */
#ifndef QW_QUANT_H
#define QW_QUANT_H

#include "kernels/layout.h"

/* A block of 32 or 256 weights. With the offset of the layout in which the type is kept, and a group of 16 where that has
 * halves, else of 32, weight i is
 *     d * scale[i / group] * (q[i] - offset) + minimum,   minimum = dmin * min[i / group] where the type has one,
 * in float32 and in this order: (d * scale) * (q - offset), which is exact, then the addition. Types without
 * sub-scales have scale = min = 1. dmin carries its sign: K-quants take their minimum away, q4_1 and q5_1 add it. */
typedef struct qw_codes {
    float d, dmin;
    int8_t q[256]; /* 0..2^bits - 1; q8_0: -128..127 */
    int8_t scale[16], min[16];
} qw_codes;

/* Any bytes are a valid block. type is not a float type. */
void qw_quant_decode(qw_codes *out, const uint8_t *block, qw_dtype type);

/* The row's values as float32, out[cols], by the file format's own formula (the reference of every other path). */
void qw_dequantize(float *out, const uint8_t *row, qw_dtype type, int64_t cols);

/* 32 floats as a block of q8_0 (34 bytes) or q4_0 (18 bytes): q8_0 has scale amax / 127, q4_0 the value of largest
 * magnitude / -8 (of two of opposite sign the positive one). The scale is rounded to float16; the codes, nearest
 * even, are made with the scale before rounding. A block with a value that is not finite gets a NaN scale. */
void qw_quant_encode(uint8_t *block, const float *x, qw_dtype type);

#endif
