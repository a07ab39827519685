/* SPDX-License-Identifier: MIT
 * Reads, expands and emits; all that is made on the way goes at the end. */
#include "format/schema.h"

#include "format/schema_emit.h"

enum { LARGEST_MB = 192 };

/* After the work: the first failure, the first refusal, or that nothing meets the schema. */
static qw_status outcome(qw_compiler *c, const qw_grammar *grammar, qw_node start)
{
    if (c->status) return c->status;
    if (c->report.n_refusals) return qw_schema_report_fail(&c->report, c->err);
    QW_TRY(qw_expr_status(c->pool, c->err));
    QW_TRY(qw_grammar_status(grammar, c->err));
    if (start == QW_NODE_NONE)
        return qw_fail(c->err, QW_ERR_USAGE, "response_format: no value meets the schema; look for what contradicts");
    return QW_OK;
}

static qw_status compile(qw_compiler *c, qw_grammar *grammar, qw_text schema, qw_node *start, qw_buf *notes,
                         qw_buf *report)
{
    qw_status status = qw_schema_document_read(&c->document, c->arena, schema, c->err);

    if (status) return status;
    c->cached = qw_compiler_take(c, c->document.n, sizeof *c->cached);
    if (!c->cached) return c->status;
    *start = qw_schema_emit(c, grammar, c->document.root);
    status = outcome(c, grammar, *start);
    if (notes && !status) QW_TRY(qw_schema_report_notes(&c->report, notes, c->err));
    if (report && (!status || c->report.n_refusals)) QW_TRY(qw_schema_report_json(&c->report, report, c->err));
    return status;
}

qw_status qw_schema_compile(qw_grammar *grammar, qw_expr_pool *pool, qw_text schema, const qw_schema_options *options,
                            qw_node *start, qw_buf *report, qw_error *err)
{
    qw_arena arena = {.limit = (size_t)LARGEST_MB << 20};
    qw_error own = {0};
    qw_compiler *c = qw_arena_take(&arena, 1, sizeof *c);
    qw_status status;

    *start = QW_NODE_NONE;
    if (!c) return qw_fail_memory(err, "a schema", sizeof *c);
    c->arena = &arena;
    c->pool = pool;
    c->lenient = options->lenient;
    c->formats = !options->ignore_formats;
    c->err = err ? err : &own;
    status = compile(c, grammar, schema, start, options->notes, report);
    qw_arena_free(&arena);
    return status;
}
