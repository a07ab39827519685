/* SPDX-License-Identifier: MIT
 * The builder of tokenizers that all formats use: start with the tokens, add the merges one by one in their order, finish.
 * Every text is checked here. */
#ifndef QW_TOKENIZER_BUILD_H
#define QW_TOKENIZER_BUILD_H

#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_state.h"

/* The text of an added token may have QW_MAX_ADDED bytes: at every place of a text as many are looked at. */
enum { QW_MAX_TOKENS = 1 << 20, QW_MAX_ADDED = 1024 };

enum { QW_ADDED_LSTRIP = 1, QW_ADDED_RSTRIP = 2, QW_ADDED_NORMALIZED = 4 };

/* Tokens by id, borrowed until the builder is done. An empty text is an id without a token. */
typedef struct qw_token_list {
    const qw_text *texts;
    const int32_t *types; /* qw_token_type; NULL: all normal          */
    const uint8_t *flags; /* QW_ADDED_ of each token; NULL: none      */
    size_t n;
    bool nfc;         /* text is put into NFC before it is split  */
    const char *what; /* names the vocabulary in errors           */
} qw_token_list;

/* Zero-initialise; qw_builder_free at the end, whether it failed or not. */
typedef struct qw_builder {
    const qw_token_list *list;
    qw_tokenizer *t;
    uint32_t *slots; /* id + 1 by hash of the text; 0 is free */
    uint32_t n_slots;
    uint64_t spent, allowed; /* work of the look-ups, and what it may be */
    uint32_t n_merges, rank;
} qw_builder;

qw_status qw_builder_start(qw_builder *b, const qw_token_list *list, size_t n_merges, qw_error *err);

/* The next merge, one of n_merges. Errors: format, naming index and texts where a part or the whole is no token. */
qw_status qw_builder_merge(qw_builder *b, qw_text left, qw_text right, qw_error *err);

/* The same for the spelling "a b", with one blank. */
qw_status qw_builder_merge_line(qw_builder *b, qw_text line, qw_error *err);

/* Hands the tokenizer over. */
qw_status qw_builder_finish(qw_builder *b, qw_tokenizer **out, qw_error *err);

void qw_builder_free(qw_builder *b);

#endif
