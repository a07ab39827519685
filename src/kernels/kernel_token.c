/* SPDX-License-Identifier: MIT
 * One panel times one token: codes are unpacked in registers as they stream in. Sums of products stay in int16 as
 * long as they fit: 8 sums of two products of codes below 16, 4 of codes below 32, 2 of codes below 64 (127 * 2 * 63
 * * 2 < 2^15). */
#include "kernels/kernel_token.h"

#include "kernels/kernel_block.h"

/* A token's activations of the block at hand. */
typedef struct operand {
    const qw_act *act;
    const uint8_t *wide;
} operand;

/* The block's codes with them. */
typedef struct source {
    const masks *m;
    const uint8_t *codes;
    operand x;
    qw_v128 flip; /* for signed dots */
} source;

/* The i-th 4 bytes at p in every lane. A broadcast from memory is faster by 10 % than shuffling a vector, though V8
 * spends an address computation on each. */
QW_SIMD_INLINE qw_v128 lane_of(const void *p, int i)
{
    return qw_load32_splat((const uint8_t *)p + i * 4);
}

/* Chunks k..k+n-1 as int16 sums. */
QW_SIMD_INLINE qw_v128 sum_int16(recipe c, const source *s, int k, int n)
{
    qw_v128 sum = qw_zero();

    QW_UNROLL
    for (int i = k; i < k + n; i++) {
#if QW_RELAXED
        if (c.kernel == QW_KERNEL_DOT16) {
            qw_v128 d = qw_i16x8_relaxed_dot(lane_of(s->x.act->q, i), chunk(c.t, s->m, s->codes, i));
            sum = i == k ? d : qw_i16x8_add_sat(sum, d);
            continue;
        }
#endif
        qw_v128 even = qw_i16x8_mul(pairs(c.t, s->m, s->codes, i, 0), lane_of(s->x.wide, 2 * i));
        sum = i == k ? even : qw_i16x8_add_sat(sum, even);
        sum = qw_i16x8_add_sat(sum, qw_i16x8_mul(pairs(c.t, s->m, s->codes, i, 1), lane_of(s->x.wide, 2 * i + 1)));
    }
    return sum;
}

/* The products of chunks first..last-1, four rows in four lanes, plus start. */
QW_SIMD_INLINE qw_v128 sum_of(recipe c, const source *s, int first, int last, qw_v128 start)
{
    int group = c.t.bits == 4 ? 8 : c.t.bits == 5 ? 4 : 2;
    qw_v128 sum = start, other = qw_zero();

#if QW_RELAXED
    if (c.kernel == QW_KERNEL_DOT32) {
        /* Two chains, as one takes the dot's latency at each step. */
        QW_UNROLL
        for (int k = first; k < last; k++) {
            qw_v128 w = chunk(c.t, s->m, s->codes, k), *chain = k % 2 ? &other : &sum;
            if (is_signed_dot(c) && !c.t.levels) w = qw_xor(w, s->flip);
            *chain = qw_i32x4_relaxed_dot_add(lane_of(s->x.act->q, k), w, *chain);
        }
        return qw_i32x4_add(sum, other);
    }
#endif
    (void)other;
    if (c.t.is_signed) {
        QW_UNROLL
        for (int i = 2 * first; i < 2 * last; i++)
            sum = qw_i32x4_add(sum, qw_i32x4_dot(pairs(c.t, s->m, s->codes, i / 2, i % 2), lane_of(s->x.wide, i)));
        return sum;
    }
    if (group > last - first) group = last - first;
    QW_UNROLL
    for (int k = first; k < last; k += group) sum = qw_i32x4_add(sum, qw_i32x4_pair_sums(sum_int16(c, s, k, group)));
    return sum;
}

/* A block's scales, four rows each. */
typedef struct block_scales {
    const float *scale, *min;
    const int32_t *sub, *submin; /* of the first half; the second's follow */
} block_scales;

/* Where no single chain of sums spans the block its halves are added as floats: exact, and it keeps compilers from
 * computing all products first and spilling them. */
QW_SIMD_INLINE qw_v128 whole(recipe c, const source *s)
{
    bool one_chain = c.t.bits == 4 || c.kernel == QW_KERNEL_DOT32;
    qw_v128 start = correction(c, s->x.act, 0, s->flip);

    if (one_chain) return qw_f32x4_convert_i32x4(sum_of(c, s, 0, 8, start));
    return qw_f32x4_add(qw_f32x4_convert_i32x4(sum_of(c, s, 0, 4, start)),
                        qw_f32x4_convert_i32x4(sum_of(c, s, 4, 8, qw_zero())));
}

QW_SIMD_INLINE qw_v128 add_whole(qw_v128 acc, recipe c, const source *s, block_scales scales)
{
    qw_v128 factor = qw_f32x4_mul(qw_load(scales.scale), qw_load32_splat(&s->x.act->scale));

    acc = qw_f32x4_add(acc, qw_f32x4_mul(whole(c, s), factor));
    if (!c.t.has_min) return acc;
    return qw_f32x4_add(acc, qw_f32x4_mul(qw_load(scales.min), qw_load32_splat(&s->x.act->scaled_sum)));
}

QW_SIMD_INLINE qw_v128 add_halves(qw_v128 acc, recipe c, const source *s, block_scales scales)
{
    qw_v128 xscale = qw_load32_splat(&s->x.act->scale);
    qw_v128 a = sum_of(c, s, 0, 4, correction(c, s->x.act, 0, s->flip));
    qw_v128 b = sum_of(c, s, 4, 8, correction(c, s->x.act, 1, s->flip));
    qw_v128 total = qw_i32x4_add(qw_i32x4_mul(qw_load(scales.sub), a), qw_i32x4_mul(qw_load(scales.sub + 4), b));

    acc = qw_f32x4_add(acc, qw_f32x4_mul(qw_f32x4_convert_i32x4(total), qw_f32x4_mul(qw_load(scales.scale), xscale)));
    if (!c.t.has_min) return acc;
    total = qw_i32x4_add(qw_i32x4_mul(qw_load(scales.submin), qw_load32_splat(&s->x.act->minus32[0])),
                         qw_i32x4_mul(qw_load(scales.submin + 4), qw_load32_splat(&s->x.act->minus32[1])));
    total = qw_i32x4_shr(qw_i32x4_sub(qw_zero(), total), 5);
    return qw_f32x4_add(acc, qw_f32x4_mul(qw_f32x4_convert_i32x4(total), qw_f32x4_mul(qw_load(scales.min), xscale)));
}

QW_SIMD_INLINE operand first_operand(const qw_activations *a, int32_t token)
{
    size_t at = qw_act_index(a, token, 0);

    return (operand){a->act + at, a->wide + at * QW_ACT_WIDE};
}

QW_SIMD_INLINE operand next_operand(operand x, int32_t group)
{
    return (operand){x.act + group, x.wide + group * QW_ACT_WIDE};
}

/* Layouts whose unit is one block. */
QW_SIMD_INLINE void one_simple(float *out, const uint8_t *panel, const qw_activations *a, int32_t token, recipe c)
{
    const int32_t blocks = (a->cols + QW_BLOCK - 1) / QW_BLOCK;
    masks m = make_masks(c, panel, a->flip);
    source s = {&m, panel + (c.t.levels ? QW_LEVELS : 0) + c.t.header, first_operand(a, token),
                qw_opaque(qw_i8x16_splat(a->flip))};
    qw_v128 acc = qw_zero();

    for (int32_t b = 0; b < blocks; b++) {
        const float *scale = (const float *)(const void *)(s.codes - c.t.header);
        acc = add_whole(acc, c, &s, (block_scales){scale, scale + 4, NULL, NULL});
        s.codes += qw_layout_unit_bytes(c.t);
        s.x = next_operand(s.x, a->group);
    }
    qw_store(out, acc);
}

/* Layouts with sub-scales in units of 8 blocks. */
QW_SIMD_INLINE void one_super(float *out, const uint8_t *panel, const qw_activations *a, int32_t token, recipe c)
{
    float scale[8 * 4], min[8 * 4];
    int32_t sub[16 * 4], submin[16 * 4];
    scale_rows rows = {scale, min, sub, submin, 1};
    masks m = make_masks(c, panel, a->flip);
    source s = {&m, NULL, first_operand(a, token), c.t.is_signed ? qw_i8x16_splat(a->flip) : qw_zero()};
    qw_v128 acc = qw_zero();

    if (c.t.levels) panel += QW_LEVELS;
    for (int32_t col = 0; col < a->cols; col += 8 * QW_BLOCK, panel += qw_layout_unit_bytes(c.t)) {
        unit_scales(rows, c.t, panel);
        QW_NO_UNROLL
        for (int32_t b = 0; b < 8; b++, s.x = next_operand(s.x, a->group)) {
            block_scales scales = {scale + 4 * b, min + 4 * b, sub + 8 * b, submin + 8 * b};
            s.codes = panel + c.t.header + b * c.t.bits * 16;
            acc = c.t.halves ? add_halves(acc, c, &s, scales) : add_whole(acc, c, &s, scales);
        }
    }
    qw_store(out, acc);
}

QW_SIMD_INLINE void one(float *out, const uint8_t *panel, const qw_activations *a, int32_t token, recipe c)
{
    if (c.t.blocks == 1) one_simple(out, panel, a, token, c);
    else one_super(out, panel, a, token, c);
}

#define ONE(NAME, KERNEL)                                                                                              \
    static void one_##NAME##_##KERNEL(float *out, const uint8_t *panel, const qw_activations *a, int32_t token)        \
    {                                                                                                                  \
        one(out, panel, a, token, make_recipe(QW_LAYOUT_##NAME, QW_KERNEL_##KERNEL));                                  \
    }
#define ENTRY(NAME, KERNEL) [QW_KERNEL_##KERNEL][QW_LAYOUT_##NAME] = one_##NAME##_##KERNEL,
#define ONE_BASE(NAME, ...) ONE(NAME, BASE)
#define ENTRY_BASE(NAME, ...) ENTRY(NAME, BASE)

#if QW_RELAXED
#define ONE_DOT16(NAME, ...) ONE(NAME, DOT16)
#define ONE_DOT32(NAME, ...) ONE(NAME, DOT32)
#define ENTRY_DOT16(NAME, ...) ENTRY(NAME, DOT16)
#define ENTRY_DOT32(NAME, ...) ENTRY(NAME, DOT32)
QW_SIGNED_LAYOUTS(ONE_BASE)
QW_UNSIGNED_LAYOUTS(ONE_DOT16)
QW_INTEGER_LAYOUTS(ONE_DOT32)
static qw_kernel_one *const TABLE[][QW_LAYOUT_COUNT] = {QW_SIGNED_LAYOUTS(ENTRY_BASE) QW_UNSIGNED_LAYOUTS(ENTRY_DOT16)
                                                            QW_INTEGER_LAYOUTS(ENTRY_DOT32)};
#else
QW_INTEGER_LAYOUTS(ONE_BASE)
static qw_kernel_one *const TABLE[][QW_LAYOUT_COUNT] = {QW_INTEGER_LAYOUTS(ENTRY_BASE)};
#endif

qw_kernel_one *qw_token_kernel(qw_layout layout, qw_kernel kernel)
{
    QW_ASSERT((size_t)kernel < sizeof TABLE / sizeof *TABLE && TABLE[kernel][layout]);
    return TABLE[kernel][layout];
}
