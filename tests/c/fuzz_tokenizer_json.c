/* SPDX-License-Identifier: MIT
 * Fuzzes tokenizer.json: the input is the file itself, or (first byte below 0x20, which no JSON text begins with) edits of a
 * small valid one: place (2 bytes), bytes taken away, bytes put in, and those. What loads must encode, decode and free. */
#include "mini_vocab.h"
#include "tokenizer/tokenizer_json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static mini_vocab mini;
static qw_buf files[2];

static void demand(bool ok)
{
    if (!ok) abort();
}

static void use(const qw_tokenizer *t)
{
    static const char text[] = "hello <|im_end|> \xE4\xBD\xA0 e\xCC\x81 aaaaaaaa <tool_call>\n\n12 \xFF";
    const qw_encode_options options = {.parse_special = true};
    qw_ids ids = {0};
    qw_buf out = {0};

    demand(!qw_tokenizer_encode(t, (qw_text){text, sizeof text - 1}, &options, &ids, NULL));
    for (size_t i = 0; i < ids.n; i++) demand(ids.v[i] >= 0 && ids.v[i] < qw_tokenizer_n_ids(t));
    demand(!qw_tokenizer_decode(t, ids.v, ids.n, true, &out, NULL));
    qw_ids_free(&ids);
    qw_buf_free(&out);
}

static void load(const char *bytes, size_t n)
{
    char *exact = malloc(n ? n : 1); /* so that a byte too far is seen */
    qw_tokenizer *t;
    qw_error err = {0};
    qw_status status;

    demand(exact);
    if (n) memcpy(exact, bytes, n);
    status = qw_tokenizer_from_json(&t, (qw_text){exact, n}, &err);
    demand(status == QW_OK ? t && !err.text[0] : !t && err.text[0] && err.status == status);
    demand(status == QW_OK || status == QW_ERR_FORMAT || status == QW_ERR_MODEL || status == QW_ERR_MEMORY);
    free(exact);
    if (t) use(t);
    qw_tokenizer_free(t);
}

static void edit(const qw_buf *file, const uint8_t *data, size_t size)
{
    char *text = malloc(file->n + size);
    size_t n = file->n;

    demand(text);
    memcpy(text, file->bytes, n);
    while (size >= 4) {
        size_t at = (size_t)(data[0] | data[1] << 8) % (n + 1), taken = data[2], put = data[3];
        if (taken > n - at) taken = n - at;
        data += 4;
        size -= 4;
        if (put > size) put = size;
        memmove(text + at + put, text + at + taken, n - at - taken);
        memcpy(text + at, data, put);
        n += put;
        n -= taken;
        data += put;
        size -= put;
    }
    load(text, n);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!files[0].n) {
        mini_init(&mini);
        files[0] = mini_json(&mini, (mini_json_options){.pairs = true});
        files[1] = mini_json(&mini, (mini_json_options){.escapes = true, .merges_first = true});
    }
    if (size && data[0] < 0x20) edit(&files[data[0] & 1], data + 1, size - 1);
    else load((const char *)data, size);
    return 0;
}
