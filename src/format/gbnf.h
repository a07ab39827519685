/* SPDX-License-Identifier: MIT
 * Grammars in llama.cpp's GBNF whose rules do not lead back to themselves, as expressions. {m,n} means what it says;
 * left recursion, rules that are missing and grammars that nothing satisfies are errors with line and column. */
#ifndef QW_GBNF_H
#define QW_GBNF_H

#include "format/expression.h"
#include "tokenizer/tokenizer.h"

/* The language of rule root into *out. tokenizer (may be NULL) knows the special tokens that <name> and <[id]> name
 * (special_tokens.h). Errors: usage with line and column, also where a rule leads back to itself, memory, of the pool. */
qw_status qw_gbnf_parse(qw_expr_pool *pool, qw_text text, qw_text root, const qw_tokenizer *tokenizer, qw_expr *out,
                        qw_error *err);

#endif
