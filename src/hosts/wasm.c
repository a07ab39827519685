/* SPDX-License-Identifier: MIT
 * The exports, nothing else: int32, double and pointers in; a status (0 is success) or a pointer out. Text that comes back
 * stands at qwx_out / qwx_out_bytes until the next call. js/wasm.js is the only caller. */
#include "base/alloc.h"
#include "qw.h"

#include <emscripten.h>

typedef struct qwx_engine {
    qw_engine *engine;
    qw_text out;
    qw_error error;
} qwx_engine;

#define QWX EMSCRIPTEN_KEEPALIVE

QWX void *qwx_alloc(size_t bytes);
QWX void qwx_free(void *block);
QWX qwx_engine *qwx_new(const char *options, size_t n);
QWX void qwx_close(qwx_engine *x);
QWX const char *qwx_out(const qwx_engine *x);
QWX size_t qwx_out_bytes(const qwx_engine *x);
QWX const char *qwx_error_text(const qwx_engine *x);
QWX const char *qwx_status_name(int32_t status);
QWX int32_t qwx_open(qwx_engine *x, const char *name, size_t n);
QWX int32_t qwx_want(qwx_engine *x, void *want);
QWX int32_t qwx_opened(qwx_engine *x, double bytes);
QWX int32_t qwx_feed(qwx_engine *x, size_t n);
QWX int32_t qwx_plan(qwx_engine *x);
QWX int32_t qwx_info(qwx_engine *x);
QWX int32_t qwx_tokenize(qwx_engine *x, const char *text, size_t n, int32_t parse_special, const int32_t *blocked,
                         size_t n_blocked);
QWX int32_t qwx_detokenize(qwx_engine *x, const int32_t *ids, size_t n, int32_t skip_special);
QWX int32_t qwx_check_format(qwx_engine *x, const char *format, size_t n);
QWX int32_t qwx_generate(qwx_engine *x, const int32_t *ids, const int32_t *lengths, int32_t n_rows,
                         const char *settings, size_t n_settings, const char *stops, size_t n_stops,
                         int32_t padding_width);
QWX int32_t qwx_prefill(qwx_engine *x, const int32_t *ids, int32_t n);
QWX int32_t qwx_forward(qwx_engine *x, const int32_t *ids, const int32_t *lengths, int32_t n_rows, const uint8_t *keep,
                        int32_t hidden);
QWX int32_t qwx_step(qwx_engine *x, int32_t max_tokens);
QWX int32_t qwx_events(qwx_engine *x);
QWX int32_t qwx_forward_output(qwx_engine *x, void *out);
QWX int32_t qwx_scores(qwx_engine *x, int32_t i, void *out);
QWX int32_t qwx_end_row(qwx_engine *x, int32_t index, const char *finish_reason);
QWX int32_t qwx_result(qwx_engine *x);
QWX void qwx_end(qwx_engine *x);
QWX int32_t qwx_selftest(qwx_engine *x);
QWX double qwx_trial(void);

QWX void *qwx_alloc(size_t bytes)
{
    return qw_calloc(bytes, 1);
}

QWX void qwx_free(void *block)
{
    qw_free(block);
}

/* A status beside the engine's pointer would need an out-parameter: an engine that failed to start is a box with an error
 * and no engine, 0 only where there is not even memory for the box. */
QWX qwx_engine *qwx_new(const char *options, size_t n)
{
    qwx_engine *x = qw_calloc(1, sizeof *x);

    if (x) qw_engine_new(&x->engine, (qw_text){options, n}, &x->error);
    return x;
}

QWX void qwx_close(qwx_engine *x)
{
    if (!x) return;
    qw_engine_free(x->engine);
    qw_free(x);
}

QWX const char *qwx_out(const qwx_engine *x)
{
    return x->out.bytes;
}

QWX size_t qwx_out_bytes(const qwx_engine *x)
{
    return x->out.n;
}

/* NUL-terminated; "" after qwx_new went well. */
QWX const char *qwx_error_text(const qwx_engine *x)
{
    return x->error.text;
}

QWX const char *qwx_status_name(int32_t status)
{
    return qw_status_name((qw_status)status);
}

QWX int32_t qwx_open(qwx_engine *x, const char *name, size_t n)
{
    return (int32_t)qw_engine_open(x->engine, (qw_text){name, n}, &x->error);
}

/* want: 8 doubles: kind, optional, file, offset, bytes, dst, weights; the name stands at qwx_out. Returns the kind. */
QWX int32_t qwx_want(qwx_engine *x, void *want)
{
    qw_want w;
    double *out = want;

    qw_engine_want(x->engine, &w);
    out[0] = (double)w.kind;
    out[1] = w.optional;
    out[2] = (double)w.file;
    out[3] = (double)w.offset;
    out[4] = (double)w.bytes;
    out[5] = (double)(uintptr_t)w.dst;
    out[6] = w.weights;
    x->out = w.name ? qw_text_of(w.name) : (qw_text){"", 0};
    return (int32_t)w.kind;
}

QWX int32_t qwx_opened(qwx_engine *x, double bytes)
{
    return (int32_t)qw_engine_opened(x->engine, (int64_t)bytes, &x->error);
}

QWX int32_t qwx_feed(qwx_engine *x, size_t n)
{
    return (int32_t)qw_engine_feed(x->engine, n, &x->error);
}

QWX int32_t qwx_plan(qwx_engine *x)
{
    return (int32_t)qw_engine_plan(x->engine, &x->out, &x->error);
}

QWX int32_t qwx_info(qwx_engine *x)
{
    return (int32_t)qw_engine_info(x->engine, &x->out, &x->error);
}

/* The ids stand at qwx_out as int32, qwx_out_bytes / 4 of them. */
QWX int32_t qwx_tokenize(qwx_engine *x, const char *text, size_t n, int32_t parse_special, const int32_t *blocked,
                         size_t n_blocked)
{
    qw_tokenize_options options = {parse_special != 0, blocked, n_blocked};
    const int32_t *ids = NULL;
    size_t n_ids = 0;
    qw_status status = qw_engine_tokenize(x->engine, (qw_text){text, n}, &options, &ids, &n_ids, &x->error);

    x->out = (qw_text){(const char *)ids, n_ids * sizeof *ids};
    return (int32_t)status;
}

QWX int32_t qwx_check_format(qwx_engine *x, const char *format, size_t n)
{
    return (int32_t)qw_engine_check_format(x->engine, (qw_text){format, n}, &x->out, &x->error);
}

QWX int32_t qwx_detokenize(qwx_engine *x, const int32_t *ids, size_t n, int32_t skip_special)
{
    return (int32_t)qw_engine_detokenize(x->engine, ids, n, skip_special != 0, &x->out, &x->error);
}

QWX int32_t qwx_generate(qwx_engine *x, const int32_t *ids, const int32_t *lengths, int32_t n_rows,
                         const char *settings, size_t n_settings, const char *stops, size_t n_stops,
                         int32_t padding_width)
{
    qw_prompts prompts = {ids, lengths, n_rows};

    return (int32_t)qw_generate_begin(x->engine, &prompts, (qw_text){settings, n_settings}, (qw_text){stops, n_stops},
                                      padding_width, &x->error);
}

QWX int32_t qwx_prefill(qwx_engine *x, const int32_t *ids, int32_t n)
{
    return (int32_t)qw_prefill_begin(x->engine, ids, n, &x->error);
}

QWX int32_t qwx_forward(qwx_engine *x, const int32_t *ids, const int32_t *lengths, int32_t n_rows, const uint8_t *keep,
                        int32_t hidden)
{
    qw_prompts prompts = {ids, lengths, n_rows};

    return (int32_t)qw_forward_begin(x->engine, &prompts, keep, hidden != 0, &x->error);
}

/* qw_step_result, or minus the status of an error. */
QWX int32_t qwx_step(qwx_engine *x, int32_t max_tokens)
{
    qw_step_result result = QW_STEP_DONE;
    qw_status status = qw_step(x->engine, max_tokens, &result, &x->error);

    return status ? -(int32_t)status : (int32_t)result;
}

QWX int32_t qwx_events(qwx_engine *x)
{
    return (int32_t)qw_job_events(x->engine, &x->out, &x->error);
}

/* out: 8 doubles: address of the logits, of the hidden states (0: none), row, n, pos, n_hidden. */
QWX int32_t qwx_forward_output(qwx_engine *x, void *out)
{
    qw_forward_out f;
    double *d = out;

    qw_forward_output(x->engine, &f);
    d[0] = (double)(uintptr_t)f.logits;
    d[1] = (double)(uintptr_t)f.hidden;
    d[2] = f.row;
    d[3] = f.n;
    d[4] = f.pos;
    d[5] = f.n_hidden;
    return 0;
}

/* out: 8 doubles: address of the scores, of the ids, index, n_ids. 1 where there is an i-th waiting row, else 0. */
QWX int32_t qwx_scores(qwx_engine *x, int32_t i, void *out)
{
    qw_scores s;
    double *d = out;

    if (!qw_job_scores(x->engine, i, &s)) return 0;
    d[0] = (double)(uintptr_t)s.scores;
    d[1] = (double)(uintptr_t)s.ids;
    d[2] = s.index;
    d[3] = s.n_ids;
    return 1;
}

QWX int32_t qwx_end_row(qwx_engine *x, int32_t index, const char *finish_reason)
{
    return (int32_t)qw_job_end_row(x->engine, index, finish_reason, &x->error);
}

QWX int32_t qwx_result(qwx_engine *x)
{
    return (int32_t)qw_job_result(x->engine, &x->out, &x->error);
}

QWX void qwx_end(qwx_engine *x)
{
    qw_job_end(x->engine);
}

QWX int32_t qwx_selftest(qwx_engine *x)
{
    return (int32_t)qw_engine_selftest(x->engine, &x->out, &x->error);
}

QWX double qwx_trial(void)
{
    return qw_trial_seconds();
}
