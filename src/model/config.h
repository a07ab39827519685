/* SPDX-License-Identifier: MIT
 * Hyperparameters of a Qwen2, read from either format and range-checked in one place. */
#ifndef QW_CONFIG_H
#define QW_CONFIG_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { QW_LAYERS_MAX = 512, QW_HEAD_DIM_MAX = 256 };

typedef struct qw_config {
    int32_t n_layer, dim, n_head, n_kv_head, head_dim, ffn_dim;
    int32_t n_vocab;     /* rows of the embedding and of the logits; may exceed the tokenizer's ids */
    int32_t n_ctx_train; /* the model's own limit of positions */
    float rms_eps;
    double rope_theta;
    bool yarn;
    double yarn_factor, yarn_beta_fast, yarn_beta_slow;
    double yarn_attention_factor; /* 0: 0.1 ln(factor) + 1 */
    int32_t yarn_original_ctx;
    bool yarn_truncate;          /* correction range rounded outwards (default) */
    int32_t sliding_window;      /* keys that a sliding layer sees, the query's own included; 0: none slides */
    bool sliding[QW_LAYERS_MAX]; /* by layer */
    bool tied;                   /* what the config says; the tensors present decide with it */
} qw_config;

/* Checks every field against its range and the fields against each other (n_head a multiple of n_kv_head, head_dim even
 * and <= 256, sizes > 0 ...). Error: model, naming field and values. */
qw_status qw_config_check(const qw_config *c, qw_error *err);

/* inv_freq [head_dim / 2] rounded to float32 as Transformers computes it, YaRN included; *scale multiplies cosine and sine.
 * Source: "RoFormer" (arXiv 2104.09864), "YaRN" (arXiv 2309.00071). */
void qw_config_inv_freq(const qw_config *c, float *inv_freq, float *scale);

#endif
