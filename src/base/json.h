/* SPDX-License-Identifier: MIT
 * Typed look-ups over cJSON with errors that name the key, and a small writer. json.c is the only file that includes
 * cJSON.h; a node is opaque elsewhere. cJSON allocates through alloc.h (hooked when the first text is parsed). */
#ifndef QW_JSON_H
#define QW_JSON_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct cJSON qw_json;

/* Parses a whole text (trailing blanks allowed, anything else after the value is an error; nesting at most 64). what names
 * it in errors, as "config.json". *out is the caller's: qw_json_free. Errors: format (offset and a few characters), memory. */
qw_status qw_json_parse(qw_json **out, qw_text text, const char *what, qw_error *err);
void qw_json_free(qw_json *root);

typedef enum qw_json_kind {
    QW_JSON_NULL,
    QW_JSON_BOOL,
    QW_JSON_NUMBER,
    QW_JSON_STRING,
    QW_JSON_ARRAY,
    QW_JSON_OBJECT
} qw_json_kind;

qw_json_kind qw_json_kind_of(const qw_json *node);
const char *qw_json_kind_name(qw_json_kind kind);

/* Iteration over an array or object: first child, next sibling; NULL at the end. key is NULL for array items. */
const qw_json *qw_json_first(const qw_json *node);
const qw_json *qw_json_next(const qw_json *child);
const char *qw_json_key(const qw_json *child);
int32_t qw_json_size(const qw_json *node);

/* The member of an object (exact case), or NULL where it is absent, null, or object is NULL. */
const qw_json *qw_json_get(const qw_json *object, const char *key);

/* The value of a node of the right kind; of another: 0, false, "". Text ends at NUL (cJSON's limit). Borrowed. */
double qw_json_number(const qw_json *node);
bool qw_json_bool(const qw_json *node);
const char *qw_json_string(const qw_json *node);

/* Member look-ups with a default for an absent (or null) member. Wrong kind, a fraction where an integer is wanted, or a
 * value outside min..max: usage or format error (`status`) that names key, value and range. */
typedef struct qw_json_in {
    const qw_json *object;
    const char *what; /* names the object in errors, as "config.json" */
    qw_status status; /* of such an error */
    qw_error *err;
} qw_json_in;

qw_status qw_json_get_int(const qw_json_in *in, const char *key, int64_t min, int64_t max, int64_t *value);
qw_status qw_json_get_double(const qw_json_in *in, const char *key, double min, double max, double *value);
qw_status qw_json_get_bool(const qw_json_in *in, const char *key, bool *value);
/* NULL stays where absent; borrowed from the object. */
qw_status qw_json_get_string(const qw_json_in *in, const char *key, const char **value);

/* Appends text as a JSON string, quoted and escaped (NUL too); text must be UTF-8. */
qw_status qw_json_write_string(qw_buf *out, qw_text text, qw_error *err);
/* Appends a number with the digits that read back to the same double; nan, inf and -inf as strings. */
qw_status qw_json_write_number(qw_buf *out, double value, qw_error *err);

#endif
