/* SPDX-License-Identifier: MIT
 * The form is made as for an answer, and thrown away. */
#include "format/format_check.h"

#include "base/json.h"
#include "format/format_read.h"
#include "format/matcher.h"

/* Makes all that an answer would need. Errors: those of making it. */
static qw_status make(qw_format_maker *m, qw_text json, qw_error *err)
{
    qw_language language;
    qw_matcher *matcher = NULL;
    qw_status status;

    QW_TRY(qw_format_read(m, json, &language, err));
    if (language.any_text) return QW_OK;
    if (language.node) {
        status = qw_matcher_new(&matcher, m->grammar, language.node, err);
        qw_matcher_free(matcher);
        return status;
    }
    if (!qw_expr_is_void(m->pool, language.expr)) return qw_expr_status(m->pool, err);
    QW_TRY(qw_expr_status(m->pool, err));
    return qw_fail(err, QW_ERR_USAGE, "response_format: no text has this form");
}

static qw_status write_fault(qw_buf *out, const char *why, qw_error *err)
{
    out->n = 0;
    QW_TRY(qw_buf_printf(out, err,
                         "{\"ok\":false,\"notes\":[],\"unsupported\":[{\"pointer\":\"\",\"keyword\":\"\",\"why\":"));
    QW_TRY(qw_json_write_string(out, qw_text_of(why), err));
    return qw_buf_printf(out, err, "}]}");
}

qw_status qw_format_check(qw_buf *report, qw_text json, const qw_tokenizer *tokenizer, qw_error *err)
{
    static const char HELD[] = "{\"ok\":true,\"notes\":[],\"unsupported\":[]}", REFUSED[] = "{\"ok\":false";
    qw_format_maker m = {.tokenizer = tokenizer, .report = report};
    qw_error why = {0};
    qw_status status = qw_expr_pool_new(&m.pool, 0, &why);

    if (!status) status = qw_grammar_new(&m.grammar, m.pool, QW_SPACE_BOUNDED, &why);
    if (!status) status = make(&m, json, &why);
    qw_grammar_free(m.grammar);
    qw_expr_pool_free(m.pool);
    if (status == QW_ERR_MEMORY) return qw_fail(err, status, "%s", why.text);
    if (!status) return report->n ? QW_OK : qw_buf_append(report, HELD, sizeof HELD - 1, err);
    /* A schema that is refused has told all of it. */
    if (qw_text_begins((qw_text){report->bytes, report->n}, REFUSED)) return QW_OK;
    return write_fault(report, why.text, err);
}
