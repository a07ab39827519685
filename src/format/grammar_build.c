/* SPDX-License-Identifier: MIT
 * Nodes are put down as they are made; what their texts need is found at the end (grammar_least.h). */
#include "base/print.h"
#include "format/grammar_nodes.h"

#include "base/alloc.h"

#include <string.h>

void qw_grammar_fail(qw_grammar *g, qw_status status, const char *why)
{
    if (g->status) return;
    g->status = status;
    qw_print(g->why, sizeof g->why, "%s", why);
}

static bool grow(qw_grammar *g, void *array, size_t n, size_t *cap, size_t size)
{
    void **block = array, *grown;
    size_t wanted = *cap ? 2 * *cap : 32;

    if (g->status) return false;
    if (n < *cap) return true;
    grown = qw_realloc(*block, wanted, size);
    if (!grown) {
        qw_grammar_fail(g, QW_ERR_MEMORY, "no memory left for a grammar");
        return false;
    }
    *block = grown;
    *cap = wanted;
    return true;
}

static void *take(qw_grammar *g, size_t n, size_t size)
{
    void *block = g->status ? NULL : qw_calloc(n ? n : 1, size);

    if (!block) qw_grammar_fail(g, QW_ERR_MEMORY, "no memory left for a grammar");
    return block;
}

static qw_node add(qw_grammar *g, qw_node_kind kind, uint32_t a, uint32_t b)
{
    if (!grow(g, &g->nodes, g->n_nodes, &g->cap_nodes, sizeof *g->nodes)) return QW_NODE_NONE;
    g->nodes[g->n_nodes] = (qw_grammar_node){kind, a, b, QW_NODE_ENDLESS};
    return (qw_node)g->n_nodes++;
}

qw_status qw_grammar_new(qw_grammar **out, qw_expr_pool *pool, qw_whitespace whitespace, qw_error *err)
{
    qw_grammar *g = qw_calloc(1, sizeof *g);
    qw_status status;

    *out = NULL;
    if (!g) return qw_fail_memory(err, "a grammar", (double)sizeof *g);
    g->pool = pool;
    g->whitespace = whitespace;
    add(g, QW_NODE_VOID, 0, 0);
    status = qw_grammar_status(g, err);
    if (status) qw_grammar_free(g);
    else *out = g;
    return status;
}

void qw_grammar_free(qw_grammar *g)
{
    if (!g) return;
    for (size_t i = 0; i < g->n_objects; i++) {
        qw_free(g->objects[i].keys);
        qw_free(g->objects[i].others);
    }
    for (size_t i = 0; i < g->n_arrays; i++) {
        qw_free(g->arrays[i].slots);
        qw_free(g->arrays[i].items);
    }
    qw_free(g->nodes);
    qw_free(g->lists);
    qw_free(g->objects);
    qw_free(g->arrays);
    qw_free(g);
}

qw_status qw_grammar_status(const qw_grammar *g, qw_error *err)
{
    return g->status ? qw_fail(err, g->status, "%s", g->why) : qw_expr_status(g->pool, err);
}

qw_node qw_grammar_text(qw_grammar *g, qw_expr expr)
{
    return expr == QW_EXPR_NONE ? QW_NODE_NONE : add(g, QW_NODE_TEXT, expr, 0);
}

static qw_node add_list(qw_grammar *g, qw_node_kind kind, const qw_node *parts, size_t n)
{
    size_t first = g->n_lists;

    if (n == 1) return parts[0];
    for (size_t i = 0; i < n; i++) {
        if (kind == QW_NODE_CHOICE && parts[i] == QW_NODE_NONE) continue;
        if (!grow(g, &g->lists, g->n_lists, &g->cap_lists, sizeof *g->lists)) return QW_NODE_NONE;
        g->lists[g->n_lists++] = parts[i];
    }
    if (g->n_lists == first) return QW_NODE_NONE;
    return add(g, kind, (uint32_t)first, (uint32_t)(g->n_lists - first));
}

qw_node qw_grammar_sequence(qw_grammar *g, const qw_node *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (parts[i] == QW_NODE_NONE) return QW_NODE_NONE;
    return n ? add_list(g, QW_NODE_SEQUENCE, parts, n) : qw_grammar_text(g, QW_EXPR_EMPTY);
}

qw_node qw_grammar_choice(qw_grammar *g, const qw_node *parts, size_t n)
{
    return n ? add_list(g, QW_NODE_CHOICE, parts, n) : QW_NODE_NONE;
}

qw_node qw_grammar_rule(qw_grammar *g)
{
    return add(g, QW_NODE_RULE, QW_NODE_NONE, 0);
}

void qw_grammar_define(qw_grammar *g, qw_node rule, qw_node body)
{
    if (rule != QW_NODE_NONE && !g->status) g->nodes[rule].a = body;
}

static qw_expr quoted(qw_expr_pool *pool, qw_expr body)
{
    qw_expr quote = qw_expr_byte_range(pool, '"', '"');

    return qw_expr_concat(pool, quote, qw_expr_concat(pool, body, quote));
}

/* Whether one character goes on leading to the same place, from which the text can be completed: a proof that its texts do
 * not run out, which most patterns pass. */
static bool is_endless(qw_expr_pool *pool, qw_expr keys)
{
    static const char tried[] = "qZ7-.";

    for (const char *c = tried; *c; c++) {
        qw_expr at = keys, before = QW_EXPR_NONE;

        for (int i = 0; i < 64 && at != QW_EXPR_NONE && at != before; i++) {
            before = at;
            at = qw_expr_step(pool, at, (uint8_t)*c);
        }
        if (at != QW_EXPR_NONE && at == before) return true;
    }
    return false;
}

qw_node qw_grammar_object(qw_grammar *g, const qw_object_spec *spec)
{
    qw_node_object o = {.n_keys = spec->n_keys, .n_others = spec->n_others, .min = spec->min, .max = spec->max};
    qw_expr *names = take(g, spec->n_keys, sizeof *names), all = qw_expr_any_text(g->pool, QW_SPELL_JSON);

    o.keys = take(g, o.n_keys, sizeof *o.keys);
    o.others = take(g, o.n_others, sizeof *o.others);
    if (!g->status && grow(g, &g->objects, g->n_objects, &g->cap_objects, sizeof o)) {
        for (size_t i = 0; i < o.n_keys; i++) {
            names[i] = qw_expr_text(g->pool, spec->keys[i].name, QW_SPELL_JSON);
            o.keys[i] = (qw_node_key){
                .name = quoted(g->pool, names[i]), .value = spec->keys[i].value, .required = spec->keys[i].required};
        }
        if (o.n_keys && o.n_others) o.declared = qw_expr_or(g->pool, names, o.n_keys);
        for (size_t i = 0; i < o.n_others; i++) {
            bool free = spec->others[i].keys == all;
            qw_expr keys = free ? all : qw_expr_minus(g->pool, spec->others[i].keys, o.declared);

            o.others[i] = (qw_node_others){keys, spec->others[i].value, free, free || is_endless(g->pool, keys)};
        }
        qw_free(names);
        g->objects[g->n_objects++] = o;
        return add(g, QW_NODE_OBJECT, (uint32_t)(g->n_objects - 1), 0);
    }
    qw_free(names);
    qw_free(o.keys);
    qw_free(o.others);
    return QW_NODE_NONE;
}

qw_node qw_grammar_array(qw_grammar *g, const qw_array_spec *spec)
{
    qw_node_array a = {.n_prefix = spec->n_prefix,
                       .n_counters = spec->n_counters,
                       .min = spec->min,
                       .max = spec->max,
                       .unique = spec->unique};
    size_t n = spec->rest.n, at = 0;

    for (size_t i = 0; i < spec->n_prefix; i++) n += spec->prefix[i].n;
    a.slots = take(g, spec->n_prefix + 1, sizeof *a.slots);
    a.items = take(g, n, sizeof *a.items);
    if (g->status || !grow(g, &g->arrays, g->n_arrays, &g->cap_arrays, sizeof a)) {
        qw_free(a.slots);
        qw_free(a.items);
        return QW_NODE_NONE;
    }
    for (size_t i = 0; i <= spec->n_prefix; i++) {
        qw_array_slot slot = i < spec->n_prefix ? spec->prefix[i] : spec->rest;

        if (slot.n) memcpy(a.items + at, slot.items, slot.n * sizeof *a.items);
        a.slots[i] = (qw_array_slot){a.items + at, slot.n};
        at += slot.n;
    }
    for (size_t k = 0; k < spec->n_counters; k++) a.counters[k] = spec->counters[k];
    g->arrays[g->n_arrays++] = a;
    return add(g, QW_NODE_ARRAY, (uint32_t)(g->n_arrays - 1), 0);
}
