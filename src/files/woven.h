/* SPDX-License-Identifier: MIT
 * Q4_0_4_4, Q4_0_4_8 and Q4_0_8_8 of files of 2024: Q4_0 with rows woven
 * together, block by block. */
#ifndef QW_WOVEN_H
#define QW_WOVEN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* A multiple of any weave's rows. */
enum { QW_WOVEN_ROWS = 8 };

typedef struct qw_weave {
    const char *name;
    int32_t rows;  /* woven together: 4 or 8 */
    int32_t bytes; /* of codes of a row at a time: 4 or 8 */
} qw_weave;

/* Of GGUF's type number; NULL where that is none of the three. */
const qw_weave *qw_weave_of(uint32_t number);

/* Turns n_rows rows of row_bytes each into rows of Q4_0, in place; n_rows is a
 * multiple of weave->rows. Errors: memory. */
qw_status qw_unweave(uint8_t *rows, const qw_weave *weave, int32_t n_rows, size_t row_bytes, qw_error *err);

#endif
