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
/* Whether any character of a JSON string leads to this state again. */
bool qw_matcher_is_free_string(qw_matcher *matcher, uint32_t state);

#endif
