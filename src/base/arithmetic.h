/* SPDX-License-Identifier: MIT
 * Whole numbers: products and sums that say where they do not fit, and the smaller and the larger of two. Sizes that come
 * from files go through the checked ones. */
#ifndef QW_ARITHMETIC_H
#define QW_ARITHMETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* a * b into *product; false where it passes SIZE_MAX. */
static inline bool qw_mul(size_t a, size_t b, size_t *product)
{
    if (b && a > SIZE_MAX / b) return false;
    *product = a * b;
    return true;
}

/* a * b or a + b into *out; false where it passes 2^64 - 1. */
static inline bool qw_mul64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (b && a > UINT64_MAX / b) return false;
    *out = a * b;
    return true;
}

static inline bool qw_add64(uint64_t a, uint64_t b, uint64_t *out)
{
    if (a > UINT64_MAX - b) return false;
    *out = a + b;
    return true;
}

static inline int32_t qw_min(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

static inline int32_t qw_max(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

#endif
