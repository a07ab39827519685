/* SPDX-License-Identifier: MIT
 * One panel times tiles of four tokens: some hundred columns of the panel are unpacked into a buffer that stays in the L1
 * cache and meets all tokens there. Layouts that differ only in how they are packed share a kernel from here on. */
#include "kernel_block.h"

/* BASE wants int16 with the offset taken away, the relaxed dots bytes. */
QW_SIMD_INLINE void unpack_codes(int16_t *out, recipe c, const uint8_t *codes)
{
    qw_v128 offset = qw_i16x8_splat((int16_t)c.t.offset);

    QW_UNROLL
    for (int k = 0; k < 8; k++) {
        if (c.kernel == QW_KERNEL_BASE) {
            qw_store(out + 16 * k, qw_i16x8_sub(chunk_wide(c, codes, k, 0), offset));
            qw_store(out + 16 * k + 8, qw_i16x8_sub(chunk_wide(c, codes, k, 1), offset));
        } else {
            qw_store(out + 8 * k, chunk_bytes(c, codes, k));
        }
    }
}

QW_SIMD_INLINE void unpack(qw_tile *tile, const uint8_t *panel, int32_t first, int32_t n, recipe c)
{
    const int32_t unit = qw_layout_unit_bytes(c.t);

    panel += (size_t)(first / c.t.blocks) * (size_t)unit;
    for (int32_t b = 0; b < n; b += c.t.blocks, panel += unit) {
        if (c.t.blocks == 8) {
            unit_scales(tile->scale + b, tile->min + b, tile->sub + b, tile->submin + b, c.t, panel);
        } else {
            qw_store(tile->scale[b], qw_load(panel));
            if (c.t.has_min) qw_store(tile->min[b], qw_load(panel + 16));
        }
        for (int32_t i = 0; i < c.t.blocks; i++)
            unpack_codes(tile->codes[b + i], c, panel + c.t.header + i * c.t.bits * 16);
    }
}

QW_SIMD_INLINE void multiply(float *acc, size_t stride, const qw_tile *tile, const qw_acts *a, int32_t token,
                             int32_t first, int32_t n, recipe c)
{
    enum { T = QW_TILE_TOKENS };
    operand x[T];
    qw_v128 sum[T];

    for (int t = 0; t < T; t++) {
        x[t] = operand_of(a, token + t, first);
        sum[t] = qw_load(acc + (size_t)t * stride);
    }
    for (int32_t b = 0; b < n; b++) {
        block_scales s = {tile->scale[b], tile->min[b], tile->sub[b], tile->submin[b]};
        block_add(sum, c, (const uint8_t *)tile->codes[b], s, x, T);
        for (int t = 0; t < T; t++) x[t] = (operand){x[t].q + QW_BLOCK, x[t].wide + QW_BLOCK, x[t].block + 1};
    }
    for (int t = 0; t < T; t++) qw_store(acc + (size_t)t * stride, sum[t]);
}

#define UNPACK(name, layout, kernel)                                                                                   \
    static void name(qw_tile *tile, const uint8_t *panel, int32_t first, int32_t n)                                    \
    {                                                                                                                  \
        unpack(tile, panel, first, n, make_recipe(layout, kernel, false));                                             \
    }
#define UNPACK_ALL(kernel, suffix)                                                                                     \
    UNPACK(unpack_i8_##suffix, QW_LAYOUT_I8, kernel)                                                                   \
    UNPACK(unpack_u4_##suffix, QW_LAYOUT_U4, kernel)                                                                   \
    UNPACK(unpack_u5_##suffix, QW_LAYOUT_U5, kernel)                                                                   \
    UNPACK(unpack_u4m_##suffix, QW_LAYOUT_U4M, kernel)                                                                 \
    UNPACK(unpack_u5m_##suffix, QW_LAYOUT_U5M, kernel)                                                                 \
    UNPACK(unpack_k4m_##suffix, QW_LAYOUT_K4M, kernel)                                                                 \
    UNPACK(unpack_k5m_##suffix, QW_LAYOUT_K5M, kernel)                                                                 \
    UNPACK(unpack_k6_##suffix, QW_LAYOUT_K6, kernel)                                                                   \
    UNPACK(unpack_k4_##suffix, QW_LAYOUT_K4, kernel)                                                                   \
    UNPACK(unpack_k2m_##suffix, QW_LAYOUT_K2M, kernel)
#define UNPACK_ROW(suffix)                                                                                             \
    {                                                                                                                  \
        unpack_i8_##suffix, unpack_u4_##suffix, unpack_u5_##suffix, unpack_u4m_##suffix, unpack_u5m_##suffix,          \
            unpack_k4m_##suffix, unpack_k5m_##suffix, unpack_k6_##suffix, unpack_k4_##suffix, unpack_k2m_##suffix      \
    }

#define TILE(name, layout, kernel)                                                                                     \
    static void name(float *acc, size_t stride, const qw_tile *tile, const qw_acts *a, int32_t token, int32_t first,   \
                     int32_t n)                                                                                        \
    {                                                                                                                  \
        multiply(acc, stride, tile, a, token, first, n, make_recipe(layout, kernel, true));                            \
    }
#define TILE_ALL(kernel, suffix)                                                                                       \
    TILE(tile_i8_##suffix, QW_LAYOUT_I8, kernel)                                                                       \
    TILE(tile_u4_##suffix, QW_LAYOUT_U4, kernel)                                                                       \
    TILE(tile_u5_##suffix, QW_LAYOUT_U5, kernel)                                                                       \
    TILE(tile_u4m_##suffix, QW_LAYOUT_U4M, kernel)                                                                     \
    TILE(tile_u5m_##suffix, QW_LAYOUT_U5M, kernel)                                                                     \
    TILE(tile_k6_##suffix, QW_LAYOUT_K6, kernel)                                                                       \
    TILE(tile_k4_##suffix, QW_LAYOUT_K4, kernel)                                                                       \
    TILE(tile_k2m_##suffix, QW_LAYOUT_K2M, kernel)
#define TILE_ROW(suffix)                                                                                               \
    {                                                                                                                  \
        tile_i8_##suffix, tile_u4_##suffix, tile_u5_##suffix, tile_u4m_##suffix, tile_u5m_##suffix, tile_u4m_##suffix, \
            tile_u5m_##suffix, tile_k6_##suffix, tile_k4_##suffix, tile_k2m_##suffix                                   \
    }

UNPACK_ALL(QW_KERNEL_BASE, base)
TILE(tile_whole, QW_LAYOUT_U4, QW_KERNEL_BASE)
TILE(tile_min, QW_LAYOUT_U4M, QW_KERNEL_BASE)
TILE(tile_halves, QW_LAYOUT_K4, QW_KERNEL_BASE)
TILE(tile_halves_min, QW_LAYOUT_K2M, QW_KERNEL_BASE)
#if QW_RELAXED
UNPACK_ALL(QW_KERNEL_DOT32, bytes)
TILE_ALL(QW_KERNEL_DOT16, dot16)
TILE_ALL(QW_KERNEL_DOT32, dot32)
#endif

qw_kernel_unpack *qw_kernel_unpack_for(qw_layout layout, qw_kernel kernel)
{
    static qw_kernel_unpack *const table[][10] = {
        UNPACK_ROW(base),
#if QW_RELAXED
        UNPACK_ROW(bytes),
#endif
    };
    bool bytes = kernel == QW_KERNEL_DOT32 || (kernel == QW_KERNEL_DOT16 && layout != QW_LAYOUT_I8);

    return table[bytes][layout - QW_LAYOUT_I8];
}

qw_kernel_tile *qw_kernel_tile_for(qw_layout layout, qw_kernel kernel)
{
    static qw_kernel_tile *const table[][10] = {
        {tile_whole, tile_whole, tile_whole, tile_min, tile_min, tile_min, tile_min, tile_halves, tile_halves,
         tile_halves_min},
#if QW_RELAXED
        TILE_ROW(dot16),
        TILE_ROW(dot32),
#endif
    };

    return table[kernel][layout - QW_LAYOUT_I8];
}
