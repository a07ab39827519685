/* SPDX-License-Identifier: MIT
 * Languages with nesting: expressions joined by sequence, choice and rules that may name themselves, and two nodes that know
 * JSON's objects and arrays with the white space between their parts. A grammar is put together, then matched (matcher.h).
 *
 * Errors stick to the grammar: a constructor that fails gives QW_NODE_NONE, and so does every later one;
 * qw_grammar_status tells. */
#ifndef QW_GRAMMAR_H
#define QW_GRAMMAR_H

#include "format/expression.h"

typedef uint32_t qw_node; /* of one grammar */

enum { QW_NODE_NONE = 0 }; /* no text */

/* Between the parts of a document: see the header's comment of matcher.c. */
typedef enum qw_whitespace { QW_SPACE_BOUNDED, QW_SPACE_COMPACT, QW_SPACE_ANY } qw_whitespace;

typedef struct qw_grammar qw_grammar;

/* pool is borrowed: it must outlive the grammar. */
qw_status qw_grammar_new(qw_grammar **out, qw_expr_pool *pool, qw_whitespace whitespace, qw_error *err);
void qw_grammar_free(qw_grammar *grammar);
qw_status qw_grammar_status(const qw_grammar *grammar, qw_error *err);

qw_node qw_grammar_text(qw_grammar *grammar, qw_expr expr);
qw_node qw_grammar_sequence(qw_grammar *grammar, const qw_node *parts, size_t n);
qw_node qw_grammar_choice(qw_grammar *grammar, const qw_node *parts, size_t n);
/* A node to be named now and defined once, later. */
qw_node qw_grammar_rule(qw_grammar *grammar);
void qw_grammar_define(qw_grammar *grammar, qw_node rule, qw_node body);

typedef struct qw_object_key {
    qw_text name;  /* UTF-8, not escaped; copied */
    qw_node value; /* QW_NODE_NONE: the key must not be there */
    bool required;
} qw_object_key;

/* Keys that are not declared: the bodies of strings in keys (declared names may be in it and are taken out). */
typedef struct qw_object_others {
    qw_expr keys;
    qw_node value;
} qw_object_others;

typedef struct qw_object_spec {
    const qw_object_key *keys; /* written in this order */
    size_t n_keys;
    const qw_object_others *others; /* disjoint; behind the declared ones, in any order, no key twice */
    size_t n_others;
    int64_t min, max; /* keys in all; INT64_MAX for no limit */
} qw_object_spec;
qw_node qw_grammar_object(qw_grammar *grammar, const qw_object_spec *spec);

/* One way to write an item; counts: bit k is set where it adds to counter k. */
typedef struct qw_array_item {
    qw_node value;
    uint32_t counts;
} qw_array_item;

/* Alternatives of one item. */
typedef struct qw_array_slot {
    const qw_array_item *items;
    size_t n;
} qw_array_slot;

typedef struct qw_array_counter {
    int64_t min, max;
} qw_array_counter;

typedef struct qw_array_spec {
    const qw_array_slot *prefix;
    size_t n_prefix;
    qw_array_slot rest; /* n = 0: no item behind the prefix */
    int64_t min, max;
    const qw_array_counter *counters; /* at most 8 */
    size_t n_counters;
    bool unique; /* no two items of the same text; items are texts (qw_grammar_text) only */
} qw_array_spec;
qw_node qw_grammar_array(qw_grammar *grammar, const qw_array_spec *spec);

#endif
