/* SPDX-License-Identifier: MIT
 * A quantised block of a file, taken apart. */
#ifndef QW_CODES_H
#define QW_CODES_H

#include <stdint.h>

/* A block of 32 or 256 weights. With the offset of the layout in which the type is kept, and a group of 16 where that has
 * halves, else of 32, weight i is
 *     d * scale[i / group] * (q[i] - offset) + minimum,   minimum = dmin * min[i / group] where the type has one,
 * in float32 and in this order: (d * scale) * (q - offset), which is exact, then the addition. Types without
 * sub-scales have scale = min = 1. dmin carries its sign: K-quants take their minimum away, q4_1 and q5_1 add it. In
 * types with levels q numbers one of these, which stands for q - offset. */
typedef struct qw_codes {
    float d, dmin;
    int8_t q[256]; /* 0..2^bits - 1; q8_0: -128..127 */
    int8_t scale[16], min[16];
} qw_codes;

#endif
