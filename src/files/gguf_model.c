/* SPDX-License-Identifier: MIT
 * The qwen2.* and tokenizer.* keys. The vocabulary's texts stay in the header's bytes while the tokenizer is built. */
#include "files/gguf_model.h"

#include "base/alloc.h"
#include "base/exact_math.h"
#include "base/quote_text.h"
#include "files/gguf_values.h"
#include "tokenizer/tokenizer_vocab.h"

#include <stdlib.h>
#include <string.h>

static qw_status note(qw_model *m, const char *text, qw_error *err)
{
    return qw_buf_printf(&m->notes, err, "%s\n", text);
}

/* A key that must be there, as a positive int32. */
static qw_status required(const qw_gguf *g, const char *key, int32_t *value, qw_error *err)
{
    int64_t v = 0;

    if (!qw_gguf_find(g, key)) return qw_fail(err, QW_ERR_MODEL, "the GGUF file has no key %s, a qwen2 needs it", key);
    QW_TRY(qw_gguf_get_int(g, key, 1, INT32_MAX, &v, err));
    *value = (int32_t)v;
    return QW_OK;
}

/* The same for a key that may be absent. */
static qw_status optional(const qw_gguf *g, const char *key, int32_t *value, qw_error *err)
{
    int64_t v = *value;

    QW_TRY(qw_gguf_get_int(g, key, 0, INT32_MAX, &v, err));
    *value = (int32_t)v;
    return QW_OK;
}

static qw_status read_architecture(const qw_gguf *g, qw_error *err)
{
    qw_text name = {"", 0};
    char shown[64];

    QW_TRY(qw_gguf_get_text(g, "general.architecture", &name, err));
    if (qw_text_is(name, "qwen2")) return QW_OK;
    if (!name.n) return qw_fail(err, QW_ERR_MODEL, "the GGUF file has no key general.architecture, qwen2 is read");
    return qw_fail(err, QW_ERR_MODEL, "the model's architecture is \"%s\", qwen2 is read", qw_quote_text(shown, name));
}

static qw_status read_head_size(qw_config *c, const qw_gguf *g, qw_error *err)
{
    int32_t value, rotated;

    c->head_dim = c->dim / c->n_head;
    if (!qw_gguf_find(g, "qwen2.attention.key_length") && c->dim % c->n_head)
        return qw_fail(err, QW_ERR_MODEL,
                       "embedding length %d is not a multiple of %d heads, and there is no "
                       "qwen2.attention.key_length",
                       c->dim, c->n_head);
    QW_TRY(optional(g, "qwen2.attention.key_length", &c->head_dim, err));
    value = rotated = c->head_dim;
    QW_TRY(optional(g, "qwen2.attention.value_length", &value, err));
    QW_TRY(optional(g, "qwen2.rope.dimension_count", &rotated, err));
    if (value != c->head_dim || rotated != c->head_dim)
        return qw_fail(err, QW_ERR_MODEL, "heads of different sizes are not supported: key %d, value %d, rotated %d",
                       c->head_dim, value, rotated);
    return QW_OK;
}

static qw_status read_yarn(qw_config *c, const qw_gguf *g, qw_error *err)
{
    double attention = 1, extrapolation = 1;

    c->yarn = true;
    c->yarn_truncate = true;
    c->yarn_beta_fast = 32;
    c->yarn_beta_slow = 1;
    c->yarn_original_ctx = c->n_ctx_train;
    if (!qw_gguf_find(g, "qwen2.rope.scaling.factor"))
        return qw_fail(err, QW_ERR_MODEL, "the GGUF file asks for YaRN, but has no key qwen2.rope.scaling.factor");
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.factor", &c->yarn_factor, err));
    QW_TRY(optional(g, "qwen2.rope.scaling.original_context_length", &c->yarn_original_ctx, err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.yarn_beta_fast", &c->yarn_beta_fast, err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.yarn_beta_slow", &c->yarn_beta_slow, err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.yarn_ext_factor", &extrapolation, err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.attn_factor", &attention, err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.yarn_attn_factor", &attention, err));
    if (!(extrapolation >= 1 && extrapolation <= 1))
        return qw_fail(err, QW_ERR_MODEL, "qwen2.rope.scaling.yarn_ext_factor %g is not supported, only 1",
                       extrapolation);
    if (!(attention > 0 && attention <= 1e6))
        return qw_fail(err, QW_ERR_MODEL, "qwen2.rope.scaling.attn_factor %g is out of range", attention);
    /* The key multiplies YaRN's own factor. */
    if (attention < 1 || attention > 1)
        c->yarn_attention_factor = attention * (c->yarn_factor > 1 ? 0.1 * qw_log(c->yarn_factor) + 1 : 1);
    return QW_OK;
}

static qw_status read_rope(qw_model *m, const qw_gguf *g, qw_error *err)
{
    qw_config *c = &m->config;
    qw_text type = {"none", 4};
    double factor = 1, linear = 1;
    char shown[64];

    c->rope_theta = 10000;
    if (!qw_gguf_find(g, "qwen2.rope.freq_base"))
        QW_TRY(note(m, "the GGUF file has no qwen2.rope.freq_base: 10000 is used", err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.freq_base", &c->rope_theta, err));
    QW_TRY(qw_gguf_get_text(g, "qwen2.rope.scaling.type", &type, err));
    if (qw_text_is(type, "yarn")) return read_yarn(c, g, err);
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scaling.factor", &factor, err));
    QW_TRY(qw_gguf_get_double(g, "qwen2.rope.scale_linear", &linear, err));
    if (!qw_text_is(type, "none") && !(qw_text_is(type, "linear") && factor >= 1 && factor <= 1))
        return qw_fail(err, QW_ERR_MODEL, "RoPE scaling \"%s\" with factor %g is not supported, only none and yarn",
                       qw_quote_text(shown, type), factor);
    if (!(linear >= 1 && linear <= 1))
        return qw_fail(err, QW_ERR_MODEL, "RoPE scaling qwen2.rope.scale_linear %g is not supported, only yarn is",
                       linear);
    return QW_OK;
}

/* A pattern says by layer (bools) who slides; without one, a window below the context counts for all layers. */
static qw_status read_window(qw_config *c, const qw_gguf *g, qw_error *err)
{
    const qw_gguf_value *pattern = qw_gguf_find(g, "qwen2.attention.sliding_window_pattern");
    bool any = false;

    QW_TRY(optional(g, "qwen2.attention.sliding_window", &c->sliding_window, err));
    if (!c->sliding_window || c->sliding_window >= c->n_ctx_train) {
        c->sliding_window = 0;
        return QW_OK;
    }
    if (pattern &&
        (pattern->type != QW_GGUF_ARRAY || pattern->item_type != QW_GGUF_BOOL || pattern->n != (uint64_t)c->n_layer))
        return qw_fail(err, QW_ERR_MODEL, "qwen2.attention.sliding_window_pattern must be an array of %d bools",
                       c->n_layer);
    for (int32_t l = 0; l < c->n_layer && l < QW_LAYERS_MAX; l++)
        any |= c->sliding[l] = pattern ? pattern->bytes[l] == 1 : true;
    if (!any) c->sliding_window = 0;
    return QW_OK;
}

static qw_status read_config(qw_model *m, const qw_gguf *g, qw_error *err)
{
    qw_config *c = &m->config;
    double eps = 0;

    QW_TRY(required(g, "qwen2.block_count", &c->n_layer, err));
    QW_TRY(required(g, "qwen2.context_length", &c->n_ctx_train, err));
    QW_TRY(required(g, "qwen2.embedding_length", &c->dim, err));
    QW_TRY(required(g, "qwen2.feed_forward_length", &c->ffn_dim, err));
    QW_TRY(required(g, "qwen2.attention.head_count", &c->n_head, err));
    if (c->n_layer > QW_LAYERS_MAX)
        return qw_fail(err, QW_ERR_MODEL, "qwen2.block_count is %d, at most %d layers are supported", c->n_layer,
                       QW_LAYERS_MAX);
    c->n_kv_head = c->n_head;
    QW_TRY(optional(g, "qwen2.attention.head_count_kv", &c->n_kv_head, err));
    if (c->n_kv_head < 1) return qw_fail(err, QW_ERR_MODEL, "qwen2.attention.head_count_kv must be at least 1, got 0");
    if (!qw_gguf_find(g, "qwen2.attention.layer_norm_rms_epsilon"))
        return qw_fail(err, QW_ERR_MODEL,
                       "the GGUF file has no key qwen2.attention.layer_norm_rms_epsilon, a qwen2 needs it");
    QW_TRY(qw_gguf_get_double(g, "qwen2.attention.layer_norm_rms_epsilon", &eps, err));
    c->rms_eps = (float)eps;
    QW_TRY(read_head_size(c, g, err));
    QW_TRY(read_rope(m, g, err));
    return read_window(c, g, err);
}

static qw_status build_tokenizer(qw_model *m, const qw_gguf *g, qw_error *err)
{
    qw_text *tokens = NULL, *merges = NULL;
    int32_t *types = NULL;
    size_t n_tokens, n_merges, n_types;
    qw_status status = qw_gguf_get_texts(g, "tokenizer.ggml.tokens", &tokens, &n_tokens, err);

    if (!status) status = qw_gguf_get_texts(g, "tokenizer.ggml.merges", &merges, &n_merges, err);
    if (!status) status = qw_gguf_get_ints(g, "tokenizer.ggml.token_type", &types, &n_types, err);
    if (!status && types && n_types != n_tokens)
        status = qw_fail(err, QW_ERR_FORMAT, "tokenizer.ggml.token_type has %zu items, tokenizer.ggml.tokens %zu",
                         n_types, n_tokens);
    if (!status) {
        qw_vocab vocab = {tokens, types, n_tokens, merges, n_merges};
        status = qw_tokenizer_from_vocab(&m->tokenizer, &vocab, err);
    }
    qw_free(tokens);
    qw_free(merges);
    qw_free(types);
    return status;
}

static qw_status read_tokenizer(qw_model *m, const qw_gguf *g, qw_error *err)
{
    qw_text model = {"", 0}, pre = {"", 0};
    bool bos = false;
    char shown[64];

    if (!qw_gguf_find(g, "tokenizer.ggml.tokens"))
        return note(m, "the file has no tokenizer: only ids can be used", err);
    QW_TRY(qw_gguf_get_text(g, "tokenizer.ggml.model", &model, err));
    if (!qw_text_is(model, "gpt2"))
        return qw_fail(err, QW_ERR_MODEL, "tokenizer.ggml.model is \"%s\", Qwen2's is gpt2",
                       qw_quote_text(shown, model));
    QW_TRY(qw_gguf_get_text(g, "tokenizer.ggml.pre", &pre, err));
    if (!pre.n) QW_TRY(note(m, "the file has no tokenizer.ggml.pre: text is split by Qwen2's rule", err));
    else if (!qw_text_is(pre, "qwen2"))
        QW_TRY(qw_buf_printf(&m->notes, err, "tokenizer.ggml.pre is \"%s\", not qwen2: text is split by Qwen2's rule\n",
                             qw_quote_text(shown, pre)));
    QW_TRY(qw_gguf_get_bool(g, "tokenizer.ggml.add_bos_token", &bos, err));
    if (bos) QW_TRY(note(m, "tokenizer.ggml.add_bos_token is true, but Qwen2 has no such token: none is added", err));
    return build_tokenizer(m, g, err);
}

static void add_eos(qw_model *m, int64_t id)
{
    if (id < 0 || id > INT32_MAX || m->n_eos == QW_EOS_MAX) return;
    for (int32_t i = 0; i < m->n_eos; i++)
        if (m->eos[i] == id) return;
    m->eos[m->n_eos++] = (int32_t)id;
}

/* The file's keys, and the two tokens that end a Qwen2's text wherever they are control tokens: conversions set only one. */
static qw_status read_ends(qw_model *m, const qw_gguf *g, qw_error *err)
{
    static const char *const ends[] = {"<|im_end|>", "<|endoftext|>"};
    int64_t eos = -1, eot = -1, pad = -1;

    QW_TRY(qw_gguf_get_int(g, "tokenizer.ggml.eos_token_id", -1, UINT32_MAX, &eos, err));
    QW_TRY(qw_gguf_get_int(g, "tokenizer.ggml.eot_token_id", -1, UINT32_MAX, &eot, err));
    QW_TRY(qw_gguf_get_int(g, "tokenizer.ggml.padding_token_id", -1, UINT32_MAX, &pad, err));
    add_eos(m, eos);
    add_eos(m, eot);
    m->pad = pad > INT32_MAX ? -1 : (int32_t)pad;
    for (size_t i = 0; m->tokenizer && i < sizeof ends / sizeof *ends; i++) {
        int32_t id = qw_tokenizer_added_id(m->tokenizer, qw_text_of(ends[i]));
        if (id >= 0 && qw_tokenizer_type(m->tokenizer, id) == QW_TOKEN_CONTROL) add_eos(m, id);
    }
    return QW_OK;
}

/* What templates find under the names of special tokens. */
static qw_status read_token_texts(qw_model *m, const qw_gguf *g, qw_error *err)
{
    static const char *const keys[][2] = {
        {"tokenizer.ggml.bos_token_id", "bos_token"},
        {"tokenizer.ggml.eos_token_id", "eos_token"},
        {"tokenizer.ggml.unknown_token_id", "unk_token"},
        {"tokenizer.ggml.seperator_token_id", "sep_token"}, /* the format's spelling */
        {"tokenizer.ggml.padding_token_id", "pad_token"},
        {"tokenizer.ggml.cls_token_id", "cls_token"},
        {"tokenizer.ggml.mask_token_id", "mask_token"}};

    for (size_t i = 0; m->tokenizer && i < sizeof keys / sizeof *keys; i++) {
        int64_t id = -1;
        QW_TRY(qw_gguf_get_int(g, keys[i][0], -1, UINT32_MAX, &id, err));
        if (id < 0 || id >= qw_tokenizer_n_ids(m->tokenizer)) continue;
        QW_TRY(qw_model_add_text(&m->token_texts, qw_text_of(keys[i][1]),
                                 qw_tokenizer_token_bytes(m->tokenizer, (int32_t)id), err));
    }
    return QW_OK;
}

/* tokenizer.chat_template.NAME, as converters write a list of named templates. */
static qw_status read_templates(qw_model *m, const qw_gguf *g, qw_error *err)
{
    static const char prefix[] = "tokenizer.chat_template.";
    const size_t n = sizeof prefix - 1;

    for (size_t i = 0; i < g->n_values; i++) {
        const qw_gguf_value *v = &g->values[i];
        if (v->type != QW_GGUF_STRING || v->key.n <= n || memcmp(v->key.bytes, prefix, n) != 0) continue;
        QW_TRY(qw_model_add_text(&m->templates, (qw_text){v->key.bytes + n, v->key.n - n},
                                 (qw_text){(const char *)v->bytes, (size_t)v->n}, err));
    }
    return QW_OK;
}

qw_status qw_gguf_read_model(qw_model *m, const qw_gguf *g, qw_error *err)
{
    qw_text name = {"", 0}, chat_template = {"", 0};

    QW_TRY(read_architecture(g, err));
    QW_TRY(read_config(m, g, err));
    QW_TRY(qw_gguf_get_text(g, "general.name", &name, err));
    QW_TRY(qw_gguf_get_text(g, "tokenizer.chat_template", &chat_template, err));
    QW_TRY(qw_buf_append(&m->name, name.bytes, name.n, err));
    QW_TRY(qw_buf_append(&m->chat_template, chat_template.bytes, chat_template.n, err));
    QW_TRY(read_templates(m, g, err));
    QW_TRY(read_tokenizer(m, g, err));
    QW_TRY(read_token_texts(m, g, err));
    return read_ends(m, g, err);
}
