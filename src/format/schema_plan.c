/* SPDX-License-Identifier: MIT
 * Every layer has its say about every name, also about one that only another layer declares. The keys that nobody declares
 * are divided by the patterns into classes, so that each key is in one. */
#include "format/schema_plan.h"

#include "format/schema_arrays.h"
#include "format/schema_objects.h"
#include "format/schema_scalars.h"

#include <string.h>

enum { MOST_CLASSES = 64 };

/* Literals gathered about one value. */
typedef struct gathered {
    qw_literal *v;
    uint32_t n, cap;
    bool none;
} gathered;

static void gather(qw_compiler *c, gathered *g, qw_literal literal)
{
    if (g->n == g->cap) {
        uint32_t cap = g->cap ? g->cap * 2 : 16;
        qw_literal *larger = qw_compiler_take(c, cap, sizeof *larger);
        if (!larger) return;
        if (g->n) memcpy(larger, g->v, g->n * sizeof *larger);
        g->v = larger;
        g->cap = cap;
    }
    g->v[g->n++] = literal;
}

static void gather_node(qw_compiler *c, gathered *g, qw_literal_kind kind, const qw_dom *node)
{
    gather(c, g, qw_literal_of(kind, node));
}

static qw_conj *conj_of(qw_compiler *c, const gathered *g)
{
    qw_conj *conj;

    if (g->none) return NULL;
    conj = qw_conj_of(c, g->v, g->n);
    return conj && !conj->none ? conj : NULL;
}

/* Facts in the order in which they were found. */
static const qw_fact **in_order(qw_compiler *c, const qw_fact *last, uint32_t *n)
{
    const qw_fact **facts;
    uint32_t at = 0;

    for (const qw_fact *fact = last; fact; fact = fact->before) at++;
    facts = qw_compiler_take(c, at + 1, sizeof *facts);
    *n = facts ? at : 0;
    for (const qw_fact *fact = last; facts && fact; fact = fact->before) facts[--at] = fact;
    return facts;
}

bool qw_name_in(qw_compiler *c, qw_text name, qw_expr language)
{
    bool plain = true;
    qw_expr text;

    if (language == qw_expr_any_text(c->pool, QW_SPELL_JSON)) return true;
    for (size_t i = 0; i < name.n; i++)
        plain &= (unsigned char)name.bytes[i] >= 0x20 && name.bytes[i] != '"' && name.bytes[i] != '\\';
    if (plain) return qw_expr_accepts(c->pool, language, name);
    text = qw_expr_text(c->pool, name, QW_SPELL_JSON);
    return !qw_expr_is_void(c->pool, qw_expr_and2(c->pool, language, text));
}

/* The names in their order, and where each is. */
typedef struct name_list {
    qw_plan_key *keys;
    uint32_t n, cap;
    uint32_t *table; /* index + 1 */
    uint32_t mask;
} name_list;

static uint32_t hash_of(qw_text text)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < text.n; i++) h = (h ^ (unsigned char)text.bytes[i]) * 16777619u;
    return h ^ h >> 15;
}

static void add_name(name_list *names, qw_text name)
{
    uint32_t at = hash_of(name) & names->mask;

    for (; names->table[at]; at = (at + 1) & names->mask)
        if (qw_text_equal(names->keys[names->table[at] - 1].name, name)) return;
    names->keys[names->n] = (qw_plan_key){.name = name};
    names->table[at] = ++names->n;
}

static bool names_begin(qw_compiler *c, name_list *names, const qw_fact *const *facts, uint32_t n)
{
    uint32_t most = 1, size = 16;

    for (uint32_t i = 0; i < n; i++) {
        const qw_dom *node = facts[i]->node;
        if (facts[i]->kind == QW_FACT_LAYER) node = qw_dom_get(node, "properties");
        most += node && facts[i]->kind <= QW_FACT_VALUE ? node->n : 1;
    }
    while (size < most * 2) size *= 2;
    names->keys = qw_compiler_take(c, most, sizeof *names->keys);
    names->table = qw_compiler_take(c, size, sizeof *names->table);
    names->mask = size - 1;
    return names->keys && names->table;
}

/* Declared names first, then those that are only required or forbidden. */
static void find_names(name_list *names, const qw_fact *const *facts, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        const qw_dom *from = facts[i]->node;
        if (facts[i]->kind > QW_FACT_VALUE) continue;
        if (facts[i]->kind == QW_FACT_LAYER) from = qw_dom_get(from, "properties");
        for (const qw_dom *member = from ? from->first : NULL; member; member = member->next)
            add_name(names, member->key);
    }
    for (uint32_t i = 0; i < n; i++)
        if (facts[i]->kind == QW_FACT_HAS || facts[i]->kind == QW_FACT_LACKS) add_name(names, facts[i]->name);
}

/* What a layer says of the value of a key. */
static void layer_says(qw_compiler *c, qw_branch *b, const qw_dom *schema, qw_text name, gathered *g)
{
    const qw_dom *member = qw_dom_find(qw_dom_get(schema, "properties"), name);
    const qw_dom *patterns = qw_dom_get(schema, "patternProperties");
    const qw_dom *additional = qw_additional_of(c, schema);
    bool known = member != NULL;

    if (member) gather_node(c, g, QW_MEETS, member);
    for (const qw_dom *pattern = patterns ? patterns->first : NULL; pattern; pattern = pattern->next) {
        qw_expr expr;
        if (!qw_pattern_expr(c, b, pattern, pattern->key, &expr) || !qw_name_in(c, name, expr)) continue;
        gather_node(c, g, QW_MEETS, pattern);
        known = true;
    }
    if (!known && additional) gather_node(c, g, QW_MEETS, additional);
}

static void plan_key(qw_compiler *c, qw_branch *b, const qw_fact *const *facts, uint32_t n, qw_plan_key *key)
{
    gathered g = {0};

    for (uint32_t i = 0; i < n; i++) {
        const qw_fact *fact = facts[i];
        const qw_dom *member;
        if (fact->kind == QW_FACT_LAYER) layer_says(c, b, fact->node, key->name, &g);
        if (fact->kind == QW_FACT_VALUE) {
            member = qw_dom_find(fact->node, key->name);
            if (member) {
                gather_node(c, &g, QW_EQUALS, member);
                key->required = true;
            } else {
                g.none = true;
            }
        }
        if (fact->kind != QW_FACT_HAS && fact->kind != QW_FACT_LACKS) continue;
        if (!qw_text_equal(fact->name, key->name)) continue;
        if (fact->kind == QW_FACT_LACKS) g.none = true;
        else key->required = true;
        if (fact->has_literal) gather(c, &g, fact->literal);
    }
    key->value = conj_of(c, &g);
}

/* A class under way: what its keys' values must be so far, and whether a pattern of the layer at hand took them. */
typedef struct part {
    qw_expr keys;
    gathered values;
    bool taken;
} part;

/* Divides the parts by a pattern of a layer; the number of parts then. */
static uint32_t divide(qw_compiler *c, qw_branch *b, part *parts, uint32_t n, const qw_dom *pattern)
{
    qw_expr expr;
    uint32_t before = n;

    if (!qw_pattern_expr(c, b, pattern, pattern->key, &expr)) return n;
    for (uint32_t i = 0; i < before; i++) {
        qw_expr in = qw_expr_and2(c->pool, parts[i].keys, expr);
        qw_expr out = qw_expr_minus(c->pool, parts[i].keys, expr);
        bool none = qw_expr_is_void(c->pool, in), all = qw_expr_is_void(c->pool, out);
        part inside = parts[i];
        if (none) continue;
        if (!all && n == MOST_CLASSES) {
            qw_doubt_add(c, b, pattern, "its patterns divide the keys into more than %d classes", MOST_CLASSES);
            return n;
        }
        inside.keys = in;
        inside.taken = true;
        inside.values.cap = inside.values.n; /* a copy from here on */
        gather_node(c, &inside.values, QW_MEETS, pattern);
        if (all) {
            parts[i] = inside;
        } else {
            parts[i].keys = out;
            parts[n++] = inside;
        }
    }
    return n;
}

static uint32_t divide_by_layer(qw_compiler *c, qw_branch *b, part *parts, uint32_t n, const qw_dom *schema)
{
    const qw_dom *patterns = qw_dom_get(schema, "patternProperties");
    const qw_dom *additional = qw_additional_of(c, schema);

    for (uint32_t i = 0; i < n; i++) parts[i].taken = false;
    for (const qw_dom *pattern = patterns ? patterns->first : NULL; pattern; pattern = pattern->next)
        n = divide(c, b, parts, n, pattern);
    for (uint32_t i = 0; additional && i < n; i++) {
        if (parts[i].taken) continue;
        parts[i].values.cap = parts[i].values.n;
        if (additional->kind == QW_DOM_FALSE) parts[i].values.none = true;
        else gather_node(c, &parts[i].values, QW_MEETS, additional);
    }
    return n;
}

static qw_plan_class *plan_classes(qw_compiler *c, qw_branch *b, const qw_fact *const *facts, uint32_t n, qw_expr keys)
{
    part *parts = qw_compiler_take(c, MOST_CLASSES, sizeof *parts);
    qw_plan_class *first = NULL;
    uint32_t n_parts = 1;

    if (!parts || keys == QW_EXPR_NONE) return NULL;
    parts[0].keys = keys;
    for (uint32_t i = 0; i < n; i++) {
        if (facts[i]->kind == QW_FACT_VALUE) return NULL;
        if (facts[i]->kind == QW_FACT_LAYER) n_parts = divide_by_layer(c, b, parts, n_parts, facts[i]->node);
    }
    for (uint32_t i = n_parts; i-- > 0;) {
        qw_conj *value = conj_of(c, &parts[i].values);
        qw_plan_class *class = value ? qw_compiler_take(c, 1, sizeof *class) : NULL;
        if (!class) continue;
        *class = (qw_plan_class){first, parts[i].keys, value};
        first = class;
    }
    return first;
}

void qw_object_plan_make(qw_compiler *c, qw_branch *b, qw_expr language, qw_object_plan *plan)
{
    uint32_t n, required = 0, possible = 0;
    const qw_fact **facts = in_order(c, b->form.object, &n);
    name_list names = {0};

    *plan = (qw_object_plan){.min = b->form.min_keys, .max = b->form.max_keys};
    if (c->status || !names_begin(c, &names, facts, n)) return;
    find_names(&names, facts, n);
    c->work += (uint64_t)names.n * n;
    for (uint32_t i = 0; i < names.n; i++) {
        qw_plan_key *key = &names.keys[i];
        plan_key(c, b, facts, n, key);
        if (key->value && !qw_name_in(c, key->name, language)) key->value = NULL;
        required += key->required;
        possible += key->value != NULL;
        if (key->required && !key->value) plan->none = true;
    }
    plan->keys = names.keys;
    plan->n = names.n;
    plan->classes = plan_classes(c, b, facts, n, language);
    if (required > plan->max || (!plan->classes && possible < plan->min)) plan->none = true;
}

/* What the facts say of the item at index, or of those behind the prefix (index UINT32_MAX). */
static qw_conj *plan_item(qw_compiler *c, const qw_fact *const *facts, uint32_t n, const qw_dom **at, uint32_t index)
{
    gathered g = {0};

    for (uint32_t i = 0; i < n; i++) {
        const qw_fact *fact = facts[i];
        if (fact->kind == QW_FACT_ALL_ITEMS || (fact->kind == QW_FACT_ITEM && fact->min == (int64_t)index))
            gather(c, &g, fact->literal);
        if (fact->kind > QW_FACT_VALUE) continue;
        if (at[i]) {
            gather_node(c, &g, fact->kind == QW_FACT_VALUE ? QW_EQUALS : QW_MEETS, at[i]);
            at[i] = at[i]->next;
        } else if (fact->kind == QW_FACT_VALUE) {
            g.none = true;
        } else {
            const qw_dom *rest = qw_array_layer_of(c, fact->node).rest;
            if (rest) gather_node(c, &g, QW_MEETS, rest);
        }
    }
    return conj_of(c, &g);
}

/* How many items are looked at one by one; first[i] is the first such of fact i. */
static uint32_t prefix_length(qw_compiler *c, const qw_fact *const *facts, uint32_t n, const qw_dom **first)
{
    uint32_t length = 0;

    for (uint32_t i = 0; i < n; i++) {
        const qw_dom *list = facts[i]->node;
        uint32_t end = facts[i]->kind == QW_FACT_ITEM ? (uint32_t)facts[i]->min + 1 : 0;
        if (facts[i]->kind == QW_FACT_LAYER) list = qw_array_layer_of(c, list).prefix;
        if (facts[i]->kind <= QW_FACT_VALUE && list && list->kind == QW_DOM_ARRAY) {
            first[i] = list->first;
            end = list->n;
        }
        if (end > length) length = end;
    }
    return length;
}

void qw_array_plan_make(qw_compiler *c, qw_branch *b, qw_array_plan *plan)
{
    uint32_t n;
    const qw_fact **facts = in_order(c, b->form.array, &n);
    const qw_dom **at = qw_compiler_take(c, n + 1, sizeof *at);
    uint32_t length;

    *plan = (qw_array_plan){.min = b->form.min_items, .max = b->form.max_items, .unique = b->form.unique};
    plan->contains = qw_compiler_take(c, n + 1, sizeof *plan->contains);
    if (c->status) return;
    length = prefix_length(c, facts, n, at);
    if (length > plan->max) length = (uint32_t)plan->max;
    plan->prefix = qw_compiler_take(c, length + 1, sizeof *plan->prefix);
    if (c->status) return;
    for (uint32_t i = 0; i < n; i++)
        if (facts[i]->kind == QW_FACT_CONTAINS) plan->contains[plan->n_contains++] = facts[i];
    while (plan->n < length) {
        qw_conj *item = plan_item(c, facts, n, at, plan->n);
        if (!item) {
            plan->max = plan->n;
            break;
        }
        plan->prefix[plan->n++] = item;
    }
    if (plan->n < plan->max) plan->rest = plan_item(c, facts, n, at, UINT32_MAX);
    if (!plan->rest && plan->max > plan->n) plan->max = plan->n;
    if (plan->min > plan->max) plan->none = true;
}
