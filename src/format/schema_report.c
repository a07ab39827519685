/* SPDX-License-Identifier: MIT
 * Remarks in the order in which they were found. */
#include "format/schema_report.h"

#include "base/json.h"
#include "base/quote_text.h"

#include <string.h>

enum { MOST_REMARKS = 100 };

qw_status qw_schema_remark_add(qw_schema_report *report, qw_arena *arena, bool refusal, const qw_dom *node,
                               const char *why, qw_error *err)
{
    qw_schema_remark **first = refusal ? &report->refusals : &report->notes;
    qw_schema_remark **last = refusal ? &report->last_refusal : &report->last_note;
    int32_t *n = refusal ? &report->n_refusals : &report->n_notes;
    qw_schema_remark *remark;

    if (*n == MOST_REMARKS) return QW_OK;
    for (const qw_schema_remark *old = *first; old; old = old->next)
        if (old->node == node && strcmp(old->why, why) == 0) return QW_OK;
    remark = qw_arena_take(arena, 1, sizeof *remark);
    if (remark) *remark = (qw_schema_remark){NULL, node, qw_arena_text(arena, qw_text_of(why)).bytes};
    if (!remark || !remark->why) return qw_fail_memory(err, "a remark about the schema", sizeof *remark);
    if (*last) (*last)->next = remark;
    else *first = remark;
    *last = remark;
    (*n)++;
    return QW_OK;
}

/* The keyword that a remark is about: the key it stands under, or that of the list it is in. */
static qw_text keyword_of(const qw_dom *node)
{
    while (node->parent && node->parent->kind == QW_DOM_ARRAY) node = node->parent;
    return node->parent ? node->key : (qw_text){"", 0};
}

static qw_status write_remark(const qw_schema_remark *remark, bool refusal, qw_buf *out, qw_error *err)
{
    qw_buf pointer = {0};
    qw_status status = qw_dom_pointer(&pointer, remark->node, err);

    if (!status && refusal) {
        status = qw_buf_printf(out, err, "{\"pointer\":");
        if (!status) status = qw_json_write_string(out, (qw_text){pointer.bytes, pointer.n}, err);
        if (!status) status = qw_buf_printf(out, err, ",\"keyword\":");
        if (!status) status = qw_json_write_string(out, keyword_of(remark->node), err);
        if (!status) status = qw_buf_printf(out, err, ",\"why\":");
        if (!status) status = qw_json_write_string(out, qw_text_of(remark->why), err);
        if (!status) status = qw_buf_printf(out, err, "}");
    } else if (!status) {
        status = qw_buf_printf(&pointer, err, ": %s", remark->why);
        if (!status) status = qw_json_write_string(out, (qw_text){pointer.bytes, pointer.n}, err);
    }
    qw_buf_free(&pointer);
    return status;
}

qw_status qw_schema_report_json(const qw_schema_report *report, qw_buf *out, qw_error *err)
{
    QW_TRY(qw_buf_printf(out, err, "{\"ok\":%s,\"notes\":[", report->n_refusals ? "false" : "true"));
    for (const qw_schema_remark *note = report->notes; note; note = note->next) {
        if (note != report->notes) QW_TRY(qw_buf_append(out, ",", 1, err));
        QW_TRY(write_remark(note, false, out, err));
    }
    QW_TRY(qw_buf_printf(out, err, "],\"unsupported\":["));
    for (const qw_schema_remark *refusal = report->refusals; refusal; refusal = refusal->next) {
        if (refusal != report->refusals) QW_TRY(qw_buf_append(out, ",", 1, err));
        QW_TRY(write_remark(refusal, true, out, err));
    }
    return qw_buf_printf(out, err, "]}");
}

qw_status qw_schema_report_notes(const qw_schema_report *report, qw_buf *out, qw_error *err)
{
    for (const qw_schema_remark *note = report->notes; note; note = note->next) {
        QW_TRY(qw_buf_printf(out, err, "response_format: the schema at \""));
        QW_TRY(qw_dom_pointer(out, note->node, err));
        QW_TRY(qw_buf_printf(out, err, "\": %s\n", note->why));
    }
    return QW_OK;
}

qw_status qw_schema_report_fail(const qw_schema_report *report, qw_error *err)
{
    qw_buf pointer = {0};
    char shown[64], more[48] = "";

    QW_TRY(qw_dom_pointer(&pointer, report->refusals->node, err));
    qw_quote_text(shown, (qw_text){pointer.bytes, pointer.n});
    if (report->n_refusals > 1) {
        qw_buf text = {0};
        if (!qw_buf_printf(&text, NULL, " (and %d more)", (int)report->n_refusals - 1)) {
            memcpy(more, text.bytes, text.n + 1 < sizeof more ? text.n + 1 : sizeof more - 1);
            more[text.n + 1 < sizeof more ? text.n : sizeof more - 1] = 0;
        }
        qw_buf_free(&text);
    }
    qw_fail(
        err, QW_ERR_USAGE,
        "response_format: the schema at \"%s\" cannot be held: %s%s; take it out, or set lenient: true to ignore it",
        shown, report->refusals->why, more);
    qw_buf_free(&pointer);
    return QW_ERR_USAGE;
}
