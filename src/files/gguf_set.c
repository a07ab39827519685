/* SPDX-License-Identifier: MIT
 * The first header's bytes are gone when the second is read, so hashes of its keys are kept: they tell mistakes apart, and
 * whoever makes files that collide gains nothing. */
#include "files/gguf_set.h"

#include "base/alloc.h"
#include "base/quote_text.h"
#include "files/gguf_values.h"

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 0x100000001B3u; /* FNV-1a */
    return hash;
}

static qw_gguf_mark mark_of(const qw_gguf_value *v)
{
    static const uint64_t start = 0xCBF29CE484222325u;
    uint64_t type = (uint64_t)v->type << 32 | v->item_type;

    return (qw_gguf_mark){hash_of(start, v->key.bytes, v->key.n),
                          hash_of(hash_of(start, &type, sizeof type), v->bytes, v->n_bytes)};
}

/* What a file says of its own place. */
static bool is_place(const qw_gguf_value *v)
{
    return qw_text_begins(v->key, "split.");
}

static qw_status remember(qw_gguf_set *set, const qw_gguf *g, qw_error *err)
{
    set->marks = qw_calloc(g->n_values, sizeof *set->marks);
    if (!set->marks) return qw_fail_memory(err, "the keys of a set", (double)g->n_values * sizeof *set->marks);
    for (size_t i = 0; i < g->n_values; i++)
        if (!is_place(&g->values[i])) set->marks[set->n_marks++] = mark_of(&g->values[i]);
    return QW_OK;
}

static qw_status compare(const qw_gguf_set *set, const qw_gguf *g, const char *name, qw_error *err)
{
    char shown[64];

    for (size_t i = 0; i < g->n_values; i++) {
        qw_gguf_mark mark = mark_of(&g->values[i]);
        for (size_t j = 0; !is_place(&g->values[i]) && j < set->n_marks; j++)
            if (set->marks[j].key == mark.key && set->marks[j].value != mark.value)
                return qw_fail(err, QW_ERR_FORMAT,
                               "%s: its key %s says something else than in the first part: it is of another model",
                               name, qw_quote_text(shown, g->values[i].key));
    }
    return QW_OK;
}

qw_status qw_gguf_set_check(qw_gguf_set *set, const qw_gguf *g, int64_t no, const char *name, qw_error *err)
{
    int64_t said_no = 0, said_count = 0, n_tensors = -1;

    QW_TRY(qw_gguf_get_int(g, "split.no", 0, 99999, &said_no, err));
    QW_TRY(qw_gguf_get_int(g, "split.count", 0, 99999, &said_count, err));
    QW_TRY(qw_gguf_get_int(g, "split.tensors.count", 0, INT32_MAX, &n_tensors, err));
    if (!said_count) said_count = 1;
    if (said_count != set->count && set->count == 1)
        return qw_fail(err, QW_ERR_FORMAT,
                       "%s is part %lld of %lld: name the parts NAME-00001-of-%05lld.gguf and so on, and "
                       "bring them all",
                       name, (long long)said_no + 1, (long long)said_count, (long long)said_count);
    if (said_count != set->count || said_no != no)
        return qw_fail(err, QW_ERR_FORMAT, "%s says that it is part %lld of %lld: it was renamed, or is of another set",
                       name, (long long)said_no + 1, (long long)said_count);
    if (no == 0) set->n_tensors = n_tensors;
    if (n_tensors != set->n_tensors)
        return qw_fail(err, QW_ERR_FORMAT,
                       "%s: its split.tensors.count is %lld, the first part's %lld: it is of another model", name,
                       (long long)n_tensors, (long long)set->n_tensors);
    if (set->count == 1) return QW_OK;
    return no == 0 ? remember(set, g, err) : compare(set, g, name, err);
}

void qw_gguf_set_free(qw_gguf_set *set)
{
    qw_free(set->marks);
    *set = (qw_gguf_set){0};
}
