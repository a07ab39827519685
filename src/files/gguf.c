/* SPDX-License-Identifier: MIT
 * A cursor that knows how many bytes must at least follow ("rest"): a count that the file cannot hold fails before any
 * loop, and a header that is not all there yet says how far to read on, so that few attempts are needed. */
#include "files/gguf.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "base/bytes.h"
#include "base/print.h"
#include "base/quote_text.h"
#include "files/woven.h"

#include <string.h>

enum {
    MAX_DEPTH = 4, /* arrays within arrays */
    MAX_KEYS = 4096,
    MAX_HEADER = 128 << 20,
    MAX_ALIGNMENT = 1 << 20,
    MAX_KEY_BYTES = 65535,     /* the format's own limit */
    MIN_KEY_BYTES = 8 + 4 + 1, /* key length, type, value */
    MIN_TENSOR_BYTES = 8 + 4 + 4 + 8,
};

typedef struct reader {
    const qw_gguf_source *source;
    qw_error *err;
    uint64_t at;    /* offset in the file */
    uint64_t rest;  /* bytes that must follow what is being read, at least */
    uint64_t need;  /* the header goes on: bytes to come back with */
    char about[96]; /* what is being read */
} reader;

static void about(reader *r, const char *what, qw_text name)
{
    char shown[64];

    qw_print(r->about, sizeof r->about, "%s%s", what, qw_quote_text(shown, name));
}

/* The header ends the file, or lies: n bytes do not fit between here and the end. */
static qw_status cut_off(reader *r, uint64_t n)
{
    uint64_t needed;

    if (!qw_add64(r->at, n, &needed) || !qw_add64(needed, r->rest, &needed))
        return qw_fail(r->err, QW_ERR_FORMAT,
                       "%s: file incomplete or damaged: %s claims more than 2^64 bytes, it has %llu", r->source->name,
                       r->about, (unsigned long long)r->source->file_bytes);
    return qw_fail(r->err, QW_ERR_FORMAT,
                   "%s: file incomplete, needs at least %llu bytes, has %llu (in %s), or it is damaged",
                   r->source->name, (unsigned long long)needed, (unsigned long long)r->source->file_bytes, r->about);
}

/* The next n bytes of the file. *p is NULL and r->need set where they are not there yet. */
static qw_status take(reader *r, uint64_t n, const uint8_t **p)
{
    uint64_t left = r->source->file_bytes - r->at;

    *p = NULL;
    if (r->need) return QW_OK;
    if (n > left || r->rest > left - n) return cut_off(r, n);
    if (r->at + n + r->rest > MAX_HEADER)
        return qw_fail(r->err, QW_ERR_FORMAT,
                       "%s: the header would have at least %llu bytes, at most %d MiB are read: it is damaged (at %s)",
                       r->source->name, (unsigned long long)(r->at + n + r->rest), MAX_HEADER >> 20, r->about);
    if (r->at + n > r->source->head.n) {
        r->need = r->at + n + r->rest;
        return QW_OK;
    }
    *p = (const uint8_t *)r->source->head.bytes + r->at;
    r->at += n;
    return QW_OK;
}

static qw_status take_uint(reader *r, int n, uint64_t *value)
{
    const uint8_t *p;

    *value = 0;
    QW_TRY(take(r, (uint64_t)n, &p));
    for (int i = 0; p && i < n; i++) *value |= (uint64_t)p[i] << (8 * i);
    return QW_OK;
}

static qw_status take_string(reader *r, qw_text *text)
{
    const uint8_t *p;
    uint64_t n;

    QW_TRY(take_uint(r, 8, &n));
    QW_TRY(take(r, n, &p));
    *text = (qw_text){(const char *)p, p ? (size_t)n : 0};
    return QW_OK;
}

/* Bytes of a value of that type: exact for scalars, the least for strings and arrays; 0 for an unknown type. */
static uint64_t type_bytes(uint64_t type)
{
    static const uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};

    return type < sizeof bytes ? bytes[type] : 0;
}

static qw_status skip_value(reader *r, uint64_t type, int depth);

/* n items of one type. The least that they take is checked before the loop, which ends where the bytes do. */
static qw_status skip_items(reader *r, uint64_t type, uint64_t n, int depth)
{
    const uint8_t *p;
    uint64_t size = type_bytes(type), least = UINT64_MAX;

    if (!qw_mul64(n, size, &least) || least > r->source->file_bytes) return cut_off(r, least);
    if (type != QW_GGUF_STRING && type != QW_GGUF_ARRAY) return take(r, least, &p);
    r->rest += least;
    for (uint64_t i = 0; i < n; i++) {
        if (r->need) return QW_OK;
        r->rest -= size;
        QW_TRY(skip_value(r, type, depth));
    }
    return QW_OK;
}

static qw_status array_header(reader *r, uint64_t *type, uint64_t *n)
{
    QW_TRY(take_uint(r, 4, type));
    QW_TRY(take_uint(r, 8, n));
    if (!r->need && !type_bytes(*type))
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s is an array of the unknown type %llu", r->source->name, r->about,
                       (unsigned long long)*type);
    return QW_OK;
}

static qw_status skip_value(reader *r, uint64_t type, int depth)
{
    const uint8_t *p;
    qw_text text;
    uint64_t item_type, n;

    if (type == QW_GGUF_STRING) return take_string(r, &text);
    if (type != QW_GGUF_ARRAY) return take(r, type_bytes(type), &p);
    if (depth == MAX_DEPTH)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s nests arrays deeper than %d", r->source->name, r->about,
                       MAX_DEPTH);
    QW_TRY(array_header(r, &item_type, &n));
    return r->need ? QW_OK : skip_items(r, item_type, n, depth + 1);
}

static qw_status read_value(reader *r, qw_gguf_value *v)
{
    const uint8_t *begin, *p;
    uint64_t type, item_type = 0, n = 0;

    about(r, "a key", (qw_text){"", 0});
    QW_TRY(take_string(r, &v->key));
    if (!r->need && (!v->key.n || v->key.n > MAX_KEY_BYTES))
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: a key's name has %zu bytes, 1 to %d are possible", r->source->name,
                       v->key.n, MAX_KEY_BYTES);
    if (!r->need) about(r, "key ", v->key);
    QW_TRY(take_uint(r, 4, &type));
    if (r->need) return QW_OK;
    if (!type_bytes(type))
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s has the unknown type %llu", r->source->name, r->about,
                       (unsigned long long)type);
    if (type == QW_GGUF_ARRAY) QW_TRY(array_header(r, &item_type, &n));
    if (type == QW_GGUF_STRING) QW_TRY(take_uint(r, 8, &n));
    if (r->need) return QW_OK;
    begin = (const uint8_t *)r->source->head.bytes + r->at;
    if (type == QW_GGUF_ARRAY) QW_TRY(skip_items(r, item_type, n, 1));
    else QW_TRY(take(r, type == QW_GGUF_STRING ? n : type_bytes(type), &p));
    if (r->need) return QW_OK;
    v->type = (uint32_t)type;
    v->item_type = (uint32_t)item_type;
    v->n = n;
    v->bytes = begin;
    v->n_bytes = (size_t)((const uint8_t *)r->source->head.bytes + r->at - begin);
    return QW_OK;
}

/* Power of two of at least 8 (the format asks for a multiple of 8), stored as u32. */
static qw_status read_alignment(reader *r, qw_gguf *g)
{
    const qw_gguf_value *v = qw_gguf_find(g, "general.alignment");
    uint32_t a = 32;

    if (v && v->type != QW_GGUF_U32)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: general.alignment has type %u, must be 4 (u32)", r->source->name,
                       v->type);
    if (v) a = qw_bytes_u32(&(qw_bytes){v->bytes, v->bytes + v->n_bytes, false});
    if (a < 8 || a > MAX_ALIGNMENT || (a & (a - 1)))
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: general.alignment is %u, must be a power of two from 8 to %d",
                       r->source->name, a, MAX_ALIGNMENT);
    g->alignment = a;
    return QW_OK;
}

static qw_status read_values(reader *r, qw_gguf *g, uint64_t n)
{
    g->values = qw_calloc((size_t)n, sizeof *g->values);
    if (!g->values) return qw_fail_memory(r->err, "GGUF keys", (double)n * sizeof *g->values);
    for (; g->n_values < n; g->n_values++) {
        qw_gguf_value *v = &g->values[g->n_values];
        r->rest -= MIN_KEY_BYTES;
        QW_TRY(read_value(r, v));
        if (r->need) return QW_OK;
        for (size_t i = 0; i < g->n_values; i++)
            if (qw_text_equal(g->values[i].key, v->key))
                return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s is there twice", r->source->name, r->about);
    }
    return read_alignment(r, g);
}

/* Types that no Qwen2 file holds, by their names; NULL for other numbers. */
static const char *unread_type(uint64_t number)
{
    static const char *const names[] = {
        [4] = "Q4_2",        [5] = "Q4_3",        [9] = "Q8_1",   [15] = "Q8_K",  [24] = "I8",    [25] = "I16",
        [26] = "I32",        [27] = "I64",        [28] = "F64",   [34] = "TQ1_0", [35] = "TQ2_0", [36] = "IQ4_NL_4_4",
        [37] = "IQ4_NL_4_8", [38] = "IQ4_NL_8_8", [39] = "MXFP4", [40] = "NVFP4", [41] = "Q1_0",  [42] = "Q2_0",
    };

    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

/* Fills type, type_name and woven from the number. */
static qw_status tensor_type(reader *r, qw_tensor *t, uint64_t number)
{
    const qw_weave *weave = number <= UINT32_MAX ? qw_weave_of((uint32_t)number) : NULL;
    const char *name = unread_type(number);

    if (weave) {
        if (t->dims[1] % (uint64_t)weave->rows)
            return qw_fail(r->err, QW_ERR_FORMAT,
                           "%s: %s has %llu rows, not a multiple of the %d that %s weaves together", r->source->name,
                           r->about, (unsigned long long)t->dims[1], weave->rows, weave->name);
        t->type = QW_Q4_0;
        t->woven = (uint32_t)number;
    } else if (number <= UINT32_MAX && qw_dtype_known((uint32_t)number)) {
        t->type = (uint32_t)number;
    } else {
        return qw_fail(
            r->err, QW_ERR_MODEL,
            "%s: %s has type number %llu, %s%swhich is unsupported: choose a file in Q4_K_M, Q8_0, F16, BF16 "
            "or any other of Q2_K to Q6_K, Q4_0 to Q5_1 and IQ1 to IQ4",
            r->source->name, r->about, (unsigned long long)number, name ? name : "", name ? ", " : "");
    }
    strncat(t->type_name, weave ? weave->name : qw_dtype_name(t->type), sizeof t->type_name - 1);
    return QW_OK;
}

/* Fills type and bytes from the number and the shape. */
static qw_status tensor_bytes(reader *r, qw_tensor *t, uint64_t type)
{
    uint64_t elements = 1, block;

    for (int i = 0; i < 4; i++)
        if (!qw_mul64(elements, t->dims[i], &elements) || elements > INT64_MAX)
            return qw_fail(r->err, QW_ERR_FORMAT, "%s: the shape of %s passes 2^63 elements", r->source->name,
                           r->about);
    QW_TRY(tensor_type(r, t, type));
    block = (uint64_t)qw_dtype_block((qw_dtype)t->type);
    if (t->dims[0] % block)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s has rows of %llu weights, not a multiple of %s's block of %llu",
                       r->source->name, r->about, (unsigned long long)t->dims[0], t->type_name,
                       (unsigned long long)block);
    if (!qw_mul64(elements / block, qw_dtype_block_bytes((qw_dtype)t->type), &t->bytes))
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: the size of %s passes 2^64 bytes", r->source->name, r->about);
    return QW_OK;
}

static qw_status read_tensor(reader *r, const qw_gguf *g, qw_tensors *tensors)
{
    qw_tensor t = {.dims = {1, 1, 1, 1}, .file = r->source->file};
    qw_text name;
    uint64_t n_dims, type;

    about(r, "the tensor list", (qw_text){"", 0});
    QW_TRY(take_string(r, &name));
    if (!r->need) about(r, "tensor ", name);
    QW_TRY(take_uint(r, 4, &n_dims));
    if (n_dims > 4)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s has %llu dimensions, at most 4 are possible", r->source->name,
                       r->about, (unsigned long long)n_dims);
    t.n_dims = (int32_t)n_dims;
    for (int32_t i = 0; i < t.n_dims; i++) QW_TRY(take_uint(r, 8, &t.dims[i]));
    QW_TRY(take_uint(r, 4, &type));
    QW_TRY(take_uint(r, 8, &t.offset));
    if (r->need) return QW_OK;
    QW_TRY(tensor_bytes(r, &t, type));
    if (t.offset % g->alignment)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: the offset %llu of %s is not a multiple of the alignment %u",
                       r->source->name, (unsigned long long)t.offset, r->about, g->alignment);
    return qw_tensors_add(tensors, &t, name, r->err);
}

/* Makes the offsets absolute, and sees that the file is long enough for all of them. */
static qw_status place_tensors(reader *r, const qw_gguf *g, qw_tensors *tensors, size_t first)
{
    uint64_t end = 0;

    for (size_t i = first; i < tensors->n; i++) {
        qw_tensor *t = &tensors->v[i];
        uint64_t stop;
        about(r, "tensor ", qw_tensors_name(tensors, i));
        if (!qw_add64(t->offset, g->data_start, &t->offset) || !qw_add64(t->offset, t->bytes, &stop))
            return qw_fail(r->err, QW_ERR_FORMAT, "%s: %s lies outside of the file: its offset plus size passes 2^64",
                           r->source->name, r->about);
        end = stop > end ? stop : end;
    }
    if (end > r->source->file_bytes)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: file incomplete, needs %llu bytes, has %llu: fetch it again",
                       r->source->name, (unsigned long long)end, (unsigned long long)r->source->file_bytes);
    return QW_OK;
}

static qw_status read_magic(reader *r, qw_gguf *g)
{
    const uint8_t *p;
    uint64_t version;

    QW_TRY(take(r, 4, &p));
    if (p && memcmp(p, "GGUF", 4) != 0)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: not a GGUF file, it begins with %02x %02x %02x %02x",
                       r->source->name, p[0], p[1], p[2], p[3]);
    QW_TRY(take_uint(r, 4, &version));
    if (r->need) return QW_OK;
    if (version == 0x02000000 || version == 0x03000000)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: a big-endian GGUF file, only little-endian ones are read",
                       r->source->name);
    if (version != 2 && version != 3)
        return qw_fail(r->err, QW_ERR_FORMAT,
                       "%s: GGUF version %llu, versions 2 and 3 are read: convert the file again", r->source->name,
                       (unsigned long long)version);
    g->version = (uint32_t)version;
    return QW_OK;
}

static qw_status read_counts(reader *r, uint64_t *n_tensors, uint64_t *n_values)
{
    const uint8_t *p;
    uint64_t a, b;

    QW_TRY(take_uint(r, 8, n_tensors));
    QW_TRY(take_uint(r, 8, n_values));
    if (r->need) return QW_OK;
    strcpy(r->about, "the counts of keys and tensors");
    if (*n_values > MAX_KEYS || *n_tensors > QW_TENSORS_MAX)
        return qw_fail(
            r->err, QW_ERR_FORMAT, "%s: %llu keys and %llu tensors, at most %d and %d are read: the file is damaged",
            r->source->name, (unsigned long long)*n_values, (unsigned long long)*n_tensors, MAX_KEYS, QW_TENSORS_MAX);
    if (!qw_mul64(*n_tensors, MIN_TENSOR_BYTES, &a) || !qw_mul64(*n_values, MIN_KEY_BYTES, &b) ||
        !qw_add64(a, b, &r->rest))
        return cut_off(r, UINT64_MAX);
    return take(r, 0, &p);
}

static qw_status parse(reader *r, qw_gguf *g, qw_tensors *tensors)
{
    size_t first = tensors->n;
    uint64_t n_values = 0;

    strcpy(r->about, "the first bytes");
    QW_TRY(read_magic(r, g));
    QW_TRY(read_counts(r, &g->n_tensors, &n_values));
    if (r->need) return QW_OK;
    QW_TRY(read_values(r, g, n_values));
    for (uint64_t i = 0; i < g->n_tensors; i++) {
        if (r->need) return QW_OK;
        r->rest -= MIN_TENSOR_BYTES;
        QW_TRY(read_tensor(r, g, tensors));
    }
    if (r->need) return QW_OK;
    g->data_start = (r->at + g->alignment - 1) / g->alignment * g->alignment;
    return place_tensors(r, g, tensors, first);
}

qw_status qw_gguf_parse(qw_gguf *g, const qw_gguf_source *source, qw_tensors *tensors, uint64_t *need, qw_error *err)
{
    reader r = {.source = source, .err = err};
    size_t n_tensors = tensors->n, n_names = tensors->names.n;
    qw_status status;

    *g = (qw_gguf){.alignment = 32};
    *need = 0;
    status = parse(&r, g, tensors);
    if (!status && !r.need) return QW_OK;
    *need = r.need;
    tensors->n = n_tensors;
    tensors->names.n = n_names;
    qw_gguf_free(g);
    return status;
}

void qw_gguf_free(qw_gguf *g)
{
    qw_free(g->values);
    *g = (qw_gguf){0};
}

const qw_gguf_value *qw_gguf_find(const qw_gguf *g, const char *key)
{
    for (size_t i = 0; i < g->n_values; i++)
        if (qw_text_is(g->values[i].key, key)) return &g->values[i];
    return NULL;
}
