/* SPDX-License-Identifier: MIT
 * What is loaded: hyperparameters, weights bound once with every shape checked, tokenizer, and the texts that the file
 * brings. No look-up by name happens after loading. */
#ifndef QW_MODEL_H
#define QW_MODEL_H

#include "base/buf.h"
#include "kernels/dtype.h"
#include "model/config.h"
#include "model/weights.h"
#include "tokenizer/tokenizer.h"

enum { QW_EOS_MAX = 16 };

typedef struct qw_model {
    qw_config config;
    qw_weights weights;
    qw_tokenizer *tokenizer; /* NULL where the source has none (ids still work) */
    qw_buf name;
    qw_buf chat_template; /* empty: none */
    qw_buf templates;     /* further ones by name (as tool_use), as the members of a JSON object */
    qw_buf token_texts;   /* what templates find under bos_token and the like, as the members of a JSON object */
    qw_buf
        generation_config; /* the JSON text of generation_config.json, or what the GGUF's keys amount to; empty: none */
    int32_t eos[QW_EOS_MAX], n_eos;
    int32_t pad;                         /* -1: none */
    double n_parameters;                 /* elements of all tensors bound, a tied matrix once */
    double kept_bytes[QW_DTYPE_NUMBERS]; /* of weights in memory, by the type whose numbers they are; vectors: f32 */
    qw_buf notes;                        /* one remark a line: what was odd and could be lived with */
} qw_model;

/* Frees what the model holds and zeroes it; a zeroed model is a no-op. */
void qw_model_free(qw_model *m);

/* Appends a member to the members of a JSON object. Error: memory. */
qw_status qw_model_add_text(qw_buf *members, qw_text name, qw_text text, qw_error *err);

#endif
