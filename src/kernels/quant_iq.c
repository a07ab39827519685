/* SPDX-License-Identifier: MIT
 * Eight or four weights share an index into a grid, whose entry has a digit for each; the codes that are kept are digits
 * with a fourth bit on top: the sign, in IQ1 the half of the table. */
#include "kernels/quant_iq.h"

#include "base/assert.h"

#include <stddef.h>

#include "kernels/iq_grids.inc"

enum { NEGATIVE = 8 };

static const int8_t IQ4[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const int8_t IQ3_S[16] = {1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15};
static const int8_t IQ3_XXS[16] = {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62};
static const int8_t IQ2[16] = {8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43};
static const int8_t IQ1[16] = {-7, 1, 9, 0, 0, 0, 0, 0, -9, -1, 7}; /* 8 times -1, 0, 1, plus 1 or minus 1 */

const int8_t *qw_levels_of(qw_dtype type)
{
    if (type == QW_IQ4_NL || type == QW_IQ4_XS) return IQ4;
    if (type == QW_IQ3_S) return IQ3_S;
    if (type == QW_IQ3_XXS) return IQ3_XXS;
    return type == QW_IQ1_S || type == QW_IQ1_M ? IQ1 : IQ2;
}

static unsigned u16(const uint8_t *p)
{
    return (unsigned)(p[0] | p[1] << 8);
}

static uint32_t u32(const uint8_t *p)
{
    return u16(p) | (uint32_t)u16(p + 2) << 16;
}

static float half(const uint8_t *p)
{
    return qw_f16_to_f32((uint16_t)u16(p));
}

/* The i-th of numbers of 4 bits, low halves first. */
static unsigned nibble(const uint8_t *p, unsigned i)
{
    return p[i / 2] >> i % 2 * 4 & 15u;
}

static int8_t odd(unsigned n)
{
    return (int8_t)(2 * n + 1);
}

/* n weights, 8 or 4, of an entry of a grid; bit j of signs is weight j's. */
static void put_entry(int8_t *q, unsigned n, unsigned entry, unsigned signs)
{
    unsigned width = n == 8 ? 2 : 3;

    for (unsigned j = 0; j < n; j++)
        q[j] = (int8_t)((entry >> width * j & ((1u << width) - 1)) | (signs >> j & 1 ? NEGATIVE : 0));
}

/* Seven signs and the eighth, which makes their number even. */
static unsigned signs_of(unsigned seven)
{
    unsigned parity = seven ^ seven >> 4;

    parity ^= parity >> 2;
    return seven | ((parity ^ parity >> 1) & 1) << 7;
}

static void put_nibbles(int8_t q[32], const uint8_t codes[16])
{
    for (int i = 0; i < 16; i++) {
        q[i] = codes[i] & 15;
        q[16 + i] = (int8_t)(codes[i] >> 4);
    }
}

static void decode_iq4_nl(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    out->scale[0] = 1;
    put_nibbles(out->q, block + 2);
}

static void decode_iq4_xs(qw_codes *out, const uint8_t *block)
{
    out->d = half(block);
    for (unsigned g = 0; g < 8; g++) {
        out->scale[g] = (int8_t)((int)(nibble(block + 4, g) | (u16(block + 2) >> 2 * g & 3) << 4) - 32);
        put_nibbles(out->q + 32 * g, block + 8 + 16 * g);
    }
}

static void decode_iq3_s(qw_codes *out, const uint8_t *block)
{
    const uint8_t *index = block + 2, *ninth = block + 66, *signs = block + 74;

    out->d = half(block);
    for (unsigned g = 0; g < 8; g++) out->scale[g] = odd(nibble(block + 106, g));
    for (unsigned i = 0; i < 64; i++) {
        unsigned entry = GRID_IQ3_S[index[i] | (ninth[i / 8] >> i % 8 & 1) << 8];
        put_entry(out->q + 4 * i, 4, entry, nibble(signs, i));
    }
}

static void decode_iq3_xxs(qw_codes *out, const uint8_t *block)
{
    out->d = half(block) / 4;
    for (unsigned g = 0; g < 8; g++) {
        uint32_t v = u32(block + 66 + 4 * g);
        out->scale[g] = odd(v >> 28);
        for (unsigned i = 0; i < 8; i++) {
            unsigned signs = signs_of(v >> 7 * (i / 2) & 127) >> i % 2 * 4;
            put_entry(out->q + 32 * g + 4 * i, 4, GRID_IQ3_XXS[block[2 + 8 * g + i]], signs);
        }
    }
}

static void decode_iq2_xxs(qw_codes *out, const uint8_t *block)
{
    out->d = half(block) / 8;
    for (unsigned g = 0; g < 8; g++) {
        const uint8_t *index = block + 2 + 8 * g;
        uint32_t v = u32(index + 4);
        out->scale[g] = odd(v >> 28);
        for (unsigned i = 0; i < 4; i++)
            put_entry(out->q + 32 * g + 8 * i, 8, GRID_IQ2_XXS[index[i]], signs_of(v >> 7 * i & 127));
    }
}

static void decode_iq2_xs(qw_codes *out, const uint8_t *block)
{
    out->d = half(block) / 8;
    for (unsigned g = 0; g < 16; g++) out->scale[g] = odd(nibble(block + 66, g));
    for (unsigned i = 0; i < 32; i++) {
        unsigned v = u16(block + 2 + 2 * i);
        put_entry(out->q + 8 * i, 8, GRID_IQ2_XS[v & 511], signs_of(v >> 9));
    }
}

static void decode_iq2_s(qw_codes *out, const uint8_t *block)
{
    const uint8_t *index = block + 2, *signs = block + 34, *high = block + 66;

    out->d = half(block) / 8;
    for (unsigned g = 0; g < 16; g++) out->scale[g] = odd(nibble(block + 74, g));
    for (unsigned i = 0; i < 32; i++)
        put_entry(out->q + 8 * i, 8, GRID_IQ2_S[index[i] | (high[i / 4] >> i % 4 * 2 & 3) << 8], signs[i]);
}

static void decode_iq1_s(qw_codes *out, const uint8_t *block)
{
    out->d = half(block) / 8;
    for (unsigned g = 0; g < 8; g++) {
        unsigned v = u16(block + 34 + 2 * g);
        out->scale[g] = odd(v >> 12 & 7);
        for (unsigned i = 0; i < 4; i++) {
            unsigned index = block[2 + 4 * g + i] | (v >> 3 * i & 7) << 8;
            put_entry(out->q + 32 * g + 8 * i, 8, GRID_IQ1[index], v >> 15 ? 255 : 0);
        }
    }
}

static void decode_iq1_m(qw_codes *out, const uint8_t *block)
{
    unsigned d = 0;

    for (unsigned i = 0; i < 4; i++) d |= u16(block + 48 + 2 * i) >> 12 << 4 * i;
    out->d = qw_f16_to_f32((uint16_t)d) / 8;
    for (unsigned g = 0; g < 16; g++) out->scale[g] = odd(u16(block + 48 + g / 4 * 2) >> g % 4 * 3 & 7);
    for (unsigned i = 0; i < 32; i++) {
        unsigned v = nibble(block + 32, i);
        put_entry(out->q + 8 * i, 8, GRID_IQ1[block[i] | (v & 7) << 8], v & 8 ? 255 : 0);
    }
}

void qw_levels_decode(qw_codes *out, const uint8_t *block, qw_dtype type)
{
    switch ((int)type) {
#define DECODE(NAME, name, ...)                                                                                        \
    case QW_##NAME:                                                                                                    \
        decode_##name(out, block);                                                                                     \
        break;
        QW_LEVEL_DTYPES(DECODE)
    default:
        QW_ASSERT(false); /* no type with levels */
    }
}
