/* SPDX-License-Identifier: MIT
 * How codes and scales leave their panel (layout.h), for the kernels of one token and of tiles. All functions are
 * inlined with constant traits, so that what remains is straight code. */
#ifndef QW_KERNEL_BLOCK_H
#define QW_KERNEL_BLOCK_H

#include "kernels/activations.h"
#include "base/simd.h"

/* A kernel as constants. */
typedef struct recipe {
    qw_layout_traits t;
    qw_kernel kernel;
} recipe;

QW_SIMD_INLINE recipe make_recipe(qw_layout layout, qw_kernel kernel)
{
    return (recipe){qw_layout_traits_of(layout), kernel};
}

/* What correction() knows, and chunk() and pairs(). */
#define QW_CAN_UNPACK(NAME, TYPE, BITS, OFFSET, MIN, HALVES)                                                           \
    _Static_assert(OFFSET == 0 || (HALVES ? OFFSET == 32 || OFFSET == 4 : OFFSET == 8 || OFFSET == 16), #NAME);        \
    _Static_assert((BITS >= 4 && BITS <= 6) || BITS == 8, #NAME);
QW_INTEGER_LAYOUTS(QW_CAN_UNPACK)
#undef QW_CAN_UNPACK

/* Constants in locals: V8 makes a vector constant anew, in three instructions, wherever it is used. */
typedef struct masks {
    qw_v128 bytes;           /* the low `bits` of each byte */
    qw_v128 words;           /* the same of each int16 */
    qw_v128 six, fifth, low; /* 63 and 32 of bytes, 255 of int16 */
    qw_v128 levels;          /* the numbers that codes stand for, where they do; in signed dots as these take them */
} masks;

/* Where codes are signed: the relaxed dot's second operand may be read as unsigned. There qw_activations.flip adds 128 to
 * them. */
QW_SIMD_INLINE bool is_signed_dot(recipe c)
{
    return c.kernel == QW_KERNEL_DOT32 && c.t.is_signed;
}

/* panel: where levels begin it. */
QW_SIMD_INLINE masks make_masks(recipe c, const uint8_t *panel, int8_t flip)
{
    const int32_t bits = c.t.bits;
    masks m;

    m.bytes = qw_opaque(qw_i8x16_splat((int8_t)((1 << bits) - 1)));
    m.words = qw_opaque(qw_i16x8_splat((int16_t)((1 << bits) - 1)));
    m.six = qw_opaque(qw_i8x16_splat(63));
    m.fifth = qw_opaque(qw_i8x16_splat(32));
    m.low = qw_opaque(qw_i16x8_splat(255));
    m.levels = c.t.levels ? qw_load(panel) : qw_zero();
    if (c.t.levels && is_signed_dot(c)) m.levels = qw_xor(m.levels, qw_i8x16_splat(flip));
    return m;
}

/* What the mask leaves out, moved down; the mask covers all bits below `shift`, so that none crosses into a
 * neighbour. */
QW_SIMD_INLINE qw_v128 upper(qw_v128 v, qw_v128 mask, unsigned shift)
{
    return qw_u16x8_shr(qw_andnot(v, mask), shift);
}

QW_SIMD_INLINE qw_v128 chunk5(const masks *m, const uint8_t *codes, int k)
{
    qw_v128 low = qw_load(codes + 16 * (k < 5 ? k : k - 5)), three, four;

    if (k < 5) return qw_and(low, m->bytes);
    low = upper(low, m->bytes, 5);
    three = qw_load(codes + 48);
    four = qw_load(codes + 64);
    if (k == 5) return qw_or(low, upper(three, m->six, 3));
    if (k == 7) return qw_or(low, upper(four, m->six, 3));
    three = qw_or(qw_and(three, m->fifth), qw_i16x8_shl(qw_and(four, m->fifth), 1));
    return qw_or(low, qw_u16x8_shr(three, 2));
}

QW_SIMD_INLINE qw_v128 chunk6(const masks *m, const uint8_t *codes, int k)
{
    const uint8_t *p = codes + 48 * (k - 6);

    if (k < 6) return qw_and(qw_load(codes + 16 * k), m->bytes);
    return qw_or(upper(qw_load(p), m->bytes, 6),
                 qw_or(upper(qw_load(p + 16), m->bytes, 4), upper(qw_load(p + 32), m->bytes, 2)));
}

/* The codes of chunk k of a block as 16 bytes. */
QW_SIMD_INLINE qw_v128 code_chunk(int bits, const masks *m, const uint8_t *codes, int k)
{
    if (bits == 4 && k < 4) return qw_and(qw_load(codes + 16 * k), m->bytes);
    if (bits == 4) return upper(qw_load(codes + 16 * (k - 4)), m->bytes, 4);
    if (bits == 5) return chunk5(m, codes, k);
    if (bits == 6) return chunk6(m, codes, k);
    return qw_load(codes + 16 * k);
}

/* What they stand for. */
QW_SIMD_INLINE qw_v128 chunk(qw_layout_traits t, const masks *m, const uint8_t *codes, int k)
{
    qw_v128 v = code_chunk(t.bits, m, codes, k);

    return t.levels ? qw_i8x16_choose(m->levels, v) : v;
}

/* Columns 0 and 2 (odd = 0) or 1 and 3 (odd = 1) of chunk k as int16. */
QW_SIMD_INLINE qw_v128 pairs(qw_layout_traits t, const masks *m, const uint8_t *codes, int k, int odd)
{
    const int32_t bits = t.bits;
    qw_v128 v;

    if (t.is_signed) {
        v = chunk(t, m, codes, k);
        return qw_i16x8_shr(odd ? v : qw_i16x8_shl(v, 8), 8);
    }
    if (bits == 4) {
        v = qw_load(codes + 16 * (k & 3));
        if (odd && k >= 4) return qw_u16x8_shr(v, 12);
        v = k < 4 ? v : qw_u16x8_shr(v, 4);
        return qw_and(odd ? qw_u16x8_shr(v, 8) : v, m->words);
    }
    if (k < bits) {
        v = qw_load(codes + 16 * k);
        return qw_and(odd ? qw_u16x8_shr(v, 8) : v, m->words);
    }
    v = chunk(t, m, codes, k);
    return odd ? qw_u16x8_shr(v, 8) : qw_and(v, m->low);
}

/* Minus the offset times the sum of the activations: of all 32 columns, or of half h. flip: of signed dots, in every
 * byte. */
QW_SIMD_INLINE qw_v128 correction(recipe c, const qw_act *x, int h, qw_v128 flip)
{
    int32_t offset = c.t.offset;

    if (is_signed_dot(c) && c.t.halves)
        return qw_and(qw_i32x4_shl(qw_load32_splat(&x->minus32[h]), 2), qw_i32x4_shr(flip, 31));
    if (is_signed_dot(c)) return qw_load32_splat(&x->minus128);
    if (offset == 8) return qw_load32_splat(&x->minus8);
    if (offset == 16) return qw_load32_splat(&x->minus16);
    if (offset == 32) return qw_load32_splat(&x->minus32[h]);
    if (offset == 4) return qw_i32x4_shr(qw_load32_splat(&x->minus32[h]), 3);
    return qw_zero();
}

/* Where the scales of a unit's blocks go, `step` vectors apart. */
typedef struct scale_rows {
    float *scale, *min;    /* of a block: d * scale and dmin * min; d and dmin where there are halves */
    int32_t *sub, *submin; /* of a half */
    int32_t step;
} scale_rows;

QW_SIMD_INLINE void unit_scales(scale_rows out, qw_layout_traits t, const uint8_t *unit)
{
    qw_v128 d = qw_load(unit), dmin = t.has_min ? qw_load(unit + 16) : qw_zero();
    const uint8_t *at = unit + (t.has_min ? 32 : 16);
    qw_v128 byte = qw_opaque(qw_i32x4_splat(255)), nibble = qw_opaque(qw_i32x4_splat(15));

    /* Arithmetic shifts: after a logical one clang converts to float as from unsigned, which takes x86-64 eight
     * instructions. */
    QW_UNROLL
    for (unsigned b = 0; b < 8; b++) {
        float *scale = out.scale + 4 * (int32_t)b * out.step, *min = out.min + 4 * (int32_t)b * out.step;
        if (!t.halves) {
            qw_v128 s = qw_and(qw_i32x4_shr(qw_load(at + b / 4 * 16), b % 4 * 8), byte);
            qw_v128 m = qw_and(qw_i32x4_shr(qw_load(at + 32 + b / 4 * 16), b % 4 * 8), byte);
            qw_store(scale, qw_f32x4_mul(d, qw_f32x4_convert_i32x4(s)));
            qw_store(min, qw_f32x4_mul(dmin, qw_f32x4_convert_i32x4(m)));
            continue;
        }
        qw_store(scale, d);
        if (t.has_min) qw_store(min, dmin);
        QW_UNROLL
        for (unsigned h = 0; h < 2; h++) {
            unsigned shift = (b % 2 * 2 + h) * 8;
            qw_v128 v = qw_load(at + b / 2 * 16);
            int32_t to = 4 * (int32_t)(2 * b + h) * out.step;
            if (t.has_min) {
                qw_store(out.sub + to, qw_and(qw_u32x4_shr(v, shift), nibble));
                qw_store(out.submin + to, qw_and(qw_u32x4_shr(v, shift + 4), nibble));
            } else {
                qw_store(out.sub + to, qw_i32x4_shr(qw_i32x4_shl(v, 24 - shift), 24));
            }
        }
    }
}

#endif
