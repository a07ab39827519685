/* SPDX-License-Identifier: MIT
 * What is kept becomes facts; what is broken of "every key" is "some key", which is settled when all names are known. */
#include "format/schema_objects.h"

static void check_count(qw_branch *b)
{
    if (b->form.min_keys > b->form.max_keys) b->form.types &= (uint8_t)~QW_TYPE_OBJECT;
}

const qw_dom *qw_plain_unevaluated(const qw_compiler *c, const qw_dom *schema, const char *name)
{
    static const char *const applicators[] = {"$ref",  "$dynamicRef", "$recursiveRef", "allOf",           "anyOf",
                                              "oneOf", "if",          "contains",      "dependentSchemas"};
    const qw_dom *node = c->document.draft >= QW_DRAFT_2019 ? qw_dom_get(schema, name) : NULL;

    for (size_t i = 0; node && i < sizeof applicators / sizeof *applicators; i++)
        if (qw_dom_get(schema, applicators[i])) return NULL;
    return node;
}

const qw_dom *qw_additional_of(const qw_compiler *c, const qw_dom *schema)
{
    const qw_dom *additional = qw_dom_get(schema, "additionalProperties");

    return additional ? additional : qw_plain_unevaluated(c, schema, "unevaluatedProperties");
}

static bool is_first_of_layer(const qw_compiler *c, const qw_dom *node)
{
    const qw_dom *additional = qw_additional_of(c, node->parent);

    for (const qw_dom *key = node->parent->first; key != node; key = key->next)
        if (qw_text_is(key->key, "properties") || qw_text_is(key->key, "patternProperties") || key == additional)
            return false;
    return true;
}

static bool is_object(qw_compiler *c, qw_branch *b, const qw_dom *node)
{
    if (node->kind == QW_DOM_OBJECT) return true;
    qw_doubt_add(c, b, node, "%.*s must be an object", (int)node->key.n, node->key.bytes);
    return false;
}

void qw_read_properties(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_choosing choosing = {0};

    if (node != qw_additional_of(c, node->parent) && !is_object(c, b, node)) return;
    if (keeps) {
        if (is_first_of_layer(c, node)) qw_fact_add(c, b, true, (qw_fact){.kind = QW_FACT_LAYER, .node = node->parent});
    } else if (qw_text_is(node->key, "properties")) {
        for (const qw_dom *member = node->first; member; member = member->next)
            qw_choosing_add(c, &choosing, qw_with(c, QW_KEY_FAILS, member, NULL));
        qw_choosing_put(c, b, &choosing);
    } else {
        b->form.types &= QW_TYPE_OBJECT;
        qw_fact_add(c, b, true, (qw_fact){.kind = QW_FACT_SOME_KEY, .node = node});
    }
}

void qw_read_names(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    if (keeps) {
        qw_fact_add(c, b, true, (qw_fact){.kind = QW_FACT_NAMES, .literal = qw_literal_of(QW_MEETS, node)});
        return;
    }
    b->form.types &= QW_TYPE_OBJECT;
    qw_fact_add(c, b, true, (qw_fact){.kind = QW_FACT_SOME_KEY, .node = node});
}

void qw_read_required(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_choosing choosing = {0};

    if (node->kind != QW_DOM_ARRAY) {
        qw_doubt_add(c, b, node, "required must be a list of names");
        return;
    }
    if (keeps) {
        qw_push_children(c, b, QW_HAS_TEXT, node);
        return;
    }
    b->form.types &= QW_TYPE_OBJECT;
    for (const qw_dom *name = node->first; name; name = name->next)
        qw_choosing_add(c, &choosing, qw_with(c, QW_LACKS_TEXT, name, NULL));
    qw_choosing_put(c, b, &choosing);
}

void qw_read_key_count(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    bool least = qw_text_is(node->key, "minProperties");
    int64_t n;

    if (!qw_dom_count(node, &n)) {
        qw_doubt_add(c, b, node, "a number of properties must be an integer from 0");
        return;
    }
    if (!keeps) {
        b->form.types &= QW_TYPE_OBJECT;
        n += least ? -1 : 1;
        least = !least;
    }
    if (n < 0) b->form.types = 0;
    if (least && n > b->form.min_keys) b->form.min_keys = n;
    if (!least && n < b->form.max_keys) b->form.max_keys = n;
    check_count(b);
}

/* What follows from a key: literals for a list of names, or for a schema. */
static const qw_literals *consequence(qw_compiler *c, const qw_dom *member)
{
    const qw_literals *literals = NULL;

    if (member->kind != QW_DOM_ARRAY) return qw_with(c, QW_MEETS, member, NULL);
    for (const qw_dom *name = member->first; name; name = name->next)
        literals = qw_with(c, QW_HAS_TEXT, name, literals);
    return literals;
}

static void keep_dependency(qw_compiler *c, qw_branch *b, const qw_dom *member)
{
    qw_choosing choosing = {0};

    if (member->kind == QW_DOM_TRUE || (member->kind >= QW_DOM_ARRAY && !member->n)) return;
    if (member->kind == QW_DOM_FALSE) {
        qw_push(c, b, QW_LACKS_KEY, member);
        return;
    }
    qw_choosing_add(c, &choosing, qw_with(c, QW_LACKS_KEY, member, NULL));
    qw_choosing_add(c, &choosing,
                    qw_with(c, QW_IS_OBJECT, member, qw_with(c, QW_HAS_KEY, member, consequence(c, member))));
    qw_choosing_put(c, b, &choosing);
}

static void break_dependency(qw_compiler *c, qw_choosing *choosing, const qw_dom *member)
{
    if (member->kind != QW_DOM_ARRAY) {
        qw_choosing_add(c, choosing, qw_with(c, QW_HAS_KEY, member, qw_with(c, QW_FAILS, member, NULL)));
        return;
    }
    for (const qw_dom *name = member->first; name; name = name->next)
        qw_choosing_add(c, choosing, qw_with(c, QW_HAS_KEY, member, qw_with(c, QW_LACKS_TEXT, name, NULL)));
}

void qw_read_dependencies(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    qw_choosing choosing = {0};

    if (!is_object(c, b, node)) return;
    for (const qw_dom *member = node->first; member; member = member->next) {
        bool schema = member->kind == QW_DOM_OBJECT || member->kind == QW_DOM_TRUE || member->kind == QW_DOM_FALSE;
        if (!schema && member->kind != QW_DOM_ARRAY) {
            qw_doubt_add(c, b, member, "a dependency must be a list of names or a schema");
            return;
        }
        if (keeps) keep_dependency(c, b, member);
        else break_dependency(c, &choosing, member);
    }
    if (keeps) return;
    b->form.types &= QW_TYPE_OBJECT;
    qw_choosing_put(c, b, &choosing);
}

/* A key that must be there, with a value that is such. */
static void has_value(qw_compiler *c, qw_branch *b, qw_literal_kind value, const qw_dom *node)
{
    b->form.types &= QW_TYPE_OBJECT;
    qw_fact_add(
        c, b, true,
        (qw_fact){.kind = QW_FACT_HAS, .name = node->key, .literal = qw_literal_of(value, node), .has_literal = true});
}

void qw_read_object_literal(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *node)
{
    bool by_key = kind == QW_HAS_KEY || kind == QW_LACKS_KEY;
    qw_fact fact = {.name = by_key ? node->key : node->text};

    switch (kind) {
    case QW_IS_OBJECT:
        b->form.types &= QW_TYPE_OBJECT;
        return;
    case QW_NOT_OBJECT:
        b->form.types &= (uint8_t)~QW_TYPE_OBJECT;
        return;
    case QW_KEY_FAILS:
        has_value(c, b, QW_FAILS, node);
        return;
    case QW_KEY_DIFFERS:
        has_value(c, b, QW_DIFFERS, node);
        return;
    case QW_OTHER_KEY:
        b->form.types &= QW_TYPE_OBJECT;
        qw_fact_add(c, b, true, (qw_fact){.kind = QW_FACT_OTHER_KEY, .node = node});
        return;
    default:
        if (!by_key && node->kind != QW_DOM_STRING) {
            qw_doubt_add(c, b, node, "a name must be a text");
            return;
        }
        fact.kind = kind == QW_HAS_KEY || kind == QW_HAS_TEXT ? QW_FACT_HAS : QW_FACT_LACKS;
        qw_fact_add(c, b, true, fact);
    }
}

void qw_read_object_value(qw_compiler *c, qw_branch *b, const qw_dom *node, bool equals)
{
    qw_choosing choosing = {0};

    if (equals) {
        b->form.types &= QW_TYPE_OBJECT;
        qw_fact_add(c, b, true, (qw_fact){.kind = QW_FACT_VALUE, .node = node});
        return;
    }
    if (!(b->form.types & QW_TYPE_OBJECT)) return;
    qw_choosing_add(c, &choosing, qw_with(c, QW_NOT_OBJECT, node, NULL));
    for (const qw_dom *member = node->first; member; member = member->next) {
        qw_choosing_add(c, &choosing, qw_with(c, QW_IS_OBJECT, node, qw_with(c, QW_LACKS_KEY, member, NULL)));
        qw_choosing_add(c, &choosing, qw_with(c, QW_KEY_DIFFERS, member, NULL));
    }
    qw_choosing_add(c, &choosing, qw_with(c, QW_OTHER_KEY, node, NULL));
    qw_choosing_put(c, b, &choosing);
}
