/* SPDX-License-Identifier: MIT
 * Names are looked for only where the draft has schemas: a property called "$id" and an enum that holds one name nothing. */
#include "format/schema_document.h"

#include "format/schema_uri.h"

#include <string.h>

/* What a value is to its schema: one itself, an object or list of them, or something else. */
typedef enum role { DATA, SCHEMA, MAP, LIST } role;

static role role_of(const qw_dom *node, const uint8_t *roles)
{
    static const char *const maps[] = {"properties",  "patternProperties", "$defs",
                                       "definitions", "dependentSchemas",  "dependencies"};
    static const char *const lists[] = {"allOf", "anyOf", "oneOf", "prefixItems"};
    static const char *const schemas[] = {"items",
                                          "additionalItems",
                                          "contains",
                                          "additionalProperties",
                                          "propertyNames",
                                          "not",
                                          "if",
                                          "then",
                                          "else",
                                          "unevaluatedProperties",
                                          "unevaluatedItems",
                                          "contentSchema"};
    role outer = node->parent ? (role)roles[node->parent->id] : MAP;

    if (outer == MAP || outer == LIST) return node->kind == QW_DOM_ARRAY ? DATA : SCHEMA;
    if (outer == DATA || node->parent->kind != QW_DOM_OBJECT) return DATA;
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        if (qw_text_is(node->key, maps[i])) return MAP;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (qw_text_is(node->key, lists[i])) return LIST;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (qw_text_is(node->key, schemas[i])) return node->kind == QW_DOM_ARRAY ? LIST : SCHEMA;
    return DATA;
}

static qw_draft draft_of(const qw_dom *root)
{
    static const struct {
        const char *part;
        qw_draft draft;
    } names[] = {{"draft-04", QW_DRAFT_4},
                 {"draft-03", QW_DRAFT_4},
                 {"draft-06", QW_DRAFT_6},
                 {"draft-07", QW_DRAFT_7},
                 {"2019-09", QW_DRAFT_2019}};
    const qw_dom *schema = qw_dom_get(root, "$schema");

    if (!schema || schema->kind != QW_DOM_STRING) return QW_DRAFT_2020;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(schema->text.bytes, names[i].part)) return names[i].draft;
    return QW_DRAFT_2020;
}

static qw_text base_of(const qw_schema_document *d, const qw_dom *resource)
{
    for (const qw_schema_name *r = d->resources; r; r = r->next)
        if (r->node == resource) return r->name;
    return (qw_text){"", 0};
}

static qw_status add_name(qw_schema_document *d, const qw_schema_name **list, qw_schema_name name, qw_error *err)
{
    qw_schema_name *entry = qw_arena_take(d->arena, 1, sizeof *entry);

    if (!entry || !name.name.bytes) return qw_fail_memory(err, "the names of a schema", sizeof *entry);
    *entry = name;
    entry->next = *list;
    *list = entry;
    return QW_OK;
}

/* $id (id in draft 4): a resource of its own, or up to draft 7 with "#name" an anchor. */
static qw_status read_id(qw_schema_document *d, const qw_dom *node, qw_error *err)
{
    const qw_dom *id = qw_dom_get(node, d->draft == QW_DRAFT_4 ? "id" : "$id");
    const qw_dom *resource = node->parent ? d->homes[node->parent->id] : node;
    qw_text uri = {"", 0}, fragment = {0};
    bool hidden = d->draft <= QW_DRAFT_7 && qw_dom_get(node, "$ref"); /* $ref has no siblings there */

    if (id && id->kind == QW_DOM_STRING && !hidden) qw_uri_split(id->text, &uri, &fragment);
    if (!node->parent || uri.n) {
        qw_text base = node->parent ? base_of(d, resource) : (qw_text){"", 0};
        resource = d->homes[node->id] = node;
        QW_TRY(
            add_name(d, &d->resources, (qw_schema_name){NULL, node, node, qw_uri_resolve(d->arena, base, uri)}, err));
    }
    if (!fragment.n || d->draft > QW_DRAFT_7) return QW_OK;
    return add_name(d, &d->anchors, (qw_schema_name){NULL, resource, node, fragment}, err);
}

static qw_status read_names(qw_schema_document *d, const qw_dom *node, qw_error *err)
{
    static const char *const keys[] = {"$anchor", "$dynamicAnchor"};

    QW_TRY(read_id(d, node, err));
    if (d->draft < QW_DRAFT_2019) return QW_OK;
    if (qw_dom_get(node, "$dynamicAnchor") || qw_dom_get(node, "$recursiveAnchor")) d->dynamic = true;
    for (size_t i = 0; i < 2; i++) {
        const qw_dom *anchor = qw_dom_get(node, keys[i]);
        if (anchor && anchor->kind == QW_DOM_STRING)
            QW_TRY(add_name(d, &d->anchors, (qw_schema_name){NULL, d->homes[node->id], node, anchor->text}, err));
    }
    return QW_OK;
}

/* The next node in the order of the text, and the deepest last one of a tree. */
static const qw_dom *following(const qw_dom *node)
{
    if (node->first) return node->first;
    while (node && !node->next) node = node->parent;
    return node ? node->next : NULL;
}

static uint32_t count_of(const qw_dom *root)
{
    uint32_t n = 0;

    for (const qw_dom *node = root; node; node = following(node)) n = node->id + 1;
    return n;
}

qw_status qw_schema_document_read(qw_schema_document *d, qw_arena *arena, qw_text text, qw_error *err)
{
    uint8_t *roles;

    *d = (qw_schema_document){.arena = arena};
    if (qw_dom_parse(arena, text, "schema", &d->root, err)) {
        if (err && err->status == QW_ERR_FORMAT) err->status = QW_ERR_USAGE;
        return err && err->status ? err->status : QW_ERR_USAGE;
    }
    d->draft = draft_of(d->root);
    d->n = count_of(d->root);
    roles = qw_arena_take(arena, d->n, 1);
    d->nodes = qw_arena_take(arena, d->n, sizeof *d->nodes);
    d->homes = qw_arena_take(arena, d->n, sizeof *d->homes);
    if (!roles || !d->nodes || !d->homes) return qw_fail_memory(err, "the schema", (double)text.n);
    for (const qw_dom *node = d->root; node; node = following(node)) {
        role r = role_of(node, roles);
        roles[node->id] = (uint8_t)r;
        d->nodes[node->id] = node;
        d->homes[node->id] = node->parent ? d->homes[node->parent->id] : node;
        if (r == SCHEMA && node->kind == QW_DOM_OBJECT) QW_TRY(read_names(d, node, err));
    }
    if (!d->resources) return add_name(d, &d->resources, (qw_schema_name){NULL, d->root, d->root, {"", 0}}, err);
    return QW_OK;
}

/* Follows a JSON pointer (decoded, "/a/b") from a node. */
static const qw_dom *follow(const qw_schema_document *d, const qw_dom *node, qw_text pointer)
{
    char *step = qw_arena_take(d->arena, pointer.n + 1, 1);
    size_t i = 0;

    if (!step) return NULL;
    while (node && i < pointer.n) {
        size_t n = 0;
        uint64_t index = 0;
        bool digits = true;
        if (pointer.bytes[i++] != '/') return NULL;
        for (; i < pointer.n && pointer.bytes[i] != '/'; i++) {
            char c = pointer.bytes[i];
            if (c == '~' && i + 1 < pointer.n) c = pointer.bytes[++i] == '1' ? '/' : '~';
            digits &= c >= '0' && c <= '9' && n < 9;
            if (digits) index = index * 10 + (uint64_t)(c - '0');
            step[n++] = c;
        }
        if (node->kind == QW_DOM_ARRAY) node = digits && n ? qw_dom_at(node, index) : NULL;
        else node = qw_dom_find(node, (qw_text){step, n});
    }
    return node;
}

qw_status qw_schema_resolve(const qw_schema_document *d, const qw_dom *node, const qw_dom **target, qw_error *err)
{
    const qw_dom *resource = d->homes[node->id];
    qw_text uri, fragment, pointer;

    *target = NULL;
    qw_uri_split(node->text, &uri, &fragment);
    if (uri.n) {
        qw_text absolute = qw_uri_resolve(d->arena, base_of(d, resource), uri);
        if (!absolute.bytes) return qw_fail_memory(err, "a reference", (double)uri.n);
        resource = NULL;
        for (const qw_schema_name *r = d->resources; r; r = r->next)
            if (qw_text_equal(r->name, absolute)) resource = r->node;
        if (!resource) return QW_OK;
    }
    if (!fragment.n) {
        *target = resource;
        return QW_OK;
    }
    pointer = qw_uri_decode(d->arena, fragment);
    if (!pointer.bytes) return qw_fail_memory(err, "a reference", (double)fragment.n);
    if (pointer.bytes[0] == '/') *target = follow(d, resource, pointer);
    for (const qw_schema_name *a = d->anchors; a && pointer.bytes[0] != '/'; a = a->next)
        if (a->resource == resource && qw_text_equal(a->name, pointer)) *target = a->node;
    return QW_OK;
}
