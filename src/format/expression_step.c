/* SPDX-License-Identifier: MIT
 * d(ab) = d(a)b, or d(b) where a may be empty; d(a|b), d(a&b), d(not a) go part by part; d(a{m,n}) = d(a) a{m-1,n-1}.
 * Classes of bytes as Owens, Reppy and Turon do them ("Regular-expression derivatives re-examined", JFP 19(2), 2009). */
#include "format/expression_step.h"

#include <string.h>

static uint32_t partition_hash(const qw_expr_partition *p)
{
    uint32_t hash = p->n;

    for (int b = 0; b < 256; b++) hash = hash * 31 + p->class_of[b];
    return (hash ^ hash >> 11 ^ hash >> 22) & 255;
}

/* Numbers the classes in the order of their first bytes and keeps the partition, once. Index + 1, 0: the pool fails. */
static uint32_t keep_partition(qw_expr_pool *pool, qw_expr_partition *p)
{
    uint32_t hash, at;

    hash = partition_hash(p);
    for (at = pool->partition_heads[hash]; at; at = pool->partitions[at - 1].next)
        if (!memcmp(pool->partitions[at - 1].class_of, p->class_of, sizeof p->class_of)) return at;
    if (!qw_expr_grow(pool, &pool->partitions, pool->n_partitions, &pool->cap_partitions, sizeof *p)) return 0;
    p->next = pool->partition_heads[hash];
    pool->partitions[pool->n_partitions++] = *p;
    return pool->partition_heads[hash] = (uint32_t)pool->n_partitions;
}

static void whole(qw_expr_partition *p)
{
    memset(p, 0, sizeof *p);
    p->n = 1;
}

/* Splits p's classes by other's. */
static bool refine(qw_expr_pool *pool, qw_expr_partition *p, const qw_expr_partition *other)
{
    size_t n_pairs = (size_t)p->n * other->n;
    uint32_t n = 0;

    if (other->n == 1) return true;
    while (pool->cap_pairs < n_pairs)
        if (!qw_expr_grow(pool, &pool->pairs, pool->cap_pairs, &pool->cap_pairs, sizeof *pool->pairs)) return false;
    memset(pool->pairs, 0, n_pairs * sizeof *pool->pairs);
    for (unsigned b = 0; b < 256; b++) {
        uint16_t *pair = &pool->pairs[p->class_of[b] * other->n + other->class_of[b]];

        if (!*pair) {
            p->byte_of[n] = (uint8_t)b;
            *pair = (uint16_t)++n;
        }
        p->class_of[b] = (uint8_t)(*pair - 1);
    }
    p->n = n;
    return true;
}

static void of_bytes(const qw_byte_set *set, qw_expr_partition *p)
{
    uint8_t first = qw_byte_set_has(set, 0);

    whole(p);
    for (unsigned b = 1; b < 256; b++) {
        if (qw_byte_set_has(set, (uint8_t)b) == first) continue;
        p->class_of[b] = 1;
        if (p->n == 1) p->byte_of[1] = (uint8_t)b;
        p->n = 2;
    }
}

static void of_decimal(qw_expr_partition *p)
{
    whole(p);
    for (const char *c = "-.0123456789"; *c; c++) {
        p->byte_of[p->n] = (uint8_t)*c;
        p->class_of[(uint8_t)*c] = (uint8_t)p->n++;
    }
}

static uint32_t partition_index(qw_expr_pool *pool, qw_expr id);

static bool refine_by(qw_expr_pool *pool, qw_expr_partition *p, qw_expr id, uint32_t *last)
{
    uint32_t index = partition_index(pool, id);

    if (!index) return false;
    if (index == *last) return true;
    *last = index;
    return refine(pool, p, &pool->partitions[index - 1]);
}

static bool make_partition(qw_expr_pool *pool, qw_expr id, qw_expr_partition *p)
{
    qw_expr_node node = *qw_expr_at(pool, id);
    uint32_t last = 0;

    whole(p);
    switch ((qw_expr_kind)node.kind) {
    case QW_EXPR_NODE_NONE:
    case QW_EXPR_NODE_EMPTY:
        return true;
    case QW_EXPR_NODE_BYTES:
        of_bytes(&pool->sets[node.a], p);
        return true;
    case QW_EXPR_NODE_DECIMAL:
        of_decimal(p);
        return true;
    case QW_EXPR_NODE_NOT:
    case QW_EXPR_NODE_REPEAT:
        return refine_by(pool, p, node.a, &last);
    case QW_EXPR_NODE_OR:
    case QW_EXPR_NODE_AND:
        for (uint32_t i = 0; i < node.b; i++)
            if (!refine_by(pool, p, pool->lists.v[node.a + i], &last)) return false;
        return true;
    case QW_EXPR_NODE_CONCAT:
        while (refine_by(pool, p, node.a, &last) && qw_expr_nullable(pool, node.a)) {
            if (qw_expr_at(pool, node.b)->kind != QW_EXPR_NODE_CONCAT) return refine_by(pool, p, node.b, &last);
            node = *qw_expr_at(pool, node.b);
        }
        return !pool->status;
    }
    return false;
}

static uint32_t partition_index(qw_expr_pool *pool, qw_expr id)
{
    qw_expr_partition p;

    if (!qw_expr_at(pool, id)->partition) {
        uint32_t index = make_partition(pool, id, &p) ? keep_partition(pool, &p) : 0;

        pool->nodes[id].partition = index;
    }
    return qw_expr_at(pool, id)->partition;
}

const qw_expr_partition *qw_expr_partition_of(qw_expr_pool *pool, qw_expr id)
{
    uint32_t index = partition_index(pool, id);

    return index ? &pool->partitions[index - 1] : NULL;
}

/* Those whose derivatives cost no more than looking a row up. */
static bool keeps_row(const qw_expr_pool *pool, qw_expr id)
{
    const qw_expr_node *node = qw_expr_at(pool, id);

    if (node->kind == QW_EXPR_NODE_CONCAT) return qw_expr_at(pool, node->a)->kind != QW_EXPR_NODE_BYTES;
    return node->kind > QW_EXPR_NODE_BYTES;
}

size_t qw_expr_slot(qw_expr_pool *pool, qw_expr id, uint8_t byte)
{
    uint32_t row = qw_expr_at(pool, id)->row;

    if (!row) {
        uint32_t index;

        if (!keeps_row(pool, id)) return 0;
        index = partition_index(pool, id);
        row = (uint32_t)pool->rows.n;
        if (!index || !qw_expr_push(pool, &pool->rows, index)) return 0;
        for (uint32_t c = 0; c < pool->partitions[index - 1].n; c++)
            if (!qw_expr_push(pool, &pool->rows, QW_EXPR_UNKNOWN)) return 0;
        pool->nodes[id].row = row;
    }
    return row + QW_EXPR_ROW_HEAD + pool->partitions[pool->rows.v[row] - 1].class_of[byte];
}

/* The alternatives of a concatenation, along its spine as far as what comes before may be empty. */
static qw_expr derive_concat(qw_expr_pool *pool, qw_expr id, uint8_t byte)
{
    size_t base = pool->stack.n;

    for (;;) {
        qw_expr_node node = *qw_expr_at(pool, id);
        qw_expr next;

        if (node.kind != QW_EXPR_NODE_CONCAT) {
            next = qw_expr_derive(pool, id, byte);
            qw_expr_push(pool, &pool->stack, next);
            break;
        }
        next = qw_expr_derive(pool, node.a, byte);
        if (next != QW_EXPR_NONE) {
            next = qw_expr_concat(pool, next, node.b);
            qw_expr_push(pool, &pool->stack, next);
        }
        if (!qw_expr_nullable(pool, node.a) || pool->status) break;
        id = node.b;
    }
    return qw_expr_or_top(pool, base);
}

static qw_expr derive_list(qw_expr_pool *pool, const qw_expr_node *node, uint8_t byte)
{
    size_t base = pool->stack.n;
    bool all = node->kind == QW_EXPR_NODE_AND;

    for (uint32_t i = 0; i < node->b && !pool->status; i++) {
        qw_expr next = qw_expr_derive(pool, pool->lists.v[node->a + i], byte);

        if (next == QW_EXPR_NONE && !all) continue;
        if (next == QW_EXPR_NONE) {
            pool->stack.n = base;
            return QW_EXPR_NONE;
        }
        qw_expr_push(pool, &pool->stack, next);
    }
    return all ? qw_expr_and_top(pool, base) : qw_expr_or_top(pool, base);
}

static qw_expr derive_decimal(qw_expr_pool *pool, const qw_expr_node *node, uint8_t byte)
{
    qw_decimal_state next;

    if (!qw_decimal_step(&pool->specs[node->a], &pool->states[node->b], byte, &next)) return QW_EXPR_NONE;
    return qw_expr_intern_state(pool, node->a, &next);
}

static qw_expr derive_new(qw_expr_pool *pool, qw_expr id, uint8_t byte)
{
    qw_expr_node node = *qw_expr_at(pool, id);
    qw_expr next, rest;

    switch ((qw_expr_kind)node.kind) {
    case QW_EXPR_NODE_NONE:
    case QW_EXPR_NODE_EMPTY:
        return QW_EXPR_NONE;
    case QW_EXPR_NODE_BYTES:
        return qw_byte_set_has(&pool->sets[node.a], byte) ? QW_EXPR_EMPTY : QW_EXPR_NONE;
    case QW_EXPR_NODE_CONCAT:
        if (qw_expr_at(pool, node.a)->kind == QW_EXPR_NODE_BYTES)
            return qw_byte_set_has(&pool->sets[qw_expr_at(pool, node.a)->a], byte) ? node.b : QW_EXPR_NONE;
        return derive_concat(pool, id, byte);
    case QW_EXPR_NODE_OR:
    case QW_EXPR_NODE_AND:
        return derive_list(pool, &node, byte);
    case QW_EXPR_NODE_NOT:
        next = qw_expr_derive(pool, node.a, byte);
        return qw_expr_not(pool, next);
    case QW_EXPR_NODE_REPEAT:
        next = qw_expr_derive(pool, node.a, byte);
        if (next == QW_EXPR_NONE) return next;
        rest = qw_expr_repeat(pool, node.a, node.b ? node.b - 1 : 0, node.c == UINT32_MAX ? node.c : node.c - 1);
        return qw_expr_concat(pool, next, rest);
    case QW_EXPR_NODE_DECIMAL:
        return derive_decimal(pool, &node, byte);
    }
    return QW_EXPR_NONE;
}

qw_expr qw_expr_derive(qw_expr_pool *pool, qw_expr id, uint8_t byte)
{
    size_t slot = qw_expr_slot(pool, id, byte);
    qw_expr next;

    if (slot && pool->rows.v[slot] != QW_EXPR_UNKNOWN) return pool->rows.v[slot] & ~QW_EXPR_LIVE;
    if (pool->status) return QW_EXPR_NONE;
    next = derive_new(pool, id, byte);
    if (pool->status) return QW_EXPR_NONE;
    if (slot) pool->rows.v[slot] = next;
    return next;
}
