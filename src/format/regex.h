/* SPDX-License-Identifier: MIT
 * ECMA-262 regular expressions, as with the u flag, made into expressions. \d \w \s and . as there; Unicode classes by
 * general category, script and the common binary properties that regex_classes.h names. Lookaround, backreferences, word
 * boundaries and what else is not regular, or not known, is refused with its place in the pattern. Identity escapes of
 * punctuation mean the character. */
#ifndef QW_REGEX_H
#define QW_REGEX_H

#include "format/expression.h"

typedef enum qw_regex_mode {
    QW_REGEX_WHOLE,  /* the whole text matches; ^ and $ may be there */
    QW_REGEX_SEARCH, /* a match anywhere, as JSON Schema's pattern; the rest is any text */
} qw_regex_mode;

/* The language of pattern (UTF-8) into *out; flags are those of a RegExp object ("" or "dgsuy"; i, m, v are refused).
 * Errors: usage (what, and at which character of the pattern), of the pool. A pattern that matches nothing is an error. */
qw_status qw_regex_parse(qw_expr_pool *pool, qw_text pattern, qw_text flags, qw_regex_mode mode, qw_spelling spelling,
                         qw_expr *out, qw_error *err);

#endif
