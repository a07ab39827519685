/* SPDX-License-Identifier: MIT
 * Assertions for the C tests. A check evaluates each argument once, goes on after a failure, and prints the place and both
 * values. A test program includes this once and ends with: return check_done(); */
#ifndef QW_CHECK_H
#define QW_CHECK_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int64_t check_passed, check_failed;

#define CHECK(condition) ((void)check_true(__FILE__, __LINE__, #condition, (condition)))

/* Integers, enums, bools: compared as int64_t. */
#define CHECK_EQ(got, wanted)                                                                                          \
    ((void)check_int(__FILE__, __LINE__, #got " == " #wanted, (int64_t)(got), (int64_t)(wanted)))

/* |got - wanted| <= tolerance; NaN is near nothing. */
#define CHECK_NEAR(got, wanted, tolerance)                                                                             \
    ((void)check_near(__FILE__, __LINE__, #got " ~ " #wanted, (double)(got), (double)(wanted), (double)(tolerance)))

/* C strings; NULL equals only NULL. */
#define CHECK_STR(got, wanted) ((void)check_str(__FILE__, __LINE__, #got " == " #wanted, (got), (wanted)))

/* True where text holds part: for error messages that must name something. */
#define CHECK_HAS(text, part) ((void)check_has(__FILE__, __LINE__, #text " has " #part, (text), (part)))

static inline bool check_count(bool ok)
{
    check_passed += ok;
    check_failed += !ok;
    return ok;
}

static inline bool check_true(const char *file, int line, const char *what, bool ok)
{
    if (!check_count(ok)) printf("%s:%d: failed: %s\n", file, line, what);
    return ok;
}

static inline bool check_int(const char *file, int line, const char *what, int64_t got, int64_t wanted)
{
    if (!check_count(got == wanted))
        printf("%s:%d: failed: %s: got %" PRId64 ", wanted %" PRId64 "\n", file, line, what, got, wanted);
    return got == wanted;
}

static inline bool check_near(const char *file, int line, const char *what, double got, double wanted, double tolerance)
{
    double difference = got > wanted ? got - wanted : wanted - got;
    bool ok = got <= wanted && got >= wanted ? true : difference <= tolerance; /* equal infinities are near */

    if (!check_count(ok))
        printf("%s:%d: failed: %s: got %.9g, wanted %.9g, tolerance %.3g\n", file, line, what, got, wanted, tolerance);
    return ok;
}

static inline bool check_str(const char *file, int line, const char *what, const char *got, const char *wanted)
{
    bool ok = got && wanted ? strcmp(got, wanted) == 0 : got == wanted;

    if (!check_count(ok))
        printf("%s:%d: failed: %s: got \"%s\", wanted \"%s\"\n", file, line, what, got ? got : "(null)",
               wanted ? wanted : "(null)");
    return ok;
}

static inline bool check_has(const char *file, int line, const char *what, const char *text, const char *part)
{
    bool ok = strstr(text, part) != NULL;

    if (!check_count(ok)) printf("%s:%d: failed: %s: \"%s\" in \"%s\"\n", file, line, what, part, text);
    return ok;
}

/* The program's exit status, after the one line that sums it up. A program without a single check has failed. */
static inline int check_done(void)
{
    printf("%" PRId64 " passed, %" PRId64 " failed\n", check_passed, check_failed);
    return check_failed || !check_passed;
}

#endif
