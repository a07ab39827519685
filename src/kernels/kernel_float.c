/* SPDX-License-Identifier: MIT
 * Panels of float32, float16 or bfloat16 weights. A row's sum runs in four chains of additions, column j in chain j
 * mod 4. One token keeps the four chains of a panel in registers; with several tokens a chain is run after the other,
 * each over all its columns, so that two panels times four tokens fill the registers. */
#include "kernels/kernel_float.h"

#include "base/simd.h"

enum { CHAINS = 4, MOST_TOKENS = 4 };

typedef enum form { FORM_F32, FORM_F16, FORM_F16_FINITE, FORM_BF16 } form;

/* Constants of the widening of float16, in locals as V8 makes them anew at each use. */
typedef struct widener {
    qw_v128 fields, scale;
} widener;

QW_SIMD_INLINE widener make_widener(void)
{
    return (widener){qw_opaque(qw_i32x4_splat((int32_t)0x8fffffffu)), qw_opaque(qw_i32x4_splat(0x77800000))};
}

/* Column `col` of four rows. Finite float16: sign and magnitude in float32's fields are the number times 2^-112. */
QW_SIMD_INLINE qw_v128 column(form f, const widener *w, const uint8_t *weights, int32_t col)
{
    if (f == FORM_F32) return qw_load(weights + (size_t)col * 16);
    if (f == FORM_BF16) return qw_load_bf16x4(weights + (size_t)col * 8);
    if (f == FORM_F16) return qw_load_f16x4(weights + (size_t)col * 8);
    qw_v128 half = qw_load_i16x4(weights + (size_t)col * 8);
    return qw_f32x4_mul(qw_and(qw_i32x4_shl(half, 13), w->fields), w->scale);
}

QW_SIMD_INLINE qw_v128 step(qw_v128 acc, qw_v128 w, const float *x)
{
    return qw_f32x4_add(acc, qw_f32x4_mul(w, qw_load32_splat(x)));
}

QW_SIMD_INLINE void one(float *out, const uint8_t *weights, const float *x, int32_t cols, form f)
{
    widener w = make_widener();
    qw_v128 acc[CHAINS] = {qw_zero(), qw_zero(), qw_zero(), qw_zero()};
    int32_t col = 0;

    for (; col + CHAINS <= cols; col += CHAINS) {
        QW_UNROLL
        for (int i = 0; i < CHAINS; i++) acc[i] = step(acc[i], column(f, &w, weights, col + i), x + col + i);
    }
    QW_UNROLL
    for (int i = 0; i < CHAINS; i++)
        if (col + i < cols) acc[i] = step(acc[i], column(f, &w, weights, col + i), x + col + i);
    qw_store(out, qw_f32x4_add(qw_f32x4_add(acc[0], acc[1]), qw_f32x4_add(acc[2], acc[3])));
}

/* Two panels and the activations of some tokens. */
typedef struct operands {
    const uint8_t *weights[QW_TILE_PANELS];
    const float *x[MOST_TOKENS];
    int32_t cols;
} operands;

/* Chain `chain` of T tokens and two panels. */
QW_SIMD_INLINE void run_chain(float (*out)[QW_TILE_ROWS], const operands *o, int32_t chain, form f, int T)
{
    widener w = make_widener();
    qw_v128 acc[MOST_TOKENS][QW_TILE_PANELS];

    QW_UNROLL
    for (int t = 0; t < T; t++) acc[t][0] = acc[t][1] = qw_zero();
    QW_NO_UNROLL
    for (int32_t col = chain; col < o->cols; col += CHAINS) {
        qw_v128 w0 = column(f, &w, o->weights[0], col), w1 = column(f, &w, o->weights[1], col);
        QW_UNROLL
        for (int t = 0; t < T; t++) {
            acc[t][0] = step(acc[t][0], w0, o->x[t] + col);
            acc[t][1] = step(acc[t][1], w1, o->x[t] + col);
        }
    }
    QW_UNROLL
    for (int t = 0; t < T; t++) {
        qw_store(out[t], acc[t][0]);
        qw_store(out[t] + 4, acc[t][1]);
    }
}

QW_SIMD_INLINE void pair(const qw_tile_tokens *to, const uint8_t *weights0, const uint8_t *weights1, form f, int T)
{
    operands o = {{weights0, weights1}, {NULL}, to->a->cols};
    float sum[CHAINS][MOST_TOKENS][QW_TILE_ROWS];

    QW_UNROLL
    for (int t = 0; t < T; t++) o.x[t] = to->a->x + (size_t)(to->token + t) * (size_t)to->a->cols;
    QW_NO_UNROLL
    for (int32_t c = 0; c < CHAINS; c++) run_chain(sum[c], &o, c, f, T);
    for (int t = 0; t < T; t++)
        for (int r = 0; r < QW_TILE_ROWS; r++)
            to->acc[(size_t)t * to->stride + (size_t)r] = (sum[0][t][r] + sum[1][t][r]) + (sum[2][t][r] + sum[3][t][r]);
}

static bool all_finite(const uint8_t *panel)
{
    return panel[0] == 0;
}

#define FLOATS(name, header, fast, exact)                                                                              \
    static void one_##name(float *out, const uint8_t *panel, const qw_activations *a, int32_t token)                   \
    {                                                                                                                  \
        const float *x = a->x + (size_t)token * (size_t)a->cols;                                                       \
        if (fast == exact || all_finite(panel)) one(out, panel + header, x, a->cols, fast);                            \
        else one(out, panel + header, x, a->cols, exact);                                                              \
    }                                                                                                                  \
    PAIR(name, header, fast, exact, 2)                                                                                 \
    PAIR(name, header, fast, exact, 4)
/* Panels with infinite or NaN weights need not be fast. */
#define PAIR(name, header, fast, exact, T)                                                                             \
    static void pair_##name##_##T(const qw_tile_tokens *to, const uint8_t *const panels[QW_TILE_PANELS])               \
    {                                                                                                                  \
        if (fast == exact || (all_finite(panels[0]) && all_finite(panels[1]))) {                                       \
            pair(to, panels[0] + header, panels[1] + header, fast, T);                                                 \
            return;                                                                                                    \
        }                                                                                                              \
        for (int t = 0; t < T; t++)                                                                                    \
            for (int i = 0; i < QW_TILE_PANELS; i++)                                                                   \
                one_##name(to->acc + (size_t)t * to->stride + i * QW_PANEL_ROWS, panels[i], to->a, to->token + t);     \
    }

FLOATS(F32, 0, FORM_F32, FORM_F32)
FLOATS(F16, QW_F16_HEADER, FORM_F16_FINITE, FORM_F16)
FLOATS(BF16, 0, FORM_BF16, FORM_BF16)

#define ENTRY(NAME, ...) [QW_LAYOUT_##NAME] = {one_##NAME, pair_##NAME##_2, pair_##NAME##_4},
static const qw_float_kernels TABLE[] = {QW_FLOAT_LAYOUTS(ENTRY)};

qw_float_kernels qw_float_kernels_for(qw_layout layout)
{
    QW_ASSERT((size_t)layout < sizeof TABLE / sizeof *TABLE);
    return TABLE[layout];
}
