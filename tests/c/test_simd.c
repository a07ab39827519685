/* SPDX-License-Identifier: MIT
 * Every operation of simd.h against its meaning in plain C, lane by lane; and exp and the float16 conversions, which
 * are built on them. The same program runs natively and in each wasm build. */
#include "check.h"
#include "base/float_exp.h"

#include <math.h>

static uint32_t state = 7;

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8 ^ state << 11;
}

typedef union lanes {
    float f[4];
    int32_t i[4];
    uint32_t u[4];
    int16_t s[8];
    uint16_t us[8];
    int8_t b[16];
    uint8_t ub[16];
} lanes;

static const float SPECIAL[] = {0.0f,  -0.0f,  1.0f,     -1.0f,     0.5f,    -0.5f,       1.5f,        2.5f,
                                -2.5f, 0.3f,   -0.3f,    1e-40f,    -1e-40f, 8388607.5f,  -8388607.5f, 8388608.0f,
                                3e38f, -3e38f, INFINITY, -INFINITY, NAN,     16777216.0f, -126.49999f, 4194304.5f};

/* Random bits; for float operations often one of the special values. */
static qw_v128 random_vector(bool floats)
{
    lanes r;

    for (int i = 0; i < 4; i++) {
        r.u[i] = next();
        if (floats && next() % 2) r.f[i] = SPECIAL[next() % (sizeof SPECIAL / sizeof *SPECIAL)];
    }
    return qw_load(&r);
}

static lanes out(qw_v128 v)
{
    lanes r;

    qw_store(&r, v);
    return r;
}

/* Bits, but any NaN equals any NaN. */
static bool same(float a, float b)
{
    return a != a ? b != b : memcmp(&a, &b, sizeof a) == 0;
}

/* Counts the lanes i of a result that are not as wanted. */
#define EACH(n, ok)                                                                                                    \
    do {                                                                                                               \
        for (int i = 0; i < (n); i++) wrong += !(ok);                                                                  \
    } while (0)

static void test_float_operations(void)
{
    int wrong = 0;

    for (int round = 0; round < 4000; round++) {
        qw_v128 x = random_vector(true), y = random_vector(true);
        lanes a = out(x), b = out(y), r = out(qw_f32x4_add(x, y));
        EACH(4, same(r.f[i], a.f[i] + b.f[i]));
        r = out(qw_f32x4_sub(x, y));
        EACH(4, same(r.f[i], a.f[i] - b.f[i]));
        r = out(qw_f32x4_mul(x, y));
        EACH(4, same(r.f[i], a.f[i] * b.f[i]));
        r = out(qw_f32x4_div(x, y));
        EACH(4, same(r.f[i], a.f[i] / b.f[i]));
        r = out(qw_f32x4_min(x, y));
        EACH(4, same(r.f[i], b.f[i] < a.f[i] ? b.f[i] : a.f[i]));
        r = out(qw_f32x4_max(x, y));
        EACH(4, same(r.f[i], a.f[i] < b.f[i] ? b.f[i] : a.f[i]));
        r = out(qw_f32x4_abs(x));
        EACH(4, r.u[i] == (a.u[i] & 0x7fffffff));
        r = out(qw_f32x4_neg(x));
        EACH(4, r.u[i] == (a.u[i] ^ 0x80000000));
        r = out(qw_f32x4_eq(x, y));
        EACH(4, r.i[i] == -(a.f[i] >= b.f[i] && a.f[i] <= b.f[i]));
        r = out(qw_f32x4_lt(x, y));
        EACH(4, r.i[i] == -(a.f[i] < b.f[i]));
        r = out(qw_f32x4_le(x, y));
        EACH(4, r.i[i] == -(a.f[i] <= b.f[i]));
        r = out(qw_f32x4_gt(x, y));
        EACH(4, r.i[i] == -(a.f[i] > b.f[i]));
        r = out(qw_f32x4_ge(x, y));
        EACH(4, r.i[i] == -(a.f[i] >= b.f[i]));
    }
    CHECK_EQ(wrong, 0);
}

static void test_int32_operations(void)
{
    int wrong = 0;

    for (int round = 0; round < 1000; round++) {
        qw_v128 x = random_vector(false), y = random_vector(round % 2), m = random_vector(false);
        lanes a = out(x), b = out(y), c = out(m), r = out(qw_i32x4_add(x, y));
        unsigned n = next() % 32;
        EACH(4, r.u[i] == a.u[i] + b.u[i]);
        r = out(qw_i32x4_sub(x, y));
        EACH(4, r.u[i] == a.u[i] - b.u[i]);
        r = out(qw_i32x4_mul(x, y));
        EACH(4, r.u[i] == a.u[i] * b.u[i]);
        r = out(qw_i32x4_min(x, y));
        EACH(4, r.i[i] == (a.i[i] < b.i[i] ? a.i[i] : b.i[i]));
        r = out(qw_i32x4_gt(x, y));
        EACH(4, r.i[i] == -(a.i[i] > b.i[i]));
        r = out(qw_i32x4_shl(x, n));
        EACH(4, r.u[i] == a.u[i] << n);
        r = out(qw_u32x4_shr(x, n));
        EACH(4, r.u[i] == a.u[i] >> n);
        r = out(qw_i32x4_shr(x, n));
        EACH(4, r.i[i] == a.i[i] >> n);
        r = out(qw_select(m, x, y));
        EACH(4, r.u[i] == ((a.u[i] & c.u[i]) | (b.u[i] & ~c.u[i])));
        r = out(qw_andnot(x, y));
        EACH(4, r.u[i] == (a.u[i] & ~b.u[i]));
        r = out(qw_xor(qw_or(x, y), qw_and(x, y)));
        EACH(4, r.u[i] == (a.u[i] ^ b.u[i]));
        r = out(qw_f32x4_convert_i32x4(x));
        EACH(4, r.f[i] == (float)a.i[i]);
        r = out(qw_opaque(x));
        EACH(4, r.u[i] == a.u[i]);
    }
    CHECK_EQ(wrong, 0);
    CHECK(!qw_any(qw_zero()));
    for (int i = 0; i < 4; i++) {
        lanes one = {.u = {0}};
        one.u[i] = 1;
        CHECK(qw_any(qw_load(&one)));
    }
}

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

static void test_small_integer_operations(void)
{
    int wrong = 0;

    for (int round = 0; round < 1000; round++) {
        qw_v128 x = random_vector(false), y = random_vector(false);
        lanes a = out(x), b = out(y), r = out(qw_i16x8_add(x, y));
        unsigned n = next() % 16;
        EACH(8, r.us[i] == (uint16_t)(a.us[i] + b.us[i]));
        r = out(qw_i16x8_mul(x, y));
        EACH(8, r.us[i] == (uint16_t)((uint32_t)a.us[i] * b.us[i]));
        r = out(qw_i16x8_add_sat(x, y));
        EACH(8, r.s[i] == clamp(a.s[i] + b.s[i], -32768, 32767));
        r = out(qw_i16x8_shl(x, n));
        EACH(8, r.us[i] == (uint16_t)(a.us[i] << n));
        r = out(qw_u16x8_shr(x, n));
        EACH(8, r.us[i] == a.us[i] >> n);
        r = out(qw_i16x8_shr(x, n));
        EACH(8, r.s[i] == a.s[i] >> n);
        r = out(qw_i8x16_add(x, y));
        EACH(16, r.ub[i] == (uint8_t)(a.ub[i] + b.ub[i]));
        r = out(qw_i8x16_eq(qw_and(x, qw_i8x16_splat(3)), qw_and(y, qw_i8x16_splat(3))));
        EACH(16, r.b[i] == -((a.b[i] & 3) == (b.b[i] & 3)));
        r = out(qw_i8x16_gt(x, y));
        EACH(16, r.b[i] == -(a.b[i] > b.b[i]));
        r = out(qw_i16x8_extend_low_i8x16(x));
        EACH(8, r.s[i] == a.b[i]);
        r = out(qw_i16x8_extend_high_i8x16(x));
        EACH(8, r.s[i] == a.b[i + 8]);
        r = out(qw_i32x4_extend_low_i16x8(x));
        EACH(4, r.i[i] == a.s[i]);
        r = out(qw_i32x4_extend_high_i16x8(x));
        EACH(4, r.i[i] == a.s[i + 4]);
        r = out(qw_i32x4_extend_low_u16x8(x));
        EACH(4, r.u[i] == a.us[i]);
        r = out(qw_i32x4_dot(x, y));
        EACH(4, r.i[i] == a.s[2 * i] * b.s[2 * i] + a.s[2 * i + 1] * b.s[2 * i + 1]);
        r = out(qw_i32x4_pair_sums(x));
        EACH(4, r.i[i] == a.s[2 * i] + a.s[2 * i + 1]);
    }
    CHECK_EQ(wrong, 0);
}

static void test_narrowing_and_shuffles(void)
{
    int wrong = 0;

    for (int round = 0; round < 1000; round++) {
        qw_v128 x = qw_i32x4_shr(random_vector(false), next() % 32), y = qw_i32x4_shr(random_vector(false), 14);
        lanes a = out(x), b = out(y), r = out(qw_i16x8_narrow(x, y));
        EACH(8, r.s[i] == clamp(i < 4 ? a.i[i] : b.i[i - 4], -32768, 32767));
        r = out(qw_i8x16_narrow(x, y));
        EACH(16, r.b[i] == clamp(i < 8 ? a.s[i] : b.s[i - 8], -128, 127));
        r = out(qw_i32x4_even(x, y));
        EACH(4, r.u[i] == (i < 2 ? a.u[2 * i] : b.u[2 * i - 4]));
        r = out(qw_i32x4_odd(x, y));
        EACH(4, r.u[i] == (i < 2 ? a.u[2 * i + 1] : b.u[2 * i - 3]));
        r = out(qw_i32x4_zip_low(x, y));
        EACH(4, r.u[i] == (i % 2 ? b.u[i / 2] : a.u[i / 2]));
        r = out(qw_i32x4_zip_high(x, y));
        EACH(4, r.u[i] == (i % 2 ? b.u[2 + i / 2] : a.u[2 + i / 2]));
        r = out(qw_i16x8_zip_low(x, y));
        EACH(8, r.s[i] == (i % 2 ? b.s[i / 2] : a.s[i / 2]));
        r = out(qw_i16x8_zip_high(x, y));
        EACH(8, r.s[i] == (i % 2 ? b.s[4 + i / 2] : a.s[4 + i / 2]));
        r = out(qw_i64x2_low(x, y));
        EACH(4, r.u[i] == (i < 2 ? a.u[i] : b.u[i - 2]));
        r = out(qw_i64x2_high(x, y));
        EACH(4, r.u[i] == (i < 2 ? a.u[i + 2] : b.u[i]));
    }
    CHECK_EQ(wrong, 0);
}

static void test_loads_and_stores_at_every_address(void)
{
    uint8_t bytes[48], target[48];
    int wrong = 0;

    for (int i = 0; i < 48; i++) bytes[i] = (uint8_t)(i * 7 + 1);
    for (int at = 0; at < 24; at++) {
        lanes r = out(qw_load(bytes + at));
        EACH(16, r.ub[i] == bytes[at + i]);
        r = out(qw_load32_splat(bytes + at));
        EACH(16, r.ub[i] == bytes[at + i % 4]);
        r = out(qw_load64_zero(bytes + at));
        EACH(16, r.ub[i] == (i < 8 ? bytes[at + i] : 0));
        memset(target, 0, sizeof target);
        qw_store(target + at, qw_load(bytes + at));
        EACH(48, target[i] == (i >= at && i < at + 16 ? bytes[i] : 0));
    }
    CHECK_EQ(wrong, 0);
}

static void test_sums_have_the_fixed_order(void)
{
    int wrong = 0;

    for (int round = 0; round < 1000; round++) {
        lanes v[4];
        float best;
        for (int k = 0; k < 4; k++)
            for (int i = 0; i < 4; i++) v[k].f[i] = ldexpf((float)(next() & 0xffffff), (int)(next() % 40) - 40);
        EACH(4, same(qw_f32x4_sum(qw_load(&v[i])), (v[i].f[0] + v[i].f[1]) + (v[i].f[2] + v[i].f[3])));
        best = fmaxf(fmaxf(v[0].f[0], v[0].f[1]), fmaxf(v[0].f[2], v[0].f[3]));
        wrong += !same(qw_f32x4_hmax(qw_load(&v[0])), best);
    }
    for (int nans = 0; nans < 16; nans++) {
        lanes v;
        float best = -INFINITY;
        for (int i = 0; i < 4; i++) v.f[i] = nans >> i & 1 ? NAN : (float)(i * 3 % 4) - 2;
        for (int i = 0; i < 4; i++) best = v.f[i] > best ? v.f[i] : best;
        wrong += !same(qw_f32x4_hmax(qw_load(&v)), best);
    }
    CHECK_EQ(wrong, 0);
}

static void test_nearest_integers(void)
{
    int wrong = 0;

    for (int32_t n = -4194304; n <= 4194304; n += 511)
        for (int k = -2; k <= 2; k++) {
            float x = (float)n + (float)k * 0.25f;
            if (fabsf(x) <= 4194304.0f)
                wrong += qw_i32x4_lane(qw_i32x4_nearest(qw_f32x4_splat(x)), 1) != (int32_t)rintf(x);
        }
    CHECK_EQ(wrong, 0);
}

static float exp_of(float x)
{
    qw_exp_constants k = qw_exp_full();

    return qw_f32x4_lane(qw_f32x4_exp(qw_f32x4_splat(x), &k), 3);
}

static float weight_of(float x)
{
    qw_exp_constants k = qw_exp_weight();

    return qw_f32x4_lane(qw_f32x4_exp_weight(qw_f32x4_splat(x), &k), 3);
}

static void test_exp_is_within_two_ulp(void)
{
    double worst = 0;
    int wrong = 0;

    for (int32_t i = -5000000; i < 5000000; i += 3) {
        float x = (float)i * 2e-5f, y = exp_of(x);
        double wanted = exp((double)x), unit = (double)nextafterf((float)wanted, INFINITY) - (double)(float)wanted;
        if (x < QW_EXP_LOW || x > QW_EXP_HIGH) wrong += x < 0 ? y != 0 : !isinf(y);
        else if (isfinite(unit)) worst = fmax(worst, fabs((double)y - wanted) / unit);
    }
    CHECK_EQ(wrong, 0);
    CHECK_NEAR(worst, 0, 2);
}

static void test_exp_weight_is_near_and_zero_where_there_is_no_weight(void)
{
    double worst = 0;

    for (int32_t i = 0; i <= 870000; i++) {
        float x = -(float)i / 10000.0f;
        worst = fmax(worst, fabs((double)weight_of(x) / exp((double)x) - 1));
    }
    CHECK(worst < 1.4 * 0x1p-24);
    CHECK_NEAR(weight_of(0), 1, 0);
    CHECK_NEAR(weight_of(-87.01f) + weight_of(-1e30f) + weight_of(-INFINITY) + weight_of(NAN), 0, 0);
}

/* FNV-1a of the bits of both for floats of every exponent: what logits and probabilities are made of may not change. */
static void test_bits_of_exp_are_the_published_ones(void)
{
    uint64_t full = 0xcbf29ce484222325u, weight = full;

    for (uint32_t i = 0; i < 0xff800000u; i += 4093) {
        float x = qw_f32_from_bits(i);
        if (x != x) continue;
        full = (full ^ qw_f32_bits(exp_of(x))) * 0x100000001b3u;
        if (x <= 0) weight = (weight ^ qw_f32_bits(weight_of(x))) * 0x100000001b3u;
    }
    CHECK(full == 0xbce59b6bd1a63fdfu);
    CHECK(weight == 0x204cd470048aef71u);
}

static void test_exp2_is_within_two_ulp_and_a_bit(void)
{
    static const float zero[] = {-126.00001f, -127, -200, -1e38f, -INFINITY};
    qw_exp2_constants k = qw_make_exp2();
    double worst = 0;
    int wrong = 0;

    for (int32_t i = 0; i <= 6300000; i++) {
        float x = (float)i * -2e-5f, wanted = exp2f(x);
        float y = qw_f32x4_lane(qw_f32x4_exp2(qw_f32x4_splat(x), &k), 3);
        if (x >= -126)
            worst = fmax(worst, fabs((double)y - exp2((double)x)) / (double)(nextafterf(wanted, 2) - wanted));
        else wrong += y != 0;
    }
    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        wrong += qw_f32x4_lane(qw_f32x4_exp2(qw_f32x4_splat(zero[i]), &k), 0) != 0;
    CHECK_EQ(wrong, 0);
    CHECK_NEAR(worst, 0, 2.2);
    CHECK_NEAR(qw_f32x4_lane(qw_f32x4_exp2(qw_f32x4_splat(0), &k), 1), 1, 0);
    CHECK(isnan(qw_f32x4_lane(qw_f32x4_exp2(qw_f32x4_splat(NAN), &k), 2)));
}

static void test_exp_of_special_values(void)
{
    CHECK_NEAR(exp_of(0), 1, 0);
    CHECK_NEAR(exp_of(-0.0f), 1, 0);
    CHECK_NEAR(exp_of(1e-45f), 1, 0);
    CHECK_NEAR(exp_of(-INFINITY), 0, 0);
    CHECK_NEAR(exp_of(-1e38f), 0, 0);
    CHECK_NEAR(exp_of(-88), 0, 0);
    CHECK(isinf(exp_of(INFINITY)));
    CHECK(isinf(exp_of(1e38f)));
    CHECK(isinf(exp_of(88.72284f)));
    CHECK(isnan(exp_of(NAN)));
    CHECK(isfinite(exp_of(QW_EXP_HIGH)));
    CHECK(exp_of(QW_EXP_LOW) >= 1.17549435e-38f);
}

/* What the format defines: 1 bit of sign, 5 of exponent, 10 of fraction. */
static float float16_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float size = exponent == 0   ? ldexpf((float)fraction, -24)
                 : exponent < 31 ? ldexpf((float)(1024 + fraction), exponent - 25)
                 : fraction == 0 ? INFINITY
                                 : NAN;

    return bits & 0x8000 ? -size : size;
}

static void test_float16_in_fours(void)
{
    int wrong = 0;

    for (uint32_t h = 0; h < 65536; h += 4) {
        uint16_t in[4];
        lanes r, back;
        for (int i = 0; i < 4; i++) in[i] = (uint16_t)(h + (uint32_t)i);
        r = out(qw_load_f16x4(in));
        EACH(4, same(r.f[i], float16_value(in[i])));
        back = out(qw_u32x4_to_f16(qw_load(&r)));
        EACH(4, r.f[i] != r.f[i] ? (in[i] & 0x7fff) > 0x7c00 && (back.u[i] & 0x7fff) > 0x7c00 : back.u[i] == in[i]);
        r = out(qw_load_bf16x4(in));
        EACH(4, r.u[i] == (uint32_t)in[i] << 16);
    }
    CHECK_EQ(wrong, 0);
    CHECK_NEAR(qw_f32x4_lane(qw_f32x4_from_f16(qw_i32x4_splat(0x0001)), 0), 5.9604644775390625e-08, 0);
    CHECK_NEAR(qw_f32x4_lane(qw_f32x4_from_f16(qw_i32x4_splat(0xfbff)), 0), -65504, 0);
}

#if QW_RELAXED
/* First operands of every value, second operands of 0..127: what kernels are allowed to use. */
static void test_relaxed_dots_are_exact_for_seven_bits(void)
{
    int wrong = 0;

    for (int round = 0; round < 20000; round++) {
        qw_v128 x = random_vector(false), y = qw_and(random_vector(false), qw_i8x16_splat(127)),
                s = random_vector(false);
        if (round % 3 == 0) x = qw_i8x16_splat(-128);
        if (round % 5 == 0) y = qw_i8x16_splat(127);
        lanes a = out(x), b = out(y), c = out(s), r = out(qw_i16x8_relaxed_dot(x, y));
        EACH(8, r.s[i] == a.b[2 * i] * b.b[2 * i] + a.b[2 * i + 1] * b.b[2 * i + 1]);
        r = out(qw_i32x4_relaxed_dot_add(x, y, s));
        for (int i = 0; i < 4; i++) {
            for (int j = 0; j < 4; j++) c.u[i] += (uint32_t)(a.b[4 * i + j] * b.b[4 * i + j]);
            wrong += r.u[i] != c.u[i];
        }
    }
    CHECK_EQ(wrong, 0);
}
#endif

int main(void)
{
    test_float_operations();
    test_int32_operations();
    test_small_integer_operations();
    test_narrowing_and_shuffles();
    test_loads_and_stores_at_every_address();
    test_sums_have_the_fixed_order();
    test_nearest_integers();
    test_exp_is_within_two_ulp();
    test_exp_weight_is_near_and_zero_where_there_is_no_weight();
    test_bits_of_exp_are_the_published_ones();
    test_exp2_is_within_two_ulp_and_a_bit();
    test_exp_of_special_values();
    test_float16_in_fours();
#if QW_RELAXED
    test_relaxed_dots_are_exact_for_seven_bits();
#endif
    return check_done();
}
