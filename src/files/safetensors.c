/* SPDX-License-Identifier: MIT
 * The header is scanned, not parsed into a tree: its integers must be exact to 2^64, which a double is not. */
#include "files/safetensors.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "base/bytes.h"
#include "base/jsonscan.h"
#include "base/quote_text.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000 }; /* the reference library's limit */

typedef struct reader {
    const qw_safetensors_source *source;
    qw_tensors *tensors;
    qw_scan scan;
    qw_buf name;   /* of the tensor being read */
    uint64_t data; /* offset of the data in the file */
    bool metadata; /* __metadata__ was read */
    qw_error *err;
} reader;

typedef struct entry {
    qw_text dtype;
    uint64_t elements, begin, end;
    bool has_shape, has_offsets;
    qw_tensor t;
} entry;

qw_status qw_safetensors_header_end(const qw_safetensors_source *source, uint64_t *end, qw_error *err)
{
    const uint8_t *first = (const uint8_t *)source->head.bytes;
    qw_bytes in = {first, source->head.n ? first + source->head.n : first, false};
    uint64_t n = qw_bytes_u64(&in);

    if (in.bad)
        return qw_fail(err, QW_ERR_FORMAT, "%s: file incomplete, needs at least 8 bytes, has %llu", source->name,
                       (unsigned long long)source->file_bytes);
    if (n < 2 || n > MAX_HEADER)
        return qw_fail(err, QW_ERR_FORMAT,
                       "%s: not a safetensors file: its header would have %llu bytes, possible is 2 to %d",
                       source->name, (unsigned long long)n, MAX_HEADER);
    if (n > source->file_bytes - 8)
        return qw_fail(err, QW_ERR_FORMAT, "%s: file incomplete, needs at least %llu bytes, has %llu", source->name,
                       (unsigned long long)n + 8, (unsigned long long)source->file_bytes);
    *end = 8 + n;
    return QW_OK;
}

static qw_status fail(reader *r, const char *problem)
{
    char shown[64];

    return qw_fail(r->err, QW_ERR_FORMAT, "%s: tensor %s: %s", r->source->name,
                   qw_quote_text(shown, (qw_text){r->name.bytes, r->name.n}), problem);
}

static qw_status next(reader *r, qw_scan_token *token)
{
    return qw_scan_next(&r->scan, token, r->err);
}

/* The next whole number of an array whose bracket was read; *some false at the array's end. */
static qw_status next_uint(reader *r, uint64_t *value, bool *some)
{
    qw_scan_token token;

    QW_TRY(next(r, &token));
    *some = token.kind != QW_SCAN_END_ARRAY;
    if (!*some || (token.kind == QW_SCAN_NUMBER_TEXT && qw_scan_uint(token.raw, value))) return QW_OK;
    return fail(
        r, "shape and data_offsets must hold whole numbers from 0 to 2^64 - 1, without sign, fraction or exponent");
}

static qw_status begin_array(reader *r)
{
    qw_scan_token token;

    QW_TRY(next(r, &token));
    return token.kind == QW_SCAN_BEGIN_ARRAY ? QW_OK : fail(r, "shape and data_offsets must be arrays");
}

static qw_status read_shape(reader *r, entry *e)
{
    uint64_t v[4], value;
    int32_t n = 0;
    bool some;

    if (e->has_shape) return fail(r, "shape is there twice");
    e->has_shape = true;
    e->elements = 1;
    QW_TRY(begin_array(r));
    for (;; n++) {
        QW_TRY(next_uint(r, &value, &some));
        if (!some) break;
        if (n == 64) return fail(r, "the shape has more than 64 dimensions");
        if (!qw_mul64(e->elements, value, &e->elements)) return fail(r, "the shape passes 2^64 elements");
        if (n < 4) v[n] = value;
    }
    e->t.n_dims = n;
    for (int32_t i = 0; n <= 4 && i < n; i++) e->t.dims[i] = v[n - 1 - i];
    return QW_OK;
}

static qw_status read_offsets(reader *r, entry *e)
{
    uint64_t v[2], value;
    size_t n = 0;
    bool some;

    if (e->has_offsets) return fail(r, "data_offsets is there twice");
    e->has_offsets = true;
    QW_TRY(begin_array(r));
    for (;; n++) {
        QW_TRY(next_uint(r, &value, &some));
        if (!some) break;
        if (n < 2) v[n] = value;
    }
    if (n != 2) return fail(r, "data_offsets must be two numbers");
    if (v[0] > v[1]) return fail(r, "data_offsets ends before it begins");
    e->begin = v[0];
    e->end = v[1];
    return QW_OK;
}

static qw_status read_field(reader *r, qw_text key, entry *e)
{
    qw_scan_token token;

    if (qw_text_is(key, "shape")) return read_shape(r, e);
    if (qw_text_is(key, "data_offsets")) return read_offsets(r, e);
    QW_TRY(next(r, &token));
    if (!qw_text_is(key, "dtype")) return qw_scan_skip(&r->scan, &token, r->err);
    if (e->dtype.bytes) return fail(r, "dtype is there twice");
    if (token.kind != QW_SCAN_STRING) return fail(r, "dtype must be a string");
    e->dtype = token.raw;
    return QW_OK;
}

/* Bits of an element; 0 for a type that is not known. */
static uint64_t dtype_bits(qw_text dtype, uint32_t *type)
{
    static const struct {
        const char *name;
        uint32_t type;
        uint8_t bits;
    } known[] = {
        {"F32", QW_F32, 32},
        {"F16", QW_F16, 16},
        {"BF16", QW_BF16, 16},
        {"F64", QW_DTYPE_OTHER, 64},
        {"I64", QW_DTYPE_OTHER, 64},
        {"U64", QW_DTYPE_OTHER, 64},
        {"I32", QW_DTYPE_OTHER, 32},
        {"U32", QW_DTYPE_OTHER, 32},
        {"I16", QW_DTYPE_OTHER, 16},
        {"U16", QW_DTYPE_OTHER, 16},
        {"I8", QW_DTYPE_OTHER, 8},
        {"U8", QW_DTYPE_OTHER, 8},
        {"BOOL", QW_DTYPE_OTHER, 8},
        {"F8_E4M3", QW_DTYPE_OTHER, 8},
        {"F8_E5M2", QW_DTYPE_OTHER, 8},
    };

    *type = QW_DTYPE_OTHER;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!qw_text_is(dtype, known[i].name)) continue;
        *type = known[i].type;
        return known[i].bits;
    }
    return 0;
}

static qw_status add_tensor(reader *r, entry *e)
{
    uint64_t bits, bytes = 0;

    if (!e->dtype.bytes || !e->has_shape || !e->has_offsets) return fail(r, "dtype, shape or data_offsets is missing");
    bits = dtype_bits(e->dtype, &e->t.type);
    memcpy(e->t.type_name, e->dtype.bytes, e->dtype.n < sizeof e->t.type_name ? e->dtype.n : sizeof e->t.type_name - 1);
    e->t.bytes = e->end - e->begin;
    if (bits && (!qw_mul64(e->elements, bits / 8, &bytes) || bytes != e->t.bytes))
        return fail(r, "dtype and shape ask for another number of bytes than data_offsets give");
    e->t.offset = e->begin; /* made absolute when all are known */
    return qw_tensors_add(r->tensors, &e->t, (qw_text){r->name.bytes, r->name.n}, r->err);
}

static qw_status read_tensor(reader *r)
{
    entry e = {.t = {.dims = {1, 1, 1, 1}, .file = r->source->file}};
    qw_scan_token token;

    QW_TRY(next(r, &token));
    if (token.kind != QW_SCAN_BEGIN_OBJECT) return fail(r, "must be an object of dtype, shape and data_offsets");
    for (;;) {
        QW_TRY(next(r, &token));
        if (token.kind == QW_SCAN_END_OBJECT) return add_tensor(r, &e);
        QW_TRY(read_field(r, token.raw, &e));
    }
}

/* An object whose values are strings, once. */
static qw_status read_metadata(reader *r)
{
    qw_scan_token token;

    if (r->metadata) return fail(r, "is there twice");
    r->metadata = true;
    QW_TRY(next(r, &token));
    if (token.kind != QW_SCAN_BEGIN_OBJECT) return fail(r, "must be an object of strings");
    for (;;) {
        QW_TRY(next(r, &token));
        if (token.kind == QW_SCAN_END_OBJECT) return QW_OK;
        QW_TRY(next(r, &token));
        if (token.kind != QW_SCAN_STRING) return fail(r, "must be an object of strings");
    }
}

static qw_status read_header(reader *r)
{
    qw_scan_token token;

    if (r->scan.at == r->scan.end || r->scan.at[0] != '{')
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: not a safetensors file: its header does not begin with {",
                       r->source->name);
    QW_TRY(next(r, &token));
    for (;;) {
        QW_TRY(next(r, &token));
        if (token.kind == QW_SCAN_END_OBJECT) return next(r, &token);
        r->name.n = 0;
        QW_TRY(qw_scan_unescape(&r->name, token.raw, r->err));
        if (qw_text_is((qw_text){r->name.bytes, r->name.n}, "__metadata__")) QW_TRY(read_metadata(r));
        else QW_TRY(read_tensor(r));
    }
}

typedef struct span {
    uint64_t begin, end;
} span;

static int by_begin(const void *a, const void *b)
{
    const span *x = a, *y = b;

    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

/* The spans must follow each other from 0 to the end of the file. */
static qw_status check_cover(const reader *r, span *spans, size_t n)
{
    uint64_t at = 0, data_bytes = r->source->file_bytes - r->data;

    qsort(spans, n, sizeof *spans, by_begin);
    for (size_t i = 0; i < n; i++) {
        if (spans[i].begin != at)
            return qw_fail(r->err, QW_ERR_FORMAT,
                           "%s: the tensors %s: one begins at byte %llu of the data, %llu was due", r->source->name,
                           spans[i].begin < at ? "overlap" : "leave a hole", (unsigned long long)spans[i].begin,
                           (unsigned long long)at);
        at = spans[i].end;
    }
    if (at > data_bytes && at <= UINT64_MAX - r->data)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: file incomplete, needs %llu bytes, has %llu: fetch it again",
                       r->source->name, (unsigned long long)(at + r->data), (unsigned long long)r->source->file_bytes);
    if (at != data_bytes)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: the tensors take %llu bytes, the file has %llu for them",
                       r->source->name, (unsigned long long)at, (unsigned long long)data_bytes);
    return QW_OK;
}

static qw_status place_tensors(reader *r, size_t first)
{
    span *spans = qw_calloc(r->tensors->n - first, sizeof *spans);
    qw_status status;
    size_t n = 0;

    if (!spans) return qw_fail_memory(r->err, r->source->name, (double)(r->tensors->n - first) * sizeof *spans);
    for (size_t i = first; i < r->tensors->n; i++) {
        const qw_tensor *t = &r->tensors->v[i];
        if (t->bytes) spans[n++] = (span){t->offset, t->offset + t->bytes};
    }
    status = check_cover(r, spans, n);
    qw_free(spans);
    for (size_t i = first; !status && i < r->tensors->n; i++) {
        qw_tensor *t = &r->tensors->v[i];
        if (t->offset > r->source->file_bytes - r->data)
            status = qw_fail(r->err, QW_ERR_FORMAT, "%s: an empty tensor lies outside of the file", r->source->name);
        t->offset += r->data;
    }
    return status;
}

qw_status qw_safetensors_parse(const qw_safetensors_source *source, qw_tensors *tensors, qw_error *err)
{
    reader r = {.source = source, .tensors = tensors, .data = source->head.n, .err = err};
    size_t first = tensors->n;
    qw_status status;

    qw_scan_init(&r.scan, (qw_text){source->head.bytes + 8, source->head.n - 8}, source->name);
    status = read_header(&r);
    if (!status) status = place_tensors(&r, first);
    qw_buf_free(&r.name);
    return status;
}
