/* SPDX-License-Identifier: MIT
 * A member that its type does not have is refused: what it asks for would be passed over in silence. */
#include "format/format_read.h"

#include "base/alloc.h"
#include "base/quote_text.h"
#include "format/choice.h"
#include "format/format_tools.h"
#include "format/gbnf.h"
#include "format/regex.h"
#include "format/schema.h"
#include "format/schema_dom.h"

enum { LARGEST_MB = 64 }; /* of the tree of a response_format */

static qw_status wrong(const char *where, const char *member, const qw_dom *got, const char *wanted, qw_error *err)
{
    return qw_fail(err, QW_ERR_USAGE, "response_format: %s%s is %s, wanted %s", where, member,
                   got ? qw_dom_kind_name(got->kind) : "missing", wanted);
}

/* A member of that kind; NULL with *status set where it is another, and where it is missing unless it is optional. */
static const qw_dom *member_of(const qw_dom *root, const char *where, const char *name, qw_dom_kind kind,
                               const char *wanted, bool optional, qw_status *status, qw_error *err)
{
    const qw_dom *member = qw_dom_get(root, name);

    if (*status || (!member && optional)) return NULL;
    if (member && member->kind == kind) return member;
    *status = wrong(where, name, member, wanted, err);
    return NULL;
}

static qw_status read_regex(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    qw_status status = QW_OK;
    const qw_dom *regex = member_of(root, "", "regex", QW_DOM_STRING, "a pattern", false, &status, err);
    const qw_dom *flags = member_of(root, "", "flags", QW_DOM_STRING, "a text", true, &status, err);

    if (status) return status;
    return qw_regex_parse(m->pool, regex->text, flags ? flags->text : (qw_text){"", 0}, QW_REGEX_WHOLE, QW_SPELL_RAW,
                          &out->expr, err);
}

static qw_status read_choice(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    const qw_dom *choices = qw_dom_get(root, "choices");
    qw_text *texts;
    qw_status status = QW_OK;
    size_t n = 0;

    if (!choices || choices->kind != QW_DOM_ARRAY || !choices->n)
        return wrong("", "choices", choices, "an array of at least one text", err);
    texts = qw_calloc(choices->n, sizeof *texts);
    if (!texts) return qw_fail_memory(err, "the choices", (double)choices->n * sizeof *texts);
    for (const qw_dom *one = choices->first; one && !status; one = one->next) {
        if (one->kind == QW_DOM_STRING) texts[n++] = one->text;
        else
            status = qw_fail(err, QW_ERR_USAGE, "response_format: choices[%zu] is %s, wanted a text", n,
                             qw_dom_kind_name(one->kind));
    }
    if (!status) status = qw_choice_expr(m->pool, texts, n, QW_SPELL_RAW, &out->expr, err);
    qw_free(texts);
    return status;
}

static qw_status compile(const qw_format_maker *m, qw_text schema, bool lenient, qw_language *out, qw_error *err)
{
    qw_schema_options options = {.lenient = lenient, .notes = m->notes};

    return qw_schema_compile(m->grammar, m->pool, schema, &options, &out->node, m->report, err);
}

static qw_status read_object(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    (void)root;
    return compile(m, qw_text_of("{\"type\":\"object\"}"), false, out, err);
}

static qw_status read_schema(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    static const char WHERE[] = "json_schema.";
    const qw_dom *inner = qw_dom_get(root, "json_schema"), *schema, *lenient;

    if (!inner || inner->kind != QW_DOM_OBJECT) return wrong("", "json_schema", inner, "an object with a schema", err);
    for (const qw_dom *child = inner->first; child; child = child->next) {
        char key[64];

        if (qw_text_is(child->key, "name") || qw_text_is(child->key, "description") ||
            qw_text_is(child->key, "schema") || qw_text_is(child->key, "strict") || qw_text_is(child->key, "lenient"))
            continue;
        qw_quote_text(key, child->key);
        return qw_fail(
            err, QW_ERR_USAGE,
            "response_format: json_schema.%s is not known: name, description, schema, strict and lenient are", key);
    }
    schema = qw_dom_get(inner, "schema");
    lenient = qw_dom_get(inner, "lenient");
    if (!schema || (schema->kind != QW_DOM_OBJECT && schema->kind != QW_DOM_TRUE && schema->kind != QW_DOM_FALSE))
        return wrong(WHERE, "schema", schema, "an object or a boolean", err);
    if (lenient && lenient->kind != QW_DOM_TRUE && lenient->kind != QW_DOM_FALSE)
        return wrong(WHERE, "lenient", lenient, "a boolean", err);
    return compile(m, schema->text, lenient && lenient->kind == QW_DOM_TRUE, out, err);
}

static qw_status read_grammar(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    qw_status status = QW_OK;
    const qw_dom *grammar = member_of(root, "", "grammar", QW_DOM_STRING, "a text", false, &status, err);
    const qw_dom *rule = member_of(root, "", "root", QW_DOM_STRING, "the name of a rule", true, &status, err);

    if (status) return status;
    return qw_gbnf_parse(m->grammar, m->pool, grammar->text, rule ? rule->text : qw_text_of("root"), m->tokenizer,
                         &out->node, err);
}

static qw_status read_text(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    (void)m;
    (void)root;
    (void)err;
    out->any_text = true;
    return QW_OK;
}

typedef struct form {
    const char *type, *members[2];
    qw_status (*read)(const qw_format_maker *maker, const qw_dom *root, qw_language *out, qw_error *err);
} form;

static const form forms[] = {
    {"text", {"", ""}, read_text},
    {"json_object", {"", ""}, read_object},
    {"json_schema", {"json_schema", ""}, read_schema},
    {"regex", {"regex", "flags"}, read_regex},
    {"choice", {"choices", ""}, read_choice},
    {"grammar", {"grammar", "root"}, read_grammar},
    {"tools", {"tools", "parallel"}, qw_format_read_tools},
};

static qw_status check_members(const form *f, const qw_dom *root, qw_error *err)
{
    for (const qw_dom *child = root->first; child; child = child->next) {
        char key[64];

        if (qw_text_is(child->key, "type") || qw_text_is(child->key, f->members[0]) ||
            qw_text_is(child->key, f->members[1]))
            continue;
        qw_quote_text(key, child->key);
        return qw_fail(err, QW_ERR_USAGE, "response_format of type \"%s\" has no member %s%s", f->type, key,
                       qw_text_is(child->key, "schema") ? ": a schema goes into {type: \"json_schema\", json_schema: "
                                                          "{schema}}"
                                                        : "");
    }
    return QW_OK;
}

static qw_status read_root(const qw_format_maker *m, const qw_dom *root, qw_language *out, qw_error *err)
{
    const qw_dom *type = qw_dom_get(root, "type");
    char shown[64];

    if (root->kind != QW_DOM_OBJECT)
        return qw_fail(err, QW_ERR_USAGE, "response_format is %s, wanted an object", qw_dom_kind_name(root->kind));
    if (!type || type->kind != QW_DOM_STRING) return wrong("", "type", type, "a text", err);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (!qw_text_is(type->text, forms[i].type)) continue;
        QW_TRY(check_members(&forms[i], root, err));
        return forms[i].read(m, root, out, err);
    }
    qw_quote_text(shown, type->text);
    return qw_fail(
        err, QW_ERR_USAGE,
        "response_format: type is \"%s\": text, json_object, json_schema, regex, choice and grammar can be held",
        shown);
}

qw_status qw_format_read(const qw_format_maker *maker, qw_text json, qw_language *out, qw_error *err)
{
    qw_arena arena = {.limit = (size_t)LARGEST_MB << 20};
    const qw_dom *root;
    qw_status status = qw_dom_parse(&arena, json, "response_format", &root, err);

    *out = (qw_language){0};
    if (!status) status = read_root(maker, root, out, err);
    else if (status == QW_ERR_FORMAT) status = qw_fail(err, QW_ERR_USAGE, "response_format is no valid JSON text");
    qw_arena_free(&arena);
    return status;
}
