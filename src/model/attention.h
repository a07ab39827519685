/* SPDX-License-Identifier: MIT
 * Grouped-query attention over the KV cache: softmax(q K^T / sqrt(head_dim)) V, a page of 32 keys at a time with a running
 * maximum and sum ("Online normalizer calculation for softmax", arXiv 1805.02867). Pages are counted from the row's
 * position 0, so a query's arithmetic is the same whatever the chunk, batch or thread that computes it. */
#ifndef QW_ATTENTION_H
#define QW_ATTENTION_H

#include "base/pool.h"
#include "model/kv.h"

/* Tokens of a pass: token i is position pos[i] of KV row row[i]; tokens of one row stand together in ascending order. */
typedef struct qw_positions {
    const int32_t *row, *pos;
    int32_t n;
} qw_positions;

/* Scratch of one thread, in floats. */
size_t qw_attention_scratch(const qw_config *c);

/* out, q [n][n_head][head_dim]. window: keys that a query sees, its own included; 0: all. scratch: one region of
 * qw_attention_scratch floats for each thread of the pool, side by side. tiles: [tokens.n + 1] scratch too. */
typedef struct qw_attention_call {
    const qw_config *config;
    const qw_kv *kv;
    qw_positions tokens;
    const float *q;
    float *out, *scratch;
    int32_t *tiles;
    int32_t layer, window;
} qw_attention_call;
void qw_attention(qw_pool *pool, const qw_attention_call *call);

#endif
