/* SPDX-License-Identifier: MIT
 * Elementary functions from exactly rounded operations. Arguments are reduced in two doubles (hi + lo), the rest is a
 * Taylor polynomial on an interval short enough for it; what rounding loses at each step is carried along. */
#include "base/exact_math.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef struct pair {
    double hi, lo;
} pair;

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^k, -1022 <= k <= 1023. */
static double power2(int k)
{
    return from_bits((uint64_t)(k + 1023) << 52);
}

/* a + b without loss. */
static pair two_sum(double a, double b)
{
    double hi = a + b, part = hi - a;

    return (pair){hi, (a - (hi - part)) + (b - part)};
}

/* a * b without loss, by halves of 26 bits; not for magnitudes above 2^990. */
static pair two_product(double a, double b)
{
    double hi = a * b, s = a * 134217729.0, t = b * 134217729.0;
    double a1 = s - (s - a), b1 = t - (t - b), a2 = a - a1, b2 = b - b1;

    return (pair){hi, ((a1 * b1 - hi) + a1 * b2 + a2 * b1) + a2 * b2};
}

/* ln 2: 32 bits, so that multiples by exponents are exact, and the rest. */
#define LN2_HI 0x1.62e42feep-1
#define LN2_LO 0x1.a39ef35793c76p-33

/* exp(x + low), |low| much smaller than |x|'s unit. Below -746 everything rounds to 0, above 709.8 to infinity. */
static double exp_of(double x, double low)
{
    /* 1/13! down to 1/2! */
    static const double c[] = {1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
                               1.0 / 362880.0,     1.0 / 40320.0,     1.0 / 5040.0,     1.0 / 720.0,
                               1.0 / 120.0,        1.0 / 24.0,        1.0 / 6.0,        0.5};
    double k, high, r, rest, q = c[0];
    int n;

    if (x != x) return x;
    if (x < -746) return 0;
    if (x > 709.8) return from_bits(0x7ff0000000000000u);
    k = rint(x * 0x1.71547652b82fep+0);
    high = x - k * LN2_HI;
    r = high - k * LN2_LO;
    rest = (high - r) - k * LN2_LO + low;
    for (int i = 1; i < 12; i++) q = q * r + c[i];
    q = 1.0 + (r + (r * r * q + (rest + rest * r)));
    n = (int)k;
    return q * power2(n / 2) * power2(n - n / 2);
}

double qw_exp(double x)
{
    return exp_of(x, 0);
}

/* log of a positive finite x to about 58 bits: x = 2^k m, m in [sqrt 1/2, sqrt 2), log m = 2 atanh(s), s = (m - 1) /
 * (m + 1). */
static pair log_of(double x)
{
    double m, s, rest, z, q = 0, tail;
    pair sum, product;
    int k = 0;

    if (x < 0x1p-1022) {
        x *= 0x1p54;
        k = -54;
    }
    k += (int)(bits_of(x) >> 52) - 1023;
    m = from_bits((bits_of(x) & 0xfffffffffffffu) | 0x3ff0000000000000u);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        k++;
    }
    sum = two_sum(m, 1.0);
    s = (m - 1.0) / sum.hi;
    product = two_product(s, sum.hi);
    rest = ((m - 1.0 - product.hi) - product.lo - s * sum.lo) / sum.hi;
    z = s * s;
    for (int i = 25; i >= 3; i -= 2) q = q * z + 1.0 / i;
    tail = 2.0 * (rest + s * z * q) + k * LN2_LO;
    sum = two_sum(k * LN2_HI, 2.0 * s);
    return two_sum(sum.hi, sum.lo + tail);
}

double qw_log(double x)
{
    if (x != x || x < 0) return from_bits(0x7ff8000000000000u);
    if (x == 0) return from_bits(0xfff0000000000000u);
    if (x > 0x1.fffffffffffffp+1023) return x;
    return log_of(x).hi;
}

double qw_pow(double x, double y)
{
    pair log, product;

    if (!(x > 0) || x > 0x1.fffffffffffffp+1023 || !(fabs(y) < 0x1p900)) return exp_of(y * qw_log(x), 0);
    log = log_of(x);
    product = two_product(log.hi, y);
    if (!(fabs(product.hi) < 1000)) return exp_of(product.hi, 0);
    return exp_of(product.hi, product.lo + log.lo * y);
}

/* x minus the nearest multiple of pi/2, whose number goes to *quadrant. Each part of pi/2 but the last has 22 bits,
 * so that its product with a number below 2^31 is exact. */
static pair reduce(double x, int64_t *quadrant)
{
    static const double parts[] = {0x1.921fbp+0, 0x1.5110bp-22, 0x1.184698p-44, 0x1.3198ap-69, 0x1.701b839a25205p-92};
    double k = rint(x * 0x1.45f306dc9c883p-1);
    pair r = {x, 0};

    for (int i = 0; i < (int)(sizeof parts / sizeof *parts); i++) {
        pair sum = two_sum(r.hi, -k * parts[i]);
        r = (pair){sum.hi, r.lo + sum.lo};
    }
    *quadrant = (int64_t)k & 3;
    return two_sum(r.hi, r.lo);
}

/* Taylor's coefficients, the highest order first: of sin from r^17 down to r^3, of cos from r^18 down to r^4. */
static const double sine[] = {1.0 / 355687428096000.0, -1.0 / 1307674368000.0, 1.0 / 6227020800.0, -1.0 / 39916800.0,
                              1.0 / 362880.0,          -1.0 / 5040.0,          1.0 / 120.0,        -1.0 / 6.0};
static const double cosine[] = {
    -1.0 / 6402373705728000.0, 1.0 / 20922789888000.0, -1.0 / 87178291200.0, 1.0 / 479001600.0,
    -1.0 / 3628800.0,          1.0 / 40320.0,          -1.0 / 720.0,         1.0 / 24.0};

static double polynomial(const double c[8], double z)
{
    double q = c[0];

    for (int i = 1; i < 8; i++) q = q * z + c[i];
    return q;
}

/* |r| <= pi/4. */
static double sine_of(pair r)
{
    double z = r.hi * r.hi;

    return r.hi + (r.hi * z * polynomial(sine, z) + r.lo * (1.0 - 0.5 * z));
}

static double cosine_of(pair r)
{
    double z = r.hi * r.hi, w = 1.0 - 0.5 * z;

    return w + (((1.0 - w) - 0.5 * z) + (z * z * polynomial(cosine, z) - r.hi * r.lo));
}

/* Outside of the range there is no angle left in a double's bits. */
static double circular(double x, int64_t shift)
{
    int64_t quadrant;
    pair r;

    if (!(fabs(x) <= 2147483648.0)) return from_bits(0x7ff8000000000000u);
    r = reduce(x, &quadrant);
    switch ((quadrant + shift) & 3) {
    case 0:
        return sine_of(r);
    case 1:
        return cosine_of(r);
    case 2:
        return -sine_of(r);
    default:
        return -cosine_of(r);
    }
}

double qw_sin(double x)
{
    return circular(x, 0);
}

double qw_cos(double x)
{
    return circular(x, 1);
}
