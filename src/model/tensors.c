/* SPDX-License-Identifier: MIT
 * Twins and overlaps are found by sorting, so that a hostile directory costs no more than a sound one of its size. */
#include "model/tensors.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

qw_text qw_tensors_name(const qw_tensors *list, size_t i)
{
    return (qw_text){list->names.bytes + list->v[i].name_at, list->v[i].name_n};
}

qw_status qw_tensors_add(qw_tensors *list, const qw_tensor *t, qw_text name, qw_error *err)
{
    if (list->n == QW_TENSORS_MAX)
        return qw_fail(err, QW_ERR_FORMAT, "the model has more than %d tensors", QW_TENSORS_MAX);
    if (!name.n || name.n > QW_TENSOR_NAME_MAX)
        return qw_fail(err, QW_ERR_FORMAT, "the name of tensor %zu has %zu bytes, allowed is 1 to %d", list->n, name.n,
                       QW_TENSOR_NAME_MAX);
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 64;
        qw_tensor *v = qw_realloc(list->v, cap, sizeof *v);
        if (!v) return qw_fail_memory(err, "the list of tensors", (double)cap * sizeof *v);
        list->v = v;
        list->cap = cap;
    }
    list->v[list->n] = *t;
    list->v[list->n].name_at = list->names.n;
    list->v[list->n].name_n = name.n;
    QW_TRY(qw_buf_append(&list->names, name.bytes, name.n, err));
    list->n++;
    return QW_OK;
}

void qw_tensors_free(qw_tensors *list)
{
    qw_free(list->v);
    qw_free(list->by_name);
    qw_buf_free(&list->names);
    *list = (qw_tensors){0};
}

static int compare_text(qw_text a, qw_text b)
{
    int order = memcmp(a.bytes, b.bytes, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

typedef struct sort_entry {
    qw_text name;
    uint64_t offset;
    int32_t file;
    uint32_t index;
} sort_entry;

static int by_name(const void *a, const void *b)
{
    return compare_text(((const sort_entry *)a)->name, ((const sort_entry *)b)->name);
}

static int by_place(const void *a, const void *b)
{
    const sort_entry *x = a, *y = b;

    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static qw_status check_overlaps(const qw_tensors *list, const sort_entry *e, size_t n, qw_error *err)
{
    for (size_t i = 1; i < n; i++) {
        const qw_tensor *a = &list->v[e[i - 1].index], *b = &list->v[e[i].index];
        if (a->file == b->file && b->offset - a->offset < a->bytes)
            return qw_fail(err, QW_ERR_FORMAT,
                           "tensors %.*s and %.*s share bytes: %llu bytes at offset %llu, and offset %llu",
                           (int)(e[i - 1].name.n < 80 ? e[i - 1].name.n : 80), e[i - 1].name.bytes,
                           (int)(e[i].name.n < 80 ? e[i].name.n : 80), e[i].name.bytes, (unsigned long long)a->bytes,
                           (unsigned long long)a->offset, (unsigned long long)b->offset);
    }
    return QW_OK;
}

/* Fills by_name and e[]; returns the number of tensors that have bytes, which come first in e, by place. */
static qw_status sort_tensors(qw_tensors *list, sort_entry *e, size_t *n_with_bytes, qw_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++)
        e[i] = (sort_entry){qw_tensors_name(list, i), list->v[i].offset, list->v[i].file, (uint32_t)i};
    qsort(e, list->n, sizeof *e, by_name);
    for (size_t i = 0; i < list->n; i++) {
        list->by_name[i] = e[i].index;
        if (i && compare_text(e[i - 1].name, e[i].name) == 0)
            return qw_fail(err, QW_ERR_FORMAT, "the model has two tensors named %.*s",
                           (int)(e[i].name.n < 80 ? e[i].name.n : 80), e[i].name.bytes);
    }
    for (size_t i = 0; i < list->n; i++)
        if (list->v[e[i].index].bytes) e[n++] = e[i];
    qsort(e, n, sizeof *e, by_place);
    *n_with_bytes = n;
    return QW_OK;
}

qw_status qw_tensors_check(qw_tensors *list, qw_error *err)
{
    sort_entry *e = qw_calloc(list->n, sizeof *e);
    qw_status status;
    size_t n = 0;

    qw_free(list->by_name);
    list->by_name = qw_calloc(list->n, sizeof *list->by_name);
    if (e && list->by_name) {
        status = sort_tensors(list, e, &n, err);
        if (!status) status = check_overlaps(list, e, n, err);
    } else {
        status = qw_fail_memory(err, "the list of tensors", (double)list->n * sizeof *e);
    }
    qw_free(e);
    return status;
}

size_t qw_tensors_find(const qw_tensors *list, qw_text name)
{
    size_t low = 0, high = list->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = compare_text(qw_tensors_name(list, list->by_name[mid]), name);
        if (!order) return list->by_name[mid];
        if (order < 0) low = mid + 1;
        else high = mid;
    }
    return SIZE_MAX;
}

/* Little-endian 16-bit values at every stride: none with all exponent bits of the mask set. */
static bool finite16(const uint8_t *bytes, size_t n_bytes, size_t stride, uint16_t mask)
{
    for (size_t i = 0; i + 2 <= n_bytes; i += stride)
        if (((bytes[i] | bytes[i + 1] << 8) & mask) == mask) return false;
    return true;
}

static bool finite32(const uint8_t *bytes, size_t n_bytes)
{
    for (size_t i = 0; i + 4 <= n_bytes; i += 4)
        if ((bytes[i + 3] & 0x7F) == 0x7F && bytes[i + 2] & 0x80) return false;
    return true;
}

/* The upper six bits of iq1_m's scale are the highest of its last two words. */
static bool finite_iq1_m(const uint8_t *bytes, size_t n_bytes, size_t stride)
{
    for (size_t i = 0; i + stride <= n_bytes; i += stride)
        if ((bytes[i + 55] & 0x70) == 0x70 && (bytes[i + 53] & 0xC0) == 0xC0) return false;
    return true;
}

bool qw_tensor_finite(const uint8_t *bytes, size_t n_bytes, qw_dtype type)
{
    size_t n_scales, first = qw_dtype_scales(type, &n_scales), stride = qw_dtype_block_bytes(type);

    if (type == QW_F32) return finite32(bytes, n_bytes);
    if (type == QW_F16) return finite16(bytes, n_bytes, 2, 0x7C00);
    if (type == QW_BF16) return finite16(bytes, n_bytes, 2, 0x7F80);
    if (type == QW_IQ1_M) return finite_iq1_m(bytes, n_bytes, stride);
    for (size_t i = 0; i < n_scales; i++, first += 2)
        if (n_bytes > first && !finite16(bytes + first, n_bytes - first, stride, 0x7C00)) return false;
    return true;
}
