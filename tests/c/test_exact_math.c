/* SPDX-License-Identifier: MIT
 * Elementary functions: against the C library in long double where that is wider, and pinned bits that every build
 * must give. */
#include "check.h"
#include "base/exact_math.h"

#include <math.h>

static uint64_t state = 88172645463325252u;

/* Uniform in [0, 1). */
static double uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) * 0x1p-53;
}

/* The distance of got from wanted in units in the last place of wanted. */
static double ulps(double got, long double wanted)
{
    double w = fabs((double)wanted), unit = nextafter(w, (double)INFINITY) - w;

    if (isinf((double)wanted) || isnan((double)wanted)) return 0;
    return (double)(fabsl((long double)got - wanted) / (long double)unit);
}

static void test_errors_stay_within_two_ulp(void)
{
    double exp_worst = 0, log_worst = 0, sin_worst = 0, cos_worst = 0;

    for (int i = 0; i < 100000; i++) {
        double x = (uniform() * 2 - 1) * 745;
        exp_worst = fmax(exp_worst, ulps(qw_exp(x), expl(x)));
        x = uniform() * 2 - 1;
        exp_worst = fmax(exp_worst, ulps(qw_exp(x), expl(x)));
        x = ldexp(0.5 + uniform(), (int)(uniform() * 2000) - 1000);
        log_worst = fmax(log_worst, ulps(qw_log(x), logl(x)));
        x = 0.5 + uniform();
        log_worst = fmax(log_worst, ulps(qw_log(x), logl(x)));
        x = (double)(float)ldexp(uniform() * 2 - 1, (int)(uniform() * 31));
        sin_worst = fmax(sin_worst, ulps(qw_sin(x), sinl(x)));
        cos_worst = fmax(cos_worst, ulps(qw_cos(x), cosl(x)));
    }
    CHECK_NEAR(exp_worst, 0, 2);
    CHECK_NEAR(log_worst, 0, 2);
    CHECK_NEAR(sin_worst, 0, 2);
    CHECK_NEAR(cos_worst, 0, 2);
}

static void test_pow_rounds_to_the_right_float(void)
{
    int wrong = 0;

    for (int i = 0; i < 100000; i++) {
        double x = uniform() * 10, y = (uniform() * 2 - 1) * 10;
        wrong += (float)qw_pow(x, y) != (float)powl(x, y);
    }
    CHECK_EQ(wrong, 0);
    CHECK_NEAR(qw_pow(1e6, -0.5), 1e-3, 1e-18);
    CHECK_NEAR(qw_pow(2, 10), 1024, 0);
    CHECK_NEAR(qw_pow(7.5, 0), 1, 0);
    CHECK_NEAR(qw_pow(1, 1e300), 1, 0);
    CHECK_NEAR(qw_pow(0, 2), 0, 0);
}

static void test_special_values(void)
{
    CHECK_NEAR(qw_exp(0), 1, 0);
    CHECK_NEAR(qw_exp((double)-INFINITY), 0, 0);
    CHECK_NEAR(qw_exp(-746.5), 0, 0);
    CHECK(qw_exp(-745.1) > 0);
    CHECK_NEAR(qw_exp(709.9), (double)INFINITY, 0);
    CHECK(isfinite(qw_exp(709.7)));
    CHECK(isnan(qw_exp((double)NAN)));
    CHECK_NEAR(qw_log(1), 0, 0);
    CHECK_NEAR(qw_log(0), (double)-INFINITY, 0);
    CHECK(isnan(qw_log(-1)));
    CHECK(isnan(qw_log((double)NAN)));
    CHECK_NEAR(qw_log((double)INFINITY), (double)INFINITY, 0);
    CHECK_NEAR(qw_log(5e-324), -744.44007192138122, 2e-13);
    CHECK_NEAR(qw_sin(0), 0, 0);
    CHECK_NEAR(qw_cos(0), 1, 0);
    CHECK(isnan(qw_sin((double)INFINITY)));
    CHECK(isnan(qw_cos((double)NAN)));
    /* The float next to a large multiple of pi/2: all of its leading digits cancel. */
    CHECK_NEAR(qw_cos(1.57079637050628662109375), -4.3711390001862414e-08, 1e-23);
    CHECK_NEAR(qw_sin(2147483648.0), -0.97131017579293925, 2e-16);
}

/* The same in every build: a hash over the bits of many results. */
static void test_results_have_the_pinned_bits(void)
{
    uint64_t hash = 0xcbf29ce484222325u;

    state = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        double x = uniform() * 40 - 20;
        double r[5] = {qw_exp(x), qw_log(fabs(x)), qw_pow(fabs(x), 1.7), qw_sin(x * 1000), qw_cos(x * 1000)};
        for (int k = 0; k < 5; k++) {
            uint64_t bits;
            memcpy(&bits, &r[k], sizeof bits);
            hash = (hash ^ bits) * 0x100000001b3u;
        }
    }
    if (!check_true(__FILE__, __LINE__, "pinned bits", hash == 0xb0f3a9047d19f58bu))
        printf("hash %016" PRIx64 "\n", hash);
}

int main(void)
{
    test_errors_stay_within_two_ulp();
    test_pow_rounds_to_the_right_float();
    test_special_values();
    test_results_have_the_pinned_bits();
    return check_done();
}
