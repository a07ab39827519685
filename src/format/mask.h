/* SPDX-License-Identifier: MIT
 * Which tokens may come next: exactly those after whose bytes the text can still be completed. A matcher is seen through its
 * moves alone, so that an expression and a grammar are masked alike. */
#ifndef QW_MASK_H
#define QW_MASK_H

#include "format/expression.h"
#include "format/vocabulary_trie.h"

enum { QW_STATE_DEAD = 0 };

/* A matcher. States are numbers, equal ones for equal futures; from a dead one nothing follows. */
typedef struct qw_moves {
    void *self;
    /* The state after that byte, dead where no text of the language goes on so. */
    uint32_t (*step)(void *self, uint32_t state, uint8_t byte);
    /* Whether the text may end here. */
    bool (*may_end)(void *self, uint32_t state);
    /* Whether any character of a JSON string may come here and leads to this state again; NULL: never known. */
    bool (*is_free_string)(void *self, uint32_t state);
} qw_moves;

/* The moves of an expression; states are its ids. pool is borrowed. */
qw_moves qw_expr_moves(qw_expr_pool *pool);

/* What all masks over a vocabulary share, made once an engine with the first format. */
typedef struct qw_masks {
    qw_vocabulary_trie all;
    qw_vocabulary_trie others; /* tokens that are not characters of a free JSON string, from the first to the last */
    uint32_t *plain;           /* [n_words] the tokens that are */
    size_t n_words;            /* of a mask: a bit for each id of the tokenizer */
} qw_masks;

/* Only memory can fail, or the pool in which the free string is made. */
qw_status qw_masks_new(qw_masks *out, const qw_tokenizer *tokenizer, qw_error *err);
void qw_masks_free(qw_masks *masks);

/* Bytes of memory that it holds. */
size_t qw_masks_bytes(const qw_masks *masks);

/* Sets the bits [n_words] of the ordinary tokens that may come in that state: bit id & 31 of word id >> 5. Only memory can
 * fail. */
qw_status qw_mask_make(const qw_masks *masks, const qw_moves *moves, uint32_t state, uint32_t *bits, qw_error *err);

/* The state after all those bytes. */
uint32_t qw_moves_walk(const qw_moves *moves, uint32_t state, qw_text bytes);

#endif
