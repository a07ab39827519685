/* SPDX-License-Identifier: MIT
 * Dequantisation against the reference package of the format (gguf 0.19.0, gguf.quants.dequantize), and the encoders
 * against their definition. */
#include "check.h"
#include "kernels/quant.h"

#include <math.h>

enum { MOST_BYTES = 16384, MOST_VALUES = 16384 };

static uint8_t raw[MOST_BYTES];
static float values[MOST_VALUES];

/* FNV-1a, 64 bits, over the little-endian bytes of the values; every NaN counts as 0x7fc00000. */
static uint64_t hash_values(int64_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;

    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        if (isnan(values[i])) bits = 0x7fc00000;
        for (int b = 0; b < 4; b++) hash = (hash ^ (bits >> (8 * b) & 255)) * 0x100000001b3u;
    }
    return hash;
}

/* The bytes x >> 24 of x = x * 1664525 + 1013904223 from seed type + 1: all codes, and scales of every kind, NaN,
 * infinite and subnormal among them. The hashes are of what the reference package makes of the same bytes. */
static void test_random_blocks_give_the_reference_values(void)
{
    static const struct {
        qw_dtype type;
        int32_t values;
        uint64_t hash;
    } cases[] = {
        {QW_F16, 4096, 0x951a42b4e761108cu},   {QW_BF16, 4096, 0xba6811322faf3931u},
        {QW_Q4_0, 2048, 0xce31892685d8e45eu},  {QW_Q4_1, 2048, 0xdccf4acaf2e26298u},
        {QW_Q5_0, 2048, 0x4d11f6dd06367753u},  {QW_Q5_1, 2048, 0x01c8be087b012c22u},
        {QW_Q8_0, 2048, 0x87a9c87f69922795u},  {QW_Q2_K, 16384, 0xe1d34f64db077ed0u},
        {QW_Q3_K, 16384, 0x31c22b49e4eba20du}, {QW_Q4_K, 16384, 0xe256bdcb88de5e70u},
        {QW_Q5_K, 16384, 0x09ba5647d26b614au}, {QW_Q6_K, 16384, 0x9546af35f9269256u},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t x = (uint32_t)cases[i].type + 1;
        size_t n = qw_dtype_row_bytes(cases[i].type, cases[i].values);
        for (size_t b = 0; b < n; b++) {
            x = x * 1664525u + 1013904223u;
            raw[b] = (uint8_t)(x >> 24);
        }
        qw_dequantize(values, raw, cases[i].type, cases[i].values);
        if (!check_true(__FILE__, __LINE__, qw_dtype_name((uint32_t)cases[i].type),
                        hash_values(cases[i].values) == cases[i].hash))
            printf("first values %g %g %g\n", (double)values[0], (double)values[1], (double)values[2]);
    }
}

static void test_f32_is_copied(void)
{
    static const float in[3] = {1.5f, -0.0f, 1e-42f};

    memcpy(raw, in, sizeof in);
    qw_dequantize(values, raw, QW_F32, 3);
    CHECK(memcmp(values, in, sizeof in) == 0);
}

/* A q4_0 block written out by hand: scale 0.5, codes 0 (-8) and 15 (+7). */
static void test_q4_0_by_hand(void)
{
    memset(raw, 0xf0, 18);
    raw[0] = 0x00, raw[1] = 0x38;
    qw_dequantize(values, raw, QW_Q4_0, 32);
    for (int i = 0; i < 32; i++) CHECK_NEAR(values[i], i < 16 ? -4 : 3.5, 0);
}

static void encode(float *x, qw_dtype type)
{
    qw_quant_encode(raw, x, type);
    qw_dequantize(values, raw, type, 32);
}

static void test_encoders_round_to_the_nearest_code(void)
{
    float x[32];

    for (int i = 0; i < 32; i++) x[i] = (float)(i - 16) / 16.0f;
    encode(x, QW_Q8_0);
    for (int i = 0; i < 32; i++) CHECK_NEAR(values[i], x[i], 0.5 / 127 + 1.0 / 2048);
    /* The value of largest magnitude is code 0 of q4_0, whatever its sign. */
    encode(x, QW_Q4_0);
    CHECK_NEAR(values[0], -1, 0);
    for (int i = 0; i < 32; i++) CHECK_NEAR(values[i], x[i], 1.0 / 16 + (x[i] > 0.9f ? 1.0 / 8 : 0));
    for (int i = 0; i < 32; i++) x[i] = -x[i];
    encode(x, QW_Q4_0);
    CHECK_NEAR(values[0], 1, 0);
    CHECK_EQ(raw[2] & 15, 0);
}

static void test_encoders_keep_zeros_and_report_what_is_not_finite(void)
{
    float x[32] = {0};
    static const qw_dtype types[] = {QW_Q8_0, QW_Q4_0};

    for (int k = 0; k < 2; k++) {
        x[7] = 0;
        encode(x, types[k]);
        for (int i = 0; i < 32; i++) CHECK_NEAR(values[i], 0, 0);
        x[7] = 1e-30f;
        encode(x, types[k]);
        for (int i = 0; i < 32; i++) CHECK_NEAR(values[i], 0, 0);
        x[7] = 3e38f;
        encode(x, types[k]);
        CHECK(!isfinite(values[7]));
        x[7] = NAN;
        encode(x, types[k]);
        for (int i = 0; i < 32; i++) CHECK(isnan(values[i]));
        x[7] = -INFINITY;
        encode(x, types[k]);
        for (int i = 0; i < 32; i++) CHECK(isnan(values[i]));
    }
}

int main(void)
{
    test_random_blocks_give_the_reference_values();
    test_f32_is_copied();
    test_q4_0_by_hand();
    test_encoders_round_to_the_nearest_code();
    test_encoders_keep_zeros_and_report_what_is_not_finite();
    return check_done();
}
