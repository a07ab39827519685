/* SPDX-License-Identifier: MIT
 * Nodes are kept once (hash consing), and what can be told of one from its parts is told when it is made: whether it takes
 * the empty text, how short its texts may be, whether they are whole characters. */
#include "format/expression_pool.h"

#include "base/alloc.h"
#include "base/print.h"

#include <string.h>

enum { DEFAULT_BYTES = 64 << 20 };

void qw_expr_fail(qw_expr_pool *pool, qw_status status, const char *why)
{
    if (pool->status) return;
    pool->status = status;
    qw_print(pool->why, sizeof pool->why, "%s", why);
}

qw_status qw_expr_status(const qw_expr_pool *pool, qw_error *err)
{
    return pool->status ? qw_fail(err, pool->status, "%s", pool->why) : QW_OK;
}

void qw_expr_clear(qw_expr_pool *pool)
{
    if (pool->status == QW_ERR_USAGE) pool->status = QW_OK;
}

bool qw_expr_grow(qw_expr_pool *pool, void *array, size_t n, size_t *cap, size_t size)
{
    void **block = array;
    size_t wanted = *cap ? 2 * *cap : 64;
    void *grown;

    if (pool->status) return false;
    if (n < *cap) return true;
    if (pool->bytes + (wanted - *cap) * size > pool->max_bytes) {
        qw_expr_fail(pool, QW_ERR_USAGE,
                     "the format needs more memory than it may have: use fewer, shorter or less nested rules");
        return false;
    }
    grown = qw_realloc(*block, wanted, size);
    if (!grown) {
        qw_expr_fail(pool, QW_ERR_MEMORY, "no memory left for the expressions of a format");
        return false;
    }
    pool->bytes += (wanted - *cap) * size;
    *block = grown;
    *cap = wanted;
    return true;
}

bool qw_expr_push(qw_expr_pool *pool, qw_expr_ids *ids, uint32_t id)
{
    if (!qw_expr_grow(pool, &ids->v, ids->n, &ids->cap, sizeof *ids->v)) return false;
    ids->v[ids->n++] = id;
    return true;
}

static uint32_t mix(uint32_t hash, uint32_t value)
{
    hash = (hash ^ value) * 0x9E3779B1u;
    return hash ^ hash >> 15;
}

static uint32_t mix_bytes(uint32_t hash, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;

    for (uint32_t word; n >= sizeof word; n -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        hash = mix(hash, word);
    }
    return hash;
}

static uint32_t state_hash(uint32_t spec, const qw_decimal_state *s)
{
    uint32_t hash = mix_bytes(mix(QW_EXPR_NODE_DECIMAL, spec), &s->digits, sizeof s->digits);

    return mix(mix(hash, (uint32_t)(s->n_int << 8 | (s->n_fraction & 0xFF))), (uint32_t)(s->sign << 1 | s->free));
}

static uint32_t node_hash(const qw_expr_pool *pool, const qw_expr_node *node)
{
    uint32_t hash = node->kind;

    if (node->kind == QW_EXPR_NODE_BYTES) return mix_bytes(hash, &pool->sets[node->a], sizeof *pool->sets);
    if (node->kind == QW_EXPR_NODE_DECIMAL) return state_hash(node->a, &pool->states[node->b]);
    if (node->kind == QW_EXPR_NODE_OR || node->kind == QW_EXPR_NODE_AND)
        return mix_bytes(hash, pool->lists.v + node->a, node->b * sizeof *pool->lists.v);
    return mix(mix(mix(hash, node->a), node->b), node->c);
}

static bool same_state(const qw_decimal_state *a, const qw_decimal_state *b)
{
    return a->digits == b->digits && a->n_int == b->n_int && a->n_fraction == b->n_fraction && a->sign == b->sign &&
           a->free == b->free;
}

static bool same_node(const qw_expr_pool *pool, const qw_expr_node *a, const qw_expr_node *b)
{
    if (a->kind != b->kind) return false;
    if (a->kind == QW_EXPR_NODE_BYTES) return memcmp(&pool->sets[a->a], &pool->sets[b->a], sizeof *pool->sets) == 0;
    if (a->kind == QW_EXPR_NODE_DECIMAL) return a->a == b->a && same_state(&pool->states[a->b], &pool->states[b->b]);
    if (a->kind == QW_EXPR_NODE_OR || a->kind == QW_EXPR_NODE_AND)
        return a->b == b->b && memcmp(pool->lists.v + a->a, pool->lists.v + b->a, a->b * sizeof *pool->lists.v) == 0;
    return a->a == b->a && a->b == b->b && a->c == b->c;
}

static void put(const qw_expr_pool *pool, uint32_t *table, size_t cap, uint32_t id)
{
    size_t at = node_hash(pool, &pool->nodes[id]) & (cap - 1);

    while (table[at]) at = (at + 1) & (cap - 1);
    table[at] = id + 1;
}

static bool rehash(qw_expr_pool *pool)
{
    size_t cap = pool->cap_table ? 2 * pool->cap_table : 256;
    uint32_t *table;

    if (2 * pool->n_nodes + 2 <= pool->cap_table) return true;
    if (pool->bytes + (cap - pool->cap_table) * sizeof *table > pool->max_bytes) {
        qw_expr_fail(pool, QW_ERR_USAGE, "the format needs more memory than it may have: use fewer or shorter rules");
        return false;
    }
    table = qw_calloc(cap, sizeof *table);
    if (!table) {
        qw_expr_fail(pool, QW_ERR_MEMORY, "no memory left for the expressions of a format");
        return false;
    }
    for (uint32_t id = 0; id < pool->n_nodes; id++) put(pool, table, cap, id);
    pool->bytes += (cap - pool->cap_table) * sizeof *table;
    qw_free(pool->table);
    pool->table = table;
    pool->cap_table = cap;
    return true;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t times(uint32_t a, uint32_t n)
{
    return n && a > UINT32_MAX / n ? UINT32_MAX : a * n;
}

/* Bytes that are characters by themselves in that spelling. */
static uint8_t spellings_of(const qw_byte_set *set)
{
    uint8_t flags = 0;

    if (set->bits[2] | set->bits[3]) return 0;
    flags = QW_EXPR_IN_RAW;
    if (!(set->bits[0] & (0xFFFFFFFFu | (uint64_t)1 << '"')) && !(set->bits[1] >> ('\\' - 64) & 1))
        flags |= QW_EXPR_IN_JSON;
    return flags;
}

enum { SPELLINGS = QW_EXPR_IN_RAW | QW_EXPR_IN_JSON };

/* Of a union or an intersection. */
static void describe_list(const qw_expr_pool *pool, qw_expr_node *node)
{
    bool all = node->kind == QW_EXPR_NODE_AND;
    uint8_t every = 0xFF, any = 0;
    uint32_t shortest = UINT32_MAX, longest = 0;

    for (uint32_t i = 0; i < node->b; i++) {
        const qw_expr_node *part = qw_expr_at(pool, pool->lists.v[node->a + i]);

        every &= part->flags;
        any |= part->flags;
        if (part->least < shortest) shortest = part->least;
        if (part->least > longest) longest = part->least;
        if (part->depth >= node->depth) node->depth = (uint16_t)(part->depth + 1);
    }
    node->flags = (uint8_t)(((all ? any : every) & SPELLINGS) | ((all ? every : any) & QW_EXPR_NULLABLE));
    node->least = all ? longest : shortest;
    if (!all) node->flags |= every & QW_EXPR_EXACT;
    if (node->least == UINT32_MAX) node->flags |= QW_EXPR_EXACT;
}

static void describe_pair(const qw_expr_node *a, const qw_expr_node *b, qw_expr_node *node)
{
    node->flags = a->flags & b->flags;
    node->least = plus(a->least, b->least);
    node->depth = a->depth + 1 > b->depth ? (uint16_t)(a->depth + 1) : b->depth;
}

static void describe(const qw_expr_pool *pool, qw_expr_node *node)
{
    static const qw_expr_node nothing; /* where node->a is no expression's */
    const qw_expr_node *a = node->a < pool->n_nodes ? qw_expr_at(pool, node->a) : &nothing;

    switch ((qw_expr_kind)node->kind) {
    case QW_EXPR_NODE_NONE:
        node->flags = SPELLINGS | QW_EXPR_EXACT;
        node->least = UINT32_MAX;
        break;
    case QW_EXPR_NODE_EMPTY:
        node->flags = SPELLINGS | QW_EXPR_NULLABLE;
        break;
    case QW_EXPR_NODE_BYTES:
        node->flags = spellings_of(&pool->sets[node->a]) | QW_EXPR_EXACT;
        node->least = 1;
        break;
    case QW_EXPR_NODE_DECIMAL:
        node->least = qw_decimal_shortest(&pool->specs[node->a], &pool->states[node->b]);
        node->flags = QW_EXPR_EXACT | SPELLINGS;
        if (node->least == 0) node->flags |= QW_EXPR_NULLABLE;
        break;
    case QW_EXPR_NODE_CONCAT:
        describe_pair(a, qw_expr_at(pool, node->b), node);
        break;
    case QW_EXPR_NODE_OR:
    case QW_EXPR_NODE_AND:
        describe_list(pool, node);
        break;
    case QW_EXPR_NODE_NOT:
        node->flags = a->flags & QW_EXPR_NULLABLE ? 0 : QW_EXPR_NULLABLE;
        node->least = node->flags ? 0 : 1;
        node->depth = (uint16_t)(a->depth + 1);
        break;
    case QW_EXPR_NODE_REPEAT:
        node->flags = (uint8_t)(a->flags & ~QW_EXPR_NULLABLE) | (node->b ? 0 : QW_EXPR_NULLABLE);
        node->least = times(a->least, node->b);
        node->depth = (uint16_t)(a->depth + 1);
        break;
    }
    if (node->flags & QW_EXPR_NULLABLE) {
        node->least = 0;
        node->flags |= QW_EXPR_EXACT;
    }
}

/* The node, whose content may lie at the end of lists, sets or states: those are kept only if it is new. */
static qw_expr intern(qw_expr_pool *pool, qw_expr_node node, bool *is_new)
{
    size_t at;

    *is_new = false;
    if (pool->status || !rehash(pool)) return QW_EXPR_NONE;
    at = node_hash(pool, &node) & (pool->cap_table - 1);
    for (; pool->table[at]; at = (at + 1) & (pool->cap_table - 1))
        if (same_node(pool, &pool->nodes[pool->table[at] - 1], &node)) return pool->table[at] - 1;
    describe(pool, &node);
    if (node.depth > QW_EXPR_DEEPEST) {
        qw_expr_fail(pool, QW_ERR_USAGE, "the format nests its expressions too deeply: flatten it");
        return QW_EXPR_NONE;
    }
    if (!qw_expr_grow(pool, &pool->nodes, pool->n_nodes, &pool->cap_nodes, sizeof *pool->nodes)) return QW_EXPR_NONE;
    pool->nodes[pool->n_nodes] = node;
    pool->table[at] = (uint32_t)pool->n_nodes + 1;
    *is_new = true;
    return (qw_expr)pool->n_nodes++;
}

qw_expr qw_expr_intern(qw_expr_pool *pool, qw_expr_kind kind, uint32_t a, uint32_t b, uint32_t c)
{
    bool is_new;

    return intern(pool, (qw_expr_node){.kind = (uint8_t)kind, .a = a, .b = b, .c = c}, &is_new);
}

qw_expr qw_expr_intern_list(qw_expr_pool *pool, qw_expr_kind kind, size_t base)
{
    size_t first = pool->lists.n, n = pool->stack.n - base;
    bool is_new;
    qw_expr id;

    for (size_t i = 0; i < n; i++)
        if (!qw_expr_push(pool, &pool->lists, pool->stack.v[base + i])) break;
    id = intern(pool, (qw_expr_node){.kind = (uint8_t)kind, .a = (uint32_t)first, .b = (uint32_t)n}, &is_new);
    if (!is_new) pool->lists.n = first;
    return id;
}

qw_expr qw_expr_intern_state(qw_expr_pool *pool, uint32_t spec, const qw_decimal_state *state)
{
    bool is_new;
    qw_expr id;

    if (!qw_expr_grow(pool, &pool->states, pool->n_states, &pool->cap_states, sizeof *state)) return QW_EXPR_NONE;
    pool->states[pool->n_states] = *state;
    id = intern(pool, (qw_expr_node){.kind = QW_EXPR_NODE_DECIMAL, .a = spec, .b = (uint32_t)pool->n_states}, &is_new);
    if (is_new) pool->n_states++;
    return id;
}

qw_expr qw_expr_bytes(qw_expr_pool *pool, const qw_byte_set *set)
{
    bool is_new;
    qw_expr id;

    if (!(set->bits[0] | set->bits[1] | set->bits[2] | set->bits[3])) return QW_EXPR_NONE;
    if (!qw_expr_grow(pool, &pool->sets, pool->n_sets, &pool->cap_sets, sizeof *set)) return QW_EXPR_NONE;
    pool->sets[pool->n_sets] = *set;
    id = intern(pool, (qw_expr_node){.kind = QW_EXPR_NODE_BYTES, .a = (uint32_t)pool->n_sets}, &is_new);
    if (is_new) pool->n_sets++;
    return id;
}

bool qw_expr_nullable(const qw_expr_pool *pool, qw_expr a)
{
    return qw_expr_at(pool, a)->flags & QW_EXPR_NULLABLE;
}

size_t qw_expr_pool_bytes(const qw_expr_pool *pool)
{
    return pool->bytes;
}

qw_status qw_expr_pool_new(qw_expr_pool **out, size_t max_bytes, qw_error *err)
{
    qw_expr_pool *pool = qw_calloc(1, sizeof *pool);
    qw_status status;

    *out = NULL;
    if (!pool) return qw_fail_memory(err, "the expressions of a format", (double)sizeof *pool);
    pool->bytes = sizeof *pool;
    pool->max_bytes = max_bytes ? max_bytes : DEFAULT_BYTES;
    qw_expr_intern(pool, QW_EXPR_NODE_NONE, 0, 0, 0);
    qw_expr_intern(pool, QW_EXPR_NODE_EMPTY, 0, 0, 0);
    qw_expr_intern(pool, QW_EXPR_NODE_NOT, QW_EXPR_NONE, 0, 0);
    qw_expr_push(pool, &pool->rows, 0);
    status = qw_expr_status(pool, err);
    if (status) qw_expr_pool_free(pool);
    else *out = pool;
    return status;
}

void qw_expr_pool_free(qw_expr_pool *pool)
{
    if (!pool) return;
    qw_free(pool->nodes);
    qw_free(pool->sets);
    qw_free(pool->specs);
    qw_free(pool->states);
    qw_free(pool->partitions);
    qw_free(pool->lists.v);
    qw_free(pool->rows.v);
    qw_free(pool->stack.v);
    qw_free(pool->table);
    qw_free(pool->pairs);
    qw_free(pool);
}
