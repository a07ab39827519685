/* SPDX-License-Identifier: MIT
 * Each tool's schema is a document of its own, so that its references mean what they meant there. */
#include "format/format_tools.h"

#include "base/alloc.h"
#include "base/quote_text.h"
#include "format/grammar_nodes.h"
#include "format/schema.h"
#include "format/special_tokens.h"

/* A marker of the template: the token of that name, or where the vocabulary has none its text. */
static qw_node marker(const qw_format_maker *m, const char *text)
{
    int32_t id = m->tokenizer ? qw_tokenizer_added_id(m->tokenizer, qw_text_of(text)) : -1;

    return qw_grammar_text(m->grammar,
                           id >= 0 ? qw_expr_special_token(m->pool, id) : qw_expr_literal(m->pool, qw_text_of(text)));
}

static qw_node literal(const qw_format_maker *m, const char *text)
{
    return qw_grammar_text(m->grammar, qw_expr_literal(m->pool, qw_text_of(text)));
}

/* "NAME", "arguments": OBJECT */
static qw_status read_tool(const qw_format_maker *m, const qw_dom *tool, qw_node *out, qw_error *err)
{
    const qw_dom *name = qw_dom_get(tool, "name"), *parameters = qw_dom_get(tool, "parameters");
    qw_schema_options options = {.notes = m->notes};
    qw_node object, quote = literal(m, "\"");
    qw_error why = {0};
    qw_status status;
    char shown[64];

    if (!name || name->kind != QW_DOM_STRING || !parameters)
        return qw_fail(err, QW_ERR_USAGE, "response_format: tools[%u] wants a name and parameters",
                       (unsigned)tool->index);
    status = qw_schema_compile(m->grammar, m->pool, parameters->text, &options, &object, NULL, &why);
    qw_quote_text(shown, name->text);
    if (status) return qw_fail(err, status, "tool \"%s\": %s", shown, why.text);
    *out = qw_grammar_sequence(
        m->grammar,
        (qw_node[]){quote, qw_grammar_text(m->grammar, qw_expr_text(m->pool, name->text, QW_SPELL_JSON)), quote,
                    literal(m, ", \"arguments\": "), object},
        5);
    return QW_OK;
}

/* One call, and with parallel any number of further ones. */
static qw_node calls_of(const qw_format_maker *m, qw_node tools, bool parallel)
{
    qw_grammar *g = m->grammar;
    qw_node call = qw_grammar_sequence(g,
                                       (qw_node[]){marker(m, "<tool_call>"), literal(m, "\n{\"name\": "), tools,
                                                   literal(m, "}\n"), marker(m, "</tool_call>")},
                                       5);
    qw_node more = qw_grammar_rule(g), next;

    if (!parallel) return call;
    next = qw_grammar_sequence(g, (qw_node[]){literal(m, "\n"), call, more}, 3);
    qw_grammar_define(g, more, qw_grammar_choice(g, (qw_node[]){qw_grammar_text(g, QW_EXPR_EMPTY), next}, 2));
    return qw_grammar_sequence(g, (qw_node[]){call, more}, 2);
}

qw_status qw_format_read_tools(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    const qw_dom *tools = qw_dom_get(root, "tools"), *parallel = qw_dom_get(root, "parallel");
    qw_status status = QW_OK;
    qw_node *nodes;
    size_t n = 0;

    if (!tools || tools->kind != QW_DOM_ARRAY || !tools->n)
        return qw_fail(err, QW_ERR_USAGE, "response_format: tools wants an array of at least one tool");
    nodes = qw_calloc(tools->n, sizeof *nodes);
    if (!nodes) return qw_fail_memory(err, "the tools", (double)tools->n * sizeof *nodes);
    m->grammar->depth = 1; /* the call's own object is open around the arguments */
    for (const qw_dom *tool = tools->first; tool && !status; tool = tool->next)
        status = read_tool(m, tool, &nodes[n++], err);
    if (!status)
        out->node = calls_of(m, qw_grammar_choice(m->grammar, nodes, n), parallel && parallel->kind == QW_DOM_TRUE);
    qw_free(nodes);
    return status ? status : qw_grammar_status(m->grammar, err);
}
