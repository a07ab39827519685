/* SPDX-License-Identifier: MIT
 * snprintf as far as this project needs it, without the C library's, which is seven times as large in a page's download:
 * %s %c %d %u %x %f %g and %% with ll, l and z, a width with or without 0, and a precision. */
#ifndef QW_PRINT_H
#define QW_PRINT_H

#include <stdarg.h>
#include <stddef.h>

#if defined(__GNUC__)
#define QW_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define QW_PRINTF(text, first)
#endif

/* As snprintf: writes at most n bytes, the last a NUL, and returns how many characters the whole text has. */
size_t qw_print(char *out, size_t n, const char *format, ...) QW_PRINTF(3, 4);
size_t qw_print_list(char *out, size_t n, const char *format, va_list list);

#endif
