/* SPDX-License-Identifier: MIT
 * Reads the rules, checks them, and takes the expression of the one to begin with. */
#include "format/gbnf.h"

#include "base/alloc.h"
#include "format/gbnf_rules.h"

static qw_status find_root(const qw_gbnf_syntax *s, qw_text root, uint32_t *out, qw_error *err)
{
    for (*out = 0; *out < s->n_rules; ++*out)
        if (qw_text_equal(s->rules[*out].name, root)) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE, "grammar: there is no rule \"%.*s\" to begin with",
                   (int)(root.n < 60 ? root.n : 60), root.bytes);
}

static qw_status parse(qw_gbnf_syntax *s, qw_text root, qw_expr *out, qw_error *err)
{
    int64_t *exprs;
    uint32_t at;
    qw_status status;

    QW_TRY(find_root(s, root, &at, err));
    exprs = qw_calloc(s->n_rules, sizeof *exprs);
    if (!exprs) return qw_fail_memory(err, "a grammar's rules", (double)(s->n_rules * sizeof *exprs));
    status = qw_gbnf_check(s, at, exprs, err);
    if (!status && exprs[at] == QW_GBNF_NESTED)
        status = qw_gbnf_fail(s, s->rules[at].place, err,
                              "\"%.*s\" leads to a rule that leads back to itself, which is "
                              "not taken: write out how deep it may go, or use a JSON schema",
                              (int)(root.n < 60 ? root.n : 60), root.bytes);
    if (!status) *out = (qw_expr)exprs[at];
    qw_free(exprs);
    return status;
}

qw_status qw_gbnf_parse(qw_expr_pool *pool, qw_text text, qw_text root, const qw_tokenizer *tokenizer, qw_expr *out,
                        qw_error *err)
{
    qw_gbnf_syntax syntax;
    qw_status status = qw_gbnf_read(&syntax, pool, text, tokenizer, err);

    *out = QW_EXPR_NONE;
    if (!status) status = parse(&syntax, root, out, err);
    qw_gbnf_syntax_free(&syntax);
    return status;
}
