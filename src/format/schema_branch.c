/* SPDX-License-Identifier: MIT
 * Lists of a branch, and the table of conjunctions. */
#include "format/schema_branch.h"

#include "base/print.h"

#include <stdarg.h>
#include <string.h>

void qw_compiler_fail(qw_compiler *c, qw_status status)
{
    if (!c->status) c->status = status;
}

void *qw_compiler_take(qw_compiler *c, size_t n, size_t size)
{
    void *part = c->status ? NULL : qw_arena_take(c->arena, n, size);

    if (!part && !c->status)
        qw_compiler_fail(c, qw_fail(c->err, QW_ERR_USAGE,
                                    "response_format: the schema needs more than %zu MB when it is compiled; divide it",
                                    c->arena->limit >> 20));
    return part;
}

static void remark(qw_compiler *c, bool refusal, const qw_dom *node, const char *format, va_list args)
{
    char why[256];

    if (c->probing || c->status) return;
    qw_print_list(why, sizeof why, format, args);
    qw_compiler_fail(c, qw_schema_remark_add(&c->report, c->arena, refusal, node, why, c->err));
}

void qw_refuse(qw_compiler *c, const qw_dom *node, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    remark(c, !c->lenient, node, format, args);
    va_end(args);
}

void qw_doubt_add(qw_compiler *c, qw_branch *b, const qw_dom *node, const char *format, ...)
{
    qw_doubt *doubt = qw_compiler_take(c, 1, sizeof *doubt);
    char why[256];
    va_list args;

    if (!doubt) return;
    va_start(args, format);
    qw_print_list(why, sizeof why, format, args);
    va_end(args);
    *doubt = (qw_doubt){b->form.doubts, node, qw_arena_text(c->arena, qw_text_of(why)).bytes};
    if (doubt->why) b->form.doubts = doubt;
}

void qw_note(qw_compiler *c, const qw_dom *node, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    remark(c, false, node, format, args);
    va_end(args);
}

const qw_literals *qw_with(qw_compiler *c, qw_literal_kind kind, const qw_dom *node, const qw_literals *rest)
{
    qw_literals *cell = qw_compiler_take(c, 1, sizeof *cell);

    if (cell) *cell = (qw_literals){rest, qw_literal_of(kind, node)};
    return cell;
}

void qw_push(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *node)
{
    const qw_literals *todo = qw_with(c, kind, node, b->todo);

    if (todo) b->todo = todo;
}

void qw_push_children(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *parent)
{
    qw_literals *cells = qw_compiler_take(c, parent->n + 1, sizeof *cells);
    uint32_t n = 0;

    if (!cells || !parent->n) return;
    for (const qw_dom *child = parent->first; child; child = child->next, n++)
        cells[n] = (qw_literals){&cells[n + 1], qw_literal_of(kind, child)};
    cells[n - 1].next = b->todo;
    b->todo = cells;
}

void qw_choosing_add(qw_compiler *c, qw_choosing *choosing, const qw_literals *literals)
{
    qw_alternative *alternative = qw_compiler_take(c, 1, sizeof *alternative);

    if (!alternative) return;
    alternative->literals = literals;
    if (choosing->last) choosing->last->next = alternative;
    else choosing->first = alternative;
    choosing->last = alternative;
    choosing->n++;
}

void qw_push_list(qw_compiler *c, qw_branch *b, const qw_literals *literals)
{
    qw_literals *cells;
    size_t n = 0;

    for (const qw_literals *l = literals; l; l = l->next) n++;
    cells = n ? qw_compiler_take(c, n, sizeof *cells) : NULL;
    if (!cells) return;
    for (size_t i = 0; i < n; i++, literals = literals->next)
        cells[i] = (qw_literals){i + 1 < n ? &cells[i + 1] : b->todo, literals->literal};
    b->todo = cells;
}

void qw_choosing_put(qw_compiler *c, qw_branch *b, const qw_choosing *choosing)
{
    qw_choice_list *choice;

    if (!choosing->n) {
        qw_branch_kill(b);
        return;
    }
    if (choosing->n == 1) {
        qw_push_list(c, b, choosing->first->literals);
        return;
    }
    choice = qw_compiler_take(c, 1, sizeof *choice);
    if (!choice) return;
    *choice = (qw_choice_list){b->choices, choosing->first, choosing->n, choosing->exclusive};
    b->choices = choice;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

void qw_fact_add(qw_compiler *c, qw_branch *b, bool object, qw_fact fact)
{
    const qw_fact **list = object ? &b->form.object : &b->form.array;
    uint64_t *hash = object ? &b->form.object_hash : &b->form.array_hash;
    qw_fact *kept = qw_compiler_take(c, 1, sizeof *kept);

    if (!kept) return;
    *kept = fact;
    kept->before = *list;
    *list = kept;
    *hash = mix(mix(mix(*hash, (uint64_t)fact.kind + 1), fact.node ? fact.node->id : 0), fact.literal);
    *hash = mix(mix(*hash, (uint64_t)fact.min), (uint64_t)fact.max);
    for (size_t i = 0; i < fact.name.n; i++) *hash = mix(*hash, (unsigned char)fact.name.bytes[i]);
}

const qw_dom *qw_follow_references(qw_compiler *c, const qw_dom *node)
{
    for (int32_t steps = 0; steps < 64; steps++) {
        const qw_dom *reference = qw_dom_get(node, "$ref"), *target = NULL;
        bool alone = node->n == 1 || c->document.draft <= QW_DRAFT_7;
        if (!reference || reference->kind != QW_DOM_STRING || !alone) return node;
        qw_compiler_fail(c, qw_schema_resolve(&c->document, reference, &target, c->err));
        if (!target || (target->kind != QW_DOM_OBJECT && target->kind != QW_DOM_TRUE && target->kind != QW_DOM_FALSE))
            return node;
        node = target;
    }
    return node;
}

/* Adds a literal to those of a conjunction. A literal of no content adds nothing. */
static void conj_add(qw_compiler *c, qw_conj *conj, qw_literal literal)
{
    qw_literal_kind kind = qw_literal_kind_of(literal);
    const qw_dom *node = qw_literal_node(c, literal);
    bool always, never;

    if (kind == QW_MEETS || kind == QW_FAILS) {
        node = qw_follow_references(c, node);
        literal = qw_literal_of(kind, node);
        always = node->kind == QW_DOM_TRUE || (node->kind == QW_DOM_OBJECT && !node->n);
        never = node->kind == QW_DOM_FALSE;
        if (kind == QW_MEETS ? never : always) conj->none = true;
        if (always || never) return;
    }
    for (uint32_t i = 0; i < conj->n; i++)
        if (conj->literals[i] == literal) return;
    conj->literals[conj->n++] = literal;
}

static bool same_conj(const qw_conj *a, const qw_conj *b)
{
    return a->hash == b->hash && a->n == b->n && a->none == b->none &&
           (!a->n || memcmp(a->literals, b->literals, a->n * sizeof *a->literals) == 0);
}

qw_conj *qw_conj_of(qw_compiler *c, const qw_literal *literals, uint32_t n)
{
    qw_conj *conj = qw_compiler_take(c, 1, sizeof *conj);
    uint64_t hash = 0;

    if (!conj) return NULL;
    conj->literals = n ? qw_compiler_take(c, n, sizeof *conj->literals) : NULL;
    if (n && !conj->literals) return NULL;
    for (uint32_t i = 0; i < n; i++) conj_add(c, conj, literals[i]);
    if (conj->none) conj->n = 0;
    for (uint32_t i = 0; i < conj->n; i++) hash = mix(hash, conj->literals[i] + 1u);
    conj->hash = (uint32_t)(hash ^ hash >> 32);
    for (qw_conj *old = c->conjs[conj->hash % QW_CONJ_TABLE]; old; old = old->next_same_hash)
        if (same_conj(old, conj)) return old;
    if (conj->none) conj->state = QW_CONJ_VOID;
    conj->next_same_hash = c->conjs[conj->hash % QW_CONJ_TABLE];
    c->conjs[conj->hash % QW_CONJ_TABLE] = conj;
    return conj;
}

/* Reports a language that the pool would not make, and goes on without it. */
static bool pool_failed(qw_compiler *c, qw_branch *b, const qw_dom *node)
{
    qw_error err = {0};
    qw_status status = qw_expr_status(c->pool, &err);

    if (!status) return false;
    if (status != QW_ERR_USAGE) {
        if (c->err) *c->err = err;
        qw_compiler_fail(c, status);
        return true;
    }
    qw_expr_clear(c->pool);
    qw_doubt_add(c, b, node, "%s", err.text);
    return true;
}

void qw_narrow_string(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_expr expr)
{
    qw_form *form = &b->form;

    if (pool_failed(c, b, node)) return;
    if (form->has_string) expr = qw_expr_and2(c->pool, form->string, expr);
    if (pool_failed(c, b, node)) return;
    form->string = expr;
    form->has_string = true;
    if (qw_expr_is_void(c->pool, expr) && !pool_failed(c, b, node)) form->types &= (uint8_t)~QW_TYPE_STRING;
}

void qw_narrow_number(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_expr expr)
{
    qw_form *form = &b->form;

    if (pool_failed(c, b, node)) return;
    if (form->has_number) expr = qw_expr_and2(c->pool, form->number, expr);
    if (pool_failed(c, b, node)) return;
    form->number = expr;
    form->has_number = true;
    if (qw_expr_is_void(c->pool, expr) && !pool_failed(c, b, node)) form->types &= (uint8_t)~QW_TYPE_NUMBER;
}
