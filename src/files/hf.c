/* SPDX-License-Identifier: MIT
 * End tokens, chat template and the shard index of a checkpoint. */
#include "files/hf.h"

#include "base/alloc.h"
#include "base/quote_text.h"

#include <stdlib.h>
#include <string.h>

void qw_hf_free(qw_hf *hf)
{
    qw_json_free(hf->config);
    qw_json_free(hf->generation);
    qw_json_free(hf->tokenizer_config);
    qw_json_free(hf->index);
    *hf = (qw_hf){0};
}

/* An id as JSON: *id stays -1 for a negative one, which older files use for "none". */
static qw_status read_id(const qw_json *node, const char *what, int32_t *id, qw_error *err)
{
    double v = qw_json_number(node);

    *id = -1;
    if (qw_json_kind_of(node) != QW_JSON_NUMBER || !(v >= INT32_MIN && v <= INT32_MAX) || (double)(int32_t)v < v ||
        (double)(int32_t)v > v)
        return qw_fail(err, QW_ERR_MODEL, "%s must be a token id (a whole number) or a list of them", what);
    if (v >= 0) *id = (int32_t)v;
    return QW_OK;
}

static qw_status add_eos(qw_model *m, const qw_json *node, const char *what, qw_error *err)
{
    int32_t id;

    QW_TRY(read_id(node, what, &id, err));
    for (int32_t i = 0; i < m->n_eos; i++)
        if (m->eos[i] == id) return QW_OK;
    if (id < 0) return QW_OK;
    if (m->n_eos == QW_EOS_MAX) return qw_fail(err, QW_ERR_MODEL, "%s has more than %d ids", what, QW_EOS_MAX);
    m->eos[m->n_eos++] = id;
    return QW_OK;
}

/* eos_token_id of an object: one id, or a list. */
static qw_status read_eos(qw_model *m, const qw_json *object, const char *what, qw_error *err)
{
    const qw_json *node = qw_json_get(object, "eos_token_id");

    if (!node) return QW_OK;
    if (qw_json_kind_of(node) != QW_JSON_ARRAY) return add_eos(m, node, what, err);
    for (const qw_json *item = qw_json_first(node); item; item = qw_json_next(item))
        QW_TRY(add_eos(m, item, what, err));
    return QW_OK;
}

/* pad_token_id of an object; a list counts by its first item. */
static qw_status read_pad(qw_model *m, const qw_json *object, const char *what, qw_error *err)
{
    const qw_json *node = qw_json_get(object, "pad_token_id");

    if (node && qw_json_kind_of(node) == QW_JSON_ARRAY) node = qw_json_first(node);
    return node ? read_id(node, what, &m->pad, err) : QW_OK;
}

/* The text of a token that tokenizer_config.json names: a string, or an object with its content; empty where there is none. */
static qw_text token_text(const qw_json *tokenizer_config, const char *key)
{
    const qw_json *node = qw_json_get(tokenizer_config, key);

    if (node && qw_json_kind_of(node) == QW_JSON_OBJECT) node = qw_json_get(node, "content");
    return node ? qw_text_of(qw_json_string(node)) : (qw_text){"", 0};
}

static int32_t named_token(const qw_model *m, const qw_json *tokenizer_config, const char *key)
{
    qw_text text = token_text(tokenizer_config, key);

    return m->tokenizer && text.n ? qw_tokenizer_added_id(m->tokenizer, text) : -1;
}

qw_status qw_hf_read_ends(qw_model *m, const qw_hf *hf, qw_error *err)
{
    int32_t named;

    m->pad = -1;
    QW_TRY(read_eos(m, hf->generation, "generation_config.json: eos_token_id", err));
    if (!qw_json_get(hf->generation, "eos_token_id")) QW_TRY(read_eos(m, hf->config, "config.json: eos_token_id", err));
    if (!qw_json_get(hf->generation, "eos_token_id") && !qw_json_get(hf->config, "eos_token_id")) {
        named = named_token(m, hf->tokenizer_config, "eos_token");
        if (named >= 0) m->eos[m->n_eos++] = named;
    }
    QW_TRY(read_pad(m, hf->generation, "generation_config.json: pad_token_id", err));
    if (m->pad < 0) QW_TRY(read_pad(m, hf->config, "config.json: pad_token_id", err));
    if (m->pad < 0) m->pad = named_token(m, hf->tokenizer_config, "pad_token");
    return QW_OK;
}

/* A list of templates with names, as Transformers wrote them: the one that is used without tools goes to m->chat_template. */
static qw_status read_named_templates(qw_model *m, const qw_json *list, qw_error *err)
{
    for (const qw_json *item = qw_json_first(list); item; item = qw_json_next(item)) {
        qw_text name = qw_text_of(qw_json_string(qw_json_get(item, "name")));
        qw_text text = qw_text_of(qw_json_string(qw_json_get(item, "template")));
        if (!name.n || !text.n) continue;
        if (qw_text_is(name, "default")) QW_TRY(qw_buf_append(&m->chat_template, text.bytes, text.n, err));
        else QW_TRY(qw_model_add_text(&m->templates, name, text, err));
    }
    return QW_OK;
}

static qw_status read_token_texts(qw_model *m, const qw_json *tokenizer_config, qw_error *err)
{
    static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                       "pad_token", "cls_token", "mask_token"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        qw_text text = token_text(tokenizer_config, keys[i]);
        if (text.n) QW_TRY(qw_model_add_text(&m->token_texts, qw_text_of(keys[i]), text, err));
    }
    return QW_OK;
}

qw_status qw_hf_read_template(qw_model *m, const qw_json *tokenizer_config, qw_error *err)
{
    const qw_json *node = qw_json_get(tokenizer_config, "chat_template");
    qw_text text;

    QW_TRY(read_token_texts(m, tokenizer_config, err));
    if (m->chat_template.n || !node) return QW_OK;
    if (qw_json_kind_of(node) == QW_JSON_ARRAY && qw_json_size(node)) {
        QW_TRY(read_named_templates(m, node, err));
        if (m->chat_template.n || m->templates.n) return QW_OK;
    }
    text = qw_text_of(qw_json_string(node));
    if (!text.n)
        return qw_buf_printf(&m->notes, err,
                             "tokenizer_config.json has a chat_template that is no text: it is ignored\n");
    return qw_buf_append(&m->chat_template, text.bytes, text.n, err);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A file beside the index: no folders, and of the right kind. */
static bool plain_name(const char *name)
{
    static const char suffix[] = ".safetensors";
    size_t n = strlen(name);

    return n > sizeof suffix - 1 && n < 256 && strcmp(name + n - (sizeof suffix - 1), suffix) == 0 &&
           !strpbrk(name, "/\\?#:");
}

qw_status qw_hf_index_files(const qw_json *index, const char ***out, size_t *n, qw_error *err)
{
    const qw_json *map = qw_json_get(index, "weight_map");
    size_t n_items = (size_t)qw_json_size(map), count = 0;
    const char **names;
    char shown[64];

    *out = NULL;
    *n = 0;
    if (!map || qw_json_kind_of(map) != QW_JSON_OBJECT || !n_items)
        return qw_fail(err, QW_ERR_FORMAT, "model.safetensors.index.json has no weight_map of tensors and files");
    for (const qw_json *item = qw_json_first(map); item; item = qw_json_next(item))
        if (!plain_name(qw_json_string(item)))
            return qw_fail(err, QW_ERR_FORMAT,
                           "model.safetensors.index.json: \"%s\" is not the name of a .safetensors file beside it",
                           qw_quote_text(shown, qw_text_of(qw_json_string(item))));
    names = qw_calloc(n_items, sizeof *names);
    if (!names) return qw_fail_memory(err, "the index", (double)n_items * sizeof *names);
    for (const qw_json *item = qw_json_first(map); item; item = qw_json_next(item))
        names[count++] = qw_json_string(item);
    qsort(names, n_items, sizeof *names, by_text);
    count = 1;
    for (size_t i = 1; i < n_items; i++)
        if (strcmp(names[i], names[count - 1]) != 0) names[count++] = names[i];
    *out = names;
    *n = count;
    return QW_OK;
}

qw_status qw_hf_check_index(const qw_json *index, const qw_tensors *tensors, const char *const *file_names,
                            qw_error *err)
{
    char a[64], b[64];

    for (const qw_json *item = qw_json_first(qw_json_get(index, "weight_map")); item; item = qw_json_next(item)) {
        size_t i = qw_tensors_find(tensors, qw_text_of(qw_json_key(item)));
        if (i == SIZE_MAX || strcmp(file_names[tensors->v[i].file], qw_json_string(item)) != 0)
            return qw_fail(
                err, QW_ERR_MODEL, "model.safetensors.index.json says that tensor %s is in %s, but it is %s%s",
                qw_quote_text(a, qw_text_of(qw_json_key(item))), qw_quote_text(b, qw_text_of(qw_json_string(item))),
                i == SIZE_MAX ? "missing" : "in ", i == SIZE_MAX ? "" : file_names[tensors->v[i].file]);
    }
    return QW_OK;
}
