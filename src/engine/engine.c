/* SPDX-License-Identifier: MIT
 * Lifetime of an engine: options, the loading dialogue, what is reserved when, and qw.h's calls handed to the session. */
#include "base/alloc.h"
#include "base/json.h"
#include "qw.h"
#include "engine/selftest.h"
#include "generation/settings_parse.h"
#include "generation/step.h"

#include <string.h>

enum { DEFAULT_CONTEXT = 4096, DEFAULT_ROWS = 8, ROWS_MAX = 256, CONTEXT_MAX = 1 << 24 };

typedef enum state { NEW, LOADING, READY, FAILED } state;

struct qw_engine {
    state state;
    bool headers_only, reserved;
    int32_t threads;
    qw_quantize quantize;
    qw_session_options options; /* n_ctx 0: the default, until the model's own limit is known */
    qw_loader *loader;
    qw_model model;
    qw_pool *pool;
    qw_session session;
    qw_buf out; /* text of the last call that gave some */
    qw_ids ids;
};

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

/* ---- loading */

qw_status qw_engine_open(qw_engine *e, qw_text main_name, qw_error *err)
{
    qw_load_options options = {e->quantize, e->headers_only};

    if (e->state != NEW) return qw_fail(err, QW_ERR_USAGE, "this engine has been opened before: make a new one");
    QW_TRY(qw_loader_new(&e->loader, &options, main_name, err));
    e->state = LOADING;
    return QW_OK;
}

void qw_engine_want(const qw_engine *e, qw_want *want)
{
    *want = (qw_want){.kind = QW_WANT_NOTHING};
    if (e->state == LOADING) qw_loader_want(e->loader, want);
}

static int32_t context_of(const qw_engine *e, const qw_config *c)
{
    if (e->options.n_ctx) return e->options.n_ctx;
    return c->n_ctx_train < DEFAULT_CONTEXT ? c->n_ctx_train : DEFAULT_CONTEXT;
}

/* Cache, scratch and threads, before the first weight byte. */
static qw_status reserve(qw_engine *e, qw_error *err)
{
    e->model.config = qw_loader_model(e->loader)->config;
    e->options.n_ctx = context_of(e, &e->model.config);
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
    e->state = READY;
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
    if (status) e->state = FAILED;
    return status;
}

qw_status qw_engine_opened(qw_engine *e, int64_t bytes, qw_error *err)
{
    if (e->state != LOADING) return qw_fail(err, QW_ERR_USAGE, "no file is wanted: the engine is not loading");
    return advance(e, qw_loader_opened(e->loader, bytes, err), err);
}

qw_status qw_engine_feed(qw_engine *e, size_t n, qw_error *err)
{
    if (e->state != LOADING) return qw_fail(err, QW_ERR_USAGE, "no bytes are wanted: the engine is not loading");
    return advance(e, qw_loader_feed(e->loader, n, err), err);
}

/* ---- what is known of the model */

qw_status qw_engine_plan(qw_engine *e, qw_text *json, qw_error *err)
{
    const qw_model *m = e->loader ? qw_loader_model(e->loader) : &e->model;
    qw_session_options o = e->options;
    double kv, scratch, weights, stage, texts;

    if (e->state != LOADING || !m || !m->config.n_layer)
        return qw_fail(err, QW_ERR_USAGE, "the plan is known while loading, once the headers are read");
    o.n_ctx = context_of(e, &m->config);
    kv = qw_session_kv_bytes(&m->config, &o);
    scratch = qw_session_scratch_bytes(&m->config, &o, e->threads);
    weights = qw_loader_weight_bytes(e->loader);
    stage = qw_loader_stage_bytes(e->loader);
    texts = (double)(m->chat_template.cap + m->generation_config.cap + m->notes.cap + m->name.cap) * 4 + 65536;
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

static qw_status ready(const qw_engine *e, qw_error *err)
{
    return e->state == READY ? QW_OK : qw_fail(err, QW_ERR_USAGE, "the engine has no model yet: load one first");
}

static qw_status write_text(qw_buf *out, const char *key, const qw_buf *text, qw_error *err)
{
    QW_TRY(qw_buf_printf(out, err, ",\"%s\":", key));
    if (!text->n) return qw_buf_append(out, "null", 4, err);
    return qw_json_write_string(out, (qw_text){text->bytes, text->n}, err);
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
    for (int i = 0; i <= QW_LAYOUT_K2M; i++) {
        if (m->layout_bytes[i] <= 0) continue;
        QW_TRY(qw_buf_printf(out, err, "%s\"%s\":%.0f", first ? "" : ",", qw_layout_name((qw_layout)i),
                             m->layout_bytes[i]));
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

    QW_TRY(ready(e, err));
    out->n = 0;
    QW_TRY(qw_buf_append(out, "{", 1, err));
    QW_TRY(write_shape(e, out, err));
    QW_TRY(write_weight_types(m, out, err));
    QW_TRY(write_tokens(m, out, err));
    QW_TRY(write_text(out, "name", &m->name, err));
    QW_TRY(write_text(out, "chatTemplate", &m->chat_template, err));
    QW_TRY(qw_buf_printf(out, err, ",\"generationConfig\":"));
    QW_TRY(qw_settings_write_file_defaults(m, out, err));
    QW_TRY(qw_buf_printf(out, err, ",\"notes\":"));
    QW_TRY(qw_write_lines(out, &m->notes, err));
    QW_TRY(qw_buf_append(out, "}", 1, err));
    *json = (qw_text){out->bytes, out->n};
    return QW_OK;
}

const qw_model *qw_engine_model(const qw_engine *e)
{
    return &e->model;
}

static qw_status need_tokenizer(const qw_engine *e, qw_error *err)
{
    QW_TRY(ready(e, err));
    if (e->model.tokenizer) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE, "this model came without a tokenizer: pass token ids instead of text");
}

qw_status qw_engine_tokenize(qw_engine *e, qw_text text, const qw_encode_options *options, const int32_t **ids,
                             size_t *n, qw_error *err)
{
    QW_TRY(need_tokenizer(e, err));
    e->ids.n = 0;
    QW_TRY(qw_tokenizer_encode(e->model.tokenizer, text, options, &e->ids, err));
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

/* ---- jobs */

static qw_status start_row_texts(qw_session *s, qw_error *err)
{
    for (int32_t r = 0; s->model->tokenizer && r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];
        QW_TRY(
            qw_row_text_start(&row->text, s->job.stops, s->model->tokenizer, row->ids.v, (size_t)row->n_prompt, err));
    }
    return QW_OK;
}

static qw_status seed_rows(qw_session *s, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    qw_rng *rng;
    qw_status status;

    for (int32_t r = 0; r < s->job.n_rows; r++) qw_rng_seed(&s->job.rows[r].rng, g->seed + (uint32_t)r);
    if (!g->rng_state.n) return QW_OK;
    rng = qw_calloc((size_t)s->job.n_rows, sizeof *rng);
    if (!rng) return qw_fail_memory(err, "the generators", (double)s->job.n_rows * sizeof *rng);
    status = qw_rng_read(rng, s->job.n_rows, (qw_text){g->rng_state.bytes, g->rng_state.n}, err);
    for (int32_t r = 0; status == QW_OK && r < s->job.n_rows; r++) s->job.rows[r].rng = rng[r];
    qw_free(rng);
    return status;
}

/* A prompt that fills max_length leaves nothing to generate: Transformers refuses it too. */
static qw_status check_lengths(const qw_session *s, qw_error *err)
{
    const qw_settings *g = &s->job.settings;

    if (g->max_new_tokens >= 0 || g->max_length < 0 || s->job.width < g->max_length) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE,
                   "the prompt has %d tokens and max_length is %d: raise max_length or use max_new_tokens",
                   s->job.width, g->max_length);
}

static qw_status fill_generation(qw_session *s, qw_text stops, int32_t padding_width, qw_error *err)
{
    if (stops.n) {
        QW_TRY(qw_stops_new(&s->job.stops, stops, err));
        if (!s->model->tokenizer)
            return qw_fail(err, QW_ERR_USAGE,
                           "stop_strings need a tokenizer, and this model came without one: use eos_token_id");
    }
    if (padding_width > s->job.width) s->job.width = padding_width;
    for (int32_t r = 0; r < s->job.n_rows; r++) s->job.rows[r].n_pad = s->job.width - s->job.rows[r].n_prompt;
    QW_TRY(check_lengths(s, err));
    QW_TRY(seed_rows(s, err));
    return start_row_texts(s, err);
}

qw_status qw_generate_begin(qw_engine *e, const qw_prompts *prompts, qw_text settings, qw_text stops,
                            int32_t padding_width, qw_error *err)
{
    qw_session *s = &e->session;
    qw_settings parsed = {0};
    qw_start start = {prompts->ids, prompts->lengths, NULL, prompts->n_rows, 1};
    qw_status status = ready(e, err);

    if (status == QW_OK) status = qw_settings_parse(&parsed, settings, &e->model, err);
    if (status == QW_OK) {
        start.copies = parsed.num_return_sequences;
        status = qw_session_start(s, QW_JOB_GENERATE, &start, err);
    }
    if (status) {
        qw_settings_free(&parsed);
        return status;
    }
    s->job.settings = parsed;
    status = fill_generation(s, stops, padding_width, err);
    if (status) qw_session_end(s);
    return status;
}

qw_status qw_prefill_begin(qw_engine *e, const int32_t *ids, int32_t n, qw_error *err)
{
    int32_t all = n;
    qw_start start = {ids, &n, &all, 1, 1};

    QW_TRY(ready(e, err));
    return qw_session_start(&e->session, QW_JOB_PREFILL, &start, err);
}

/* Tokens before the first one whose logits (or hidden states) are wanted may come from the cache. */
static int32_t reusable(const uint8_t *keep, int32_t n, bool hidden)
{
    int32_t i = 0;

    while (!hidden && i < n && !keep[i]) i++;
    return i;
}

static qw_status fill_forward(qw_session *s, const uint8_t *keep, int32_t total, bool hidden, qw_error *err)
{
    const qw_config *c = &s->model->config;
    size_t per_token = ((size_t)c->n_layer + 2) * (size_t)c->dim;
    int32_t at = 0;

    s->job.keep = qw_calloc((size_t)total, 1);
    if (!s->job.keep) return qw_fail_memory(err, "the positions kept", total);
    memcpy(s->job.keep, keep, (size_t)total);
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        s->job.rows[r].keep_at = at;
        at += s->job.rows[r].n_prompt;
    }
    if (!hidden) return QW_OK;
    s->job.hidden = true;
    s->job.hidden_tokens = (int32_t)(262144 / per_token);
    if (s->job.hidden_tokens < 1) s->job.hidden_tokens = 1;
    s->job.hidden_states = qw_alloc_aligned((size_t)s->job.hidden_tokens, per_token * sizeof(float));
    if (!s->job.hidden_states)
        return qw_fail_memory(err, "hidden states", 4.0 * (double)per_token * s->job.hidden_tokens);
    return QW_OK;
}

qw_status qw_forward_begin(qw_engine *e, const qw_prompts *prompts, const uint8_t *keep, bool hidden, qw_error *err)
{
    int32_t *reuse, at = 0;
    qw_start start = {prompts->ids, prompts->lengths, NULL, prompts->n_rows, 1};
    qw_status status;

    QW_TRY(ready(e, err));
    if (prompts->n_rows < 1 || prompts->n_rows > e->options.max_rows)
        return qw_fail(err, QW_ERR_USAGE, "%d rows were given: the engine was loaded for 1 to %d (maxRows)",
                       prompts->n_rows, e->options.max_rows);
    reuse = qw_calloc((size_t)prompts->n_rows, sizeof *reuse);
    if (!reuse) return qw_fail_memory(err, "the rows of a job", 4.0 * prompts->n_rows);
    for (int32_t r = 0; r < prompts->n_rows; r++) {
        reuse[r] = prompts->lengths[r] > 0 ? reusable(keep + at, prompts->lengths[r], hidden) : 0;
        at += prompts->lengths[r] > 0 ? prompts->lengths[r] : 0;
    }
    start.reuse = reuse;
    status = qw_session_start(&e->session, QW_JOB_FORWARD, &start, err);
    qw_free(reuse);
    QW_TRY(status);
    status = fill_forward(&e->session, keep, at, hidden, err);
    if (status) qw_session_end(&e->session);
    return status;
}

qw_status qw_step(qw_engine *e, int32_t max_tokens, qw_step_result *result, qw_error *err)
{
    qw_progress progress = QW_PROGRESS_DONE;
    qw_status status = ready(e, err);

    if (status == QW_OK) status = qw_session_step(&e->session, max_tokens, &progress, err);
    *result = (qw_step_result)progress;
    return status;
}

qw_status qw_job_events(qw_engine *e, qw_text *json, qw_error *err)
{
    e->out.n = 0;
    QW_TRY(qw_session_write_events(&e->session, &e->out, err));
    *json = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

void qw_forward_output(const qw_engine *e, qw_forward_out *out)
{
    const qw_job *j = &e->session.job;

    *out = (qw_forward_out){e->session.scratch.logits,
                            j->hidden ? j->hidden_states : NULL,
                            j->out_row,
                            j->out_n,
                            j->out_pos,
                            j->out_tokens};
}

bool qw_job_scores(qw_engine *e, int32_t i, qw_scores *out)
{
    const qw_job *j = &e->session.job;

    for (int32_t r = 0; r < j->n_rows; r++) {
        const qw_row *row = &j->rows[r];

        if (!row->scores || i-- > 0) continue;
        *out = (qw_scores){row->scores, row->ids.v, r, (int32_t)row->ids.n};
        return true;
    }
    return false;
}

qw_status qw_job_end_row(qw_engine *e, int32_t index, const char *finish_reason, qw_error *err)
{
    static const qw_finish allowed[] = {QW_FINISH_TIME, QW_FINISH_STOPPING, QW_FINISH_ABORTED};
    qw_session *s = &e->session;
    qw_finish finish = QW_FINISH_NONE;

    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
        if (!strcmp(finish_reason, qw_finish_name(allowed[i]))) finish = allowed[i];
    if (!finish || index < -1 || index >= s->job.n_rows)
        return qw_fail(
            err, QW_ERR_USAGE,
            "row %d cannot be ended for \"%.20s\": the job has %d rows; time, stopping and aborted are reasons", index,
            finish_reason, s->job.n_rows);
    qw_session_clear_events(s);
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (index < 0 || r == index) QW_TRY(qw_session_end_row(s, r, finish, err));
    return QW_OK;
}

qw_status qw_job_result(qw_engine *e, qw_text *json, qw_error *err)
{
    e->out.n = 0;
    QW_TRY(qw_session_write_result(&e->session, &e->out, err));
    *json = (qw_text){e->out.bytes, e->out.n};
    return QW_OK;
}

void qw_job_end(qw_engine *e)
{
    if (e->state == READY) qw_session_end(&e->session);
}

void qw_engine_forget(qw_engine *e)
{
    if (e->state == READY) qw_session_forget(&e->session);
}
