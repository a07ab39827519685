/* SPDX-License-Identifier: MIT
 * What a GGUF header says about a Qwen2: hyperparameters, tokenizer, end tokens and texts. */
#ifndef QW_GGUF_MODEL_H
#define QW_GGUF_MODEL_H

#include "files/gguf.h"
#include "model/model.h"

/* Fills m's config (all but n_vocab), tokenizer, name, chat template, eos, pad and notes. Errors: model (another architecture,
 * a missing key, a kind of RoPE that is not supported, another tokenizer), format (a key's type), memory. */
qw_status qw_gguf_read_model(qw_model *m, const qw_gguf *g, qw_error *err);

/* The place of a file in a set of shards as its keys say: 0 of 1 with -1 tensors where they are absent. */
typedef struct qw_gguf_split {
    int64_t no, count, n_tensors;
} qw_gguf_split;

qw_status qw_gguf_read_split(qw_gguf_split *split, const qw_gguf *g, qw_error *err);

#endif
