/* SPDX-License-Identifier: MIT
 * Properties are kept as runs, sorted by first code point, in one word each, and found by bisection: 28 KB in all. */
#include "tokenizer/unicode.h"

#include "tokenizer/unicode_tables.inc"

#define COUNT(array) (sizeof(array) / sizeof *(array))

size_t qw_utf8_step(const char *text, size_t n, uint32_t *c)
{
    const unsigned char *p = (const unsigned char *)text;
    uint32_t lead = p[0], value;
    unsigned low = 0x80, high = 0xBF; /* of the next byte */
    size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;

    *c = lead;
    if (lead < 0x80) return 1;
    *c = QW_UTF8_BAD;
    if (lead < 0xC2 || lead > 0xF4) return 1;
    if (lead == 0xE0) low = 0xA0;       /* no overlong form */
    else if (lead == 0xED) high = 0x9F; /* no surrogate */
    else if (lead == 0xF0) low = 0x90;  /* no overlong form */
    else if (lead == 0xF4) high = 0x8F; /* nothing above U+10FFFF */
    value = lead & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (i == n) *c = QW_UTF8_SHORT;
        if (i == n || p[i] < low || p[i] > high) return i;
        value = value << 6 | (p[i] & 0x3Fu);
        low = 0x80;
        high = 0xBF;
    }
    *c = value;
    return length;
}

/* The last of n sorted runs that begins at or before c; the first begins at 0. A run's first code point is above `shift`
 * bits of value. */
static uint32_t run_of(const uint32_t *runs, size_t n, unsigned shift, uint32_t c)
{
    size_t low = 0;

    while (n > 1) {
        size_t half = n / 2;
        if (runs[low + half] >> shift <= c) low += half;
        n -= half;
    }
    return runs[low];
}

qw_char_class qw_unicode_class(uint32_t c)
{
    if (c < 0x80) {
        if ((c | 0x20) - 'a' < 26) return QW_CHAR_LETTER;
        if (c - '0' < 10) return QW_CHAR_NUMBER;
        return c == ' ' || c - '\t' < 5 ? QW_CHAR_SPACE : QW_CHAR_OTHER;
    }
    return (qw_char_class)(run_of(class_runs, COUNT(class_runs), 2, c) & 3);
}

uint32_t qw_unicode_ccc(uint32_t c)
{
    return c < 0x300 ? 0 : run_of(mark_runs, COUNT(mark_runs), 9, c) & 0xFF;
}

bool qw_unicode_nfc_careful(uint32_t c)
{
    return c >= 0x300 && (run_of(mark_runs, COUNT(mark_runs), 9, c) & 0x100);
}

size_t qw_unicode_decompose(uint32_t c, uint32_t parts[2])
{
    size_t low = 0, high = COUNT(decompositions);

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (decompositions[middle] >> 42 < c) low = middle + 1;
        else high = middle;
    }
    if (low == COUNT(decompositions) || decompositions[low] >> 42 != c) return 0;
    parts[0] = (uint32_t)(decompositions[low] >> 21) & 0x1FFFFF;
    parts[1] = (uint32_t)decompositions[low] & 0x1FFFFF;
    return parts[1] ? 2 : 1;
}

uint32_t qw_unicode_compose(uint32_t first, uint32_t second)
{
    const uint64_t pair_bits = ((uint64_t)1 << 42) - 1, pair = (uint64_t)first << 21 | second;
    size_t low = 0, high = COUNT(compositions);

    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((decompositions[compositions[middle]] & pair_bits) < pair) low = middle + 1;
        else high = middle;
    }
    if (low == COUNT(compositions) || (decompositions[compositions[low]] & pair_bits) != pair) return 0;
    return (uint32_t)(decompositions[compositions[low]] >> 42);
}
