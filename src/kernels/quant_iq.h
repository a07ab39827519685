/* SPDX-License-Identifier: MIT
 * The blocks of the IQ types. A weight is d * scale * level, exactly and in any order, level one of at most 16 integers;
 * what the format divides by (4 or 8) is taken into d. */
#ifndef QW_QUANT_IQ_H
#define QW_QUANT_IQ_H

#include "kernels/codes.h"
#include "kernels/dtype.h"

/* The 16 levels of a type of QW_LEVEL_DTYPES, [QW_LEVELS]; those that it does not use are zeros. */
const int8_t *qw_levels_of(qw_dtype type);

/* Any bytes are a valid block. type is of QW_LEVEL_DTYPES; out gets d, q (0..15) and scale. */
void qw_levels_decode(qw_codes *out, const uint8_t *block, qw_dtype type);

#endif
