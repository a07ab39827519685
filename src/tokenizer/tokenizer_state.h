/* SPDX-License-Identifier: MIT
 * What a tokenizer holds: made by tokenizer_build.c, used by tokenizer.c, seen by no one else. */
#ifndef QW_TOKENIZER_STATE_H
#define QW_TOKENIZER_STATE_H

#include "tokenizer/added.h"
#include "tokenizer/bpe.h"

struct qw_tokenizer {
    size_t n_tokens;
    int32_t n_ids;
    uint8_t *types;    /* qw_token_type of each id                           */
    uint32_t *offsets; /* of the n_tokens + 1 texts in bytes                 */
    char *bytes;       /* what the tokens stand for, one after the other     */
    qw_bpe bpe;
    qw_added_set raw;        /* looked for in the text as it comes           */
    qw_added_set normalized; /* looked for in what NFC makes of the rest     */
    bool nfc;
    size_t held; /* bytes of memory */
};

#endif
