/* SPDX-License-Identifier: MIT
 * Growable arrays: capacity doubles, so that n appends cost O(n). */
#include "base/buf.h"

#include "base/alloc.h"
#include "base/print.h"

#include <stdarg.h>
#include <string.h>

qw_text qw_text_of(const char *c_string)
{
    return (qw_text){c_string, strlen(c_string)};
}

bool qw_text_equal(qw_text a, qw_text b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.bytes, b.bytes, a.n) == 0);
}

bool qw_text_is(qw_text text, const char *c_string)
{
    return qw_text_equal(text, qw_text_of(c_string));
}

bool qw_text_begins(qw_text text, const char *c_string)
{
    size_t n = strlen(c_string);

    return text.n >= n && qw_text_equal((qw_text){text.bytes, n}, (qw_text){c_string, n});
}

size_t qw_utf8_write(char out[4], uint32_t c)
{
    static const uint32_t leads[] = {0, 0, 0xC0, 0xE0, 0xF0};
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n; i-- > 1; c >>= 6) out[i] = (char)(0x80 | (c & 0x3F));
    out[0] = (char)(leads[n] | c);
    return n;
}

/* A block for at least n + more items, or NULL. */
static void *grown(void *block, size_t n, size_t more, size_t *cap, size_t size)
{
    size_t wanted = *cap < 16 ? 16 : *cap;
    void *larger;

    if (more > PTRDIFF_MAX - n) return NULL;
    while (wanted < n + more) wanted = wanted > PTRDIFF_MAX / 2 ? n + more : wanted * 2;
    larger = qw_realloc(block, wanted, size);
    if (larger) *cap = wanted;
    return larger;
}

qw_status qw_buf_reserve(qw_buf *b, size_t n, qw_error *err)
{
    char *larger;

    if (n <= b->cap) return QW_OK;
    larger = qw_realloc(b->bytes, n, 1);
    if (!larger) return qw_fail_memory(err, "text", (double)n);
    b->bytes = larger;
    b->cap = n;
    return QW_OK;
}

qw_status qw_buf_append(qw_buf *b, const void *bytes, size_t n, qw_error *err)
{
    if (n > b->cap - b->n) {
        char *larger = grown(b->bytes, b->n, n, &b->cap, 1);
        if (!larger) return qw_fail_memory(err, "text", (double)b->n + (double)n);
        b->bytes = larger;
    }
    if (n) memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    return QW_OK;
}

qw_status qw_buf_printf(qw_buf *b, qw_error *err, const char *format, ...)
{
    char text[512];
    va_list args;
    size_t n;

    va_start(args, format);
    n = qw_print_list(text, sizeof text, format, args);
    va_end(args);
    if (n < sizeof text) return qw_buf_append(b, text, n, err);
    QW_TRY(qw_buf_reserve(b, b->n + n + 1, err));
    va_start(args, format);
    qw_print_list(b->bytes + b->n, n + 1, format, args);
    va_end(args);
    b->n += n;
    return QW_OK;
}

void qw_buf_free(qw_buf *b)
{
    qw_free(b->bytes);
    *b = (qw_buf){0};
}

qw_status qw_ids_append(qw_ids *ids, const int32_t *v, size_t n, qw_error *err)
{
    if (n > ids->cap - ids->n) {
        int32_t *larger = grown(ids->v, ids->n, n, &ids->cap, sizeof *v);
        if (!larger) return qw_fail_memory(err, "token ids", 4 * ((double)ids->n + (double)n));
        ids->v = larger;
    }
    if (n) memcpy(ids->v + ids->n, v, n * sizeof *v);
    ids->n += n;
    return QW_OK;
}

qw_status qw_ids_push(qw_ids *ids, int32_t id, qw_error *err)
{
    return qw_ids_append(ids, &id, 1, err);
}

void qw_ids_free(qw_ids *ids)
{
    qw_free(ids->v);
    *ids = (qw_ids){0};
}
