/* SPDX-License-Identifier: MIT
 * The end of the weights. */
#include "model/weights.h"

#include "base/alloc.h"

void qw_weights_free(qw_weights *w, int32_t n_layer)
{
    for (int32_t l = 0; w->layer && l < n_layer; l++) {
        qw_layer *layer = &w->layer[l];
        void *blocks[] = {layer->norm_attn, layer->norm_ffn,    layer->bq,        layer->bk,
                          layer->bv,        layer->wq.data,     layer->wk.data,   layer->wv.data,
                          layer->wo.data,   layer->w_gate.data, layer->w_up.data, layer->w_down.data};
        for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) qw_free(blocks[i]);
    }
    qw_free(w->layer);
    if (!w->head_is_embed) qw_free(w->head.data);
    qw_free(w->embed.data);
    qw_free(w->norm_out);
    *w = (qw_weights){0};
}
