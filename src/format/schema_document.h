/* SPDX-License-Identifier: MIT
 * A schema's text as a document: which draft it follows, which of its values are schemas, what they are called ($id,
 * $anchor), and what a reference means. Only what stands in the document is ever found. */
#ifndef QW_SCHEMA_DOCUMENT_H
#define QW_SCHEMA_DOCUMENT_H

#include "format/schema_dom.h"

typedef enum qw_draft {
    QW_DRAFT_4 = 1,
    QW_DRAFT_6 = 2,
    QW_DRAFT_7 = 4,
    QW_DRAFT_2019 = 8,
    QW_DRAFT_2020 = 16
} qw_draft;

/* A name in the document: of a resource ($id, absolute) or of a place in one ($anchor). */
typedef struct qw_schema_name {
    const struct qw_schema_name *next;
    const qw_dom *resource; /* the schema that the anchor belongs to; of a resource itself */
    const qw_dom *node;
    qw_text name;
} qw_schema_name;

typedef struct qw_schema_document {
    qw_arena *arena;
    const qw_dom *root;
    const qw_dom **nodes; /* by id */
    const qw_dom **homes; /* by id: the resource that a node belongs to */
    uint32_t n;
    const qw_schema_name *resources, *anchors;
    qw_draft draft;
    bool dynamic; /* a $dynamicAnchor or $recursiveAnchor stands in it */
} qw_schema_document;

/* Reads the text; document's parts live in the arena. Errors: usage (not JSON, not a schema), memory. */
qw_status qw_schema_document_read(qw_schema_document *document, qw_arena *arena, qw_text text, qw_error *err);

/* What the reference at node (a string) means, or NULL where it is not in the document. Errors: memory. */
qw_status qw_schema_resolve(const qw_schema_document *document, const qw_dom *node, const qw_dom **target,
                            qw_error *err);

#endif
