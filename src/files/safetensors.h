/* SPDX-License-Identifier: MIT
 * The header of a safetensors file: 8 bytes of length, JSON, then the data, which the tensors must cover without overlap,
 * hole or rest. Format: https://huggingface.co/docs/safetensors/index#format */
#ifndef QW_SAFETENSORS_H
#define QW_SAFETENSORS_H

#include "base/status.h"
#include "model/tensors.h"

typedef struct qw_safetensors_source {
    qw_text head; /* the file's first bytes: 8, or the whole header */
    uint64_t file_bytes;
    int32_t file;     /* index that the tensors get */
    const char *name; /* of the file, for errors */
} qw_safetensors_source;

/* From the first 8 bytes: where the header ends. Error: format, before anything of that size is reserved. */
qw_status qw_safetensors_header_end(const qw_safetensors_source *source, uint64_t *end, qw_error *err);

/* Appends the tensors of a header that is all there. F32, F16 and BF16 get their qw_dtype, other types QW_DTYPE_OTHER.
 * Errors: format, memory. */
qw_status qw_safetensors_parse(const qw_safetensors_source *source, qw_tensors *tensors, qw_error *err);

#endif
