/* SPDX-License-Identifier: MIT
 * What those who read a form make it with, and what they make. */
#ifndef QW_FORMAT_MAKER_H
#define QW_FORMAT_MAKER_H

#include "format/grammar.h"
#include "tokenizer/tokenizer.h"

/* What a form is made with: the pool, a grammar over it, the vocabulary (for tokens that a grammar names), and where what
 * was passed over is told, a line each. All borrowed. */
typedef struct qw_format_maker {
    qw_expr_pool *pool;
    qw_grammar *grammar;
    const qw_tokenizer *tokenizer;
    qw_buf *notes;
    qw_buf *report; /* where given: qw_schema_compile's, of a schema */
} qw_format_maker;

typedef struct qw_language {
    bool any_text; /* {"type": "text"} */
    qw_expr expr;  /* of regex and choice; else NONE */
    qw_node node;  /* of the others */
} qw_language;

#endif
