/* SPDX-License-Identifier: MIT
 * Rows of a file to panels, and back for the embedding and the scalar specification. Runs once per load: plain loops.
 * layout.h says where a code goes. */
#include "panel.h"

#include "layout.h"
#include "quant.h"

#include <string.h>

qw_layout qw_layout_for(qw_dtype type, qw_quantize quantize)
{
    if (quantize == QW_QUANTIZE_F32) return QW_LAYOUT_F32;
    if (qw_dtype_block(type) == 1 && quantize != QW_QUANTIZE_NONE)
        return quantize == QW_QUANTIZE_Q8_0 ? QW_LAYOUT_I8 : QW_LAYOUT_U4;
    for (int l = QW_LAYOUT_F32; l <= QW_LAYOUT_K2M; l++)
        if (qw_layout_traits_of((qw_layout)l).type == type) return (qw_layout)l;
    return QW_LAYOUT_F32;
}

const char *qw_layout_name(qw_layout layout)
{
    return qw_layout_traits_of(layout).name;
}

static bool is_float(qw_layout_traits t)
{
    return t.blocks == 0;
}

size_t qw_panel_bytes(qw_layout layout, int32_t cols)
{
    qw_layout_traits t = qw_layout_traits_of(layout);

    /* Float panels end on a vector, so that each begins on one. */
    if (is_float(t)) return ((size_t)cols * (size_t)t.bits / 8 * QW_PANEL_ROWS + 15) & ~(size_t)15;
    return ((size_t)cols + (size_t)t.blocks * QW_BLOCK - 1) / ((size_t)t.blocks * QW_BLOCK) *
           (size_t)qw_layout_unit_bytes(t);
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

static void put_code(uint8_t *codes, int32_t bits, int32_t col, int32_t r, int32_t code)
{
    field f[3];
    int32_t n = fields_of(f, bits, col / 4);

    for (int32_t i = 0; i < n; i++) {
        uint8_t *byte = codes + f[i].vector * 16 + r * 4 + col % 4;
        *byte = (uint8_t)(*byte | (code & ((1 << f[i].bits) - 1)) << f[i].shift);
        code >>= f[i].bits;
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

static void put_f32(uint8_t *p, float x)
{
    memcpy(p, &x, sizeof x);
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

/* A block of the file is a unit of the panel, for every pair of type and layout there is. */
static void pack_unit(uint8_t *unit, qw_layout_traits t, const uint8_t *block, int32_t r)
{
    qw_codes c;

    qw_quant_decode(&c, block, t.type);
    put_f32(unit + r * 4, c.d);
    if (t.has_min) put_f32(unit + 16 + r * 4, c.dmin);
    if (t.blocks == 8) put_subscales(unit + subscales_at(t), t, &c, r);
    for (int32_t i = 0; i < t.blocks * QW_BLOCK; i++)
        put_code(unit + t.header + i / QW_BLOCK * t.bits * 16, t.bits, i % QW_BLOCK, r, c.q[i]);
}

static void pack_floats(uint8_t *panel, qw_layout_traits t, const uint8_t *src, int32_t r, int32_t cols)
{
    size_t size = (size_t)t.bits / 8;

    for (int32_t i = 0; i < cols; i++)
        memcpy(panel + ((size_t)i * QW_PANEL_ROWS + (size_t)r) * size, src + (size_t)i * size, size);
}

/* A row of any type, a block at a time, to float32. */
static void pack_widened(uint8_t *panel, const uint8_t *src, qw_dtype type, int32_t r, int32_t cols)
{
    int32_t block = qw_dtype_block(type);
    float x[256]; /* the largest block */

    for (int32_t at = 0; at < cols; at += block, src += qw_dtype_block_bytes(type)) {
        qw_dequantize(x, src, type, block);
        for (int32_t i = 0; i < block; i++)
            put_f32(panel + ((size_t)(at + i) * QW_PANEL_ROWS + (size_t)r) * sizeof *x, x[i]);
    }
}

/* 32 columns of a float row become a block of the file type that the layout stands for; columns past the end are zeros. */
static void pack_quantised(uint8_t *panel, qw_layout_traits t, const uint8_t *src, qw_dtype type, int32_t r,
                           int32_t cols)
{
    size_t size = qw_dtype_block_bytes(type);
    uint8_t block[34];

    for (int32_t at = 0; at < cols; at += QW_BLOCK) {
        float x[QW_BLOCK] = {0};
        qw_dequantize(x, src + (size_t)at * size, type, cols - at < QW_BLOCK ? cols - at : QW_BLOCK);
        qw_quant_encode(block, x, t.type);
        pack_unit(panel + (size_t)(at / QW_BLOCK) * (size_t)qw_layout_unit_bytes(t), t, block, r);
    }
}

void qw_panel_pack(uint8_t *panel, qw_layout layout, const uint8_t *src, qw_dtype type, int32_t n_rows, int32_t cols)
{
    qw_layout_traits t = qw_layout_traits_of(layout);
    size_t row_bytes = qw_dtype_row_bytes(type, cols);

    memset(panel, 0, qw_panel_bytes(layout, cols));
    for (int32_t r = 0; r < n_rows; r++, src += row_bytes) {
        if (is_float(t) && type != t.type) {
            pack_widened(panel, src, type, r, cols);
        } else if (is_float(t)) {
            pack_floats(panel, t, src, r, cols);
        } else if (type != t.type) {
            pack_quantised(panel, t, src, type, r, cols);
        } else {
            for (int32_t u = 0; u < cols / (t.blocks * QW_BLOCK); u++)
                pack_unit(panel + (size_t)u * (size_t)qw_layout_unit_bytes(t), t,
                          src + (size_t)u * qw_dtype_block_bytes(type), r);
        }
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
    const uint8_t *unit = panel + (size_t)(b / t.blocks) * (size_t)qw_layout_unit_bytes(t);
    const uint8_t *codes = unit + t.header + b % t.blocks * t.bits * 16;

    *out = (qw_row_block){.scale = {1, 1}, .min = {1, 1}};
    out->d = get_f32(unit + r * 4);
    if (t.has_min) out->dmin = get_f32(unit + 16 + r * 4);
    if (t.blocks == 8) get_subscales(out, t, unit + subscales_at(t), b % 8, r);
    for (int32_t i = 0; i < QW_BLOCK; i++) out->q[i] = get_code(codes, t.bits, i, r) - t.offset;
}

float qw_panel_float(qw_layout layout, const uint8_t *panel, int32_t col, int32_t r)
{
    const uint8_t *p = panel + ((size_t)col * QW_PANEL_ROWS + (size_t)r) * (layout == QW_LAYOUT_F32 ? 4 : 2);

    if (layout == QW_LAYOUT_F32) return get_f32(p);
    return layout == QW_LAYOUT_F16 ? qw_f16_to_f32((uint16_t)(p[0] | p[1] << 8))
                                   : qw_bf16_to_f32((uint16_t)(p[0] | p[1] << 8));
}

void qw_mat_row(float *out, const qw_mat *m, int32_t r)
{
    qw_layout_traits t = qw_layout_traits_of(m->layout);
    const uint8_t *panel = m->data + (size_t)(r / QW_PANEL_ROWS) * qw_panel_bytes(m->layout, m->cols);
    qw_row_block block;

    r %= QW_PANEL_ROWS;
    if (is_float(t))
        for (int32_t i = 0; i < m->cols; i++) out[i] = qw_panel_float(m->layout, panel, i, r);
    else
        for (int32_t i = 0; i < m->cols; i++) {
            if (i % QW_BLOCK == 0) qw_panel_block(&block, m->layout, panel, i / QW_BLOCK, r);
            int32_t h = i % QW_BLOCK / 16;
            float w = block.d * (float)block.scale[h] * (float)block.q[i % QW_BLOCK];
            out[i] = t.has_min ? w + block.dmin * (float)block.min[h] : w;
        }
}
