/* SPDX-License-Identifier: MIT
 * Regular languages over bytes, as expressions that are matched by their derivatives (Brzozowski, "Derivatives of Regular
 * Expressions", JACM 11(4), 1964): what may follow after a byte is an expression again, so a matcher's state is an
 * expression. Equal expressions have equal ids; union, intersection and complement are exact; a counted repetition is one
 * node with counters and is never written out. Steps are made when they are first wanted, and kept.
 *
 * Errors stick to the pool: a constructor or step that goes over a limit gives QW_EXPR_NONE, and every later one too;
 * qw_expr_status tells. So a language is put together straight down and asked about once. */
#ifndef QW_EXPRESSION_H
#define QW_EXPRESSION_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t qw_expr; /* of one pool, valid as long as it is */

enum {
    QW_EXPR_NONE = 0,  /* no text at all */
    QW_EXPR_EMPTY = 1, /* the empty text */
    QW_EXPR_ALL = 2,   /* every text of bytes, UTF-8 or not */
};

#define QW_EXPR_UNBOUNDED UINT32_MAX

/* How characters are written: as UTF-8, or inside a JSON string in our one spelling (\" \\ \b \t \n \f \r, \u00xx in lower
 * case for the other controls, all else as itself). */
typedef enum qw_spelling { QW_SPELL_RAW, QW_SPELL_JSON } qw_spelling;

/* A set of bytes: byte b is bit b & 63 of word b >> 6. */
typedef struct qw_byte_set {
    uint64_t bits[4];
} qw_byte_set;

/* A range of code points, both ends in it. */
typedef struct qw_char_range {
    uint32_t first, last;
} qw_char_range;

typedef struct qw_expr_pool qw_expr_pool;

/* An empty pool that may grow to max_bytes (0: 64 MiB). qw_expr_pool_free. */
qw_status qw_expr_pool_new(qw_expr_pool **out, size_t max_bytes, qw_error *err);
void qw_expr_pool_free(qw_expr_pool *pool);
/* Bytes that the pool holds now. */
size_t qw_expr_pool_bytes(const qw_expr_pool *pool);

/* The first error since the pool was made or cleared: memory, or usage where a limit of nodes, counts or work was passed
 * (the text says which, and the way out). QW_OK: all that was made is exact. */
qw_status qw_expr_status(const qw_expr_pool *pool, qw_error *err);
/* Forgets a usage error, for a caller that does without what was too large. Ids made since are NONE. */
void qw_expr_clear(qw_expr_pool *pool);
/* Makes the pool fail, for the languages built on it. */
void qw_expr_fail(qw_expr_pool *pool, qw_status status, const char *why);

qw_expr qw_expr_bytes(qw_expr_pool *pool, const qw_byte_set *set);
qw_expr qw_expr_byte_range(qw_expr_pool *pool, uint8_t first, uint8_t last);
/* Those bytes as they are. */
qw_expr qw_expr_literal(qw_expr_pool *pool, qw_text text);
/* The characters of valid UTF-8 text in that spelling; NONE for other bytes. */
qw_expr qw_expr_text(qw_expr_pool *pool, qw_text text, qw_spelling spelling);
/* One character out of ranges (sorted, disjoint; surrogates in them are left out). */
qw_expr qw_expr_chars(qw_expr_pool *pool, const qw_char_range *ranges, size_t n, qw_spelling spelling);
/* Any character once; any number of them. The second in JSON spelling is the body of a free JSON string: it has the same
 * id in every state that allows everything again. */
qw_expr qw_expr_any_char(qw_expr_pool *pool, qw_spelling spelling);
qw_expr qw_expr_any_text(qw_expr_pool *pool, qw_spelling spelling);

qw_expr qw_expr_concat(qw_expr_pool *pool, qw_expr first, qw_expr second);
qw_expr qw_expr_or(qw_expr_pool *pool, const qw_expr *parts, size_t n);
qw_expr qw_expr_and(qw_expr_pool *pool, const qw_expr *parts, size_t n);
qw_expr qw_expr_or2(qw_expr_pool *pool, qw_expr a, qw_expr b);
qw_expr qw_expr_and2(qw_expr_pool *pool, qw_expr a, qw_expr b);
/* Every text of bytes that is not in a: to be met with any_text, or another language of whole characters. */
qw_expr qw_expr_not(qw_expr_pool *pool, qw_expr a);
/* a without b. */
qw_expr qw_expr_minus(qw_expr_pool *pool, qw_expr a, qw_expr b);
/* min to max times a; max QW_EXPR_UNBOUNDED: no limit. min at most 2^31. Over characters it counts code points. */
qw_expr qw_expr_repeat(qw_expr_pool *pool, qw_expr a, uint32_t min, uint32_t max);
/* A number's spelling by its exact value (format/decimals.h); spec is copied. */
struct qw_decimal_spec;
qw_expr qw_expr_decimal(qw_expr_pool *pool, const struct qw_decimal_spec *spec);

/* Whether the text may end here. */
bool qw_expr_nullable(const qw_expr_pool *pool, qw_expr a);
/* What may follow after that byte; QW_EXPR_NONE where no text of a begins so: a byte that gives anything else can be
 * completed. */
qw_expr qw_expr_step(qw_expr_pool *pool, qw_expr a, uint8_t byte);
/* qw_expr_step over text. */
qw_expr qw_expr_walk(qw_expr_pool *pool, qw_expr a, qw_text text);
bool qw_expr_accepts(qw_expr_pool *pool, qw_expr a, qw_text text);
/* No text is in a. Exact, or the pool fails as too complex (and it is true). */
bool qw_expr_is_void(qw_expr_pool *pool, qw_expr a);
/* Bytes of the shortest text in a; UINT32_MAX: there is none. */
uint32_t qw_expr_shortest(qw_expr_pool *pool, qw_expr a);
/* The bytes with which a text of a may begin. */
void qw_expr_first_bytes(qw_expr_pool *pool, qw_expr a, qw_byte_set *set);

static inline bool qw_byte_set_has(const qw_byte_set *set, uint8_t byte)
{
    return set->bits[byte >> 6] >> (byte & 63) & 1;
}

static inline void qw_byte_set_add(qw_byte_set *set, uint8_t byte)
{
    set->bits[byte >> 6] |= (uint64_t)1 << (byte & 63);
}

#endif
