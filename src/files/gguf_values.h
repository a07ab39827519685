/* SPDX-License-Identifier: MIT
 * Typed look-ups of GGUF metadata. Writers do not agree on the width of integers: all are taken. */
#ifndef QW_GGUF_VALUES_H
#define QW_GGUF_VALUES_H

#include "files/gguf.h"

/* Look-ups that leave *value alone where the key is absent. Errors: format, naming the key, where the type or the range is
 * wrong. Integers of any width are taken; doubles from floats and integers. */
qw_status qw_gguf_get_int(const qw_gguf *g, const char *key, int64_t min, int64_t max, int64_t *value, qw_error *err);
qw_status qw_gguf_get_double(const qw_gguf *g, const char *key, double *value, qw_error *err);
qw_status qw_gguf_get_bool(const qw_gguf *g, const char *key, bool *value, qw_error *err);
qw_status qw_gguf_get_text(const qw_gguf *g, const char *key, qw_text *value, qw_error *err);

/* The items of an array of strings, *out the caller's (qw_free) and its texts borrowed; *n = 0 and NULL where absent. */
qw_status qw_gguf_get_texts(const qw_gguf *g, const char *key, qw_text **out, size_t *n, qw_error *err);

/* The same for an array of 32-bit integers. */
qw_status qw_gguf_get_ints(const qw_gguf *g, const char *key, int32_t **out, size_t *n, qw_error *err);

#endif
