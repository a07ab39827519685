/* SPDX-License-Identifier: MIT
 * The model: embedding, pre-norm layers of attention and SwiGLU, final norm, LM head. Prefill, decoding and batches are one
 * function over n tokens, each the next position of some row.
 * Source: "Qwen2 Technical Report" (arXiv 2407.10671). */
#ifndef QW_FORWARD_H
#define QW_FORWARD_H

#include "model/attention.h"
#include "kernels/matmul.h"
#include "model/model.h"

/* All that a pass needs beside weights and cache, planned once: a pass allocates nothing. */
typedef struct qw_scratch {
    int32_t max_tokens, max_logits;
    float *inv_freq, rope_scale;
    float *x, *h, *q, *k, *v, *att; /* [max_tokens][...] residual stream, normed input, heads */
    float *gate, *up;               /* [max_tokens][ffn_dim] */
    float *cos_sin;                 /* [max_tokens][head_dim / 2][2] */
    float *attention;               /* one region a thread */
    float *logits;                  /* [max_logits][n_vocab] */
    int32_t *row, *pos;             /* [max_tokens] of the tokens whose logits are wanted */
    int32_t *tiles;                 /* [max_tokens + 1] attention's */
    qw_activations acts;
} qw_scratch;

double qw_scratch_bytes(const qw_config *c, int32_t max_tokens, int32_t max_logits, int32_t threads);
/* Errors: memory. The caller's scratch is zero before and may be freed after any outcome. */
qw_status qw_scratch_init(qw_scratch *s, const qw_config *c, int32_t max_tokens, int32_t max_logits, int32_t threads,
                          qw_error *err);
void qw_scratch_free(qw_scratch *s);

/* One pass. Positions are reserved in the cache before; ids are in range. */
typedef struct qw_pass {
    const int32_t *ids;    /* [at.n] */
    qw_positions at;       /* tokens of a row stand together, positions ascending */
    const int32_t *wanted; /* [n_wanted] ascending indices of the tokens whose logits are wanted */
    int32_t n_wanted;
    float *hidden; /* [n_layer + 2][at.n][dim] embedding, after each layer, after the final norm; or NULL */
} qw_pass;

/* Takes the pass from layer `first` up to `last`: layer 0 begins with the embedding. Slices of one pass follow each other on
 * the same scratch, with no other pass between them. After layer n_layer the tokens' keys and values stand in the cache. */
void qw_forward(const qw_model *m, qw_scratch *s, qw_kv *kv, qw_pool *pool, const qw_pass *pass, int32_t first,
                int32_t last);

/* Of the pass that is through: logits [n][n_vocab] of its wanted tokens first .. first + n - 1 to s->logits, n <= max_logits. */
void qw_forward_logits(const qw_model *m, qw_scratch *s, qw_pool *pool, int32_t first, int32_t n);

#endif
