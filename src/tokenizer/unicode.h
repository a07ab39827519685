/* SPDX-License-Identifier: MIT
 * UTF-8 by the code point, and the properties of code points (Unicode 16) that splitting and NFC need. Hangul is in no
 * table: nfc.c does it by arithmetic. */
#ifndef QW_UNICODE_H
#define QW_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    QW_UTF8_BAD = 0x110000,   /* a maximal ill-formed part: one U+FFFD                           */
    QW_UTF8_SHORT = 0x110001, /* the text ends inside a character: one U+FFFD if nothing follows */
    QW_UTF8_REPLACEMENT = 0xFFFD,
};

/* Bytes of the character or ill-formed part at the start of text (n >= 1 bytes); *c is its code point, or BAD or SHORT.
 * Ill-formed parts are those of the Unicode standard (table 3-7) and of the WHATWG decoder. */
size_t qw_utf8_step(const char *text, size_t n, uint32_t *c);

typedef enum qw_char_class {
    QW_CHAR_OTHER,
    QW_CHAR_LETTER, /* \p{L} */
    QW_CHAR_NUMBER, /* \p{N} */
    QW_CHAR_SPACE,  /* \s: White_Space */
    QW_CHAR_END,    /* no character: the end of a text */
} qw_char_class;

/* OTHER for what is no code point (QW_UTF8_BAD). */
qw_char_class qw_unicode_class(uint32_t c);

/* General categories by the code point: the next run of one category of the packed table at *at (0 to begin with), which is
 * moved behind it; *n is its length. Returns its place among the names, two letters each. */
enum { QW_UNICODE_CATEGORIES = 30 };
extern const char qw_unicode_category_names[2 * QW_UNICODE_CATEGORIES + 1];
uint32_t qw_unicode_next_categories(size_t *at, uint32_t *n);

/* Canonical combining class, 0 for starters. */
uint32_t qw_unicode_ccc(uint32_t c);

/* Whether NFC may change c, or a character before it because of it. A text without such characters is NFC, and before
 * every other character a text may be cut and its parts put into NFC on their own. */
bool qw_unicode_nfc_careful(uint32_t c);

/* One step of canonical decomposition: 0 (none), or 1 or 2 parts. Only the first may decompose further, twice at most. */
size_t qw_unicode_decompose(uint32_t c, uint32_t parts[2]);

/* The primary composite of two code points, or 0. */
uint32_t qw_unicode_compose(uint32_t first, uint32_t second);

#endif
