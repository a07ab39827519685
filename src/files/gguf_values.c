/* SPDX-License-Identifier: MIT
 * The parser has checked every value's length against its type, so reading one cannot leave the header. */
#include "files/gguf_values.h"

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/quote_text.h"

#include <string.h>

static qw_status wrong_type(const qw_gguf_value *v, const char *wanted, qw_error *err)
{
    char shown[64];

    return qw_fail(err, QW_ERR_FORMAT, "GGUF key %s must be %s, it has type %u", qw_quote_text(shown, v->key), wanted,
                   v->type);
}

/* The little-endian integer at p, sign-extended. False where the type is no integer, or is above the greatest int64. */
static bool read_int(const uint8_t *p, uint32_t type, int64_t *value)
{
    static const int8_t widths[] = {1, -1, 2, -2, 4, -4, 0, 0, 0, 0, 8, -8};
    int width = type < sizeof widths ? widths[type] : 0;
    int n = width < 0 ? -width : width;
    qw_bytes in = {p, p + n, false};
    uint64_t v = qw_bytes_uint(&in, n);
    uint64_t sign = n ? (uint64_t)1 << (8 * n - 1) : 0;

    if (!width || (width == 8 && v > INT64_MAX)) return false;
    if (width < 0 && n < 8) v = (v ^ sign) - sign;
    memcpy(value, &v, sizeof v);
    return true;
}

qw_status qw_gguf_get_int(const qw_gguf *g, const char *key, int64_t min, int64_t max, int64_t *value, qw_error *err)
{
    const qw_gguf_value *v = qw_gguf_find(g, key);
    int64_t i;

    if (!v) return QW_OK;
    if (!read_int(v->bytes, v->type, &i)) return wrong_type(v, "an integer", err);
    if (i < min || i > max)
        return qw_fail(err, QW_ERR_FORMAT, "GGUF key %s must be from %lld to %lld, got %lld", key, (long long)min,
                       (long long)max, (long long)i);
    *value = i;
    return QW_OK;
}

qw_status qw_gguf_get_double(const qw_gguf *g, const char *key, double *value, qw_error *err)
{
    const qw_gguf_value *v = qw_gguf_find(g, key);
    int64_t i;

    if (!v) return QW_OK;
    if (v->type == QW_GGUF_F32) {
        qw_bytes in = {v->bytes, v->bytes + 4, false};
        *value = (double)qw_bytes_f32(&in);
    } else if (v->type == QW_GGUF_F64) {
        qw_bytes in = {v->bytes, v->bytes + 8, false};
        uint64_t bits = qw_bytes_u64(&in);
        memcpy(value, &bits, sizeof bits);
    } else if (read_int(v->bytes, v->type, &i)) {
        *value = (double)i;
    } else {
        return wrong_type(v, "a number", err);
    }
    return QW_OK;
}

qw_status qw_gguf_get_bool(const qw_gguf *g, const char *key, bool *value, qw_error *err)
{
    const qw_gguf_value *v = qw_gguf_find(g, key);

    if (!v) return QW_OK;
    if (v->type != QW_GGUF_BOOL || v->bytes[0] > 1) return wrong_type(v, "a bool of 0 or 1", err);
    *value = v->bytes[0] == 1;
    return QW_OK;
}

qw_status qw_gguf_get_text(const qw_gguf *g, const char *key, qw_text *value, qw_error *err)
{
    const qw_gguf_value *v = qw_gguf_find(g, key);

    if (!v) return QW_OK;
    if (v->type != QW_GGUF_STRING) return wrong_type(v, "a string", err);
    *value = (qw_text){(const char *)v->bytes, (size_t)v->n};
    return QW_OK;
}

/* The array of that key, NULL where it is absent; its items of one of two types. */
static qw_status find_array(const qw_gguf *g, const char *key, qw_gguf_type a, qw_gguf_type b,
                            const qw_gguf_value **out, qw_error *err)
{
    const qw_gguf_value *v = qw_gguf_find(g, key);

    *out = NULL;
    if (v && v->type != QW_GGUF_ARRAY) return wrong_type(v, "an array", err);
    if (v && v->item_type != a && v->item_type != b)
        return qw_fail(err, QW_ERR_FORMAT, "GGUF key %s is an array of type %u, wanted is type %d", key, v->item_type,
                       (int)a);
    *out = v;
    return QW_OK;
}

qw_status qw_gguf_get_texts(const qw_gguf *g, const char *key, qw_text **out, size_t *n, qw_error *err)
{
    const qw_gguf_value *v;
    qw_text *texts;
    qw_bytes in;

    *out = NULL;
    *n = 0;
    QW_TRY(find_array(g, key, QW_GGUF_STRING, QW_GGUF_STRING, &v, err));
    if (!v) return QW_OK;
    texts = qw_calloc((size_t)v->n, sizeof *texts);
    if (!texts) return qw_fail_memory(err, key, (double)v->n * sizeof *texts);
    in = (qw_bytes){v->bytes, v->bytes + v->n_bytes, false};
    for (size_t i = 0; i < v->n; i++) {
        uint64_t length = qw_bytes_u64(&in);
        texts[i] = (qw_text){(const char *)qw_bytes_take(&in, length), (size_t)length};
    }
    *out = texts;
    *n = (size_t)v->n;
    return QW_OK;
}

qw_status qw_gguf_get_ints(const qw_gguf *g, const char *key, int32_t **out, size_t *n, qw_error *err)
{
    const qw_gguf_value *v;
    int32_t *ints;
    qw_bytes in;

    *out = NULL;
    *n = 0;
    QW_TRY(find_array(g, key, QW_GGUF_I32, QW_GGUF_U32, &v, err));
    if (!v) return QW_OK;
    ints = qw_calloc((size_t)v->n, sizeof *ints);
    if (!ints) return qw_fail_memory(err, key, (double)v->n * sizeof *ints);
    in = (qw_bytes){v->bytes, v->bytes + v->n_bytes, false};
    for (size_t i = 0; i < v->n; i++) {
        uint32_t bits = qw_bytes_u32(&in);
        memcpy(&ints[i], &bits, sizeof bits);
    }
    *out = ints;
    *n = (size_t)v->n;
    return QW_OK;
}
