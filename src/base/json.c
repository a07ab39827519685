/* SPDX-License-Identifier: MIT
 * The text is checked by the scanner first: its errors name the place, nesting is bounded before cJSON recurses, and
 * what cJSON then refuses can only be memory. Where an object has a key twice the last one counts, as in Python and
 * JavaScript; who must refuse twins iterates. */
#include "base/json.h"

#include "base/alloc.h"
#include "base/jsonscan.h"

#include "base/number_text.h"
#include "cJSON.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double exact_max = 9007199254740992.0; /* 2^53 */

static void *hook_alloc(size_t bytes)
{
    return qw_calloc(bytes, 1);
}

/* cJSON keeps its hooks in one place for all threads: the first to parse sets them, the others wait. */
static void use_our_memory(void)
{
    static atomic_int state; /* 0: not set, 1: being set, 2: set */
    cJSON_Hooks hooks = {hook_alloc, qw_free};
    int unset = 0;

    if (atomic_load(&state) == 2) return;
    if (atomic_compare_exchange_strong(&state, &unset, 1)) {
        cJSON_InitHooks(&hooks);
        atomic_store(&state, 2);
    }
    while (atomic_load(&state) != 2) {
    }
}

qw_status qw_json_parse(qw_json **out, qw_text text, const char *what, qw_error *err)
{
    qw_scan_token token;
    qw_scan scan;
    const char *begin;

    *out = NULL;
    qw_scan_init(&scan, text, what);
    begin = scan.at; /* after a byte order mark */
    do QW_TRY(qw_scan_next(&scan, &token, err));
    while (token.kind != QW_SCAN_END);
    use_our_memory();
    *out = cJSON_ParseWithLength(begin, (size_t)(scan.end - begin));
    return *out ? QW_OK : qw_fail_memory(err, what, 4 * (double)text.n);
}

void qw_json_free(qw_json *root)
{
    cJSON_Delete(root);
}

qw_json_kind qw_json_kind_of(const qw_json *node)
{
    if (cJSON_IsBool(node)) return QW_JSON_BOOL;
    if (cJSON_IsNumber(node)) return QW_JSON_NUMBER;
    if (cJSON_IsString(node)) return QW_JSON_STRING;
    if (cJSON_IsArray(node)) return QW_JSON_ARRAY;
    return cJSON_IsObject(node) ? QW_JSON_OBJECT : QW_JSON_NULL;
}

const char *qw_json_kind_name(qw_json_kind kind)
{
    static const char *const names[] = {"null", "bool", "number", "string", "array", "object"};
    unsigned i = (unsigned)kind;

    return i < sizeof names / sizeof *names ? names[i] : "null";
}

const qw_json *qw_json_first(const qw_json *node)
{
    return node ? node->child : NULL;
}

const qw_json *qw_json_next(const qw_json *child)
{
    return child->next;
}

const char *qw_json_key(const qw_json *child)
{
    return child->string;
}

int32_t qw_json_size(const qw_json *node)
{
    int32_t n = 0;

    for (const qw_json *child = qw_json_first(node); child; child = child->next) n++;
    return n;
}

const qw_json *qw_json_get(const qw_json *object, const char *key)
{
    const qw_json *found = NULL;

    if (!cJSON_IsObject(object)) return NULL;
    for (const qw_json *child = object->child; child; child = child->next)
        if (strcmp(child->string, key) == 0) found = child;
    return cJSON_IsNull(found) ? NULL : found;
}

double qw_json_number(const qw_json *node)
{
    return cJSON_IsNumber(node) ? node->valuedouble : 0;
}

bool qw_json_bool(const qw_json *node)
{
    return cJSON_IsTrue(node);
}

const char *qw_json_string(const qw_json *node)
{
    return cJSON_IsString(node) ? node->valuestring : "";
}

/* The member, or NULL with *status set: QW_OK where it is absent, an error where it is of another kind. */
static const qw_json *member(const qw_json_in *in, const char *key, qw_json_kind kind, qw_status *status)
{
    const qw_json *node = qw_json_get(in->object, key);

    *status = QW_OK;
    if (!node || qw_json_kind_of(node) == kind) return node;
    *status = qw_fail(in->err, in->status, "%s: %s must be a %s, got %s", in->what, key, qw_json_kind_name(kind),
                      qw_json_kind_name(qw_json_kind_of(node)));
    return NULL;
}

qw_status qw_json_get_double(const qw_json_in *in, const char *key, double min, double max, double *value)
{
    qw_status status;
    const qw_json *node = member(in, key, QW_JSON_NUMBER, &status);
    double v = qw_json_number(node);

    if (!node) return status;
    if (!(v >= min && v <= max))
        return qw_fail(in->err, in->status, "%s: %s must be from %.9g to %.9g, got %.17g", in->what, key, min, max, v);
    *value = v;
    return QW_OK;
}

qw_status qw_json_get_int(const qw_json_in *in, const char *key, int64_t min, int64_t max, int64_t *value)
{
    qw_status status;
    const qw_json *node = member(in, key, QW_JSON_NUMBER, &status);
    double v = qw_json_number(node);

    if (!node) return status;
    if (!(v >= -exact_max && v <= exact_max) || (double)(int64_t)v < v || (double)(int64_t)v > v || (int64_t)v < min ||
        (int64_t)v > max)
        return qw_fail(in->err, in->status, "%s: %s must be an integer from %lld to %lld, got %.17g", in->what, key,
                       (long long)min, (long long)max, v);
    *value = (int64_t)v;
    return QW_OK;
}

qw_status qw_json_get_bool(const qw_json_in *in, const char *key, bool *value)
{
    qw_status status;
    const qw_json *node = member(in, key, QW_JSON_BOOL, &status);

    if (node) *value = qw_json_bool(node);
    return status;
}

qw_status qw_json_get_string(const qw_json_in *in, const char *key, const char **value)
{
    qw_status status;
    const qw_json *node = member(in, key, QW_JSON_STRING, &status);

    if (node) *value = qw_json_string(node);
    return status;
}

qw_status qw_json_write_string(qw_buf *out, qw_text text, qw_error *err)
{
    size_t from = 0;

    QW_TRY(qw_buf_append(out, "\"", 1, err));
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        QW_TRY(qw_buf_append(out, text.bytes + from, i - from, err));
        from = i + 1;
        if (c == '"' || c == '\\') QW_TRY(qw_buf_printf(out, err, "\\%c", c));
        else if (c == '\n') QW_TRY(qw_buf_append(out, "\\n", 2, err));
        else QW_TRY(qw_buf_printf(out, err, "\\u%04x", c));
    }
    if (from < text.n)
        QW_TRY(qw_buf_append(out, text.bytes + from, text.n - from, err)); /* an empty text may be NULL */
    return qw_buf_append(out, "\"", 1, err);
}

qw_status qw_json_write_number(qw_buf *out, double value, qw_error *err)
{
    char digits[QW_NUMBER_TEXT];
    size_t length = 0;
    double back;

    if (!(value <= value)) return qw_buf_append(out, "\"nan\"", 5, err);
    if (!(value - value <= 0))
        return value > 0 ? qw_buf_append(out, "\"inf\"", 5, err) : qw_buf_append(out, "\"-inf\"", 6, err);
    for (int n = 15; n <= 17; n++) {
        length = qw_number_general(digits, value, n);
        back = qw_number_parse(digits, NULL);
        if (back >= value && back <= value) break;
    }
    return qw_buf_append(out, digits, length, err);
}
