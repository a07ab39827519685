/* SPDX-License-Identifier: MIT
 * Counted text, and two growable arrays: bytes and token ids. A failed append leaves the array as it was. */
#ifndef QW_BUF_H
#define QW_BUF_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* UTF-8 or raw bytes, counted: may hold NUL, need not end in one. Borrowed. */
typedef struct qw_text {
    const char *bytes;
    size_t n;
} qw_text;

/* The text of a C string or literal. */
qw_text qw_text_of(const char *c_string);

/* The same bytes. */
bool qw_text_equal(qw_text a, qw_text b);
bool qw_text_is(qw_text text, const char *c_string);
bool qw_text_begins(qw_text text, const char *c_string);

/* Writes the UTF-8 of a code point below 0x110000 (a surrogate too) and returns its length, 1 to 4. */
size_t qw_utf8_write(char out[4], uint32_t c);

/* Zero-initialise to make an empty one; the owner calls the free function. */
typedef struct qw_buf {
    char *bytes;
    size_t n, cap;
} qw_buf;

typedef struct qw_ids {
    int32_t *v;
    size_t n, cap;
} qw_ids;

/* Room for n bytes in all: appending up to them asks for no memory. */
qw_status qw_buf_reserve(qw_buf *b, size_t n, qw_error *err);
qw_status qw_buf_append(qw_buf *b, const void *bytes, size_t n, qw_error *err);
qw_status qw_buf_printf(qw_buf *b, qw_error *err, const char *format, ...) QW_PRINTF(3, 4);
void qw_buf_free(qw_buf *b);

qw_status qw_ids_push(qw_ids *ids, int32_t id, qw_error *err);
qw_status qw_ids_append(qw_ids *ids, const int32_t *v, size_t n, qw_error *err);
void qw_ids_free(qw_ids *ids);

#endif
