/* SPDX-License-Identifier: MIT
 * The dialogue: files are opened one after the other, of each as much is read as its header takes, then tensor data
 * follows in the order of the files. Nothing is looked at before a want is answered in full, so how the bytes are chopped
 * cannot matter. */
#include "files/loader.h"

#include "base/alloc.h"
#include "files/load_bind.h"
#include "files/load_files.h"
#include "files/load_headers.h"
#include "files/load_weights.h"

#include <string.h>

static const double bytes_max = 9007199254740992.0; /* offsets cross the boundary as doubles */

qw_status qw_loader_new(qw_loader **out, const qw_load_options *options, qw_text main_name, qw_error *err)
{
    qw_loader *l = qw_calloc(1, sizeof *l);
    qw_status status;

    *out = NULL;
    if (!l) return qw_fail_memory(err, "the loader", (double)sizeof *l);
    l->quantize = options->quantize;
    l->headers_only = options->headers_only;
    l->set.count = 1;
    status = qw_load_ask_main(l, main_name, err);
    if (status) qw_loader_free(l);
    else *out = l;
    return status;
}

void qw_loader_free(qw_loader *l)
{
    if (!l) return;
    for (size_t i = 0; i < l->n_sources; i++) {
        qw_buf_free(&l->sources[i].name);
        qw_buf_free(&l->sources[i].head);
    }
    qw_free(l->sources);
    qw_free(l->stage);
    qw_gguf_set_free(&l->set);
    qw_hf_free(&l->hf);
    qw_tensors_free(&l->tensors);
    qw_binding_free(&l->binding);
    qw_model_free(&l->model);
    qw_free(l);
}

void qw_loader_use(qw_loader *l, qw_pool *pool)
{
    l->pool = pool;
}

static void want_weights(const qw_loader *l, qw_want *want)
{
    const qw_placed *p = &l->binding.v[l->item];
    const qw_source *s = &l->sources[p->file];

    want->kind = QW_WANT_READ;
    want->weights = true;
    want->name = s->name.bytes;
    want->file = s->index;
    want->offset = p->offset + (uint64_t)l->row * p->row_bytes + l->filled;
    want->bytes = l->piece_bytes - l->filled;
    want->dst = l->stage + l->filled;
}

void qw_loader_want(const qw_loader *l, qw_want *want)
{
    const qw_source *s;

    *want = (qw_want){.kind = QW_WANT_NOTHING};
    if (l->phase == QW_LOAD_WEIGHTS) want_weights(l, want);
    if (l->phase != QW_LOAD_HEADERS) return;
    s = &l->sources[l->current];
    want->name = s->name.bytes;
    want->optional = s->optional;
    want->kind = s->open ? QW_WANT_READ : QW_WANT_OPEN;
    if (!s->open) return;
    want->file = s->index;
    want->offset = s->head.n;
    want->bytes = l->piece_end - s->head.n;
    want->dst = (uint8_t *)s->head.bytes + s->head.n;
}

/* Room for the next piece of the head; the block grows by half, so that a long header is not copied often. */
static qw_status reserve_piece(qw_loader *l, qw_source *s, qw_error *err)
{
    uint64_t missing = s->goal - s->head.n;
    size_t piece = missing < QW_PIECE_BYTES ? (size_t)missing : QW_PIECE_BYTES;
    uint64_t cap = s->head.n + (s->head.n / 2 < QW_PIECE_BYTES ? QW_PIECE_BYTES : s->head.n / 2);
    double peak;

    l->piece_end = s->head.n + piece;
    if (l->piece_end <= s->head.cap) return QW_OK;
    cap = cap > s->goal ? s->goal : cap;
    {
        char *larger = qw_realloc(s->head.bytes, (size_t)cap, 1);
        if (!larger) return qw_fail_memory(err, s->name.bytes, (double)cap);
        s->outgrown += (double)s->head.cap;
        s->head.bytes = larger;
        s->head.cap = (size_t)cap;
    }
    /* A block may fit into none of the places of those before it. */
    peak = (double)cap + (s->outgrown > (double)cap ? s->outgrown : (double)cap);
    if (peak > l->header_peak) l->header_peak = peak;
    return QW_OK;
}

static qw_status end_headers(qw_loader *l, qw_error *err)
{
    QW_TRY(qw_load_bind(l, err));
    qw_load_weights_measure(l);
    l->phase = l->headers_only ? QW_LOAD_DONE : QW_LOAD_WEIGHTS;
    return l->headers_only ? QW_OK : qw_load_weights_begin(l, err);
}

/* Goes on with the headers until something is wanted. */
static qw_status go_on(qw_loader *l, qw_error *err)
{
    while (l->current < l->n_sources) {
        size_t i = l->current; /* looking may ask for more files, which moves the array */
        bool done = false;
        if (!l->sources[i].open) return QW_OK;
        if (l->sources[i].head.n < l->sources[i].goal) return reserve_piece(l, &l->sources[i], err);
        QW_TRY(qw_load_look(l, &l->sources[i], &done, err));
        if (done) l->current++;
    }
    return end_headers(l, err);
}

static qw_status open_current(qw_loader *l, int64_t bytes, qw_error *err)
{
    qw_source *s = &l->sources[l->current];

    if (bytes < 0 && !s->optional)
        return qw_fail(err, QW_ERR_FORMAT, "%s: the file is missing, the model needs it", s->name.bytes);
    if (bytes < 0) {
        QW_TRY(qw_load_absent(l, s, err));
        l->current++;
        return go_on(l, err);
    }
    if ((double)bytes > bytes_max)
        return qw_fail(err, QW_ERR_USAGE, "%s: no file has %lld bytes", s->name.bytes, (long long)bytes);
    s->open = true;
    s->bytes = (uint64_t)bytes;
    s->index = l->n_open++;
    QW_TRY(qw_load_begin(s, err));
    return go_on(l, err);
}

qw_status qw_loader_opened(qw_loader *l, int64_t bytes, qw_error *err)
{
    qw_want want;
    qw_status status;

    qw_loader_want(l, &want);
    if (want.kind != QW_WANT_OPEN) return qw_fail(err, QW_ERR_USAGE, "no file is wanted to be opened");
    status = open_current(l, bytes, err);
    if (status) l->phase = QW_LOAD_FAILED;
    return status;
}

qw_status qw_loader_feed(qw_loader *l, size_t n, qw_error *err)
{
    qw_want want;
    qw_status status = QW_OK;

    qw_loader_want(l, &want);
    if (want.kind != QW_WANT_READ || n < 1 || n > want.bytes)
        return qw_fail(err, QW_ERR_USAGE, "%zu bytes were fed, 1 to %zu are wanted", n, want.bytes);
    l->fed += (double)n;
    if (want.weights) {
        status = qw_load_weights_feed(l, n, err);
    } else {
        qw_source *s = &l->sources[l->current];
        s->head.n += n;
        if (s->head.n == l->piece_end) status = go_on(l, err);
    }
    if (status) l->phase = QW_LOAD_FAILED;
    return status;
}

double qw_loader_file_bytes(const qw_loader *l)
{
    double sum = 0;

    for (size_t i = 0; i < l->n_sources; i++) sum += l->sources[i].open ? (double)l->sources[i].bytes : 0;
    return sum;
}

double qw_loader_read_bytes(const qw_loader *l)
{
    double headers = l->fed;

    return headers + l->weights_to_read;
}

double qw_loader_weight_bytes(const qw_loader *l)
{
    return (double)l->model.weights.bytes;
}

/* With the weights: the stage, the heads' rests, the binding, and what the allocator adds to each weight. Headers are gone
 * by then, so they count only where they are larger than the weights. */
double qw_loader_stage_bytes(const qw_loader *l)
{
    double bytes = (double)l->stage_bytes + (double)l->binding.n * (sizeof(qw_placed) + 160) + sizeof *l + 65536;
    double excess = l->header_peak - qw_loader_weight_bytes(l);

    for (size_t i = 0; i < l->n_sources; i++)
        bytes += (double)l->sources[i].head.cap + (double)l->sources[i].name.cap + 2 * sizeof(qw_source);
    return bytes + (excess > 0 ? excess : 0);
}

const qw_model *qw_loader_model(const qw_loader *l)
{
    return &l->model;
}

qw_status qw_loader_take(qw_loader *l, qw_model *out, qw_error *err)
{
    if (l->phase != QW_LOAD_DONE || l->headers_only)
        return qw_fail(err, QW_ERR_INTERNAL, "the model was taken before it was loaded");
    *out = l->model;
    l->model = (qw_model){0};
    l->phase = QW_LOAD_FAILED; /* there is nothing to take twice */
    return QW_OK;
}
