/* SPDX-License-Identifier: MIT
 * A double is m * 2^e; its decimal digits are those of m * 2^e, or of m * 5^-e with the point moved, exactly, by a big
 * integer. Text is read by a guess that is corrected against the exact digits of what lies halfway to its neighbours. */
#include "base/number_text.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* 2^-1074 times 2^53 has 767 digits that are not zeros in front. */
enum { LIMB_DIGITS = 9, LIMBS = 90, DIGITS = LIMB_DIGITS * LIMBS };
#define LIMB 1000000000u

/* 0.d1 d2 ... times 10^point; no zeros at either end. */
typedef struct digits {
    char d[DIGITS];
    int n, point;
} digits;

/* m * 2^e, e from -1075 to 971, m below 2^54. */
typedef struct binary {
    uint64_t m;
    int e;
} binary;

static binary binary_of(double value)
{
    uint64_t bits;
    int e;

    memcpy(&bits, &value, sizeof bits);
    e = (int)(bits >> 52 & 0x7FF);
    bits &= ((uint64_t)1 << 52) - 1;
    return e ? (binary){bits | (uint64_t)1 << 52, e - 1075} : (binary){bits, -1074};
}

static void strip(digits *x)
{
    while (x->n && x->d[x->n - 1] == '0') x->n--;
}

/* The digits of a big number of n limbs, lowest first, times 10^exponent. */
static void write_limbs(digits *x, const uint32_t *limbs, int n, int exponent)
{
    int skip = 0;

    x->n = 0;
    for (int i = n; i-- > 0;) {
        uint32_t limb = limbs[i];

        for (int k = LIMB_DIGITS; k-- > 0; limb /= 10) x->d[x->n + k] = (char)('0' + limb % 10);
        x->n += LIMB_DIGITS;
    }
    while (skip < x->n && x->d[skip] == '0') skip++;
    x->n -= skip;
    memmove(x->d, x->d + skip, (size_t)x->n);
    x->point = x->n ? x->n + exponent : 0;
    strip(x);
}

static void digits_of(digits *x, binary b)
{
    uint32_t limbs[LIMBS];
    int n = 0, exponent = 0;

    for (; b.m && !(b.m & 1) && b.e < 0; b.e++) b.m >>= 1;
    for (; b.m; b.m /= LIMB) limbs[n++] = (uint32_t)(b.m % LIMB);
    while (b.e) {
        uint64_t carry = 0;
        uint32_t factor = 1;

        for (int k = 0; k < 12 && b.e; k++) {
            factor *= b.e > 0 ? 2 : 5;
            if (b.e > 0) b.e--;
            else b.e++, exponent--;
        }
        for (int i = 0; i < n; i++) {
            carry += (uint64_t)limbs[i] * factor;
            limbs[i] = (uint32_t)(carry % LIMB);
            carry /= LIMB;
        }
        if (carry) limbs[n++] = (uint32_t)carry;
    }
    write_limbs(x, limbs, n, exponent);
}

static int compare(const digits *a, const digits *b)
{
    int n = a->n < b->n ? a->n : b->n, order;

    if (!a->n || !b->n) return (a->n > 0) - (b->n > 0);
    if (a->point != b->point) return a->point < b->point ? -1 : 1;
    order = memcmp(a->d, b->d, (size_t)n);
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

static double neighbour(double value, int step)
{
    int64_t bits;

    memcpy(&bits, &value, sizeof bits);
    bits += step;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* How x lies to the middle between value (>= 0, finite) and the next double: below, at it, above. */
static int against_middle(const digits *x, double value)
{
    binary b = binary_of(value);
    digits middle;

    digits_of(&middle, (binary){2 * b.m + 1, b.e - 1});
    return compare(x, &middle);
}

/* The double next to x; guess is one not far from it. */
static double nearest(const digits *x, double guess)
{
    for (;;) {
        bool odd = binary_of(guess).m & 1;
        int order = against_middle(x, guess);

        if (order < 0 || (order == 0 && !odd)) break;
        guess = neighbour(guess, 1);
        if (guess > DBL_MAX) return guess;
    }
    while (guess > 0) {
        bool odd = binary_of(guess).m & 1;
        int order = against_middle(x, neighbour(guess, -1));

        if (order > 0 || (order == 0 && !odd)) break;
        guess = neighbour(guess, -1);
    }
    return guess;
}

static double power_of_ten(int n)
{
    double p = 1;

    while (n-- > 0) p *= 10; /* exact up to 22 */
    return p;
}

static double scaled(double value, int exponent)
{
    for (; exponent > 22 && value <= DBL_MAX; exponent -= 22) value *= 1e22;
    for (; exponent < -22 && value > 0; exponent += 22) value /= 1e22;
    return exponent < 0 ? value / power_of_ten(-exponent) : value * power_of_ten(exponent < 23 ? exponent : 22);
}

static double value_of(digits *x)
{
    double guess = 0;
    int n = x->n < 15 ? x->n : 15, exponent = x->point - n;

    for (int i = 0; i < n; i++) guess = guess * 10 + (x->d[i] - '0');
    if (x->n <= 15 && exponent >= -22 && exponent <= 22) return scaled(guess, exponent); /* one rounding */
    guess = scaled(guess, exponent);
    return nearest(x, guess > DBL_MAX ? DBL_MAX : guess);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits with an optional point; behind them, or NULL where there is none. */
static const char *read_digits(digits *x, const char *at)
{
    bool any = false, fraction = false;

    for (;; at++) {
        if (*at == '.' && !fraction) {
            fraction = true;
            continue;
        }
        if (!is_digit(*at)) break;
        any = true;
        if (!fraction) x->point += x->n > 0 || *at != '0';
        else x->point -= !x->n && *at == '0';
        if (x->n < DIGITS && (x->n || *at != '0')) x->d[x->n++] = *at;
    }
    strip(x);
    return any ? at : NULL;
}

double qw_number_parse(const char *text, char **end)
{
    digits x;
    bool minus = *text == '-';
    const char *at;
    double value;

    x.n = x.point = 0;
    at = read_digits(&x, text + minus);
    if (end) *end = (char *)(at ? at : text);
    if (!at) return 0;
    if ((*at | 32) == 'e') {
        bool down = at[1] == '-';
        const char *first = at + 1 + (down || at[1] == '+');
        int exponent = 0;

        for (at = first; is_digit(*at); at++) exponent = exponent < 100000 ? exponent * 10 + (*at - '0') : exponent;
        if (at > first && end) *end = (char *)at;
        x.point += down ? -exponent : exponent;
    }
    value = x.n ? value_of(&x) : 0;
    return minus ? -value : value;
}

/* Keeps n digits, rounded half to even. */
static void round_to(digits *x, int n)
{
    bool up;
    int i = n;

    if (n < 0) x->n = 0;
    if (n < 0 || x->n <= n) return;
    up = x->d[n] > '5' || (x->d[n] == '5' && (x->n > n + 1 || (n && (x->d[n - 1] & 1))));
    x->n = n;
    while (up && i > 0 && x->d[i - 1] == '9') i--;
    if (up && i > 0) {
        x->d[i - 1]++;
        x->n = i;
    } else if (up) {
        x->d[0] = '1';
        x->n = 1;
        x->point++;
    }
    strip(x);
}

/* The digits of a finite number; 0 has none. Writes its sign, or all of it where it is not finite, and tells so. */
static bool begin(char *out, size_t *n, double value, digits *x)
{
    *n = 0;
    if (!(value <= value)) {
        memcpy(out, "nan", *n = 3);
        return false;
    }
    if (signbit(value)) out[(*n)++] = '-';
    if (!(value - value <= 0)) {
        memcpy(out + *n, "inf", 3);
        *n += 3;
        return false;
    }
    digits_of(x, binary_of(value < 0 ? -value : value));
    return true;
}

static char digit_at(const digits *x, int i)
{
    return (char)(i >= 0 && i < x->n ? x->d[i] : '0');
}

/* With so many digits behind the point. */
static size_t write_fixed(char *out, size_t n, const digits *x, int decimals)
{
    int whole = x->n ? x->point : 0;

    if (whole < 1) out[n++] = '0';
    for (int i = 0; i < whole; i++) out[n++] = digit_at(x, i);
    if (decimals) out[n++] = '.';
    for (int i = 0; i < decimals; i++) out[n++] = digit_at(x, whole + i);
    out[n] = 0;
    return n;
}

size_t qw_number_fixed(char out[QW_NUMBER_TEXT], double value, int decimals)
{
    digits x;
    size_t n;

    if (begin(out, &n, value, &x)) {
        round_to(&x, x.point + decimals);
        return write_fixed(out, n, &x, decimals);
    }
    out[n] = 0;
    return n;
}

size_t qw_number_general(char out[QW_NUMBER_TEXT], double value, int precision)
{
    digits x;
    size_t n;
    int exponent;

    if (!begin(out, &n, value, &x)) {
        out[n] = 0;
        return n;
    }
    round_to(&x, precision);
    exponent = x.n ? x.point - 1 : 0;
    if (exponent >= -4 && exponent < precision) return write_fixed(out, n, &x, x.n > x.point ? x.n - x.point : 0);
    for (int i = 0; i < x.n; i++) {
        if (i == 1) out[n++] = '.';
        out[n++] = x.d[i];
    }
    out[n++] = 'e';
    out[n++] = exponent < 0 ? '-' : '+';
    if (exponent < 0) exponent = -exponent;
    if (exponent > 99) out[n++] = (char)('0' + exponent / 100);
    out[n++] = (char)('0' + exponent / 10 % 10);
    out[n++] = (char)('0' + exponent % 10);
    out[n] = 0;
    return n;
}
