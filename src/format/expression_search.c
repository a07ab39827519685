/* SPDX-License-Identifier: MIT
 * Whether anything is left, and how short: told by the parts of most expressions when they are made. What an intersection
 * or a complement leaves is searched for over derivatives, the most promising first (A*: what a part needs at least, the
 * whole needs), so that counters are walked straight to their end; what was found is kept. */
#include "format/expression_step.h"

#include "base/alloc.h"

enum { MOST_STATES = 60000 }; /* of one search; beyond, the language counts as too complex */

typedef struct entry {
    qw_expr id;
    uint32_t parent, depth; /* entry it was reached from by one byte; bytes so far */
    bool closed;
} entry;

typedef struct waiting {
    uint32_t total, entry; /* at least so many bytes in all */
} waiting;

typedef struct search {
    qw_expr_pool *pool;
    entry *entries;
    waiting *heap;
    size_t n, cap, n_heap, cap_heap;
} search;

static bool before(const search *s, waiting a, waiting b)
{
    if (a.total != b.total) return a.total < b.total;
    return s->entries[a.entry].depth > s->entries[b.entry].depth;
}

static void heap_push(search *s, waiting w)
{
    size_t at;

    if (!qw_expr_grow(s->pool, &s->heap, s->n_heap, &s->cap_heap, sizeof *s->heap)) return;
    at = s->n_heap++;
    for (; at && before(s, w, s->heap[(at - 1) / 2]); at = (at - 1) / 2) s->heap[at] = s->heap[(at - 1) / 2];
    s->heap[at] = w;
}

static waiting heap_pop(search *s)
{
    waiting top = s->heap[0], last = s->heap[--s->n_heap];
    size_t at = 0;

    for (size_t child; (child = 2 * at + 1) < s->n_heap; at = child) {
        if (child + 1 < s->n_heap && before(s, s->heap[child + 1], s->heap[child])) child++;
        if (!before(s, s->heap[child], last)) break;
        s->heap[at] = s->heap[child];
    }
    if (s->n_heap) s->heap[at] = last;
    return top;
}

/* Puts id in the open list, or finds a shorter way to it. */
static void reach(search *s, qw_expr id, uint32_t parent, uint32_t depth)
{
    qw_expr_node *node = &s->pool->nodes[id];
    uint32_t at = node->entry, total;

    if (node->least == UINT32_MAX) return;
    if (at >= s->n || s->entries[at].id != id) {
        if (!qw_expr_grow(s->pool, &s->entries, s->n, &s->cap, sizeof *s->entries)) return;
        at = node->entry = (uint32_t)s->n++;
        s->entries[at] = (entry){.id = id, .depth = UINT32_MAX};
    }
    if (s->entries[at].closed || s->entries[at].depth <= depth) return;
    s->entries[at].parent = parent;
    s->entries[at].depth = depth;
    total = node->least > UINT32_MAX - 1 - depth ? UINT32_MAX - 1 : node->least + depth;
    heap_push(s, (waiting){total, at});
}

static void settle(qw_expr_pool *pool, qw_expr id, uint32_t least)
{
    pool->nodes[id].least = least;
    pool->nodes[id].flags |= QW_EXPR_EXACT;
}

/* Everything on the way to a known end is known. */
static void settle_path(search *s, uint32_t at, uint32_t total)
{
    for (;; at = s->entries[at].parent) {
        entry *e = &s->entries[at];

        if (!(s->pool->nodes[e->id].flags & QW_EXPR_EXACT)) settle(s->pool, e->id, total - e->depth);
        if (at == 0) return;
    }
}

/* The exact bytes that id needs, settled; its classes are gone through by their bytes. */
static void run(search *s, qw_expr id)
{
    qw_expr_pool *pool = s->pool;
    size_t closed = 0;

    reach(s, id, 0, 0);
    while (s->n_heap && !pool->status) {
        waiting w = heap_pop(s);
        entry *e = &s->entries[w.entry];
        const qw_expr_partition *p;
        uint8_t bytes[256];
        uint32_t n, depth = e->depth;

        if (e->closed) continue;
        e->closed = true;
        if (pool->nodes[e->id].flags & QW_EXPR_EXACT) {
            settle_path(s, w.entry, w.total);
            return;
        }
        if (++closed > MOST_STATES) {
            qw_expr_fail(pool, QW_ERR_USAGE,
                         "the rules of a text are too complex together (patterns, lengths, exclusions): use fewer");
            return;
        }
        id = e->id;
        p = qw_expr_partition_of(pool, id);
        n = p ? p->n : 0;
        for (uint32_t c = 0; c < n; c++) bytes[c] = p->byte_of[c];
        for (uint32_t c = 0; c < n && !pool->status; c++) {
            qw_expr next = qw_expr_derive(pool, id, bytes[c]);
            reach(s, next, w.entry, depth + 1);
        }
    }
    for (size_t i = 0; i < s->n && !pool->status; i++)
        if (!(pool->nodes[s->entries[i].id].flags & QW_EXPR_EXACT)) settle(pool, s->entries[i].id, UINT32_MAX);
}

static uint32_t sum(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

uint32_t qw_expr_shortest(qw_expr_pool *pool, qw_expr a);

/* Of a union, a concatenation or a repetition, by its parts. */
static uint32_t by_parts(qw_expr_pool *pool, qw_expr id)
{
    qw_expr_node node = *qw_expr_at(pool, id);
    uint32_t least = node.kind == QW_EXPR_NODE_OR ? UINT32_MAX : 0, part;

    if (node.kind == QW_EXPR_NODE_REPEAT) {
        part = qw_expr_shortest(pool, node.a);
        return part && node.b > UINT32_MAX / part ? UINT32_MAX : node.b * part;
    }
    for (uint32_t i = 0; node.kind == QW_EXPR_NODE_OR && i < node.b; i++) {
        part = qw_expr_shortest(pool, pool->lists.v[node.a + i]);
        if (part < least) least = part;
    }
    while (node.kind == QW_EXPR_NODE_CONCAT) {
        least = sum(least, qw_expr_shortest(pool, node.a));
        id = node.b;
        node = *qw_expr_at(pool, id);
        if (node.flags & QW_EXPR_EXACT || node.kind != QW_EXPR_NODE_CONCAT)
            return sum(least, qw_expr_shortest(pool, id));
    }
    return least;
}

uint32_t qw_expr_shortest(qw_expr_pool *pool, qw_expr a)
{
    const qw_expr_node *node = qw_expr_at(pool, a);
    search s = {.pool = pool};

    if (node->flags & QW_EXPR_EXACT) return node->least;
    if (pool->status) return UINT32_MAX;
    if (node->kind == QW_EXPR_NODE_AND || node->kind == QW_EXPR_NODE_NOT) {
        run(&s, a);
        pool->bytes -= s.cap * sizeof *s.entries + s.cap_heap * sizeof *s.heap;
        qw_free(s.entries);
        qw_free(s.heap);
    } else {
        uint32_t least = by_parts(pool, a);

        if (!pool->status) settle(pool, a, least);
    }
    return pool->status ? UINT32_MAX : qw_expr_at(pool, a)->least;
}

bool qw_expr_is_void(qw_expr_pool *pool, qw_expr a)
{
    return qw_expr_shortest(pool, a) == UINT32_MAX;
}

qw_expr qw_expr_step(qw_expr_pool *pool, qw_expr a, uint8_t byte)
{
    size_t slot = qw_expr_slot(pool, a, byte);
    qw_expr next;

    if (slot && pool->rows.v[slot] != QW_EXPR_UNKNOWN && pool->rows.v[slot] & QW_EXPR_LIVE)
        return pool->rows.v[slot] & ~QW_EXPR_LIVE;
    next = qw_expr_derive(pool, a, byte);
    if (next == QW_EXPR_NONE || qw_expr_is_void(pool, next)) next = QW_EXPR_NONE;
    if (slot && !pool->status) pool->rows.v[slot] = next | QW_EXPR_LIVE;
    return next;
}

qw_expr qw_expr_walk(qw_expr_pool *pool, qw_expr a, qw_text text)
{
    for (size_t i = 0; i < text.n && a != QW_EXPR_NONE; i++) a = qw_expr_step(pool, a, (uint8_t)text.bytes[i]);
    return a;
}

bool qw_expr_accepts(qw_expr_pool *pool, qw_expr a, qw_text text)
{
    return qw_expr_nullable(pool, qw_expr_walk(pool, a, text));
}

void qw_expr_first_bytes(qw_expr_pool *pool, qw_expr a, qw_byte_set *set)
{
    const qw_expr_partition *p = qw_expr_partition_of(pool, a);
    uint8_t class_of[256], bytes[256];
    bool live[256];
    uint32_t n = p ? p->n : 0;

    *set = (qw_byte_set){{0}};
    for (uint32_t b = 0; p && b < 256; b++) {
        class_of[b] = p->class_of[b];
        bytes[b] = p->byte_of[b];
    }
    for (uint32_t c = 0; c < n; c++) live[c] = qw_expr_step(pool, a, bytes[c]) != QW_EXPR_NONE;
    for (uint32_t b = 0; n && b < 256; b++)
        if (live[class_of[b]]) qw_byte_set_add(set, (uint8_t)b);
}
