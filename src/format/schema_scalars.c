/* SPDX-License-Identifier: MIT
 * Strings and numbers are languages, so a keyword that is broken is the complement of the one that is kept: of strings
 * within all bodies of strings, of numbers within the spellings without exponent, closed by value (what is not an
 * integer is not 1.0 either). */
#include "format/schema_scalars.h"

#include "format/choice.h"
#include "format/numbers.h"
#include "format/regex.h"
#include "format/text_formats.h"

#include <string.h>

enum { INTEGER = 128 }; /* beside the bits of types */

static uint8_t type_named(const qw_dom *node)
{
    static const struct {
        const char *name;
        uint8_t types;
    } names[] = {{"null", QW_TYPE_NULL},     {"boolean", QW_TYPE_FALSE | QW_TYPE_TRUE},
                 {"number", QW_TYPE_NUMBER}, {"string", QW_TYPE_STRING},
                 {"array", QW_TYPE_ARRAY},   {"object", QW_TYPE_OBJECT},
                 {"integer", INTEGER}};

    for (size_t i = 0; node->kind == QW_DOM_STRING && i < sizeof names / sizeof *names; i++)
        if (qw_text_is(node->text, names[i].name)) return names[i].types;
    return 0;
}

static void multiple_of(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_text of, bool keeps)
{
    qw_error err = {0};
    qw_expr expr;
    qw_status status = qw_number_multiple(c->pool, of, &expr, &err);

    if (status == QW_ERR_USAGE) qw_doubt_add(c, b, node, "%s", err.text);
    if (status && status != QW_ERR_USAGE) qw_compiler_fail(c, status);
    if (status) return;
    if (!keeps) expr = qw_expr_minus(c->pool, qw_number_decimal(c->pool), expr);
    qw_narrow_number(c, b, node, expr);
}

void qw_read_type(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    uint8_t types = 0;

    if (node->kind == QW_DOM_ARRAY) {
        for (const qw_dom *name = node->first; name; name = name->next) {
            uint8_t named = type_named(name);
            if (!named) qw_doubt_add(c, b, node, "type names what is no type");
            types |= named;
        }
    } else {
        types = type_named(node);
        if (!types) {
            qw_doubt_add(c, b, node, "type is neither a type's name nor a list of them");
            return;
        }
    }
    if (types & QW_TYPE_NUMBER) types &= (uint8_t)~INTEGER;
    if (keeps) {
        if (types & INTEGER) b->form.integer = true;
        b->form.types &= (uint8_t)(types & INTEGER ? types | QW_TYPE_NUMBER : types);
    } else {
        b->form.types &= (uint8_t)~types;
        if (types & INTEGER) multiple_of(c, b, node, qw_text_of("1"), false);
    }
}

/* The union of the strings of a list (a value that is no list is one), as bodies; false where there are none. */
static bool strings_of(qw_compiler *c, qw_branch *b, const qw_dom *node, const qw_dom *list, uint32_t n, qw_expr *out)
{
    qw_text *texts = qw_compiler_take(c, n + 1, sizeof *texts);
    size_t found = 0;
    qw_error err = {0};
    qw_status status;

    if (!texts) return false;
    for (const qw_dom *value = list; value && n--; value = value->next)
        if (value->kind == QW_DOM_STRING) texts[found++] = value->text;
    if (!found) return false;
    status = qw_choice_expr(c->pool, texts, found, QW_SPELL_JSON, out, &err);
    if (status == QW_ERR_USAGE) qw_doubt_add(c, b, node, "%s", err.text);
    else qw_compiler_fail(c, status);
    return !status;
}

/* The union of the numbers of a list: as they are written, or by value. */
static bool numbers_of(qw_compiler *c, qw_branch *b, const qw_dom *node, const qw_dom *list, uint32_t n, bool by_value,
                       qw_expr *out)
{
    qw_expr *parts = qw_compiler_take(c, n + 1, sizeof *parts);
    size_t found = 0;
    qw_error err = {0};

    for (const qw_dom *value = list; parts && value && n--; value = value->next) {
        qw_status status;
        if (value->kind != QW_DOM_NUMBER) continue;
        status = by_value ? qw_number_value(c->pool, value->text, &parts[found], &err)
                          : qw_number_spelling(c->pool, value->text, &parts[found], &err);
        if (!status && !by_value && parts[found] == QW_EXPR_NONE && !qw_expr_status(c->pool, NULL))
            qw_doubt_add(c, b, node, "a number cannot be written in at most 19 digits before and 17 after the point");
        if (status == QW_ERR_USAGE) qw_doubt_add(c, b, node, "%s", err.text);
        else qw_compiler_fail(c, status);
        if (!status) found++;
    }
    if (!found) return false;
    *out = qw_expr_or(c->pool, parts, found);
    return true;
}

static uint8_t type_of(const qw_dom *value)
{
    static const uint8_t types[] = {
        [QW_DOM_NULL] = QW_TYPE_NULL,     [QW_DOM_FALSE] = QW_TYPE_FALSE,   [QW_DOM_TRUE] = QW_TYPE_TRUE,
        [QW_DOM_NUMBER] = QW_TYPE_NUMBER, [QW_DOM_STRING] = QW_TYPE_STRING, [QW_DOM_ARRAY] = QW_TYPE_ARRAY,
        [QW_DOM_OBJECT] = QW_TYPE_OBJECT};

    return types[value->kind];
}

/* Equal to one of n values that are neither object nor array. */
static void equals_one(qw_compiler *c, qw_branch *b, const qw_dom *node, const qw_dom *list, uint32_t n)
{
    uint8_t types = 0;
    uint32_t left = n;
    qw_expr expr;

    for (const qw_dom *value = list; value && left--; value = value->next) types |= type_of(value);
    b->form.types &= (uint8_t)(types & ~(QW_TYPE_ARRAY | QW_TYPE_OBJECT));
    if (b->form.types & QW_TYPE_STRING && strings_of(c, b, node, list, n, &expr)) qw_narrow_string(c, b, node, expr);
    if (b->form.types & QW_TYPE_NUMBER && numbers_of(c, b, node, list, n, false, &expr))
        qw_narrow_number(c, b, node, expr);
}

/* Different from all of n values; objects and arrays are not looked at. */
static void differs_from_all(qw_compiler *c, qw_branch *b, const qw_dom *node, const qw_dom *list, uint32_t n)
{
    const uint8_t single = QW_TYPE_NULL | QW_TYPE_FALSE | QW_TYPE_TRUE;
    uint32_t left = n;
    qw_expr expr;

    for (const qw_dom *value = list; value && left--; value = value->next)
        if (type_of(value) & single) b->form.types &= (uint8_t)~type_of(value);
    if (b->form.types & QW_TYPE_STRING && strings_of(c, b, node, list, n, &expr))
        qw_narrow_string(c, b, node, qw_expr_minus(c->pool, qw_expr_any_text(c->pool, QW_SPELL_JSON), expr));
    if (b->form.types & QW_TYPE_NUMBER && numbers_of(c, b, node, list, n, true, &expr))
        qw_narrow_number(c, b, node, qw_expr_minus(c->pool, qw_number_decimal(c->pool), expr));
}

void qw_read_enum_scalars(qw_compiler *c, qw_branch *b, const qw_dom *list)
{
    equals_one(c, b, list, list->first, list->n);
}

void qw_read_scalar(qw_compiler *c, qw_branch *b, const qw_dom *value, bool equals)
{
    if (equals) equals_one(c, b, value, value, 1);
    else differs_from_all(c, b, value, value, 1);
}

void qw_read_enum(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_choosing choosing = {0};
    uint32_t containers = 0;

    if (node->kind != QW_DOM_ARRAY) {
        qw_doubt_add(c, b, node, "enum must be a list of values");
        return;
    }
    for (const qw_dom *value = node->first; value; value = value->next) containers += value->kind >= QW_DOM_ARRAY;
    if (!keeps) {
        differs_from_all(c, b, node, node->first, node->n);
        for (const qw_dom *value = node->first; value; value = value->next)
            if (value->kind >= QW_DOM_ARRAY) qw_push(c, b, QW_DIFFERS, value);
        return;
    }
    if (!containers) {
        qw_read_enum_scalars(c, b, node);
        return;
    }
    if (containers < node->n) qw_choosing_add(c, &choosing, qw_with(c, QW_ENUM_SCALARS, node, NULL));
    for (const qw_dom *value = node->first; value; value = value->next)
        if (value->kind >= QW_DOM_ARRAY) qw_choosing_add(c, &choosing, qw_with(c, QW_EQUALS, value, NULL));
    qw_choosing_put(c, b, &choosing);
}

void qw_read_const(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_push(c, b, keeps ? QW_EQUALS : QW_DIFFERS, node);
}

void qw_read_length(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    bool least = qw_text_is(node->key, "minLength");
    int64_t n;
    qw_expr one, expr;

    if (!qw_dom_count(node, &n)) {
        qw_doubt_add(c, b, node, "a length must be an integer from 0");
        return;
    }
    if (!(b->form.types & QW_TYPE_STRING)) {
        if (!keeps) qw_branch_kill(b);
        return;
    }
    if (!keeps) {
        b->form.types &= QW_TYPE_STRING;
        n += least ? -1 : 1;
        least = !least;
    }
    if (n < 0) qw_branch_kill(b);
    if (n < 0 || (least && n == 0)) return;
    if (n >= INT32_MAX) {
        if (least) qw_doubt_add(c, b, node, "a text of %lld characters is never written", (long long)n);
        return;
    }
    one = qw_expr_any_char(c->pool, QW_SPELL_JSON);
    expr = qw_expr_repeat(c->pool, one, least ? (uint32_t)n : 0, least ? QW_EXPR_UNBOUNDED : (uint32_t)n);
    qw_narrow_string(c, b, node, expr);
}

bool qw_pattern_expr(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_text pattern, qw_expr *out)
{
    qw_error err = {0};
    qw_status status;

    if (c->cached[node->id]) {
        *out = c->cached[node->id] - 1;
        return true;
    }
    status = qw_regex_parse(c->pool, pattern, qw_text_of(""), QW_REGEX_SEARCH, QW_SPELL_JSON, out, &err);
    if (!status) {
        c->cached[node->id] = *out + 1;
        return true;
    }
    if (status != QW_ERR_USAGE) {
        qw_compiler_fail(c, status);
        return false;
    }
    qw_expr_clear(c->pool);
    qw_doubt_add(c, b, node, "%s", err.text);
    return false;
}

/* Strings in the language, or strings that are not in it. */
static void in_language(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_expr expr, bool keeps)
{
    if (!keeps) {
        b->form.types &= QW_TYPE_STRING;
        expr = qw_expr_minus(c->pool, qw_expr_any_text(c->pool, QW_SPELL_JSON), expr);
    }
    qw_narrow_string(c, b, node, expr);
}

void qw_read_pattern(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_expr expr;

    if (node->kind != QW_DOM_STRING) qw_doubt_add(c, b, node, "pattern must be a text");
    else if (qw_pattern_expr(c, b, node, node->text, &expr)) in_language(c, b, node, expr, keeps);
}

void qw_read_format(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_format_kind kind = node->kind == QW_DOM_STRING ? qw_text_format_kind(node->text) : QW_FORMAT_UNKNOWN;
    qw_error err = {0};
    qw_expr expr;
    qw_status status;

    if (!c->formats || kind == QW_FORMAT_UNKNOWN) {
        if (c->formats) qw_note(c, node, "a format of no specification holds of every text");
        if (!keeps) qw_branch_kill(b);
        return;
    }
    if (kind == QW_FORMAT_REFUSED || !keeps) {
        /* Our languages are narrower than the RFCs', so their complements would be wider. */
        qw_doubt_add(c, b, node,
                     kind == QW_FORMAT_REFUSED ? "the format %.*s is not supported"
                                               : "a text that is not of the format %.*s cannot be asked for",
                     (int)(node->text.n < 60 ? node->text.n : 60), node->text.bytes);
        return;
    }
    status = qw_text_format(c->pool, node->text, QW_SPELL_JSON, &expr, &err);
    if (status == QW_ERR_USAGE) qw_doubt_add(c, b, node, "%s", err.text);
    else qw_compiler_fail(c, status);
    if (!status) in_language(c, b, node, expr, true);
}

/* Whether a bound excludes its own value: by its name, or in draft 4 by a boolean beside it. */
static bool is_exclusive(const qw_compiler *c, const qw_dom *node)
{
    const qw_dom *flag;

    if (c->document.draft != QW_DRAFT_4) return qw_text_begins(node->key, "exclusive");
    flag = qw_dom_get(node->parent, qw_text_is(node->key, "minimum") ? "exclusiveMinimum" : "exclusiveMaximum");
    return flag && flag->kind == QW_DOM_TRUE;
}

void qw_read_bound(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    bool lower = qw_text_is(node->key, "minimum") || qw_text_is(node->key, "exclusiveMinimum");
    bool exclusive = is_exclusive(c, node);
    qw_number_bounds bounds = {0};
    qw_error err = {0};
    qw_expr expr;
    qw_status status;

    if (c->document.draft == QW_DRAFT_4 && qw_text_begins(node->key, "exclusive")) {
        if (!keeps) qw_branch_kill(b); /* says nothing by itself */
        return;
    }
    if (node->kind != QW_DOM_NUMBER) {
        qw_doubt_add(c, b, node, "a bound must be a number");
        return;
    }
    if (!keeps) {
        b->form.types &= QW_TYPE_NUMBER;
        lower = !lower;
        exclusive = !exclusive;
    }
    if (!(b->form.types & QW_TYPE_NUMBER)) return;
    if (lower) bounds = (qw_number_bounds){node->text, {NULL, 0}, exclusive, false};
    else bounds = (qw_number_bounds){{NULL, 0}, node->text, false, exclusive};
    status = qw_number_range(c->pool, &bounds, &expr, &err);
    if (status == QW_ERR_USAGE) qw_doubt_add(c, b, node, "%s", err.text);
    else qw_compiler_fail(c, status);
    if (!status) qw_narrow_number(c, b, node, expr);
}

void qw_read_multiple(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    if (node->kind != QW_DOM_NUMBER) {
        qw_doubt_add(c, b, node, "multipleOf must be a number above 0");
        return;
    }
    if (!keeps) b->form.types &= QW_TYPE_NUMBER;
    if (b->form.types & QW_TYPE_NUMBER) multiple_of(c, b, node, node->text, keeps);
}
