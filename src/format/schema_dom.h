/* SPDX-License-Identifier: MIT
 * A JSON text as a tree that keeps what a schema needs and base/json.h does not: the order of keys, numbers as they were
 * written, where each value stands. Nodes live in an arena and never change. */
#ifndef QW_SCHEMA_DOM_H
#define QW_SCHEMA_DOM_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum qw_dom_kind {
    QW_DOM_NULL,
    QW_DOM_FALSE,
    QW_DOM_TRUE,
    QW_DOM_NUMBER,
    QW_DOM_STRING,
    QW_DOM_ARRAY,
    QW_DOM_OBJECT
} qw_dom_kind;

typedef struct qw_dom qw_dom;
struct qw_dom {
    const qw_dom *parent;       /* NULL: the whole text                                      */
    const qw_dom *first, *next; /* the first child; the next one of the parent's             */
    qw_dom **table;             /* of an object of many members: by hash of key, open        */
    qw_text key;                /* in an object                                              */
    qw_text text;               /* a string's characters, anything else as it was written    */
    uint32_t id;                /* order of beginning in the text, from 0                    */
    uint32_t index;             /* among the parent's children                               */
    uint32_t n;                 /* children                                                  */
    uint32_t mask;              /* of table                                                  */
    qw_dom_kind kind;
};

/* Parses a whole text; what names it in errors. Nodes and their texts live in the arena. Of a key that comes twice the
 * last value counts. Errors: format (with the place; nesting above 512), memory. */
qw_status qw_dom_parse(qw_arena *arena, qw_text text, const char *what, const qw_dom **root, qw_error *err);

/* "null", "boolean", "number", "string", "array" or "object". */
const char *qw_dom_kind_name(qw_dom_kind kind);

/* The member of an object, or NULL where it is absent or node is none. A member that is null is found. */
const qw_dom *qw_dom_find(const qw_dom *node, qw_text key);
const qw_dom *qw_dom_get(const qw_dom *node, const char *key);

/* The child of an array, or NULL. */
const qw_dom *qw_dom_at(const qw_dom *node, uint64_t index);

/* Whether two values are the same for JSON Schema: numbers by value, objects whatever their order. */
bool qw_dom_equal(const qw_dom *a, const qw_dom *b);

/* A number that is a whole one from 0 to 2^53 (2.0 and 1e3 are) into *value; false for any other node. */
bool qw_dom_count(const qw_dom *node, int64_t *value);

/* Appends the JSON pointer of the node: "" for the whole text, "/properties/a~1b". */
qw_status qw_dom_pointer(qw_buf *out, const qw_dom *node, qw_error *err);

#endif
