/* SPDX-License-Identifier: MIT
 * Keys and values into a page and out of it, in the cache's type. */
#include "model/kv_block.h"

#include "base/assert.h"
#include "kernels/dtype.h"
#include "base/simd.h"

#include <math.h>
#include <string.h>

static uint8_t *block_at(const qw_kv *kv, int32_t layer, int32_t page, int32_t head, int32_t which)
{
    size_t block;

    QW_ASSERT(layer >= 0 && layer < kv->n_layer && head >= 0 && head < kv->n_kv_head);
    QW_ASSERT(page >= 0 && page < kv->n_pages);
    block = ((size_t)head * (size_t)kv->n_pages + (size_t)page) * 2 + (size_t)which;

    return kv->layer[layer] + block * kv->block_bytes;
}

/* The number of a row's page. */
static int32_t page_of(const qw_kv *kv, int32_t row, int32_t page)
{
    QW_ASSERT(row >= 0 && row < kv->max_rows);
    QW_ASSERT(page >= 0 && page * QW_KV_PAGE < kv->row[row].n);
    return kv->row[row].pages[page];
}

void qw_kv_copy_page(qw_kv *kv, int32_t to, int32_t from)
{
    for (int32_t l = 0; l < kv->n_layer; l++)
        for (int32_t h = 0; h < kv->n_kv_head; h++)
            memcpy(block_at(kv, l, to, h, 0), block_at(kv, l, from, h, 0), 2 * kv->block_bytes);
}

/* Scale of a group (or what is left of it at the head's end), amax / 127 in float16, and the inverse of that. */
static uint16_t scale_of(const float *x, int32_t n, float *inverse)
{
    float amax = 0, scale;
    uint16_t bits;

    for (int32_t i = 0; i < n; i++) amax = fabsf(x[i]) > amax || x[i] != x[i] ? fabsf(x[i]) : amax;
    bits = qw_f32_to_f16(amax / 127.0f);
    scale = qw_f16_to_f32(bits);
    *inverse = scale > 0 ? 1.0f / scale : 0;
    return bits;
}

/* Value i of a position goes to element i * step + at. */
static void put_q8(qw_kv *kv, uint8_t *block, const float *x, int32_t slot, bool keys)
{
    int8_t *q = (int8_t *)block;
    uint16_t *scales = (uint16_t *)(void *)(block + (size_t)QW_KV_PAGE * (size_t)kv->head_dim);
    int32_t d = kv->head_dim, groups = qw_kv_groups(d);

    for (int32_t g = 0; g < groups; g++) {
        int32_t first = QW_KV_GROUP * g, n = d - first < QW_KV_GROUP ? d - first : QW_KV_GROUP;
        float inverse;
        uint16_t scale = scale_of(x + first, n, &inverse);

        scales[keys ? g * QW_KV_PAGE + slot : slot * groups + g] = scale;
        if (scale >= 0x7c00) kv->overflow = true; /* infinite, or NaN */
        for (int32_t i = first; i < first + n; i++) {
            float r = rintf(x[i] * inverse), low = r < 127 ? r : 127; /* the scale may have been rounded down */
            q[keys ? i * QW_KV_PAGE + slot : slot * d + i] = (int8_t)(low > -127 ? low : -127);
        }
    }
}

/* A head's bias of keys; NULL where there is none, or where the type keeps keys whole. */
static const float *bias_of(const qw_kv *kv, int32_t layer, int32_t head)
{
    const float *bias = kv->key_bias[layer];

    return bias && kv->type == QW_KV_Q8_0 ? bias + (size_t)head * (size_t)kv->head_dim : NULL;
}

/* The bias of dimensions j and j + head_dim / 2 at the page's first position. */
static void turn_to_page(const qw_kv *kv, const float *bias, int32_t page, int32_t j, float turned[2])
{
    const float *turn = kv->turn_page + (size_t)page * (size_t)kv->head_dim + 2 * j;
    float low = bias[j], high = bias[j + kv->head_dim / 2];

    turned[0] = low * turn[0] - high * turn[1];
    turned[1] = high * turn[0] + low * turn[1];
}

/* out = a head's key without its bias */
static void take_bias(const qw_kv *kv, const float *bias, int32_t pos, const float *key, float *out)
{
    const float *turn = kv->turn_slot + pos % QW_KV_PAGE;
    int32_t half = kv->head_dim / 2;

    for (int32_t j = 0; j < half; j++, turn += 2 * QW_KV_PAGE) {
        float b[2];

        turn_to_page(kv, bias, pos / QW_KV_PAGE, j, b);
        out[j] = key[j] - (b[0] * turn[0] - b[1] * turn[QW_KV_PAGE]);
        out[j + half] = key[j + half] - (b[1] * turn[0] + b[0] * turn[QW_KV_PAGE]);
    }
}

/* keys [head_dim][32] of a page += the bias, in take_bias' arithmetic */
static void add_bias(const qw_kv *kv, const float *bias, int32_t page, float *keys)
{
    const float *turn = kv->turn_slot;
    int32_t half = kv->head_dim / 2;
    float b[2];

    for (int32_t j = 0; j < half; j++, keys += QW_KV_PAGE, turn += 2 * QW_KV_PAGE) {
        float *high = keys + half * QW_KV_PAGE;
        qw_v128 b0, b1;

        turn_to_page(kv, bias, page, j, b);
        b0 = qw_f32x4_splat(b[0]);
        b1 = qw_f32x4_splat(b[1]);
        for (int32_t slot = 0; slot < QW_KV_PAGE; slot += 4) {
            qw_v128 c = qw_load(turn + slot), s = qw_load(turn + QW_KV_PAGE + slot);
            qw_v128 to_low = qw_f32x4_sub(qw_f32x4_mul(b0, c), qw_f32x4_mul(b1, s));
            qw_v128 to_high = qw_f32x4_add(qw_f32x4_mul(b1, c), qw_f32x4_mul(b0, s));

            qw_store(keys + slot, qw_f32x4_add(qw_load(keys + slot), to_low));
            qw_store(high + slot, qw_f32x4_add(qw_load(high + slot), to_high));
        }
    }
}

static void put_block(qw_kv *kv, uint8_t *block, const float *x, int32_t slot, bool keys)
{
    int32_t d = kv->head_dim, step = keys ? QW_KV_PAGE : 1, at = keys ? slot : slot * d;

    if (kv->type == QW_KV_F32) {
        float *out = (float *)(void *)block;
        for (int32_t i = 0; i < d; i++) out[at + i * step] = x[i];
    } else if (kv->type == QW_KV_F16) {
        uint16_t *out = (uint16_t *)(void *)block;
        for (int32_t i = 0; i < d; i++) {
            out[at + i * step] = qw_f32_to_f16(x[i]);
            if (!(fabsf(x[i]) < 65520.0f)) kv->overflow = true; /* rounds to infinity from here on */
        }
    } else {
        put_q8(kv, block, x, slot, keys);
    }
}

void qw_kv_put(qw_kv *kv, int32_t layer, int32_t row, int32_t pos, const float *k, const float *v)
{
    int32_t page = page_of(kv, row, pos / QW_KV_PAGE), slot = pos % QW_KV_PAGE;

    QW_ASSERT(pos < kv->row[row].n && kv->head_dim <= QW_HEAD_DIM_MAX);
    for (int32_t h = 0; h < kv->n_kv_head; h++, k += kv->head_dim, v += kv->head_dim) {
        const float *bias = bias_of(kv, layer, h);
        float bare[QW_HEAD_DIM_MAX];

        if (bias) take_bias(kv, bias, pos, k, bare);
        put_block(kv, block_at(kv, layer, page, h, 0), bias ? bare : k, slot, true);
        put_block(kv, block_at(kv, layer, page, h, 1), v, slot, false);
    }
}

/* n is a multiple of 32. Finite float16 only (see overflow): sign and magnitude in float32's fields are the number times 2^-112;
 * their low and high 16 bits are made apart, of eight numbers at a time. */
static const float *widen_f16(const uint8_t *stored, float *block, int32_t n)
{
    qw_v128 fields = qw_opaque(qw_i16x8_splat((int16_t)0x8fff));
    qw_v128 power = qw_opaque(qw_i32x4_splat(0x77800000)); /* 2^112 */

    for (int32_t i = 0; i < n; i += 32, stored += 64) {
        QW_UNROLL
        for (int32_t j = 0; j < 32; j += 8) {
            qw_v128 half = qw_load(stored + 2 * j), low = qw_i16x8_shl(half, 13);
            qw_v128 high = qw_and(qw_i16x8_shr(half, 3), fields);
            qw_store(block + i + j, qw_f32x4_mul(qw_i16x8_zip_low(low, high), power));
            qw_store(block + i + j + 4, qw_f32x4_mul(qw_i16x8_zip_high(low, high), power));
        }
    }
    return block;
}

/* block[0..7] = q[0..7] * scales */
static void widen_8(float *block, const int8_t *q, qw_v128 low_scale, qw_v128 high_scale)
{
    qw_v128 v = qw_i16x8_extend_low_i8x16(qw_load64_zero(q));

    qw_store(block, qw_f32x4_mul(qw_f32x4_convert_i32x4(qw_i32x4_extend_low_i16x8(v)), low_scale));
    qw_store(block + 4, qw_f32x4_mul(qw_f32x4_convert_i32x4(qw_i32x4_extend_high_i16x8(v)), high_scale));
}

static void widen_q8_keys(const qw_kv *kv, const int8_t *q, const float *scales, float *block)
{
    for (int32_t i = 0; i < kv->head_dim; i++) {
        const float *s = scales + i / QW_KV_GROUP * QW_KV_PAGE;

        for (int32_t at = i * QW_KV_PAGE, slot = 0; slot < QW_KV_PAGE; at += 8, slot += 8)
            widen_8(block + at, q + at, qw_load(s + slot), qw_load(s + slot + 4));
    }
}

static void widen_q8_values(const qw_kv *kv, const int8_t *q, const float *scales, float *block)
{
    int32_t d = kv->head_dim, groups = qw_kv_groups(d);

    for (int32_t slot = 0; slot < QW_KV_PAGE; slot++, q += d, block += d) {
        int32_t i = 0;

        for (; i + 8 <= d; i += 8) {
            qw_v128 scale = qw_load32_splat(scales + slot * groups + i / QW_KV_GROUP);
            widen_8(block + i, q + i, scale, scale);
        }
        for (; i < d; i++) block[i] = (float)q[i] * scales[slot * groups + i / QW_KV_GROUP];
    }
}

static const float *widen_q8(const qw_kv *kv, const uint8_t *stored, float *block, bool keys)
{
    const int8_t *q = (const int8_t *)stored;
    float scales[QW_KV_PAGE * QW_HEAD_DIM_MAX / QW_KV_GROUP];

    widen_f16(stored + (size_t)QW_KV_PAGE * (size_t)kv->head_dim, scales, QW_KV_PAGE * qw_kv_groups(kv->head_dim));
    if (keys) widen_q8_keys(kv, q, scales, block);
    else widen_q8_values(kv, q, scales, block);
    return block;
}

static const float *widen(const qw_kv *kv, const uint8_t *stored, float *block, bool keys)
{
    if (kv->type == QW_KV_F32) return (const float *)(const void *)stored;
    if (kv->type == QW_KV_F16) return widen_f16(stored, block, QW_KV_PAGE * kv->head_dim);
    return widen_q8(kv, stored, block, keys);
}

const float *qw_kv_keys(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head, float *block)
{
    const float *keys = widen(kv, block_at(kv, layer, page_of(kv, row, page), head, 0), block, true);
    const float *bias = bias_of(kv, layer, head);

    if (bias) add_bias(kv, bias, page, block);
    return keys;
}

const float *qw_kv_values(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head, float *block)
{
    return widen(kv, block_at(kv, layer, page_of(kv, row, page), head, 1), block, false);
}

void qw_kv_fetch(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head)
{
    qw_fetch(block_at(kv, layer, page_of(kv, row, page), head, 0), 2 * kv->block_bytes);
}
