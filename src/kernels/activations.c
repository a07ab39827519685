/* SPDX-License-Identifier: MIT
 * Activations to int8 with a scale per 32, in the forms that the kernels read. */
#include "kernels/activations.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "base/simd.h"

#include <string.h>

#define LARGEST 3.4028235e38f
#define TINY 7.5231638e-37f /* 2^-120 */

static int32_t padded_blocks(int32_t cols)
{
    return (cols + 255) / 256 * 8;
}

size_t qw_activations_bytes(int32_t max_rows, int32_t max_cols)
{
    size_t blocks;

    if (max_rows > 1) max_rows = (max_rows + QW_ACT_GROUP - 1) / QW_ACT_GROUP * QW_ACT_GROUP;
    if (!qw_mul((size_t)max_rows, (size_t)padded_blocks(max_cols), &blocks)) return SIZE_MAX;
    return qw_mul(blocks, sizeof(qw_act) + QW_ACT_WIDE, &blocks) ? blocks : SIZE_MAX;
}

qw_status qw_activations_init(qw_activations *a, int32_t max_rows, int32_t max_cols, qw_error *err)
{
    size_t bytes = qw_activations_bytes(max_rows, max_cols);

    *a = (qw_activations){.max_rows = max_rows, .max_cols = max_cols};
    a->kernel = QW_RELAXED ? QW_KERNEL_DOT16 : QW_KERNEL_BASE;
    a->storage = qw_alloc_aligned(1, bytes);
    if (!a->storage) return qw_fail_memory(err, "the quantised activations", (double)bytes);
    return QW_OK;
}

void qw_activations_free(qw_activations *a)
{
    qw_free(a->storage);
    a->storage = NULL;
}

#if QW_RELAXED
/* The dot of 16 signed codes as the kernels take it equals the plain sum, for codes and activations at their ends. What
 * a relaxed operation makes of bytes above 127 is the machine's choice, and the same at every call. */
static bool flip_fits(int8_t flip)
{
    int8_t w[16], q[16];
    int32_t expected[4] = {0}, got[4];
    qw_v128 start, codes;

    for (int i = 0; i < 16; i++) {
        w[i] = (int8_t)(i < 4 ? 127 : i < 8 ? -128 : 16 * i - 200);
        q[i] = (int8_t)(i < 8 || i % 2 ? 127 : -127);
        expected[i / 4] += w[i] * q[i];
    }
    for (int i = 0; i < 4; i++) got[i] = flip * (q[4 * i] + q[4 * i + 1] + q[4 * i + 2] + q[4 * i + 3]);
    start = qw_load(got);
    codes = qw_xor(qw_opaque(qw_load(w)), qw_i8x16_splat(flip));
    qw_store(got, qw_i32x4_relaxed_dot_add(qw_opaque(qw_load(q)), codes, start));
    return memcmp(got, expected, sizeof got) == 0;
}
#endif

static void choose_signed(qw_activations *a)
{
    a->signed_kernel = QW_KERNEL_BASE;
    a->flip = 0;
#if QW_RELAXED
    if (a->kernel != QW_KERNEL_DOT32) return;
    if (!flip_fits(0)) a->flip = -128;
    if (flip_fits(a->flip)) a->signed_kernel = QW_KERNEL_DOT32;
#endif
}

bool qw_activations_use(qw_activations *a, qw_kernel kernel)
{
    if ((kernel == QW_KERNEL_BASE) == (QW_RELAXED == 1)) return false;
    a->kernel = kernel;
    choose_signed(a);
    return true;
}

/* 32 floats at x to the block's scale and q. */
static void quantise(int8_t *q, float *scale, const float *x)
{
    qw_v128 v[8], most = qw_zero(), finite = qw_i32x4_splat(-1), factor;
    float amax;

    for (int i = 0; i < 8; i++) {
        qw_v128 size;
        v[i] = qw_load(x + 4 * i);
        size = qw_f32x4_abs(v[i]);
        finite = qw_and(finite, qw_f32x4_le(size, qw_f32x4_splat(LARGEST)));
        most = qw_f32x4_max(most, size);
    }
    if (qw_any(qw_xor(finite, qw_i32x4_splat(-1)))) {
        memset(q, 0, 32);
        *scale = qw_f32_from_bits(0x7fc00000);
        return;
    }
    amax = qw_f32x4_hmax(most);
    *scale = amax < TINY ? 0.0f : amax / 127.0f;
    factor = qw_f32x4_splat(amax < TINY ? 0.0f : 127.0f / amax);
    for (int i = 0; i < 8; i++) v[i] = qw_i32x4_nearest(qw_f32x4_mul(v[i], factor));
    for (int i = 0; i < 2; i++) {
        qw_v128 *p = v + 4 * i;
        qw_store(q + 16 * i, qw_i8x16_narrow(qw_i16x8_narrow(p[0], p[1]), qw_i16x8_narrow(p[2], p[3])));
    }
}

/* int16 of columns 0, 2, 1, 3 of each four: the order in which a shift by 8 and a mask take bytes of weights apart. */
static void widen(uint8_t *out, const int8_t *q)
{
    for (int i = 0; i < 2; i++) {
        qw_v128 v = qw_load(q + 16 * i);
        qw_v128 even = qw_i16x8_shr(qw_i16x8_shl(v, 8), 8), odd = qw_i16x8_shr(v, 8);
        qw_store(out + 32 * i, qw_i32x4_zip_low(even, odd));
        qw_store(out + 32 * i + 16, qw_i32x4_zip_high(even, odd));
    }
}

static int32_t lanes_sum(qw_v128 v)
{
    return qw_i32x4_lane(v, 0) + qw_i32x4_lane(v, 1) + qw_i32x4_lane(v, 2) + qw_i32x4_lane(v, 3);
}

/* Of 16 bytes. */
static int32_t sum16(qw_v128 v)
{
    return lanes_sum(qw_i32x4_pair_sums(qw_i16x8_add(qw_i16x8_extend_low_i8x16(v), qw_i16x8_extend_high_i8x16(v))));
}

static void summarise(qw_act *out, int32_t flip)
{
    out->sum = 0;
    for (int h = 0; h < 2; h++) {
        int32_t sum = sum16(qw_load(out->q + 16 * h));
        out->sum += sum;
        out->minus32[h] = -32 * sum;
    }
    out->minus8 = -8 * out->sum;
    out->minus16 = -16 * out->sum;
    out->minus128 = flip * out->sum;
    out->scaled_sum = out->scale * (float)out->sum;
}

static void set_row(qw_activations *a, int32_t row)
{
    const float *x = a->x + (size_t)row * (size_t)a->cols;

    for (int32_t b = 0; b < a->blocks; b++) {
        size_t at = qw_act_index(a, row, b);
        qw_act *act = a->act + at;
        int32_t left = a->cols - b * QW_BLOCK;
        float tail[QW_BLOCK] = {0};
        if (left < QW_BLOCK && left > 0) memcpy(tail, x + b * QW_BLOCK, (size_t)left * sizeof(float));
        quantise(act->q, &act->scale, left < QW_BLOCK ? tail : x + b * QW_BLOCK);
        if (a->signed_kernel == QW_KERNEL_BASE) widen(a->wide + at * QW_ACT_WIDE, act->q);
        summarise(act, a->flip);
    }
}

static void set_rows(void *arg, int32_t first, int32_t last, int32_t thread)
{
    (void)thread;
    for (int32_t row = first; row < last; row++) set_row(arg, row);
}

void qw_activations_set(qw_activations *a, qw_pool *pool, const float *x, int32_t n, int32_t cols, bool integer)
{
    int32_t rows;

    QW_ASSERT(!integer || qw_activations_bytes(n, cols) <= qw_activations_bytes(a->max_rows, a->max_cols));
    a->n = n;
    a->cols = cols;
    a->blocks = padded_blocks(cols);
    a->x = x;
    a->group = n > 1 ? QW_ACT_GROUP : 1;
    rows = (n + a->group - 1) / a->group * a->group;
    a->act = a->storage;
    a->wide = (uint8_t *)(a->act + (size_t)rows * (size_t)a->blocks);
    if (integer) qw_pool_run(pool, n, 4, set_rows, a);
}
