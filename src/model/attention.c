/* SPDX-License-Identifier: MIT
 * Attention over pages of 32 keys. An item of work is a tile of consecutive tokens of one row under one KV head (all query
 * heads that share it, or a part of them where there are more threads than tiles), so that a page is widened once for all
 * of them; what a query computes does not depend on the tile. */
#include "model/attention.h"

#include "base/assert.h"
#include "base/float_exp.h"

#include <math.h>
#include <string.h>

enum { TILE_TOKENS = 8, TILE_QUERIES = 64, PAGE = QW_KV_PAGE, VECTORS = PAGE / 4 };

/* One query's running softmax over scores q . key * scale. acc [head_dim] is the sum of 2^(score - max) * value. */
typedef struct query {
    const float *q;
    float *acc, *out;
    float max, sum;
} query;

/* Tokens begin..end-1 of one row under query heads head..head + n_heads - 1 of one KV head. */
typedef struct tile {
    int32_t begin, end, head, n_heads;
} tile;

/* A page at work, and what every visit to one needs. */
typedef struct page {
    const float *keys, *values; /* [head_dim][32], [32][head_dim] */
    int32_t head_dim;
    float scale; /* 1 / sqrt(head_dim) / ln 2: the softmax is one of powers of 2 */
    qw_exp2_constants exp2;
} page;

/* Keys first..end-1 of a page; `at` is the dimension from which values are added. */
typedef struct span {
    int32_t first, end, at;
} span;

typedef struct plan {
    const qw_attention_call *call;
    int32_t group, parts;    /* query heads per KV head, parts into which they are split */
    int32_t n_tiles, *start; /* [n_tiles + 1] first tokens */
} plan;

static int32_t group_of(const qw_config *c)
{
    return c->n_head / c->n_kv_head;
}

size_t qw_attention_scratch(const qw_config *c)
{
    size_t d = (size_t)c->head_dim;

    return 2 * PAGE * d + TILE_QUERIES * d;
}

/* p[i][from..from + n - 1] = q . keys of those vectors of positions, for Q queries; from, Q and n are constants at every
 * call. */
QW_SIMD_INLINE void dot_keys(qw_v128 (*p)[VECTORS], const query *s, const page *at, int Q, int from, int n)
{
    const float *keys = at->keys + 4 * from;
    qw_v128 sum[2][VECTORS];

    QW_UNROLL
    for (int i = 0; i < Q * n; i++) sum[i / n][i % n] = qw_zero();
    for (int32_t d = 0; d < at->head_dim; d++, keys += PAGE) {
        qw_v128 x[2];
        QW_UNROLL
        for (int i = 0; i < Q; i++) x[i] = qw_load32_splat(s[i].q + d);
        QW_UNROLL
        for (int j = 0; j < n; j++) {
            qw_v128 k = qw_load(keys + 4 * j);
            QW_UNROLL
            for (int i = 0; i < Q; i++) sum[i][j] = qw_f32x4_add(sum[i][j], qw_f32x4_mul(x[i], k));
        }
    }
    QW_UNROLL
    for (int i = 0; i < Q * n; i++) p[i / n][from + i % n] = sum[i / n][i % n];
}

static float largest(const qw_v128 *p)
{
    qw_v128 max = p[0];

    for (int32_t j = 1; j < VECTORS; j++) max = qw_f32x4_max(max, p[j]);
    return qw_f32x4_hmax(max);
}

static float masked(qw_v128 *p, int32_t first, int32_t end)
{
    float s[PAGE], max = -INFINITY;

    for (int32_t j = 0; j < VECTORS; j++) qw_store(s + 4 * j, p[j]);
    for (int32_t i = 0; i < PAGE; i++) {
        if (i < first || i >= end) s[i] = -INFINITY;
        if (s[i] > max) max = s[i];
    }
    for (int32_t j = 0; j < VECTORS; j++) p[j] = qw_load(s + 4 * j);
    return max;
}

/* Four vectors of each query's acc += sum over keys first..end-1, ascending, of p * value. */
QW_SIMD_INLINE void add_values_16(const query *s, const float (*p)[PAGE], const page *at, span seen, int Q)
{
    const float *values = at->values + seen.at + seen.first * at->head_dim;
    qw_v128 a[2][4];

    QW_UNROLL
    for (int i = 0; i < Q * 4; i++) a[i / 4][i % 4] = qw_load(s[i / 4].acc + seen.at + i % 4 * 4);
    for (int32_t j = seen.first; j < seen.end; j++, values += at->head_dim) {
        qw_v128 w[2];
        QW_UNROLL
        for (int i = 0; i < Q; i++) w[i] = qw_load32_splat(&p[i][j]);
        QW_UNROLL
        for (int v = 0; v < 4; v++) {
            qw_v128 x = qw_load(values + 4 * v);
            QW_UNROLL
            for (int i = 0; i < Q; i++) a[i][v] = qw_f32x4_add(a[i][v], qw_f32x4_mul(w[i], x));
        }
    }
    QW_UNROLL
    for (int i = 0; i < Q * 4; i++) qw_store(s[i / 4].acc + seen.at + i % 4 * 4, a[i / 4][i % 4]);
}

QW_SIMD_INLINE void add_values(const query *s, const float (*p)[PAGE], const page *at, span seen, int Q)
{
    int32_t d = at->head_dim;

    for (; seen.at + 16 <= d; seen.at += 16) add_values_16(s, p, at, seen, Q);
    for (int i = 0; i < Q; i++)
        for (int32_t k = seen.at; k < d; k++)
            for (int32_t j = seen.first; j < seen.end; j++) s[i].acc[k] += p[i][j] * at->values[j * d + k];
}

/* p = q . keys to weights 2^(p * scale - max), with the query's sums brought to the new maximum. Unrolled, so that the powers
 * overlap; not inlined, for it would stand three times in visit_one and visit_two. */
__attribute__((noinline)) static void weigh(query *s, float *weights, const qw_v128 *p, float max, const page *at)
{
    qw_v128 sum = qw_f32x4_splat(0), most, scale = qw_f32x4_splat(at->scale);

    if (max > s->max) {
        float shrink = qw_f32x4_lane(qw_f32x4_exp2(qw_f32x4_splat(s->max - max), &at->exp2), 0);
        for (int32_t i = 0; i < at->head_dim; i++) s->acc[i] *= shrink;
        s->sum *= shrink;
        s->max = max;
    }
    most = qw_f32x4_splat(s->max);
    QW_UNROLL
    for (int32_t j = 0; j < VECTORS; j++) {
        qw_v128 w = qw_f32x4_exp2(qw_f32x4_sub(qw_f32x4_mul(p[j], scale), most), &at->exp2);
        sum = qw_f32x4_add(sum, w);
        qw_store(weights + 4 * j, w);
    }
    s->sum += qw_f32x4_sum(sum);
}

/* Takes the seen keys of one page into the running softmax of Q queries. Two share every load of a key or value, and keep
 * enough sums under way to hide an addition's latency. */
QW_SIMD_INLINE void visit_page(query *s, const page *at, span seen, int Q)
{
    qw_v128 p[2][VECTORS];
    float weights[2][PAGE];

    if (Q == 1) {
        dot_keys(p, s, at, 1, 0, VECTORS);
    } else {
        dot_keys(p, s, at, 2, 0, VECTORS / 2);
        dot_keys(p, s, at, 2, VECTORS / 2, VECTORS / 2);
    }
    for (int i = 0; i < Q; i++) {
        float max = largest(p[i]);

        if (seen.first > 0 || seen.end < PAGE) max = masked(p[i], seen.first, seen.end);
        weigh(&s[i], weights[i], p[i], max * at->scale, at);
    }
    add_values(s, (const float(*)[PAGE])weights, at, seen, Q);
}

static void visit_one(query *s, const page *at, span seen)
{
    visit_page(s, at, seen, 1);
}

static void visit_two(query *s, const page *at, span seen)
{
    visit_page(s, at, seen, 2);
}

static int32_t first_key(const qw_attention_call *c, int32_t pos)
{
    return c->window > 0 && pos >= c->window ? pos - c->window + 1 : 0;
}

/* What of page `index` a query at pos sees; false where it is nothing. */
static bool seen_part(const qw_attention_call *c, int32_t pos, int32_t index, span *seen)
{
    *seen = (span){first_key(c, pos) - index * PAGE, pos + 1 - index * PAGE, 0};
    if (seen->first < 0) seen->first = 0;
    if (seen->end > PAGE) seen->end = PAGE;
    return seen->first < seen->end;
}

/* Starts the running softmax of a tile's queries, heads fastest; returns how many there are. */
static int32_t start_queries(query *queries, const qw_attention_call *c, const tile *t, float *acc)
{
    size_t d = (size_t)c->config->head_dim, width = d * (size_t)c->config->n_head;
    int32_t n = 0;

    QW_ASSERT((t->end - t->begin) * t->n_heads <= TILE_QUERIES);
    QW_ASSERT(t->head + t->n_heads <= c->config->n_head && t->end <= c->tokens.n);
    for (int32_t i = t->begin; i < t->end; i++)
        for (int32_t h = t->head; h < t->head + t->n_heads; h++, n++) {
            size_t at = (size_t)i * width + (size_t)h * d;
            queries[n] = (query){c->q + at, acc + (size_t)n * d, c->out + at, -INFINITY, 0};
            memset(queries[n].acc, 0, d * sizeof(float));
        }
    return n;
}

static void visit_tile(const qw_attention_call *c, const tile *t, float *scratch)
{
    const int32_t *pos = c->tokens.pos;
    int32_t d = c->config->head_dim, kv_head = t->head / group_of(c->config), row = c->tokens.row[t->begin];
    float *k_block = scratch, *v_block = k_block + PAGE * d, *acc = v_block + PAGE * d;
    int32_t first = first_key(c, pos[t->begin]) / PAGE, last = pos[t->end - 1] / PAGE;
    page at = {.head_dim = d, .scale = 1.44269504f / sqrtf((float)d), .exp2 = qw_make_exp2()};
    query queries[TILE_QUERIES];
    span seen, next;
    int32_t n = start_queries(queries, c, t, acc), burst = qw_fetch_count(2 * c->kv->block_bytes);

    for (int32_t index = first; index <= last; index++) {
        if ((index - first) % burst == 0)
            for (int32_t i = index; i <= last && i < index + burst; i++) qw_kv_fetch(c->kv, c->layer, row, i, kv_head);
        at.keys = qw_kv_keys(c->kv, c->layer, row, index, kv_head, k_block);
        at.values = qw_kv_values(c->kv, c->layer, row, index, kv_head, v_block);
        for (int32_t i = 0; i < n; i++) {
            if (!seen_part(c, pos[t->begin + i / t->n_heads], index, &seen)) continue;
            if (i + 1 < n && seen_part(c, pos[t->begin + (i + 1) / t->n_heads], index, &next) &&
                next.first == seen.first && next.end == seen.end)
                visit_two(&queries[i++], &at, seen);
            else visit_one(&queries[i], &at, seen);
        }
    }
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < d; j++) queries[i].out[j] = queries[i].acc[j] / queries[i].sum;
}

/* Item = (tile of tokens, KV head, part of its query heads), parts fastest. */
static void work(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const plan *p = arg;
    const qw_attention_call *c = p->call;
    float *scratch = c->scratch + (size_t)thread * qw_attention_scratch(c->config);

    for (int32_t i = first; i < last; i++) {
        int32_t part = i % p->parts, kv_head = i / p->parts % c->config->n_kv_head;
        int32_t token = i / p->parts / c->config->n_kv_head;
        int32_t head = p->group * part / p->parts, head_end = p->group * (part + 1) / p->parts;
        tile t = {p->start[token], p->start[token + 1], kv_head * p->group + head, head_end - head};

        visit_tile(c, &t, scratch);
    }
}

/* Cuts the tokens into tiles of one row. */
static int32_t cut_tiles(plan *p, const qw_positions *t, int32_t most)
{
    int32_t n = 0;

    for (int32_t i = 0; i < t->n; i++)
        if (i == 0 || t->row[i] != t->row[i - 1] || i - p->start[n - 1] >= most) p->start[n++] = i;
    p->start[n] = t->n;
    return n;
}

void qw_attention(qw_pool *pool, const qw_attention_call *call)
{
    plan p = {.call = call, .start = call->tiles, .group = group_of(call->config), .parts = 1};
    int32_t most = TILE_QUERIES / p.group, items, threads = qw_pool_threads(pool);

    if (most > TILE_TOKENS) most = TILE_TOKENS;
    if (most < 1) { /* more query heads to a KV head than a tile holds */
        most = 1;
        p.parts = (p.group + TILE_QUERIES - 1) / TILE_QUERIES;
    }
    p.n_tiles = cut_tiles(&p, &call->tokens, most);
    items = p.n_tiles * call->config->n_kv_head;
    if (items < threads && p.parts < (threads + items - 1) / items) p.parts = (threads + items - 1) / items;
    if (p.parts > p.group) p.parts = p.group;
    qw_pool_run(pool, items * p.parts, 1, work, &p);
}
