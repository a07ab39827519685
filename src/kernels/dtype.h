/* SPDX-License-Identifier: MIT
 * The element types of tensors in files: their names, numbers and block sizes, and the exact widening of 16-bit
 * floats. */
#ifndef QW_DTYPE_H
#define QW_DTYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The types there are. Columns: name here, name for people, GGUF's number (ggml_type,
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; safetensors' F32, F16 and BF16 map to the same), the layout
 * in which it is kept (layout.h), elements and bytes of a block. Quantised types go on: where in a block its float16
 * scales begin, and how many there are. A row there wants a decoder, decode_NAME in quant.c. */
#define QW_FLOAT_DTYPES(X)                                                                                             \
    X(F32, f32, 0, F32, 1, 4)                                                                                          \
    X(F16, f16, 1, F16, 1, 2)                                                                                          \
    X(BF16, bf16, 30, BF16, 1, 2)
#define QW_LINEAR_DTYPES(X)                                                                                            \
    X(Q4_0, q4_0, 2, U4, 32, 18, 0, 1)                                                                                 \
    X(Q4_1, q4_1, 3, U4M, 32, 20, 0, 2)                                                                                \
    X(Q5_0, q5_0, 6, U5, 32, 22, 0, 1)                                                                                 \
    X(Q5_1, q5_1, 7, U5M, 32, 24, 0, 2)                                                                                \
    X(Q8_0, q8_0, 8, I8, 32, 34, 0, 1)                                                                                 \
    X(Q2_K, q2_k, 10, K2M, 256, 84, 80, 2)                                                                             \
    X(Q3_K, q3_k, 11, K4, 256, 110, 108, 1)                                                                            \
    X(Q4_K, q4_k, 12, K4M, 256, 144, 0, 2)                                                                             \
    X(Q5_K, q5_k, 13, K5M, 256, 176, 0, 2)                                                                             \
    X(Q6_K, q6_k, 14, K6, 256, 210, 208, 1)
/* The IQ types, whose codes number the levels of a table; decoders in quant_iq.c. The scale of iq1_m lies in parts. */
#define QW_LEVEL_DTYPES(X)                                                                                             \
    X(IQ2_XXS, iq2_xxs, 16, T4, 256, 66, 0, 1)                                                                         \
    X(IQ2_XS, iq2_xs, 17, KT4, 256, 74, 0, 1)                                                                          \
    X(IQ3_XXS, iq3_xxs, 18, T4, 256, 98, 0, 1)                                                                         \
    X(IQ1_S, iq1_s, 19, T4, 256, 50, 0, 1)                                                                             \
    X(IQ4_NL, iq4_nl, 20, T4, 32, 18, 0, 1)                                                                            \
    X(IQ3_S, iq3_s, 21, T4, 256, 110, 0, 1)                                                                            \
    X(IQ2_S, iq2_s, 22, KT4, 256, 82, 0, 1)                                                                            \
    X(IQ4_XS, iq4_xs, 23, T4, 256, 136, 0, 1)                                                                          \
    X(IQ1_M, iq1_m, 29, KT4, 256, 56, 0, 0)
#define QW_QUANT_DTYPES(X) QW_LINEAR_DTYPES(X) QW_LEVEL_DTYPES(X)
#define QW_DTYPES(X) QW_FLOAT_DTYPES(X) QW_QUANT_DTYPES(X)

typedef enum qw_dtype {
#define QW_DTYPE_NUMBER(NAME, name, number, ...) QW_##NAME = number,
    QW_DTYPES(QW_DTYPE_NUMBER)
#undef QW_DTYPE_NUMBER
} qw_dtype;

enum { QW_DTYPE_NUMBERS = 31 }; /* one more than the highest */

/* True for a number of the list above: what can be read. */
bool qw_dtype_known(uint32_t number);

/* "f32", "q4_k" ...; for a number that is not known "type 31" is not made here: NULL. */
const char *qw_dtype_name(uint32_t number);

/* Elements per block (1, 32 or 256) and bytes per block. */
int32_t qw_dtype_block(qw_dtype type);
size_t qw_dtype_block_bytes(qw_dtype type);

/* Where the float16 scales of a quantised type's block begin; *n of them, one after the other. */
size_t qw_dtype_scales(qw_dtype type, size_t *n);

/* Bytes of a row of that many elements, a multiple of the block. */
size_t qw_dtype_row_bytes(qw_dtype type, int64_t cols);

/* Exact for every input, subnormal, infinite and NaN included. */
float qw_f16_to_f32(uint16_t bits);
float qw_bf16_to_f32(uint16_t bits);

/* Nearest even; overflow gives infinity, NaN stays NaN. */
uint16_t qw_f32_to_f16(float x);

#endif
