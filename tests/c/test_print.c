/* SPDX-License-Identifier: MIT
 * Numbers as text and back, and formats, against the C library's. */
#include "base/number_text.h"
#include "base/print.h"

#include "check.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint64_t dice = 88172645463325252u;

static uint64_t roll(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    return dice ^= dice << 17;
}

static double any_double(void)
{
    uint64_t bits = roll();
    double value;

    memcpy(&value, &bits, sizeof value);
    return value <= value ? value : 0;
}

static const double EDGES[] = {0,     -0.0, 1,        0.1,      0.5,     1.5,      2.5,      1e15,
                               1e16,  1e17, 9.995,    0.00005,  0.0001,  123456,   999999.5, 1e21,
                               1e22,  1e23, 4.9e-324, 2.3e-308, 1.7e308, 5e-5,     1e-4,     0.3,
                               -1e-7, 9.5,  99.5,     0.049,    1e300,   INFINITY, -INFINITY};

static void check_text(double value)
{
    static const int decimals[] = {0, 3, 6};
    char got[QW_NUMBER_TEXT], want[512];

    for (int p = 1; p <= 17; p++) {
        snprintf(want, sizeof want, "%.*g", p, value);
        CHECK_EQ(qw_number_general(got, value, p), strlen(want));
        CHECK_STR(got, want);
    }
    for (int i = 0; i < 3; i++) {
        snprintf(want, sizeof want, "%.*f", decimals[i], value);
        CHECK_EQ(qw_number_fixed(got, value, decimals[i]), strlen(want));
        CHECK_STR(got, want);
    }
}

static void test_numbers_are_written_as_by_printf(void)
{
    for (size_t i = 0; i < sizeof EDGES / sizeof *EDGES; i++) check_text(EDGES[i]);
    for (int i = 0; i < 500; i++) {
        check_text(any_double());
        check_text((double)(int64_t)(roll() >> 20) / 1000);
    }
}

static void check_parse(const char *text)
{
    char *got_end, *want_end;
    double got = qw_number_parse(text, &got_end), want = strtod(text, &want_end);

    CHECK(memcmp(&got, &want, sizeof got) == 0);
    CHECK_EQ(got_end - text, want_end - text);
}

static void test_numbers_are_read_as_by_strtod(void)
{
    static const char *const texts[] = {"0",
                                        "-0",
                                        "1",
                                        "1.5e",
                                        "1e+",
                                        ".5",
                                        "5.",
                                        "-",
                                        "x",
                                        "1e400",
                                        "1e-400",
                                        "4.9e-324",
                                        "2.4e-324",
                                        "2.5e-324",
                                        "1e22",
                                        "1e23",
                                        "8.5e-324",
                                        "-1e5,",
                                        "0.1",
                                        "123456789012345678901234567890",
                                        "0.000000000000000000000000000001",
                                        "1.7976931348623157e308",
                                        "1.7976931348623159e308",
                                        "2.2250738585072011e-308",
                                        "9007199254740993",
                                        "9007199254740992.99999999999999999999",
                                        "9007199254740993.00000000000000000001",
                                        "0e5",
                                        "00012",
                                        "1e0000000000000000000005",
                                        "179769313486231580793728971405301e276"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) check_parse(texts[i]);
    for (int i = 0; i < 4000; i++) {
        char text[64];

        snprintf(text, sizeof text, "%.*g", (int)(1 + roll() % 20), any_double());
        if (strchr(text, 'n')) continue; /* inf is no number of JSON */
        check_parse(text);
        snprintf(text, sizeof text, "%llu%llue%d", (unsigned long long)roll(), (unsigned long long)roll() % 1000,
                 (int)(roll() % 700) - 360);
        check_parse(text);
    }
}

static void test_formats(void)
{
    char got[200], want[200];

#define SAME(...)                                                                                                      \
    do {                                                                                                               \
        snprintf(want, sizeof want, __VA_ARGS__);                                                                      \
        CHECK_EQ(qw_print(got, sizeof got, __VA_ARGS__), strlen(want));                                                \
        CHECK_STR(got, want);                                                                                          \
    } while (0)

    SAME("%s and %.*s, %.3s%%", "one", 2, "three", "fourteen");
    SAME("%d %d %d %u %c|%5d|%05d|", -5, 0, 2147483647, 4294967295u, 'x', -42, -42);
    SAME("%lld %llu %05lld %zu %ld", -9223372036854775807LL - 1, 18446744073709551615ULL, 42LL, (size_t)7, -3L);
    SAME("%x %X %04x %02X %016llx", 255u, 255u, 10u, 3u, 0xABCDEFULL);
    SAME("%g %.9g %.17g %.0f %.3f %.*g", 0.1, 1.0 / 3, 0.1, 2.5, 1.0005, 4, 12345.678);
    CHECK_EQ(qw_print(got, 4, "%s", "abcdef"), 6);
    CHECK_STR(got, "abc");
    CHECK_EQ(qw_print(NULL, 0, "%d", 12345), 5);
}

int main(void)
{
    test_numbers_are_written_as_by_printf();
    test_numbers_are_read_as_by_strtod();
    test_formats();
    return check_done();
}
