/* SPDX-License-Identifier: MIT
 * The element types of tensors in files: their names, numbers and block sizes, and the exact widening of 16-bit
 * floats. */
#ifndef QW_DTYPE_H
#define QW_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* GGUF's numbers (ggml_type), https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; safetensors' F32, F16 and BF16
 * map to the same. */
typedef enum qw_dtype {
    QW_F32 = 0,
    QW_F16 = 1,
    QW_Q4_0 = 2,
    QW_Q4_1 = 3,
    QW_Q5_0 = 6,
    QW_Q5_1 = 7,
    QW_Q8_0 = 8,
    QW_Q2_K = 10,
    QW_Q3_K = 11,
    QW_Q4_K = 12,
    QW_Q5_K = 13,
    QW_Q6_K = 14,
    QW_BF16 = 30,
} qw_dtype;

/* True for a number of the list above: what can be read. */
bool qw_dtype_known(uint32_t number);

/* "f32", "q4_k" ...; for a number that is not known "type 31" is not made here: NULL. */
const char *qw_dtype_name(uint32_t number);

/* Elements per block (1, 32 or 256) and bytes per block. */
int32_t qw_dtype_block(qw_dtype type);
size_t qw_dtype_block_bytes(qw_dtype type);

/* Bytes of a row of that many elements, a multiple of the block. */
size_t qw_dtype_row_bytes(qw_dtype type, int64_t cols);

/* Exact for every input, subnormal, infinite and NaN included. */
float qw_f16_to_f32(uint16_t bits);
float qw_bf16_to_f32(uint16_t bits);

/* Nearest even; overflow gives infinity, NaN stays NaN. */
uint16_t qw_f32_to_f16(float x);

/* The row's values as float32, out[cols], by the file format's own formula (the reference of every other path). */
void qw_dequantize(float *out, const uint8_t *row, qw_dtype type, int64_t cols);

#endif
