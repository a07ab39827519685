/* SPDX-License-Identifier: MIT
 * Two panels times tiles of tokens: some hundred columns of the panels are unpacked into a buffer that stays in the L1 cache
 * and meets all tokens there. From then on a block is a run of equal steps: a few columns of 8 rows times T tokens, into T
 * times 2 vectors of sums. The steps stay a loop: unrolled, compilers compute sum after sum and spill what these share.
 *
 * A group is what the sums' lanes hold: int32 any number of steps; int16 of BASE a block of codes from -16 to 15 (16 steps
 * of two products, in each lane one: 16 * 16 * 127 < 2^15) or half a block of codes of 6 bits; int16 of DOT16, whose lanes
 * take two products a step, 8 steps below 16, 4 below 32, 2 below 64. With more than one group per block the registers do
 * for two tokens only. */
#include "kernel_block.h"

enum { MOST_TOKENS = 4, PANELS = QW_TILE_PANELS };

typedef struct plan {
    recipe c;
    int steps, group; /* of a block, of a group */
    int offset;       /* what the tile's codes are above their value */
    bool int16;
    bool by_two; /* DOT16 of codes above 15: int16 for two steps only, then int32 */
} plan;

QW_SIMD_INLINE plan make_plan(recipe c)
{
    plan p = {.c = c, .steps = 8, .group = 8, .offset = c.t.offset};

    if (c.kernel == QW_KERNEL_BASE) {
        p.steps = p.group = 16;
        /* What is taken away while unpacking: all but that 5 bits must become signed, minimum or not. */
        p.offset = c.t.bits == 5 && c.t.offset == 0 ? -16 : 0;
        p.int16 = c.t.bits < 8;
    }
    if (c.kernel == QW_KERNEL_DOT16) {
        p.int16 = c.t.bits == 4;
        p.by_two = c.t.bits > 4;
    }
    if (c.t.halves && p.group > p.steps / 2) p.group = p.steps / 2;
    return p;
}

/* Codes of the first panel at out, those of the second one vector after. */
QW_SIMD_INLINE void unpack_codes(int16_t *out, recipe c, const masks *m, const uint8_t *codes)
{
    qw_v128 offset = qw_i16x8_splat((int16_t)(c.t.bits == 5 ? 16 : c.t.offset));

    QW_UNROLL
    for (int k = 0; k < 8; k++) {
        if (c.kernel == QW_KERNEL_BASE) {
            QW_UNROLL
            for (int odd = 0; odd < 2; odd++) {
                qw_v128 v = pairs(c.t.bits, m, codes, k, odd);
                if (c.t.bits == 5 || c.t.offset) v = qw_i16x8_sub(v, offset);
                qw_store(out + (2 * k + odd) * PANELS * 8, v);
            }
        } else {
            qw_store(out + k * PANELS * 8, chunk(c.t.bits, m, codes, k));
        }
    }
}

QW_SIMD_INLINE void unpack(qw_tile *tile, int32_t index, const uint8_t *panel, int32_t first, int32_t n, recipe c)
{
    const int32_t unit = qw_layout_unit_bytes(c.t);
    masks m = make_masks(c.t.bits);

    panel += (size_t)(first / c.t.blocks) * (size_t)unit;
    for (int32_t b = 0; b < n; b += c.t.blocks, panel += unit) {
        scale_rows rows = {tile->scale[b][index], tile->min[b][index], tile->sub[b][0][index],
                           tile->submin[b][0][index], PANELS};
        if (c.t.blocks == 8) {
            unit_scales(rows, c.t, panel);
        } else {
            qw_store(rows.scale, qw_load(panel));
            if (c.t.has_min) qw_store(rows.min, qw_load(panel + 16));
        }
        QW_NO_UNROLL
        for (int32_t i = 0; i < c.t.blocks; i++)
            unpack_codes(tile->codes[b + i] + index * 8, c, &m, panel + c.t.header + i * c.t.bits * 16);
    }
}

/* Sums of T tokens and two panels. */
typedef struct sums {
    qw_v128 v[MOST_TOKENS][PANELS];
} sums;

QW_SIMD_INLINE qw_v128 multiply_add(plan p, qw_v128 sum, qw_v128 w, qw_v128 x)
{
#if QW_RELAXED
    if (p.c.kernel == QW_KERNEL_DOT16) return qw_i16x8_add(sum, qw_i16x8_relaxed_dot(x, w));
    if (p.c.kernel == QW_KERNEL_DOT32) return qw_i32x4_relaxed_dot_add(x, w, sum);
#endif
    return p.int16 ? qw_i16x8_add(sum, qw_i16x8_mul(w, x)) : qw_i32x4_add(sum, qw_i32x4_dot(w, x));
}

QW_SIMD_INLINE qw_v128 two_steps(plan p, qw_v128 sum, const qw_v128 w[2], const qw_v128 x[2])
{
#if QW_RELAXED
    if (p.by_two) {
        qw_v128 part = qw_i16x8_add(qw_i16x8_relaxed_dot(x[0], w[0]), qw_i16x8_relaxed_dot(x[1], w[1]));
        return qw_i32x4_add(sum, qw_i32x4_pair_sums(part));
    }
#endif
    return multiply_add(p, multiply_add(p, sum, w[0], x[0]), w[1], x[1]);
}

/* `group` steps, two at a time. */
QW_SIMD_INLINE void run_group(sums *s, plan p, const int16_t *codes, const uint8_t *const *x, int T, int from)
{
    QW_NO_UNROLL
    for (int i = from; i < from + p.group; i += 2) {
        qw_v128 w[PANELS][2];
        QW_UNROLL
        for (int j = 0; j < 2; j++) QW_UNROLL
        for (int r = 0; r < PANELS; r++) w[r][j] = qw_load(codes + ((i + j) * PANELS + r) * 8);
        QW_UNROLL
        for (int t = 0; t < T; t++) {
            qw_v128 at[2] = {qw_load32_splat(x[t] + 4 * i), qw_load32_splat(x[t] + 4 * i + 4)};
            QW_UNROLL
            for (int r = 0; r < PANELS; r++) s->v[t][r] = two_steps(p, s->v[t][r], w[r], at);
        }
    }
}

#if QW_RELAXED
/* Signed codes against the positive and the negative part of the activations: -w n = ~w n + n. */
QW_SIMD_INLINE void run_signed(sums *s, const int16_t *codes, const uint8_t *const *x, int T)
{
    qw_v128 ones = qw_i32x4_splat(-1);

    QW_NO_UNROLL
    for (int k = 0; k < 8; k++) {
        qw_v128 w[PANELS], not [PANELS];
        QW_UNROLL
        for (int r = 0; r < PANELS; r++) {
            w[r] = qw_load(codes + (k * PANELS + r) * 8);
            not [r] = qw_xor(w[r], ones);
        }
        QW_UNROLL
        for (int t = 0; t < T; t++) {
            qw_v128 plus = qw_load32_splat(x[t] + 8 * k), minus = qw_load32_splat(x[t] + 8 * k + 4);
            QW_UNROLL
            for (int r = 0; r < PANELS; r++)
                s->v[t][r] = qw_i32x4_relaxed_dot_add(not [r], minus, qw_i32x4_relaxed_dot_add(w[r], plus, s->v[t][r]));
        }
    }
}
#else
#define run_signed(s, codes, x, T) ((void)0)
#endif

QW_SIMD_INLINE bool is_split(plan p)
{
    return p.c.kernel == QW_KERNEL_DOT32 && p.c.t.bits == 8;
}

/* The sums that the block's, or half h's, exact result starts from. */
QW_SIMD_INLINE qw_v128 start_of(plan p, const qw_act_block *x, int h)
{
    if (is_split(p)) return qw_load32_splat(&x->negatives);
    if (p.offset < 0) return qw_i32x4_sub(qw_zero(), qw_load32_splat(&x->minus16));
    return correction(p.offset, x, h);
}

/* Steps from..to-1 of the block, as int32. */
QW_SIMD_INLINE void run_steps(sums *out, plan p, const int16_t *codes, const uint8_t *const *x,
                              const qw_act_block *const *b, int T, int from, int to)
{
    QW_UNROLL
    for (int t = 0; t < T; t++) {
        qw_v128 start = start_of(p, b[t], from > 0);
        QW_UNROLL
        for (int r = 0; r < PANELS; r++) out->v[t][r] = start;
    }
    if (is_split(p)) {
        run_signed(out, codes, x, T);
        return;
    }
    if (!p.int16) {
        run_group(out, p, codes, x, T, from);
        return;
    }
    QW_UNROLL
    for (int g = from; g < to; g += p.group) {
        sums part;
        QW_UNROLL
        for (int t = 0; t < T; t++) QW_UNROLL
        for (int r = 0; r < PANELS; r++) part.v[t][r] = qw_zero();
        run_group(&part, p, codes, x, T, g);
        QW_UNROLL
        for (int t = 0; t < T; t++) QW_UNROLL
        for (int r = 0; r < PANELS; r++) out->v[t][r] = qw_i32x4_add(out->v[t][r], qw_i32x4_pair_sums(part.v[t][r]));
    }
}

/* acc += (float)isum * (scale * xscale), and the minima. */
QW_SIMD_INLINE void add_whole(sums *acc, plan p, const qw_tile *tile, int32_t at, const uint8_t *const *x,
                              const qw_act_block *const *b, int T)
{
    sums s;

    run_steps(&s, p, tile->codes[at], x, b, T, 0, p.steps);
    QW_UNROLL
    for (int t = 0; t < T; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) {
        qw_v128 factor = qw_f32x4_mul(qw_load(tile->scale[at][r]), qw_load32_splat(&b[t]->scale));
        qw_v128 y = qw_f32x4_add(acc->v[t][r], qw_f32x4_mul(qw_f32x4_convert_i32x4(s.v[t][r]), factor));
        if (p.c.t.has_min)
            y = qw_f32x4_add(y, qw_f32x4_mul(qw_load(tile->min[at][r]), qw_load32_splat(&b[t]->scaled_sum)));
        acc->v[t][r] = y;
    }
}

QW_SIMD_INLINE void add_halves(sums *acc, plan p, const qw_tile *tile, int32_t at, const uint8_t *const *x,
                               const qw_act_block *const *b, int T)
{
    sums s, total;

    run_steps(&total, p, tile->codes[at], x, b, T, 0, p.steps / 2);
    QW_UNROLL
    for (int t = 0; t < T; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) total.v[t][r] = qw_i32x4_mul(total.v[t][r], qw_load(tile->sub[at][0][r]));
    run_steps(&s, p, tile->codes[at], x, b, T, p.steps / 2, p.steps);
    QW_UNROLL
    for (int t = 0; t < T; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) {
        qw_v128 xscale = qw_load32_splat(&b[t]->scale), y;
        qw_v128 isum = qw_i32x4_add(total.v[t][r], qw_i32x4_mul(s.v[t][r], qw_load(tile->sub[at][1][r])));
        y = qw_f32x4_mul(qw_f32x4_convert_i32x4(isum), qw_f32x4_mul(qw_load(tile->scale[at][r]), xscale));
        y = qw_f32x4_add(acc->v[t][r], y);
        if (p.c.t.has_min) {
            isum = qw_i32x4_add(qw_i32x4_mul(qw_load(tile->submin[at][0][r]), qw_load32_splat(&b[t]->minus32[0])),
                                qw_i32x4_mul(qw_load(tile->submin[at][1][r]), qw_load32_splat(&b[t]->minus32[1])));
            isum = qw_i32x4_shr(qw_i32x4_sub(qw_zero(), isum), 5);
            y = qw_f32x4_add(
                y, qw_f32x4_mul(qw_f32x4_convert_i32x4(isum), qw_f32x4_mul(qw_load(tile->min[at][r]), xscale)));
        }
        acc->v[t][r] = y;
    }
}

QW_SIMD_INLINE void multiply(float *acc, size_t stride, const qw_tile *tile, const qw_acts *a, int32_t token,
                             int32_t first, int32_t n, recipe c, int T)
{
    plan p = make_plan(c);
    const int32_t block_bytes = c.kernel == QW_KERNEL_BASE || is_split(p) ? 64 : 32;
    const uint8_t *x[MOST_TOKENS];
    const qw_act_block *b[MOST_TOKENS];
    sums s;

    QW_UNROLL
    for (int t = 0; t < T; t++) {
        size_t at = (size_t)(token + t) * (size_t)a->blocks + (size_t)first;
        x[t] = (block_bytes == 64 ? (const uint8_t *)a->wide : (const uint8_t *)a->q) + at * (size_t)block_bytes;
        b[t] = a->block + at;
        QW_UNROLL
        for (int r = 0; r < PANELS; r++) s.v[t][r] = qw_load(acc + (size_t)t * stride + r * 4);
    }
    for (int32_t i = 0; i < n; i++) {
        if (c.t.halves) add_halves(&s, p, tile, i, x, b, T);
        else add_whole(&s, p, tile, i, x, b, T);
        QW_UNROLL
        for (int t = 0; t < T; t++) {
            x[t] += block_bytes;
            b[t]++;
        }
    }
    QW_UNROLL
    for (int t = 0; t < T; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) qw_store(acc + (size_t)t * stride + r * 4, s.v[t][r]);
}

#define UNPACK(name, layout, kernel)                                                                                   \
    static void name(qw_tile *tile, int32_t index, const uint8_t *panel, int32_t first, int32_t n)                     \
    {                                                                                                                  \
        unpack(tile, index, panel, first, n, make_recipe(layout, kernel));                                             \
    }
#define UNPACK_ALL(kernel, suffix)                                                                                     \
    UNPACK(unpack_i8_##suffix, QW_LAYOUT_I8, kernel)                                                                   \
    UNPACK(unpack_u4_##suffix, QW_LAYOUT_U4, kernel)                                                                   \
    UNPACK(unpack_u5_##suffix, QW_LAYOUT_U5, kernel)                                                                   \
    UNPACK(unpack_u4m_##suffix, QW_LAYOUT_U4M, kernel)                                                                 \
    UNPACK(unpack_u5m_##suffix, QW_LAYOUT_U5M, kernel)                                                                 \
    UNPACK(unpack_k4m_##suffix, QW_LAYOUT_K4M, kernel)                                                                 \
    UNPACK(unpack_k5m_##suffix, QW_LAYOUT_K5M, kernel)                                                                 \
    UNPACK(unpack_k6_##suffix, QW_LAYOUT_K6, kernel)                                                                   \
    UNPACK(unpack_k4_##suffix, QW_LAYOUT_K4, kernel)                                                                   \
    UNPACK(unpack_k2m_##suffix, QW_LAYOUT_K2M, kernel)
/* In the order of qw_layout. */
#define UNPACK_ROW(suffix)                                                                                             \
    {                                                                                                                  \
        unpack_i8_##suffix, unpack_u4_##suffix, unpack_u5_##suffix, unpack_u4m_##suffix, unpack_u5m_##suffix,          \
            unpack_k4m_##suffix, unpack_k5m_##suffix, unpack_k6_##suffix, unpack_k4_##suffix, unpack_k2m_##suffix      \
    }

#define TILE(name, layout, kernel, T)                                                                                  \
    static void name(float *acc, size_t stride, const qw_tile *tile, const qw_acts *a, int32_t token, int32_t first,   \
                     int32_t n)                                                                                        \
    {                                                                                                                  \
        multiply(acc, stride, tile, a, token, first, n, make_recipe(layout, kernel), T);                               \
    }
#define TILES(name, layout, kernel)                                                                                    \
    TILE(name##_2, layout, kernel, 2)                                                                                  \
    TILE(name##_4, layout, kernel, 4)

/* Layouts that differ only in how they are packed share a kernel. */
UNPACK_ALL(QW_KERNEL_BASE, base)
TILES(base_i8, QW_LAYOUT_I8, QW_KERNEL_BASE)
TILES(base_signed, QW_LAYOUT_U4, QW_KERNEL_BASE)
TILES(base_4m, QW_LAYOUT_U4M, QW_KERNEL_BASE)
TILES(base_5m, QW_LAYOUT_U5M, QW_KERNEL_BASE)
TILES(base_halves, QW_LAYOUT_K6, QW_KERNEL_BASE)
TILES(base_k2m, QW_LAYOUT_K2M, QW_KERNEL_BASE)
#if QW_RELAXED
UNPACK_ALL(QW_KERNEL_DOT32, bytes)
TILES(dot16_u4, QW_LAYOUT_U4, QW_KERNEL_DOT16)
TILES(dot16_u4m, QW_LAYOUT_U4M, QW_KERNEL_DOT16)
TILES(dot16_u5, QW_LAYOUT_U5, QW_KERNEL_DOT16)
TILES(dot16_u5m, QW_LAYOUT_U5M, QW_KERNEL_DOT16)
TILES(dot16_k6, QW_LAYOUT_K6, QW_KERNEL_DOT16)
TILES(dot16_k4, QW_LAYOUT_K4, QW_KERNEL_DOT16)
TILES(dot16_k2m, QW_LAYOUT_K2M, QW_KERNEL_DOT16)
TILES(dot32_i8, QW_LAYOUT_I8, QW_KERNEL_DOT32)
TILES(dot32_u4, QW_LAYOUT_U4, QW_KERNEL_DOT32)
TILES(dot32_u5, QW_LAYOUT_U5, QW_KERNEL_DOT32)
TILES(dot32_min, QW_LAYOUT_U4M, QW_KERNEL_DOT32)
TILES(dot32_k6, QW_LAYOUT_K6, QW_KERNEL_DOT32)
TILES(dot32_k4, QW_LAYOUT_K4, QW_KERNEL_DOT32)
TILES(dot32_k2m, QW_LAYOUT_K2M, QW_KERNEL_DOT32)
#endif

#define BOTH(name)                                                                                                     \
    {                                                                                                                  \
        name##_2, name##_4                                                                                             \
    }

void qw_kernel_integer(qw_kernels *out, qw_layout layout, qw_kernel kernel)
{
    static qw_kernel_unpack *const unpacks[][10] = {
        UNPACK_ROW(base),
#if QW_RELAXED
        UNPACK_ROW(bytes),
#endif
    };
    static qw_kernel_tile *const tiles[][10][2] = {
        {BOTH(base_i8), BOTH(base_signed), BOTH(base_signed), BOTH(base_4m), BOTH(base_5m), BOTH(base_4m),
         BOTH(base_5m), BOTH(base_halves), BOTH(base_halves), BOTH(base_k2m)},
#if QW_RELAXED
        {BOTH(base_i8), BOTH(dot16_u4), BOTH(dot16_u5), BOTH(dot16_u4m), BOTH(dot16_u5m), BOTH(dot16_u4m),
         BOTH(dot16_u5m), BOTH(dot16_k6), BOTH(dot16_k4), BOTH(dot16_k2m)},
        {BOTH(dot32_i8), BOTH(dot32_u4), BOTH(dot32_u5), BOTH(dot32_min), BOTH(dot32_min), BOTH(dot32_min),
         BOTH(dot32_min), BOTH(dot32_k6), BOTH(dot32_k4), BOTH(dot32_k2m)},
#endif
    };
    unsigned index = (unsigned)layout - QW_LAYOUT_I8;
    bool bytes = kernel == QW_KERNEL_DOT32 || (kernel == QW_KERNEL_DOT16 && layout != QW_LAYOUT_I8);

    *out = (qw_kernels){0};
    out->one = qw_kernel_one_for(layout, kernel);
    out->unpack = unpacks[bytes][index];
    out->tile_two = tiles[kernel][index][0];
    out->tile_four = tiles[kernel][index][1];
}
