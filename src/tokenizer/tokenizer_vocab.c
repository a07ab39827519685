/* SPDX-License-Identifier: MIT
 * Lists in memory go to the builder as they are. */
#include "tokenizer/tokenizer_vocab.h"

#include "tokenizer/tokenizer_build.h"

static qw_status add_merges(qw_builder *b, const qw_vocab *vocab, qw_error *err)
{
    for (size_t i = 0; i < vocab->n_merges; i++) QW_TRY(qw_builder_merge_line(b, vocab->merges[i], err));
    return QW_OK;
}

qw_status qw_tokenizer_from_vocab(qw_tokenizer **out, const qw_vocab *vocab, qw_error *err)
{
    const qw_token_list list = {
        .texts = vocab->tokens, .types = vocab->types, .n = vocab->n_tokens, .nfc = true, .what = "vocabulary"};
    qw_builder b = {0};
    qw_status status = qw_builder_start(&b, &list, vocab->n_merges, err);

    *out = NULL;
    if (!status) status = add_merges(&b, vocab, err);
    if (!status) status = qw_builder_finish(&b, out, err);
    qw_builder_free(&b);
    return status;
}
