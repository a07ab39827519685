/* SPDX-License-Identifier: MIT
 * One panel of float32, float16 or bfloat16 weights times one token, in four chains of additions: column j belongs to
 * chain j mod 4. */
#include "kernel.h"
#include "simd.h"

QW_SIMD_INLINE qw_v128 column(qw_layout layout, const uint8_t *panel, int32_t col)
{
    if (layout == QW_LAYOUT_F32) return qw_load(panel + (size_t)col * 16);
    if (layout == QW_LAYOUT_F16) return qw_load_f16x4(panel + (size_t)col * 8);
    return qw_load_bf16x4(panel + (size_t)col * 8);
}

QW_SIMD_INLINE qw_v128 step(qw_v128 acc, qw_layout layout, const uint8_t *panel, const float *x, int32_t col)
{
    return qw_f32x4_add(acc, qw_f32x4_mul(column(layout, panel, col), qw_load32_splat(x + col)));
}

QW_SIMD_INLINE void one_float(float *out, const uint8_t *panel, const qw_acts *a, int32_t token, qw_layout layout)
{
    const float *x = a->x + (size_t)token * (size_t)a->cols;
    qw_v128 acc[4] = {qw_zero(), qw_zero(), qw_zero(), qw_zero()};
    int32_t col = 0;

    for (; col + 4 <= a->cols; col += 4)
        for (int i = 0; i < 4; i++) acc[i] = step(acc[i], layout, panel, x, col + i);
    for (int i = 0; col < a->cols; i++, col++) acc[i] = step(acc[i], layout, panel, x, col);
    qw_store(out, qw_f32x4_add(qw_f32x4_add(acc[0], acc[1]), qw_f32x4_add(acc[2], acc[3])));
}

static void one_f32(float *out, const uint8_t *panel, const qw_acts *a, int32_t token)
{
    one_float(out, panel, a, token, QW_LAYOUT_F32);
}

static void one_f16(float *out, const uint8_t *panel, const qw_acts *a, int32_t token)
{
    one_float(out, panel, a, token, QW_LAYOUT_F16);
}

static void one_bf16(float *out, const uint8_t *panel, const qw_acts *a, int32_t token)
{
    one_float(out, panel, a, token, QW_LAYOUT_BF16);
}

qw_kernel_one *qw_kernel_float_for(qw_layout layout)
{
    if (layout == QW_LAYOUT_F32) return one_f32;
    return layout == QW_LAYOUT_F16 ? one_f16 : one_bf16;
}
