/* SPDX-License-Identifier: MIT
 * Conjunctions wait in a queue, so that deep schemas need no deep stack. What the forms say of strings, numbers and literals
 * is one language; objects and arrays are nodes of their own beside it. */
#include "format/schema_emit.h"

#include "format/numbers.h"

#include <string.h>

enum { MOST_COUNTERS = 4 };

typedef struct emitter {
    qw_compiler *c;
    qw_grammar *grammar;
    qw_conj *queue, *queue_end;
} emitter;

/* The rule of a conjunction, which is queued with its first use; none where it is empty. */
static qw_node rule_of(emitter *e, qw_conj *conj)
{
    if (!conj || conj->none || conj->state == QW_CONJ_VOID) return QW_NODE_NONE;
    if (conj->rule == QW_NODE_NONE) {
        conj->rule = qw_grammar_rule(e->grammar);
        if (e->queue_end) e->queue_end->next_queued = conj;
        else e->queue = conj;
        e->queue_end = conj;
    }
    return conj->rule;
}

static qw_expr quoted(qw_expr_pool *pool, qw_expr body)
{
    qw_expr quote = qw_expr_literal(pool, qw_text_of("\""));

    return qw_expr_concat(pool, quote, qw_expr_concat(pool, body, quote));
}

/* Strings, numbers and literals of all forms. */
static qw_expr scalars_of(qw_compiler *c, const qw_forms *forms)
{
    static const struct {
        const char *text;
        uint8_t type;
    } literals[] = {{"null", QW_TYPE_NULL}, {"false", QW_TYPE_FALSE}, {"true", QW_TYPE_TRUE}};
    qw_expr any = qw_expr_any_text(c->pool, QW_SPELL_JSON);
    qw_expr strings = QW_EXPR_NONE, others = QW_EXPR_NONE;
    uint8_t types = 0;

    for (const qw_forms *f = forms; f; f = f->next) {
        const qw_form *form = &f->form;
        types |= form->types;
        if (form->types & QW_TYPE_STRING)
            strings = qw_expr_or2(c->pool, strings, form->has_string ? qw_expr_and2(c->pool, any, form->string) : any);
        if (!(form->types & QW_TYPE_NUMBER)) continue;
        others = qw_expr_or2(c->pool, others,
                             form->has_number ? form->number
                             : form->integer  ? qw_number_integer(c->pool)
                                              : qw_number_any(c->pool));
    }
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++)
        if (types & literals[i].type)
            others = qw_expr_or2(c->pool, others, qw_expr_literal(c->pool, qw_text_of(literals[i].text)));
    return strings == QW_EXPR_NONE ? others : qw_expr_or2(c->pool, quoted(c->pool, strings), others);
}

static qw_node object_of(emitter *e, const qw_object_plan *plan)
{
    qw_compiler *c = e->c;
    size_t n_others = 0;
    qw_object_key *keys = qw_compiler_take(c, plan->n + 1, sizeof *keys);
    qw_object_others *others;

    for (const qw_plan_class *class = plan->classes; class; class = class->next) n_others++;
    others = qw_compiler_take(c, n_others + 1, sizeof *others);
    if (!keys || !others) return QW_NODE_NONE;
    for (uint32_t i = 0; i < plan->n; i++)
        keys[i] = (qw_object_key){plan->keys[i].name, rule_of(e, plan->keys[i].value), plan->keys[i].required};
    n_others = 0;
    for (const qw_plan_class *class = plan->classes; class; class = class->next)
        others[n_others++] = (qw_object_others){class->keys, rule_of(e, class->value)};
    return qw_grammar_object(e->grammar, &(qw_object_spec){keys, plan->n, others, n_others, plan->min, plan->max});
}

/* The conjunction of an item with what facts say of it: bit k of counts set, it is what contains k asks for; not set, and
 * there is a limit, it is not. */
static qw_conj *item_with(qw_compiler *c, const qw_array_plan *plan, const qw_conj *item, uint32_t counts)
{
    qw_literal *literals = qw_compiler_take(c, item->n + plan->n_contains, sizeof *literals);
    uint32_t n = item->n;

    if (!literals) return NULL;
    if (n) memcpy(literals, item->literals, n * sizeof *literals);
    for (uint32_t k = 0; k < plan->n_contains; k++) {
        qw_literal literal = plan->contains[k]->literal;
        bool meets = qw_literal_kind_of(literal) == QW_MEETS;
        const qw_dom *node = qw_literal_node(c, literal);
        if (counts >> k & 1) literals[n++] = literal;
        else if (plan->contains[k]->max < INT64_MAX) literals[n++] = qw_literal_of(meets ? QW_FAILS : QW_MEETS, node);
    }
    return qw_conj_of(c, literals, n);
}

static qw_array_slot slot_of(emitter *e, const qw_array_plan *plan, const qw_conj *item)
{
    uint32_t all = 1u << plan->n_contains;
    qw_array_item *items = qw_compiler_take(e->c, all, sizeof *items);
    size_t n = 0;

    if (!items || !item) return (qw_array_slot){NULL, 0};
    for (uint32_t counts = all; counts-- > 0;) {
        qw_conj *conj = item_with(e->c, plan, item, counts);
        if (conj && qw_conj_alive(e->c, conj)) items[n++] = (qw_array_item){rule_of(e, conj), counts};
    }
    return (qw_array_slot){items, n};
}

/* Whether two items that are equal have the same text: then no number that is no integer, no object, no array. */
static bool one_spelling(qw_compiler *c, qw_conj *conj)
{
    for (const qw_forms *f = conj ? qw_conj_forms(c, conj) : NULL; f; f = f->next) {
        if (f->form.types & QW_TYPE_OBJECT) return false;
        if (f->form.types & QW_TYPE_ARRAY) return false;
        if (f->form.types & QW_TYPE_NUMBER && !f->form.integer) return false;
    }
    return true;
}

static void check_unique(qw_compiler *c, const qw_dom *node, const qw_array_plan *plan)
{
    bool one = one_spelling(c, plan->rest);

    for (uint32_t i = 0; i < plan->n; i++) one &= one_spelling(c, plan->prefix[i]);
    if (!one && plan->max > 1)
        qw_refuse(c, node,
                  "uniqueItems is held for strings, integers, booleans and null only: other items can be "
                  "spelled in several ways");
}

static qw_node array_of(emitter *e, const qw_dom *node, const qw_array_plan *plan)
{
    qw_compiler *c = e->c;
    qw_array_slot *prefix = qw_compiler_take(c, plan->n + 1, sizeof *prefix);
    qw_array_counter *counters = qw_compiler_take(c, plan->n_contains + 1, sizeof *counters);
    qw_array_spec spec = {.prefix = prefix, .n_prefix = plan->n, .min = plan->min, .max = plan->max};

    if (!prefix || !counters) return QW_NODE_NONE;
    if (plan->n_contains > MOST_COUNTERS) {
        qw_refuse(c, node, "more than %d contains hold of one array", MOST_COUNTERS);
        return QW_NODE_NONE;
    }
    for (uint32_t i = 0; i < plan->n; i++) prefix[i] = slot_of(e, plan, plan->prefix[i]);
    spec.rest = slot_of(e, plan, plan->rest);
    for (uint32_t k = 0; k < plan->n_contains; k++)
        counters[k] = (qw_array_counter){plan->contains[k]->min, plan->contains[k]->max};
    spec.counters = counters;
    spec.n_counters = plan->n_contains;
    spec.unique = plan->unique && plan->max > 1;
    if (spec.unique) check_unique(c, node, plan);
    return qw_grammar_array(e->grammar, &spec);
}

/* The first schema that a conjunction is about, for what is said of it as a whole. */
static const qw_dom *about(const qw_compiler *c, const qw_conj *conj)
{
    return conj->n ? qw_literal_node(c, conj->literals[0]) : c->document.root;
}

static qw_node body_of(emitter *e, qw_conj *conj)
{
    qw_compiler *c = e->c;
    const qw_forms *forms = qw_conj_forms(c, conj);
    size_t n = 1;
    qw_node *parts;
    qw_expr scalars;

    for (const qw_forms *f = forms; f; f = f->next) n += 2;
    parts = qw_compiler_take(c, n, sizeof *parts);
    if (!parts) return QW_NODE_NONE;
    n = 0;
    scalars = scalars_of(c, forms);
    if (scalars != QW_EXPR_NONE) parts[n++] = qw_grammar_text(e->grammar, scalars);
    for (const qw_forms *f = forms; f; f = f->next) {
        if (f->form.types & QW_TYPE_OBJECT) parts[n++] = object_of(e, &f->object);
        if (f->form.types & QW_TYPE_ARRAY) parts[n++] = array_of(e, about(c, conj), &f->array);
    }
    return n == 1 ? parts[0] : qw_grammar_choice(e->grammar, parts, n);
}

qw_node qw_schema_emit(qw_compiler *c, qw_grammar *grammar, const qw_dom *root)
{
    emitter e = {.c = c, .grammar = grammar};
    qw_literal literal = qw_literal_of(QW_MEETS, root);
    qw_conj *whole = qw_conj_of(c, &literal, 1);
    qw_node start = rule_of(&e, whole);

    for (qw_conj *conj = e.queue; conj && !c->status; conj = conj->next_queued) {
        qw_node body = body_of(&e, conj);
        if (!c->status) qw_grammar_define(grammar, conj->rule, body);
    }
    return whole && whole->state == QW_CONJ_VOID ? QW_NODE_NONE : start;
}
