/* SPDX-License-Identifier: MIT
 * A tokenizer from a list of tokens and a list of merges, as the keys of a GGUF file hold them. */
#ifndef QW_TOKENIZER_VOCAB_H
#define QW_TOKENIZER_VOCAB_H

#include "tokenizer/tokenizer.h"

/* A vocabulary as GGUF's keys hold it: tokens in the byte-level alphabet, merges as "a b". Borrowed during the call.
 * types may be NULL: all normal. */
typedef struct qw_vocab {
    const qw_text *tokens;
    const int32_t *types;
    size_t n_tokens;
    const qw_text *merges;
    size_t n_merges;
} qw_vocab;

/* Builds a tokenizer; *out is the caller's, qw_tokenizer_free. Errors: format (duplicate or missing pieces, a merge whose
 * parts or result are not in the vocabulary, no merges, no single-byte entry ...), memory. */
qw_status qw_tokenizer_from_vocab(qw_tokenizer **out, const qw_vocab *vocab, qw_error *err);

#endif
