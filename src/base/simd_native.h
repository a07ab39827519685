/* SPDX-License-Identifier: MIT
 * simd.h's vocabulary on the vector extensions of GCC and Clang, for any machine, with the bits of WebAssembly's
 * operations; on x86-64 a few take the SSE2 instruction that the extensions cannot name. Included by simd.h only. */
#ifndef QW_SIMD_NATIVE_H
#define QW_SIMD_NATIVE_H

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef int32_t qw_v128 __attribute__((vector_size(16)));
typedef float qw_vf32 __attribute__((vector_size(16)));
typedef uint32_t qw_vu32 __attribute__((vector_size(16)));
typedef int64_t qw_vi64 __attribute__((vector_size(16)));
typedef int16_t qw_vi16 __attribute__((vector_size(16)));
typedef uint16_t qw_vu16 __attribute__((vector_size(16)));
typedef int8_t qw_vi8 __attribute__((vector_size(16)));
typedef uint8_t qw_vu8 __attribute__((vector_size(16)));

#define QW_SIMD_INLINE static inline __attribute__((always_inline))
#define QW_SIMD_OP(name, type, op)                                                                                     \
    QW_SIMD_INLINE qw_v128 name(qw_v128 a, qw_v128 b)                                                                  \
    {                                                                                                                  \
        return (qw_v128)((type)a op(type) b);                                                                          \
    }
#define QW_SIMD_SHIFT(name, type, op)                                                                                  \
    QW_SIMD_INLINE qw_v128 name(qw_v128 a, unsigned n)                                                                 \
    {                                                                                                                  \
        return (qw_v128)((type)a op(int) n);                                                                           \
    }
#define QW_SIMD_SHUFFLE(name, type, ...)                                                                               \
    QW_SIMD_INLINE qw_v128 name(qw_v128 a, qw_v128 b)                                                                  \
    {                                                                                                                  \
        return (qw_v128)__builtin_shufflevector((type)a, (type)b, __VA_ARGS__);                                        \
    }

QW_SIMD_INLINE qw_v128 qw_load(const void *p)
{
    qw_v128 v;
    memcpy(&v, p, sizeof v);
    return v;
}

QW_SIMD_INLINE void qw_store(void *p, qw_v128 v)
{
    memcpy(p, &v, sizeof v);
}

QW_SIMD_INLINE qw_v128 qw_load32_splat(const void *p)
{
    int32_t x;
    memcpy(&x, p, sizeof x);
    return (qw_v128){x, x, x, x};
}

QW_SIMD_INLINE qw_v128 qw_load64_zero(const void *p)
{
    int64_t x;
    memcpy(&x, p, sizeof x);
    return (qw_v128)(qw_vi64){x, 0};
}

QW_SIMD_INLINE qw_v128 qw_zero(void)
{
    return (qw_v128){0, 0, 0, 0};
}

QW_SIMD_INLINE qw_v128 qw_f32x4_splat(float x)
{
    return (qw_v128)(qw_vf32){x, x, x, x};
}

QW_SIMD_INLINE qw_v128 qw_i32x4_splat(int32_t x)
{
    return (qw_v128){x, x, x, x};
}

QW_SIMD_INLINE qw_v128 qw_i16x8_splat(int16_t x)
{
    return (qw_v128)(qw_vi16){x, x, x, x, x, x, x, x};
}

QW_SIMD_INLINE qw_v128 qw_i8x16_splat(int8_t x)
{
    return (qw_v128)(qw_vi8){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

QW_SIMD_INLINE qw_v128 qw_opaque(qw_v128 v)
{
    return v;
}

QW_SIMD_OP(qw_and, qw_v128, &)
QW_SIMD_OP(qw_or, qw_v128, |)
QW_SIMD_OP(qw_xor, qw_v128, ^)

QW_SIMD_INLINE qw_v128 qw_andnot(qw_v128 a, qw_v128 b)
{
    return a & ~b;
}

QW_SIMD_INLINE qw_v128 qw_select(qw_v128 mask, qw_v128 a, qw_v128 b)
{
    return (a & mask) | (b & ~mask);
}

QW_SIMD_INLINE int qw_any(qw_v128 a)
{
    return (a[0] | a[1] | a[2] | a[3]) != 0;
}

QW_SIMD_OP(qw_f32x4_add, qw_vf32, +)
QW_SIMD_OP(qw_f32x4_sub, qw_vf32, -)
QW_SIMD_OP(qw_f32x4_mul, qw_vf32, *)
QW_SIMD_OP(qw_f32x4_div, qw_vf32, /)
QW_SIMD_OP(qw_f32x4_eq, qw_vf32, ==)
QW_SIMD_OP(qw_f32x4_lt, qw_vf32, <)
QW_SIMD_OP(qw_f32x4_le, qw_vf32, <=)
QW_SIMD_OP(qw_f32x4_gt, qw_vf32, >)
QW_SIMD_OP(qw_f32x4_ge, qw_vf32, >=)

QW_SIMD_INLINE qw_v128 qw_f32x4_min(qw_v128 a, qw_v128 b)
{
    return qw_select(qw_f32x4_lt(b, a), b, a);
}

QW_SIMD_INLINE qw_v128 qw_f32x4_max(qw_v128 a, qw_v128 b)
{
    return qw_select(qw_f32x4_lt(a, b), b, a);
}

QW_SIMD_INLINE qw_v128 qw_f32x4_abs(qw_v128 a)
{
    return a & 0x7fffffff;
}

QW_SIMD_INLINE qw_v128 qw_f32x4_neg(qw_v128 a)
{
    return a ^ INT32_MIN;
}

QW_SIMD_INLINE qw_v128 qw_f32x4_convert_i32x4(qw_v128 a)
{
    return (qw_v128) __builtin_convertvector(a, qw_vf32);
}

/* Sums wrap, as unsigned lanes do without undefined behaviour. */
QW_SIMD_OP(qw_i32x4_add, qw_vu32, +)
QW_SIMD_OP(qw_i32x4_sub, qw_vu32, -)
QW_SIMD_OP(qw_i32x4_mul, qw_vu32, *)
QW_SIMD_OP(qw_i32x4_gt, qw_v128, >)
QW_SIMD_SHIFT(qw_i32x4_shl, qw_vu32, <<)
QW_SIMD_SHIFT(qw_i32x4_shr, qw_v128, >>)
QW_SIMD_SHIFT(qw_u32x4_shr, qw_vu32, >>)

QW_SIMD_INLINE qw_v128 qw_i32x4_min(qw_v128 a, qw_v128 b)
{
    return qw_select(b < a, b, a);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_max(qw_v128 a, qw_v128 b)
{
    return qw_select(a < b, b, a);
}

QW_SIMD_OP(qw_i16x8_add, qw_vu16, +)
QW_SIMD_OP(qw_i16x8_mul, qw_vu16, *)
QW_SIMD_SHIFT(qw_i16x8_shl, qw_vu16, <<)
QW_SIMD_SHIFT(qw_i16x8_shr, qw_vi16, >>)
QW_SIMD_SHIFT(qw_u16x8_shr, qw_vu16, >>)
QW_SIMD_OP(qw_i8x16_add, qw_vu8, +)
QW_SIMD_OP(qw_i8x16_eq, qw_vi8, ==)

QW_SIMD_INLINE qw_v128 qw_i8x16_choose(qw_v128 table, qw_v128 index)
{
    qw_vi8 out;

    for (int i = 0; i < 16; i++) out[i] = ((qw_vi8)table)[((qw_vi8)index)[i] & 15];
    return (qw_v128)out;
}
QW_SIMD_OP(qw_i8x16_gt, qw_vi8, >)

QW_SIMD_SHUFFLE(qw_i8x16_zip_low, qw_vi8, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
QW_SIMD_SHUFFLE(qw_i8x16_zip_high, qw_vi8, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
QW_SIMD_SHUFFLE(qw_i16x8_zip_low, qw_vi16, 0, 8, 1, 9, 2, 10, 3, 11)
QW_SIMD_SHUFFLE(qw_i16x8_zip_high, qw_vi16, 4, 12, 5, 13, 6, 14, 7, 15)
QW_SIMD_SHUFFLE(qw_i32x4_even, qw_v128, 0, 2, 4, 6)
QW_SIMD_SHUFFLE(qw_i32x4_odd, qw_v128, 1, 3, 5, 7)
QW_SIMD_SHUFFLE(qw_i32x4_zip_low, qw_v128, 0, 4, 1, 5)
QW_SIMD_SHUFFLE(qw_i32x4_zip_high, qw_v128, 2, 6, 3, 7)
QW_SIMD_SHUFFLE(qw_i64x2_low, qw_vi64, 0, 2)
QW_SIMD_SHUFFLE(qw_i64x2_high, qw_vi64, 1, 3)

QW_SIMD_INLINE qw_v128 qw_i16x8_extend_low_i8x16(qw_v128 a)
{
    return qw_i16x8_shr(qw_i8x16_zip_low(a, a), 8);
}

QW_SIMD_INLINE qw_v128 qw_i16x8_extend_high_i8x16(qw_v128 a)
{
    return qw_i16x8_shr(qw_i8x16_zip_high(a, a), 8);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_extend_low_i16x8(qw_v128 a)
{
    return qw_i32x4_shr(qw_i16x8_zip_low(a, a), 16);
}

QW_SIMD_INLINE qw_v128 qw_load_i16x4(const void *p)
{
    return qw_i32x4_extend_low_i16x8(qw_load64_zero(p));
}

QW_SIMD_INLINE qw_v128 qw_i32x4_extend_high_i16x8(qw_v128 a)
{
    return qw_i32x4_shr(qw_i16x8_zip_high(a, a), 16);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_extend_low_u16x8(qw_v128 a)
{
    return qw_i16x8_zip_low(a, qw_zero());
}

#ifdef __SSE2__
QW_SIMD_INLINE qw_v128 qw_i32x4_dot(qw_v128 a, qw_v128 b)
{
    return (qw_v128)_mm_madd_epi16((__m128i)a, (__m128i)b);
}

QW_SIMD_INLINE qw_v128 qw_i16x8_add_sat(qw_v128 a, qw_v128 b)
{
    return (qw_v128)_mm_adds_epi16((__m128i)a, (__m128i)b);
}

QW_SIMD_INLINE qw_v128 qw_i16x8_narrow(qw_v128 a, qw_v128 b)
{
    return (qw_v128)_mm_packs_epi32((__m128i)a, (__m128i)b);
}

QW_SIMD_INLINE qw_v128 qw_i8x16_narrow(qw_v128 a, qw_v128 b)
{
    return (qw_v128)_mm_packs_epi16((__m128i)a, (__m128i)b);
}
#else
/* A sum has overflowed where its sign is unlike that of both terms. */
QW_SIMD_INLINE qw_v128 qw_i16x8_add_sat(qw_v128 a, qw_v128 b)
{
    qw_v128 sum = qw_i16x8_add(a, b);
    qw_v128 over = qw_i16x8_shr((sum ^ a) & (sum ^ b), 15);
    return qw_select(over, qw_i16x8_shr(a, 15) ^ qw_i16x8_splat(INT16_MAX), sum);
}

QW_SIMD_INLINE qw_v128 qw_i32x4_dot(qw_v128 a, qw_v128 b)
{
    qw_v128 even = qw_i32x4_mul(qw_i32x4_shr(qw_i32x4_shl(a, 16), 16), qw_i32x4_shr(qw_i32x4_shl(b, 16), 16));
    return qw_i32x4_add(even, qw_i32x4_mul(qw_i32x4_shr(a, 16), qw_i32x4_shr(b, 16)));
}

QW_SIMD_INLINE qw_v128 qw_i16x8_narrow(qw_v128 a, qw_v128 b)
{
    qw_v128 low = qw_i32x4_splat(INT16_MIN), high = qw_i32x4_splat(INT16_MAX);
    a = qw_i32x4_max(qw_i32x4_min(a, high), low);
    b = qw_i32x4_max(qw_i32x4_min(b, high), low);
    return (qw_v128)__builtin_shufflevector((qw_vi16)a, (qw_vi16)b, 0, 2, 4, 6, 8, 10, 12, 14);
}

QW_SIMD_INLINE qw_v128 qw_i8x16_narrow(qw_v128 a, qw_v128 b)
{
    qw_vi8 r;
    for (int i = 0; i < 16; i++) {
        int16_t x = i < 8 ? ((qw_vi16)a)[i & 7] : ((qw_vi16)b)[i & 7];
        r[i] = (int8_t)(x > 127 ? 127 : x < -128 ? -128 : x);
    }
    return (qw_v128)r;
}
#endif

QW_SIMD_INLINE qw_v128 qw_i32x4_pair_sums(qw_v128 a)
{
    return qw_i32x4_dot(a, qw_i16x8_splat(1));
}

#define qw_f32x4_lane(v, i) (((qw_vf32)(v))[i])
#define qw_i32x4_lane(v, i) ((v)[i])

/* The relaxed kernels, for tests: QW_RELAXED_MODEL 1 reads the second operand as signed (ARM's sdot), 2 and 3 as
 * unsigned, 2 with the int16 sums of x86's pmaddubsw throughout, 3 with AVX-VNNI's int32 sums of four products. */
#ifdef QW_RELAXED_MODEL
#define QW_RELAXED 1
QW_SIMD_INLINE qw_v128 qw_i16x8_relaxed_dot(qw_v128 a, qw_v128 b)
{
    qw_vi16 r;
    for (int i = 0; i < 8; i++) {
        int32_t sum = 0;
        for (int j = 2 * i; j < 2 * i + 2; j++)
            sum += ((qw_vi8)a)[j] * (QW_RELAXED_MODEL == 1 ? ((qw_vi8)b)[j] : ((qw_vu8)b)[j]);
        if (QW_RELAXED_MODEL > 1) sum = sum > INT16_MAX ? INT16_MAX : sum < INT16_MIN ? INT16_MIN : sum;
        r[i] = (int16_t)(uint16_t)sum;
    }
    return (qw_v128)r;
}

QW_SIMD_INLINE qw_v128 qw_i32x4_relaxed_dot_add(qw_v128 a, qw_v128 b, qw_v128 sum)
{
#if QW_RELAXED_MODEL == 2
    return qw_i32x4_add(sum, qw_i32x4_pair_sums(qw_i16x8_relaxed_dot(a, b)));
#else
    for (int i = 0; i < 16; i++)
        sum[i / 4] += ((qw_vi8)a)[i] * (QW_RELAXED_MODEL == 1 ? ((qw_vi8)b)[i] : ((qw_vu8)b)[i]);
    return sum;
#endif
}
#else
#define QW_RELAXED 0
#endif

#endif
