/* SPDX-License-Identifier: MIT
 * GBNF, llama.cpp's notation of grammars, read into a tree in which everything without a rule's name is one expression
 * already. */
#ifndef QW_GBNF_SYNTAX_H
#define QW_GBNF_SYNTAX_H

#include "format/expression.h"
#include "tokenizer/tokenizer.h"

typedef enum qw_gbnf_kind {
    QW_GBNF_EXPR,     /* a: expression */
    QW_GBNF_RULE,     /* a: rule */
    QW_GBNF_SEQUENCE, /* lists[a] to lists[a + b - 1] */
    QW_GBNF_CHOICE,   /* the same */
    QW_GBNF_REPEAT,   /* a: part, min to max times */
} qw_gbnf_kind;

typedef struct qw_gbnf_part {
    qw_gbnf_kind kind;
    uint32_t a, b, min, max;
    uint32_t place; /* byte offset in the text */
} qw_gbnf_part;

typedef struct qw_gbnf_rule {
    qw_text name;
    uint32_t body;  /* part; UINT32_MAX where the rule is only used */
    uint32_t place; /* where it was met first */
} qw_gbnf_rule;

typedef struct qw_gbnf_syntax {
    qw_expr_pool *pool;
    qw_text text; /* borrowed */
    qw_gbnf_part *parts;
    qw_gbnf_rule *rules;
    uint32_t *lists;
    size_t n_parts, cap_parts, n_rules, cap_rules, n_lists, cap_lists;
} qw_gbnf_syntax;

/* Reads the text; tokenizer (may be NULL: no token has a name) tells which ids and names of special tokens there are.
 * *out is the caller's in any case: qw_gbnf_syntax_free. Errors: usage with line and column, memory, of the pool. */
qw_status qw_gbnf_read(qw_gbnf_syntax *out, qw_expr_pool *pool, qw_text text, const qw_tokenizer *tokenizer,
                       qw_error *err);
void qw_gbnf_syntax_free(qw_gbnf_syntax *syntax);

/* A usage error at a place of the text. */
qw_status qw_gbnf_fail(const qw_gbnf_syntax *syntax, uint32_t place, qw_error *err, const char *format, ...)
    QW_PRINTF(4, 5);

#endif
