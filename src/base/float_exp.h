/* SPDX-License-Identifier: MIT
 * Powers in float32, four at a time: e^x in one piece of code, and 2^x. exact_math.h has those in double.
 *
 * e^x = 2^n e^r with n = nearest(x / ln 2), and r = x - n ln 2 in +-0.347 by two parts of ln 2; e^r = 1 + r + r^2 q(r)
 * with a polynomial q. Two sets of constants are in use. qw_exp_full() serves all x; qw_exp_weight() the weights of a
 * softmax, x <= 0, and is nearer there. They stay two: of the floats from -87 to 0 one in sixty gets another last bit
 * from the other set, and with it another logit or another probability, so that dropping one changes published
 * results. */
#ifndef QW_FLOAT_EXP_H
#define QW_FLOAT_EXP_H

#include "base/simd.h"

#define QW_EXP_LOW (-87.336540f) /* below, results would be subnormal */
#define QW_EXP_HIGH 88.722832f
#define QW_EXP_WEIGHT_LOW (-87.0f)

/* Made once before a loop. ln2: the second part is taken away, too. */
typedef struct qw_exp_constants {
    qw_v128 magic, log2e, ln2[2], c[5], one, low;
} qw_exp_constants;

QW_SIMD_INLINE qw_exp_constants qw_make_exp(const float c[5], float ln2_high, float ln2_low, float low)
{
    qw_exp_constants k;

    k.magic = qw_opaque(qw_f32x4_splat(12582912.0f));
    k.log2e = qw_opaque(qw_f32x4_splat(1.44269504f));
    k.ln2[0] = qw_opaque(qw_f32x4_splat(ln2_high));
    k.ln2[1] = qw_opaque(qw_f32x4_splat(ln2_low));
    for (int i = 0; i < 5; i++) k.c[i] = qw_opaque(qw_f32x4_splat(c[i]));
    k.one = qw_opaque(qw_f32x4_splat(1.0f));
    k.low = qw_opaque(qw_f32x4_splat(low));
    return k;
}

/* q: a minimax polynomial, relative error 3.1e-9. */
QW_SIMD_INLINE qw_exp_constants qw_exp_full(void)
{
    static const float c[] = {0.0013814433f, 0.0083687967f, 0.041668396f, 0.16666520f, 0.49999993f};

    return qw_make_exp(c, 0.693359375f, -2.12194440e-4f, QW_EXP_LOW);
}

/* q: a least-squares fit of (e^r - 1 - r) / r^2 at Chebyshev nodes, weighted by r^2. */
QW_SIMD_INLINE qw_exp_constants qw_exp_weight(void)
{
    static const float c[] = {0.00139464682f, 0.00836917944f, 0.0416662619f, 0.166665152f, 0.5f};

    return qw_make_exp(c, 0.693145752f, 1.42860677e-6f, QW_EXP_WEIGHT_LOW);
}

/* e^x from k->low to QW_EXP_HIGH; anything elsewhere. */
QW_SIMD_INLINE qw_v128 qw_f32x4_exp_inside(qw_v128 x, const qw_exp_constants *k)
{
    qw_v128 t = qw_f32x4_add(qw_f32x4_mul(x, k->log2e), k->magic);
    qw_v128 n = qw_f32x4_sub(t, k->magic);
    qw_v128 r = qw_f32x4_sub(x, qw_f32x4_mul(n, k->ln2[0]));
    qw_v128 q = k->c[0];

    r = qw_f32x4_sub(r, qw_f32x4_mul(n, k->ln2[1]));
    for (int i = 1; i < 5; i++) q = qw_f32x4_add(qw_f32x4_mul(q, r), k->c[i]);
    q = qw_f32x4_add(qw_f32x4_mul(qw_f32x4_mul(r, r), q), r);
    q = qw_f32x4_add(q, k->one);
    /* t's low bits are n; added to the exponent they scale exactly, as no result in the range leaves the normal
     * floats. */
    return qw_i32x4_add(q, qw_i32x4_shl(t, 23));
}

/* e^x, k = qw_exp_full(): at most 2 ulp off; 0 below QW_EXP_LOW, +inf above QW_EXP_HIGH, NaN stays NaN; e^0 = 1. */
QW_SIMD_INLINE qw_v128 qw_f32x4_exp(qw_v128 x, const qw_exp_constants *k)
{
    qw_v128 high = qw_f32x4_gt(x, qw_f32x4_splat(QW_EXP_HIGH));
    qw_v128 y = qw_andnot(qw_f32x4_exp_inside(x, k), qw_f32x4_lt(x, k->low));

    y = qw_select(qw_f32x4_eq(x, x), y, x);
    return qw_select(high, qw_i32x4_splat(0x7f800000), y);
}

/* e^x for x <= 0, k = qw_exp_weight(): within 1.4 * 2^-24; 0 below QW_EXP_WEIGHT_LOW and for NaN; e^0 = 1. */
QW_SIMD_INLINE qw_v128 qw_f32x4_exp_weight(qw_v128 x, const qw_exp_constants *k)
{
    return qw_and(qw_f32x4_exp_inside(x, k), qw_f32x4_ge(x, k->low));
}

/* 2^x of four floats x <= 0, for the softmax of attention, whose scores are brought to powers of 2 by the factor that
 * they need anyway: at most 2.2 ulp off from -126 up, 0 below; 2^0 = 1. n + r with n = nearest(x), r in +-0.5, and
 * 2^r = 1 + r q(r), q a minimax polynomial (relative error 9.2e-8). A NaN stays one where its low 9 bits are 0, as in
 * those that operations make. */
typedef struct qw_exp2_constants {
    qw_v128 magic, c[5], one, low;
} qw_exp2_constants;

QW_SIMD_INLINE qw_exp2_constants qw_make_exp2(void)
{
    static const float c[] = {0.0013264727f, 0.0096715130f, 0.055507336f, 0.24022242f, 0.69314700f};
    qw_exp2_constants k;

    k.magic = qw_opaque(qw_f32x4_splat(12582912.0f));
    for (int i = 0; i < 5; i++) k.c[i] = qw_opaque(qw_f32x4_splat(c[i]));
    k.one = qw_opaque(qw_f32x4_splat(1.0f));
    k.low = qw_opaque(qw_f32x4_splat(-126.0f));
    return k;
}

QW_SIMD_INLINE qw_v128 qw_f32x4_exp2(qw_v128 x, const qw_exp2_constants *k)
{
    qw_v128 t = qw_f32x4_add(x, k->magic);
    qw_v128 r = qw_f32x4_sub(x, qw_f32x4_sub(t, k->magic));
    qw_v128 q = k->c[0];

    for (int i = 1; i < 5; i++) q = qw_f32x4_add(qw_f32x4_mul(q, r), k->c[i]);
    q = qw_f32x4_add(qw_f32x4_mul(q, r), k->one);
    q = qw_i32x4_add(q, qw_i32x4_shl(t, 23));
    return qw_andnot(q, qw_f32x4_lt(x, k->low));
}

#endif
