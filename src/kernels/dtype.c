/* SPDX-License-Identifier: MIT
 * The table of element types, and the widening of 16-bit floats one by one (simd.h has the same for four). */
#include "kernels/dtype.h"

#include "base/assert.h"
#include "base/simd.h"

typedef struct entry {
    const char *name;
    int16_t block;
    uint8_t bytes, scales_at, n_scales;
} entry;

#define FLOAT_ENTRY(NAME, name, number, LAYOUT, block, bytes) [number] = {#name, block, bytes, 0, 0},
#define QUANT_ENTRY(NAME, name, number, LAYOUT, block, bytes, at, n) [number] = {#name, block, bytes, at, n},
static const entry table[] = {QW_FLOAT_DTYPES(FLOAT_ENTRY) QW_QUANT_DTYPES(QUANT_ENTRY)};

_Static_assert(sizeof table / sizeof *table == QW_DTYPE_NUMBERS, "QW_DTYPE_NUMBERS");

#define HAS_WHOLE_BLOCKS(NAME, name, number, LAYOUT, block, bytes, at, n)                                              \
    _Static_assert((block == 32 || block == 256) && at + 2 * n <= bytes, #NAME);
QW_QUANT_DTYPES(HAS_WHOLE_BLOCKS)

bool qw_dtype_known(uint32_t number)
{
    return number < sizeof table / sizeof *table && table[number].name;
}

static const entry *entry_of(qw_dtype type)
{
    QW_ASSERT(qw_dtype_known(type));
    return &table[type];
}

const char *qw_dtype_name(uint32_t number)
{
    return qw_dtype_known(number) ? table[number].name : NULL;
}

int32_t qw_dtype_block(qw_dtype type)
{
    return entry_of(type)->block;
}

size_t qw_dtype_block_bytes(qw_dtype type)
{
    return entry_of(type)->bytes;
}

size_t qw_dtype_scales(qw_dtype type, size_t *n)
{
    *n = entry_of(type)->n_scales;
    return entry_of(type)->scales_at;
}

size_t qw_dtype_row_bytes(qw_dtype type, int64_t cols)
{
    return (size_t)(cols / qw_dtype_block(type)) * qw_dtype_block_bytes(type);
}

float qw_f16_to_f32(uint16_t bits)
{
    return qw_f32x4_lane(qw_f32x4_from_f16(qw_i32x4_splat(bits)), 0);
}

float qw_bf16_to_f32(uint16_t bits)
{
    return qw_f32_from_bits((uint32_t)bits << 16);
}

uint16_t qw_f32_to_f16(float x)
{
    return (uint16_t)qw_i32x4_lane(qw_u32x4_to_f16(qw_f32x4_splat(x)), 0);
}
