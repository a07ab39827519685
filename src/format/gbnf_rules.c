/* SPDX-License-Identifier: MIT
 * Facts of rules grow until they no longer do: a rule may be empty if its body may while the rules in it count as what is
 * known of them so far, and so with having an end. */
#include "format/gbnf_rules.h"

#include "base/alloc.h"

enum { DEEPEST = 200 };

typedef struct facts {
    qw_gbnf_syntax *s;
    bool *nullable, *ends;
    uint8_t *seen; /* of a walk: 1 open, 2 done */
    int64_t *exprs;
    qw_error *err;
} facts;

static bool part_nullable(const facts *f, uint32_t at)
{
    const qw_gbnf_part *p = &f->s->parts[at];
    bool all = p->kind == QW_GBNF_SEQUENCE;

    if (p->kind == QW_GBNF_EXPR) return qw_expr_nullable(f->s->pool, p->a);
    if (p->kind == QW_GBNF_RULE) return f->nullable[p->a];
    if (p->kind == QW_GBNF_REPEAT) return p->min == 0 || part_nullable(f, p->a);
    for (uint32_t i = 0; i < p->b; i++)
        if (part_nullable(f, f->s->lists[p->a + i]) != all) return !all;
    return all;
}

static bool part_ends(const facts *f, uint32_t at)
{
    const qw_gbnf_part *p = &f->s->parts[at];
    bool all = p->kind == QW_GBNF_SEQUENCE;

    if (p->kind == QW_GBNF_EXPR) return !qw_expr_is_void(f->s->pool, p->a);
    if (p->kind == QW_GBNF_RULE) return f->ends[p->a];
    if (p->kind == QW_GBNF_REPEAT) return p->min == 0 || part_ends(f, p->a);
    for (uint32_t i = 0; i < p->b; i++)
        if (part_ends(f, f->s->lists[p->a + i]) != all) return !all;
    return all;
}

static void grow_facts(facts *f)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < f->s->n_rules; i++) {
            uint32_t body = f->s->rules[i].body;

            if (!f->nullable[i] && part_nullable(f, body)) more = f->nullable[i] = true;
            if (!f->ends[i] && part_ends(f, body)) more = f->ends[i] = true;
        }
    }
}

static qw_status check_left(facts *f, uint32_t at, int depth);

static qw_status check_left_rule(facts *f, const qw_gbnf_part *p, int depth)
{
    qw_text name = f->s->rules[p->a].name;

    if (f->seen[p->a] == 2) return QW_OK;
    if (f->seen[p->a] == 1)
        return qw_gbnf_fail(f->s, p->place, f->err, "left recursion: the rule \"%.*s\" may begin with itself",
                            (int)(name.n < 60 ? name.n : 60), name.bytes);
    if (depth > DEEPEST) return qw_gbnf_fail(f->s, p->place, f->err, "rules begin with rules more than 200 deep");
    f->seen[p->a] = 1;
    QW_TRY(check_left(f, f->s->rules[p->a].body, depth + 1));
    f->seen[p->a] = 2;
    return QW_OK;
}

/* No rule with which the part may begin leads back to an open one. */
static qw_status check_left(facts *f, uint32_t at, int depth)
{
    const qw_gbnf_part *p = &f->s->parts[at];

    if (p->kind == QW_GBNF_RULE) return check_left_rule(f, p, depth);
    if (p->kind == QW_GBNF_REPEAT) return check_left(f, p->a, depth);
    for (uint32_t i = 0; p->kind != QW_GBNF_EXPR && i < p->b; i++) {
        uint32_t part = f->s->lists[p->a + i];

        QW_TRY(check_left(f, part, depth));
        if (p->kind == QW_GBNF_SEQUENCE && !part_nullable(f, part)) break;
    }
    return QW_OK;
}

static int64_t expr_of_rule(facts *f, uint32_t rule, int depth);

/* The part as an expression, or QW_GBNF_NESTED. */
static int64_t expr_of(facts *f, uint32_t at, int depth)
{
    qw_gbnf_part p = f->s->parts[at];
    qw_expr_pool *pool = f->s->pool;
    int64_t out = p.kind == QW_GBNF_CHOICE ? QW_EXPR_NONE : QW_EXPR_EMPTY, part;

    if (p.kind == QW_GBNF_EXPR) return p.a;
    if (p.kind == QW_GBNF_RULE) return expr_of_rule(f, p.a, depth);
    if (p.kind == QW_GBNF_REPEAT) {
        part = expr_of(f, p.a, depth);
        return part < 0 ? part : (int64_t)qw_expr_repeat(pool, (qw_expr)part, p.min, p.max);
    }
    for (uint32_t i = p.b; i-- > 0;) {
        part = expr_of(f, f->s->lists[p.a + i], depth);
        if (part < 0) return part;
        if (p.kind == QW_GBNF_CHOICE) out = qw_expr_or2(pool, (qw_expr)part, (qw_expr)out);
        else out = qw_expr_concat(pool, (qw_expr)part, (qw_expr)out);
    }
    return out;
}

static int64_t expr_of_rule(facts *f, uint32_t rule, int depth)
{
    if (f->seen[rule] == 2) return f->exprs[rule];
    if (f->seen[rule] == 1) return QW_GBNF_NESTED;
    if (depth > DEEPEST) {
        qw_expr_fail(f->s->pool, QW_ERR_USAGE, "grammar: rules are made of rules more than 200 deep");
        return QW_GBNF_NESTED;
    }
    f->seen[rule] = 1;
    f->exprs[rule] = expr_of(f, f->s->rules[rule].body, depth + 1);
    f->seen[rule] = 2;
    return f->exprs[rule];
}

static void find_exprs(facts *f)
{
    for (uint32_t i = 0; i < f->s->n_rules; i++) f->seen[i] = 0;
    for (uint32_t i = 0; i < f->s->n_rules; i++) expr_of_rule(f, i, 0);
}

static qw_status check(facts *f, uint32_t root)
{
    for (size_t i = 0; i < f->s->n_rules; i++) {
        const qw_gbnf_rule *rule = &f->s->rules[i];

        if (rule->body == UINT32_MAX)
            return qw_gbnf_fail(f->s, rule->place, f->err, "the rule \"%.*s\" is used and not defined",
                                (int)(rule->name.n < 60 ? rule->name.n : 60), rule->name.bytes);
    }
    grow_facts(f);
    for (uint32_t i = 0; i < f->s->n_rules; i++) {
        qw_gbnf_part part = {.kind = QW_GBNF_RULE, .a = i, .place = f->s->rules[i].place};

        QW_TRY(check_left_rule(f, &part, 0));
    }
    find_exprs(f);
    QW_TRY(qw_expr_status(f->s->pool, f->err));
    if (!f->ends[root])
        return qw_gbnf_fail(
            f->s, f->s->rules[root].place, f->err, "no text satisfies the grammar: no way through \"%.*s\" ever ends",
            (int)(f->s->rules[root].name.n < 60 ? f->s->rules[root].name.n : 60), f->s->rules[root].name.bytes);
    return QW_OK;
}

qw_status qw_gbnf_check(qw_gbnf_syntax *syntax, uint32_t root, int64_t *exprs, qw_error *err)
{
    facts f = {.s = syntax, .exprs = exprs, .err = err};
    qw_status status;

    f.nullable = qw_calloc(syntax->n_rules, sizeof *f.nullable);
    f.ends = qw_calloc(syntax->n_rules, sizeof *f.ends);
    f.seen = qw_calloc(syntax->n_rules, sizeof *f.seen);
    if (!f.nullable || !f.ends || !f.seen)
        status = qw_fail_memory(err, "a grammar's rules", (double)(3 * syntax->n_rules));
    else status = check(&f, root);
    qw_free(f.nullable);
    qw_free(f.ends);
    qw_free(f.seen);
    return status;
}
