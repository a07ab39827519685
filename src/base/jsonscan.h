/* SPDX-License-Identifier: MIT
 * A strict pull scanner over JSON text (RFC 8259): one token at a time, nothing copied, nothing allocated, numbers and
 * strings as the text spells them. It checks what is handed to cJSON, and reads headers whose integers must be exact. */
#ifndef QW_JSONSCAN_H
#define QW_JSONSCAN_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { QW_SCAN_DEPTH = 64, QW_SCAN_DEEPEST = 512, QW_SCAN_NUMBER = 60 };

typedef enum qw_scan_kind {
    QW_SCAN_END, /* the text is over, and was one value */
    QW_SCAN_BEGIN_OBJECT,
    QW_SCAN_END_OBJECT,
    QW_SCAN_BEGIN_ARRAY,
    QW_SCAN_END_ARRAY,
    QW_SCAN_KEY,
    QW_SCAN_STRING,
    QW_SCAN_NUMBER_TEXT,
    QW_SCAN_TRUE,
    QW_SCAN_FALSE,
    QW_SCAN_NULL,
} qw_scan_kind;

typedef struct qw_scan_token {
    qw_scan_kind kind;
    qw_text raw; /* between the quotes of a key or string, escapes as written; the digits of a number; borrowed */
} qw_scan_token;

typedef struct qw_scan {
    const char *begin, *at, *end;
    const char *what;                         /* names the text in errors */
    uint64_t in_object[QW_SCAN_DEEPEST / 64]; /* bit d: the container at depth d + 1 is an object */
    int32_t depth, max_depth;
    int32_t state;
} qw_scan;

/* what is borrowed and names the text in errors, as "config.json". A byte order mark at the start is skipped. */
void qw_scan_init(qw_scan *s, qw_text text, const char *what);

/* The same for a reader that keeps no frame a level: nesting up to QW_SCAN_DEEPEST. */
void qw_scan_init_deep(qw_scan *s, qw_text text, const char *what);

/* The next token. Errors: format, with the offset and a few characters; nesting above the limit and numbers longer
 * than QW_SCAN_NUMBER characters are errors too. */
qw_status qw_scan_next(qw_scan *s, qw_scan_token *token, qw_error *err);

/* Reads over the rest of a value whose first token was just read. */
qw_status qw_scan_skip(qw_scan *s, const qw_scan_token *first, qw_error *err);

/* Appends the text that a raw key or string stands for, as UTF-8. */
qw_status qw_scan_unescape(qw_buf *out, qw_text raw, qw_error *err);

/* Whether a number is written as a plain integer from 0 to 2^64 - 1: no sign, fraction or exponent. *value is exact. */
bool qw_scan_uint(qw_text number, uint64_t *value);

#endif
