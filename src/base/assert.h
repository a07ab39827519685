/* SPDX-License-Identifier: MIT
 * QW_ASSERT(condition): what holds unless this project has a mistake, such as an index within its array. Never for what
 * a file or a caller brings: that is checked always, and is an error. In native builds and in the tests as wasm
 * (QW_ASSERTIONS) a false condition ends the program with its place; in what ships nothing is left of it, and
 * compilers do not take it for granted. */
#ifndef QW_ASSERT_H
#define QW_ASSERT_H

#ifdef QW_ASSERTIONS
#include <stdio.h>
#include <stdlib.h>

__attribute__((cold, noinline, noreturn, unused)) static void qw_assert_failed(const char *file, int line,
                                                                               const char *condition)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}
#define QW_ASSERT(condition) ((condition) ? (void)0 : qw_assert_failed(__FILE__, __LINE__, #condition))
#else
#define QW_ASSERT(condition) ((void)sizeof((condition) ? 1 : 0))
#endif

#endif
