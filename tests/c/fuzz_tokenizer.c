/* SPDX-License-Identifier: MIT
 * Fuzzes encoding and decoding over a small vocabulary: any bytes encode; the ids decode to the text's NFC, with U+FFFD for
 * what is ill-formed, in one go or token by token; no control token starts where none may. */
#include "mini_vocab.h"
#include "tokenizer/nfc.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mini_vocab mini;
static qw_tokenizer *tokenizer;

static void demand(bool ok)
{
    if (!ok) abort();
}

/* What a text must come back as: well-formed, and then NFC. qw_buf_free. */
static qw_buf normal_form(qw_text text)
{
    qw_decoder decoder = {0};
    qw_buf repaired = {0}, out = {0};

    demand(!qw_decoder_push(&decoder, text, &repaired, NULL) && !qw_decoder_flush(&decoder, &repaired, NULL));
    demand(!qw_nfc_append((qw_text){repaired.bytes, repaired.n}, &out, NULL));
    qw_buf_free(&repaired);
    return out;
}

static void demand_same(const qw_buf *a, const qw_buf *b)
{
    demand(a->n == b->n && (!a->n || memcmp(a->bytes, b->bytes, a->n) == 0));
}

static qw_buf stream(const qw_ids *ids)
{
    qw_decoder decoder = {0};
    qw_buf out = {0};

    for (size_t i = 0; i < ids->n; i++)
        demand(!qw_decoder_push(&decoder, qw_tokenizer_token_bytes(tokenizer, ids->v[i]), &out, NULL));
    demand(!qw_decoder_flush(&decoder, &out, NULL));
    return out;
}

static void check(qw_text text, const qw_encode_options *options, bool none)
{
    qw_buf wanted = normal_form(text), whole = {0}, pieces, got;
    qw_ids ids = {0};

    demand(!qw_tokenizer_encode(tokenizer, text, options, &ids, NULL));
    for (size_t i = 0; i < ids.n; i++) demand(ids.v[i] >= 0 && ids.v[i] < MINI_UNUSED);
    for (size_t i = 0; i < ids.n && none; i++) demand(qw_tokenizer_type(tokenizer, ids.v[i]) != QW_TOKEN_CONTROL);
    demand(!qw_tokenizer_decode(tokenizer, ids.v, ids.n, false, &whole, NULL));
    pieces = stream(&ids);
    demand_same(&whole, &pieces);
    got = normal_form((qw_text){whole.bytes, whole.n}); /* a mark after a token is not joined to it when encoding */
    demand_same(&got, &wanted);
    qw_buf_free(&wanted);
    qw_buf_free(&whole);
    qw_buf_free(&pieces);
    qw_buf_free(&got);
    qw_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const qw_text text = {(const char *)data, size};
    qw_ids places = {0};

    if (!tokenizer) {
        mini_init(&mini);
        demand(!qw_tokenizer_from_vocab(&tokenizer, &mini.vocab, NULL));
    }
    check(text, &(qw_encode_options){.parse_special = true}, false);
    check(text, &(qw_encode_options){.parse_special = false}, true);
    for (size_t i = 0; i < size; i++) demand(!qw_ids_push(&places, (int32_t)i, NULL));
    check(text, &(qw_encode_options){.parse_special = true, .blocked = places.v, .n_blocked = size}, true);
    places.n /= 2;
    check(text, &(qw_encode_options){.parse_special = true, .blocked = places.v, .n_blocked = places.n}, false);
    qw_ids_free(&places);
    return 0;
}
