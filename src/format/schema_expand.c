/* SPDX-License-Identifier: MIT
 * A tableau: literals are read until none is left, then the smallest choice is made, each alternative a branch of its own.
 * A branch of no value is dropped as soon as that shows. Of a oneOf, an alternative excludes only those that it can meet
 * together with: mostly none. Work is bounded; a schema above the bound is refused, never cut. */
#include "format/schema_expand.h"

#include "format/numbers.h"
#include "format/schema_keywords.h"
#include "format/schema_some_key.h"

#include <string.h>

enum {
    MOST_WORK = 400000, /* of one schema: literals read, and facts held against names */
    MOST_FORMS = 4096,  /* of one conjunction */
    PROBE_DEPTH = 12,   /* questions inside questions; deeper ones are taken for yes */
    MOST_EXCLUSIVE = 256,
};

typedef struct pending {
    struct pending *below;
    qw_branch branch;
} pending;

typedef struct expansion {
    qw_compiler *c;
    pending *stack, *spare;
    qw_forms *first, *last;
    int32_t n;
    bool one_is_enough;
} expansion;

static void expand(expansion *e);

static void push(expansion *e, const qw_branch *b)
{
    pending *p = e->spare;

    if (p) e->spare = p->below;
    else p = qw_compiler_take(e->c, 1, sizeof *p);
    if (!p) return;
    p->branch = *b;
    p->below = e->stack;
    e->stack = p;
}

/* Reads all literals of the branch. */
static void read_all(qw_compiler *c, qw_branch *b)
{
    while (b->todo && b->form.types && !c->status) {
        qw_literal literal = b->todo->literal;
        b->todo = b->todo->next;
        if (c->work++ >= MOST_WORK)
            qw_compiler_fail(c, qw_fail(c->err, QW_ERR_USAGE,
                                        "response_format: the schema has too many combinations of alternatives; divide "
                                        "its anyOf, oneOf, not and dependencies"));
        qw_literal_read(c, b, literal);
    }
}

/* Whether the branch, with one or two schemas more to meet and its other choices left open, may have a value. */
static bool probe(qw_compiler *c, const qw_branch *b, qw_literal one, const qw_literal *two)
{
    expansion e = {.c = c, .one_is_enough = true};
    qw_literals second = {NULL, two ? *two : 0}, first = {two ? &second : NULL, one};
    qw_branch copy = *b;

    if (c->depth >= PROBE_DEPTH) return true;
    copy.choices = NULL;
    copy.todo = NULL;
    qw_push_list(c, &copy, &first);
    c->depth++;
    c->probing++;
    push(&e, &copy);
    expand(&e);
    c->probing--;
    c->depth--;
    return e.n > 0;
}

/* The alternatives of a oneOf: each with the failure of those that may hold beside it. */
static const qw_alternative *exclude_others(qw_compiler *c, const qw_branch *b, const qw_choice_list *choice)
{
    qw_choosing choosing = {0};
    qw_literal *alive = qw_compiler_take(c, (size_t)choice->n, sizeof *alive);
    const qw_literals **literals = qw_compiler_take(c, (size_t)choice->n, sizeof *literals);
    int32_t n = 0;

    if (!alive || !literals) return NULL;
    for (const qw_alternative *a = choice->alternatives; a; a = a->next)
        if (probe(c, b, a->literals->literal, NULL)) alive[n++] = a->literals->literal;
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = i + 1; j < n && !c->status; j++) {
            if (n <= MOST_EXCLUSIVE && !probe(c, b, alive[i], &alive[j])) continue;
            literals[i] = qw_with(c, QW_FAILS, qw_literal_node(c, alive[j]), literals[i]);
            literals[j] = qw_with(c, QW_FAILS, qw_literal_node(c, alive[i]), literals[j]);
        }
    for (int32_t i = 0; i < n; i++)
        qw_choosing_add(c, &choosing, qw_with(c, QW_MEETS, qw_literal_node(c, alive[i]), literals[i]));
    return choosing.first;
}

/* Takes the smallest choice out of the branch. */
static const qw_choice_list *take_choice(qw_compiler *c, qw_branch *b)
{
    const qw_choice_list *best = b->choices;
    qw_choice_list *copies, *at = NULL;
    uint32_t n = 0;

    for (const qw_choice_list *choice = b->choices; choice; choice = choice->next) {
        if (choice->n <= best->n) best = choice;
        n++;
    }
    copies = qw_compiler_take(c, n, sizeof *copies);
    if (!copies) return NULL;
    for (const qw_choice_list *choice = b->choices; choice; choice = choice->next) {
        if (choice == best) continue;
        copies[--n] = *choice;
        if (at) at->next = &copies[n];
        else b->choices = &copies[n];
        at = &copies[n];
        at->next = NULL;
    }
    if (!at) b->choices = NULL;
    return best;
}

static void push_alternatives(expansion *e, const qw_branch *b, const qw_alternative *alternatives)
{
    qw_compiler *c = e->c;
    pending *top = e->stack, *reversed = NULL;

    for (const qw_alternative *a = alternatives; a; a = a->next) {
        qw_branch branch = *b;
        qw_push_list(c, &branch, a->literals);
        push(e, &branch);
    }
    while (e->stack != top) { /* the first on top */
        pending *p = e->stack;
        e->stack = p->below;
        p->below = reversed;
        reversed = p;
    }
    for (pending *p = reversed, *next; p; p = next) {
        next = p->below;
        p->below = top;
        top = p;
    }
    e->stack = top;
}

/* The bodies of the strings that meet a schema. */
static qw_expr strings_that_meet(qw_compiler *c, qw_literal literal)
{
    expansion e = {.c = c};
    qw_literals todo = {NULL, literal};
    qw_branch start = {.form = {.types = QW_TYPE_STRING, .max_keys = INT64_MAX, .max_items = INT64_MAX}};
    qw_expr strings = QW_EXPR_NONE, any = qw_expr_any_text(c->pool, QW_SPELL_JSON);

    qw_push_list(c, &start, &todo);
    push(&e, &start);
    expand(&e);
    for (const qw_forms *f = e.first; f; f = f->next)
        strings = qw_expr_or2(c->pool, strings, f->form.has_string ? qw_expr_and2(c->pool, any, f->form.string) : any);
    return strings;
}

/* The language of all keys by the form's propertyNames. */
static qw_expr names_of(qw_compiler *c, const qw_form *form)
{
    qw_expr names = qw_expr_any_text(c->pool, QW_SPELL_JSON);

    for (const qw_fact *fact = form->object; fact; fact = fact->before)
        if (fact->kind == QW_FACT_NAMES) names = qw_expr_and2(c->pool, names, strings_that_meet(c, fact->literal));
    return names;
}

/* Whether an item of the plan may also be what contains asks for. */
static bool may_contain(qw_compiler *c, const qw_array_plan *plan, const qw_fact *fact)
{
    for (uint32_t i = 0; i <= plan->n; i++) {
        const qw_conj *item = i < plan->n ? plan->prefix[i] : plan->rest;
        qw_literal *both = item ? qw_compiler_take(c, item->n + 1, sizeof *both) : NULL;
        if (!both) continue;
        if (item->n) memcpy(both, item->literals, item->n * sizeof *both);
        both[item->n] = fact->literal;
        if (qw_conj_alive(c, qw_conj_of(c, both, item->n + 1))) return true;
    }
    return false;
}

static void check_object(qw_compiler *c, qw_branch *b, qw_object_plan *plan)
{
    if (!(b->form.types & QW_TYPE_OBJECT)) return;
    qw_object_plan_make(c, b, names_of(c, &b->form), plan);
    for (uint32_t i = 0; i < plan->n && !plan->none; i++)
        if (plan->keys[i].required && !qw_conj_alive(c, plan->keys[i].value)) plan->none = true;
    if (plan->none) b->form.types &= (uint8_t)~QW_TYPE_OBJECT;
}

static void check_array(qw_compiler *c, qw_branch *b, qw_array_plan *plan)
{
    if (!(b->form.types & QW_TYPE_ARRAY)) return;
    qw_array_plan_make(c, b, plan);
    for (uint32_t i = 0; i < plan->n && (int64_t)i < plan->min && !plan->none; i++)
        if (!qw_conj_alive(c, plan->prefix[i])) plan->none = true;
    if (plan->min > (int64_t)plan->n && plan->rest && !qw_conj_alive(c, plan->rest)) plan->none = true;
    for (uint32_t i = 0; i < plan->n_contains && !plan->none; i++)
        if (plan->contains[i]->min > 0 && !may_contain(c, plan, plan->contains[i])) plan->none = true;
    if (plan->none) b->form.types &= (uint8_t)~QW_TYPE_ARRAY;
}

static void check_number(qw_compiler *c, qw_form *form)
{
    if (!(form->types & QW_TYPE_NUMBER)) return;
    if (form->integer && form->has_number)
        form->number = qw_expr_and2(c->pool, form->number, qw_number_integer(c->pool));
    if (form->has_number && qw_expr_is_void(c->pool, form->number)) form->types &= (uint8_t)~QW_TYPE_NUMBER;
}

/* Leaves to an earlier form what it says as well. */
static void drop_repeated(const expansion *e, qw_form *form)
{
    for (const qw_forms *old = e->first; old; old = old->next) {
        const qw_form *f = &old->form;
        form->types &= (uint8_t) ~(f->types & (QW_TYPE_NULL | QW_TYPE_FALSE | QW_TYPE_TRUE));
        if (f->types & QW_TYPE_OBJECT && f->object_hash == form->object_hash && f->min_keys == form->min_keys &&
            f->max_keys == form->max_keys)
            form->types &= (uint8_t)~QW_TYPE_OBJECT;
        if (f->types & QW_TYPE_ARRAY && f->array_hash == form->array_hash && f->min_items == form->min_items &&
            f->max_items == form->max_items && f->unique == form->unique)
            form->types &= (uint8_t)~QW_TYPE_ARRAY;
        if (f->types & QW_TYPE_STRING && f->has_string == form->has_string && f->string == form->string)
            form->types &= (uint8_t)~QW_TYPE_STRING;
        if (f->types & QW_TYPE_NUMBER && f->has_number == form->has_number && f->number == form->number &&
            f->integer == form->integer)
            form->types &= (uint8_t)~QW_TYPE_NUMBER;
    }
}

static void finish(expansion *e, qw_branch *b)
{
    qw_compiler *c = e->c;
    qw_object_plan object = {0};
    qw_array_plan array = {0};
    qw_forms *kept;

    check_number(c, &b->form);
    drop_repeated(e, &b->form);
    if (b->form.types && !c->status) check_object(c, b, &object);
    if (b->form.types && !c->status) check_array(c, b, &array);
    if (!b->form.types || c->status) return;
    for (const qw_doubt *doubt = b->form.doubts; doubt; doubt = doubt->before)
        qw_refuse(c, doubt->node, "%s", doubt->why);
    kept = qw_compiler_take(c, 1, sizeof *kept);
    if (!kept) return;
    *kept = (qw_forms){NULL, b->form, object, array};
    if (e->last) e->last->next = kept;
    else e->first = kept;
    e->last = kept;
    if (e->n++ == MOST_FORMS)
        qw_compiler_fail(c,
                         qw_fail(c->err, QW_ERR_USAGE,
                                 "response_format: a part of the schema has more than %d combinations of alternatives; "
                                 "divide it",
                                 MOST_FORMS));
}

/* One branch for each key that may be the one. */
static void settle(expansion *e, qw_branch *b, const qw_fact *fact)
{
    qw_compiler *c = e->c;
    qw_object_plan plan;
    qw_branch *out;
    qw_expr names = QW_EXPR_NONE;
    uint32_t n;

    if (fact->kind == QW_FACT_SOME_KEY && qw_text_is(fact->node->key, "propertyNames"))
        names = strings_that_meet(c, qw_literal_of(QW_MEETS, fact->node));
    qw_object_plan_make(c, b, names_of(c, &b->form), &plan);
    out = qw_compiler_take(c, plan.n + 1, sizeof *out);
    if (!out || plan.none) return;
    n = qw_some_key_settle(c, b, fact, &plan, names, out);
    while (n--) push(e, &out[n]);
}

static void expand(expansion *e)
{
    qw_compiler *c = e->c;

    while (e->stack && !c->status && !(e->one_is_enough && e->n)) {
        pending *p = e->stack;
        qw_branch b = p->branch;
        const qw_fact *open;
        e->stack = p->below;
        p->below = e->spare;
        e->spare = p;
        read_all(c, &b);
        if (!b.form.types) continue;
        open = b.choices || !(b.form.types & QW_TYPE_OBJECT) ? NULL : qw_some_key_open(&b.form);
        if (b.choices) {
            const qw_choice_list *choice = take_choice(c, &b);
            if (choice)
                push_alternatives(e, &b, choice->exclusive ? exclude_others(c, &b, choice) : choice->alternatives);
        } else if (open) {
            settle(e, &b, open);
        } else {
            finish(e, &b);
        }
    }
}

static void start(expansion *e, const qw_conj *conj)
{
    qw_branch b = {.form = {.types = QW_TYPE_ANY, .max_keys = INT64_MAX, .max_items = INT64_MAX}};

    if (conj->none) return;
    for (uint32_t i = conj->n; i-- > 0;)
        qw_push(e->c, &b, qw_literal_kind_of(conj->literals[i]), qw_literal_node(e->c, conj->literals[i]));
    push(e, &b);
    expand(e);
}

const qw_forms *qw_conj_forms(qw_compiler *c, qw_conj *conj)
{
    expansion e = {.c = c};

    if (conj->expanded) return conj->forms;
    start(&e, conj);
    conj->expanded = true;
    conj->forms = e.first;
    conj->state = e.n ? QW_CONJ_ALIVE : QW_CONJ_VOID;
    return conj->forms;
}

bool qw_conj_alive(qw_compiler *c, qw_conj *conj)
{
    expansion e = {.c = c, .one_is_enough = true};

    if (!conj) return c->status != QW_OK;
    if (conj->state != QW_CONJ_UNKNOWN) return conj->state != QW_CONJ_VOID;
    if (c->depth >= PROBE_DEPTH) return true;
    conj->state = QW_CONJ_BUSY;
    c->depth++;
    c->probing++;
    start(&e, conj);
    c->probing--;
    c->depth--;
    conj->state = e.n || c->status ? QW_CONJ_ALIVE : QW_CONJ_VOID;
    return conj->state == QW_CONJ_ALIVE;
}
