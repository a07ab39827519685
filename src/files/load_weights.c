/* SPDX-License-Identifier: MIT
 * A piece is whole panels of a matrix, at most 1 MiB unless one panel is more, or a whole vector.
 * Data that came along with a header is taken from there first. */
#include "files/load_weights.h"

#include "base/alloc.h"
#include "files/woven.h"

#include <string.h>

static int32_t rows_at_once(const qw_placed *p)
{
    size_t panels = QW_PIECE_BYTES / (QW_PANEL_ROWS * p->row_bytes);
    int32_t rows = panels < 1 ? QW_PANEL_ROWS : (int32_t)panels * QW_PANEL_ROWS;

    if (p->woven) rows = (rows + QW_WOVEN_ROWS - 1) / QW_WOVEN_ROWS * QW_WOVEN_ROWS;
    return rows < p->rows ? rows : p->rows;
}

/* How many of n bytes from that offset on lie in the source's head. */
static size_t held(const qw_source *s, uint64_t offset, uint64_t n)
{
    uint64_t end = s->head_at + s->head.n;

    if (offset < s->head_at || offset >= end) return 0;
    return (size_t)(end - offset < n ? end - offset : n);
}

void qw_load_weights_measure(qw_loader *l)
{
    l->weights_to_read = 0;
    l->stage_bytes = 0;
    for (size_t i = 0; i < l->binding.n; i++) {
        const qw_placed *p = &l->binding.v[i];
        size_t piece = (size_t)rows_at_once(p) * p->row_bytes;
        uint64_t all = (uint64_t)p->rows * p->row_bytes; /* of float32 it may pass 4 GiB where the kept one does not */
        if (piece > l->stage_bytes) l->stage_bytes = piece;
        l->weights_to_read += (double)all - (double)held(&l->sources[p->file], p->offset, all);
    }
}

static void begin_piece(qw_loader *l)
{
    const qw_placed *p = &l->binding.v[l->item];
    const qw_source *s = &l->sources[p->file];
    uint64_t offset = p->offset + (uint64_t)l->row * p->row_bytes;
    int32_t rows = rows_at_once(p);

    l->piece_rows = rows < p->rows - l->row ? rows : p->rows - l->row;
    l->piece_bytes = (size_t)l->piece_rows * p->row_bytes;
    l->filled = held(s, offset, l->piece_bytes);
    if (l->filled) memcpy(l->stage, s->head.bytes + (offset - s->head_at), l->filled);
}

static void end_weights(qw_loader *l)
{
    qw_free(l->stage);
    l->stage = NULL;
    qw_binding_free(&l->binding);
    for (size_t i = 0; i < l->n_sources; i++) qw_buf_free(&l->sources[i].head);
    l->phase = QW_LOAD_DONE;
}

/* Packs pieces that are whole until one is not. */
static qw_status go_on(qw_loader *l, qw_error *err)
{
    while (l->filled == l->piece_bytes) {
        const qw_placed *p = &l->binding.v[l->item];
        qw_piece piece = {p, l->stage, l->row, l->piece_rows};
        if (p->woven) QW_TRY(qw_unweave(l->stage, qw_weave_of(p->woven), l->piece_rows, p->row_bytes, err));
        QW_TRY(qw_binding_put(&l->binding, &piece, l->pool, err));
        l->row += l->piece_rows;
        if (l->row == p->rows) {
            l->row = 0;
            l->item++;
        }
        if (l->item == l->binding.n) {
            end_weights(l);
            return QW_OK;
        }
        begin_piece(l);
    }
    return QW_OK;
}

qw_status qw_load_weights_begin(qw_loader *l, qw_error *err)
{
    l->stage = qw_alloc_aligned(l->stage_bytes, 1);
    if (!l->stage) return qw_fail_memory(err, "the loader's stage", (double)l->stage_bytes);
    QW_TRY(qw_binding_alloc(&l->model.weights, &l->binding, err));
    begin_piece(l);
    return go_on(l, err);
}

qw_status qw_load_weights_feed(qw_loader *l, size_t n, qw_error *err)
{
    l->weights_to_read -= (double)n;
    l->filled += n;
    return go_on(l, err);
}
