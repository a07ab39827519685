/* SPDX-License-Identifier: MIT
 * The header of a GGUF file, version 2 or 3: metadata by key and the directory of tensors. Format:
 * https://github.com/ggml-org/ggml/blob/master/docs/gguf.md */
#ifndef QW_GGUF_H
#define QW_GGUF_H

#include "base/status.h"
#include "model/tensors.h"

typedef enum qw_gguf_type {
    QW_GGUF_U8,
    QW_GGUF_I8,
    QW_GGUF_U16,
    QW_GGUF_I16,
    QW_GGUF_U32,
    QW_GGUF_I32,
    QW_GGUF_F32,
    QW_GGUF_BOOL,
    QW_GGUF_STRING,
    QW_GGUF_ARRAY,
    QW_GGUF_U64,
    QW_GGUF_I64,
    QW_GGUF_F64,
} qw_gguf_type;

typedef struct qw_gguf_value {
    qw_text key;
    uint32_t type;
    uint32_t item_type;   /* of an array */
    uint64_t n;           /* items of an array, bytes of a string */
    const uint8_t *bytes; /* the first item, or the value */
    size_t n_bytes;
} qw_gguf_value;

/* Everything is borrowed from the bytes that were parsed. */
typedef struct qw_gguf {
    qw_gguf_value *values;
    size_t n_values;
    uint32_t version, alignment;
    uint64_t n_tensors;
    uint64_t data_start; /* offset of the tensors' data in the file */
} qw_gguf;

/* The file's first bytes, and what is known of the whole. */
typedef struct qw_gguf_source {
    qw_text head;
    uint64_t file_bytes;
    int32_t file;     /* index that the tensors get */
    const char *name; /* of the file, for errors */
} qw_gguf_source;

/* Parses what is there. Where the header goes on, *need is a number of bytes (more than there are) to come back with, and g and
 * tensors are as before; else *need is 0 and the tensors are appended. Counts and lengths are checked against the file's
 * size at once. Errors: format, model (a tensor type that cannot be read), memory. */
qw_status qw_gguf_parse(qw_gguf *g, const qw_gguf_source *source, qw_tensors *tensors, uint64_t *need, qw_error *err);
void qw_gguf_free(qw_gguf *g);

/* The value of that key or NULL. */
const qw_gguf_value *qw_gguf_find(const qw_gguf *g, const char *key);

#endif
