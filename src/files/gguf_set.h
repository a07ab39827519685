/* SPDX-License-Identifier: MIT
 * A model in several GGUF files: the first has all metadata, each says which part of how many it is. Files of another set
 * that have got among them are told apart by what they say of themselves. */
#ifndef QW_GGUF_SET_H
#define QW_GGUF_SET_H

#include "files/gguf.h"

/* A key of the first file, by hashes of its name and of its value. */
typedef struct qw_gguf_mark {
    uint64_t key, value;
} qw_gguf_mark;

/* Zero-initialise but for count; qw_gguf_set_free. */
typedef struct qw_gguf_set {
    int64_t count;     /* of files; 1: an ordinary file */
    int64_t n_tensors; /* that all files have together, -1: they do not say */
    qw_gguf_mark *marks;
    size_t n_marks;
} qw_gguf_set;

/* Checks the header of file `no` (0 for the first, which comes first): its split.no and split.count, and of those that follow
 * that split.tensors.count and every key that the first has too say the same as there. Errors: format, naming file and
 * key; memory. */
qw_status qw_gguf_set_check(qw_gguf_set *set, const qw_gguf *g, int64_t no, const char *name, qw_error *err);

void qw_gguf_set_free(qw_gguf_set *set);

#endif
