/* SPDX-License-Identifier: MIT
 * Rows of a file to panels, and back for the embedding and the scalar specification. layout.h says where a code goes. */
#include "kernels/panel.h"

#include "kernels/quant.h"
#include "kernels/quant_iq.h"
#include "base/assert.h"
#include "base/simd.h"

#include <string.h>

static bool is_float(qw_layout_traits t)
{
    return t.blocks == 0;
}

/* A row of the type has the layout's numbers already. */
static bool holds(qw_layout layout, qw_dtype type)
{
    return qw_layout_for(type, QW_QUANTIZE_NONE) == layout;
}

size_t qw_mat_bytes(qw_layout layout, int32_t rows, int32_t cols)
{
    size_t panel = qw_panel_bytes(layout, cols), panels = ((size_t)rows + QW_PANEL_ROWS - 1) / QW_PANEL_ROWS;

    return panel && panels > SIZE_MAX / panel ? SIZE_MAX : panel * panels;
}

/* The places of a code: up to three fields of a vector's byte, least significant bits of the code first. */
typedef struct field {
    int32_t vector, shift, bits;
} field;

static int32_t fields_of(field out[3], int32_t bits, int32_t chunk)
{
    if (chunk < bits) {
        out[0] = (field){chunk, 0, bits};
        return 1;
    }
    switch (bits * 8 + chunk) {
    case 4 * 8 + 4:
    case 4 * 8 + 5:
    case 4 * 8 + 6:
    case 4 * 8 + 7:
        out[0] = (field){chunk - 4, 4, 4};
        return 1;
    case 5 * 8 + 5:
        out[0] = (field){0, 5, 3}, out[1] = (field){3, 6, 2};
        return 2;
    case 5 * 8 + 6:
        out[0] = (field){1, 5, 3}, out[1] = (field){3, 5, 1}, out[2] = (field){4, 5, 1};
        return 3;
    case 5 * 8 + 7:
        out[0] = (field){2, 5, 3}, out[1] = (field){4, 6, 2};
        return 2;
    default: /* 6 bits, chunks 6 and 7 */
        for (int32_t i = 0; i < 3; i++) out[i] = (field){(chunk - 6) * 3 + i, 6, 2};
        return 3;
    }
}

static int32_t get_code(const uint8_t *codes, int32_t bits, int32_t col, int32_t r)
{
    field f[3];
    int32_t n = fields_of(f, bits, col / 4), code = 0, at = 0;

    for (int32_t i = 0; i < n; i++) {
        int32_t byte = codes[f[i].vector * 16 + r * 4 + col % 4];
        code |= (byte >> f[i].shift & ((1 << f[i].bits) - 1)) << at;
        at += f[i].bits;
    }
    return bits == 8 ? (int8_t)code : code;
}

static float get_f32(const uint8_t *p)
{
    float x;

    memcpy(&x, p, sizeof x);
    return x;
}

/* Sub-scale vectors begin after d, and dmin where there is one. */
static int32_t subscales_at(qw_layout_traits t)
{
    return t.has_min ? 32 : 16;
}

static void put_subscales(uint8_t *at, qw_layout_traits t, const qw_codes *c, int32_t r)
{
    for (int32_t g = 0; g < (t.halves ? 16 : 8); g++) {
        uint8_t *byte = at + g / 4 * 16 + r * 4 + g % 4;
        if (t.halves) {
            *byte = (uint8_t)(t.has_min ? c->scale[g] | c->min[g] << 4 : c->scale[g]);
        } else {
            byte[0] = (uint8_t)c->scale[g];
            byte[32] = (uint8_t)c->min[g];
        }
    }
}

/* Bits from..from+n-1 of each byte of c, moved to bit `to`. */
static qw_v128 moved(qw_v128 c, unsigned from, unsigned n, unsigned to)
{
    return qw_i16x8_shl(qw_and(qw_u16x8_shr(c, from), qw_i8x16_splat((int8_t)((1 << n) - 1))), to);
}

/* The codes of 32 columns, chunk k in c[k], to `bits` vectors. */
static void put_codes(uint8_t *out, int32_t bits, qw_v128 c[8])
{
    if (bits == 4)
        for (int k = 0; k < 4; k++) c[k] = qw_or(c[k], moved(c[k + 4], 0, 4, 4));
    if (bits == 5) {
        for (int k = 0; k < 3; k++) c[k] = qw_or(c[k], moved(c[k + 5], 0, 3, 5));
        c[3] = qw_or(c[3], qw_or(moved(c[5], 3, 2, 6), moved(c[6], 3, 1, 5)));
        c[4] = qw_or(c[4], qw_or(moved(c[7], 3, 2, 6), moved(c[6], 4, 1, 5)));
    }
    if (bits == 6)
        for (unsigned k = 0; k < 6; k++) c[k] = qw_or(c[k], moved(c[6 + k / 3], k % 3 * 2, 2, 6));
    for (int32_t k = 0; k < bits; k++) qw_store(out + 16 * k, c[k]);
}

/* 16 bytes of each of four rows become four chunks. */
static void interleave(qw_v128 out[4], const qw_codes rows[4], int32_t at)
{
    qw_v128 a = qw_load(rows[0].q + at), b = qw_load(rows[1].q + at), c = qw_load(rows[2].q + at),
            d = qw_load(rows[3].q + at);
    qw_v128 ab = qw_i32x4_zip_low(a, b), cd = qw_i32x4_zip_low(c, d);
    qw_v128 ab2 = qw_i32x4_zip_high(a, b), cd2 = qw_i32x4_zip_high(c, d);

    out[0] = qw_i64x2_low(ab, cd);
    out[1] = qw_i64x2_high(ab, cd);
    out[2] = qw_i64x2_low(ab2, cd2);
    out[3] = qw_i64x2_high(ab2, cd2);
}

/* A block of the file is a unit of the panel or, from the one with number `first` on, 32 columns of it are. */
static void put_unit(uint8_t *unit, qw_layout_traits t, const qw_codes rows[4], int32_t first)
{
    for (int32_t r = 0; r < 4; r++) {
        float d = t.levels && t.blocks == 1 ? rows[r].d * (float)rows[r].scale[first] : rows[r].d;
        memcpy(unit + r * 4, &d, 4);
        if (t.has_min) memcpy(unit + 16 + r * 4, &rows[r].dmin, 4);
        if (t.blocks == 8) put_subscales(unit + subscales_at(t), t, &rows[r], r);
    }
    for (int32_t b = 0; b < t.blocks; b++) {
        qw_v128 c[8];
        interleave(c, rows, (first + b) * QW_BLOCK);
        interleave(c + 4, rows, (first + b) * QW_BLOCK + 16);
        put_codes(unit + t.header + b * t.bits * 16, t.bits, c);
    }
}

/* Elements of `size` bytes, a constant at each call. */
QW_SIMD_INLINE void pack_elements(uint8_t *panel, const uint8_t *src, size_t size, int32_t n_rows, int32_t cols)
{
    for (int32_t r = 0; r < n_rows; r++)
        for (size_t i = 0; i < (size_t)cols; i++, src += size)
            memcpy(panel + (i * QW_PANEL_ROWS + (size_t)r) * size, src, size);
}

/* An infinite or NaN float16 among n. */
static bool has_special(const uint8_t *src, size_t n)
{
    unsigned special = 0;

    for (size_t i = 0; i < n; i++) special |= (src[2 * i + 1] & 0x7c) == 0x7c;
    return special;
}

static void pack_floats(uint8_t *panel, qw_layout layout, const uint8_t *src, int32_t n_rows, int32_t cols)
{
    memset(panel, 0, qw_panel_bytes(layout, cols));
    if (layout == QW_LAYOUT_F16) {
        *panel = has_special(src, (size_t)n_rows * (size_t)cols);
        panel += QW_F16_HEADER;
    }
    if (layout == QW_LAYOUT_F32) pack_elements(panel, src, 4, n_rows, cols);
    else pack_elements(panel, src, 2, n_rows, cols);
}

/* Rows of any type, a block at a time, to float32. */
static void pack_widened(uint8_t *panel, const uint8_t *src, qw_dtype type, int32_t n_rows, int32_t cols)
{
    int32_t block = qw_dtype_block(type);
    float x[256]; /* the largest block */

    memset(panel, 0, qw_panel_bytes(QW_LAYOUT_F32, cols));
    for (int32_t r = 0; r < n_rows; r++) {
        for (int32_t at = 0; at < cols; at += block, src += qw_dtype_block_bytes(type)) {
            qw_dequantize(x, src, type, block);
            for (int32_t i = 0; i < block; i++)
                memcpy(panel + ((size_t)(at + i) * QW_PANEL_ROWS + (size_t)r) * sizeof *x, x + i, sizeof *x);
        }
    }
}

/* 32 columns of a float row become a block of the file type that the layout stands for; columns past the end are
 * zeros. */
static void quantise(qw_codes *out, qw_layout_traits t, const uint8_t *row, qw_dtype type, int32_t left)
{
    float x[QW_BLOCK] = {0};
    uint8_t block[34];

    qw_dequantize(x, row, type, left < QW_BLOCK ? left : QW_BLOCK);
    qw_quant_encode(block, x, t.type);
    qw_quant_decode(out, block, t.type);
}

void qw_panel_pack(uint8_t *panel, qw_layout layout, const uint8_t *src, qw_dtype type, int32_t n_rows, int32_t cols)
{
    qw_layout_traits t = qw_layout_traits_of(layout);
    size_t row_bytes = qw_dtype_row_bytes(type, cols);
    bool ready = holds(layout, type);
    qw_codes rows[QW_PANEL_ROWS] = {{0}};

    QW_ASSERT(n_rows >= 1 && n_rows <= QW_PANEL_ROWS && cols % qw_dtype_block(type) == 0);
    if (is_float(t)) {
        if (ready) pack_floats(panel, layout, src, n_rows, cols);
        else pack_widened(panel, src, type, n_rows, cols);
        return;
    }
    if (t.levels) {
        memcpy(panel, qw_levels_of(type), QW_LEVELS);
        panel += QW_LEVELS;
    }
    for (int32_t at = 0, step = ready ? qw_dtype_block(type) : QW_BLOCK; at < cols; at += step) {
        for (int32_t r = 0; r < n_rows; r++) {
            const uint8_t *from = src + (size_t)r * row_bytes + qw_dtype_row_bytes(type, at);
            if (ready) qw_quant_decode(&rows[r], from, type);
            else quantise(&rows[r], t, from, type, cols - at);
        }
        for (int32_t b = 0; b < step / QW_BLOCK; b += t.blocks, panel += qw_layout_unit_bytes(t))
            put_unit(panel, t, rows, b);
    }
}

static void get_subscales(qw_row_block *out, qw_layout_traits t, const uint8_t *at, int32_t b, int32_t r)
{
    for (int32_t h = 0; h < 2; h++) {
        int32_t g = t.halves ? b * 2 + h : b;
        const uint8_t *byte = at + g / 4 * 16 + r * 4 + g % 4;
        if (!t.halves) {
            out->scale[h] = byte[0];
            out->min[h] = byte[32];
        } else {
            out->scale[h] = t.has_min ? byte[0] & 15 : (int8_t)byte[0];
            out->min[h] = byte[0] >> 4;
        }
    }
}

void qw_panel_block(qw_row_block *out, qw_layout layout, const uint8_t *panel, int32_t b, int32_t r)
{
    qw_layout_traits t = qw_layout_traits_of(layout);
    const uint8_t *unit = panel + (t.levels ? QW_LEVELS : 0) + (size_t)(b / t.blocks) * (size_t)qw_layout_unit_bytes(t);
    const uint8_t *codes = unit + t.header + b % t.blocks * t.bits * 16;

    QW_ASSERT(t.blocks && b >= 0 && r >= 0 && r < QW_PANEL_ROWS);
    *out = (qw_row_block){.scale = {1, 1}, .min = {1, 1}};
    out->d = get_f32(unit + r * 4);
    if (t.has_min) out->dmin = get_f32(unit + 16 + r * 4);
    if (t.blocks == 8) get_subscales(out, t, unit + subscales_at(t), b % 8, r);
    for (int32_t i = 0; i < QW_BLOCK; i++) {
        int32_t code = get_code(codes, t.bits, i, r);
        out->q[i] = t.levels ? ((const int8_t *)panel)[code] : code - t.offset;
    }
}

float qw_panel_float(qw_layout layout, const uint8_t *panel, int32_t col, int32_t r)
{
    const uint8_t *p = panel + (layout == QW_LAYOUT_F16 ? QW_F16_HEADER : 0);

    p += ((size_t)col * QW_PANEL_ROWS + (size_t)r) * (layout == QW_LAYOUT_F32 ? 4 : 2);
    if (layout == QW_LAYOUT_F32) return get_f32(p);
    return layout == QW_LAYOUT_F16 ? qw_f16_to_f32((uint16_t)(p[0] | p[1] << 8))
                                   : qw_bf16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

void qw_mat_row(float *out, const qw_mat *m, int32_t r)
{
    qw_layout_traits t = qw_layout_traits_of(m->layout);
    const uint8_t *panel = m->data + (size_t)(r / QW_PANEL_ROWS) * qw_panel_bytes(m->layout, m->cols);
    qw_row_block block;

    QW_ASSERT(r >= 0 && r < m->rows);
    r %= QW_PANEL_ROWS;
    if (is_float(t)) {
        for (int32_t i = 0; i < m->cols; i++) out[i] = qw_panel_float(m->layout, panel, i, r);
        return;
    }
    for (int32_t i = 0; i < m->cols; i++) {
        if (i % QW_BLOCK == 0) qw_panel_block(&block, m->layout, panel, i / QW_BLOCK, r);
        int32_t h = i % QW_BLOCK / 16;
        float w = block.d * (float)block.scale[h] * (float)block.q[i % QW_BLOCK];
        out[i] = t.has_min ? w + block.dmin * (float)block.min[h] : w;
    }
}
