/* SPDX-License-Identifier: MIT
 * A form is an expression; its state in the middle of an answer is one too. */
#include "format/format.h"

#include "base/alloc.h"
#include "base/json.h"
#include "format/choice.h"
#include "format/regex.h"

#include <string.h>

struct qw_format {
    const qw_masks *masks;
    qw_expr_pool *pool;
    qw_moves moves;
    qw_expr start;
    uint32_t masked; /* the state whose mask bits holds; dead: none */
    uint32_t *bits;
};

static qw_status wrong(const qw_json *root, const char *member, const char *wanted, qw_error *err)
{
    const qw_json *got = qw_json_get(root, member);

    return qw_fail(err, QW_ERR_USAGE, "response_format: %s is %s, wanted %s", member,
                   got ? qw_json_kind_name(qw_json_kind_of(got)) : "missing", wanted);
}

static qw_status make_regex(qw_format *f, const qw_json *root, qw_error *err)
{
    const qw_json *regex = qw_json_get(root, "regex"), *flags = qw_json_get(root, "flags");

    if (!regex || qw_json_kind_of(regex) != QW_JSON_STRING) return wrong(root, "regex", "a pattern", err);
    if (flags && qw_json_kind_of(flags) != QW_JSON_STRING) return wrong(root, "flags", "a text", err);
    return qw_regex_parse(f->pool, qw_text_of(qw_json_string(regex)), qw_text_of(qw_json_string(flags)), QW_REGEX_WHOLE,
                          QW_SPELL_RAW, &f->start, err);
}

static qw_status make_choice(qw_format *f, const qw_json *root, qw_error *err)
{
    const qw_json *choices = qw_json_get(root, "choices");
    qw_text *texts;
    qw_status status = QW_OK;
    size_t n = 0;

    if (!choices || qw_json_kind_of(choices) != QW_JSON_ARRAY || !qw_json_size(choices))
        return wrong(root, "choices", "an array of at least one text", err);
    texts = qw_calloc((size_t)qw_json_size(choices), sizeof *texts);
    if (!texts) return qw_fail_memory(err, "the choices", (double)qw_json_size(choices) * sizeof *texts);
    for (const qw_json *one = qw_json_first(choices); one && !status; one = qw_json_next(one)) {
        if (qw_json_kind_of(one) == QW_JSON_STRING) texts[n++] = qw_text_of(qw_json_string(one));
        else
            status = qw_fail(err, QW_ERR_USAGE, "response_format: choices[%zu] is %s, wanted a text", n,
                             qw_json_kind_name(qw_json_kind_of(one)));
    }
    if (!status) status = qw_choice_expr(f->pool, texts, n, QW_SPELL_RAW, &f->start, err);
    qw_free(texts);
    return status;
}

static qw_status make(qw_format *f, const qw_json *root, qw_error *err)
{
    const char *type = qw_json_string(qw_json_get(root, "type"));

    f->bits = qw_calloc(f->masks->n_words, sizeof *f->bits);
    if (!f->bits) return qw_fail_memory(err, "a mask", (double)f->masks->n_words * sizeof *f->bits);
    QW_TRY(qw_expr_pool_new(&f->pool, 0, err));
    f->moves = qw_expr_moves(f->pool);
    if (!strcmp(type, "regex")) QW_TRY(make_regex(f, root, err));
    else if (!strcmp(type, "choice")) QW_TRY(make_choice(f, root, err));
    else
        return qw_fail(err, QW_ERR_USAGE,
                       "response_format: type is \"%.40s\": \"text\", \"regex\" and \"choice\" can be held", type);
    if (qw_expr_is_void(f->pool, f->start)) {
        QW_TRY(qw_expr_status(f->pool, err));
        return qw_fail(err, QW_ERR_USAGE, "response_format: no text has this form");
    }
    return qw_expr_status(f->pool, err);
}

qw_status qw_format_new(qw_format **out, qw_text json, const qw_masks *masks, qw_error *err)
{
    qw_json *root = NULL;
    qw_status status = qw_json_parse(&root, json, "response_format", err);
    bool any_text = !status && !strcmp(qw_json_string(qw_json_get(root, "type")), "text");

    *out = NULL;
    if (status == QW_ERR_FORMAT) return qw_fail(err, QW_ERR_USAGE, "response_format is no valid JSON text");
    if (status) return status;
    if (qw_json_kind_of(root) != QW_JSON_OBJECT)
        status = qw_fail(err, QW_ERR_USAGE, "response_format is %s, wanted an object",
                         qw_json_kind_name(qw_json_kind_of(root)));
    else if (!any_text && !(*out = qw_calloc(1, sizeof **out)))
        status = qw_fail_memory(err, "the form of the answer", sizeof **out);
    if (*out) {
        (*out)->masks = masks;
        status = make(*out, root, err);
    }
    qw_json_free(root);
    if (!status) return QW_OK;
    qw_format_free(*out);
    *out = NULL;
    return status;
}

void qw_format_free(qw_format *format)
{
    if (!format) return;
    qw_expr_pool_free(format->pool);
    qw_free(format->bits);
    qw_free(format);
}

uint32_t qw_format_start(const qw_format *format)
{
    return format->start;
}

uint32_t qw_format_after(const qw_format *format, uint32_t state, qw_text bytes)
{
    return qw_moves_walk(&format->moves, state, bytes);
}

bool qw_format_may_end(const qw_format *format, uint32_t state)
{
    return format->moves.may_end(format->moves.self, state);
}

uint32_t qw_format_bytes_to_end(const qw_format *format, uint32_t state)
{
    return qw_expr_shortest(format->pool, state);
}

qw_status qw_format_mask(qw_format *format, uint32_t state, const uint32_t **bits, qw_error *err)
{
    *bits = format->bits;
    if (format->masked == state && state != QW_STATE_DEAD) return QW_OK;
    format->masked = QW_STATE_DEAD;
    QW_TRY(qw_mask_make(format->masks, &format->moves, state, format->bits, err));
    QW_TRY(qw_expr_status(format->pool, err));
    format->masked = state;
    return QW_OK;
}
