/* SPDX-License-Identifier: MIT
 * A pass: the tokens that go through the layers next, and what of the context is left for them. */
#ifndef QW_PASS_H
#define QW_PASS_H

#include "generation/session.h"

/* Adds the next n ids of row r of the job to the pass; false where the cache has no room. */
bool qw_pass_add(qw_session *s, int32_t r, int32_t n);

/* Wants the scores of what follows the row's id that was added last. */
void qw_pass_score_last(qw_session *s, int32_t r);

/* Takes the pass through as many layers as `budget` tokens through all layers cost, at least one; true where it is through. A
 * long pass reads the weights once for many tokens, its slices keep every step short. hidden: as in qw_pass, or NULL. */
bool qw_pass_run(qw_session *s, int32_t budget, float *hidden);

/* Tokens of prompt for a pass, so that one layer of it stays within the budget. */
int32_t qw_pass_tokens(const qw_session *s, int32_t budget);

/* True while another row computes this one's prompt: the end of that pass gives it to this row too (qw_pass_share). */
bool qw_pass_waits(const qw_session *s, const qw_row *row);

/* Rows that share a prompt take its keys, values and logits over from the row that has computed it. */
void qw_pass_share(qw_session *s);

/* A leader that has ended before its prompt was read hands it on, as far as it got, to the first that waits for it. */
void qw_pass_hand_on(qw_session *s);

/* True where the cache holds `more` tokens beside those that are due, and one on top of them; rows that have ended give up
 * theirs for it. */
bool qw_pass_has_room(qw_session *s, int32_t more);

/* Error: context. */
qw_status qw_pass_no_room(const qw_session *s, qw_error *err);

#endif
