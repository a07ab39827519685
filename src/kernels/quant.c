/* SPDX-License-Identifier: MIT
 * Decoders of the file formats' blocks, the dequantisation built on them, and the two encoders for float checkpoints.
 * */
#include "kernels/quant.h"

#include "kernels/quant_iq.h"
#include "base/assert.h"
#include "base/simd.h"

#include <string.h>

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float half(const uint8_t *p)
{
    return qw_f16_to_f32(u16(p));
}

/* The bits `shift` and up of each byte, as many as mask has. */
static qw_v128 bits(qw_v128 v, unsigned shift, int mask)
{
    return qw_and(qw_u16x8_shr(v, shift), qw_i8x16_splat((int8_t)mask));
}

/* 2^shift times that. */
static qw_v128 bits_at(qw_v128 v, unsigned from, int mask, unsigned to)
{
    return qw_i16x8_shl(bits(v, from, mask), to);
}

/* Byte j is 16 where bit j is set. */
static qw_v128 spread16(uint32_t sixteen)
{
    static const uint8_t single[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
    uint64_t both[2] = {(sixteen & 255) * 0x0101010101010101u, (sixteen >> 8 & 255) * 0x0101010101010101u};
    qw_v128 unset = qw_i8x16_eq(qw_and(qw_load(both), qw_load(single)), qw_zero());

    return qw_andnot(qw_i8x16_splat(16), unset);
}

static void decode_q2_k(qw_codes *out, const uint8_t *block)
{
    out->d = half(block + 80);
    out->dmin = -half(block + 82);
    for (unsigned i = 0; i < 16; i++)
        qw_store(out->q + 16 * i, bits(qw_load(block + 16 + i / 8 * 32 + i % 2 * 16), i / 2 % 4 * 2, 3));
    qw_store(out->scale, bits(qw_load(block), 0, 15));
    qw_store(out->min, bits(qw_load(block), 4, 15));
}

static void decode_q3_k(qw_codes *out, const uint8_t *block)
{
    const uint8_t *scales = block + 96;

    out->d = half(block + 108);
    for (unsigned i = 0; i < 16; i++) {
        qw_v128 low = bits(qw_load(block + 32 + i / 8 * 32 + i % 2 * 16), i / 2 % 4 * 2, 3);
        qw_store(out->q + 16 * i, qw_or(low, bits_at(qw_load(block + i % 2 * 16), i / 2, 1, 2)));
    }
    for (int g = 0; g < 16; g++) {
        int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
        int high = scales[8 + g % 4] >> (g / 4 * 2) & 3;
        out->scale[g] = (int8_t)((low | high << 4) - 32);
    }
}

/* The 6-bit scales and minima of q4_k and q5_k in 12 bytes: the first four in the low 6 bits of bytes 0..7, the last
 * four split into 4 bits of bytes 8..11 and the two high bits of bytes 0..7. */
static void scales_k4(qw_codes *out, const uint8_t *block)
{
    const uint8_t *s = block + 4;

    out->d = half(block);
    out->dmin = -half(block + 2);
    for (int g = 0; g < 4; g++) {
        out->scale[g] = s[g] & 63;
        out->min[g] = s[g + 4] & 63;
        out->scale[g + 4] = (int8_t)((s[g + 8] & 15) | s[g] >> 6 << 4);
        out->min[g + 4] = (int8_t)(s[g + 8] >> 4 | s[g + 4] >> 6 << 4);
    }
}

static void decode_q4_k(qw_codes *out, const uint8_t *block)
{
    scales_k4(out, block);
    for (unsigned i = 0; i < 16; i++)
        qw_store(out->q + 16 * i, bits(qw_load(block + 16 + i / 4 * 32 + i % 2 * 16), i / 2 % 2 * 4, 15));
}

static void decode_q5_k(qw_codes *out, const uint8_t *block)
{
    scales_k4(out, block);
    for (unsigned i = 0; i < 16; i++) {
        qw_v128 low = bits(qw_load(block + 48 + i / 4 * 32 + i % 2 * 16), i / 2 % 2 * 4, 15);
        qw_store(out->q + 16 * i, qw_or(low, bits_at(qw_load(block + 16 + i % 2 * 16), i / 2, 1, 4)));
    }
}

static void decode_q6_k(qw_codes *out, const uint8_t *block)
{
    out->d = half(block + 208);
    for (unsigned i = 0; i < 16; i++) {
        qw_v128 low = bits(qw_load(block + i / 8 * 64 + i % 4 * 16), i / 4 % 2 * 4, 15);
        qw_v128 high = qw_load(block + 128 + i / 8 * 32 + i % 2 * 16);
        qw_store(out->q + 16 * i, qw_or(low, bits_at(high, i / 2 % 4 * 2, 3, 4)));
    }
    memcpy(out->scale, block + 192, 16);
}

/* Weight j in the low nibbles, j + 16 in the high ones; bit j of a 32-bit number before them, where there is one, is
 * weight j's fifth bit. */
static void codes_32(qw_codes *out, const uint8_t *nibbles, const uint8_t *fifth)
{
    qw_v128 v = qw_load(nibbles);

    out->scale[0] = out->min[0] = 1;
    qw_store(out->q, qw_or(bits(v, 0, 15), fifth ? spread16(u16(fifth)) : qw_zero()));
    qw_store(out->q + 16, qw_or(bits(v, 4, 15), fifth ? spread16(u16(fifth + 2)) : qw_zero()));
}

static void decode_q4_0(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    codes_32(out, block + 2, NULL);
}

static void decode_q5_0(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    codes_32(out, block + 6, block + 2);
}

static void decode_q4_1(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    out->dmin = half(block + 2);
    codes_32(out, block + 4, NULL);
}

static void decode_q5_1(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    out->dmin = half(block + 2);
    codes_32(out, block + 8, block + 4);
}

static void decode_q8_0(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    out->scale[0] = 1;
    memcpy(out->q, block + 2, 32);
}

void qw_quant_decode(qw_codes *out, const uint8_t *block, qw_dtype type)
{
    QW_ASSERT(qw_dtype_block(type) > 1);
    switch ((int)type) {
#define DECODE(NAME, name, ...)                                                                                        \
    case QW_##NAME:                                                                                                    \
        decode_##name(out, block);                                                                                     \
        break;
        QW_LINEAR_DTYPES(DECODE)
    default:
        qw_levels_decode(out, block, type);
    }
}

/* Four elements at a time where there are four. */
static void widen(float *out, const uint8_t *p, qw_dtype type, int64_t n)
{
    int64_t i = 0;

    for (; i + 4 <= n; i += 4) qw_store(out + i, type == QW_F16 ? qw_load_f16x4(p + 2 * i) : qw_load_bf16x4(p + 2 * i));
    for (; i < n; i++) out[i] = type == QW_F16 ? half(p + 2 * i) : qw_bf16_to_f32(u16(p + 2 * i));
}

static void dequantize_blocks(float *out, const uint8_t *row, qw_dtype type, int64_t blocks)
{
    qw_layout_traits t = qw_layout_traits_of(qw_layout_for(type, QW_QUANTIZE_NONE));
    int32_t block = qw_dtype_block(type), group = t.halves ? 16 : 32;
    qw_codes c = {0};

    for (int64_t b = 0; b < blocks; b++, row += qw_dtype_block_bytes(type), out += block) {
        qw_quant_decode(&c, row, type);
        for (int32_t i = 0; i < block; i++) {
            int32_t number = t.levels ? qw_levels_of(type)[c.q[i]] : c.q[i] - t.offset;
            float w = c.d * (float)c.scale[i / group] * (float)number;
            out[i] = t.has_min ? w + c.dmin * (float)c.min[i / group] : w;
        }
    }
}

void qw_dequantize(float *out, const uint8_t *row, qw_dtype type, int64_t cols)
{
    QW_ASSERT(cols % qw_dtype_block(type) == 0);
    if (type == QW_F32) memcpy(out, row, (size_t)cols * sizeof *out);
    else if (qw_dtype_block(type) == 1) widen(out, row, type, cols);
    else dequantize_blocks(out, row, type, cols / qw_dtype_block(type));
}

/* Nearest even codes of x * inverse, |x * inverse| <= 127.5. */
static void codes_of(int8_t q[32], const float *x, float inverse)
{
    for (int i = 0; i < 32; i += 16) {
        qw_v128 v[4];
        for (int k = 0; k < 4; k++)
            v[k] = qw_i32x4_nearest(qw_f32x4_mul(qw_load(x + i + 4 * k), qw_f32x4_splat(inverse)));
        qw_store(q + i, qw_i8x16_narrow(qw_i16x8_narrow(v[0], v[1]), qw_i16x8_narrow(v[2], v[3])));
    }
}

/* The largest and the smallest of 32 floats; false where one is not finite. */
static bool range_of(float *most, float *least, const float *x)
{
    qw_v128 high = qw_load(x), low = high, bad = qw_zero();

    for (int i = 0; i < 32; i += 4) {
        qw_v128 v = qw_load(x + i);
        bad = qw_or(bad, qw_i32x4_gt(qw_f32x4_abs(v), qw_i32x4_splat(0x7f7fffff)));
        high = qw_f32x4_max(high, v);
        low = qw_f32x4_min(low, v);
    }
    *most = qw_f32x4_hmax(high);
    *least = -qw_f32x4_hmax(qw_f32x4_neg(low));
    return !qw_any(bad);
}

void qw_quant_encode(uint8_t *block, const float *x, qw_dtype type)
{
    float most, least, scale;
    bool finite = range_of(&most, &least, x);
    uint16_t number;
    int8_t q[32] = {0};

    if (type == QW_Q8_0) scale = (most > -least ? most : -least) / 127.0f;
    else scale = (most >= -least ? most : least) / -8.0f;
    number = finite ? qw_f32_to_f16(scale) : 0x7e00;
    /* A scale that float16 makes zero holds nothing; one beyond its range is the infinity that the logits will
     * report. */
    if (finite && (number & 0x7fff)) codes_of(q, x, 1.0f / scale);
    block[0] = (uint8_t)number;
    block[1] = (uint8_t)(number >> 8);
    if (type == QW_Q8_0) {
        memcpy(block + 2, q, 32);
    } else {
        qw_v128 low = qw_i8x16_add(qw_load(q), qw_i8x16_splat(8)),
                high = qw_i8x16_add(qw_load(q + 16), qw_i8x16_splat(8));
        low = qw_i8x16_add(low, qw_i8x16_gt(low, qw_i8x16_splat(15)));
        high = qw_i8x16_add(high, qw_i8x16_gt(high, qw_i8x16_splat(15)));
        qw_store(block + 2, qw_or(low, qw_i16x8_shl(high, 4)));
    }
}
