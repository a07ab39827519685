/* SPDX-License-Identifier: MIT
 * Life of an engine: options, the loading dialogue, what is reserved when. */
#include "engine/engine.h"

#include "base/alloc.h"
#include "base/json.h"
#include "kernels/kernel_choice.h"

#include <string.h>

enum { DEFAULT_CONTEXT = 4096, DEFAULT_ROWS = 8, ROWS_MAX = 256, CONTEXT_MAX = 1 << 24 };

static qw_status choice(const qw_json_in *in, const char *key, const char *const *names, int32_t n, int32_t *value)
{
    const char *text = NULL;

    QW_TRY(qw_json_get_string(in, key, &text));
    if (!text) return QW_OK;
    for (int32_t i = 0; i < n; i++)
        if (!strcmp(text, names[i])) {
            *value = i;
            return QW_OK;
        }
    return qw_fail(in->err, QW_ERR_USAGE, "%s is \"%.40s\": one of \"%s\", \"%s\" and \"%s\" is wanted", key, text,
                   names[0], names[1], names[2]);
}

static qw_status read_options(qw_engine *e, const qw_json *root, qw_error *err)
{
    static const char *const kv_types[] = {"f32", "f16", "q8_0"}, *const quantize[] = {"none", "q8_0", "q4_0", "f32"};
    qw_json_in in = {root, "load options", QW_ERR_USAGE, err};
    int64_t n_ctx = 0, rows = DEFAULT_ROWS, threads = 1;
    int32_t q = QW_QUANTIZE_Q8_0, kv = -1;

    QW_TRY(qw_json_get_int(&in, "contextLength", 1, CONTEXT_MAX, &n_ctx));
    QW_TRY(qw_json_get_int(&in, "maxRows", 1, ROWS_MAX, &rows));
    QW_TRY(qw_json_get_int(&in, "threads", 1, QW_POOL_MAX, &threads));
    QW_TRY(qw_json_get_bool(&in, "headersOnly", &e->headers_only));
    QW_TRY(choice(&in, "kvType", kv_types, 3, &kv));
    QW_TRY(choice(&in, "quantize", quantize, 4, &q));
    e->quantize = (qw_quantize)q;
    e->threads = (int32_t)threads;
    if (kv < 0) kv = e->quantize == QW_QUANTIZE_NONE ? QW_KV_F32 : QW_KV_F16;
    e->options = (qw_session_options){(qw_kv_type)kv, (int32_t)n_ctx, (int32_t)rows};
    return QW_OK;
}

qw_status qw_engine_new(qw_engine **out, qw_text options, qw_error *err)
{
    qw_engine *e = qw_calloc(1, sizeof *e);
    qw_json *root = NULL;
    qw_status status;

    *out = NULL;
    if (!e) return qw_fail_memory(err, "the engine", sizeof *e);
    status = qw_json_parse(&root, options.n ? options : qw_text_of("{}"), "load options", err);
    if (status == QW_ERR_FORMAT && err) status = err->status = QW_ERR_USAGE;
    if (status == QW_OK) status = read_options(e, root, err);
    qw_json_free(root);
    if (status) {
        qw_engine_free(e);
        return status;
    }
    *out = e;
    return QW_OK;
}

void qw_engine_free(qw_engine *e)
{
    if (!e) return;
    qw_session_free(&e->session);
    qw_pool_free(e->pool);
    qw_model_free(&e->model);
    qw_loader_free(e->loader);
    qw_buf_free(&e->out);
    qw_ids_free(&e->ids);
    qw_free(e);
}

qw_status qw_engine_open(qw_engine *e, qw_text main_name, qw_error *err)
{
    qw_load_options options = {e->quantize, e->headers_only};

    if (e->state != QW_ENGINE_NEW)
        return qw_fail(err, QW_ERR_USAGE, "this engine has been opened before: make a new one");
    QW_TRY(qw_loader_new(&e->loader, &options, main_name, err));
    e->state = QW_ENGINE_LOADING;
    return QW_OK;
}

void qw_engine_want(const qw_engine *e, qw_want *want)
{
    *want = (qw_want){.kind = QW_WANT_NOTHING};
    if (e->state == QW_ENGINE_LOADING) qw_loader_want(e->loader, want);
}

int32_t qw_engine_context(const qw_engine *e, const qw_config *c)
{
    if (e->options.n_ctx) return e->options.n_ctx;
    return c->n_ctx_train < DEFAULT_CONTEXT ? c->n_ctx_train : DEFAULT_CONTEXT;
}

/* Cache, scratch and threads, before the first weight byte. */
static qw_status reserve(qw_engine *e, qw_error *err)
{
    e->model.config = qw_loader_model(e->loader)->config;
    e->options.n_ctx = qw_engine_context(e, &e->model.config);
    e->reserved = true;
    if (!e->pool) QW_TRY(qw_pool_new(&e->pool, e->threads, err));
    qw_loader_use(e->loader, e->pool);
    return qw_session_init(&e->session, &e->model, e->pool, &e->options, err);
}

static qw_status finish_load(qw_engine *e, qw_error *err)
{
    qw_kernel fastest;

    qw_loader_free(e->loader);
    e->loader = NULL;
    QW_TRY(qw_kernel_fastest(&fastest, NULL, err));
    qw_activations_use(&e->session.scratch.acts, fastest);
    e->state = QW_ENGINE_READY;
    if (e->options.n_ctx > e->model.config.n_ctx_train)
        return qw_buf_printf(&e->model.notes, err,
                             "contextLength %d is more than the %d positions that the model was trained on\n",
                             e->options.n_ctx, e->model.config.n_ctx_train);
    return QW_OK;
}

/* What follows from the loader's progress. */
static qw_status advance(qw_engine *e, qw_status status, qw_error *err)
{
    qw_want want = {0};

    if (status == QW_OK) {
        qw_loader_want(e->loader, &want);
        if (!e->headers_only && !e->reserved && (want.weights || want.kind == QW_WANT_NOTHING))
            status = reserve(e, err);
        if (status == QW_OK && want.kind == QW_WANT_NOTHING && !e->headers_only) {
            status = qw_loader_take(e->loader, &e->model, err);
            if (status == QW_OK) status = finish_load(e, err);
        }
    }
    if (status) e->state = QW_ENGINE_FAILED;
    return status;
}

qw_status qw_engine_opened(qw_engine *e, int64_t bytes, qw_error *err)
{
    if (e->state != QW_ENGINE_LOADING)
        return qw_fail(err, QW_ERR_USAGE, "no file is wanted: the engine is not loading");
    return advance(e, qw_loader_opened(e->loader, bytes, err), err);
}

qw_status qw_engine_feed(qw_engine *e, size_t n, qw_error *err)
{
    if (e->state != QW_ENGINE_LOADING)
        return qw_fail(err, QW_ERR_USAGE, "no bytes are wanted: the engine is not loading");
    return advance(e, qw_loader_feed(e->loader, n, err), err);
}

qw_status qw_engine_ready(const qw_engine *e, qw_error *err)
{
    return e->state == QW_ENGINE_READY ? QW_OK
                                       : qw_fail(err, QW_ERR_USAGE, "the engine has no model yet: load one first");
}
