/* SPDX-License-Identifier: MIT
 * The weights of a Qwen2, by what they do in the forward pass. binding.h says which tensor of a file is which. */
#ifndef QW_WEIGHTS_H
#define QW_WEIGHTS_H

#include "kernels/panel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All matrices [out, in] as the file has them; vectors float32. */
typedef struct qw_layer {
    float *norm_attn, *norm_ffn; /* [dim] */
    float *bq, *bk, *bv;         /* [n_head * head_dim], [n_kv_head * head_dim] twice; NULL where the file has none */
    qw_mat wq, wk, wv;           /* [n_head or n_kv_head * head_dim, dim] */
    qw_mat wo;                   /* [dim, n_head * head_dim] */
    qw_mat w_gate, w_up;         /* [ffn_dim, dim] */
    qw_mat w_down;               /* [dim, ffn_dim] */
} qw_layer;

typedef struct qw_weights {
    qw_mat embed; /* [n_vocab, dim] */
    qw_mat head;  /* [n_vocab, dim]; the same data as embed where tied */
    bool head_is_embed;
    float *norm_out; /* [dim] */
    qw_layer *layer; /* [n_layer] */
    size_t bytes;    /* of everything above */
} qw_weights;

/* Frees all weights and zeroes w; n_layer as when the layer table was made. A zeroed w is a no-op. */
void qw_weights_free(qw_weights *w, int32_t n_layer);

#endif
