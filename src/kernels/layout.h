/* SPDX-License-Identifier: MIT
 * The layouts in which matrices are kept, and what the bytes of their panels mean: for the packer, the kernels and the
 * scalar specification. A panel is four rows, interleaved so that a 32-bit lane of a vector is a row and no sum crosses
 * lanes. Rows are padded with zero rows to a multiple of 4; columns of integer layouts with zero weights to a multiple
 * of 32 (of 256 for K-quants, which files never split), those of float layouts not at all.
 *
 * A float layout's panel has a vector of four rows for each column, as the file has its numbers. An integer layout's is
 * a run of units, one per 32 columns or, where sub-scales belong to 256 columns, one per 256:
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
 * scale, or for K2M scale | minimum << 4. KT4 is like K4.
 *
 * T4 and KT4 hold the IQ types: codes of 4 bits number 16 levels, int8, which differ by type and stand in one vector
 * before the units. In a unit of T4 is the product of the block's scale and sub-scale, which float32 holds exactly. */
#ifndef QW_LAYOUT_H
#define QW_LAYOUT_H

#include "kernels/dtype.h"

enum {
    QW_PANEL_ROWS = 4,
    QW_BLOCK = 32,
    /* A panel of float16 begins with a vector whose first byte is 1 where some weight is infinite or NaN: without such
     * a weight widening takes half the operations. */
    QW_F16_HEADER = 16,
    QW_LEVELS = 16, /* of the layouts with levels: how many, and the bytes of their vector */
};

/* The layouts there are, in the order of their enum; the enum, the traits and the kernels' tables are made of these
 * lists. Columns: name, the file type with the same numbers, bits of a code. Integer layouts, which meet activations
 * quantised to int8 per 32, go on: offset (weight = scale * (code - offset) + minimum), has a minimum, has a scale per
 * 16 columns instead of 32. Signed codes are those of 8 bits, and levels. What a row takes stands behind it. */
#define QW_FLOAT_LAYOUTS(X)                                                                                            \
    X(F32, F32, 32)                                                                                                    \
    X(F16, F16, 16) /* widened in the kernel, as are those of bfloat16 */                                              \
    X(BF16, BF16, 16)
#define QW_SIGNED_LAYOUTS(X)                                                                                           \
    X(I8, Q8_0, 8, 0, false, false)   /* f32 scale per 32: 36 bytes per 32 columns */                                  \
    X(T4, IQ4_NL, 4, 0, false, false) /* the same, 16 levels: 20 */                                                    \
    X(KT4, IQ2_S, 4, 0, false, true)  /* 16 levels, int8 scale per 16, f32 d per 256: 148 per 256 columns */
#define QW_UNSIGNED_LAYOUTS(X)                                                                                         \
    X(U4, Q4_0, 4, 8, false, false)  /* f32 scale per 32: 20 */                                                        \
    X(U5, Q5_0, 5, 16, false, false) /* the same: 24 */                                                                \
    X(U4M, Q4_1, 4, 0, true, false)  /* f32 scale and minimum per 32: 24 */                                            \
    X(U5M, Q5_1, 5, 0, true, false)  /* the same: 28 */                                                                \
    X(K4M, Q4_K, 4, 0, true, false)  /* u8 scale and minimum per 32, f32 d and dmin per 256: 152 per 256 columns */    \
    X(K5M, Q5_K, 5, 0, true, false)  /* the same: 184 */                                                               \
    X(K6, Q6_K, 6, 32, false, true)  /* int8 scale per 16, f32 d per 256: 212 */                                       \
    X(K4, Q3_K, 4, 4, false, true)   /* 3 bits kept in 4, int8 scale per 16, f32 d per 256: 148 */                     \
    X(K2M, Q2_K, 4, 0, true, true)   /* 2 bits kept in 4, 4-bit scale and minimum per 16, f32 d and dmin per 256: 152 */
#define QW_INTEGER_LAYOUTS(X) QW_SIGNED_LAYOUTS(X) QW_UNSIGNED_LAYOUTS(X)

typedef enum qw_layout {
#define QW_LAYOUT_NAME(NAME, ...) QW_LAYOUT_##NAME,
    QW_FLOAT_LAYOUTS(QW_LAYOUT_NAME) QW_INTEGER_LAYOUTS(QW_LAYOUT_NAME)
#undef QW_LAYOUT_NAME
        QW_LAYOUT_COUNT
} qw_layout;

typedef struct qw_layout_traits {
    qw_dtype type;  /* the file type with the same numbers */
    int32_t bits;   /* of a code */
    int32_t offset; /* weight = scale * (code - offset) + minimum */
    int32_t blocks; /* of 32 columns per unit; 0: a float layout */
    int32_t header; /* bytes */
    bool is_signed; /* codes: int8, not unsigned */
    bool levels;    /* the int8 are numbered by codes; QW_LEVELS of them begin the panel */
    bool has_min;
    bool halves; /* a scale per 16 columns */
} qw_layout_traits;

/* Folds where the layout is a constant. Sub-scales are what a unit of more than one block has: 4 vectors. */
static inline __attribute__((always_inline)) qw_layout_traits qw_layout_traits_of(qw_layout layout)
{
    enum {
#define QW_BLOCKS(NAME, name, number, LAYOUT, block, ...) BLOCKS_##NAME = block / QW_BLOCK,
        QW_DTYPES(QW_BLOCKS)
#undef QW_BLOCKS
    };

    switch (layout) {
#define QW_TRAITS_FLOAT(NAME, TYPE, BITS)                                                                              \
    case QW_LAYOUT_##NAME:                                                                                             \
        return (qw_layout_traits){.type = QW_##TYPE, .bits = BITS};
#define QW_TRAITS(NAME, TYPE, BITS, OFFSET, MIN, HALVES, SIGNED)                                                       \
    case QW_LAYOUT_##NAME:                                                                                             \
        return (qw_layout_traits){.type = QW_##TYPE,                                                                   \
                                  .bits = BITS,                                                                        \
                                  .offset = OFFSET,                                                                    \
                                  .blocks = BLOCKS_##TYPE,                                                             \
                                  .header = 16 * (1 + MIN) + (BLOCKS_##TYPE > 1 ? 64 : 0),                             \
                                  .is_signed = SIGNED,                                                                 \
                                  .levels = SIGNED && (BITS) < 8,                                                      \
                                  .has_min = MIN,                                                                      \
                                  .halves = HALVES};
#define QW_TRAITS_SIGNED(...) QW_TRAITS(__VA_ARGS__, true)
#define QW_TRAITS_UNSIGNED(...) QW_TRAITS(__VA_ARGS__, false)
        QW_FLOAT_LAYOUTS(QW_TRAITS_FLOAT)
        QW_SIGNED_LAYOUTS(QW_TRAITS_SIGNED)
        QW_UNSIGNED_LAYOUTS(QW_TRAITS_UNSIGNED)
#undef QW_TRAITS_FLOAT
#undef QW_TRAITS
#undef QW_TRAITS_SIGNED
#undef QW_TRAITS_UNSIGNED
    case QW_LAYOUT_COUNT:
        break;
    }
    return (qw_layout_traits){0};
}

/* Bytes of a unit of an integer layout. */
static inline __attribute__((always_inline)) int32_t qw_layout_unit_bytes(qw_layout_traits t)
{
    return t.header + t.blocks * t.bits * 16;
}

static inline bool qw_layout_is_integer(qw_layout layout)
{
    return layout >= QW_LAYOUT_I8;
}

/* To which type F32, F16 and BF16 matrices are brought while they stream in. F32 is for tests: it brings every matrix
 * to float32, the quantised ones too, which makes the reference that quantised paths are held to. */
typedef enum qw_quantize { QW_QUANTIZE_NONE, QW_QUANTIZE_Q8_0, QW_QUANTIZE_Q4_0, QW_QUANTIZE_F32 } qw_quantize;

/* The layout in which a matrix that the file holds as `type` is kept. */
qw_layout qw_layout_for(qw_dtype type, qw_quantize quantize);

/* Bytes of one panel of that many columns. */
size_t qw_panel_bytes(qw_layout layout, int32_t cols);

#endif
