/* SPDX-License-Identifier: MIT
 * Special tokens in languages of bytes. No text has a byte above F4, so FF and three bytes of seven bits of the id, high
 * first, each with 80 set, stand for a token that is no text. */
#ifndef QW_SPECIAL_TOKENS_H
#define QW_SPECIAL_TOKENS_H

#include "format/expression.h"

enum { QW_SPECIAL_BYTES = 4, QW_SPECIAL_MARK = 0xFF, QW_SPECIAL_ID_MAX = (1 << 21) - 1 };

static inline void qw_special_token_bytes(char out[QW_SPECIAL_BYTES], int32_t id)
{
    out[0] = (char)QW_SPECIAL_MARK;
    for (int i = 0; i < 3; i++) out[1 + i] = (char)(0x80 | (id >> (14 - 7 * i) & 0x7F));
}

static inline qw_expr qw_expr_special_token(qw_expr_pool *exprs, int32_t id)
{
    char bytes[QW_SPECIAL_BYTES];

    qw_special_token_bytes(bytes, id);
    return qw_expr_literal(exprs, (qw_text){bytes, sizeof bytes});
}

#endif
