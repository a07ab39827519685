/* SPDX-License-Identifier: MIT
 * One panel times one token: codes are unpacked in registers as they stream in. */
#include "kernel_block.h"

/* Layouts whose unit is one block. */
QW_SIMD_INLINE void one_simple(float *out, const uint8_t *panel, const qw_acts *a, int32_t token, recipe c)
{
    const int32_t unit = qw_layout_unit_bytes(c.t), blocks = (a->cols + QW_BLOCK - 1) / QW_BLOCK;
    operand x = operand_of(a, token, 0);
    qw_v128 acc = qw_zero();

    for (int32_t b = 0; b < blocks; b++, panel += unit) {
        block_scales s = {(const float *)(const void *)panel, (const float *)(const void *)(panel + 16), NULL, NULL};
        block_add(&acc, c, panel + c.t.header, s, &x, 1);
        x = (operand){x.q + QW_BLOCK, x.wide + QW_BLOCK, x.block + 1};
    }
    qw_store(out, acc);
}

/* Layouts with sub-scales in units of 8 blocks. */
QW_SIMD_INLINE void one_super(float *out, const uint8_t *panel, const qw_acts *a, int32_t token, recipe c)
{
    float scale[8][4], min[8][4];
    int32_t sub[8][2][4], submin[8][2][4];
    operand x = operand_of(a, token, 0);
    qw_v128 acc = qw_zero();

    for (int32_t col = 0; col < a->cols; col += 8 * QW_BLOCK, panel += qw_layout_unit_bytes(c.t)) {
        unit_scales(scale, min, sub, submin, c.t, panel);
        for (int32_t b = 0; b < 8; b++) {
            block_scales s = {scale[b], min[b], (const int32_t(*)[4])sub[b], (const int32_t(*)[4])submin[b]};
            block_add(&acc, c, panel + c.t.header + b * c.t.bits * 16, s, &x, 1);
            x = (operand){x.q + QW_BLOCK, x.wide + QW_BLOCK, x.block + 1};
        }
    }
    qw_store(out, acc);
}

#define ONE(name, layout, kernel, shape)                                                                               \
    static void name(float *out, const uint8_t *panel, const qw_acts *a, int32_t token)                                \
    {                                                                                                                  \
        shape(out, panel, a, token, make_recipe(layout, kernel, false));                                               \
    }
#define ONE_ALL(kernel, suffix)                                                                                        \
    ONE(u4_##suffix, QW_LAYOUT_U4, kernel, one_simple)                                                                 \
    ONE(u5_##suffix, QW_LAYOUT_U5, kernel, one_simple)                                                                 \
    ONE(u4m_##suffix, QW_LAYOUT_U4M, kernel, one_simple)                                                               \
    ONE(u5m_##suffix, QW_LAYOUT_U5M, kernel, one_simple)                                                               \
    ONE(k4m_##suffix, QW_LAYOUT_K4M, kernel, one_super)                                                                \
    ONE(k5m_##suffix, QW_LAYOUT_K5M, kernel, one_super)                                                                \
    ONE(k6_##suffix, QW_LAYOUT_K6, kernel, one_super)                                                                  \
    ONE(k4_##suffix, QW_LAYOUT_K4, kernel, one_super)                                                                  \
    ONE(k2m_##suffix, QW_LAYOUT_K2M, kernel, one_super)
#define ROW(i8, suffix)                                                                                                \
    {                                                                                                                  \
        i8, u4_##suffix, u5_##suffix, u4m_##suffix, u5m_##suffix, k4m_##suffix, k5m_##suffix, k6_##suffix,             \
            k4_##suffix, k2m_##suffix                                                                                  \
    }

ONE(i8_base, QW_LAYOUT_I8, QW_KERNEL_BASE, one_simple)
ONE_ALL(QW_KERNEL_BASE, base)
#if QW_RELAXED
ONE(i8_dot32, QW_LAYOUT_I8, QW_KERNEL_DOT32, one_simple)
ONE_ALL(QW_KERNEL_DOT16, dot16)
ONE_ALL(QW_KERNEL_DOT32, dot32)
#endif

qw_kernel_one *qw_kernel_one_for(qw_layout layout, qw_kernel kernel)
{
    static qw_kernel_one *const table[][10] = {
        ROW(i8_base, base),
#if QW_RELAXED
        ROW(i8_base, dot16),
        ROW(i8_dot32, dot32),
#endif
    };

    return table[kernel][layout - QW_LAYOUT_I8];
}
