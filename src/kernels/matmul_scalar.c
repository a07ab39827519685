/* SPDX-License-Identifier: MIT
 * The specification of qw_matmul: matmul.h's formulas as plain loops over what panel.h says a panel means. */
#include "kernels/matmul_scalar.h"

static int32_t dot(const int32_t *w, const int8_t *q, int32_t n)
{
    int32_t sum = 0;

    for (int32_t i = 0; i < n; i++) sum += w[i] * q[i];
    return sum;
}

static float add_block(float acc, qw_layout_traits t, const qw_row_block *w, const qw_act *x)
{
    int32_t sum[2] = {dot(w->q, x->q, 16), dot(w->q + 16, x->q + 16, 16)}, total[2] = {0, 0};

    for (int32_t i = 0; i < QW_BLOCK; i++) total[i / 16] += x->q[i];
    if (t.halves) {
        acc = acc + (float)(w->scale[0] * sum[0] + w->scale[1] * sum[1]) * (w->d * x->scale);
        return t.has_min ? acc + (float)(w->min[0] * total[0] + w->min[1] * total[1]) * (w->dmin * x->scale) : acc;
    }
    acc = acc + (float)(sum[0] + sum[1]) * (w->d * (float)w->scale[0] * x->scale);
    if (t.has_min) acc = acc + w->dmin * (float)w->min[0] * (x->scale * (float)(total[0] + total[1]));
    return acc;
}

static float integer_row(const qw_activations *a, const qw_mat *m, int32_t row, int32_t token)
{
    const uint8_t *panel = m->data + (size_t)(row / QW_PANEL_ROWS) * qw_panel_bytes(m->layout, m->cols);
    qw_row_block w;
    float acc = 0;

    for (int32_t b = 0; b < (m->cols + QW_BLOCK - 1) / QW_BLOCK; b++) {
        qw_panel_block(&w, m->layout, panel, b, row % QW_PANEL_ROWS);
        acc = add_block(acc, qw_layout_traits_of(m->layout), &w, a->act + qw_act_index(a, token, b));
    }
    return acc;
}

static float float_row(const qw_activations *a, const qw_mat *m, int32_t row, int32_t token)
{
    const uint8_t *panel = m->data + (size_t)(row / QW_PANEL_ROWS) * qw_panel_bytes(m->layout, m->cols);
    const float *x = a->x + (size_t)token * (size_t)a->cols;
    float acc[4] = {0, 0, 0, 0};

    for (int32_t j = 0; j < m->cols; j++)
        acc[j % 4] = acc[j % 4] + qw_panel_float(m->layout, panel, j, row % QW_PANEL_ROWS) * x[j];
    return (acc[0] + acc[1]) + (acc[2] + acc[3]);
}

void qw_matmul_scalar(const qw_activations *a, const qw_product *product)
{
    const qw_mat *m = product->w;

    for (int32_t t = 0; t < a->n; t++)
        for (int32_t r = 0; r < m->rows; r++) {
            float y = qw_layout_is_integer(m->layout) ? integer_row(a, m, r, t) : float_row(a, m, r, t);
            product->y[(size_t)t * (size_t)m->rows + (size_t)r] = product->bias ? y + product->bias[r] : y;
        }
}
