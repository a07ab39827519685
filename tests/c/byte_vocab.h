/* SPDX-License-Identifier: MIT
 * Small vocabularies for tests: every byte is the token of its number, words of any bytes and added tokens come after.
 * */
#ifndef QW_BYTE_VOCAB_H
#define QW_BYTE_VOCAB_H

#include "tokenizer/tokenizer_vocab.h"
#include "check.h"

static inline qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes, b->n};
}

static inline bool same_bytes(const qw_buf *a, const qw_buf *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->bytes, b->bytes, a->n) == 0);
}

/* Appends bytes in the byte-level alphabet: printable ones are themselves, the others are counted from U+0100. */
static inline void append_byte_level(qw_buf *out, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t b = (uint8_t)bytes[i];
        int32_t c = b, other = 256;
        bool plain = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
        char two[2];

        for (int32_t k = 0; !plain && k < b; k++)
            other += !((k >= 33 && k <= 126) || (k >= 161 && k <= 172) || k >= 174);
        if (!plain) c = other;
        two[0] = (char)(c < 128 ? c : 0xc0 | c >> 6);
        two[1] = (char)(0x80 | (c & 63));
        CHECK_EQ(qw_buf_append(out, two, c < 128 ? 1 : 2, NULL), QW_OK);
    }
}

enum { POOL = 600 };

typedef struct pool {
    qw_buf name[POOL];
    int32_t type[POOL];
    int32_t n;
} pool;

static inline int32_t pool_add(pool *p, const char *bytes, size_t n, int32_t type)
{
    qw_buf *name = &p->name[p->n];

    *name = (qw_buf){0};
    if (type == QW_TOKEN_NORMAL) append_byte_level(name, bytes, n);
    else CHECK_EQ(qw_buf_append(name, bytes, n, NULL), QW_OK);
    for (int32_t i = 0; i < p->n; i++) {
        if (!same_bytes(name, &p->name[i])) continue;
        qw_buf_free(name);
        return i;
    }
    p->type[p->n] = type;
    return p->n++;
}

/* Token b is the byte b; whole words come after. */
static inline void pool_start(pool *p)
{
    p->n = 0;
    for (int32_t b = 0; b < 256; b++) {
        char byte = (char)b;

        pool_add(p, &byte, 1, QW_TOKEN_NORMAL);
    }
    pool_add(p, "ab", 2, QW_TOKEN_NORMAL);
}

static inline qw_tokenizer *pool_build(pool *p)
{
    qw_text tokens[POOL], merge = qw_text_of("a b");
    qw_vocab vocab = {tokens, p->type, (size_t)p->n, &merge, 1};
    qw_tokenizer *t = NULL;
    qw_error err = {0};

    for (int32_t i = 0; i < p->n; i++) tokens[i] = text_of(&p->name[i]);
    CHECK_EQ(qw_tokenizer_from_vocab(&t, &vocab, &err), QW_OK);
    if (err.status) printf("  %s\n", err.text);
    for (int32_t i = 0; i < p->n; i++) qw_buf_free(&p->name[i]);
    return t;
}

#endif
