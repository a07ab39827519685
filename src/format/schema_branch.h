/* SPDX-License-Identifier: MIT
 * The normal form, and the state in which it is reached. A schema is a formula over literals: "meets this schema", "breaks
 * this keyword", "has this key". A branch is one way to make the formula true: what it already demands of a value, type by
 * type (the form), the literals still to be read, and the choices still to be made. Where nothing is left to read or to
 * choose, the form says all; a schema is the union of the forms of its branches. `not` needs no complement of a form: it
 * turns literals round. Forms and lists are never changed once they are shared: to branch is to copy. */
#ifndef QW_SCHEMA_BRANCH_H
#define QW_SCHEMA_BRANCH_H

#include "format/expression.h"
#include "format/schema_document.h"
#include "format/schema_report.h"

/* What a literal says of a value. node: the schema, keyword, value or member that it is about. The first four are what
 * the children of a form are made of. Those from QW_HAS_KEY on say nothing of values of another type. */
typedef enum qw_literal_kind {
    QW_MEETS, /* the schema at node                                             */
    QW_FAILS,
    QW_EQUALS, /* the value at node                                              */
    QW_DIFFERS,
    QW_KEEPS, /* the keyword whose value is node                                */
    QW_BREAKS,
    QW_IS_OBJECT,
    QW_NOT_OBJECT,
    QW_IS_ARRAY,
    QW_NOT_ARRAY,
    QW_ENUM_SCALARS, /* one of the list's values that are neither object nor array     */
    QW_HAS_KEY,      /* node's key                                                     */
    QW_LACKS_KEY,
    QW_HAS_TEXT, /* node's text as a key                                           */
    QW_LACKS_TEXT,
    QW_KEY_FAILS,   /* has node's key, with a value that fails the schema at node     */
    QW_KEY_DIFFERS, /* ... that is not the value at node                              */
    QW_OTHER_KEY,   /* a key that the object at node (a value) has not                */
    QW_ITEM_FAILS,  /* an item at node's index that fails the schema at node          */
    QW_ITEM_DIFFERS,
    QW_SHORTER, /* fewer items than the array at node                             */
    QW_LONGER,
    QW_LITERAL_KINDS
} qw_literal_kind;

typedef uint32_t qw_literal; /* kind + 32 * id of the node */

/* A literal or list of them, an alternative; both are linked in reverse or in order as said. */
typedef struct qw_literals {
    const struct qw_literals *next;
    qw_literal literal;
} qw_literals;

typedef struct qw_alternative {
    const struct qw_alternative *next;
    const qw_literals *literals; /* all of them, in order */
} qw_alternative;

typedef struct qw_choice_list {
    const struct qw_choice_list *next;
    const qw_alternative *alternatives; /* in order */
    int32_t n;
    bool exclusive; /* oneOf: each alternative is one MEETS, and the others must fail */
} qw_choice_list;

enum {
    QW_TYPE_NULL = 1,
    QW_TYPE_FALSE = 2,
    QW_TYPE_TRUE = 4,
    QW_TYPE_NUMBER = 8,
    QW_TYPE_STRING = 16,
    QW_TYPE_ARRAY = 32,
    QW_TYPE_OBJECT = 64,
    QW_TYPE_ANY = 127
};

typedef enum qw_fact_kind {
    QW_FACT_LAYER, /* object: properties, patternProperties, additionalProperties of the schema at node;
                           array: prefixItems, items, additionalItems */
    QW_FACT_VALUE, /* is the value at node */
    QW_FACT_HAS,   /* has the key `name`; where literal is set, with such a value */
    QW_FACT_LACKS,
    QW_FACT_NAMES,     /* all keys meet literal */
    QW_FACT_SOME_KEY,  /* some key breaks the keyword at node */
    QW_FACT_OTHER_KEY, /* some key is not in the object at node */
    QW_FACT_ITEM,      /* the item at min is literal */
    QW_FACT_ALL_ITEMS, /* every item is literal */
    QW_FACT_CONTAINS,  /* min to max items are literal */
} qw_fact_kind;

typedef struct qw_fact {
    const struct qw_fact *before; /* what was found earlier */
    const qw_dom *node;
    qw_text name;
    int64_t min, max;
    qw_literal literal;
    bool has_literal;
    qw_fact_kind kind;
} qw_fact;

/* What a branch asks that cannot be held: no fault where the branch turns out to have no value. */
typedef struct qw_doubt {
    const struct qw_doubt *before;
    const qw_dom *node;
    const char *why;
} qw_doubt;

typedef struct qw_form {
    const qw_fact *object, *array; /* of those types, last first */
    uint64_t object_hash, array_hash;
    int64_t min_keys, max_keys, min_items, max_items; /* max: INT64_MAX for none */
    qw_expr string, number;                           /* bodies of strings; decimal spellings */
    bool has_string, has_number;                      /* those are set; else any */
    bool integer;                                     /* numbers are written as integers */
    const struct qw_doubt *doubts;                    /* what it could not hold; refused if the form is of use */
    bool unique;
    uint8_t types;
} qw_form;

typedef struct qw_branch {
    qw_form form;
    const qw_literals *todo, *seen;
    const qw_choice_list *choices;
} qw_branch;

/* A conjunction of literals about one value: what a child of a form must be. The same one is made once. */
typedef struct qw_conj {
    struct qw_conj *next_same_hash, *next_queued;
    qw_literal *literals;
    const struct qw_forms *forms;
    uint32_t n, hash;
    uint32_t rule; /* of the grammar, 0 for none yet */
    uint8_t state; /* QW_CONJ_ */
    bool expanded; /* forms is what it will be */
    bool none;     /* nothing meets it, as its literals show by themselves */
} qw_conj;

enum { QW_CONJ_UNKNOWN, QW_CONJ_BUSY, QW_CONJ_ALIVE, QW_CONJ_VOID };
enum { QW_CONJ_TABLE = 1024 };

/* The compiler's state. status is the first failure (memory, limits of the pool): later work is idle after it. */
typedef struct qw_compiler {
    qw_schema_document document;
    qw_schema_report report;
    qw_arena *arena;
    qw_expr_pool *pool;
    qw_conj *conjs[QW_CONJ_TABLE];
    qw_expr *cached; /* by node id, + 1: what a keyword's value means */
    uint64_t work;   /* literals read, facts held against names */
    int32_t probing; /* above 0: a question is asked of which nothing is reported */
    int32_t depth;   /* of such questions */
    bool lenient, formats;
    qw_status status;
    qw_error *err;
} qw_compiler;

/* Keeps the first failure. */
void qw_compiler_fail(qw_compiler *c, qw_status status);

/* Arena memory, or NULL with the failure kept. */
void *qw_compiler_take(qw_compiler *c, size_t n, size_t size);

/* Reports that the keyword (or schema) at node cannot be held, in lenient mode as a note; printf-like. */
void qw_refuse(qw_compiler *c, const qw_dom *node, const char *format, ...) QW_PRINTF(3, 4);
void qw_doubt_add(qw_compiler *c, qw_branch *b, const qw_dom *node, const char *format, ...) QW_PRINTF(4, 5);
void qw_note(qw_compiler *c, const qw_dom *node, const char *format, ...) QW_PRINTF(3, 4);

static inline qw_literal qw_literal_of(qw_literal_kind kind, const qw_dom *node)
{
    return (uint32_t)kind + 32 * node->id;
}

static inline qw_literal_kind qw_literal_kind_of(qw_literal literal)
{
    return (qw_literal_kind)(literal & 31);
}

static inline const qw_dom *qw_literal_node(const qw_compiler *c, qw_literal literal)
{
    return c->document.nodes[literal >> 5];
}

/* To be read next: the last pushed first. */
void qw_push(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *node);

/* A literal of that kind of each child, read in their order. */
void qw_push_children(qw_compiler *c, qw_branch *b, qw_literal_kind kind, const qw_dom *parent);

/* All of a list in front, in its order. */
void qw_push_list(qw_compiler *c, qw_branch *b, const qw_literals *literals);

/* Literals in front of a list. */
const qw_literals *qw_with(qw_compiler *c, qw_literal_kind kind, const qw_dom *node, const qw_literals *rest);

/* A choice under way: alternatives are added in order, then it is put to the branch. Of no alternative: the branch dies.
 * Of one: it is read next. */
typedef struct qw_choosing {
    qw_alternative *first, *last;
    int32_t n;
    bool exclusive;
} qw_choosing;
void qw_choosing_add(qw_compiler *c, qw_choosing *choosing, const qw_literals *literals);
void qw_choosing_put(qw_compiler *c, qw_branch *b, const qw_choosing *choosing);

/* Facts of the object or array part. fact->before is set here. */
void qw_fact_add(qw_compiler *c, qw_branch *b, bool object, qw_fact fact);

/* Narrows the part for strings or numbers, as node demands; what the pool cannot make is refused there. */
void qw_narrow_string(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_expr expr);
void qw_narrow_number(qw_compiler *c, qw_branch *b, const qw_dom *node, qw_expr expr);

/* The branch has no value. */
static inline void qw_branch_kill(qw_branch *b)
{
    b->form.types = 0;
}

/* The conjunction of n literals (references followed, what is always true left out, doubles dropped). */
qw_conj *qw_conj_of(qw_compiler *c, const qw_literal *literals, uint32_t n);

/* What a schema that is only a reference means, through any number of them; the node itself otherwise. */
const qw_dom *qw_follow_references(qw_compiler *c, const qw_dom *node);

#endif
