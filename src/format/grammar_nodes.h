/* SPDX-License-Identifier: MIT
 * The nodes of a grammar as the matcher sees them. */
#ifndef QW_GRAMMAR_NODES_H
#define QW_GRAMMAR_NODES_H

#include "format/grammar.h"

typedef enum qw_node_kind {
    QW_NODE_VOID,
    QW_NODE_TEXT,     /* a: expression */
    QW_NODE_SEQUENCE, /* b parts from lists[a], at least one */
    QW_NODE_CHOICE,   /* the same */
    QW_NODE_RULE,     /* a: its body, QW_NODE_NONE until it is defined */
    QW_NODE_OBJECT,   /* a: object */
    QW_NODE_ARRAY,    /* a: array */
} qw_node_kind;

typedef struct qw_grammar_node {
    qw_node_kind kind;
    uint32_t a, b;
    uint32_t least; /* bytes of its shortest text, QW_NODE_ENDLESS: no text is in it; told by qw_grammar_finish */
} qw_grammar_node;

#define QW_NODE_ENDLESS UINT32_MAX

/* A declared key as text: its quoted name with what stands before the value. */
typedef struct qw_node_key {
    qw_expr name; /* the string with its quotes */
    qw_node value;
    bool required;
    uint32_t n_required, n_living; /* of the keys from this one on: told by qw_grammar_finish */
} qw_node_key;

typedef struct qw_node_others {
    qw_expr keys; /* bodies, without the declared names; where it is free, with them */
    qw_node value;
    bool free;    /* any name at all */
    bool endless; /* names that never run out: those that were written are looked up when a name is over */
} qw_node_others;

typedef struct qw_node_object {
    qw_node_key *keys;
    qw_node_others *others;
    size_t n_keys, n_others;
    qw_expr declared; /* bodies of the declared names */
    int64_t min, max;
} qw_node_object;

typedef struct qw_node_array {
    qw_array_slot *slots; /* prefix, then the rest */
    qw_array_item *items; /* of all slots */
    size_t n_prefix, n_counters;
    int64_t min, max;
    qw_array_counter counters[8];
    bool unique;
} qw_node_array;

struct qw_grammar {
    qw_expr_pool *pool;
    qw_whitespace whitespace;
    uint32_t depth; /* containers that count as open around all of it */
    qw_grammar_node *nodes;
    qw_node *lists;
    qw_node_object *objects;
    qw_node_array *arrays;
    size_t n_nodes, cap_nodes, n_lists, cap_lists, n_objects, cap_objects, n_arrays, cap_arrays;
    qw_status status;
    char why[160];
};

void qw_grammar_fail(qw_grammar *grammar, qw_status status, const char *why);

#endif
