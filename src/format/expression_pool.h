/* SPDX-License-Identifier: MIT
 * What the files of the expressions share: nodes that are kept once each, and the tables beside them. Beside those only
 * the languages that are built node by node include this. */
#ifndef QW_EXPRESSION_POOL_H
#define QW_EXPRESSION_POOL_H

#include "format/decimals.h"
#include "format/expression.h"

typedef enum qw_expr_kind {
    QW_EXPR_NODE_NONE,
    QW_EXPR_NODE_EMPTY,
    QW_EXPR_NODE_BYTES,   /* a: byte set */
    QW_EXPR_NODE_CONCAT,  /* a, then b; a is no concatenation */
    QW_EXPR_NODE_OR,      /* b parts from lists[a], sorted */
    QW_EXPR_NODE_AND,     /* the same */
    QW_EXPR_NODE_NOT,     /* a */
    QW_EXPR_NODE_REPEAT,  /* a, b to c times */
    QW_EXPR_NODE_DECIMAL, /* a: specification, b: state */
} qw_expr_kind;

enum {
    QW_EXPR_IN_RAW = 1, /* every text of it is whole characters in that spelling */
    QW_EXPR_IN_JSON = 2,
    QW_EXPR_NULLABLE = 4,
    QW_EXPR_EXACT = 8,     /* `least` is the shortest length, UINT32_MAX for no text; else at most that */
    QW_EXPR_FORMATS = 10,  /* enforced by text_formats.c */
    QW_EXPR_DEEPEST = 128, /* parts within parts; derivatives recurse so deep */
};

typedef struct qw_expr_node {
    uint8_t kind, flags;
    uint16_t depth;
    uint32_t a, b, c;
    uint32_t least;
    uint32_t row;       /* in rows, 0: not made yet */
    uint32_t partition; /* index + 1, 0: not made yet */
    uint32_t entry;     /* of the search that met it last */
} qw_expr_node;

/* Bytes that no expression of some kind tells apart share a class. */
typedef struct qw_expr_partition {
    uint32_t n, next; /* classes; the next one of the same hash + 1 */
    uint8_t class_of[256], byte_of[256];
} qw_expr_partition;

typedef struct qw_expr_ids {
    uint32_t *v;
    size_t n, cap;
} qw_expr_ids;

struct qw_expr_pool {
    qw_expr_node *nodes;
    qw_byte_set *sets;
    qw_decimal_spec *specs;
    qw_decimal_state *states;
    qw_expr_partition *partitions;
    size_t n_nodes, cap_nodes, n_sets, cap_sets, n_specs, cap_specs, n_states, cap_states, n_partitions, cap_partitions;
    qw_expr_ids lists, rows, stack; /* parts of unions; steps (rows begin at 1); operands being gathered */
    uint32_t *table;                /* open addressing over nodes */
    size_t cap_table;
    uint32_t partition_heads[256];
    uint16_t *pairs; /* of classes, while partitions are met */
    size_t cap_pairs;
    qw_expr any_char[2], any_text[2], formats[2][QW_EXPR_FORMATS]; /* by spelling; 0: not made yet */
    qw_expr any_number;                                            /* which holds every decimal; 0: not made yet */
    size_t bytes, max_bytes;
    qw_status status;
    char why[200];
};

/* A row: the partition, then a target for each class. */
enum { QW_EXPR_ROW_HEAD = 1 };
#define QW_EXPR_UNKNOWN UINT32_MAX
#define QW_EXPR_LIVE 0x80000000u /* on a target: it is known not to be void */

static inline const qw_expr_node *qw_expr_at(const qw_expr_pool *pool, qw_expr id)
{
    return &pool->nodes[id];
}

/* Makes room for one more of n; false where the pool fails. */
bool qw_expr_grow(qw_expr_pool *pool, void *array, size_t n, size_t *cap, size_t size);
bool qw_expr_push(qw_expr_pool *pool, qw_expr_ids *ids, uint32_t id);

/* The node of that content; an equal one if there is one. list: n parts on top of the stack for OR and AND (left there). */
qw_expr qw_expr_intern(qw_expr_pool *pool, qw_expr_kind kind, uint32_t a, uint32_t b, uint32_t c);
qw_expr qw_expr_intern_list(qw_expr_pool *pool, qw_expr_kind kind, size_t base);
qw_expr qw_expr_intern_state(qw_expr_pool *pool, uint32_t spec, const qw_decimal_state *state);

/* Every text of id is whole characters in that spelling. */
static inline void qw_expr_mark(qw_expr_pool *pool, qw_expr id, qw_spelling spelling)
{
    if (id > QW_EXPR_ALL) pool->nodes[id].flags |= spelling == QW_SPELL_JSON ? QW_EXPR_IN_JSON : QW_EXPR_IN_RAW;
}

/* The union, the intersection of what lies on the stack from base on, which is taken off. */
qw_expr qw_expr_or_top(qw_expr_pool *pool, size_t base);
qw_expr qw_expr_and_top(qw_expr_pool *pool, size_t base);

#endif
