/* SPDX-License-Identifier: MIT
 * What the bytes of an integer layout's panel mean, for the packer, the kernels and the scalar specification.
 * Everything folds where the layout is a constant.
 *
 * A panel is a run of units, one per 32 columns or, where sub-scales belong to 256 columns, one per 256:
 *     header   vectors of four rows: scale (float32), minimum (float32), and for K layouts 4 vectors of sub-scales
 *     codes    of each 32 columns: `bits` vectors of 16 bytes
 * Chunk k of 32 columns is columns 4k..4k+3 of the four rows: byte 4r + c of a vector is row r, column 4k + c. With
 * fewer than 8 bits a vector's bytes hold a whole chunk in their low bits, and parts of other chunks above:
 *     4 bits   vector k: chunk k low, chunk k + 4 high
 *     5 bits   vectors 0..4: chunks 0..4. Bits 0..2 of chunks 5, 6, 7 stand at the top of vectors 0, 1, 2; their bits 3
 *              and 4 are bits 6, 7 of vector 3, bits 5 of vectors 3 and 4, bits 6, 7 of vector 4
 *     6 bits   vectors 0..5: chunks 0..5; two bits each of chunk 6 at the top of vectors 0, 1, 2, of chunk 7 of 3, 4, 5
 * So most chunks cost one operation to unpack: 23 operations for 8 chunks of 5 bits instead of 36 with a vector of
 * fifth bits.
 *
 * Sub-scales: K4M and K5M have two vectors of scales and two of minima, byte j of lane r of vector v is block 4v + j of
 * row r. K6, K4 and K2M have four vectors of groups of 16, byte j of lane r of vector v is group 4v + j: a signed
 * scale, or for K2M scale | minimum << 4. */
#ifndef QW_LAYOUT_H
#define QW_LAYOUT_H

#include "kernels/panel.h"

typedef struct qw_layout_traits {
    const char *name;
    qw_dtype type;  /* the file type with the same numbers */
    int32_t bits;   /* of a code */
    int32_t offset; /* weight = scale * (code - offset) + minimum; codes are unsigned, those of I8 signed */
    int32_t blocks; /* of 32 columns per unit */
    int32_t header; /* bytes */
    bool has_min;
    bool halves; /* a scale per 16 columns */
} qw_layout_traits;

static inline __attribute__((always_inline)) qw_layout_traits qw_layout_traits_of(qw_layout layout)
{
    switch (layout) {
    case QW_LAYOUT_I8:
        return (qw_layout_traits){"q8_0", QW_Q8_0, 8, 0, 1, 16, false, false};
    case QW_LAYOUT_U4:
        return (qw_layout_traits){"q4_0", QW_Q4_0, 4, 8, 1, 16, false, false};
    case QW_LAYOUT_U5:
        return (qw_layout_traits){"q5_0", QW_Q5_0, 5, 16, 1, 16, false, false};
    case QW_LAYOUT_U4M:
        return (qw_layout_traits){"q4_1", QW_Q4_1, 4, 0, 1, 32, true, false};
    case QW_LAYOUT_U5M:
        return (qw_layout_traits){"q5_1", QW_Q5_1, 5, 0, 1, 32, true, false};
    case QW_LAYOUT_K4M:
        return (qw_layout_traits){"q4_k", QW_Q4_K, 4, 0, 8, 96, true, false};
    case QW_LAYOUT_K5M:
        return (qw_layout_traits){"q5_k", QW_Q5_K, 5, 0, 8, 96, true, false};
    case QW_LAYOUT_K6:
        return (qw_layout_traits){"q6_k", QW_Q6_K, 6, 32, 8, 80, false, true};
    case QW_LAYOUT_K4:
        return (qw_layout_traits){"q3_k", QW_Q3_K, 4, 4, 8, 80, false, true};
    case QW_LAYOUT_K2M:
        return (qw_layout_traits){"q2_k", QW_Q2_K, 4, 0, 8, 96, true, true};
    case QW_LAYOUT_F32:
        return (qw_layout_traits){"f32", QW_F32, 32, 0, 0, 0, false, false};
    case QW_LAYOUT_F16:
        return (qw_layout_traits){"f16", QW_F16, 16, 0, 0, 0, false, false};
    case QW_LAYOUT_BF16:
        break;
    }
    return (qw_layout_traits){"bf16", QW_BF16, 16, 0, 0, 0, false, false};
}

/* A panel of float16 begins with a vector whose first byte is 1 where some weight is infinite or NaN: without such a
 * weight widening takes half the operations. */
enum { QW_F16_HEADER = 16 };

/* Bytes of a unit of an integer layout. */
static inline __attribute__((always_inline)) int32_t qw_layout_unit_bytes(qw_layout_traits t)
{
    return t.header + t.blocks * t.bits * 16;
}

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
