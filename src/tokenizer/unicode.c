/* SPDX-License-Identifier: MIT
 * Properties are kept as runs, sorted by first code point, in one word each, and found by bisection: 28 KB in all. A page
 * downloads them packed to half of that; they are unpacked when a property is first asked for. */
#include "tokenizer/unicode.h"

#include "tokenizer/unicode_tables.inc"

#include <pthread.h>
#include <stdlib.h>

const char qw_unicode_category_names[2 * QW_UNICODE_CATEGORIES + 1] = CATEGORY_NAMES;

static uint32_t class_words[CLASS_RUNS];             /* first code point << 2 | class */
static uint32_t mark_words[MARK_RUNS];               /* first code point << 9 | careful << 8 | combining class */
static uint64_t decomposition_words[DECOMPOSITIONS]; /* code point << 42 | first << 21 | second */
static uint16_t composition_order[COMPOSITIONS];     /* of those that may be undone, by (first, second) */
static pthread_once_t unpacked = PTHREAD_ONCE_INIT;

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

static uint32_t read_leb128(const uint8_t *bytes, size_t *at)
{
    uint32_t n = 0;

    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = bytes[(*at)++];

        n |= (uint32_t)(byte & 127) << shift;
        if (!(byte & 128)) return n;
    }
}

static int32_t read_zigzag(const uint8_t *bytes, size_t *at)
{
    uint32_t n = read_leb128(bytes, at);

    return n & 1 ? -(int32_t)(n >> 1) - 1 : (int32_t)(n >> 1);
}

uint32_t qw_unicode_next_categories(size_t *at, uint32_t *n)
{
    uint32_t category = category_runs[*at] >> 3;

    *n = category_runs[(*at)++] & 7;
    if (!*n) *n = read_leb128(category_runs, at);
    return category;
}

static qw_char_class class_of(uint32_t category)
{
    char letter = qw_unicode_category_names[2 * category];

    return letter == 'L'   ? QW_CHAR_LETTER
           : letter == 'N' ? QW_CHAR_NUMBER
           : letter == 'Z' ? QW_CHAR_SPACE
                           : QW_CHAR_OTHER;
}

static size_t add_class(size_t n, uint32_t first, qw_char_class class)
{
    if (n && (class_words[n - 1] & 3) == class) return n;
    class_words[n] = first << 2 | class;
    return n + 1;
}

/* White space is category Z, and U+0009 to U+000D and U+0085 among the controls. */
static void unpack_classes(void)
{
    size_t n = 0, at = 0;

    for (uint32_t first = 0, length; first <= 0x10FFFF; first += length) {
        qw_char_class class = class_of(qw_unicode_next_categories(&at, &length));

        n = add_class(n, first, class);
        if (first == 0) {
            n = add_class(n, 0x09, QW_CHAR_SPACE);
            n = add_class(n, 0x0E, class);
        }
        if (first <= 0x85 && first + length > 0x85) {
            n = add_class(n, 0x85, QW_CHAR_SPACE);
            if (first + length > 0x86) n = add_class(n, 0x86, class);
        }
    }
}

static void unpack_marks(void)
{
    size_t at = 0;

    for (uint32_t i = 0, first = 0; i < MARK_RUNS; i++) {
        uint32_t value = mark_values[mark_runs[at++]];

        mark_words[i] = first << 9 | value;
        first += read_leb128(mark_runs, &at);
    }
}

static const uint64_t PAIR = ((uint64_t)1 << 42) - 1;

static int by_pair(const void *a, const void *b)
{
    uint64_t x = decomposition_words[*(const uint16_t *)a] & PAIR, y = decomposition_words[*(const uint16_t *)b] & PAIR;

    return (x > y) - (x < y);
}

static void unpack_decompositions(void)
{
    uint32_t c = 0, first = 0, n_composed = 0;
    size_t at = 0;

    for (uint32_t i = 0; i < DECOMPOSITIONS; i++) {
        uint32_t step = read_leb128(decompositions, &at), second;

        c += step >> 1;
        first += (uint32_t)read_zigzag(decompositions, &at);
        second = (uint32_t)(0x300 + read_zigzag(decompositions, &at));
        decomposition_words[i] = (uint64_t)c << 42 | (uint64_t)first << 21 | second;
        if (step & 1) composition_order[n_composed++] = (uint16_t)i;
    }
    qsort(composition_order, COMPOSITIONS, sizeof *composition_order, by_pair);
}

static void unpack(void)
{
    unpack_classes();
    unpack_marks();
    unpack_decompositions();
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
    pthread_once(&unpacked, unpack);
    return (qw_char_class)(run_of(class_words, CLASS_RUNS, 2, c) & 3);
}

static uint32_t mark_of(uint32_t c)
{
    pthread_once(&unpacked, unpack);
    return run_of(mark_words, MARK_RUNS, 9, c);
}

uint32_t qw_unicode_ccc(uint32_t c)
{
    return c < 0x300 ? 0 : mark_of(c) & 0xFF;
}

bool qw_unicode_nfc_careful(uint32_t c)
{
    return c >= 0x300 && (mark_of(c) & 0x100);
}

size_t qw_unicode_decompose(uint32_t c, uint32_t parts[2])
{
    size_t low = 0, high = DECOMPOSITIONS;

    pthread_once(&unpacked, unpack);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (decomposition_words[middle] >> 42 < c) low = middle + 1;
        else high = middle;
    }
    if (low == DECOMPOSITIONS || decomposition_words[low] >> 42 != c) return 0;
    parts[0] = (uint32_t)(decomposition_words[low] >> 21) & 0x1FFFFF;
    parts[1] = (uint32_t)decomposition_words[low] & 0x1FFFFF;
    return parts[1] ? 2 : 1;
}

uint32_t qw_unicode_compose(uint32_t first, uint32_t second)
{
    const uint64_t pair = (uint64_t)first << 21 | second;
    size_t low = 0, high = COMPOSITIONS;

    pthread_once(&unpacked, unpack);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if ((decomposition_words[composition_order[middle]] & PAIR) < pair) low = middle + 1;
        else high = middle;
    }
    if (low == COMPOSITIONS || (decomposition_words[composition_order[low]] & PAIR) != pair) return 0;
    return (uint32_t)(decomposition_words[composition_order[low]] >> 42);
}
