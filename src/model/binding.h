/* SPDX-License-Identifier: MIT
 * From the directory of tensors to a model's weights: every tensor that a Qwen2 needs is found by name once, its shape
 * checked against the hyperparameters, and given its place; then rows are packed into it as they arrive. */
#ifndef QW_BINDING_H
#define QW_BINDING_H

#include "model/model.h"
#include "base/pool.h"
#include "model/tensors.h"

/* A tensor of a file and where its weights go. */
typedef struct qw_placed {
    int32_t slot; /* which weight, for qw_binding_name */
    int32_t file;
    uint64_t offset;  /* of the first row in the file */
    size_t row_bytes; /* in the file */
    qw_dtype type;
    uint32_t woven;     /* qw_tensor.woven */
    int32_t rows, cols; /* a vector is one row */
    qw_mat *mat;        /* one of the two; its data, or the vector, is allocated by qw_binding_alloc */
    float **vector;
} qw_placed;

/* In ascending order of file and offset. */
typedef struct qw_binding {
    qw_placed *v;
    size_t n;
    bool hf; /* names as in Hugging Face checkpoints, else as in GGUF */
} qw_binding;

typedef struct qw_bind_options {
    qw_quantize quantize; /* of F32, F16 and BF16 matrices; q4_0 leaves embedding and head at q8_0 */
    bool hf;
} qw_bind_options;

/* Fills m->weights (layer table, layouts and shapes, no data yet), config.n_vocab and tied, n_parameters, kept_bytes and
 * weights.bytes, and *out, the caller's. m->config must hold the other sizes. Which head is used: a separate one where the
 * files have it; else the embedding where the model is tied. Tensors that are not needed are ignored with a note.
 * Errors: model (missing tensor, wrong shape, a type that cannot be read), memory (also for a matrix above 2 GiB). */
qw_status qw_binding_make(qw_model *m, qw_binding *out, const qw_tensors *list, const qw_bind_options *options,
                          qw_error *err);
void qw_binding_free(qw_binding *b);

/* Allocates all weights. Error: memory, naming the tensor; what was allocated is freed with the model. */
qw_status qw_binding_alloc(qw_weights *w, const qw_binding *b, qw_error *err);

/* Rows of a tensor as the file holds them: n from row `first` on (a multiple of 4, as n is unless it ends the tensor). */
typedef struct qw_piece {
    const qw_placed *placed;
    const uint8_t *src;
    int32_t first, n;
} qw_piece;

/* Packs a piece, over the pool where there is one. Error: model where a weight is not finite. */
qw_status qw_binding_put(const qw_binding *b, const qw_piece *piece, qw_pool *pool, qw_error *err);

/* The name that the tensor has in its file; dst holds 96 bytes; the result is dst. */
const char *qw_binding_name(char dst[96], int32_t slot, bool hf);

#endif
