/* SPDX-License-Identifier: MIT
 * Element types: the table, and 16-bit floats for every bit pattern against a conversion by arithmetic alone. */
#include "check.h"
#include "kernels/dtype.h"

#include <math.h>

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* A float16 by its definition, in double. */
static double half_value(uint32_t h)
{
    double sign = h & 0x8000 ? -1 : 1, mantissa = h & 0x3ff;
    int exponent = h >> 10 & 31;

    if (exponent == 31) return mantissa != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

static void test_table_knows_what_can_be_read_and_nothing_else(void)
{
    static const uint32_t known[] = {0, 1, 2, 3, 6, 7, 8, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 22, 23, 29, 30};
    uint32_t n = 0;

    for (uint32_t i = 0; i < 64; i++) n += qw_dtype_known(i);
    CHECK_EQ(n, sizeof known / sizeof *known);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) CHECK(qw_dtype_known(known[i]));
    CHECK(!qw_dtype_known(UINT32_MAX));
    CHECK_STR(qw_dtype_name(QW_Q4_K), "q4_k");
    CHECK_STR(qw_dtype_name(QW_BF16), "bf16");
    CHECK_STR(qw_dtype_name(4), NULL);
    CHECK_STR(qw_dtype_name(31), NULL);
}

static void test_sizes_are_those_of_the_file_format(void)
{
    CHECK_EQ(qw_dtype_row_bytes(QW_F32, 7), 28);
    CHECK_EQ(qw_dtype_row_bytes(QW_F16, 7), 14);
    CHECK_EQ(qw_dtype_row_bytes(QW_BF16, 7), 14);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q4_0, 96), 54);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q4_1, 96), 60);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q5_0, 96), 66);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q5_1, 96), 72);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q8_0, 96), 102);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q2_K, 512), 168);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q3_K, 512), 220);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q4_K, 512), 288);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q5_K, 512), 352);
    CHECK_EQ(qw_dtype_row_bytes(QW_Q6_K, 512), 420);
    CHECK_EQ(qw_dtype_row_bytes(QW_F32, 0), 0);
    CHECK_EQ(qw_dtype_block(QW_Q8_0), 32);
    CHECK_EQ(qw_dtype_block(QW_Q6_K), 256);
    CHECK_EQ(qw_dtype_block(QW_BF16), 1);
    CHECK(qw_dtype_row_bytes(QW_F32, (int64_t)1 << 31) == (size_t)((uint64_t)1 << 33) || sizeof(size_t) == 4);
}

static void test_every_float16_widens_exactly(void)
{
    int wrong = 0;

    for (uint32_t h = 0; h < 65536; h++) {
        float got = qw_f16_to_f32((uint16_t)h);
        double wanted = half_value(h);
        wrong += isnan(wanted) ? !isnan(got) : (double)got != wanted || !signbit(got) != !signbit(wanted);
    }
    CHECK_EQ(wrong, 0);
    CHECK_NEAR(qw_f16_to_f32(0x7bff), 65504, 0);
    CHECK_NEAR(qw_f16_to_f32(0x0001), 5.9604644775390625e-08, 0);
    CHECK_EQ(bits_of(qw_f16_to_f32(0x8000)), 0x80000000u);
    CHECK(isnan(qw_f16_to_f32(0x7e00)));
    CHECK(isinf(qw_f16_to_f32(0xfc00)));
}

static void test_bfloat16_widens_exactly(void)
{
    CHECK_NEAR(qw_bf16_to_f32(0x3f80), 1, 0);
    CHECK_NEAR(qw_bf16_to_f32(0xc2f7), -123.5, 0);
    CHECK_EQ(bits_of(qw_bf16_to_f32(0x0001)), 0x00010000u);
    CHECK_EQ(bits_of(qw_bf16_to_f32(0x8000)), 0x80000000u);
    CHECK(isinf(qw_bf16_to_f32(0x7f80)));
    CHECK(isnan(qw_bf16_to_f32(0x7fc0)));
}

static void test_narrowing_inverts_widening(void)
{
    int wrong = 0;

    for (uint32_t h = 0; h < 65536; h++) {
        uint16_t back = qw_f32_to_f16(qw_f16_to_f32((uint16_t)h));
        wrong += isnan(half_value(h)) ? (back & 0x7fff) <= 0x7c00 : back != h;
    }
    CHECK_EQ(wrong, 0);
}

/* Between every two neighbours: below the middle goes down, above goes up, the middle goes to the even one. */
static void test_narrowing_rounds_to_nearest_even(void)
{
    int wrong = 0;

    for (uint32_t h = 0; h < 0x7bff; h++) {
        float middle = (float)((half_value(h) + half_value(h + 1)) / 2);
        uint32_t at = bits_of(middle);
        wrong += qw_f32_to_f16(from_bits(at - 1)) != h;
        wrong += qw_f32_to_f16(middle) != h + (h & 1);
        wrong += qw_f32_to_f16(from_bits(at + 1)) != h + 1;
        wrong += qw_f32_to_f16(-middle) != ((h + (h & 1)) | 0x8000);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(qw_f32_to_f16(65519.996f), 0x7bff);
    CHECK_EQ(qw_f32_to_f16(65520.0f), 0x7c00);
    CHECK_EQ(qw_f32_to_f16(-3e38f), 0xfc00);
    CHECK_EQ(qw_f32_to_f16(INFINITY), 0x7c00);
    CHECK_EQ(qw_f32_to_f16(1e-30f), 0);
    CHECK_EQ(qw_f32_to_f16(-1e-30f), 0x8000);
    CHECK((qw_f32_to_f16(from_bits(0x7f800001)) & 0x7fff) > 0x7c00);
}

int main(void)
{
    test_table_knows_what_can_be_read_and_nothing_else();
    test_sizes_are_those_of_the_file_format();
    test_every_float16_widens_exactly();
    test_bfloat16_widens_exactly();
    test_narrowing_inverts_widening();
    test_narrowing_rounds_to_nearest_even();
    return check_done();
}
