/* SPDX-License-Identifier: MIT
 * The operations between the products, against plain loops with the same order of additions, for every length. */
#include "check.h"
#include "kernels/ops.h"
#include "base/exact_math.h"
#include "base/float_exp.h"

#include <math.h>

enum { MOST = 3000 };

static float a[MOST], b[MOST], w[MOST], y[MOST], wanted[MOST];
static uint32_t state = 5;
static qw_pool *pools[2];

static float uniform(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(int32_t)state * 0x1p-30f;
}

static void fill(void)
{
    for (int i = 0; i < MOST; i++) {
        a[i] = uniform();
        b[i] = uniform();
        w[i] = uniform();
    }
}

static int32_t differing(const float *got, const float *want, int32_t n)
{
    int32_t wrong = 0;

    for (int32_t i = 0; i < n; i++) wrong += memcmp(&got[i], &want[i], sizeof *got) != 0;
    return wrong;
}

/* i counts pools and shapes: rows 1..9, and x possibly misaligned. */
static void test_rmsnorm_for_every_length(void)
{
    for (int32_t dim = 1; dim <= 70; dim++) {
        int32_t n = 1 + dim % 9, wrong;
        const float *x = a + dim % 3;
        fill();
        for (int32_t r = 0; r < n; r++) {
            float lane[4] = {0, 0, 0, 0}, scale;
            for (int32_t i = 0; i < dim; i++) lane[i % 4] += x[r * dim + i] * x[r * dim + i];
            scale = 1.0f / sqrtf(((lane[0] + lane[1]) + (lane[2] + lane[3])) / (float)dim + 1e-6f);
            for (int32_t i = 0; i < dim; i++) wanted[r * dim + i] = x[r * dim + i] * scale * w[i];
        }
        qw_rmsnorm(pools[dim % 2], y, x, w, 1e-6f, n, dim);
        wrong = differing(y, wanted, n * dim);
        memcpy(y, x, (size_t)(n * dim) * sizeof *y);
        qw_rmsnorm(pools[dim % 2], y, y, w, 1e-6f, n, dim);
        CHECK_EQ(wrong + differing(y, wanted, n * dim), 0);
    }
}

static void test_rmsnorm_by_hand(void)
{
    static const float x[4] = {3, -4, 0, 0}, weight[4] = {1, 2, 3, 4};

    qw_rmsnorm(pools[0], y, x, weight, 0, 1, 4);
    CHECK_NEAR(y[0], 3 / 2.5, 1e-6);
    CHECK_NEAR(y[1], -8 / 2.5, 1e-6);
    CHECK_NEAR(y[2], 0, 0);
}

static void test_rope_rotates_halves_for_every_head_size(void)
{
    for (int32_t half = 1; half <= 20; half++) {
        int32_t n = 1 + half % 6, heads = 1 + half % 3, dim = 2 * half;
        fill();
        for (int32_t r = 0; r < n; r++)
            for (int32_t h = 0; h < heads; h++)
                for (int32_t i = 0; i < half; i++) {
                    float *out = wanted + (r * heads + h) * dim;
                    const float *in = a + (r * heads + h) * dim;
                    float c = b[(r * half + i) * 2], s = b[(r * half + i) * 2 + 1];
                    out[i] = in[i] * c - in[i + half] * s;
                    out[i + half] = in[i + half] * c + in[i] * s;
                }
        memcpy(y, a, sizeof y);
        qw_rope(pools[half % 2], y, b, n, heads, dim);
        CHECK_EQ(differing(y, wanted, n * heads * dim), 0);
        CHECK_EQ(differing(y + n * heads * dim, a + n * heads * dim, 1), 0);
    }
}

/* Both products are rounded to float32, as the reference does, before the cosine is taken. */
static void test_rope_angles(void)
{
    static const int32_t pos[3] = {0, 1, 32767};
    static const float inv_freq[2] = {1.0f, 0.31622776f};

    qw_rope_angles(y, pos, 3, inv_freq, 2, 1.0f);
    CHECK_NEAR(y[0], 1, 0);
    CHECK_NEAR(y[1], 0, 0);
    CHECK_NEAR(y[4], cos(1.0), 1e-7);
    CHECK_NEAR(y[5], sin(1.0), 1e-7);
    CHECK_NEAR(y[10], cos((double)(32767.0f * 0.31622776f)), 1e-7);
    CHECK_NEAR(y[11], sin((double)(32767.0f * 0.31622776f)), 1e-7);
    qw_rope_angles(y, pos, 2, inv_freq, 2, 1.25f);
    CHECK_NEAR(y[0], 1.25, 0);
    CHECK_NEAR(y[4], (float)qw_cos(1.0) * 1.25f, 0);
}

static float exp_of(float x)
{
    qw_exp_constants k = qw_exp_full();

    return qw_f32x4_lane(qw_f32x4_exp(qw_f32x4_splat(x), &k), 0);
}

static void test_silu_mul_for_every_length(void)
{
    for (int32_t dim = 1; dim <= 40; dim++) {
        int32_t n = 1 + dim % 5;
        fill();
        for (int32_t i = 0; i < n * dim; i++) wanted[i] = a[i] / (1.0f + exp_of(-a[i])) * b[i];
        memcpy(y, a, sizeof y);
        qw_silu_mul(pools[dim % 2], y, b, n, dim);
        CHECK_EQ(differing(y, wanted, n * dim), 0);
        CHECK_EQ(differing(y + n * dim, a + n * dim, 1), 0);
    }
    fill();
    for (int32_t i = 0; i < MOST; i++) wanted[i] = a[i] / (1.0f + exp_of(-a[i])) * b[i];
    memcpy(y, a, sizeof y);
    qw_silu_mul(pools[1], y, b, 3, MOST / 3);
    CHECK_EQ(differing(y, wanted, MOST), 0);
}

static void test_silu_is_right_at_the_ends(void)
{
    static const float in[6] = {0, 1, -1, 200, -200, -88};
    static const double out[6] = {0, 0.73105857863, -0.26894142137, 200, 0, 0};
    float gate[6], up[6] = {1, 1, 1, 1, 1, 1};

    memcpy(gate, in, sizeof gate);
    qw_silu_mul(pools[0], gate, up, 1, 6);
    for (int i = 0; i < 6; i++) CHECK_NEAR(gate[i], out[i], 1e-7);
}

static void test_add_for_every_length(void)
{
    for (int32_t dim = 1; dim <= 40; dim++) {
        int32_t n = 1 + dim % 11;
        fill();
        for (int32_t i = 0; i < n * dim; i++) wanted[i] = a[i] + b[i];
        memcpy(y, a, sizeof y);
        qw_add(pools[dim % 2], y, b, n, dim);
        CHECK_EQ(differing(y, wanted, n * dim), 0);
        CHECK_EQ(differing(y + n * dim, a + n * dim, 1), 0);
    }
}

int main(void)
{
    for (int i = 0; i < 2; i++)
        if (qw_pool_new(&pools[i], 1 + 2 * i, NULL)) return 1;
    test_rmsnorm_for_every_length();
    test_rmsnorm_by_hand();
    test_rope_rotates_halves_for_every_head_size();
    test_rope_angles();
    test_silu_mul_for_every_length();
    test_silu_is_right_at_the_ends();
    test_add_for_every_length();
    for (int i = 0; i < 2; i++) qw_pool_free(pools[i]);
    return check_done();
}
