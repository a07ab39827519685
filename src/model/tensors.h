/* SPDX-License-Identifier: MIT
 * The directory of tensors that the files of a model hold, whatever their format: names, types, shapes and where the bytes
 * lie. Readers add to it, weights.h takes what a Qwen2 needs out of it. */
#ifndef QW_TENSORS_H
#define QW_TENSORS_H

#include "base/buf.h"
#include "kernels/dtype.h"

enum { QW_TENSORS_MAX = 1 << 16, QW_TENSOR_NAME_MAX = 1024 };

/* The type of a tensor that cannot be read; type_name says what the file calls it. */
#define QW_DTYPE_OTHER UINT32_MAX

typedef struct qw_tensor {
    size_t name_at, name_n; /* in the list's names */
    uint32_t type;          /* qw_dtype or QW_DTYPE_OTHER */
    uint32_t woven; /* 0, or the file's number of a type whose rows of q4_0 are woven together (files/woven.h) */
    char type_name[16];
    int32_t n_dims;
    uint64_t dims[4]; /* dims[0] is contiguous; 1 from n_dims on. Above 4 dimensions they are not kept. */
    int32_t file;
    uint64_t offset, bytes; /* in that file */
} qw_tensor;

typedef struct qw_tensors {
    qw_tensor *v;
    size_t n, cap;
    qw_buf names;
    uint32_t *by_name; /* indices ascending by name, after qw_tensors_check */
} qw_tensors;

/* Appends *t under that name. Errors: format (too many tensors, a name too long), memory. */
qw_status qw_tensors_add(qw_tensors *list, const qw_tensor *t, qw_text name, qw_error *err);
void qw_tensors_free(qw_tensors *list);

/* Borrowed until the next add. */
qw_text qw_tensors_name(const qw_tensors *list, size_t i);

/* Sorts by name. Errors: format (two tensors of one name, or on the same bytes of a file), memory. */
qw_status qw_tensors_check(qw_tensors *list, qw_error *err);

/* Index of the tensor of that name, or SIZE_MAX; after qw_tensors_check. */
size_t qw_tensors_find(const qw_tensors *list, qw_text name);

/* Whether every weight of n_bytes bytes of whole blocks is finite: float values, and the scales of quantised blocks. */
bool qw_tensor_finite(const uint8_t *bytes, size_t n_bytes, qw_dtype type);

#endif
