/* SPDX-License-Identifier: MIT
 * api.d.ts' response_format, as JSON text, into the language that it asks for. */
#ifndef QW_FORMAT_READ_H
#define QW_FORMAT_READ_H

#include "format/grammar.h"
#include "tokenizer/tokenizer.h"

/* What a form is made with: the pool, a grammar over it, the vocabulary (for tokens that a grammar names), and where what
 * was passed over is told, a line each. All borrowed. */
typedef struct qw_format_maker {
    qw_expr_pool *pool;
    qw_grammar *grammar;
    const qw_tokenizer *tokenizer;
    qw_buf *notes;
} qw_format_maker;

typedef struct qw_language {
    bool any_text; /* {"type": "text"} */
    qw_expr expr;  /* of regex and choice; else NONE */
    qw_node node;  /* of the others */
} qw_language;

/* {"type": "text"}, {"type": "json_object"}, {"type": "json_schema", "json_schema": {"schema": .., "lenient"?: ..}},
 * {"type": "regex", "regex": PATTERN, "flags"?: FLAGS}, {"type": "choice", "choices": [TEXT, ...]} or
 * {"type": "grammar", "grammar": GBNF, "root"?: RULE}. Errors: usage (names the member, what was got and what is wanted;
 * what cannot be held; a form that no text has), memory. */
qw_status qw_format_read(const qw_format_maker *maker, qw_text json, qw_language *out, qw_error *err);

#endif
