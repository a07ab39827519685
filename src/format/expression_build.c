/* SPDX-License-Identifier: MIT
 * The constructors, with the laws that keep equal languages equal: unions and intersections are flat, sorted and without
 * repetition, concatenations lean to the right, counted repetitions of one thing are merged. The laws are what keeps the
 * number of states small: a?a?a? is a{0,3}, (a*)* is a*, and a union of counters of one thing is one counter. */
#include "format/expression_pool.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t count_max = 1u << 31;

static uint32_t add_counts(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t multiply_counts(uint32_t a, uint32_t b)
{
    return a && b > UINT32_MAX / a ? UINT32_MAX : a * b;
}

static qw_expr kind_of(const qw_expr_pool *pool, qw_expr id)
{
    return qw_expr_at(pool, id)->kind;
}

/* Whether k times a{min,max} for every k from least to most are all counts between the ends: a{min*least, max*most}. */
static bool counts_are_dense(const qw_expr_node *inner, uint32_t least, uint32_t most)
{
    uint64_t reach = inner->c == UINT32_MAX ? UINT64_MAX - 1 : (uint64_t)inner->c * least;

    if (least == most || (least > 0 && inner->c == UINT32_MAX)) return true;
    return reach + 1 >= ((uint64_t)least + 1) * inner->b;
}

/* a without the empty text, where that is one of its alternatives. */
static qw_expr without_empty(qw_expr_pool *pool, qw_expr a)
{
    const qw_expr_node *node = qw_expr_at(pool, a);
    size_t base = pool->stack.n;

    if (node->kind != QW_EXPR_NODE_OR || pool->lists.v[node->a] != QW_EXPR_EMPTY) return a;
    for (uint32_t i = 1; i < qw_expr_at(pool, a)->b; i++)
        if (!qw_expr_push(pool, &pool->stack, pool->lists.v[qw_expr_at(pool, a)->a + i])) break;
    return qw_expr_or_top(pool, base);
}

qw_expr qw_expr_repeat(qw_expr_pool *pool, qw_expr a, uint32_t min, uint32_t max)
{
    const qw_expr_node *node = qw_expr_at(pool, a);

    if (max < min || a == QW_EXPR_NONE) return min == 0 && max >= min ? QW_EXPR_EMPTY : QW_EXPR_NONE;
    if (max == 0 || a == QW_EXPR_EMPTY) return QW_EXPR_EMPTY;
    if (min > count_max) {
        qw_expr_fail(pool, QW_ERR_USAGE, "a count above 2^31 is too large");
        return QW_EXPR_NONE;
    }
    if (node->flags & QW_EXPR_NULLABLE) min = 0;
    if (min == 1 && max == 1) return a;
    if (a == QW_EXPR_ALL) return a;
    if (min == 0 && node->kind == QW_EXPR_NODE_OR) {
        a = without_empty(pool, a);
        node = qw_expr_at(pool, a);
    }
    if (node->kind == QW_EXPR_NODE_REPEAT && counts_are_dense(node, min, max))
        return qw_expr_repeat(pool, node->a, multiply_counts(node->b, min), multiply_counts(node->c, max));
    if (a == QW_EXPR_NONE) return QW_EXPR_EMPTY;
    return qw_expr_intern(pool, QW_EXPR_NODE_REPEAT, a, min, max);
}

/* What is repeated, and how often, where id is a repetition; else id, once. */
static void counts_of(const qw_expr_pool *pool, qw_expr id, qw_expr *body, uint32_t *min, uint32_t *max)
{
    const qw_expr_node *node = qw_expr_at(pool, id);
    bool counted = node->kind == QW_EXPR_NODE_REPEAT;

    *body = counted ? node->a : id;
    *min = counted ? node->b : 1;
    *max = counted ? node->c : 1;
}

/* first (no concatenation) before second. */
static qw_expr join(qw_expr_pool *pool, qw_expr first, qw_expr second)
{
    const qw_expr_node *tail = qw_expr_at(pool, second);
    qw_expr head = tail->kind == QW_EXPR_NODE_CONCAT ? tail->a : second;
    qw_expr body, next, rest = tail->kind == QW_EXPR_NODE_CONCAT ? tail->b : QW_EXPR_EMPTY;
    uint32_t min, max, min2, max2;

    if (first == QW_EXPR_NONE || second == QW_EXPR_NONE) return QW_EXPR_NONE;
    if (first == QW_EXPR_EMPTY) return second;
    if (second == QW_EXPR_EMPTY) return first;
    counts_of(pool, first, &body, &min, &max);
    counts_of(pool, head, &next, &min2, &max2);
    if (body == next && (first != body || head != next)) {
        qw_expr merged = qw_expr_repeat(pool, body, add_counts(min, min2), add_counts(max, max2));

        return rest == QW_EXPR_EMPTY ? merged : qw_expr_intern(pool, QW_EXPR_NODE_CONCAT, merged, rest, 0);
    }
    return qw_expr_intern(pool, QW_EXPR_NODE_CONCAT, first, second, 0);
}

qw_expr qw_expr_concat(qw_expr_pool *pool, qw_expr first, qw_expr second)
{
    size_t base = pool->stack.n;
    uint8_t flags = qw_expr_at(pool, first)->flags & qw_expr_at(pool, second)->flags;
    qw_expr id = second;

    if (first == QW_EXPR_NONE || second == QW_EXPR_NONE) return QW_EXPR_NONE;
    while (kind_of(pool, first) == QW_EXPR_NODE_CONCAT) {
        if (!qw_expr_push(pool, &pool->stack, qw_expr_at(pool, first)->a)) break;
        first = qw_expr_at(pool, first)->b;
    }
    id = join(pool, first, second);
    for (size_t n = pool->stack.n; n-- > base;) id = join(pool, pool->stack.v[n], id);
    pool->stack.n = base;
    if (pool->status) return QW_EXPR_NONE;
    pool->nodes[id].flags |= flags & (QW_EXPR_IN_RAW | QW_EXPR_IN_JSON);
    return id;
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static void sort_unique(qw_expr_pool *pool, size_t base)
{
    size_t n = pool->stack.n - base, kept = 0;
    uint32_t *v = n ? pool->stack.v + base : NULL;

    for (size_t i = 1; n <= 16 && i < n; i++) {
        uint32_t id = v[i];
        size_t at = i;

        for (; at && v[at - 1] > id; at--) v[at] = v[at - 1];
        v[at] = id;
    }
    if (n > 16) qsort(v, n, sizeof *v, by_id);
    for (size_t i = 0; i < n; i++)
        if (!kept || v[kept - 1] != v[i]) v[kept++] = v[i];
    pool->stack.n = base + kept;
}

/* Puts the parts of unions of unions (or intersections of intersections) in their place, sorted. */
static void flatten(qw_expr_pool *pool, size_t base, qw_expr_kind kind)
{
    size_t n = pool->stack.n;

    for (size_t i = base; i < n; i++) {
        const qw_expr_node *node = qw_expr_at(pool, pool->stack.v[i]);

        if (node->kind != kind) continue;
        pool->stack.v[i] = pool->lists.v[node->a];
        for (uint32_t k = 1; k < node->b; k++)
            if (!qw_expr_push(pool, &pool->stack, pool->lists.v[node->a + k])) return;
    }
    sort_unique(pool, base);
}

static bool has(const qw_expr_pool *pool, size_t base, qw_expr id)
{
    size_t n = pool->stack.n - base;

    return n && bsearch(&id, pool->stack.v + base, n, sizeof id, by_id) != NULL;
}

/* All byte sets among the parts as one: their union, or their intersection. */
static void merge_bytes(qw_expr_pool *pool, size_t base, bool intersect)
{
    uint32_t *v = pool->stack.v;
    qw_byte_set set;
    size_t kept = base, n_sets = 0;
    qw_expr merged;

    for (size_t i = base; i < pool->stack.n; i++) n_sets += kind_of(pool, v[i]) == QW_EXPR_NODE_BYTES;
    if (n_sets < 2) return;
    memset(&set, intersect ? 0xFF : 0, sizeof set);
    for (size_t i = base; i < pool->stack.n; i++) {
        const qw_expr_node *node = qw_expr_at(pool, v[i]);

        if (node->kind != QW_EXPR_NODE_BYTES) v[kept++] = v[i];
        for (int w = 0; w < 4 && node->kind == QW_EXPR_NODE_BYTES; w++)
            if (intersect) set.bits[w] &= pool->sets[node->a].bits[w];
            else set.bits[w] |= pool->sets[node->a].bits[w];
    }
    pool->stack.n = kept;
    merged = qw_expr_bytes(pool, &set);
    qw_expr_push(pool, &pool->stack, merged);
    sort_unique(pool, base);
}

/* An alternative seen as a head, which may be merged with another's, and a rest that must be the same. */
typedef struct headed {
    uint32_t kind; /* BYTES or REPEAT; others are left alone */
    qw_expr rest, body;
    uint32_t min, max; /* of BYTES: the set's node */
} headed;

static headed head_of(const qw_expr_pool *pool, qw_expr id)
{
    const qw_expr_node *node = qw_expr_at(pool, id);
    headed h = {.rest = QW_EXPR_EMPTY};
    qw_expr head = id;

    if (node->kind == QW_EXPR_NODE_CONCAT) {
        head = node->a;
        h.rest = node->b;
    }
    h.kind = kind_of(pool, head);
    if (h.kind == QW_EXPR_NODE_BYTES) h.min = head;
    else counts_of(pool, head, &h.body, &h.min, &h.max);
    return h;
}

/* b's head into a's; false where the two stay apart. */
static bool merge_heads(qw_expr_pool *pool, headed *a, const headed *b)
{
    qw_byte_set set;

    if (a->kind != b->kind || a->rest != b->rest) return false;
    if (a->kind == QW_EXPR_NODE_BYTES) {
        const qw_byte_set *x = &pool->sets[qw_expr_at(pool, a->min)->a], *y = &pool->sets[qw_expr_at(pool, b->min)->a];

        for (int w = 0; w < 4; w++) set.bits[w] = x->bits[w] | y->bits[w];
        a->min = qw_expr_bytes(pool, &set);
        return true;
    }
    if (a->body != b->body || b->min > add_counts(a->max, 1) || a->min > add_counts(b->max, 1)) return false;
    if (b->min < a->min) a->min = b->min;
    if (b->max > a->max) a->max = b->max;
    return true;
}

static qw_expr of_head(qw_expr_pool *pool, const headed *h)
{
    qw_expr head = h->kind == QW_EXPR_NODE_BYTES ? h->min : qw_expr_repeat(pool, h->body, h->min, h->max);

    return qw_expr_concat(pool, head, h->rest);
}

static bool is_mergeable(const qw_expr_pool *pool, qw_expr id)
{
    const qw_expr_node *node = qw_expr_at(pool, id);
    uint32_t kind = node->kind == QW_EXPR_NODE_CONCAT ? kind_of(pool, node->a) : node->kind;

    return kind == QW_EXPR_NODE_REPEAT || (kind == QW_EXPR_NODE_BYTES && node->kind == QW_EXPR_NODE_CONCAT);
}

/* Alternatives whose heads are byte sets or counters of one thing, and whose rests are the same, become one. */
static void merge_alternatives(qw_expr_pool *pool, size_t base)
{
    enum { MOST = 64 }; /* beyond, comparing each with each costs more than it saves */
    size_t n = 0, before = pool->stack.n;

    for (size_t i = base; i < before; i++) n += is_mergeable(pool, pool->stack.v[i]);
    if (n < 2 || n > MOST) return;
    for (size_t i = base; i < pool->stack.n; i++) {
        headed a = head_of(pool, pool->stack.v[i]);
        bool merged = false;

        if (!is_mergeable(pool, pool->stack.v[i])) continue;
        for (size_t k = i + 1; k < pool->stack.n; k++) {
            headed b = head_of(pool, pool->stack.v[k]);

            if (!is_mergeable(pool, pool->stack.v[k]) || !merge_heads(pool, &a, &b)) continue;
            pool->stack.v[k--] = pool->stack.v[--pool->stack.n];
            merged = true;
        }
        if (!merged) continue;
        a.rest = of_head(pool, &a);
        pool->stack.v[i] = a.rest;
    }
    if (pool->stack.n != before) sort_unique(pool, base);
}

/* Where all text of a spelling is among the parts: of a union the rest of that kind goes, of an intersection it does. */
static void absorb(qw_expr_pool *pool, size_t base, bool intersect)
{
    for (int spelling = 0; spelling < 2; spelling++) {
        uint8_t flag = spelling == QW_SPELL_JSON ? QW_EXPR_IN_JSON : QW_EXPR_IN_RAW;
        qw_expr all = pool->any_text[spelling];
        size_t kept = base, within = 0;

        if (!all || !has(pool, base, all)) continue;
        for (size_t i = base; i < pool->stack.n; i++)
            within += pool->stack.v[i] != all && qw_expr_at(pool, pool->stack.v[i])->flags & flag;
        if (!within) continue;
        for (size_t i = base; i < pool->stack.n; i++) {
            qw_expr id = pool->stack.v[i];
            bool goes = intersect ? id == all : id != all && qw_expr_at(pool, id)->flags & flag;

            if (!goes) pool->stack.v[kept++] = id;
        }
        pool->stack.n = kept;
    }
}

/* A part and its complement among the parts. */
static bool is_contradictory(const qw_expr_pool *pool, size_t base)
{
    for (size_t i = base; i < pool->stack.n; i++) {
        const qw_expr_node *node = qw_expr_at(pool, pool->stack.v[i]);

        if (node->kind == QW_EXPR_NODE_NOT && has(pool, base, node->a)) return true;
    }
    return false;
}

static void drop(qw_expr_pool *pool, size_t base, qw_expr id)
{
    size_t kept = base;

    for (size_t i = base; i < pool->stack.n; i++)
        if (pool->stack.v[i] != id) pool->stack.v[kept++] = pool->stack.v[i];
    pool->stack.n = kept;
}

static qw_expr finish(qw_expr_pool *pool, size_t base, qw_expr_kind kind, qw_expr nothing)
{
    size_t n = pool->stack.n - base;
    qw_expr id = n == 0 ? nothing : n == 1 ? pool->stack.v[base] : qw_expr_intern_list(pool, kind, base);

    pool->stack.n = base;
    return pool->status ? QW_EXPR_NONE : id;
}

static qw_expr give_up(qw_expr_pool *pool, size_t base, qw_expr id)
{
    pool->stack.n = base;
    return pool->status ? QW_EXPR_NONE : id;
}

qw_expr qw_expr_or_top(qw_expr_pool *pool, size_t base)
{
    if (pool->stack.n - base == 1) return finish(pool, base, QW_EXPR_NODE_OR, QW_EXPR_NONE);
    flatten(pool, base, QW_EXPR_NODE_OR);
    if (pool->status) return give_up(pool, base, QW_EXPR_NONE);
    drop(pool, base, QW_EXPR_NONE);
    if (has(pool, base, QW_EXPR_ALL) || is_contradictory(pool, base)) return give_up(pool, base, QW_EXPR_ALL);
    merge_bytes(pool, base, false);
    merge_alternatives(pool, base);
    if (pool->status) return give_up(pool, base, QW_EXPR_NONE);
    absorb(pool, base, false);
    if (has(pool, base, QW_EXPR_EMPTY))
        for (size_t i = base; i < pool->stack.n; i++)
            if (pool->stack.v[i] != QW_EXPR_EMPTY && qw_expr_nullable(pool, pool->stack.v[i])) {
                drop(pool, base, QW_EXPR_EMPTY);
                break;
            }
    return finish(pool, base, QW_EXPR_NODE_OR, QW_EXPR_NONE);
}

/* Numbers that are read from their beginning meet by arithmetic. */
static void merge_decimals(qw_expr_pool *pool, size_t base)
{
    qw_decimal_spec spec = {0};
    size_t kept = base, n = 0;

    for (size_t i = base; i < pool->stack.n; i++) {
        const qw_expr_node *node = qw_expr_at(pool, pool->stack.v[i]);
        const qw_decimal_spec *other;

        if (node->kind != QW_EXPR_NODE_DECIMAL || pool->states[node->b].sign) {
            pool->stack.v[kept++] = pool->stack.v[i];
            continue;
        }
        other = &pool->specs[node->a];
        if (n++ == 0) {
            spec = *other;
            continue;
        }
        if (other->lower > spec.lower) spec.lower = other->lower;
        if (other->upper < spec.upper) spec.upper = other->upper;
        spec.step = qw_decimal_lcm(spec.step, other->step);
        spec.integer = spec.integer || other->integer;
    }
    pool->stack.n = kept;
    if (n) {
        qw_expr merged = qw_expr_decimal(pool, &spec);

        if (pool->any_number) drop(pool, base, pool->any_number);
        qw_expr_push(pool, &pool->stack, merged);
        sort_unique(pool, base);
    }
}

/* not a and not b is not (a or b): so names that are taken away from a language stay one part of it. */
static void merge_complements(qw_expr_pool *pool, size_t base)
{
    size_t n = pool->stack.n, count = 0, kept = base;
    qw_expr taken;

    for (size_t i = base; i < n; i++) count += kind_of(pool, pool->stack.v[i]) == QW_EXPR_NODE_NOT;
    if (count < 2) return;
    for (size_t i = base; i < n; i++) {
        const qw_expr_node *node = qw_expr_at(pool, pool->stack.v[i]);

        if (node->kind == QW_EXPR_NODE_NOT) qw_expr_push(pool, &pool->stack, node->a);
        else pool->stack.v[kept++] = pool->stack.v[i];
    }
    taken = qw_expr_or_top(pool, n);
    pool->stack.n = kept;
    taken = qw_expr_not(pool, taken);
    qw_expr_push(pool, &pool->stack, taken);
    sort_unique(pool, base);
}

qw_expr qw_expr_and_top(qw_expr_pool *pool, size_t base)
{
    if (pool->stack.n - base == 1) return finish(pool, base, QW_EXPR_NODE_AND, QW_EXPR_ALL);
    flatten(pool, base, QW_EXPR_NODE_AND);
    if (pool->status) return give_up(pool, base, QW_EXPR_NONE);
    drop(pool, base, QW_EXPR_ALL);
    if (has(pool, base, QW_EXPR_NONE)) return give_up(pool, base, QW_EXPR_NONE);
    merge_complements(pool, base);
    merge_bytes(pool, base, true);
    merge_decimals(pool, base);
    if (pool->status || has(pool, base, QW_EXPR_NONE) || is_contradictory(pool, base))
        return give_up(pool, base, QW_EXPR_NONE);
    if (has(pool, base, QW_EXPR_EMPTY)) {
        for (size_t i = base; i < pool->stack.n; i++)
            if (!qw_expr_nullable(pool, pool->stack.v[i])) return give_up(pool, base, QW_EXPR_NONE);
        return give_up(pool, base, QW_EXPR_EMPTY);
    }
    absorb(pool, base, true);
    return finish(pool, base, QW_EXPR_NODE_AND, QW_EXPR_ALL);
}

qw_expr qw_expr_or(qw_expr_pool *pool, const qw_expr *parts, size_t n)
{
    size_t base = pool->stack.n;

    for (size_t i = 0; i < n; i++)
        if (!qw_expr_push(pool, &pool->stack, parts[i])) break;
    return qw_expr_or_top(pool, base);
}

qw_expr qw_expr_and(qw_expr_pool *pool, const qw_expr *parts, size_t n)
{
    size_t base = pool->stack.n;

    for (size_t i = 0; i < n; i++)
        if (!qw_expr_push(pool, &pool->stack, parts[i])) break;
    return qw_expr_and_top(pool, base);
}

qw_expr qw_expr_or2(qw_expr_pool *pool, qw_expr a, qw_expr b)
{
    return qw_expr_or(pool, (qw_expr[]){a, b}, 2);
}

qw_expr qw_expr_and2(qw_expr_pool *pool, qw_expr a, qw_expr b)
{
    return qw_expr_and(pool, (qw_expr[]){a, b}, 2);
}

qw_expr qw_expr_not(qw_expr_pool *pool, qw_expr a)
{
    const qw_expr_node *node = qw_expr_at(pool, a);

    return node->kind == QW_EXPR_NODE_NOT ? node->a : qw_expr_intern(pool, QW_EXPR_NODE_NOT, a, 0, 0);
}

qw_expr qw_expr_minus(qw_expr_pool *pool, qw_expr a, qw_expr b)
{
    return qw_expr_and2(pool, a, qw_expr_not(pool, b));
}

qw_expr qw_expr_decimal(qw_expr_pool *pool, const qw_decimal_spec *spec)
{
    qw_decimal_state start = qw_decimal_start();
    size_t at = pool->n_specs;

    if (!qw_decimal_possible(spec, &start)) return QW_EXPR_NONE;
    for (at = 0; at < pool->n_specs; at++) {
        const qw_decimal_spec *other = &pool->specs[at];

        if (other->lower == spec->lower && other->upper == spec->upper && other->step == spec->step &&
            other->integer == spec->integer)
            break;
    }
    if (at == pool->n_specs) {
        if (!qw_expr_grow(pool, &pool->specs, at, &pool->cap_specs, sizeof *spec)) return QW_EXPR_NONE;
        pool->specs[pool->n_specs++] = *spec;
    }
    return qw_expr_intern_state(pool, (uint32_t)at, &start);
}
