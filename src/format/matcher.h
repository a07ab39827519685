/* SPDX-License-Identifier: MIT
 * Matches the texts of a grammar byte by byte. A state is a set of stacks of what is open, kept once each: equal states have
 * equal numbers, and an ambiguous grammar costs no more than a clear one. Stacks that cannot end are not kept. */
#ifndef QW_MATCHER_H
#define QW_MATCHER_H

#include "format/grammar.h"

typedef struct qw_matcher qw_matcher;

enum { QW_MATCHER_DEAD = 0 };

/* A matcher of node; grammar is borrowed and must stay as it is. Errors: usage where no text satisfies it or it is too
 * large, memory. qw_matcher_free. */
qw_status qw_matcher_new(qw_matcher **out, qw_grammar *grammar, qw_node node, qw_error *err);
void qw_matcher_free(qw_matcher *matcher);

/* The first error since: then every state is dead. */
qw_status qw_matcher_status(const qw_matcher *matcher, qw_error *err);

uint32_t qw_matcher_start(const qw_matcher *matcher);
/* The state after that byte; QW_MATCHER_DEAD where no text goes on so. */
uint32_t qw_matcher_step(qw_matcher *matcher, uint32_t state, uint8_t byte);
bool qw_matcher_may_end(const qw_matcher *matcher, uint32_t state);
/* Whether every character of a JSON string may come here, and after each of them every one again. */
bool qw_matcher_is_free_string(qw_matcher *matcher, uint32_t state);
/* Bytes that end the text; at least what is needed. */
uint32_t qw_matcher_shortest(qw_matcher *matcher, uint32_t state);

/* Switches to a walk over a vocabulary, in which names of keys and items are not kept longer than they can matter: its
 * steps are fewer, and lead to other states than those of a text. A state that is unsure says nothing: the texts that lead to
 * it are to be walked one by one, outside of a walk. Returns whether it was on. */
bool qw_matcher_walk(qw_matcher *matcher, bool on);
bool qw_matcher_is_unsure(const qw_matcher *matcher, uint32_t state);

/* Where the matcher stands: the states that it has made so far. */
typedef struct qw_matcher_mark {
    size_t n_states, n_tops, n_frames;
} qw_matcher_mark;
qw_matcher_mark qw_matcher_here(const qw_matcher *matcher);
/* Forgets the states made since, where there are very many of them; whether it did. */
bool qw_matcher_release(qw_matcher *matcher, qw_matcher_mark mark);

#endif
