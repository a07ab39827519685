/* SPDX-License-Identifier: MIT
 * What a GGUF header says about a Qwen2: hyperparameters, tokenizer, end tokens and texts. */
#ifndef QW_GGUF_MODEL_H
#define QW_GGUF_MODEL_H

#include "files/gguf.h"
#include "model/model.h"

/* Fills m's config (all but n_vocab), tokenizer, name, chat template, eos, pad and notes. Errors: model (another architecture,
 * a missing key, a kind of RoPE that is not supported, another tokenizer), format (a key's type), memory. */
qw_status qw_gguf_read_model(qw_model *m, const qw_gguf *g, qw_error *err);

#endif
