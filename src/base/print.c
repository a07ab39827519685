/* SPDX-License-Identifier: MIT
 * One pass over the format; what does not fit is counted only. */
#include "base/print.h"

#include "base/number_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct sink {
    char *out;
    size_t n, cap; /* characters so far, and how many there is room for without the NUL */
} sink;

static void put(sink *s, const char *text, size_t n)
{
    if (s->n < s->cap && n) memcpy(s->out + s->n, text, n < s->cap - s->n ? n : s->cap - s->n);
    s->n += n;
}

/* A conversion: %, 0, width, precision (-1: none), size (0, 1: l or z, 2: ll). */
typedef struct conversion {
    bool zeros;
    int width, precision, size;
} conversion;

static int read_count(const char **at, va_list *list)
{
    int n = 0;

    if (**at == '*') {
        ++*at;
        return va_arg(*list, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at) n = n * 10 + (**at - '0');
    return n;
}

static conversion read_conversion(const char **at, va_list *list)
{
    conversion c = {.precision = -1};

    if (**at == '0') {
        c.zeros = true;
        ++*at;
    }
    c.width = read_count(at, list);
    if (**at == '.') {
        ++*at;
        c.precision = read_count(at, list);
    }
    for (; **at == 'l' || **at == 'z'; ++*at) c.size += **at == 'z' ? 3 : 1;
    return c;
}

/* The digits of value, right-aligned to the width. */
static void put_integer(sink *s, const conversion *c, uint64_t value, bool minus, unsigned base, bool upper)
{
    char text[72];
    size_t at = sizeof text, width = (size_t)(c->width < 64 ? c->width : 64);

    do {
        unsigned digit = (unsigned)(value % base);
        text[--at] = (char)(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
        value /= base;
    } while (value);
    while (c->zeros && sizeof text - at + minus < width) text[--at] = '0';
    if (minus) text[--at] = '-';
    while (sizeof text - at < width) text[--at] = ' ';
    put(s, text + at, sizeof text - at);
}

static uint64_t unsigned_of(const conversion *c, va_list *list)
{
    if (c->size == 3) return va_arg(*list, size_t);
    if (c->size == 2) return va_arg(*list, unsigned long long);
    return c->size ? va_arg(*list, unsigned long) : va_arg(*list, unsigned);
}

static int64_t signed_of(const conversion *c, va_list *list)
{
    if (c->size == 2) return va_arg(*list, long long);
    return c->size ? va_arg(*list, long) : va_arg(*list, int);
}

static void put_string(sink *s, const conversion *c, const char *text)
{
    size_t n = 0;

    while ((c->precision < 0 || n < (size_t)c->precision) && text[n]) n++;
    put(s, text, n);
}

static void put_number(sink *s, const conversion *c, double value, bool fixed)
{
    char text[QW_NUMBER_TEXT];
    int precision = c->precision < 0 ? 6 : c->precision;

    put(s, text,
        fixed ? qw_number_fixed(text, value, precision) : qw_number_general(text, value, precision ? precision : 1));
}

static void convert(sink *s, const conversion *c, char kind, va_list *list)
{
    int64_t value;
    char one;

    switch (kind) {
    case 's':
        put_string(s, c, va_arg(*list, const char *));
        break;
    case 'c':
        one = (char)va_arg(*list, int);
        put(s, &one, 1);
        break;
    case 'd':
        value = signed_of(c, list);
        put_integer(s, c, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0, 10, false);
        break;
    case 'u':
        put_integer(s, c, unsigned_of(c, list), false, 10, false);
        break;
    case 'x':
    case 'X':
        put_integer(s, c, unsigned_of(c, list), false, 16, kind == 'X');
        break;
    case 'f':
    case 'g':
        put_number(s, c, va_arg(*list, double), kind == 'f');
        break;
    default:
        put(s, &kind, 1);
    }
}

size_t qw_print_list(char *out, size_t n, const char *format, va_list given)
{
    sink s = {out, 0, n ? n - 1 : 0};
    va_list list;

    va_copy(list, given);
    for (const char *at = format; *at;) {
        const char *text = at;
        conversion c;

        while (*at && *at != '%') at++;
        put(&s, text, (size_t)(at - text));
        if (!*at++) break;
        c = read_conversion(&at, &list);
        if (*at) convert(&s, &c, *at++, &list);
    }
    va_end(list);
    if (n) out[s.n < s.cap ? s.n : s.cap] = 0;
    return s.n;
}

size_t qw_print(char *out, size_t n, const char *format, ...)
{
    va_list list;
    size_t written;

    va_start(list, format);
    written = qw_print_list(out, n, format, list);
    va_end(list);
    return written;
}
