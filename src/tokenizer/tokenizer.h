/* SPDX-License-Identifier: MIT
 * Qwen2's tokenizer: added tokens are cut out first, each stretch between them is put into NFC, split by Qwen2's rule
 * (pretokenize.h) and merged by byte-level BPE; and back from ids to bytes. No BOS or EOS is ever added. */
#ifndef QW_TOKENIZER_H
#define QW_TOKENIZER_H

#include "base/buf.h"

#include <stdbool.h>

typedef struct qw_tokenizer qw_tokenizer;

/* Token types with the numbers of GGUF's tokenizer.ggml.token_type. Control tokens are the special ones of
 * tokenizer.json ("special": true), user-defined its other added tokens. */
typedef enum qw_token_type {
    QW_TOKEN_NORMAL = 1,
    QW_TOKEN_UNKNOWN = 2,
    QW_TOKEN_CONTROL = 3,
    QW_TOKEN_USER_DEFINED = 4,
    QW_TOKEN_UNUSED = 5,
    QW_TOKEN_BYTE = 6,
} qw_token_type;

/* NULL is a no-op. tokenizer_vocab.h and tokenizer_json.h make tokenizers. */
void qw_tokenizer_free(qw_tokenizer *t);

/* Bytes of memory that the tokenizer holds. */
size_t qw_tokenizer_bytes(const qw_tokenizer *t);

/* One past the highest id that has a text (unused entries do not count). */
int32_t qw_tokenizer_n_ids(const qw_tokenizer *t);

/* The id of the added (control or user-defined) token with exactly that text, or -1. */
int32_t qw_tokenizer_added_id(const qw_tokenizer *t, qw_text text);

/* QW_TOKEN_UNUSED for an id outside the vocabulary. */
qw_token_type qw_tokenizer_type(const qw_tokenizer *t, int32_t id);

/* The raw bytes that the token stands for (an added token's text), borrowed from t; empty for unused and unknown ids. */
qw_text qw_tokenizer_token_bytes(const qw_tokenizer *t, int32_t id);

/* blocked: ascending byte offsets at which no added token may start (text of a visitor), or NULL. */
typedef struct qw_encode_options {
    bool parse_special; /* control tokens' text becomes their id; user-defined tokens always do */
    const int32_t *blocked;
    size_t n_blocked;
} qw_encode_options;

/* Appends the ids of text to *ids. Bytes that are not UTF-8 count as U+FFFD, one for each maximal ill-formed part.
 * O(n log n). Only memory can fail. */
qw_status qw_tokenizer_encode(const qw_tokenizer *t, qw_text text, const qw_encode_options *options, qw_ids *ids,
                              qw_error *err);

/* Incremental decoder: bytes of an unfinished character are held back, ill-formed parts become U+FFFD as the WHATWG
 * decoder makes them. Zero-initialise. */
typedef struct qw_decoder {
    uint8_t held[4];
    uint8_t n_held;
} qw_decoder;

/* Appends to *out what the bytes complete: whole UTF-8 characters only. */
qw_status qw_decoder_push(qw_decoder *d, qw_text bytes, qw_buf *out, qw_error *err);

/* Appends U+FFFD for what is still held, and empties the decoder. */
qw_status qw_decoder_flush(qw_decoder *d, qw_buf *out, qw_error *err);

/* Appends the text of n ids, the last character flushed. skip_special leaves control tokens out; ids without a text give
 * nothing. */
qw_status qw_tokenizer_decode(const qw_tokenizer *t, const int32_t *ids, size_t n, bool skip_special, qw_buf *out,
                              qw_error *err);

#endif
