/* SPDX-License-Identifier: MIT
 * simd.h's vocabulary on WebAssembly's 128-bit SIMD. Included by simd.h only, which says what the operations mean. */
#ifndef QW_SIMD_WASM_H
#define QW_SIMD_WASM_H

#include <stdint.h>
#include <wasm_simd128.h>

typedef v128_t qw_v128;

#define QW_SIMD_INLINE static inline __attribute__((always_inline))
#define QW_SIMD_1(name, op)                                                                                            \
    QW_SIMD_INLINE qw_v128 name(qw_v128 a)                                                                             \
    {                                                                                                                  \
        return op(a);                                                                                                  \
    }
#define QW_SIMD_2(name, op)                                                                                            \
    QW_SIMD_INLINE qw_v128 name(qw_v128 a, qw_v128 b)                                                                  \
    {                                                                                                                  \
        return op(a, b);                                                                                               \
    }
#define QW_SIMD_SHIFT(name, op)                                                                                        \
    QW_SIMD_INLINE qw_v128 name(qw_v128 a, unsigned n)                                                                 \
    {                                                                                                                  \
        return op(a, n);                                                                                               \
    }

QW_SIMD_INLINE qw_v128 qw_load(const void *p)
{
    return wasm_v128_load(p);
}

QW_SIMD_INLINE void qw_store(void *p, qw_v128 v)
{
    wasm_v128_store(p, v);
}

QW_SIMD_INLINE qw_v128 qw_load32_splat(const void *p)
{
    return wasm_v128_load32_splat(p);
}

QW_SIMD_INLINE qw_v128 qw_load_i16x4(const void *p)
{
    return wasm_i32x4_load16x4(p);
}

QW_SIMD_INLINE qw_v128 qw_load64_zero(const void *p)
{
    return wasm_v128_load64_zero(p);
}

QW_SIMD_INLINE qw_v128 qw_zero(void)
{
    return wasm_i32x4_const_splat(0);
}

QW_SIMD_INLINE qw_v128 qw_f32x4_splat(float x)
{
    return wasm_f32x4_splat(x);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_splat(int32_t x)
{
    return wasm_i32x4_splat(x);
}

QW_SIMD_INLINE qw_v128 qw_i16x8_splat(int16_t x)
{
    return wasm_i16x8_splat(x);
}

QW_SIMD_INLINE qw_v128 qw_i8x16_splat(int8_t x)
{
    return wasm_i8x16_splat(x);
}

QW_SIMD_INLINE qw_v128 qw_opaque(qw_v128 v)
{
    volatile v128_t hidden = v; /* an empty asm would do, if clang 19 took vectors there */
    return hidden;
}

QW_SIMD_2(qw_and, wasm_v128_and)
QW_SIMD_2(qw_or, wasm_v128_or)
QW_SIMD_2(qw_xor, wasm_v128_xor)
QW_SIMD_2(qw_andnot, wasm_v128_andnot)

QW_SIMD_INLINE qw_v128 qw_select(qw_v128 mask, qw_v128 a, qw_v128 b)
{
    return wasm_v128_bitselect(a, b, mask);
}

QW_SIMD_INLINE int qw_any(qw_v128 a)
{
    return wasm_v128_any_true(a);
}

QW_SIMD_2(qw_f32x4_add, wasm_f32x4_add)
QW_SIMD_2(qw_f32x4_sub, wasm_f32x4_sub)
QW_SIMD_2(qw_f32x4_mul, wasm_f32x4_mul)
QW_SIMD_2(qw_f32x4_div, wasm_f32x4_div)
QW_SIMD_2(qw_f32x4_min, wasm_f32x4_pmin)
QW_SIMD_2(qw_f32x4_max, wasm_f32x4_pmax)
QW_SIMD_2(qw_f32x4_eq, wasm_f32x4_eq)
QW_SIMD_2(qw_f32x4_lt, wasm_f32x4_lt)
QW_SIMD_2(qw_f32x4_le, wasm_f32x4_le)
QW_SIMD_2(qw_f32x4_gt, wasm_f32x4_gt)
QW_SIMD_2(qw_f32x4_ge, wasm_f32x4_ge)
QW_SIMD_1(qw_f32x4_abs, wasm_f32x4_abs)
QW_SIMD_1(qw_f32x4_neg, wasm_f32x4_neg)
QW_SIMD_1(qw_f32x4_convert_i32x4, wasm_f32x4_convert_i32x4)

QW_SIMD_2(qw_i32x4_add, wasm_i32x4_add)
QW_SIMD_2(qw_i32x4_sub, wasm_i32x4_sub)
QW_SIMD_2(qw_i32x4_mul, wasm_i32x4_mul)
QW_SIMD_2(qw_i32x4_min, wasm_i32x4_min)
QW_SIMD_2(qw_i32x4_gt, wasm_i32x4_gt)
QW_SIMD_SHIFT(qw_i32x4_shl, wasm_i32x4_shl)
QW_SIMD_SHIFT(qw_i32x4_shr, wasm_i32x4_shr)
QW_SIMD_SHIFT(qw_u32x4_shr, wasm_u32x4_shr)

QW_SIMD_2(qw_i16x8_add, wasm_i16x8_add)
QW_SIMD_2(qw_i16x8_mul, wasm_i16x8_mul)
QW_SIMD_2(qw_i16x8_add_sat, wasm_i16x8_add_sat)
QW_SIMD_SHIFT(qw_i16x8_shl, wasm_i16x8_shl)
QW_SIMD_SHIFT(qw_i16x8_shr, wasm_i16x8_shr)
QW_SIMD_SHIFT(qw_u16x8_shr, wasm_u16x8_shr)
QW_SIMD_2(qw_i8x16_add, wasm_i8x16_add)
QW_SIMD_2(qw_i8x16_eq, wasm_i8x16_eq)
#ifdef __wasm_relaxed_simd__
QW_SIMD_2(qw_i8x16_choose, wasm_i8x16_relaxed_swizzle) /* the same for indices below 16 */
#else
QW_SIMD_2(qw_i8x16_choose, wasm_i8x16_swizzle)
#endif
QW_SIMD_2(qw_i8x16_gt, wasm_i8x16_gt)

QW_SIMD_1(qw_i16x8_extend_low_i8x16, wasm_i16x8_extend_low_i8x16)
QW_SIMD_1(qw_i16x8_extend_high_i8x16, wasm_i16x8_extend_high_i8x16)
QW_SIMD_1(qw_i32x4_extend_low_i16x8, wasm_i32x4_extend_low_i16x8)
QW_SIMD_1(qw_i32x4_extend_high_i16x8, wasm_i32x4_extend_high_i16x8)
QW_SIMD_1(qw_i32x4_extend_low_u16x8, wasm_u32x4_extend_low_u16x8)
QW_SIMD_1(qw_i32x4_pair_sums, wasm_i32x4_extadd_pairwise_i16x8)
QW_SIMD_2(qw_i32x4_dot, wasm_i32x4_dot_i16x8)
QW_SIMD_2(qw_i16x8_narrow, wasm_i16x8_narrow_i32x4)
QW_SIMD_2(qw_i8x16_narrow, wasm_i8x16_narrow_i16x8)

QW_SIMD_INLINE qw_v128 qw_i32x4_even(qw_v128 a, qw_v128 b)
{
    return wasm_i32x4_shuffle(a, b, 0, 2, 4, 6);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_odd(qw_v128 a, qw_v128 b)
{
    return wasm_i32x4_shuffle(a, b, 1, 3, 5, 7);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_zip_low(qw_v128 a, qw_v128 b)
{
    return wasm_i32x4_shuffle(a, b, 0, 4, 1, 5);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_zip_high(qw_v128 a, qw_v128 b)
{
    return wasm_i32x4_shuffle(a, b, 2, 6, 3, 7);
}

QW_SIMD_INLINE qw_v128 qw_i16x8_zip_low(qw_v128 a, qw_v128 b)
{
    return wasm_i16x8_shuffle(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

QW_SIMD_INLINE qw_v128 qw_i16x8_zip_high(qw_v128 a, qw_v128 b)
{
    return wasm_i16x8_shuffle(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

QW_SIMD_INLINE qw_v128 qw_i64x2_low(qw_v128 a, qw_v128 b)
{
    return wasm_i64x2_shuffle(a, b, 0, 2);
}

QW_SIMD_INLINE qw_v128 qw_i64x2_high(qw_v128 a, qw_v128 b)
{
    return wasm_i64x2_shuffle(a, b, 1, 3);
}

#define qw_f32x4_lane(v, i) wasm_f32x4_extract_lane(v, i)
#define qw_i32x4_lane(v, i) wasm_i32x4_extract_lane(v, i)

#ifdef __wasm_relaxed_simd__
#define QW_RELAXED 1
QW_SIMD_2(qw_i16x8_relaxed_dot, wasm_i16x8_relaxed_dot_i8x16_i7x16)

QW_SIMD_INLINE qw_v128 qw_i32x4_relaxed_dot_add(qw_v128 a, qw_v128 b, qw_v128 sum)
{
    return wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, sum);
}
#else
#define QW_RELAXED 0
#endif

#endif
