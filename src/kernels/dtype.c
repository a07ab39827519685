/* SPDX-License-Identifier: MIT
 * The table of element types, and the widening of 16-bit floats one by one (simd.h has the same for four). */
#include "kernels/dtype.h"

#include "base/simd.h"

typedef struct entry {
    const char *name;
    int32_t block;
    size_t bytes;
} entry;

static const entry table[] = {
    [QW_F32] = {"f32", 1, 4},       [QW_F16] = {"f16", 1, 2},       [QW_Q4_0] = {"q4_0", 32, 18},
    [QW_Q4_1] = {"q4_1", 32, 20},   [QW_Q5_0] = {"q5_0", 32, 22},   [QW_Q5_1] = {"q5_1", 32, 24},
    [QW_Q8_0] = {"q8_0", 32, 34},   [QW_Q2_K] = {"q2_k", 256, 84},  [QW_Q3_K] = {"q3_k", 256, 110},
    [QW_Q4_K] = {"q4_k", 256, 144}, [QW_Q5_K] = {"q5_k", 256, 176}, [QW_Q6_K] = {"q6_k", 256, 210},
    [QW_BF16] = {"bf16", 1, 2},
};

bool qw_dtype_known(uint32_t number)
{
    return number < sizeof table / sizeof *table && table[number].name;
}

const char *qw_dtype_name(uint32_t number)
{
    return qw_dtype_known(number) ? table[number].name : NULL;
}

int32_t qw_dtype_block(qw_dtype type)
{
    return table[type].block;
}

size_t qw_dtype_block_bytes(qw_dtype type)
{
    return table[type].bytes;
}

size_t qw_dtype_row_bytes(qw_dtype type, int64_t cols)
{
    return (size_t)(cols / table[type].block) * table[type].bytes;
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
