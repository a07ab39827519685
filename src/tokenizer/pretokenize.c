/* SPDX-License-Identifier: MIT
 * One function for each alternative of the pattern (the three for white space are one). Each returns the end of its match
 * at `at`, or `at` where it has none; none looks back, and none looks further than one character past its match but for
 * white space, where a run may be read twice. */
#include "tokenizer/pretokenize.h"

#include "tokenizer/unicode.h"

typedef struct peeked {
    qw_char_class class;
    uint32_t c;
    size_t end;
} peeked;

static peeked peek(qw_text text, size_t at)
{
    peeked p = {QW_CHAR_END, 0, at};

    if (at == text.n) return p;
    p.end += qw_utf8_step(text.bytes + at, text.n - at, &p.c);
    p.class = qw_unicode_class(p.c);
    return p;
}

static size_t skip_class(qw_text text, size_t at, qw_char_class class)
{
    for (peeked p = peek(text, at); p.class == class; p = peek(text, at)) at = p.end;
    return at;
}

static bool is_newline(uint32_t c)
{
    return c == '\r' || c == '\n';
}

/* (?i:'s|'t|'re|'ve|'m|'ll|'d); without case, s is also U+017F. */
static size_t contraction(qw_text text, size_t at)
{
    peeked first;
    uint32_t second;

    if (text.bytes[at] != '\'') return at;
    first = peek(text, at + 1);
    if (first.c == 0x17F) return first.end;
    if (first.c >= 0x80) return at;
    switch (first.c | 0x20) {
    case 's':
    case 't':
    case 'm':
    case 'd':
        return first.end;
    case 'r':
    case 'v':
    case 'l':
        second = peek(text, first.end).c | 0x20;
        return second == ((first.c | 0x20) == 'l' ? 'l' : 'e') ? first.end + 1 : at;
    default:
        return at;
    }
}

/* [^\r\n\p{L}\p{N}]?\p{L}+ */
static size_t word(qw_text text, size_t at)
{
    peeked first = peek(text, at);

    if (first.class == QW_CHAR_LETTER) return skip_class(text, first.end, QW_CHAR_LETTER);
    if (first.class == QW_CHAR_NUMBER || is_newline(first.c)) return at;
    if (peek(text, first.end).class != QW_CHAR_LETTER) return at;
    return skip_class(text, first.end, QW_CHAR_LETTER);
}

/* \p{N} */
static size_t number(qw_text text, size_t at)
{
    peeked first = peek(text, at);

    return first.class == QW_CHAR_NUMBER ? first.end : at;
}

/*  ?[^\s\p{L}\p{N}]+[\r\n]* */
static size_t punctuation(qw_text text, size_t at)
{
    size_t from = at + (text.bytes[at] == ' '), end = skip_class(text, from, QW_CHAR_OTHER);

    if (end == from) return at;
    while (end < text.n && (text.bytes[end] == '\r' || text.bytes[end] == '\n')) end++;
    return end;
}

/* \s*[\r\n]+|\s+(?!\S)|\s+: up to the run's last newline; else all of it where the text ends with it; else without its
 * last character, which the next piece takes; else that one character. */
static size_t space(qw_text text, size_t at)
{
    size_t newline = at, last = at, end = at;

    for (peeked p = peek(text, at); p.class == QW_CHAR_SPACE; p = peek(text, end)) {
        last = end;
        end = p.end;
        if (is_newline(p.c)) newline = end;
    }
    if (newline > at) return newline;
    return end == text.n || last == at ? end : last;
}

size_t qw_pretokenize_next(qw_text text, size_t at)
{
    static size_t (*const alternatives[])(qw_text, size_t) = {contraction, word, number, punctuation, space};

    for (size_t i = 0; i < sizeof alternatives / sizeof *alternatives; i++) {
        size_t end = alternatives[i](text, at);
        if (end > at) return end;
    }
    return text.n; /* not reached: every class has its alternative */
}
