/* SPDX-License-Identifier: MIT
 * Shortest derivations by growing what is known (Knuth, "A generalization of Dijkstra's algorithm", IPL 6(1), 1977, with
 * passes over all nodes in place of his queue: children stand before their parents, so that few are needed). */
#include "format/grammar_least.h"

/* Takes the shortest text out of the expression; false where it has none. */
static bool take_shortest(qw_expr_pool *pool, qw_expr *expr)
{
    qw_expr id = *expr;
    uint32_t left = qw_expr_shortest(pool, id);
    qw_buf text = {0};

    if (left == QW_NODE_ENDLESS) return false;
    while (left > 0) {
        qw_expr next = QW_EXPR_NONE;
        char byte = 0;

        for (unsigned b = 0; b < 256 && next == QW_EXPR_NONE; b++) {
            next = qw_expr_step(pool, id, (uint8_t)b);
            if (next != QW_EXPR_NONE && qw_expr_shortest(pool, next) + 1 != left) next = QW_EXPR_NONE;
            byte = (char)b;
        }
        if (next == QW_EXPR_NONE || qw_buf_append(&text, &byte, 1, NULL)) break;
        id = next;
        left--;
    }
    *expr = qw_expr_minus(pool, *expr, qw_expr_literal(pool, (qw_text){text.bytes, text.n}));
    qw_buf_free(&text);
    return !left && !qw_expr_status(pool, NULL);
}

int64_t qw_count_texts(qw_expr_pool *pool, qw_expr expr, int64_t need)
{
    int64_t n = 0;

    while (n < need && take_shortest(pool, &expr)) n++;
    return n;
}

/* A key with its value: its name's bytes with the quotes, a colon, the value. */
static uint32_t member_least(const qw_grammar *g, uint32_t name, qw_node value)
{
    return qw_least_sum(qw_least_sum(name, 1), g->nodes[value].least);
}

static uint32_t declared_least(const qw_grammar *g, const qw_node_key *key)
{
    return member_least(g, qw_expr_shortest(g->pool, key->name), key->value);
}

/* The cheapest optional key from pos on that comes after (*cost, *at) by cost and place; false where there is none. */
static bool next_optional(const qw_grammar *g, const qw_node_object *o, uint32_t pos, uint32_t *cost, int64_t *at)
{
    uint32_t best = QW_NODE_ENDLESS;
    int64_t found = -1;

    for (size_t i = pos; i < o->n_keys; i++) {
        uint32_t c = o->keys[i].required ? QW_NODE_ENDLESS : declared_least(g, &o->keys[i]);

        if (c >= best || c < *cost || (c == *cost && (int64_t)i <= *at)) continue;
        best = c;
        found = (int64_t)i;
    }
    *cost = best;
    *at = found;
    return found >= 0;
}

enum { MOST_NAMES = 4096 }; /* that are told apart one by one */

bool qw_names_run_out(const qw_grammar *g, const qw_node_object *o)
{
    for (size_t i = 0; i < o->n_others; i++)
        if (o->others[i].endless && qw_node_lives(g, o->others[i].value)) return false;
    return o->n_others > 0;
}

/* Of names that do not run out, the next one's bytes: the shortest is taken, then some byte more tells them apart. */
uint32_t qw_endless_name(const qw_grammar *g, const qw_node_object *o, const qw_node_others *class, int64_t n_written)
{
    enum { SHORT_NAMES = 90 };
    bool taken = n_written > 0 || (class->free && qw_expr_nullable(g->pool, o->declared));

    return qw_least_sum(qw_expr_shortest(g->pool, class->keys), !taken ? 0 : n_written < SHORT_NAMES ? 1 : 2);
}

/* need undeclared keys behind `count` others, each with its comma; ENDLESS where there are not so many. */
static uint32_t others_least(qw_grammar *g, const qw_node_object *o, qw_expr used, int64_t count, int64_t need)
{
    uint32_t least = 0;

    for (size_t i = 0; i < o->n_others && need > 0; i++) {
        const qw_node_others *class = &o->others[i];
        qw_expr left = class->endless ? class->keys : qw_expr_minus(g->pool, class->keys, used);
        int64_t most = need < MOST_NAMES ? need : MOST_NAMES;

        if (!qw_node_lives(g, class->value)) continue;
        for (int64_t n = 0; n < most; n++, need--) {
            uint32_t name = class->endless ? qw_endless_name(g, o, class, count + n) : qw_expr_shortest(g->pool, left);

            if (!class->endless && !take_shortest(g->pool, &left)) break;
            least = qw_least_sum(least, qw_least_sum(member_least(g, name, class->value), 3));
        }
        if (class->endless && need > 0) { /* all that are left count as long as the last one */
            uint64_t name = qw_endless_name(g, o, class, count + most);
            uint64_t rest = (uint64_t)need * (name + 4 + g->nodes[class->value].least);

            need = 0;
            least = rest > QW_NODE_ENDLESS ? QW_NODE_ENDLESS : qw_least_sum(least, (uint32_t)rest);
        }
    }
    return need > 0 ? QW_NODE_ENDLESS : least;
}

uint32_t qw_object_least(qw_grammar *g, const qw_node_object *o, uint32_t pos, int64_t count, qw_expr used)
{
    uint32_t least = 1, cost = 0;
    int64_t n = 0, at = -1, need;

    for (size_t i = pos; i < o->n_keys; i++) {
        if (!o->keys[i].required) continue;
        least = qw_least_sum(least, qw_least_sum(declared_least(g, &o->keys[i]), 1));
        n++;
    }
    if (count + n > o->max || o->max < o->min) return QW_NODE_ENDLESS;
    for (need = o->min - count - n; need > 0 && next_optional(g, o, pos, &cost, &at); need--, n++)
        least = qw_least_sum(least, qw_least_sum(cost, 1));
    if (need > 0) {
        least = qw_least_sum(least, others_least(g, o, used, count + n, need));
        n += need;
    }
    return least == QW_NODE_ENDLESS || count || !n ? least : least - 1; /* no comma before the first */
}

bool qw_object_can_end(qw_grammar *g, const qw_node_object *o, uint32_t pos, int64_t count, qw_expr used)
{
    int64_t required = pos < o->n_keys ? o->keys[pos].n_required : 0;
    int64_t need = o->min - count - (pos < o->n_keys ? o->keys[pos].n_living : 0);

    if (count + required > o->max) return false;
    return need <= 0 || others_least(g, o, used, count, need) != QW_NODE_ENDLESS;
}

bool qw_item_counts(const qw_node_array *a, const qw_array_item *item, uint64_t *counts)
{
    for (size_t k = 0; k < a->n_counters; k++) {
        uint32_t n = qw_counted(*counts, k);

        if (!(item->counts >> k & 1)) continue;
        if (n + 1 > a->counters[k].max) return false;
        if (n < 255) *counts += (uint64_t)1 << (8 * k);
    }
    return true;
}

/* Of the alternatives that may come, the shortest of those that bring the counters furthest. *counts: behind it. */
static uint32_t item_least(const qw_grammar *g, const qw_node_array *a, int64_t count, uint64_t *counts, bool missing)
{
    const qw_array_slot *slot = qw_slot_at(a, count);
    uint32_t least = QW_NODE_ENDLESS;
    uint64_t best = *counts;
    int best_gain = -1;

    for (size_t i = 0; i < slot->n; i++) {
        uint64_t next = *counts;
        uint32_t cost = g->nodes[slot->items[i].value].least;
        int gain = 0;

        if (cost == QW_NODE_ENDLESS || !qw_item_counts(a, &slot->items[i], &next)) continue;
        for (size_t k = 0; k < a->n_counters; k++)
            gain += (slot->items[i].counts >> k & 1) && qw_counted(*counts, k) < a->counters[k].min;
        if (!missing) gain = slot->items[i].counts ? 0 : 1;
        if (gain < best_gain || (gain == best_gain && cost >= least)) continue;
        best_gain = gain;
        best = next;
        least = cost;
    }
    *counts = best;
    return missing && best_gain == 0 && count >= (int64_t)a->n_prefix ? QW_NODE_ENDLESS : least;
}

uint32_t qw_array_least(const qw_grammar *g, const qw_node_array *a, int64_t count, uint64_t counts)
{
    uint32_t least = 1;

    for (; least != QW_NODE_ENDLESS; count++) {
        bool missing = false;
        uint32_t cost;

        for (size_t k = 0; k < a->n_counters; k++) missing |= qw_counted(counts, k) < a->counters[k].min;
        if (!missing && count >= a->min) return least;
        if (count >= a->max) return QW_NODE_ENDLESS;
        cost = item_least(g, a, count, &counts, missing);
        if (!a->n_counters && count >= (int64_t)a->n_prefix) { /* all that are left are alike */
            uint64_t n = (uint64_t)(a->min - count), all = cost == QW_NODE_ENDLESS ? cost : n * (cost + (uint64_t)1);

            if (a->min > a->max || all >= QW_NODE_ENDLESS) return QW_NODE_ENDLESS;
            return qw_least_sum(least, (uint32_t)all - (count ? 0 : 1));
        }
        least = qw_least_sum(least, qw_least_sum(cost, count ? 1 : 0));
    }
    return QW_NODE_ENDLESS;
}

static uint32_t node_least(qw_grammar *g, const qw_grammar_node *node)
{
    uint32_t least = node->kind == QW_NODE_SEQUENCE ? 0 : QW_NODE_ENDLESS;

    switch (node->kind) {
    case QW_NODE_VOID:
        break;
    case QW_NODE_TEXT:
        return qw_expr_shortest(g->pool, node->a);
    case QW_NODE_RULE:
        return g->nodes[node->a].least;
    case QW_NODE_OBJECT:
        return qw_least_sum(1, qw_object_least(g, &g->objects[node->a], 0, 0, QW_EXPR_NONE));
    case QW_NODE_ARRAY:
        return qw_least_sum(1, qw_array_least(g, &g->arrays[node->a], 0, 0));
    case QW_NODE_SEQUENCE:
        for (uint32_t i = 0; i < node->b; i++) least = qw_least_sum(least, g->nodes[g->lists[node->a + i]].least);
        break;
    case QW_NODE_CHOICE:
        for (uint32_t i = 0; i < node->b; i++) {
            uint32_t part = g->nodes[g->lists[node->a + i]].least;

            if (part < least) least = part;
        }
        break;
    }
    return least;
}

static void count_keys(const qw_grammar *g, qw_node_object *o)
{
    uint32_t required = 0, living = 0;

    for (size_t i = o->n_keys; i-- > 0;) {
        o->keys[i].n_required = required += o->keys[i].required;
        o->keys[i].n_living = living += qw_node_lives(g, o->keys[i].value);
    }
}

void qw_grammar_finish(qw_grammar *g)
{
    for (bool more = true; more && !g->status && !qw_expr_status(g->pool, NULL);) {
        more = false;
        for (size_t i = 0; i < g->n_nodes; i++) {
            uint32_t least = node_least(g, &g->nodes[i]);

            if (least >= g->nodes[i].least) continue;
            g->nodes[i].least = least;
            more = true;
        }
    }
    for (size_t i = 0; i < g->n_objects; i++) count_keys(g, &g->objects[i]);
}
