/* SPDX-License-Identifier: MIT
 * The loader's inside, shared by its three files: loader.c (the dialogue), load_headers.c (what each file says and which
 * files follow from it), load_weights.c (tensor data). */
#ifndef QW_LOADER_STATE_H
#define QW_LOADER_STATE_H

#include "files/gguf_model.h"
#include "files/hf.h"
#include "files/loader.h"
#include "model/weights.h"

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

struct qw_loader {
    qw_load_options options;
    qw_pool *pool; /* or NULL */
    qw_load_phase phase;
    qw_source *sources;
    size_t n_sources, cap_sources, current;
    int32_t n_open;
    size_t folder_n;       /* bytes of the main name up to its last slash */
    int64_t n_shards;      /* of a GGUF set; 1: an ordinary file */
    int64_t split_tensors; /* that the set says it has, -1: it does not */
    size_t piece_end;      /* header phase: head.n at which the want is answered */
    qw_model model;
    qw_hf hf;
    qw_tensors tensors;
    qw_binding binding;
    uint8_t *stage; /* rows of the piece being read */
    size_t stage_bytes, piece_bytes, filled;
    size_t item; /* of the binding */
    int32_t row, piece_rows;
    double fed, weights_to_read, header_peak;
};

/* Asks for a file after those asked for so far; name is relative to the main file's folder. */
qw_status qw_load_ask(qw_loader *l, qw_source_kind kind, const char *name, bool optional, qw_error *err);

/* The main file's kind by its name, and for a shard of a GGUF set all its siblings: the first asks. */
qw_status qw_load_ask_main(qw_loader *l, qw_text name, qw_error *err);

/* The current file is open: sets its first goal. */
qw_status qw_load_begin(qw_loader *l, qw_source *s, qw_error *err);

/* The goal is reached: looks at the bytes; *done or a higher goal. May ask for more files. */
qw_status qw_load_look(qw_loader *l, qw_source *s, bool *done, qw_error *err);

/* An optional file is not there, or is not what it should be. */
qw_status qw_load_absent(qw_loader *l, qw_source *s, qw_error *err);

/* All headers are in: binds the weights and checks what spans files. */
qw_status qw_load_bind(qw_loader *l, qw_error *err);

/* Allocates weights and stage, and begins the first piece. */
qw_status qw_load_weights_begin(qw_loader *l, qw_error *err);

/* The piece has grown by n bytes. */
qw_status qw_load_weights_feed(qw_loader *l, size_t n, qw_error *err);

/* Bytes of stage that the binding asks for, and of weights that are not in the heads already. */
void qw_load_weights_measure(qw_loader *l);

#endif
