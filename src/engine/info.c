/* SPDX-License-Identifier: MIT
 * What is known of a loaded model, and what it can be asked without a job: plan, info, text to ids and back, self-test. */
#include "engine/engine.h"

#include "base/json.h"
#include "engine/selftest.h"
#include "format/format_check.h"
#include "generation/session_json.h"
#include "generation/settings_parse.h"
#include "generation/settings_table.h"
#include "kernels/kernel_choice.h"

#include <string.h>

qw_status qw_engine_plan(qw_engine *e, qw_text *json, qw_error *err)
{
    const qw_model *m = e->loader ? qw_loader_model(e->loader) : &e->model;
    qw_session_options o = e->options;
    double kv, scratch, weights, stage, texts;

    if (e->state != QW_ENGINE_LOADING || !m || !m->config.n_layer)
        return qw_fail(err, QW_ERR_USAGE, "the plan is known while loading, once the headers are read");
    o.n_ctx = qw_engine_context(e, &m->config);
    kv = qw_session_kv_bytes(&m->config, &o);
    scratch = qw_session_scratch_bytes(&m->config, &o, e->threads);
    weights = qw_loader_weight_bytes(e->loader);
    stage = qw_loader_stage_bytes(e->loader);
    texts =
        (double)(m->chat_template.cap + m->templates.cap + m->generation_config.cap + m->notes.cap + m->name.cap) * 4 +
        65536;
    if (m->tokenizer) texts += (double)qw_tokenizer_bytes(m->tokenizer);
    e->out.n = 0;
    QW_TRY(qw_buf_printf(
        &e->out, err,
        "{\"fileBytes\":%.0f,\"readBytes\":%.0f,\"weightBytes\":%.0f,\"kvBytes\":%.0f,\"scratchBytes\":%.0f,"
        "\"heapBytes\":%.0f,\"contextLength\":%d,\"trainedContextLength\":%d,\"layers\":%d}",
        qw_loader_file_bytes(e->loader), qw_loader_read_bytes(e->loader), weights, kv, scratch,
        weights + kv + scratch + stage + texts, o.n_ctx, m->config.n_ctx_train, m->config.n_layer));
    *json = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

static qw_status write_text(qw_buf *out, const char *key, const qw_buf *text, qw_error *err)
{
    QW_TRY(qw_buf_printf(out, err, ",\"%s\":", key));
    if (!text->n) return qw_buf_append(out, "null", 4, err);
    return qw_json_write_string(out, (qw_text){text->bytes, text->n}, err);
}

/* An object of texts for the page alone; engine.info does not have it. */
static qw_status write_members(qw_buf *out, const char *key, const qw_buf *members, qw_error *err)
{
    QW_TRY(qw_buf_printf(out, err, ",\"%s\":{", key));
    if (members->n) QW_TRY(qw_buf_append(out, members->bytes, members->n, err));
    return qw_buf_append(out, "}", 1, err);
}

static qw_status write_shape(const qw_engine *e, qw_buf *out, qw_error *err)
{
    const qw_config *c = &e->model.config;

    QW_TRY(qw_buf_printf(out, err,
                         "\"architecture\":\"qwen2\",\"parameters\":%.0f,\"layers\":%d,\"hiddenSize\":%d,\"heads\":%d,",
                         e->model.n_parameters, c->n_layer, c->dim, c->n_head));
    return qw_buf_printf(
        out, err,
        "\"kvHeads\":%d,\"headDim\":%d,\"vocabSize\":%d,\"contextLength\":%d,\"trainedContextLength\":%d,"
        "\"tiedEmbeddings\":%s,\"threads\":%d",
        c->n_kv_head, c->head_dim, c->n_vocab, e->options.n_ctx, c->n_ctx_train,
        e->model.weights.head_is_embed ? "true" : "false", qw_pool_threads(e->pool));
}

static qw_status write_weight_types(const qw_model *m, qw_buf *out, qw_error *err)
{
    bool first = true;

    QW_TRY(qw_buf_printf(out, err, ",\"weightTypes\":{"));
    for (uint32_t i = 0; i < QW_DTYPE_NUMBERS; i++) {
        if (m->kept_bytes[i] <= 0) continue;
        QW_TRY(qw_buf_printf(out, err, "%s\"%s\":%.0f", first ? "" : ",", qw_dtype_name(i), m->kept_bytes[i]));
        first = false;
    }
    return qw_buf_append(out, "}", 1, err);
}

/* A token that structures a prompt: a control token, or an added one that is written like one (some files call the
 * fill-in-the-middle markers ordinary). */
static bool is_marker(const qw_tokenizer *t, int32_t id)
{
    qw_token_type type = qw_tokenizer_type(t, id);
    qw_text text = qw_tokenizer_token_bytes(t, id);

    if (type == QW_TOKEN_CONTROL) return true;
    return type == QW_TOKEN_USER_DEFINED && text.n > 4 && !memcmp(text.bytes, "<|", 2) &&
           !memcmp(text.bytes + text.n - 2, "|>", 2);
}

static qw_status write_tokens(const qw_model *m, qw_buf *out, qw_error *err)
{
    bool first = true;

    QW_TRY(qw_buf_printf(out, err, ",\"eosTokenIds\":["));
    for (int32_t i = 0; i < m->n_eos; i++) QW_TRY(qw_buf_printf(out, err, "%s%d", i ? "," : "", m->eos[i]));
    QW_TRY(qw_buf_printf(out, err, m->pad < 0 ? "],\"padTokenId\":null" : "],\"padTokenId\":%d", m->pad));
    QW_TRY(qw_buf_printf(out, err, ",\"specialTokens\":["));
    for (int32_t id = 0; m->tokenizer && id < qw_tokenizer_n_ids(m->tokenizer); id++) {
        if (!is_marker(m->tokenizer, id)) continue;
        if (!first) QW_TRY(qw_buf_append(out, ",", 1, err));
        QW_TRY(qw_json_write_string(out, qw_tokenizer_token_bytes(m->tokenizer, id), err));
        first = false;
    }
    return qw_buf_append(out, "]", 1, err);
}

qw_status qw_engine_info(qw_engine *e, qw_text *json, qw_error *err)
{
    const qw_model *m = &e->model;
    qw_buf *out = &e->out;

    QW_TRY(qw_engine_ready(e, err));
    out->n = 0;
    QW_TRY(qw_buf_append(out, "{", 1, err));
    QW_TRY(write_shape(e, out, err));
    QW_TRY(write_weight_types(m, out, err));
    QW_TRY(write_tokens(m, out, err));
    QW_TRY(write_text(out, "name", &m->name, err));
    QW_TRY(write_text(out, "chatTemplate", &m->chat_template, err));
    QW_TRY(write_members(out, "templates", &m->templates, err));
    QW_TRY(write_members(out, "tokenTexts", &m->token_texts, err));
    QW_TRY(qw_buf_printf(out, err, ",\"generationConfig\":"));
    QW_TRY(qw_settings_write_file_defaults(m, out, err));
    QW_TRY(qw_buf_printf(out, err, ",\"notes\":"));
    QW_TRY(qw_write_lines(out, &m->notes, err));
    QW_TRY(qw_buf_append(out, "}", 1, err));
    *json = (qw_text){out->bytes, out->n};
    return QW_OK;
}

static qw_status need_tokenizer(const qw_engine *e, qw_error *err)
{
    QW_TRY(qw_engine_ready(e, err));
    if (e->model.tokenizer) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE, "this model came without a tokenizer: pass token ids instead of text");
}

qw_status qw_engine_tokenize(qw_engine *e, qw_text text, const qw_tokenize_options *options, const int32_t **ids,
                             size_t *n, qw_error *err)
{
    qw_encode_options encode = {options->parse_special, options->blocked, options->n_blocked};

    QW_TRY(need_tokenizer(e, err));
    e->ids.n = 0;
    QW_TRY(qw_tokenizer_encode(e->model.tokenizer, text, &encode, &e->ids, err));
    *ids = e->ids.v;
    *n = e->ids.n;
    return QW_OK;
}

qw_status qw_engine_detokenize(qw_engine *e, const int32_t *ids, size_t n, bool skip_special, qw_text *text,
                               qw_error *err)
{
    QW_TRY(need_tokenizer(e, err));
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= e->model.config.n_vocab)
            return qw_fail(err, QW_ERR_USAGE, "token id %d at position %.0f is out of range: the model has ids 0 to %d",
                           ids[i], (double)i, e->model.config.n_vocab - 1);
    e->out.n = 0;
    QW_TRY(qw_tokenizer_decode(e->model.tokenizer, ids, n, skip_special, &e->out, err));
    *text = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

qw_status qw_engine_check_format(qw_engine *e, qw_text format, qw_text *json, qw_error *err)
{
    e->out.n = 0;
    QW_TRY(qw_format_check(&e->out, format, e->model.tokenizer, err));
    *json = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

qw_status qw_engine_selftest(qw_engine *e, qw_text *json, qw_error *err)
{
    qw_buf report = {0};
    bool ok = false;
    qw_status status = e->pool ? QW_OK : qw_pool_new(&e->pool, e->threads, err);

    if (status == QW_OK) status = qw_selftest(e->pool, &ok, &report, err);
    e->out.n = 0;
    if (status == QW_OK) status = qw_buf_printf(&e->out, err, "{\"ok\":%s,\"report\":", ok ? "true" : "false");
    if (status == QW_OK) status = qw_json_write_string(&e->out, (qw_text){report.bytes, report.n}, err);
    if (status == QW_OK) status = qw_buf_append(&e->out, "}", 1, err);
    qw_buf_free(&report);
    *json = (qw_text){e->out.bytes, e->out.n};
    return status;
}

double qw_trial_seconds(void)
{
    qw_kernel fastest;
    double seconds = 0;

    qw_kernel_fastest(&fastest, &seconds, NULL);
    return seconds;
}

const char *qw_setting_key(int32_t i)
{
    return i >= 0 && i < QW_KEY_CUSTOM_PROCESSOR ? qw_setting_name((qw_setting_id)i) : NULL;
}
