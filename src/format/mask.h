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
    /* Whether every character of a JSON string may come here, and after each of them every one again; NULL: never known. */
    bool (*is_free_string)(void *self, uint32_t state);
    /* Bytes that end the text from here, at least what is needed; UINT32_MAX for a dead state. */
    uint32_t (*shortest)(void *self, uint32_t state);
    /* Switches to a walk over a vocabulary and back (whether it was on is returned), and whether a state of it is unsure (format/matcher.h); NULL: all the same. */
    bool (*walk)(void *self, bool on);
    bool (*is_unsure)(void *self, uint32_t state);
} qw_moves;

/* The moves of an expression; states are its ids. pool is borrowed. */
qw_moves qw_expr_moves(qw_expr_pool *pool);
/* The moves of a matcher, borrowed. */
struct qw_matcher;
qw_moves qw_matcher_moves(struct qw_matcher *matcher);

/* What all masks over a vocabulary share, made once an engine with the first format. */
typedef struct qw_masks {
    const qw_tokenizer *tokenizer; /* borrowed */
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

/* Sets the bits [n_words] of the tokens that may come in that state: bit id & 31 of word id >> 5. Tokens that are no text only
 * where the language has them (format/special_tokens.h). *farthest, where given: the most bytes that any of them leaves to
 * the end. Only memory can fail. */
qw_status qw_mask_make(const qw_masks *masks, const qw_moves *moves, uint32_t state, uint32_t *bits, uint32_t *farthest,
                       qw_error *err);

/* Calls see for each node of the trie that some token ends at and the walk from state lives through: the tokens' ids and
 * the state behind them. Only memory can fail. */
typedef void qw_mask_visit(void *context, const int32_t *ids, uint32_t n, uint32_t state);
qw_status qw_mask_walk(const qw_vocabulary_trie *trie, const qw_tokenizer *tokenizer, const qw_moves *moves,
                       uint32_t state, qw_mask_visit *see, void *context, qw_error *err);

/* The state after a token: by its id where the language has it so, else by its bytes. */
uint32_t qw_moves_token(const qw_moves *moves, const qw_tokenizer *tokenizer, uint32_t state, int32_t id);

/* The state after all those bytes. */
uint32_t qw_moves_walk(const qw_moves *moves, uint32_t state, qw_text bytes);

#endif
