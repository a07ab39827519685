/* SPDX-License-Identifier: MIT
 * What is broken of "every item" is "some item", which is what contains counts; behind a prefix it cannot be counted. */
#include "format/schema_arrays.h"

#include "format/schema_objects.h"

static void at_least(qw_branch *b, int64_t n)
{
    if (n > b->form.min_items) b->form.min_items = n;
}

static void at_most(qw_branch *b, int64_t n)
{
    if (n < b->form.max_items) b->form.max_items = n;
}

static void check_count(qw_branch *b)
{
    if (b->form.min_items > b->form.max_items) b->form.types &= (uint8_t)~QW_TYPE_ARRAY;
}

qw_array_layer qw_array_layer_of(const qw_compiler *c, const qw_dom *schema)
{
    const qw_dom *items = qw_dom_get(schema, "items"), *rest = items, *prefix = NULL;

    /* A list means in 2020-12 nothing; without $schema it tells that the schema is older. */
    if (items && items->kind == QW_DOM_ARRAY) {
        prefix = items;
        rest = qw_dom_get(schema, "additionalItems");
    } else if (c->document.draft >= QW_DRAFT_2020) {
        prefix = qw_dom_get(schema, "prefixItems");
    }
    return (qw_array_layer){prefix, rest ? rest : qw_plain_unevaluated(c, schema, "unevaluatedItems")};
}

/* Some item at n or later fails the schema at node. */
static void some_item_fails(qw_compiler *c, qw_branch *b, uint32_t n, const qw_dom *node)
{
    b->form.types &= QW_TYPE_ARRAY;
    at_least(b, (int64_t)n + 1);
    check_count(b);
    if (node->kind == QW_DOM_FALSE) return;
    if (n == 0)
        qw_fact_add(
            c, b, false,
            (qw_fact){.kind = QW_FACT_CONTAINS, .literal = qw_literal_of(QW_FAILS, node), .min = 1, .max = INT64_MAX});
    else qw_doubt_add(c, b, node, "an item behind the first %u that fails its schema cannot be asked for", (unsigned)n);
}

void qw_read_items(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_array_layer layer = qw_array_layer_of(c, node->parent);
    qw_choosing choosing = {0};

    if (node != layer.prefix && node != layer.rest) { /* says nothing in this draft */
        if (!keeps) qw_branch_kill(b);
        return;
    }
    if (keeps) {
        if (node == layer.rest && layer.prefix) return; /* read with the prefix */
        qw_fact_add(c, b, false, (qw_fact){.kind = QW_FACT_LAYER, .node = node->parent});
        return;
    }
    if (node == layer.rest) {
        some_item_fails(c, b, layer.prefix ? layer.prefix->n : 0, node);
        return;
    }
    for (const qw_dom *item = node->first; item; item = item->next)
        qw_choosing_add(c, &choosing, qw_with(c, QW_ITEM_FAILS, item, NULL));
    qw_choosing_put(c, b, &choosing);
}

void qw_read_item_count(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    bool least = qw_text_is(node->key, "minItems");
    int64_t n;

    if (!qw_dom_count(node, &n)) {
        qw_doubt_add(c, b, node, "a number of items must be an integer from 0");
        return;
    }
    if (!keeps) {
        b->form.types &= QW_TYPE_ARRAY;
        n += least ? -1 : 1;
        least = !least;
    }
    if (n < 0) b->form.types = 0;
    if (least) at_least(b, n);
    else at_most(b, n);
    check_count(b);
}

void qw_read_unique(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    if (keeps) {
        if (node->kind == QW_DOM_TRUE) b->form.unique = true;
        return;
    }
    if (node->kind == QW_DOM_TRUE) qw_doubt_add(c, b, node, "an array with equal items cannot be asked for");
    b->form.types &= node->kind == QW_DOM_TRUE ? QW_TYPE_ARRAY : 0;
    at_least(b, 2);
    check_count(b);
}

static void count_items(qw_compiler *c, qw_branch *b, const qw_dom *node, int64_t min, int64_t max)
{
    if (max == 0)
        qw_fact_add(c, b, false, (qw_fact){.kind = QW_FACT_ALL_ITEMS, .literal = qw_literal_of(QW_FAILS, node)});
    else if (min > 0 || max < INT64_MAX)
        qw_fact_add(
            c, b, false,
            (qw_fact){.kind = QW_FACT_CONTAINS, .literal = qw_literal_of(QW_MEETS, node), .min = min, .max = max});
    at_least(b, min);
    if (min > max) b->form.types &= (uint8_t)~QW_TYPE_ARRAY;
    check_count(b);
}

void qw_read_contains(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    bool counted = c->document.draft >= QW_DRAFT_2019;
    const qw_dom *least = counted ? qw_dom_get(node->parent, "minContains") : NULL;
    const qw_dom *most = counted ? qw_dom_get(node->parent, "maxContains") : NULL;
    int64_t min = 1, max = INT64_MAX;

    if ((least && !qw_dom_count(least, &min)) || (most && !qw_dom_count(most, &max))) {
        qw_doubt_add(c, b, least ? least : most, "a number of items must be an integer from 0");
        return;
    }
    if (keeps) {
        count_items(c, b, node, min, max);
        return;
    }
    b->form.types &= QW_TYPE_ARRAY;
    if (most && min > 0) qw_doubt_add(c, b, node, "contains with both bounds cannot be negated");
    else if (most) count_items(c, b, node, max + 1, INT64_MAX);
    else if (min == 0) b->form.types = 0;
    else count_items(c, b, node, 0, min - 1);
}

void qw_read_array_literal(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *node)
{
    b->form.types &= kind == QW_NOT_ARRAY ? (uint8_t)~QW_TYPE_ARRAY : QW_TYPE_ARRAY;
    if (kind == QW_ITEM_FAILS || kind == QW_ITEM_DIFFERS) {
        qw_literal_kind item = kind == QW_ITEM_FAILS ? QW_FAILS : QW_DIFFERS;
        at_least(b, (int64_t)node->index + 1);
        qw_fact_add(c, b, false,
                    (qw_fact){.kind = QW_FACT_ITEM, .literal = qw_literal_of(item, node), .min = (int64_t)node->index});
    }
    if (kind == QW_SHORTER) at_most(b, (int64_t)node->n - 1);
    if (kind == QW_LONGER) at_least(b, (int64_t)node->n + 1);
    check_count(b);
}

void qw_read_array_value(qw_compiler *c, qw_branch *b, const qw_dom *node, bool equals)
{
    qw_choosing choosing = {0};

    if (equals) {
        b->form.types &= QW_TYPE_ARRAY;
        at_least(b, node->n);
        at_most(b, node->n);
        check_count(b);
        qw_fact_add(c, b, false, (qw_fact){.kind = QW_FACT_VALUE, .node = node});
        return;
    }
    if (!(b->form.types & QW_TYPE_ARRAY)) return;
    qw_choosing_add(c, &choosing, qw_with(c, QW_NOT_ARRAY, node, NULL));
    if (node->n) qw_choosing_add(c, &choosing, qw_with(c, QW_SHORTER, node, NULL));
    qw_choosing_add(c, &choosing, qw_with(c, QW_LONGER, node, NULL));
    for (const qw_dom *item = node->first; item; item = item->next)
        qw_choosing_add(c, &choosing, qw_with(c, QW_ITEM_DIFFERS, item, NULL));
    qw_choosing_put(c, b, &choosing);
}
