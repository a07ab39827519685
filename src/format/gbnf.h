/* SPDX-License-Identifier: MIT
 * Grammars in llama.cpp's GBNF. Rules that do not lead back to themselves are expressions; those that do are rules of a
 * grammar. {m,n} means what it says; left recursion, rules that are missing and grammars that nothing satisfies are errors
 * with line and column. */
#ifndef QW_GBNF_H
#define QW_GBNF_H

#include "format/grammar.h"
#include "tokenizer/tokenizer.h"

/* The language of rule root into *out. tokenizer (may be NULL) knows the special tokens that <name> and <[id]> name.
 * Errors: usage with line and column, memory, of grammar and pool. */
qw_status qw_gbnf_parse(qw_grammar *grammar, qw_expr_pool *pool, qw_text text, qw_text root,
                        const qw_tokenizer *tokenizer, qw_node *out, qw_error *err);

#endif
