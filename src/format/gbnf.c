/* SPDX-License-Identifier: MIT
 * Of the rules that are no expressions, the repetitions are written out as rules: a* is r ::= | a r. */
#include "format/gbnf.h"

#include "base/alloc.h"
#include "format/gbnf_rules.h"

enum { WRITTEN_MOST = 4096 }; /* copies of parts with rules in them, in all */

typedef struct maker {
    qw_grammar *grammar;
    qw_gbnf_syntax *s;
    const int64_t *exprs;
    qw_node *rules; /* of the rules that are no expressions */
    int written;
    qw_status status;
    qw_error *err;
} maker;

static qw_node make(maker *m, uint32_t at);

static qw_node make_list(maker *m, const qw_gbnf_part *p)
{
    qw_node *nodes = qw_calloc(p->b, sizeof *nodes), out = QW_NODE_NONE;

    if (!nodes) {
        if (!m->status) m->status = qw_fail_memory(m->err, "a grammar", (double)(p->b * sizeof *nodes));
        return QW_NODE_NONE;
    }
    for (uint32_t i = 0; i < p->b && !m->status; i++) nodes[i] = make(m, m->s->lists[p->a + i]);
    if (p->kind == QW_GBNF_SEQUENCE) out = qw_grammar_sequence(m->grammar, nodes, p->b);
    else out = qw_grammar_choice(m->grammar, nodes, p->b);
    qw_free(nodes);
    return out;
}

/* part before rest, or nothing at all. */
static qw_node maybe(maker *m, qw_node part, qw_node rest)
{
    qw_node both = qw_grammar_sequence(m->grammar, (qw_node[]){part, rest}, 2);

    return qw_grammar_choice(m->grammar, (qw_node[]){qw_grammar_text(m->grammar, QW_EXPR_EMPTY), both}, 2);
}

static qw_node make_repeat(maker *m, const qw_gbnf_part *p)
{
    qw_node part = make(m, p->a), out = qw_grammar_text(m->grammar, QW_EXPR_EMPTY);
    uint64_t copies = p->max == QW_EXPR_UNBOUNDED ? (uint64_t)p->min + 1 : p->max;

    if (copies > (uint64_t)(WRITTEN_MOST - m->written)) {
        if (!m->status)
            m->status =
                qw_gbnf_fail(m->s, p->place, m->err,
                             "counts of what leads back to itself may add up to %d: use less, or *", WRITTEN_MOST);
        return QW_NODE_NONE;
    }
    m->written += (int)copies;
    if (p->max == QW_EXPR_UNBOUNDED) {
        out = qw_grammar_rule(m->grammar);
        qw_grammar_define(m->grammar, out, maybe(m, part, out));
    }
    for (uint32_t i = p->min; p->max != QW_EXPR_UNBOUNDED && i < p->max; i++) out = maybe(m, part, out);
    for (uint32_t i = 0; i < p->min; i++) out = qw_grammar_sequence(m->grammar, (qw_node[]){part, out}, 2);
    return out;
}

static qw_node make(maker *m, uint32_t at)
{
    qw_gbnf_part p = m->s->parts[at];

    if (m->status) return QW_NODE_NONE;
    if (p.kind == QW_GBNF_EXPR) return qw_grammar_text(m->grammar, p.a);
    if (p.kind == QW_GBNF_REPEAT) return make_repeat(m, &p);
    if (p.kind != QW_GBNF_RULE) return make_list(m, &p);
    return m->exprs[p.a] >= 0 ? qw_grammar_text(m->grammar, (qw_expr)m->exprs[p.a]) : m->rules[p.a];
}

static qw_status make_all(maker *m, uint32_t root, qw_node *out)
{
    if (m->exprs[root] >= 0) *out = qw_grammar_text(m->grammar, (qw_expr)m->exprs[root]);
    else {
        for (size_t i = 0; i < m->s->n_rules; i++)
            if (m->exprs[i] < 0) m->rules[i] = qw_grammar_rule(m->grammar);
        for (size_t i = 0; i < m->s->n_rules && !m->status; i++)
            if (m->exprs[i] < 0) qw_grammar_define(m->grammar, m->rules[i], make(m, m->s->rules[i].body));
        *out = m->rules[root];
    }
    return m->status ? m->status : qw_grammar_status(m->grammar, m->err);
}

static qw_status find_root(const qw_gbnf_syntax *s, qw_text root, uint32_t *out, qw_error *err)
{
    for (*out = 0; *out < s->n_rules; ++*out)
        if (qw_text_equal(s->rules[*out].name, root)) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE, "grammar: there is no rule \"%.*s\" to begin with",
                   (int)(root.n < 60 ? root.n : 60), root.bytes);
}

qw_status qw_gbnf_parse(qw_grammar *grammar, qw_expr_pool *pool, qw_text text, qw_text root,
                        const qw_tokenizer *tokenizer, qw_node *out, qw_error *err)
{
    qw_gbnf_syntax syntax;
    int64_t *exprs = NULL;
    qw_node *rules = NULL;
    uint32_t at = 0;
    qw_status status = qw_gbnf_read(&syntax, pool, text, tokenizer, err);

    *out = QW_NODE_NONE;
    if (!status) status = find_root(&syntax, root, &at, err);
    if (!status) {
        exprs = qw_calloc(syntax.n_rules, sizeof *exprs);
        rules = qw_calloc(syntax.n_rules, sizeof *rules);
        if (!exprs || !rules)
            status = qw_fail_memory(err, "a grammar's rules", (double)(syntax.n_rules * sizeof *exprs));
    }
    if (!status) status = qw_gbnf_check(&syntax, at, exprs, err);
    if (!status) {
        maker m = {.grammar = grammar, .s = &syntax, .exprs = exprs, .rules = rules, .err = err};

        status = make_all(&m, at, out);
    }
    qw_free(exprs);
    qw_free(rules);
    qw_gbnf_syntax_free(&syntax);
    return status;
}
