/* SPDX-License-Identifier: MIT
 * The declared names are tried one by one; what is left of the other keys is a language that must be empty. */
#include "format/schema_some_key.h"

#include "format/schema_objects.h"
#include "format/schema_scalars.h"

const qw_fact *qw_some_key_open(const qw_form *form)
{
    for (const qw_fact *fact = form->object; fact; fact = fact->before)
        if (fact->kind == QW_FACT_SOME_KEY || fact->kind == QW_FACT_OTHER_KEY) return fact;
    return NULL;
}

/* The branch without the fact. */
static qw_branch without(qw_compiler *c, const qw_branch *b, const qw_fact *fact)
{
    qw_branch copy = *b;
    const qw_fact **facts;
    uint32_t n = 0;

    for (const qw_fact *each = b->form.object; each; each = each->before) n++;
    facts = qw_compiler_take(c, n, sizeof *facts);
    if (!facts) return copy;
    for (const qw_fact *each = b->form.object; each; each = each->before) facts[--n] = each;
    copy.form.object = NULL;
    copy.form.object_hash = 0;
    for (const qw_fact *last = b->form.object;; n++) {
        if (facts[n] != fact) qw_fact_add(c, &copy, true, *facts[n]);
        if (facts[n] == last) return copy;
    }
}

/* The language of the keys that fact is about: those of which one must be there. */
static qw_expr keys_of(qw_compiler *c, qw_branch *b, const qw_fact *fact, qw_expr names)
{
    qw_expr all = qw_expr_any_text(c->pool, QW_SPELL_JSON), keys = all, expr;
    const qw_dom *node = fact->node, *schema = node->parent;
    const qw_dom *declared = fact->kind == QW_FACT_OTHER_KEY ? node : qw_dom_get(schema, "properties");
    const qw_dom *patterns = qw_dom_get(schema, "patternProperties");

    if (fact->kind == QW_FACT_SOME_KEY && qw_text_is(node->key, "propertyNames"))
        return qw_expr_minus(c->pool, all, names);
    if (fact->kind == QW_FACT_SOME_KEY && node == patterns) return all;
    for (const qw_dom *member = declared ? declared->first : NULL; member; member = member->next)
        keys = qw_expr_minus(c->pool, keys, qw_expr_text(c->pool, member->key, QW_SPELL_JSON));
    if (fact->kind == QW_FACT_OTHER_KEY) return keys;
    for (const qw_dom *pattern = patterns ? patterns->first : NULL; pattern; pattern = pattern->next)
        if (qw_pattern_expr(c, b, pattern, pattern->key, &expr)) keys = qw_expr_minus(c->pool, keys, expr);
    return keys;
}

/* The branch in which that name is the one, with what its value must be. */
static qw_branch named(qw_compiler *c, const qw_branch *rest, const qw_dom *failing, qw_text name)
{
    qw_branch b = *rest;
    qw_fact has = {.kind = QW_FACT_HAS, .name = name};

    if (failing) {
        has.literal = qw_literal_of(QW_FAILS, failing);
        has.has_literal = true;
    }
    qw_fact_add(c, &b, true, has);
    return b;
}

/* Whether a key of a class that no name is declared for may be the one. */
static bool may_be_other(qw_compiler *c, const qw_object_plan *plan, qw_expr keys, const qw_dom *failing)
{
    for (const qw_plan_class *class = plan->classes; class; class = class->next) {
        qw_expr both = qw_expr_and2(c->pool, class->keys, keys);
        qw_literal literal = failing ? qw_literal_of(QW_MEETS, failing) : 0;
        bool met = false;
        for (uint32_t i = 0; failing && i < class->value->n; i++) met |= class->value->literals[i] == literal;
        if (met) continue; /* the same schema is met by all of them */
        for (uint32_t i = 0; i < plan->n; i++)
            both = qw_expr_minus(c->pool, both, qw_expr_text(c->pool, plan->keys[i].name, QW_SPELL_JSON));
        if (!qw_expr_is_void(c->pool, both)) return true;
    }
    return false;
}

static uint32_t settle_patterns(qw_compiler *c, qw_branch *rest, const qw_fact *fact, const qw_object_plan *plan,
                                qw_branch *out, uint32_t most)
{
    uint32_t n = 0;
    qw_expr expr;

    for (const qw_dom *pattern = fact->node->first; pattern; pattern = pattern->next) {
        if (!qw_pattern_expr(c, rest, pattern, pattern->key, &expr)) continue;
        for (uint32_t i = 0; i < plan->n && n < most; i++)
            if (plan->keys[i].value && qw_name_in(c, plan->keys[i].name, expr))
                out[n++] = named(c, rest, pattern, plan->keys[i].name);
        if (n < most && may_be_other(c, plan, expr, pattern)) {
            out[n] = *rest;
            qw_doubt_add(c, &out[n++], fact->node, "a key of a pattern whose value fails cannot be asked for");
        }
    }
    return n;
}

uint32_t qw_some_key_settle(qw_compiler *c, const qw_branch *b, const qw_fact *fact, const qw_object_plan *plan,
                            qw_expr names, qw_branch *out)
{
    qw_branch rest = without(c, b, fact);
    bool some = fact->kind == QW_FACT_SOME_KEY, additional;
    const qw_dom *failing;
    uint32_t n = 0;
    qw_expr keys;

    if (some && qw_text_is(fact->node->key, "patternProperties"))
        return settle_patterns(c, &rest, fact, plan, out, plan->n + 1);
    additional = some && fact->node == qw_additional_of(c, fact->node->parent);
    failing = additional && fact->node->kind != QW_DOM_FALSE ? fact->node : NULL;
    keys = keys_of(c, &rest, fact, names);
    for (uint32_t i = 0; i < plan->n; i++)
        if (plan->keys[i].value && qw_name_in(c, plan->keys[i].name, keys))
            out[n++] = named(c, &rest, failing, plan->keys[i].name);
    if (may_be_other(c, plan, keys, failing)) {
        out[n] = rest;
        qw_doubt_add(c, &out[n++], fact->node, "a key that is not declared cannot be asked for; declare it");
    }
    return n;
}
