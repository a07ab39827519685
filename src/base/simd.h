/* SPDX-License-Identifier: MIT
 * One vocabulary of 128-bit operations for every kernel: WebAssembly SIMD, and a native twin with the same bits. A
 * vector has no element type; the operation's name says how it reads the lanes. Lane 0 is the lowest address. No
 * operation here fuses, reassociates or approximates, so a kernel written on it gives equal results in every build;
 * only the sign and payload of a NaN are open.
 *
 *   qw_load, qw_store              16 bytes at any address; load32_splat repeats 4 bytes, load64_zero
 *                                  pads 8, load_i16x4 widens four int16 to int32
 *   qw_opaque                      the same value, hidden from the compiler: keeps a constant in a local instead of
 *                                  being rebuilt at each use
 *   qw_andnot(a, b)                a & ~b;  qw_select(mask, a, b): a's bits where mask is 1
 *   qw_any                         non-zero where any bit is set
 *   qw_f32x4_min(a, b)             b < a ? b : a,  qw_f32x4_max(a, b): a < b ? b : a. So a comparison with NaN keeps a:
 *                                  a running maximum max(best, x) passes over a NaN in x
 *   qw_f32x4_eq, lt, le, gt, ge    all ones or zero; false with NaN
 *   qw_i32x4_shr, qw_i16x8_shr     arithmetic; qw_u32x4_shr, qw_u16x8_shr: logical. Counts below the lane's width
 *   qw_i16x8_extend_low_i8x16      bytes 0..7 (high: 8..15) widened; qw_i32x4_extend_* alike, _u16x8 without sign
 *   qw_i16x8_add_sat               saturating; compilers leave chains of it in their order, which they do not with add
 *   qw_i32x4_dot(a, b)             int16: a[2i] b[2i] + a[2i+1] b[2i+1], exact unless all four are -32768
 *   qw_i32x4_pair_sums(a)          int16: a[2i] + a[2i+1]
 *   qw_i16x8_narrow, qw_i8x16_narrow(a, b)   saturating, a's lanes first
 *   qw_i32x4_even, odd(a, b)       lanes 0, 2 (1, 3) of a, then of b
 *   qw_i32x4_zip_low, high(a, b)   a0 b0 a1 b1, a2 b2 a3 b3; qw_i16x8_zip_* alike
 *   qw_i64x2_low, high(a, b)       the low (high) halves of a and b
 *   qw_f32x4_lane, qw_i32x4_lane(v, i)   i is a constant
 *
 * Where QW_RELAXED is 1 also qw_i16x8_relaxed_dot(a, b) = int16 sums of two products of bytes, and
 * qw_i32x4_relaxed_dot_add(a, b, sum) = sum + sums of four products: a is signed, b must lie in 0..127. Then both are
 * exact on every machine (|-128 * 127 * 2| fits int16). Above that b is read as signed or as unsigned, and sums of two
 * products may saturate: as the machine likes, but the same at every call. */
#ifndef QW_SIMD_H
#define QW_SIMD_H

#include <math.h>
#include <stddef.h>

#ifdef __wasm_simd128__
#include "base/simd_wasm.h"
#else
#include "base/simd_native.h"
#endif

/* Before a loop of up to 16 rounds with constant bounds; before one that must stay a loop. With QW_ROLLED all stay loops. */
#ifdef __clang__
#ifdef QW_ROLLED
#define QW_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define QW_UNROLL _Pragma("clang loop unroll(full)")
#endif
#define QW_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define QW_UNROLL _Pragma("GCC unroll 16")
#define QW_NO_UNROLL _Pragma("GCC unroll 1")
#endif

/* Asks for all cache lines at once of what is not in the cache and about to be computed with: between operations only a
 * few loads at a time are under way. Unrolled, since loads wait in the CPU among all other instructions. */
QW_SIMD_INLINE void qw_fetch(const void *p, size_t bytes)
{
    const volatile uint8_t *line = p, *end = line + bytes;

    for (; end - line >= 256; line += 256) {
        (void)line[0];
        (void)line[64];
        (void)line[128];
        (void)line[192];
    }
    for (; line < end; line += 64) (void)*line;
}

/* How many things of that many bytes qw_fetch is given at a time: as many as fit part of a small L2 cache, and at least one. */
static inline int32_t qw_fetch_count(size_t bytes)
{
    const size_t most = 1 << 16;

    return bytes < most ? (int32_t)(most / bytes) : 1;
}

QW_SIMD_INLINE uint32_t qw_f32_bits(float x)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    return bits;
}

QW_SIMD_INLINE float qw_f32_from_bits(uint32_t bits)
{
    float x;
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* (0 + 1) + (2 + 3): the one order in which four lanes become a number. */
QW_SIMD_INLINE float qw_f32x4_sum(qw_v128 v)
{
    return (qw_f32x4_lane(v, 0) + qw_f32x4_lane(v, 1)) + (qw_f32x4_lane(v, 2) + qw_f32x4_lane(v, 3));
}

/* The largest lane; a NaN counts as -inf. */
QW_SIMD_INLINE float qw_f32x4_hmax(qw_v128 v)
{
    v = qw_f32x4_max(qw_f32x4_splat(-INFINITY), v);
    v = qw_f32x4_max(qw_i32x4_even(v, v), qw_i32x4_odd(v, v));
    return qw_f32x4_lane(qw_f32x4_max(qw_i32x4_even(v, v), qw_i32x4_odd(v, v)), 0);
}

/* The nearest even integer of |x| <= 2^22 as int32: in x + 1.5 * 2^23 it stands in the mantissa's low bits. */
QW_SIMD_INLINE qw_v128 qw_i32x4_nearest(qw_v128 x)
{
    return qw_i32x4_sub(qw_f32x4_add(x, qw_f32x4_splat(12582912.0f)), qw_i32x4_splat(0x4b400000));
}

/* Four float16 as uint32 lanes, widened: exact, subnormal, infinite and NaN included. The magnitude's bits, moved to
 * float32's fields, are the number times 2^-112; exponent 31 (infinite or NaN) becomes 255. */
QW_SIMD_INLINE qw_v128 qw_f32x4_from_f16(qw_v128 half)
{
    qw_v128 bits = qw_and(qw_i32x4_shr(qw_i32x4_shl(half, 16), 3), qw_i32x4_splat((int32_t)0x8fffffffu));
    qw_v128 x = qw_f32x4_mul(bits, qw_i32x4_splat(0x77800000));
    qw_v128 huge = qw_f32x4_ge(qw_f32x4_abs(x), qw_f32x4_splat(65536.0f));
    return qw_or(x, qw_and(huge, qw_i32x4_splat(0x7f800000)));
}

/* From 8 bytes at p. */
QW_SIMD_INLINE qw_v128 qw_load_f16x4(const void *p)
{
    return qw_f32x4_from_f16(qw_i32x4_extend_low_u16x8(qw_load64_zero(p)));
}

QW_SIMD_INLINE qw_v128 qw_load_bf16x4(const void *p)
{
    return qw_i32x4_shl(qw_i32x4_extend_low_u16x8(qw_load64_zero(p)), 16);
}

/* Four float16 in uint32 lanes: nearest even, overflow to infinity, NaN to a quiet NaN, subnormals kept. Magnitudes of
 * normal halves are rounded in the integer; below 2^-14 adding 0.5 lines the mantissa up so that the hardware rounds.
 * */
QW_SIMD_INLINE qw_v128 qw_u32x4_to_f16(qw_v128 x)
{
    qw_v128 sign = qw_and(qw_u32x4_shr(x, 16), qw_i32x4_splat(0x8000));
    qw_v128 mag = qw_f32x4_abs(x);
    qw_v128 odd = qw_and(qw_u32x4_shr(mag, 13), qw_i32x4_splat(1));
    qw_v128 normal = qw_i32x4_sub(qw_i32x4_add(mag, odd), qw_i32x4_splat(0x38000000 - 0xfff));
    qw_v128 small = qw_i32x4_sub(qw_f32x4_add(mag, qw_f32x4_splat(0.5f)), qw_i32x4_splat(0x3f000000));
    qw_v128 half = qw_i32x4_min(qw_u32x4_shr(normal, 13), qw_i32x4_splat(0x7c00));

    half = qw_select(qw_i32x4_gt(qw_i32x4_splat(0x38800000), mag), small, half);
    half = qw_select(qw_i32x4_gt(mag, qw_i32x4_splat(0x7f800000)), qw_i32x4_splat(0x7e00), half);
    return qw_or(half, sign);
}

#endif
