/* SPDX-License-Identifier: MIT
 * Two panels times tiles of tokens: some hundred columns of the panels are unpacked into a buffer that stays in the
 * L1 cache and meets all tokens there. From then on a block is a run of equal steps: a few columns of 8 rows times 4
 * tokens, into 4 times 2 vectors of sums. The steps stay a loop: unrolled, compilers compute sum after sum and spill
 * what these share.
 *
 * Sums are int32. DOT16 makes int16 of two products a step, which hold 8 steps of codes below 16; of larger codes it
 * adds two steps in int16, the rest in int32. */
#include "kernels/kernel_tile.h"

#include "kernels/kernel_block.h"

#include <stddef.h>

enum { MOST_TOKENS = 4, PANELS = QW_TILE_PANELS };

typedef struct plan {
    recipe c;
    int steps;  /* of a block, or of half of one where that has a scale */
    int round;  /* steps at a time: 2; 1 where V8 then unrolls the loop itself, and better (BASE without halves) */
    bool int16; /* DOT16 of codes below 16 */
} plan;

QW_SIMD_INLINE plan make_plan(recipe c)
{
    plan p = {.c = c};

    p.steps = (c.kernel == QW_KERNEL_BASE ? 16 : 8) / (c.t.halves ? 2 : 1);
    p.int16 = c.kernel == QW_KERNEL_DOT16 && c.t.bits == 4;
    p.round = c.kernel == QW_KERNEL_BASE && !c.t.halves ? 1 : 2;
    return p;
}

/* Codes of the first panel at out, those of the second one vector after. */
QW_SIMD_INLINE void unpack_codes(int16_t *out, recipe c, const masks *m, const uint8_t *codes)
{
    QW_UNROLL
    for (int k = 0; k < 8; k++) {
        if (c.kernel == QW_KERNEL_BASE) {
            QW_UNROLL
            for (int odd = 0; odd < 2; odd++) qw_store(out + (2 * k + odd) * PANELS * 8, pairs(c.t, m, codes, k, odd));
        } else {
            qw_store(out + k * PANELS * 8, chunk(c.t, m, codes, k));
        }
    }
}

/* Signed codes need no unpacking: the panels themselves are read. */
QW_SIMD_INLINE bool in_place(recipe c)
{
    return is_signed_dot(c) && !c.t.levels;
}

QW_SIMD_INLINE void unpack(qw_tile *tile, int32_t index, const uint8_t *panel, int32_t first, int32_t n, recipe c)
{
    const int32_t unit = qw_layout_unit_bytes(c.t);
    masks m = make_masks(c, panel, tile->flip);

    tile->correction = is_signed_dot(c)   ? offsetof(qw_act, minus128)
                       : c.t.offset == 8  ? offsetof(qw_act, minus8)
                       : c.t.offset == 16 ? offsetof(qw_act, minus16)
                                          : offsetof(qw_act, minus32);
    tile->shift = c.t.offset == 4 ? 3 : 0;
    panel += (c.t.levels ? QW_LEVELS : 0) + (size_t)(first / c.t.blocks) * (size_t)unit;
    tile->panel[index] = panel;
    if (in_place(c)) return;
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

/* Sums of a tile's tokens and two panels. */
typedef struct sums {
    qw_v128 v[MOST_TOKENS][PANELS];
} sums;

/* A group of tokens' activations of the block at hand. */
typedef struct tokens {
    const qw_act *act;
    const uint8_t *wide;
    qw_v128 flip; /* for signed dots */
} tokens;

QW_SIMD_INLINE const uint8_t *block_in(const qw_tile *tile, plan p, int32_t at, int r)
{
    return tile->panel[r] + at * qw_layout_unit_bytes(p.c.t);
}

QW_SIMD_INLINE qw_v128 scale_of(const qw_tile *tile, plan p, int32_t at, int r)
{
    return qw_load(in_place(p.c) ? (const void *)block_in(tile, p, at, r) : tile->scale[at][r]);
}

QW_SIMD_INLINE const uint8_t *operand_of(plan p, const tokens *x, int t)
{
    return p.c.kernel == QW_KERNEL_BASE ? x->wide + t * QW_ACT_WIDE : (const uint8_t *)x->act[t].q;
}

/* sum + a round of steps of a panel. */
QW_SIMD_INLINE qw_v128 add_round(plan p, qw_v128 sum, const qw_v128 w[2], const qw_v128 x[2])
{
#if QW_RELAXED
    if (p.c.kernel == QW_KERNEL_DOT32)
        return qw_i32x4_relaxed_dot_add(x[1], w[1], qw_i32x4_relaxed_dot_add(x[0], w[0], sum));
    if (p.c.kernel == QW_KERNEL_DOT16) {
        qw_v128 first = qw_i16x8_relaxed_dot(x[0], w[0]), second = qw_i16x8_relaxed_dot(x[1], w[1]);
        if (p.int16) return qw_i16x8_add(qw_i16x8_add(sum, first), second);
        return qw_i32x4_add(sum, qw_i32x4_pair_sums(qw_i16x8_add(first, second)));
    }
#endif
    sum = qw_i32x4_add(sum, qw_i32x4_dot(w[0], x[0]));
    return p.round == 1 ? sum : qw_i32x4_add(sum, qw_i32x4_dot(w[1], x[1]));
}

/* sums += the round from step i on of all tokens. */
QW_SIMD_INLINE void add_steps(sums *s, plan p, qw_v128 w[PANELS][2], const tokens *x, int i)
{
    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) {
        const uint8_t *q = operand_of(p, x, t) + 4 * i;
        qw_v128 at[2] = {qw_load32_splat(q)};
        if (p.round == 2) at[1] = qw_load32_splat(q + 4);
        QW_UNROLL
        for (int r = 0; r < PANELS; r++) s->v[t][r] = add_round(p, s->v[t][r], w[r], at);
    }
}

/* p.steps steps from `from` on. */
QW_SIMD_INLINE void run_unpacked(sums *s, plan p, const int16_t *codes, const tokens *x, int from)
{
    QW_NO_UNROLL
    for (int i = from; i < from + p.steps; i += p.round) {
        qw_v128 w[PANELS][2];
        QW_UNROLL
        for (int j = 0; j < p.round; j++) QW_UNROLL
        for (int r = 0; r < PANELS; r++) w[r][j] = qw_load(codes + ((i + j) * PANELS + r) * 8);
        add_steps(s, p, w, x, i);
    }
}

#if QW_RELAXED
QW_SIMD_INLINE void run_signed(sums *s, plan p, const qw_tile *tile, int32_t at, const tokens *x)
{
    const uint8_t *codes[PANELS];

    QW_UNROLL
    for (int r = 0; r < PANELS; r++) codes[r] = block_in(tile, p, at, r) + p.c.t.header;
    QW_NO_UNROLL
    for (int k = 0; k < 8; k += 2) {
        qw_v128 w[PANELS][2];
        QW_UNROLL
        for (int j = 0; j < 2; j++) QW_UNROLL
        for (int r = 0; r < PANELS; r++) w[r][j] = qw_xor(qw_load(codes[r] + (k + j) * 16), x->flip);
        add_steps(s, p, w, x, k);
    }
}
#else
#define run_signed(s, p, tile, at, x) ((void)0)
#endif

/* The sums that the result of a block, or of its half h, starts from: minus what unsigned codes are off by. */
QW_SIMD_INLINE qw_v128 start_of(plan p, const qw_tile *tile, const qw_act *x, int h, qw_v128 flip)
{
    qw_v128 minus;

    if (is_signed_dot(p.c)) return correction(p.c, x, h, flip);
    if (!p.c.t.offset) return qw_zero();
    minus = qw_load32_splat((const uint8_t *)x + tile->correction + h * 4);
    return p.c.t.halves ? qw_i32x4_shr(minus, (unsigned)tile->shift) : minus;
}

/* A block, or half h of it, as int32. */
QW_SIMD_INLINE void run_steps(sums *out, plan p, const qw_tile *tile, int32_t at, const tokens *x, int h)
{
    const int16_t *codes = tile->codes[at];

    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) {
        qw_v128 start = start_of(p, tile, x->act + t, h, x->flip);
        QW_UNROLL
        for (int r = 0; r < PANELS; r++) out->v[t][r] = start;
    }
    if (in_place(p.c)) {
        run_signed(out, p, tile, at, x);
        return;
    }
    if (!p.int16) {
        run_unpacked(out, p, codes, x, h * p.steps);
        return;
    }
    sums part;
    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) part.v[t][r] = qw_zero();
    run_unpacked(&part, p, codes, x, h * p.steps);
    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) out->v[t][r] = qw_i32x4_add(out->v[t][r], qw_i32x4_pair_sums(part.v[t][r]));
}

/* acc += (float)isum * (scale * xscale), and the minima. */
QW_SIMD_INLINE void add_whole(sums *acc, plan p, const qw_tile *tile, int32_t at, const tokens *x)
{
    sums s;

    run_steps(&s, p, tile, at, x, 0);
    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) {
        const qw_act *b = x->act + t;
        qw_v128 factor = qw_f32x4_mul(scale_of(tile, p, at, r), qw_load32_splat(&b->scale));
        qw_v128 y = qw_f32x4_add(acc->v[t][r], qw_f32x4_mul(qw_f32x4_convert_i32x4(s.v[t][r]), factor));
        if (p.c.t.has_min)
            y = qw_f32x4_add(y, qw_f32x4_mul(qw_load(tile->min[at][r]), qw_load32_splat(&b->scaled_sum)));
        acc->v[t][r] = y;
    }
}

/* (float)(m0 * sum0 + m1 * sum1) * (dmin * xscale); the sums stand in b times -32. */
QW_SIMD_INLINE qw_v128 minimum_of_halves(const qw_tile *tile, int32_t at, int r, const qw_act *b)
{
    qw_v128 sum = qw_i32x4_add(qw_i32x4_mul(qw_load(tile->submin[at][0][r]), qw_load32_splat(&b->minus32[0])),
                               qw_i32x4_mul(qw_load(tile->submin[at][1][r]), qw_load32_splat(&b->minus32[1])));

    sum = qw_i32x4_shr(qw_i32x4_sub(qw_zero(), sum), 5);
    return qw_f32x4_mul(qw_f32x4_convert_i32x4(sum),
                        qw_f32x4_mul(qw_load(tile->min[at][r]), qw_load32_splat(&b->scale)));
}

QW_SIMD_INLINE void add_halves(sums *acc, plan p, const qw_tile *tile, int32_t at, const tokens *x)
{
    sums first, second;

    run_steps(&first, p, tile, at, x, 0);
    run_steps(&second, p, tile, at, x, 1);
    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) {
        const qw_act *b = x->act + t;
        qw_v128 isum = qw_i32x4_add(qw_i32x4_mul(first.v[t][r], qw_load(tile->sub[at][0][r])),
                                    qw_i32x4_mul(second.v[t][r], qw_load(tile->sub[at][1][r])));
        qw_v128 factor = qw_f32x4_mul(qw_load(tile->scale[at][r]), qw_load32_splat(&b->scale));
        qw_v128 y = qw_f32x4_add(acc->v[t][r], qw_f32x4_mul(qw_f32x4_convert_i32x4(isum), factor));
        acc->v[t][r] = p.c.t.has_min ? qw_f32x4_add(y, minimum_of_halves(tile, at, r, b)) : y;
    }
}

QW_SIMD_INLINE void multiply(const qw_tile_tokens *to, const qw_tile *tile, int32_t first, int32_t n, recipe c)
{
    plan p = make_plan(c);
    const qw_activations *a = to->a;
    size_t at = qw_act_index(a, to->token, first);
    tokens x = {a->act + at, a->wide + at * QW_ACT_WIDE, qw_opaque(qw_i8x16_splat(a->flip))};
    sums s;

    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) s.v[t][r] = qw_load(to->acc + (size_t)t * to->stride + r * 4);
    for (int32_t i = 0; i < n; i++) {
        if (c.t.halves) add_halves(&s, p, tile, i, &x);
        else add_whole(&s, p, tile, i, &x);
        x.act += QW_ACT_GROUP;
        x.wide += QW_ACT_GROUP * QW_ACT_WIDE;
    }
    QW_UNROLL
    for (int t = 0; t < QW_TILE_TOKENS; t++) QW_UNROLL
    for (int r = 0; r < PANELS; r++) qw_store(to->acc + (size_t)t * to->stride + r * 4, s.v[t][r]);
}

#define UNPACK(NAME, KERNEL)                                                                                           \
    static void unpack_##NAME##_##KERNEL(qw_tile *tile, int32_t index, const uint8_t *panel, int32_t first, int32_t n) \
    {                                                                                                                  \
        unpack(tile, index, panel, first, n, make_recipe(QW_LAYOUT_##NAME, QW_KERNEL_##KERNEL));                       \
    }
#define TILE(KERNEL, NAME)                                                                                             \
    static void tile_##NAME##_##KERNEL(const qw_tile_tokens *to, const qw_tile *tile, int32_t first, int32_t n)        \
    {                                                                                                                  \
        multiply(to, tile, first, n, make_recipe(QW_LAYOUT_##NAME, QW_KERNEL_##KERNEL));                               \
    }
#define UNPACK_ENTRY(NAME, KERNEL) [QW_KERNEL_##KERNEL][QW_LAYOUT_##NAME] = unpack_##NAME##_##KERNEL,
#define TILE_ENTRY(KERNEL, NAME) [QW_KERNEL_##KERNEL][QW_LAYOUT_##NAME] = tile_##NAME##_##KERNEL,
#define UNPACK_BASE(NAME, ...) UNPACK(NAME, BASE)
#define UNPACK_ENTRY_BASE(NAME, ...) UNPACK_ENTRY(NAME, BASE)

/* What shared_by() may return for signed codes. */
#define SIGNED(X, KERNEL) X(KERNEL, I8) X(KERNEL, KT4)
/* For unsigned ones: of any width, and those that DOT16 has apart for more than 4 bits. */
#define SHARED(X, KERNEL) X(KERNEL, U4) X(KERNEL, U4M) X(KERNEL, K6) X(KERNEL, K2M)
#define SHARED_WIDE(X, KERNEL) X(KERNEL, U5) X(KERNEL, U5M)

#if QW_RELAXED
/* Bytes are unpacked alike for DOT16 and DOT32. */
#define UNPACK_DOT32(NAME, ...) UNPACK(NAME, DOT32)
#define UNPACK_ENTRY_DOT32(NAME, ...) UNPACK_ENTRY(NAME, DOT32)
#define UNPACK_ENTRY_DOT16(NAME, ...) [QW_KERNEL_DOT16][QW_LAYOUT_##NAME] = unpack_##NAME##_DOT32,
QW_SIGNED_LAYOUTS(UNPACK_BASE)
QW_INTEGER_LAYOUTS(UNPACK_DOT32)
SIGNED(TILE, BASE)
SHARED(TILE, DOT16)
SHARED_WIDE(TILE, DOT16)
SIGNED(TILE, DOT32)
SHARED(TILE, DOT32)
static qw_kernel_unpack *const UNPACKS[][QW_LAYOUT_COUNT] = {QW_SIGNED_LAYOUTS(UNPACK_ENTRY_BASE) QW_UNSIGNED_LAYOUTS(
    UNPACK_ENTRY_DOT16) QW_INTEGER_LAYOUTS(UNPACK_ENTRY_DOT32)};
static qw_kernel_tile *const TILE_TABLE[][QW_LAYOUT_COUNT] = {SIGNED(TILE_ENTRY, BASE) SHARED(
    TILE_ENTRY, DOT16) SHARED_WIDE(TILE_ENTRY, DOT16) SIGNED(TILE_ENTRY, DOT32) SHARED(TILE_ENTRY, DOT32)};
#else
QW_INTEGER_LAYOUTS(UNPACK_BASE)
SIGNED(TILE, BASE)
SHARED(TILE, BASE)
static qw_kernel_unpack *const UNPACKS[][QW_LAYOUT_COUNT] = {QW_INTEGER_LAYOUTS(UNPACK_ENTRY_BASE)};
static qw_kernel_tile *const TILE_TABLE[][QW_LAYOUT_COUNT] = {SIGNED(TILE_ENTRY, BASE) SHARED(TILE_ENTRY, BASE)};
#endif

/* Layouts that differ only in how they are packed, or in their offset, share a kernel: that of one of them. */
static qw_layout shared_by(qw_layout_traits t, qw_kernel kernel)
{
    bool wide = kernel == QW_KERNEL_DOT16 && t.bits > 4;

    if (t.is_signed && t.halves) return QW_LAYOUT_KT4;
    /* Levels are unpacked to bytes, with what their flip is off by where other layouts' offset stands. */
    if (t.is_signed) return t.levels && kernel == QW_KERNEL_DOT32 ? QW_LAYOUT_U4 : QW_LAYOUT_I8;
    if (t.halves) return t.has_min ? QW_LAYOUT_K2M : QW_LAYOUT_K6;
    if (t.has_min) return wide ? QW_LAYOUT_U5M : QW_LAYOUT_U4M;
    return wide ? QW_LAYOUT_U5 : QW_LAYOUT_U4;
}

qw_tile_kernels qw_tile_kernels_for(qw_layout layout, qw_kernel kernel)
{
    qw_kernel_tile *tile = TILE_TABLE[kernel][shared_by(qw_layout_traits_of(layout), kernel)];

    QW_ASSERT((size_t)kernel < sizeof UNPACKS / sizeof *UNPACKS && UNPACKS[kernel][layout] && tile);
    return (qw_tile_kernels){UNPACKS[kernel][layout], tile};
}
