/* SPDX-License-Identifier: MIT
 * A schema that is met keeps each of its keywords; one that fails breaks one of them. Keywords that are not in the table
 * say nothing about values, or nothing in that draft. */
#include "format/schema_keywords.h"

#include "format/schema_arrays.h"
#include "format/schema_logic.h"
#include "format/schema_objects.h"
#include "format/schema_scalars.h"

#include <stdlib.h>
#include <string.h>

typedef void reader(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps);

enum {
    ALL_DRAFTS = 31,
    FROM_6 = 30,
    FROM_7 = 28,
    FROM_2019 = 24,
};

/* Those that follow from what other parts of the value were looked at: held where that is one schema. */
static void read_unevaluated(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    bool items = qw_text_is(node->key, "unevaluatedItems");
    const qw_dom *plain = qw_plain_unevaluated(c, node->parent, items ? "unevaluatedItems" : "unevaluatedProperties");

    if (plain && items) {
        qw_read_items(c, b, node, keeps);
        return;
    }
    if (plain && qw_additional_of(c, node->parent) == node) {
        qw_read_properties(c, b, node, keeps);
        return;
    }
    if (plain || node->kind == QW_DOM_TRUE) { /* nothing is left to look at */
        if (!keeps) qw_branch_kill(b);
        return;
    }
    qw_doubt_add(c, b, node, "%.*s is not supported; name the properties or items in one schema", (int)node->key.n,
                 node->key.bytes);
}

/* In a document of one resource the dynamic scope is that resource. */
static void read_dynamic(qw_compiler *c, qw_branch *b, const qw_dom *node, bool keeps)
{
    if (c->document.dynamic && c->document.resources->next)
        qw_doubt_add(c, b, node, "%.*s is not supported where several resources are in one schema; use $ref",
                     (int)node->key.n, node->key.bytes);
    else qw_read_reference(c, b, node, keeps);
}

static const struct keyword {
    const char *name;
    reader *read;
    uint8_t drafts;
} keywords[] = {
    /* sorted by name */
    {"$dynamicRef", read_dynamic, QW_DRAFT_2020},
    {"$recursiveRef", read_dynamic, QW_DRAFT_2019},
    {"$ref", qw_read_reference, ALL_DRAFTS},
    {"additionalItems", qw_read_items, ALL_DRAFTS},
    {"additionalProperties", qw_read_properties, ALL_DRAFTS},
    {"allOf", qw_read_all_of, ALL_DRAFTS},
    {"anyOf", qw_read_any_of, ALL_DRAFTS},
    {"const", qw_read_const, FROM_6},
    {"contains", qw_read_contains, FROM_6},
    {"dependencies", qw_read_dependencies, ALL_DRAFTS},
    {"dependentRequired", qw_read_dependencies, FROM_2019},
    {"dependentSchemas", qw_read_dependencies, FROM_2019},
    {"enum", qw_read_enum, ALL_DRAFTS},
    {"exclusiveMaximum", qw_read_bound, ALL_DRAFTS},
    {"exclusiveMinimum", qw_read_bound, ALL_DRAFTS},
    {"format", qw_read_format, ALL_DRAFTS},
    {"if", qw_read_if, FROM_7},
    {"items", qw_read_items, ALL_DRAFTS},
    {"maxItems", qw_read_item_count, ALL_DRAFTS},
    {"maxLength", qw_read_length, ALL_DRAFTS},
    {"maxProperties", qw_read_key_count, ALL_DRAFTS},
    {"maximum", qw_read_bound, ALL_DRAFTS},
    {"minItems", qw_read_item_count, ALL_DRAFTS},
    {"minLength", qw_read_length, ALL_DRAFTS},
    {"minProperties", qw_read_key_count, ALL_DRAFTS},
    {"minimum", qw_read_bound, ALL_DRAFTS},
    {"multipleOf", qw_read_multiple, ALL_DRAFTS},
    {"not", qw_read_not, ALL_DRAFTS},
    {"oneOf", qw_read_one_of, ALL_DRAFTS},
    {"pattern", qw_read_pattern, ALL_DRAFTS},
    {"patternProperties", qw_read_properties, ALL_DRAFTS},
    {"prefixItems", qw_read_items, QW_DRAFT_2020},
    {"properties", qw_read_properties, ALL_DRAFTS},
    {"propertyNames", qw_read_names, FROM_6},
    {"required", qw_read_required, ALL_DRAFTS},
    {"type", qw_read_type, ALL_DRAFTS},
    {"unevaluatedItems", read_unevaluated, FROM_2019},
    {"unevaluatedProperties", read_unevaluated, FROM_2019},
    {"uniqueItems", qw_read_unique, ALL_DRAFTS},
};

static int by_name(const void *key, const void *entry)
{
    const qw_text *name = key;
    const char *other = ((const struct keyword *)entry)->name;
    size_t n = strlen(other), common = name->n < n ? name->n : n;
    int order = memcmp(name->bytes, other, common);

    return order ? order : (name->n > n) - (name->n < n);
}

static const struct keyword *keyword_of(const qw_compiler *c, const qw_dom *node)
{
    const struct keyword *found =
        bsearch(&node->key, keywords, sizeof keywords / sizeof *keywords, sizeof *keywords, by_name);

    return found && found->drafts & c->document.draft ? found : NULL;
}

static bool was_seen(const qw_branch *b, qw_literal literal)
{
    for (const qw_literals *seen = b->seen; seen; seen = seen->next)
        if (seen->literal == literal) return true;
    return false;
}

static void break_one(qw_compiler *c, qw_branch *b, const qw_dom *schema)
{
    qw_choosing choosing = {0};

    for (const qw_dom *child = schema->first; child; child = child->next)
        if (keyword_of(c, child)) qw_choosing_add(c, &choosing, qw_with(c, QW_BREAKS, child, NULL));
    qw_choosing_put(c, b, &choosing);
}

/* Takes a schema apart. The same one is read once in a branch, so that a circle of references ends; met and failed, it
 * leaves nothing. */
static void read_schema(qw_compiler *c, qw_branch *b, const qw_dom *node, bool meets)
{
    const qw_dom *reference = c->document.draft <= QW_DRAFT_7 ? qw_dom_get(node, "$ref") : NULL;
    qw_literal literal = qw_literal_of(meets ? QW_MEETS : QW_FAILS, node);
    qw_literals *seen;

    if (node->kind == QW_DOM_TRUE || node->kind == QW_DOM_FALSE) {
        if (meets != (node->kind == QW_DOM_TRUE)) qw_branch_kill(b);
        return;
    }
    if (node->kind != QW_DOM_OBJECT) {
        qw_doubt_add(c, b, node, "a schema must be an object or a boolean");
        return;
    }
    if (was_seen(b, literal)) return;
    if (was_seen(b, qw_literal_of(meets ? QW_FAILS : QW_MEETS, node))) {
        qw_branch_kill(b);
        return;
    }
    seen = qw_compiler_take(c, 1, sizeof *seen);
    if (!seen) return;
    *seen = (qw_literals){b->seen, literal};
    b->seen = seen;
    if (reference && reference->kind == QW_DOM_STRING) qw_read_reference(c, b, reference, meets);
    else if (meets) qw_push_children(c, b, QW_KEEPS, node);
    else break_one(c, b, node);
}

static void read_value(qw_compiler *c, qw_branch *b, const qw_dom *node, bool equals)
{
    if (node->kind == QW_DOM_OBJECT) qw_read_object_value(c, b, node, equals);
    else if (node->kind == QW_DOM_ARRAY) qw_read_array_value(c, b, node, equals);
    else qw_read_scalar(c, b, node, equals);
}

void qw_literal_read(qw_compiler *c, qw_branch *b, qw_literal literal)
{
    qw_literal_kind kind = qw_literal_kind_of(literal);
    const qw_dom *node = qw_literal_node(c, literal);
    const struct keyword *keyword;

    switch (kind) {
    case QW_MEETS:
    case QW_FAILS:
        read_schema(c, b, node, kind == QW_MEETS);
        return;
    case QW_EQUALS:
    case QW_DIFFERS:
        read_value(c, b, node, kind == QW_EQUALS);
        return;
    case QW_KEEPS:
    case QW_BREAKS:
        keyword = keyword_of(c, node);
        if (keyword) keyword->read(c, b, node, kind == QW_KEEPS);
        return;
    case QW_ENUM_SCALARS:
        qw_read_enum_scalars(c, b, node);
        return;
    case QW_IS_ARRAY:
    case QW_NOT_ARRAY:
    case QW_ITEM_FAILS:
    case QW_ITEM_DIFFERS:
    case QW_SHORTER:
    case QW_LONGER:
        qw_read_array_literal(c, b, kind, node);
        return;
    default:
        qw_read_object_literal(c, b, kind, node);
    }
}
