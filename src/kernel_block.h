/* SPDX-License-Identifier: MIT
 * The arithmetic of a block of 32 columns and four rows, written once for every layout, kernel and number of tokens T.
 * All functions are inlined with constant traits, kernel and T, so that what remains is straight code. */
#ifndef QW_KERNEL_BLOCK_H
#define QW_KERNEL_BLOCK_H

#include "kernel.h"
#include "layout.h"
#include "simd.h"

/* A kernel as constants: how codes are read and multiplied. */
typedef struct recipe {
    qw_layout_traits t;
    qw_kernel kernel;
    bool tiled; /* codes come from a qw_tile */
} recipe;

/* Codes of 8 bits are signed and fit the relaxed dot's first operand only, so DOT16 has nothing for them. */
QW_SIMD_INLINE recipe make_recipe(qw_layout layout, qw_kernel kernel, bool tiled)
{
    qw_layout_traits t = qw_layout_traits_of(layout);

    return (recipe){t, t.bits == 8 && kernel == QW_KERNEL_DOT16 ? QW_KERNEL_BASE : kernel, tiled};
}

QW_SIMD_INLINE qw_v128 field(qw_v128 v, unsigned shift, int mask)
{
    return qw_and(shift ? qw_u16x8_shr(v, shift) : v, qw_i8x16_splat((int8_t)mask));
}

QW_SIMD_INLINE qw_v128 chunk5(const uint8_t *codes, int k)
{
    qw_v128 low = qw_load(codes + 16 * (k < 5 ? k : k - 5)), three, four;

    if (k < 5) return field(low, 0, 31);
    three = qw_load(codes + 48);
    four = qw_load(codes + 64);
    low = field(low, 5, 7);
    if (k == 5) return qw_or(low, field(three, 3, 24));
    if (k == 7) return qw_or(low, field(four, 3, 24));
    return qw_or(low, qw_or(field(three, 2, 8), field(four, 1, 16)));
}

QW_SIMD_INLINE qw_v128 chunk6(const uint8_t *codes, int k)
{
    const uint8_t *p = codes + 48 * (k - 6);

    if (k < 6) return field(qw_load(codes + 16 * k), 0, 63);
    return qw_or(field(qw_load(p), 6, 3), qw_or(field(qw_load(p + 16), 4, 12), field(qw_load(p + 32), 2, 48)));
}

/* Chunk k of a block as 16 bytes. */
QW_SIMD_INLINE qw_v128 chunk(int bits, const uint8_t *codes, int k)
{
    if (bits == 4) return k < 4 ? field(qw_load(codes + 16 * k), 0, 15) : field(qw_load(codes + 16 * (k - 4)), 4, 15);
    if (bits == 5) return chunk5(codes, k);
    if (bits == 6) return chunk6(codes, k);
    return qw_load(codes + 16 * k);
}

/* The same as int16: rows 0 and 1 (half 0) or 2 and 3, four columns each. */
QW_SIMD_INLINE qw_v128 chunk_wide(recipe c, const uint8_t *codes, int k, int half)
{
    qw_v128 v;

    if (c.tiled) return qw_load(codes + 32 * k + 16 * half);
    v = chunk(c.t.bits, codes, k);
    if (c.t.bits == 8) return half ? qw_i16x8_extend_high_i8x16(v) : qw_i16x8_extend_low_i8x16(v);
    return half ? qw_i16x8_extend_high_u8x16(v) : qw_i16x8_extend_low_u8x16(v);
}

QW_SIMD_INLINE qw_v128 chunk_bytes(recipe c, const uint8_t *codes, int k)
{
    return c.tiled ? qw_load(codes + 16 * k) : chunk(c.t.bits, codes, k);
}

/* A token's activations of the block at hand. */
typedef struct operand {
    const int8_t *q;
    const int16_t *wide;
    const qw_act_block *block;
} operand;

QW_SIMD_INLINE operand operand_of(const qw_acts *a, int32_t token, int32_t block)
{
    size_t at = (size_t)token * (size_t)a->blocks + (size_t)block;

    return (operand){a->q + at * QW_BLOCK, (const int16_t *)a->wide + at * QW_BLOCK, a->block + at};
}

/* Minus the offset times the sum of the activations: of all 32 columns, or of half h. */
QW_SIMD_INLINE qw_v128 correction(recipe c, const qw_act_block *x, int h)
{
    if (c.t.offset == 0 || (c.tiled && c.kernel == QW_KERNEL_BASE)) return qw_zero();
    if (c.t.offset == 8) return qw_load32_splat(&x->minus8);
    if (c.t.offset == 16) return qw_load32_splat(&x->minus16);
    if (c.t.offset == 32) return qw_load32_splat(&x->minus32[h]);
    return qw_i32x4_sub(qw_zero(), qw_i32x4_shl(qw_load32_splat(&x->sum[h]), 2));
}

/* sum[t] += chunks first..last-1 times the tokens, lane = row. */
QW_SIMD_INLINE void dots_base(qw_v128 *sum, recipe c, const uint8_t *codes, const operand *x, int T, int first,
                              int last)
{
    qw_v128 low[QW_TILE_TOKENS], high[QW_TILE_TOKENS];

    for (int t = 0; t < T; t++) low[t] = high[t] = qw_zero();
    QW_UNROLL
    for (int k = first; k < last; k++) {
        qw_v128 w0 = chunk_wide(c, codes, k, 0), w1 = chunk_wide(c, codes, k, 1);
        for (int t = 0; t < T; t++) {
            qw_v128 v = qw_load64_splat(x[t].wide + 4 * k);
            low[t] = qw_i32x4_add(low[t], qw_i32x4_dot(w0, v));
            high[t] = qw_i32x4_add(high[t], qw_i32x4_dot(w1, v));
        }
    }
    for (int t = 0; t < T; t++)
        sum[t] = qw_i32x4_add(sum[t], qw_i32x4_add(qw_i32x4_even(low[t], high[t]), qw_i32x4_odd(low[t], high[t])));
}

#if QW_RELAXED
/* int16 takes 2 sums of two products of codes below 64, 4 of codes below 32, 8 of codes below 16. */
QW_SIMD_INLINE void dots_16(qw_v128 *sum, recipe c, const uint8_t *codes, const operand *x, int T, int first, int last)
{
    int steps = c.t.bits == 6 ? 2 : c.t.bits == 5 || c.t.halves ? 4 : 8;

    QW_UNROLL
    for (int g = first; g < last; g += steps) {
        qw_v128 part[QW_TILE_TOKENS];
        QW_UNROLL
        for (int k = g; k < g + steps; k++) {
            qw_v128 w = chunk_bytes(c, codes, k);
            for (int t = 0; t < T; t++) {
                qw_v128 d = qw_i16x8_relaxed_dot(qw_load32_splat(x[t].q + 4 * k), w);
                part[t] = k == g ? d : qw_i16x8_add(part[t], d);
            }
        }
        for (int t = 0; t < T; t++) sum[t] = qw_i32x4_add(sum[t], qw_i32x4_pair_sums(part[t]));
    }
}

QW_SIMD_INLINE void dots_32(qw_v128 *sum, recipe c, const uint8_t *codes, const operand *x, int T, int first, int last)
{
    QW_UNROLL
    for (int k = first; k < last; k++) {
        qw_v128 w = chunk_bytes(c, codes, k);
        for (int t = 0; t < T; t++) sum[t] = qw_i32x4_relaxed_dot_add(qw_load32_splat(x[t].q + 4 * k), w, sum[t]);
    }
}

/* Signed weights: the activations' positive and negative parts are the second operands. */
QW_SIMD_INLINE void dots_32_signed(qw_v128 *sum, recipe c, const uint8_t *codes, const operand *x, int T)
{
    qw_v128 minus[QW_TILE_TOKENS];

    for (int t = 0; t < T; t++) minus[t] = qw_zero();
    QW_UNROLL
    for (int k = 0; k < 8; k++) {
        qw_v128 w = chunk_bytes(c, codes, k);
        for (int t = 0; t < T; t++) {
            sum[t] = qw_i32x4_relaxed_dot_add(w, qw_load32_splat(x[t].wide + 4 * k), sum[t]);
            minus[t] = qw_i32x4_relaxed_dot_add(w, qw_load32_splat(x[t].wide + 4 * k + 2), minus[t]);
        }
    }
    for (int t = 0; t < T; t++) sum[t] = qw_i32x4_sub(sum[t], minus[t]);
}
#else
#define dots_16 dots_base
#define dots_32 dots_base
#define dots_32_signed(sum, c, codes, x, T) dots_base(sum, c, codes, x, T, 0, 8)
#endif

QW_SIMD_INLINE void dots(qw_v128 *sum, recipe c, const uint8_t *codes, const operand *x, int T, int first, int last)
{
    if (c.kernel == QW_KERNEL_BASE) dots_base(sum, c, codes, x, T, first, last);
    if (c.kernel == QW_KERNEL_DOT16) dots_16(sum, c, codes, x, T, first, last);
    if (c.kernel == QW_KERNEL_DOT32 && c.t.bits == 8) dots_32_signed(sum, c, codes, x, T);
    if (c.kernel == QW_KERNEL_DOT32 && c.t.bits != 8) dots_32(sum, c, codes, x, T, first, last);
}

/* A block's scales, four rows each. */
typedef struct block_scales {
    const float *scale, *min; /* of the block; d and dmin where there are halves */
    const int32_t (*sub)[4], (*submin)[4];
} block_scales;

QW_SIMD_INLINE void block_whole(qw_v128 *acc, recipe c, const uint8_t *codes, block_scales s, const operand *x, int T)
{
    qw_v128 sum[QW_TILE_TOKENS], scale = qw_load(s.scale), min = c.t.has_min ? qw_load(s.min) : qw_zero();

    for (int t = 0; t < T; t++) sum[t] = correction(c, x[t].block, 0);
    dots(sum, c, codes, x, T, 0, 8);
    for (int t = 0; t < T; t++) {
        qw_v128 factor = qw_f32x4_mul(scale, qw_load32_splat(&x[t].block->scale));
        acc[t] = qw_f32x4_add(acc[t], qw_f32x4_mul(qw_f32x4_convert_i32x4(sum[t]), factor));
        if (c.t.has_min) acc[t] = qw_f32x4_add(acc[t], qw_f32x4_mul(min, qw_load32_splat(&x[t].block->scaled_sum)));
    }
}

QW_SIMD_INLINE void block_halves(qw_v128 *acc, recipe c, const uint8_t *codes, block_scales s, const operand *x, int T)
{
    qw_v128 total[QW_TILE_TOKENS], mins[QW_TILE_TOKENS];

    for (int t = 0; t < T; t++) total[t] = mins[t] = qw_zero();
    QW_UNROLL
    for (int h = 0; h < 2; h++) {
        qw_v128 sum[QW_TILE_TOKENS], sub = qw_load(s.sub[h]), submin = c.t.has_min ? qw_load(s.submin[h]) : qw_zero();
        for (int t = 0; t < T; t++) sum[t] = correction(c, x[t].block, h);
        dots(sum, c, codes, x, T, 4 * h, 4 * h + 4);
        for (int t = 0; t < T; t++) {
            total[t] = qw_i32x4_add(total[t], qw_i32x4_mul(sub, sum[t]));
            if (c.t.has_min)
                mins[t] = qw_i32x4_add(mins[t], qw_i32x4_mul(submin, qw_load32_splat(&x[t].block->sum[h])));
        }
    }
    for (int t = 0; t < T; t++) {
        qw_v128 xscale = qw_load32_splat(&x[t].block->scale);
        qw_v128 factor = qw_f32x4_mul(qw_load(s.scale), xscale);
        acc[t] = qw_f32x4_add(acc[t], qw_f32x4_mul(qw_f32x4_convert_i32x4(total[t]), factor));
        if (c.t.has_min) {
            factor = qw_f32x4_mul(qw_load(s.min), xscale);
            acc[t] = qw_f32x4_add(acc[t], qw_f32x4_mul(qw_f32x4_convert_i32x4(mins[t]), factor));
        }
    }
}

/* acc[t] += the block times T tokens. */
QW_SIMD_INLINE void block_add(qw_v128 *acc, recipe c, const uint8_t *codes, block_scales s, const operand *x, int T)
{
    if (c.t.halves) block_halves(acc, c, codes, s, x, T);
    else block_whole(acc, c, codes, s, x, T);
}

/* The scales of the 8 blocks of a K unit, multiplied out: d * scale and dmin * min per block, or integers per half. */
QW_SIMD_INLINE void unit_scales(float (*scale)[4], float (*min)[4], int32_t (*sub)[2][4], int32_t (*submin)[2][4],
                                qw_layout_traits t, const uint8_t *unit)
{
    qw_v128 d = qw_load(unit), dmin = t.has_min ? qw_load(unit + 16) : qw_zero();
    const uint8_t *at = unit + (t.has_min ? 32 : 16);
    qw_v128 byte = qw_i32x4_splat(255), nibble = qw_i32x4_splat(15);

    QW_UNROLL
    for (unsigned b = 0; b < 8; b++) {
        if (!t.halves) {
            qw_v128 s = qw_and(qw_u32x4_shr(qw_load(at + b / 4 * 16), b % 4 * 8), byte);
            qw_v128 m = qw_and(qw_u32x4_shr(qw_load(at + 32 + b / 4 * 16), b % 4 * 8), byte);
            qw_store(scale[b], qw_f32x4_mul(d, qw_f32x4_convert_i32x4(s)));
            qw_store(min[b], qw_f32x4_mul(dmin, qw_f32x4_convert_i32x4(m)));
            continue;
        }
        qw_store(scale[b], d);
        if (t.has_min) qw_store(min[b], dmin);
        QW_UNROLL
        for (unsigned h = 0; h < 2; h++) {
            unsigned shift = (b % 2 * 2 + h) * 8;
            qw_v128 v = qw_load(at + b / 2 * 16);
            if (t.has_min) {
                qw_store(sub[b][h], qw_and(qw_u32x4_shr(v, shift), nibble));
                qw_store(submin[b][h], qw_and(qw_u32x4_shr(v, shift + 4), nibble));
            } else {
                qw_store(sub[b][h], qw_i32x4_shr(qw_i32x4_shl(v, 24 - shift), 24));
            }
        }
    }
}

#endif
