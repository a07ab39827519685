/* SPDX-License-Identifier: MIT
 * The quantised blocks of files, taken apart into integer codes and scales. One decoder serves qw_dequantize and the
 * packing of panels. Formats: https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h. */
#ifndef QW_QUANT_H
#define QW_QUANT_H

#include "kernels/codes.h"
#include "kernels/layout.h"

/* Any bytes are a valid block. type is not a float type. */
void qw_quant_decode(qw_codes *out, const uint8_t *block, qw_dtype type);

/* The row's values as float32, out[cols], by the file format's own formula (the reference of every other path). */
void qw_dequantize(float *out, const uint8_t *row, qw_dtype type, int64_t cols);

/* 32 floats as a block of q8_0 (34 bytes) or q4_0 (18 bytes): q8_0 has scale amax / 127, q4_0 the value of largest
 * magnitude / -8 (of two of opposite sign the positive one). The scale is rounded to float16; the codes, nearest
 * even, are made with the scale before rounding. A block with a value that is not finite gets a NaN scale. */
void qw_quant_encode(uint8_t *block, const float *x, qw_dtype type);

#endif
