/* SPDX-License-Identifier: MIT
 * De Morgan's rules: what is broken of a conjunction is a choice, of a choice a conjunction. */
#include "format/schema_logic.h"

enum { MOST_BROKEN_ONE_OF = 24 }; /* alternatives of a oneOf that must not hold: two of them may */

static bool is_list(qw_compiler *c, qw_branch *b, const qw_dom *node)
{
    if (node->kind == QW_DOM_ARRAY && node->n) return true;
    qw_doubt_add(c, b, node, "%.*s must be a list of schemas", (int)node->key.n, node->key.bytes);
    return false;
}

/* One alternative for each child. */
static void choose_child(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *parent, bool exclusive)
{
    qw_choosing choosing = {.exclusive = exclusive};

    for (const qw_dom *child = parent->first; child; child = child->next)
        qw_choosing_add(c, &choosing, qw_with(c, kind, child, NULL));
    qw_choosing_put(c, b, &choosing);
}

void qw_read_all_of(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    if (!is_list(c, b, node)) return;
    if (keeps) qw_push_children(c, b, QW_MEETS, node);
    else choose_child(c, b, QW_FAILS, node, false);
}

void qw_read_any_of(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    if (!is_list(c, b, node)) return;
    if (keeps) choose_child(c, b, QW_MEETS, node, false);
    else qw_push_children(c, b, QW_FAILS, node);
}

void qw_read_one_of(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_choosing choosing = {0};
    const qw_literals *none = NULL;

    if (!is_list(c, b, node)) return;
    if (keeps) {
        choose_child(c, b, QW_MEETS, node, true);
        return;
    }
    if (node->n > MOST_BROKEN_ONE_OF) {
        qw_doubt_add(c, b, node, "a oneOf of more than %d alternatives cannot be negated", MOST_BROKEN_ONE_OF);
        return;
    }
    for (const qw_dom *child = node->first; child; child = child->next) none = qw_with(c, QW_FAILS, child, none);
    qw_choosing_add(c, &choosing, none);
    for (const qw_dom *one = node->first; one; one = one->next)
        for (const qw_dom *two = one->next; two; two = two->next)
            qw_choosing_add(c, &choosing, qw_with(c, QW_MEETS, one, qw_with(c, QW_MEETS, two, NULL)));
    qw_choosing_put(c, b, &choosing);
}

void qw_read_not(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_push(c, b, keeps ? QW_FAILS : QW_MEETS, node);
}

void qw_read_if(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    const qw_dom *then = qw_dom_get(node->parent, "then"), *other = qw_dom_get(node->parent, "else");
    qw_literal_kind kind = keeps ? QW_MEETS : QW_FAILS;
    qw_choosing choosing = {0};

    if (keeps && !then && !other) return;
    if (then || keeps)
        qw_choosing_add(c, &choosing, qw_with(c, QW_MEETS, node, then ? qw_with(c, kind, then, NULL) : NULL));
    if (other || keeps)
        qw_choosing_add(c, &choosing, qw_with(c, QW_FAILS, node, other ? qw_with(c, kind, other, NULL) : NULL));
    qw_choosing_put(c, b, &choosing);
}

void qw_read_reference(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    const qw_dom *target = NULL;

    if (node->kind != QW_DOM_STRING) {
        qw_doubt_add(c, b, node, "$ref must be a text");
        return;
    }
    qw_compiler_fail(c, qw_schema_resolve(&c->document, node, &target, c->err));
    if (target) qw_push(c, b, keeps ? QW_MEETS : QW_FAILS, target);
    else
        qw_doubt_add(c, b, node, "\"%.*s\" is not in this schema, and nothing is fetched; put it under $defs",
                     (int)(node->text.n < 120 ? node->text.n : 120), node->text.bytes);
}
