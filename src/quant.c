/* SPDX-License-Identifier: MIT
 * Decoders of the file formats' blocks, the dequantisation built on them, and the two encoders for float checkpoints. */
#include "quant.h"

#include <math.h>
#include <string.h>

static uint16_t u16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static float half(const uint8_t *p)
{
    return qw_f16_to_f32(u16(p));
}

qw_quant_traits qw_quant_traits_of(qw_dtype type)
{
    switch (type) {
    case QW_Q4_0:
        return (qw_quant_traits){8, 32, false};
    case QW_Q5_0:
        return (qw_quant_traits){16, 32, false};
    case QW_Q4_1:
    case QW_Q5_1:
    case QW_Q4_K:
    case QW_Q5_K:
        return (qw_quant_traits){0, 32, true};
    case QW_Q2_K:
        return (qw_quant_traits){0, 16, true};
    case QW_Q3_K:
        return (qw_quant_traits){4, 16, false};
    case QW_Q6_K:
        return (qw_quant_traits){32, 16, false};
    default:
        return (qw_quant_traits){0, 32, false};
    }
}

/* q4_0, q4_1, q5_0, q5_1: weight j in the low nibbles, j + 16 in the high ones; bit j of `high` is weight j's fifth bit. */
static void nibbles(qw_codes *out, const uint8_t *qs, uint32_t high)
{
    for (int j = 0; j < 16; j++) {
        out->q[j] = (int16_t)((qs[j] & 15) | (int)(high >> j & 1) << 4);
        out->q[j + 16] = (int16_t)(qs[j] >> 4 | (int)(high >> (j + 16) & 1) << 4);
    }
}

static void decode_q2_k(qw_codes *out, const uint8_t *block)
{
    const uint8_t *qs = block + 16;

    out->d = half(block + 80);
    out->dmin = -half(block + 82);
    for (int i = 0; i < 256; i++) out->q[i] = qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
    for (int g = 0; g < 16; g++) {
        out->scale[g] = block[g] & 15;
        out->min[g] = block[g] >> 4;
    }
}

static void decode_q3_k(qw_codes *out, const uint8_t *block)
{
    const uint8_t *qs = block + 32, *scales = block + 96;

    out->d = half(block + 108);
    for (int i = 0; i < 256; i++) {
        int low = qs[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
        int high = block[i % 32] >> (i / 32) & 1;
        out->q[i] = (int16_t)(low | high << 2);
    }
    for (int g = 0; g < 16; g++) {
        int low = g < 8 ? scales[g] & 15 : scales[g - 8] >> 4;
        int high = scales[8 + g % 4] >> (g / 4 * 2) & 3;
        out->scale[g] = (int16_t)((low | high << 4) - 32);
    }
}

/* The 6-bit scales and minima of q4_k and q5_k in 12 bytes: the first four in the low 6 bits of bytes 0..7, the last four
 * split into 4 bits of bytes 8..11 and the two high bits of bytes 0..7. */
static void scales_k4(qw_codes *out, const uint8_t *block)
{
    const uint8_t *s = block + 4;

    out->d = half(block);
    out->dmin = -half(block + 2);
    for (int g = 0; g < 4; g++) {
        out->scale[g] = s[g] & 63;
        out->min[g] = s[g + 4] & 63;
        out->scale[g + 4] = (int16_t)((s[g + 8] & 15) | s[g] >> 6 << 4);
        out->min[g + 4] = (int16_t)(s[g + 8] >> 4 | s[g + 4] >> 6 << 4);
    }
}

static void decode_q4_k(qw_codes *out, const uint8_t *block)
{
    scales_k4(out, block);
    for (int i = 0; i < 256; i++) out->q[i] = block[16 + i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
}

static void decode_q5_k(qw_codes *out, const uint8_t *block)
{
    scales_k4(out, block);
    for (int i = 0; i < 256; i++) {
        int low = block[48 + i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
        out->q[i] = (int16_t)(low | (block[16 + i % 32] >> (i / 32) & 1) << 4);
    }
}

static void decode_q6_k(qw_codes *out, const uint8_t *block)
{
    out->d = half(block + 208);
    for (int i = 0; i < 256; i++) {
        int low = block[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;
        int high = block[128 + i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
        out->q[i] = (int16_t)(low | high << 4);
    }
    for (int g = 0; g < 16; g++) out->scale[g] = (int8_t)block[192 + g];
}

static void decode_32(qw_codes *out, const uint8_t *block, qw_dtype type)
{
    bool five = type == QW_Q5_0 || type == QW_Q5_1;
    const uint8_t *p = block + 2;
    uint32_t high = 0;

    out->d = half(block);
    out->scale[0] = out->min[0] = 1;
    if (type == QW_Q4_1 || type == QW_Q5_1) {
        out->dmin = half(p);
        p += 2;
    }
    if (five) {
        high = u16(p) | (uint32_t)u16(p + 2) << 16;
        p += 4;
    }
    if (type == QW_Q8_0)
        for (int i = 0; i < 32; i++) out->q[i] = (int8_t)p[i];
    else nibbles(out, p, high);
}

void qw_quant_decode(qw_codes *out, const uint8_t *block, qw_dtype type)
{
    switch (type) {
    case QW_Q2_K:
        decode_q2_k(out, block);
        break;
    case QW_Q3_K:
        decode_q3_k(out, block);
        break;
    case QW_Q4_K:
        decode_q4_k(out, block);
        break;
    case QW_Q5_K:
        decode_q5_k(out, block);
        break;
    case QW_Q6_K:
        decode_q6_k(out, block);
        break;
    default:
        decode_32(out, block, type);
    }
}

static float load_float(const uint8_t *p, qw_dtype type)
{
    float x;

    if (type == QW_F16) return half(p);
    if (type == QW_BF16) return qw_bf16_to_f32(u16(p));
    memcpy(&x, p, sizeof x);
    return x;
}

void qw_dequantize(float *out, const uint8_t *row, qw_dtype type, int64_t cols)
{
    int32_t block = qw_dtype_block(type);
    size_t bytes = qw_dtype_block_bytes(type);
    qw_quant_traits t = qw_quant_traits_of(type);
    qw_codes c;

    if (block == 1)
        for (int64_t i = 0; i < cols; i++) out[i] = load_float(row + (size_t)i * bytes, type);
    else
        for (int64_t b = 0; b < cols / block; b++) {
            qw_quant_decode(&c, row + (size_t)b * bytes, type);
            for (int32_t i = 0; i < block; i++) {
                float w = c.d * (float)c.scale[i / t.group] * (float)(c.q[i] - t.offset);
                out[b * block + i] = t.has_min ? w + c.dmin * (float)c.min[i / t.group] : w;
            }
        }
}

void qw_quant_encode(uint8_t *block, const float *x, qw_dtype type)
{
    float most = 0, amax = 0, scale;
    bool finite = true;
    uint16_t bits;

    for (int i = 0; i < 32; i++) {
        finite = finite && fabsf(x[i]) <= 3.4028235e38f;
        if (fabsf(x[i]) > amax) {
            amax = fabsf(x[i]);
            most = x[i];
        }
    }
    scale = type == QW_Q8_0 ? amax / 127.0f : most / -8.0f;
    bits = finite ? qw_f32_to_f16(scale) : 0x7e00;
    /* Scales that float16 makes zero hold nothing; those beyond its range are the infinity that the logits will report. */
    if (!finite || !(bits & 0x7fff)) scale = 0;
    block[0] = (uint8_t)bits;
    block[1] = (uint8_t)(bits >> 8);
    for (int i = 0; i < (type == QW_Q8_0 ? 32 : 16); i++) {
        float inverse = scale != 0 ? 1.0f / scale : 0;
        int a = finite ? (int)rintf(x[i] * inverse) : 0;
        int b = finite && type == QW_Q4_0 ? (int)rintf(x[i + 16] * inverse) : 0;
        if (type == QW_Q8_0) {
            block[2 + i] = (uint8_t)(int8_t)a;
        } else {
            a = a + 8 > 15 ? 15 : a + 8;
            b = b + 8 > 15 ? 15 : b + 8;
            block[2 + i] = (uint8_t)(a | b << 4);
        }
    }
}
