/* SPDX-License-Identifier: MIT
 * Which layout a type is kept in, and its size. */
#include "kernels/layout.h"

#include "base/assert.h"

/* The lists agree: the type that a layout names is kept in it. */
enum {
#define KEPT_IN(NAME, name, number, LAYOUT, ...) KEPT_##NAME = QW_LAYOUT_##LAYOUT,
    QW_DTYPES(KEPT_IN)
};
#define AGREES(NAME, TYPE, ...)                                                                                        \
    _Static_assert((int)KEPT_##TYPE == (int)QW_LAYOUT_##NAME, #NAME " is not where " #TYPE " is kept");
QW_FLOAT_LAYOUTS(AGREES)
QW_INTEGER_LAYOUTS(AGREES)
#define IS_FLOAT(NAME, ...) _Static_assert(QW_LAYOUT_##NAME < QW_LAYOUT_I8, #NAME " stands among the integer layouts");
QW_FLOAT_LAYOUTS(IS_FLOAT)

qw_layout qw_layout_for(qw_dtype type, qw_quantize quantize)
{
    if (quantize == QW_QUANTIZE_F32) return QW_LAYOUT_F32;
    if (qw_dtype_block(type) == 1 && quantize != QW_QUANTIZE_NONE)
        return quantize == QW_QUANTIZE_Q8_0 ? QW_LAYOUT_I8 : QW_LAYOUT_U4;
    switch (type) {
#define LAYOUT_OF(NAME, name, number, LAYOUT, ...)                                                                     \
    case QW_##NAME:                                                                                                    \
        return QW_LAYOUT_##LAYOUT;
        QW_DTYPES(LAYOUT_OF)
    }
    return QW_LAYOUT_F32;
}

size_t qw_panel_bytes(qw_layout layout, int32_t cols)
{
    qw_layout_traits t = qw_layout_traits_of(layout);
    size_t unit = (size_t)t.blocks * QW_BLOCK;

    QW_ASSERT(layout < QW_LAYOUT_COUNT && cols >= 0);
    if (t.blocks)
        return (t.levels ? QW_LEVELS : 0) + ((size_t)cols + unit - 1) / unit * (size_t)qw_layout_unit_bytes(t);
    /* Float panels end on a vector, so that each begins on one. */
    return (layout == QW_LAYOUT_F16 ? QW_F16_HEADER : 0) +
           (((size_t)cols * (size_t)t.bits / 8 * QW_PANEL_ROWS + 15) & ~(size_t)15);
}
