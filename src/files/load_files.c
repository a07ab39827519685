/* SPDX-License-Identifier: MIT
 * Names tell what a file is and which others belong to it. */
#include "files/load_files.h"

#include "base/alloc.h"

#include <string.h>

enum { FIRST_READ = 1 << 16, MAX_SHARDS = 1000 };

static bool ends_in(qw_text name, const char *suffix)
{
    size_t n = strlen(suffix);

    return name.n >= n && memcmp(name.bytes + name.n - n, suffix, n) == 0;
}

const char *qw_load_base_name(const qw_loader *l, const qw_source *s)
{
    return s->name.bytes + l->folder_n;
}

/* Number and count of a name that ends in -00002-of-00003 and the suffix, with *stem_n the bytes before them. */
static bool shard_of(qw_text name, const char *suffix, int64_t *no, int64_t *count, size_t *stem_n)
{
    static const char form[] = "-ddddd-of-ddddd";
    size_t n = sizeof form - 1, suffix_n = strlen(suffix);
    const char *at;

    if (!ends_in(name, suffix) || name.n < n + suffix_n) return false;
    at = name.bytes + name.n - suffix_n - n;
    *no = *count = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t *number = i < 6 ? no : count;
        if (form[i] != 'd') {
            if (at[i] != form[i]) return false;
            continue;
        }
        if (at[i] < '0' || at[i] > '9') return false;
        *number = *number * 10 + (at[i] - '0');
    }
    *stem_n = (size_t)(at - name.bytes);
    return *no >= 1 && *no <= *count;
}

/* The new source's name is still to be written. */
static qw_status add_source(qw_loader *l, qw_source_kind kind, bool optional, qw_source **out, qw_error *err)
{
    if (l->n_sources == l->cap_sources) {
        size_t cap = l->cap_sources ? 2 * l->cap_sources : 8;
        qw_source *sources = qw_realloc(l->sources, cap, sizeof *sources);
        if (!sources) return qw_fail_memory(err, "the list of files", (double)cap * sizeof *sources);
        l->sources = sources;
        l->cap_sources = cap;
    }
    *out = &l->sources[l->n_sources++];
    **out = (qw_source){.kind = kind, .optional = optional};
    return QW_OK;
}

qw_status qw_load_ask(qw_loader *l, qw_source_kind kind, const char *name, bool optional, qw_error *err)
{
    qw_source *s = NULL;

    QW_TRY(add_source(l, kind, optional, &s, err));
    QW_TRY(qw_buf_append(&s->name, l->sources[0].name.bytes, l->folder_n, err));
    return qw_buf_append(&s->name, name, strlen(name) + 1, err);
}

static qw_source_kind kind_of(qw_text name)
{
    if (ends_in(name, ".gguf")) return QW_SOURCE_GGUF;
    if (ends_in(name, ".safetensors")) return QW_SOURCE_SAFETENSORS;
    if (ends_in(name, ".safetensors.index.json")) return QW_SOURCE_INDEX;
    if (ends_in(name, "/config.json") || (name.n == 11 && ends_in(name, "config.json"))) return QW_SOURCE_CONFIG;
    return QW_SOURCE_UNKNOWN;
}

/* All shards of a set, in order, whichever was given: the first one holds the metadata. */
static qw_status ask_shards(qw_loader *l, qw_text name, size_t stem_n, int64_t count, qw_error *err)
{
    qw_source *s = NULL;

    if (count > MAX_SHARDS)
        return qw_fail(err, QW_ERR_FORMAT, "a set of %lld files, at most %d are read", (long long)count, MAX_SHARDS);
    l->set.count = count;
    for (int64_t i = 1; i <= count; i++) {
        QW_TRY(add_source(l, QW_SOURCE_GGUF, false, &s, err));
        QW_TRY(qw_buf_append(&s->name, name.bytes, stem_n, err));
        QW_TRY(qw_buf_printf(&s->name, err, "-%05lld-of-%05lld.gguf", (long long)i, (long long)count));
        QW_TRY(qw_buf_append(&s->name, "", 1, err));
    }
    return QW_OK;
}

qw_status qw_load_ask_main(qw_loader *l, qw_text name, qw_error *err)
{
    int64_t no, count;
    size_t stem_n;
    qw_source *s = NULL;

    if (!name.n || memchr(name.bytes, 0, name.n)) return qw_fail(err, QW_ERR_USAGE, "the main file needs a name");
    for (size_t i = 0; i < name.n; i++)
        if (name.bytes[i] == '/') l->folder_n = i + 1;
    if (shard_of(name, ".gguf", &no, &count, &stem_n) && count > 1) return ask_shards(l, name, stem_n, count, err);
    QW_TRY(add_source(l, kind_of(name), false, &s, err));
    QW_TRY(qw_buf_append(&s->name, name.bytes, name.n, err));
    return qw_buf_append(&s->name, "", 1, err);
}

qw_status qw_load_ask_checkpoint(qw_loader *l, qw_source_kind main_kind, qw_error *err)
{
    qw_text name = qw_text_of(l->sources[0].name.bytes);
    int64_t no, count;
    size_t stem_n;

    if (main_kind != QW_SOURCE_CONFIG) QW_TRY(qw_load_ask(l, QW_SOURCE_CONFIG, "config.json", false, err));
    QW_TRY(qw_load_ask(l, QW_SOURCE_GENERATION_CONFIG, "generation_config.json", true, err));
    QW_TRY(qw_load_ask(l, QW_SOURCE_TOKENIZER, "tokenizer.json", true, err));
    QW_TRY(qw_load_ask(l, QW_SOURCE_TOKENIZER_CONFIG, "tokenizer_config.json", true, err));
    QW_TRY(qw_load_ask(l, QW_SOURCE_CHAT_TEMPLATE, "chat_template.jinja", true, err));
    if (main_kind == QW_SOURCE_CONFIG)
        return qw_load_ask(l, QW_SOURCE_INDEX, "model.safetensors.index.json", true, err);
    if (main_kind == QW_SOURCE_SAFETENSORS && shard_of(name, ".safetensors", &no, &count, &stem_n) && count > 1)
        return qw_load_ask(l, QW_SOURCE_INDEX, "model.safetensors.index.json", false, err);
    return QW_OK;
}

/* The most that a text file may have, in MiB; 0: no text file. */
static uint64_t text_limit(qw_source_kind kind)
{
    switch (kind) {
    case QW_SOURCE_CONFIG:
    case QW_SOURCE_GENERATION_CONFIG:
    case QW_SOURCE_CHAT_TEMPLATE:
        return 4;
    case QW_SOURCE_TOKENIZER_CONFIG:
    case QW_SOURCE_INDEX:
        return 64;
    case QW_SOURCE_TOKENIZER:
        return 128;
    default:
        return 0;
    }
}

qw_status qw_load_begin(qw_source *s, qw_error *err)
{
    uint64_t limit = text_limit(s->kind) << 20;

    s->goal = limit ? s->bytes : s->kind == QW_SOURCE_GGUF ? FIRST_READ : s->kind == QW_SOURCE_UNKNOWN ? 16 : 8;
    if (s->goal > s->bytes) s->goal = s->bytes;
    if (limit && s->bytes > limit)
        return qw_fail(err, QW_ERR_FORMAT, "%s: has %llu bytes, at most %llu are read", s->name.bytes,
                       (unsigned long long)s->bytes, (unsigned long long)limit);
    return QW_OK;
}
