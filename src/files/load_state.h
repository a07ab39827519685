/* SPDX-License-Identifier: MIT
 * What a loader knows, shared by the steps of loading: load_files.h (which files there are), load_headers.h (what each says),
 * load_bind.h (names to weights), load_weights.h (tensor data). loader.h is the dialogue above them. */
#ifndef QW_LOAD_STATE_H
#define QW_LOAD_STATE_H

#include "files/gguf_set.h"
#include "files/hf.h"
#include "model/binding.h"

enum { QW_PIECE_BYTES = 1 << 20 };

typedef enum qw_source_kind {
    QW_SOURCE_UNKNOWN, /* told apart by its first bytes */
    QW_SOURCE_GGUF,
    QW_SOURCE_SAFETENSORS,
    QW_SOURCE_CONFIG,
    QW_SOURCE_GENERATION_CONFIG,
    QW_SOURCE_TOKENIZER,
    QW_SOURCE_TOKENIZER_CONFIG,
    QW_SOURCE_CHAT_TEMPLATE,
    QW_SOURCE_INDEX,
} qw_source_kind;

/* A file that is asked for, in the order of asking. */
typedef struct qw_source {
    qw_buf name; /* ends in NUL */
    qw_source_kind kind;
    bool optional, open;
    int32_t index; /* among the files that exist */
    uint64_t bytes;
    uint64_t goal;    /* head.n wanted before the file is looked at (again) */
    qw_buf head;      /* the file's first bytes while its header is read; then those of them that are tensor data */
    uint64_t head_at; /* offset of head in the file */
    double outgrown;  /* bytes of the blocks that head had before */
} qw_source;

typedef enum qw_load_phase { QW_LOAD_HEADERS, QW_LOAD_WEIGHTS, QW_LOAD_DONE, QW_LOAD_FAILED } qw_load_phase;

typedef struct qw_loader {
    qw_quantize quantize; /* of float matrices */
    bool headers_only;    /* stop before the first weight byte */
    qw_pool *pool;        /* or NULL */
    qw_load_phase phase;
    qw_source *sources;
    size_t n_sources, cap_sources, current;
    int32_t n_open;
    size_t folder_n; /* bytes of the main name up to its last slash */
    qw_gguf_set set;
    size_t piece_end; /* header phase: head.n at which the want is answered */
    qw_model model;
    qw_hf hf;
    qw_tensors tensors;
    qw_binding binding;
    uint8_t *stage; /* rows of the piece being read */
    size_t stage_bytes, piece_bytes, filled;
    size_t item; /* of the binding */
    int32_t row, piece_rows;
    double fed, weights_to_read, header_peak;
} qw_loader;

#endif
