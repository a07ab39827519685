/* SPDX-License-Identifier: MIT
 * How many bytes a grammar's texts need: of a whole node, and of an object or an array in the middle. What needs
 * QW_NODE_ENDLESS has no text, so this tells too what can be closed at all. */
#ifndef QW_GRAMMAR_LEAST_H
#define QW_GRAMMAR_LEAST_H

#include "format/grammar_nodes.h"

static inline bool qw_node_lives(const qw_grammar *g, qw_node node)
{
    return g->nodes[node].least != QW_NODE_ENDLESS;
}

/* a + b, where what is endless stays so. */
static inline uint32_t qw_least_sum(uint32_t a, uint32_t b)
{
    return a > QW_NODE_ENDLESS - b ? QW_NODE_ENDLESS : a + b;
}

/* Tells the least of every node. */
void qw_grammar_finish(qw_grammar *grammar);

/* From behind `count` keys to behind the closing brace, with declared keys from pos on; used: bodies of undeclared keys
 * that were written. Where keys are short of min, the shortest ones are added. */
uint32_t qw_object_least(qw_grammar *grammar, const qw_node_object *object, uint32_t pos, int64_t count, qw_expr used);

/* Whether it has an end at all. */
bool qw_object_can_end(qw_grammar *grammar, const qw_node_object *object, uint32_t pos, int64_t count, qw_expr used);

/* Whether undeclared names may run out, so that those in use must be known. */
bool qw_names_run_out(const qw_grammar *grammar, const qw_node_object *object);
/* Bytes of a new name of a class whose names do not, with so many keys written. */
uint32_t qw_endless_name(const qw_grammar *grammar, const qw_node_object *object, const qw_node_others *others,
                         int64_t n_written);

/* From behind `count` items to behind the closing bracket; counts: of the counters, a byte each. Each item goes where most is
 * still missing. */
uint32_t qw_array_least(const qw_grammar *grammar, const qw_node_array *array, int64_t count, uint64_t counts);

static inline uint32_t qw_counted(uint64_t counts, size_t k)
{
    return (uint32_t)(counts >> (8 * k) & 255);
}

/* The alternatives of the item behind `count` others. */
static inline const qw_array_slot *qw_slot_at(const qw_node_array *a, int64_t count)
{
    return &a->slots[count < (int64_t)a->n_prefix ? (size_t)count : a->n_prefix];
}

/* Whether the item may come next by the counters, which it is added to. */
bool qw_item_counts(const qw_node_array *array, const qw_array_item *item, uint64_t *counts);

/* How many texts the expression has, counted up to need. */
int64_t qw_count_texts(qw_expr_pool *pool, qw_expr expr, int64_t need);

#endif
